//! The penalty law: the force of one compliant contact, with relaxed Coulomb friction.
//!
//! A contact of depth d pushes with ke·d along its normal and resists approach with damping; friction opposes the
//! sliding velocity with kf·|v| up to a bound. [`ContactDamping`] chooses between two forms. One law serves robots,
//! particles of soft bodies and point masses.

use pullback_math::{Cotangent, Real, Vec3, differentiable, select};

/// How the damping of compliant contact sets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactDamping {
    /// In proportion to depth, with friction bounded by μ·ke·depth (dFlex). The force is continuous, so gradients
    /// converge as the step shrinks.
    #[default]
    ByDepth,
    /// At once, with friction bounded by μ times the whole normal force (Warp). The force jumps by kd·v at touch, so
    /// gradients of fixed steps miss how the instant of touch moves.
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
    let depth = (-distance).max(T::zero());
    let approach = velocity.dot(normal).min(T::zero());
    let elastic = law.stiffness * depth;
    // By depth: press = ke d − kd d vₙ, bound = ke d. Plain: press = ke d − kd vₙ where they touch, bound = press.
    let (press, bound) = if form == ContactDamping::ByDepth {
        (elastic - law.damping * depth * approach, elastic)
    } else {
        let press = select(depth.gt(T::zero()), elastic - law.damping * approach, T::zero());
        (press, press)
    };
    let slide = velocity - normal * velocity.dot(normal);
    let grip = (law.friction_slope * slide.norm()).min(friction * bound);
    normal * press - slide.normalize() * grip
}
