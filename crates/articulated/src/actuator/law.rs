//! The law of an actuator: force = gain·drive + bias, where the drive is its control or its activation, and how the
//! activation follows the control.

use pullback_core::Block;
use pullback_math::{Real, differentiable};

use super::muscle::{
    MuscleDynamics, MuscleParams, activation_rate, activation_rate_vjp, muscle_bias, muscle_bias_vjp,
    muscle_gain, muscle_gain_slope, muscle_gain_slope_vjp, muscle_gain_vjp,
};

/// Where the parameters of a gain lie.
#[derive(Clone, Copy, Debug)]
pub enum GainBlock {
    /// A constant.
    Fixed(Block<[f64; 1]>),
    /// Constant, length and velocity terms.
    Affine(Block<[f64; 3]>),
    /// Active force of a muscle.
    Muscle(Block<MuscleParams<f64>>),
}

/// Where the parameters of a bias lie.
#[derive(Clone, Copy, Debug)]
pub enum BiasBlock {
    /// Constant, length and velocity terms.
    Affine(Block<[f64; 3]>),
    /// Passive force of a muscle.
    Muscle(Block<MuscleParams<f64>>),
}

/// Where the parameters of an activation lie.
#[derive(Clone, Copy, Debug)]
pub enum DynamicsBlock {
    /// No activation.
    None,
    /// The integral of the control.
    Integrator,
    /// A filter with a time constant; `exact` over an Euler step.
    Filter {
        /// The time constant, s.
        timeconst: Block<[f64; 1]>,
        /// Whether steps follow the exponential.
        exact: bool,
    },
    /// Activation of a muscle.
    Muscle(Block<MuscleDynamics<f64>>),
}

/// c₀ + c₁·length + c₂·velocity.
#[differentiable]
#[inline(always)]
fn affine<T: Real>(length: T, velocity: T, c: [T; 3]) -> T {
    c[0] + c[1] * length + c[2] * velocity
}

impl GainBlock {
    /// Force per unit of drive.
    #[inline(always)]
    pub fn value<T: Real>(self, params: &[T], length: T, velocity: T) -> T {
        match self {
            GainBlock::Fixed(block) => block.read(params)[0],
            GainBlock::Affine(block) => affine(length, velocity, block.read(params)),
            GainBlock::Muscle(block) => muscle_gain(length, velocity, block.read(params)),
        }
    }

    /// The pullback of [`GainBlock::value`]: *adds* to the parameters; returns the cotangents of length and velocity.
    #[inline(always)]
    pub fn value_vjp<T: Real>(self, params: &[T], length: T, velocity: T, bar: T, bars: &mut [T]) -> (T, T) {
        match self {
            GainBlock::Fixed(block) => {
                block.add([bar], bars);
                (T::zero(), T::zero())
            }
            GainBlock::Affine(block) => {
                let (l, v, p) = affine_vjp(length, velocity, block.read(params), bar);
                block.add(p, bars);
                (l, v)
            }
            GainBlock::Muscle(block) => {
                let (l, v, p) = muscle_gain_vjp(length, velocity, block.read(params), bar);
                block.add(p, bars);
                (l, v)
            }
        }
    }

    /// Slope over velocity.
    pub fn slope<T: Real>(self, params: &[T], length: T, velocity: T) -> T {
        match self {
            GainBlock::Fixed(_) => T::zero(),
            GainBlock::Affine(block) => block.read(params)[2],
            GainBlock::Muscle(block) => muscle_gain_slope(length, velocity, block.read(params)),
        }
    }

    /// The pullback of [`GainBlock::slope`].
    pub fn slope_vjp<T: Real>(self, params: &[T], length: T, velocity: T, bar: T, bars: &mut [T]) -> (T, T) {
        match self {
            GainBlock::Fixed(_) => (T::zero(), T::zero()),
            GainBlock::Affine(block) => {
                block.add([T::zero(), T::zero(), bar], bars);
                (T::zero(), T::zero())
            }
            GainBlock::Muscle(block) => {
                let (l, v, p) = muscle_gain_slope_vjp(length, velocity, block.read(params), bar);
                block.add(p, bars);
                (l, v)
            }
        }
    }
}

impl BiasBlock {
    /// Force without drive.
    #[inline(always)]
    pub fn value<T: Real>(self, params: &[T], length: T, velocity: T) -> T {
        match self {
            BiasBlock::Affine(block) => affine(length, velocity, block.read(params)),
            BiasBlock::Muscle(block) => muscle_bias(length, block.read(params)),
        }
    }

