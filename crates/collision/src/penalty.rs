//! The penalty law: the force of one compliant contact, with relaxed Coulomb friction.
//!
//! A contact of depth d pushes with ke·d along its normal and resists approach with damping; friction opposes
//! the sliding velocity with kf·|v| up to a bound. [`ContactDamping`] chooses between two forms. One law
//! serves robots, particles of soft bodies and point masses.

use pullback_math::{Cotangent, Real, Vec3, differentiable, select};

/// How the damping of compliant contact sets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactDamping {
    /// In proportion to depth, with friction bounded by μ·ke·depth (dFlex). The force is continuous, so
    /// gradients converge as the step shrinks.
    #[default]
    ByDepth,
    /// At once, with friction bounded by μ times the whole normal force (Warp). The force jumps by kd·v at
    /// touch, so gradients of fixed steps miss how the instant of touch moves.
    Plain,
}

/// Constants of compliant contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct PenaltyLaw<T> {
    /// Stiffness ke, N/m.
    pub stiffness: T,
    /// Damping kd: per depth, N s/m², or plain, N s/m.
    pub damping: T,
    /// Slope of friction at rest kf, N s/m.
    pub friction_slope: T,
}

/// Stiffness, damping and friction slope when nothing else is said: those of dFlex's hopper.
pub const PENALTY_DEFAULTS: [f64; 3] = [2e4, 1e3, 1e3];

/// Normal force at depth d of shapes that part with velocity v: ke d − kd d v, or ke d − kd v.
#[differentiable]
#[inline(always)]
pub fn normal_force<T: Real>(
    depth: T,
    velocity: T,
    stiffness: T,
    damping: T,
    #[constant] form: ContactDamping,
) -> T {
    let resistance =
        if form == ContactDamping::ByDepth { damping * depth * velocity } else { damping * velocity };
    stiffness * depth - resistance
}

/// Force on the second body at a contact; `velocity` is that of the second body against the first.
#[differentiable]
#[inline(always)]
pub fn penalty_force<T: Real>(
    distance: T,
    normal: Vec3<T>,
    velocity: Vec3<T>,
    friction: T,
    law: PenaltyLaw<T>,
    #[constant] form: ContactDamping,
) -> Vec3<T> {
    penalty_force_at((-distance).max(T::zero()), normal, velocity, friction, law, form)
}

/// [`penalty_force`] at a depth, which is not negative.
#[differentiable]
#[inline(always)]
pub fn penalty_force_at<T: Real>(
    depth: T,
    normal: Vec3<T>,
    velocity: Vec3<T>,
    friction: T,
    law: PenaltyLaw<T>,
    #[constant] form: ContactDamping,
) -> Vec3<T> {
    let approach = velocity.dot(normal).min(T::zero());
    let pressure = normal_force(depth, approach, law.stiffness, law.damping, form);
    // By depth: bound = ke d. Plain: the force acts where they touch, and bounds friction itself.
    let (press, bound) = if form == ContactDamping::ByDepth {
        (pressure, law.stiffness * depth)
    } else {
        let press = select(depth.gt(T::zero()), pressure, T::zero());
        (press, press)
    };
    let slide = velocity - normal * velocity.dot(normal);
    let grip = (law.friction_slope * slide.norm()).min(friction * bound);
    normal * press - slide.normalize() * grip
}
