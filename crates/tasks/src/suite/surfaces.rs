//! Surfaces that particles slide on: a floor with friction, and a pan that moves.

use pullback_core::layout::Slice;
use pullback_math::{Cotangent, Mask, Real, Vec3, constant, differentiable, select};

use super::tangential::{SlideBars, Surface};

/// The velocity of a particle on the floor z = 0 loses its downward part; Coulomb friction takes up to μ
/// times as much along the floor.
#[differentiable]
#[inline(always)]
pub fn on_floor<T: Real>(x: Vec3<T>, v: Vec3<T>, friction: T) -> Vec3<T> {
    let touches = constant(x.z.lt(T::zero()) & v.z.lt(T::zero()));
    let push = select(touches, -v.z, T::zero());
    // v_t max(0, 1 − μ Δv_n / |v_t|)
    let slip = Vec3::new(v.x, v.y, T::zero()).norm();
    let safe = select(slip.gt(T::zero()), slip, T::one());
    let keep = (T::one() - friction * push / safe).max(T::zero());
    Vec3::new(v.x * keep, v.y * keep, v.z + push)
}

/// A level floor at z = 0; parameter: its friction.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Coefficient of friction μ.
    pub friction: f64,
}

impl Surface for Floor {
    type Control = [f64; 0];
    type Params = f64;
    fn control_slices(&self) -> Vec<Slice> {
        Vec::new()
    }
    fn param_slices(&self) -> Vec<Slice> {
        vec![Slice::new("floor.friction", 1, "1").bounds(0.0, f64::INFINITY).default(&[self.friction])]
    }
    fn near<T: Real>(&self, _control: [T; 0], x: Vec3<T>) -> bool {
        x.z.lt(T::zero()).any()
    }
    fn slide<T: Real>(&self, friction: T, _control: [T; 0], x: Vec3<T>, v: Vec3<T>) -> Vec3<T> {
        on_floor(x, v, friction)
    }
    fn slide_vjp<T: Real>(
        &self,
        friction: T,
        _control: [T; 0],
        x: Vec3<T>,
        v: Vec3<T>,
        out_bar: Vec3<T>,
    ) -> SlideBars<Self, T> {
        let (x, v, params) = on_floor_vjp(x, v, friction, out_bar);
        SlideBars { params, control: [], x, v }
    }
}

/// Radius of the pan, m (the paper).
const PAN: f64 = 0.2;
/// Where the pan's bottom begins to rise, m from its middle.
pub const FLAT: f64 = 0.15;
/// Height of the rim, m.
pub const RIM: f64 = 0.03;
/// Thickness of the pan: a particle deeper than this is below it, m.
pub const THICKNESS: f64 = 0.03;

/// The velocity of a particle in a pan at `pose` (x, z, tilt) that moves at `rate`: relative to the pan it
/// loses its part into it.
///
/// In the frame of the pan the surface is z = c max(ρ − a, 0)², with ρ the distance from the middle; a
/// positive tilt lifts +x.
#[differentiable]
#[inline(always)]
fn in_pan<T: Real>(x: Vec3<T>, v: Vec3<T>, pose: Vec3<T>, rate: Vec3<T>) -> Vec3<T> {
    let (sin, cos) = pose.z.sin_cos();
    let (dx, dz) = (x.x - pose.x, x.z - pose.y);
    let (along, above) = (dx * cos + dz * sin, dz * cos - dx * sin);
    let squared = along * along + x.y * x.y;
    let safe = select(squared.gt(T::zero()), squared, T::one());
    let rho = safe.sqrt();
    let beyond = (rho - T::lit(FLAT)).max(T::zero());
    let bend = T::lit(RIM / ((PAN - FLAT) * (PAN - FLAT)));
    let gap = above - bend * beyond * beyond;
    // n ∝ (−h′ x/ρ, −h′ y/ρ, 1), turned into the world
    let slope = bend * beyond * T::lit(2.0) / rho;
    let (side, up) = (-(slope * along), T::one());
    let normal = Vec3::new(side * cos - up * sin, -(slope * x.y), side * sin + up * cos).normalize();
    // Velocity of the pan there: (ẋ, 0, ż) + φ̇ (−dz, 0, dx)
    let moving = Vec3::new(rate.x - rate.z * dz, T::zero(), rate.y + rate.z * dx);
    let approach = normal.dot(v - moving);
    let within = constant(squared.lt(T::lit(PAN * PAN)));
    let at = constant(gap.lt(T::zero()) & gap.gt(T::lit(-THICKNESS)) & approach.lt(T::zero()));
    v - normal * select(at & within, approach, T::zero())
}