    /// The pullback of [`BiasBlock::value`]: *adds* to the parameters; returns the cotangents of length and velocity.
    #[inline(always)]
    pub fn value_vjp<T: Real>(self, params: &[T], length: T, velocity: T, bar: T, bars: &mut [T]) -> (T, T) {
        match self {
            BiasBlock::Affine(block) => {
                let (l, v, p) = affine_vjp(length, velocity, block.read(params), bar);
                block.add(p, bars);
                (l, v)
            }
            BiasBlock::Muscle(block) => {
                let (l, p) = muscle_bias_vjp(length, block.read(params), bar);
                block.add(p, bars);
                (l, T::zero())
            }
        }
    }

    /// Slope over velocity.
    pub fn slope<T: Real>(self, params: &[T]) -> T {
        match self {
            BiasBlock::Affine(block) => block.read(params)[2],
            BiasBlock::Muscle(_) => T::zero(),
        }
    }

    /// The pullback of [`BiasBlock::slope`].
    pub fn slope_vjp<T: Real>(self, bar: T, bars: &mut [T]) {
        if let BiasBlock::Affine(block) = self {
            block.add([T::zero(), T::zero(), bar], bars);
        }
    }
}

/// (u − a)/τ.
#[differentiable]
#[inline(always)]
fn filter_rate<T: Real>(u: T, a: T, tau: T) -> T {
    (u - a) / tau.max(T::lit(1e-15))
}

/// (u − a)(1 − e^{−h/τ})/h: the mean rate of a filter over a step.
#[differentiable]
#[inline(always)]
fn mean_filter_rate<T: Real>(u: T, a: T, tau: T, #[constant] h: T) -> T {
    let left = (-(h / tau.max(T::lit(1e-15)))).exp();
    (u - a) * (T::one() - left) / h
}

impl DynamicsBlock {
    /// Rate of the activation `a` under control `u`; that of an exact filter is its mean over `step`, if there is one.
    pub fn rate<T: Real>(self, params: &[T], u: T, a: T, step: Option<f64>) -> T {
        match (self, step) {
            (DynamicsBlock::None, _) => T::zero(),
            (DynamicsBlock::Integrator, _) => u,
            (DynamicsBlock::Filter { timeconst, exact: true }, Some(h)) => {
                mean_filter_rate(u, a, timeconst.read(params)[0], T::lit(h))
            }
            (DynamicsBlock::Filter { timeconst, .. }, _) => filter_rate(u, a, timeconst.read(params)[0]),
            (DynamicsBlock::Muscle(block), _) => activation_rate(u, a, block.read(params)),
        }
    }

    /// The pullback of [`DynamicsBlock::rate`]: *adds* to the parameters; returns the cotangents of `u` and `a`.
    pub fn rate_vjp<T: Real>(
        self,
        params: &[T],
        u: T,
        a: T,
        step: Option<f64>,
        bar: T,
        bars: &mut [T],
    ) -> (T, T) {
        match (self, step) {
            (DynamicsBlock::None, _) => (T::zero(), T::zero()),
            (DynamicsBlock::Integrator, _) => (bar, T::zero()),
            (DynamicsBlock::Filter { timeconst, exact: true }, Some(h)) => {
                let (u, a, tau, ()) = mean_filter_rate_vjp(u, a, timeconst.read(params)[0], T::lit(h), bar);
                timeconst.add([tau], bars);
                (u, a)
            }
            (DynamicsBlock::Filter { timeconst, .. }, _) => {
                let (u, a, tau) = filter_rate_vjp(u, a, timeconst.read(params)[0], bar);
                timeconst.add([tau], bars);
                (u, a)
            }
            (DynamicsBlock::Muscle(block), _) => {
                let (u, a, p) = activation_rate_vjp(u, a, block.read(params), bar);
                block.add(p, bars);
                (u, a)
            }
        }
    }
}

#[differentiable]
#[inline(always)]
fn clamp<T: Real>(x: T, #[constant] low: T, #[constant] high: T) -> T {
    x.max(low).min(high)
}

/// `x`, kept in a range.
#[inline(always)]
pub(crate) fn clamped<T: Real>(x: T, range: Option<(f64, f64)>) -> T {
    range.map_or(x, |(low, high)| clamp(x, T::lit(low), T::lit(high)))
}

/// The pullback of [`clamped`].
#[inline(always)]
pub(crate) fn clamped_vjp<T: Real>(x: T, range: Option<(f64, f64)>, bar: T) -> T {
    range.map_or(bar, |(low, high)| clamp_vjp(x, T::lit(low), T::lit(high), bar).0)
}
