//! Cholesky factors of three rows: Hessians of soft contacts have conditions of 10⁹, too much for cofactors.

use pullback_math::{Mat3, Vec3};

/// Pivots below this part of the largest entry are zero.
const NO_PIVOT: f64 = 1e-16;

/// L with A = L Lᵀ for a symmetric matrix that is not negative; the row and column of a zero pivot is zero.
pub(super) fn cholesky(a: Mat3<f64>) -> Mat3<f64> {
    let scale = a.c0.x.max(a.c1.y).max(a.c2.z);
    let root = |pivot: f64| {
        let positive = pivot > NO_PIVOT * scale;
        if positive { (pivot.sqrt(), pivot.sqrt().recip()) } else { (0.0, 0.0) }
    };
    let (l00, r0) = root(a.c0.x);
    let (l10, l20) = (a.c0.y * r0, a.c0.z * r0);
    let (l11, r1) = root(a.c1.y - l10 * l10);
    let l21 = (a.c1.z - l20 * l10) * r1;
    let (l22, _) = root(a.c2.z - l20 * l20 - l21 * l21);
    Mat3::from_cols(Vec3::new(l00, l10, l20), Vec3::new(0.0, l11, l21), Vec3::new(0.0, 0.0, l22))
}

/// (L Lᵀ)⁻¹ b, zero along zero pivots.
pub(super) fn solve_factored(l: &Mat3<f64>, b: Vec3<f64>) -> Vec3<f64> {
    let over = |x: f64, pivot: f64| if pivot > 0.0 { x / pivot } else { 0.0 };
    let y0 = over(b.x, l.c0.x);
    let y1 = over(b.y - l.c0.y * y0, l.c1.y);
    let y2 = over(b.z - l.c0.z * y0 - l.c1.z * y1, l.c2.z);
    let x2 = over(y2, l.c2.z);
    let x1 = over(y1 - l.c1.z * x2, l.c1.y);
    let x0 = over(y0 - l.c0.y * x1 - l.c0.z * x2, l.c0.x);
    Vec3::new(x0, x1, x2)
}

/// The three columns of a linear map.
pub(super) fn columns(map: impl Fn(Vec3<f64>) -> Vec3<f64>) -> [Vec3<f64>; 3] {
    [map(Vec3::new(1.0, 0.0, 0.0)), map(Vec3::new(0.0, 1.0, 0.0)), map(Vec3::new(0.0, 0.0, 1.0))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_solve() {
        let l =
            Mat3::from_cols(Vec3::new(2.0, 1.0, -0.5), Vec3::new(0.0, 1e-4, 3e-5), Vec3::new(0.0, 0.0, 0.7));
        let (a, x) = (l * l.transpose(), Vec3::new(0.3, -0.2, 0.9));
        assert!((solve_factored(&cholesky(a), a * x) - x).norm() < 1e-6);
        // A flat direction is left out.
        let flat = Mat3::diagonal(Vec3::new(4.0, 0.0, 9.0));
        let found = solve_factored(&cholesky(flat), Vec3::new(4.0, 5.0, 9.0));
        assert!((found - Vec3::new(1.0, 0.0, 1.0)).norm() < 1e-15);
    }
}