/// Controls of a pan.
#[derive(Clone, Copy, Debug, Cotangent)]
pub struct PanControl<T> {
    /// Pose (x, z, tilt) during a step.
    pub pose: Vec3<T>,
    /// Rate of the pose.
    pub rate: Vec3<T>,
}

/// A pan above a floor without friction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pan;

impl Pan {
    fn below<T: Real>(x: Vec3<T>) -> bool {
        x.z.lt(T::zero()).any()
    }
    fn within<T: Real>(pose: Vec3<T>, x: Vec3<T>) -> bool {
        let (dx, dz) = (x.x - pose.x, x.z - pose.y);
        (dx * dx + x.y * x.y + dz * dz).lt(T::lit((PAN + RIM) * (PAN + RIM))).any()
    }
}

impl Surface for Pan {
    type Control = PanControl<f64>;
    type Params = [f64; 0];
    fn control_slices(&self) -> Vec<Slice> {
        vec![Slice::new("pan.pose", 3, "1"), Slice::new("pan.rate", 3, "1/s")]
    }
    fn param_slices(&self) -> Vec<Slice> {
        Vec::new()
    }
    fn near<T: Real>(&self, control: PanControl<T>, x: Vec3<T>) -> bool {
        Self::below(x) || Self::within(control.pose, x)
    }
    fn slide<T: Real>(&self, _params: [T; 0], control: PanControl<T>, x: Vec3<T>, v: Vec3<T>) -> Vec3<T> {
        let v = in_pan(x, v, control.pose, control.rate);
        on_floor(x, v, T::zero())
    }
    fn slide_vjp<T: Real>(
        &self,
        _params: [T; 0],
        control: PanControl<T>,
        x: Vec3<T>,
        v: Vec3<T>,
        out_bar: Vec3<T>,
    ) -> SlideBars<Self, T> {
        let PanControl { pose, rate } = control;
        let slid = in_pan(x, v, pose, rate);
        let (floor_bar, slid_bar, _) = on_floor_vjp(x, slid, T::zero(), out_bar);
        let (x_bar, v_bar, pose, rate) = in_pan_vjp(x, v, pose, rate, slid_bar);
        SlideBars { params: [], control: PanControl { pose, rate }, x: x_bar + floor_bar, v: v_bar }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_takes_the_normal_part_and_no_more() {
        let below = Vec3::new(0.3, 0.1, -1e-3);
        assert_eq!(on_floor(below, Vec3::new(1.0, 2.0, -3.0), 0.0), Vec3::new(1.0, 2.0, 0.0));
        // Leaving, or above: untouched.
        assert_eq!(on_floor(below, Vec3::new(1.0, 2.0, 3.0), 0.5), Vec3::new(1.0, 2.0, 3.0));
        // Friction takes μ |v_n| of the speed, and stops what is slower.
        assert!((on_floor(below, Vec3::new(2.0, 0.0, -1.0), 0.5).x - 1.5).abs() < 1e-15);
        assert_eq!(on_floor(below, Vec3::new(0.2, 0.0, -1.0), 0.5).x, 0.0);
    }

    #[test]
    fn a_pan_carries_what_lies_in_it() {
        // Tilted, moving and turning: afterwards nothing moves into the pan where it lies.
        let (pose, rate) = (Vec3::new(0.1, 0.5, 0.4), Vec3::new(0.3, 0.8, -2.0));
        let (sin, cos) = pose.z.sin_cos();
        let out = Vec3::new(-sin, 0.0, cos);
        let x = Vec3::new(pose.x + 0.1 * cos, 0.02, pose.y + 0.1 * sin) - out * 0.002;
        let v = in_pan(x, Vec3::new(0.0, 0.0, -1.0), pose, rate);
        let moving = Vec3::new(rate.x - rate.z * (x.z - pose.y), 0.0, rate.y + rate.z * (x.x - pose.x));
        assert!(out.dot(v - moving).abs() < 1e-14, "{v:?}");
        // Beside the pan nothing happens.
        let beside = Vec3::new(pose.x + 0.25 * cos, 0.0, pose.y + 0.25 * sin) - out * 0.002;
        assert_eq!(in_pan(beside, Vec3::new(0.0, 0.0, -1.0), pose, rate), Vec3::new(0.0, 0.0, -1.0));
    }
}
