//! What a narrow phase hands out: [`Contact`], and a tangent frame for it.
//!
//! Every pair fills a fixed number of slots, so that lanes of environments walk through the same code. A slot
//! in which nothing is near has [`INACTIVE`] added to its distance; position and normal stay finite.
//!
//! [`tangent_frame`] turns a fixed frame (e, t₁, t₂) by the smallest rotation that takes e to the normal, R x
//! = x + v × x + v × (v × x) / (1 + e·n) with v = e × n. It is smooth everywhere but at n = −e, which no
//! continuous frame can avoid (the hairy ball). We put e = (2, 3, 6)/7, so that the singular direction is
//! half a radian or more from every axis, where floors and walls are. Within 10⁻⁶ of it, the frame is finite,
//! not orthonormal.

use pullback_math::{Cotangent, Real, Select, Vec3, differentiable, select};

/// Added to the distance of a slot that holds no contact, m.
pub const INACTIVE: f64 = 1e9;

/// Squared lengths below this, m², have no direction; derivatives of unit vectors stay below 10¹⁵.
const NO_LENGTH_SQUARED: f64 = 1e-30;

/// A place where two shapes touch or nearly do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Contact<T> {
    /// Midway between the two surfaces, in the world, m.
    pub position: Vec3<T>,
    /// Unit vector from the first shape to the second.
    pub normal: Vec3<T>,
    /// Gap along the normal, m; negative where the shapes overlap.
    pub distance: T,
}

impl<T: Real> Contact<T> {
    /// A slot without contact.
    pub fn inactive() -> Self {
        Contact {
            position: Vec3::zero(),
            normal: Vec3::new(T::zero(), T::zero(), T::one()),
            distance: T::lit(INACTIVE),
        }
    }
    /// The same contact seen with the shapes in the other order.
    #[inline]
    pub fn swapped(self) -> Self {
        Contact { normal: -self.normal, ..self }
    }
}

impl<T: Real> Select for Contact<T> {
    type Mask = T::Mask;
    #[inline(always)]
    fn select(mask: T::Mask, if_true: Self, if_false: Self) -> Self {
        Contact {
            position: select(mask, if_true.position, if_false.position),
            normal: select(mask, if_true.normal, if_false.normal),
            distance: select(mask, if_true.distance, if_false.distance),
        }
    }
}

/// d / |d|, and `fallback` where d vanishes.
#[differentiable]
#[inline]
pub(super) fn unit_or<T: Real>(d: Vec3<T>, fallback: Vec3<T>) -> Vec3<T> {
    select(d.norm_squared().gt(T::lit(NO_LENGTH_SQUARED)), d.normalize(), fallback)
}

/// |d|, with a zero derivative where `unit_or` takes its fallback.
#[differentiable]
#[inline]
pub(super) fn length<T: Real>(d: Vec3<T>) -> T {
    select(d.norm_squared().gt(T::lit(NO_LENGTH_SQUARED)), d.norm(), T::zero())
}

/// x limited to [−h, h].
#[differentiable]
#[inline]
pub(super) fn clamp<T: Real>(x: T, h: T) -> T {
    x.max(-h).min(h)
}

/// Contact of a ball of radius r around c with something whose surface is `gap` away from c along n.
#[differentiable]
#[inline]
pub(super) fn from_center<T: Real>(c: Vec3<T>, radius: T, n: Vec3<T>, gap: T) -> Contact<T> {
    let distance = gap - radius;
    Contact { position: c + n * (radius + distance * T::lit(0.5)), normal: n, distance }
}

/// Contact between the surface points xₐ and x_b along n.
#[differentiable]
#[inline]
pub(super) fn between<T: Real>(a: Vec3<T>, b: Vec3<T>, n: Vec3<T>) -> Contact<T> {
    Contact { position: (a + b) * T::lit(0.5), normal: n, distance: n.dot(b - a) }
}

/// Two tangents t₁, t₂ so that (n, t₁, t₂) is right-handed and orthonormal, for a unit normal.
#[differentiable]
pub fn tangent_frame<T: Real>(normal: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    let seventh = 1.0 / 7.0;
    let e = Vec3::new(T::lit(2.0 * seventh), T::lit(3.0 * seventh), T::lit(6.0 * seventh));
    let t1 = Vec3::new(T::lit(3.0 * seventh), T::lit(-6.0 * seventh), T::lit(2.0 * seventh));
    let t2 = Vec3::new(T::lit(6.0 * seventh), T::lit(2.0 * seventh), T::lit(-3.0 * seventh));
    let v = e.cross(normal);
    let scale = (T::one() + e.dot(normal)).max(T::lit(1e-6)).recip();
    let (w1, w2) = (v.cross(t1), v.cross(t2));
    (t1 + w1 + v.cross(w1) * scale, t2 + w2 + v.cross(w2) * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::check_vjp;
    use pullback_core::gradcheck::Options;
    use pullback_core::random::Random;

    #[test]
    fn frames_are_right_handed_and_smooth() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let n = Vec3::new(random.normal(), random.normal(), random.normal()).normalize();
            let (t1, t2) = tangent_frame(n);
            assert!((n.cross(t1) - t2).norm() < 1e-9 && (t1.norm() - 1.0).abs() < 1e-9, "{n:?}");
            check_vjp!(
                |n: Vec3<T>| -> (Vec3<T>, Vec3<T>) { tangent_frame(n) },
                |bar| tangent_frame_vjp(n, bar),
                at [n.x, n.y, n.z],
                Options::default()
            )
            .assert_passed();
        }
    }

    #[test]
    fn the_singular_direction_is_finite() {
        let n = Vec3::new(-2.0, -3.0, -6.0) * (1.0 / 7.0);
        let (t1, t2) = tangent_frame(n);
        let bar = tangent_frame_vjp(n, (Vec3::new(1.0, 1.0, 1.0), Vec3::new(1.0, 1.0, 1.0)));
        assert!(t1.norm().is_finite() && t2.norm().is_finite() && bar.norm().is_finite());
    }
}
