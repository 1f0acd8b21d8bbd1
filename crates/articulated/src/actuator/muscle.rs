//! Force and activation of muscles, as MuJoCo has them: a force-length curve of four parabolas, a force-velocity curve
//! of two, a passive force, and first-order activation that is faster up than down.

use pullback_math::{Cotangent, Real, differentiable, select};

/// A number that divisors are not below.
const TINY: f64 = 1e-15;

/// Force curves of a muscle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct MuscleParams<T> {
    /// Peak active force at rest, N.
    pub force: T,
    /// Lengths of the actuator at the ends of its range.
    pub lengthrange: [T; 2],
    /// The same in units of the optimal length.
    pub range: [T; 2],
    /// Shortest length at which it is active.
    pub lmin: T,
    /// Longest length at which it is active.
    pub lmax: T,
    /// Shortening velocity at which the active force vanishes.
    pub vmax: T,
    /// Passive force at `lmax`.
    pub fpmax: T,
    /// Active force at the largest lengthening velocity.
    pub fvmax: T,
}

/// Time constants of a muscle's activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct MuscleDynamics<T> {
    /// Time constants of activation and deactivation, s.
    pub timeconst: [T; 2],
    /// Width of the transition between the two.
    pub tausmooth: T,
}

/// A divisor, kept from zero.
#[differentiable]
#[inline(always)]
fn floored<T: Real>(x: T) -> T {
    x.max(T::lit(TINY))
}

/// The optimal length.
#[differentiable]
#[inline(always)]
fn optimal_length<T: Real>(p: MuscleParams<T>) -> T {
    (p.lengthrange[1] - p.lengthrange[0]) / floored(p.range[1] - p.range[0])
}

/// Length in units of the optimal length.
#[differentiable]
#[inline(always)]
fn normalized_length<T: Real>(length: T, p: MuscleParams<T>) -> T {
    p.range[0] + (length - p.lengthrange[0]) / floored(optimal_length(p))
}

/// Active force over length.
#[differentiable]
#[inline(always)]
fn force_length<T: Real>(length: T, lmin: T, lmax: T) -> T {
    let half = T::lit(0.5);
    let (a, b) = (half * (lmin + T::one()), half * (T::one() + lmax));
    let rising = (length - lmin) / floored(a - lmin);
    let before = (T::one() - length) / floored(T::one() - a);
    let after = (length - T::one()) / floored(b - T::one());
    let falling = (lmax - length) / floored(lmax - b);
    let left = select(length.le(a), half * rising * rising, T::one() - half * before * before);
    let right = select(length.le(b), T::one() - half * after * after, half * falling * falling);
    let active = select(length.le(T::one()), left, right);
    let inside = length.ge(lmin) & length.le(lmax);
    select(inside, active, T::zero())
}

/// Active force over velocity, in units of `vmax`.
#[differentiable]
#[inline(always)]
fn force_velocity<T: Real>(velocity: T, fvmax: T) -> T {
    let y = fvmax - T::one();
    let shortening = (velocity + T::one()) * (velocity + T::one());
    let lengthening = fvmax - (y - velocity) * (y - velocity) / floored(y);
    let moving = select(velocity.le(T::zero()), shortening, select(velocity.le(y), lengthening, fvmax));
    select(velocity.le(-T::one()), T::zero(), moving)
}

/// Slope of [`force_velocity`].
#[differentiable]
#[inline(always)]
fn force_velocity_slope<T: Real>(velocity: T, fvmax: T) -> T {
    let y = fvmax - T::one();
    let two = T::lit(2.0);
    let shortening = two * (velocity + T::one());
    let lengthening = two * (y - velocity) / floored(y);
    let moving = select(velocity.le(T::zero()), shortening, select(velocity.le(y), lengthening, T::zero()));
    select(velocity.le(-T::one()), T::zero(), moving)
}

/// Passive force over length.
#[differentiable]
#[inline(always)]
fn passive_force<T: Real>(length: T, lmax: T, fpmax: T) -> T {
    let half = T::lit(0.5);
    let b = half * (T::one() + lmax);
    let x = (length - T::one()) / floored(b - T::one());
    let linear = half + (length - b) / floored(b - T::one());
    let stretched = select(length.le(b), half * x * x, linear);
    select(length.le(T::one()), T::zero(), fpmax * stretched)
}

/// Velocity in units of the largest one.
#[differentiable]
#[inline(always)]
fn normalized_velocity<T: Real>(velocity: T, p: MuscleParams<T>) -> T {
    velocity / floored(optimal_length(p) * p.vmax)
}

/// Force per unit of activation: −F₀·FL·FV.
#[differentiable]
#[inline(always)]
pub fn muscle_gain<T: Real>(length: T, velocity: T, p: MuscleParams<T>) -> T {
    let active = force_length(normalized_length(length, p), p.lmin, p.lmax);
    -(p.force * active * force_velocity(normalized_velocity(velocity, p), p.fvmax))
}

/// Slope of [`muscle_gain`] over velocity.
#[differentiable]
#[inline(always)]
pub fn muscle_gain_slope<T: Real>(length: T, velocity: T, p: MuscleParams<T>) -> T {
    let active = force_length(normalized_length(length, p), p.lmin, p.lmax);
    let slope = force_velocity_slope(normalized_velocity(velocity, p), p.fvmax);
    -(p.force * active * slope / floored(optimal_length(p) * p.vmax))
}

/// Passive force: −F₀·FP.
#[differentiable]
#[inline(always)]
pub fn muscle_bias<T: Real>(length: T, p: MuscleParams<T>) -> T {
    -(p.force * passive_force(normalized_length(length, p), p.lmax, p.fpmax))
}

/// Rate of the activation `a` under control `u`.
#[differentiable]
#[inline(always)]
pub fn activation_rate<T: Real>(u: T, a: T, p: MuscleDynamics<T>) -> T {
    let one = T::one();
    let (excitation, level) = (u.max(T::zero()).min(one), a.max(T::zero()).min(one));
    let difference = excitation - a;
    let scale = T::lit(0.5) + T::lit(1.5) * level;
    let (rise, fall) = (p.timeconst[0] * scale, p.timeconst[1] / scale);
    // 6x⁵ − 15x⁴ + 10x³ between the two
    let smooth = p.tausmooth.ge(T::lit(TINY));
    let x = difference / select(smooth, p.tausmooth, one) + T::lit(0.5);
    let x = x.max(T::zero()).min(one);
    let blend = x * x * x * (x * (x * T::lit(6.0) - T::lit(15.0)) + T::lit(10.0));
    let switched = select(difference.gt(T::zero()), rise, fall);
    let tau = select(smooth, fall + (rise - fall) * blend, switched);
    difference / floored(tau)
}
