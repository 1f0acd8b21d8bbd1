//! On which side of a plane a point lies, decided exactly.
//!
//! The sign of det [a−d; b−d; c−d] in plain `f64` is trusted where its magnitude exceeds the error bound of
//! Shewchuk (1997, *Adaptive precision floating-point arithmetic and fast robust geometric predicates*,
//! §4.3). Below it, the determinant is evaluated without rounding as an expansion: a sum of `f64` whose parts
//! do not overlap (ibid., §2).
//!
//! Limits: exact only where nothing overflows or underflows. [`super::hull`] scales its points into the unit
//! cube and clears coordinates below 10⁻³⁰ for that reason.

use pullback_math::Vec3;

/// (7 + 56 ε) ε with ε = 2⁻⁵³: the bound of the rounding error relative to the permanent.
const ERROR_BOUND: f64 = (7.0 + 56.0 * EPSILON) * EPSILON;
const EPSILON: f64 = f64::EPSILON / 2.0;

/// Positive if `d` lies below the plane through a, b, c, from where these are seen clockwise; only the sign
/// is exact.
pub(super) fn orient(a: Vec3<f64>, b: Vec3<f64>, c: Vec3<f64>, d: Vec3<f64>) -> f64 {
    let (u, v, w) = (a - d, b - d, c - d);
    let determinant = u.dot(v.cross(w));
    let absolute = |x: f64| x.abs();
    let (p, q, r) = (u.map(absolute), v.map(absolute), w.map(absolute));
    let permanent =
        p.x * (q.y * r.z + q.z * r.y) + p.y * (q.z * r.x + q.x * r.z) + p.z * (q.x * r.y + q.y * r.x);
    if determinant.abs() > ERROR_BOUND * permanent { determinant } else { orient_exact(a, b, c, d) }
}

fn orient_exact(a: Vec3<f64>, b: Vec3<f64>, c: Vec3<f64>, d: Vec3<f64>) -> f64 {
    let edge = |p: Vec3<f64>| [0, 1, 2].map(|i| two_difference(p[i], d[i]));
    let (u, v, w) = (edge(a), edge(b), edge(c));
    let minor = |i: usize, j: usize| {
        let negative = product(&v[j], &w[i]).iter().map(|x| -x).collect::<Vec<_>>();
        sum(&product(&v[i], &w[j]), &negative)
    };
    let terms = [(0, 1, 2), (1, 2, 0), (2, 0, 1)].map(|(i, j, k)| product(&minor(j, k), &u[i]));
    let total = sum(&sum(&terms[0], &terms[1]), &terms[2]);
    // The last part of an expansion is larger than the sum of all others.
    total.last().copied().unwrap_or(0.0)
}

/// x + y = high + low.
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let high = x + y;
    let shadow = high - x;
    (high, (x - (high - shadow)) + (y - shadow))
}

fn two_difference(x: f64, y: f64) -> Vec<f64> {
    let (high, low) = two_sum(x, -y);
    [low, high].into_iter().filter(|part| *part != 0.0).collect()
}

/// The sum of two expansions, small parts first, without zeros (ibid., Grow-Expansion).
fn sum(e: &[f64], f: &[f64]) -> Vec<f64> {
    let mut total = e.to_vec();
    for &part in f {
        let mut carry = part;
        let mut grown = Vec::with_capacity(total.len() + 1);
        for &x in &total {
            let (high, low) = two_sum(carry, x);
            if low != 0.0 {
                grown.push(low);
            }
            carry = high;
        }
        if carry != 0.0 {
            grown.push(carry);
        }
        total = grown;
    }
    total
}

fn product(e: &[f64], f: &[f64]) -> Vec<f64> {
    let mut total = Vec::new();
    for &x in e {
        for &y in f {
            let high = x * y;
            let low = x.mul_add(y, -high);
            total = sum(&total, &[low, high]);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_on_the_plane_is_on_the_plane_and_one_ulp_is_seen() {
        // Twice a corner lies exactly in a plane through the origin.
        let (a, b, c) = (Vec3::new(0.1, 0.2, 0.3), Vec3::new(-0.7, 0.4, 0.11), Vec3::zero());
        let on = a + a;
        assert_eq!(orient(a, b, c, on), 0.0);
        let above = orient(a, b, c, Vec3::new(on.x, on.y, on.z.next_up()));
        let below = orient(a, b, c, Vec3::new(on.x, on.y, on.z.next_down()));
        assert!(above * below < 0.0, "{above} {below}");
    }

    #[test]
    fn the_sign_is_that_of_the_determinant() {
        let (x, y, z) = (Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0));
        assert!(orient(x, y, z, Vec3::zero()) > 0.0);
        assert!(orient(y, x, z, Vec3::zero()) < 0.0);
        assert!(orient_exact(x, y, z, Vec3::zero()) > 0.0);
    }
}
