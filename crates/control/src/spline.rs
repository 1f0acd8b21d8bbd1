//! [`Spline`]: controls over a horizon by a few knots, and [`Plan`], the knots.
//!
//! Knots stand `spacing` control steps apart at fixed moments, not at fixed distances from now: a shifted plan is
//! the same function of time, to the last bit. The *phase* is how far the present is beyond the first knot.
//! Controls are linear in the knots, and are taken into their bounds where a cubic leaves them.

use pullback_core::input_map::{InputMap, Variable};
use pullback_core::registry::{Entry, Registry};
use pullback_core::rollout::{Gradient, Inputs};
use pullback_math::Real;
use serde::{Deserialize, Serialize};

use crate::bounds::ControlBox;

/// What happens between knots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// A control is held until the next knot.
    Zero,
    /// A straight line to the next knot.
    #[default]
    Linear,
    /// Catmull and Rom's cubic: smooth, through every knot.
    Cubic,
}

/// Every interpolation by name.
pub const INTERPOLATIONS: Registry<Interpolation> = Registry::new(
    "interpolation",
    &[&[
        Entry::new("zero", "controls are held from knot to knot", Interpolation::Zero),
        Entry::new("linear", "straight lines from knot to knot", Interpolation::Linear),
        Entry::new("cubic", "smooth curves through the knots, by Catmull and Rom", Interpolation::Cubic),
    ]],
);

/// Knots in the scaled box, all controls of a knot side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The knots.
    pub knots: Vec<f64>,
    /// Control steps from the first knot that acts to the present.
    pub phase: usize,
}

/// How knots become controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    interpolation: Interpolation,
    spacing: usize,
    horizon: usize,
    bounds: ControlBox,
}

impl Spline {
    /// Knots every `spacing` control steps of a horizon; with a spacing of 1 every control is its own knot.
    pub fn new(bounds: &ControlBox, horizon: usize, spacing: usize, interpolation: Interpolation) -> Self {
        let spacing = spacing.max(1);
        let interpolation = if spacing == 1 { Interpolation::Zero } else { interpolation };
        Spline { interpolation, spacing, horizon, bounds: bounds.clone() }
    }

    /// Number of knots.
    pub fn knots(&self) -> usize {
        let beyond = match self.interpolation {
            Interpolation::Zero => 0,
            Interpolation::Linear | Interpolation::Cubic => 1,
        };
        (self.horizon.max(1) + self.spacing - 2 + self.lead()) / self.spacing + 1 + beyond
    }
    /// Number of variables: knots times controls.
    pub fn len(&self) -> usize {
        self.knots() * self.bounds.len()
    }
    /// Whether there is nothing to plan.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Control steps of the horizon.
    pub fn horizon(&self) -> usize {
        self.horizon
    }
    /// Bounds of the controls.
    pub fn bounds(&self) -> &ControlBox {
        &self.bounds
    }

    /// Whether a plan has the knots and the phase of this spline.
    pub fn fits(&self, plan: &Plan) -> bool {
        plan.knots.len() == self.len() && plan.phase < self.spacing
    }

    /// A plan that holds one control.
    pub fn constant(&self, control: &[f64]) -> Plan {
        let knot: Vec<f64> = control.iter().enumerate().map(|(i, u)| self.bounds.scaled(i, *u)).collect();
        Plan { knots: knot.repeat(self.knots()), phase: 0 }
    }

    /// The plan as seen `steps` control steps later; its last knot goes on.
    pub fn shift(&self, plan: &mut Plan, steps: usize) {
        let (width, passed) = (self.bounds.len(), (plan.phase + steps) / self.spacing);
        plan.phase = (plan.phase + steps) % self.spacing;
        let last = plan.knots[plan.knots.len() - width..].to_vec();
        plan.knots.drain(..(passed * width).min(plan.knots.len()));
        while plan.knots.len() < self.len() {
            plan.knots.extend_from_slice(&last);
        }
    }

    /// Controls of the horizon, step after step.
    pub fn controls<T: Real>(&self, knots: &[T], phase: usize, controls: &mut [T]) {
        for (t, controls) in controls.chunks_mut(self.bounds.len().max(1)).enumerate() {
            let (first, weights) = self.weights(phase, t);
            for (i, u) in controls.iter_mut().enumerate() {
                *u = self.bounds.control(i, self.interpolate(knots, first, &weights, i));
            }
        }
    }

    /// The pullback of [`Spline::controls`]: *adds* to the cotangent of the knots.
    pub fn controls_vjp<T: Real>(&self, knots: &[T], phase: usize, controls_bar: &[T], knots_bar: &mut [T]) {
        let width = self.bounds.len();
        for (t, bars) in controls_bar.chunks(width.max(1)).enumerate() {
            let (first, weights) = self.weights(phase, t);
            for (i, bar) in bars.iter().enumerate() {
                let z = self.interpolate(knots, first, &weights, i);
                let z_bar = self.bounds.control_vjp(i, z, *bar);
                for (k, w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    knots_bar[self.knot(first, k) * width + i] += z_bar * T::lit(*w);
                }
            }
        }
    }

    /// Control steps between the first knot and the one that the phase counts from: cubics look back.
    fn lead(&self) -> usize {
        if self.interpolation == Interpolation::Cubic { self.spacing } else { 0 }
    }

    /// Weights of the knots before `first`, at it, and of the two after it, in segment `first` at step `t`.
    fn weights(&self, phase: usize, t: usize) -> (usize, [f64; 4]) {
        let place = t + phase + self.lead();
        let (first, f) = (place / self.spacing, (place % self.spacing) as f64 / self.spacing as f64);
        let weights = match self.interpolation {
            Interpolation::Zero => [0.0, 1.0, 0.0, 0.0],
            Interpolation::Linear => [0.0, 1.0 - f, f, 0.0],
            Interpolation::Cubic => [
                0.5 * f * (f * (2.0 - f) - 1.0),
                0.5 * (f * f * (3.0 * f - 5.0) + 2.0),
                0.5 * f * (f * (4.0 - 3.0 * f) + 1.0),
                0.5 * f * f * (f - 1.0),
            ],
        };
        (first, weights)
    }

    /// The knot `k − 1` places after `first`; the last one goes on.
    fn knot(&self, first: usize, k: usize) -> usize {
        (first + k).saturating_sub(1).min(self.knots() - 1)
    }

    fn interpolate<T: Real>(&self, knots: &[T], first: usize, weights: &[f64; 4], i: usize) -> T {
        let width = self.bounds.len();
        let mut sum = T::zero();
        for (k, w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            sum += knots[self.knot(first, k) * width + i] * T::lit(*w);
        }
        sum
    }
}

/// A spline as a map from the variables of a search to the controls of a rollout.
#[derive(Clone, Debug)]
pub struct SplineMap {
    spline: Spline,
    phase: usize,
    variables: Vec<Variable>,
}

impl SplineMap {
    /// The knots of `plan` as variables that start there.
    pub fn new(spline: &Spline, plan: &Plan) -> Self {
        let width = spline.bounds.len().max(1);
        let variable = |(k, z): (usize, &f64)| {
            let (knot, control) = (k / width, k % width);
            Variable::new(format!("control {control}, knot {knot}"), "1", spline.bounds.limits(control), *z)
        };
        let variables = plan.knots.iter().enumerate().map(variable).collect();
        SplineMap { spline: spline.clone(), phase: plan.phase, variables }
    }
}

impl InputMap for SplineMap {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>) {
        self.spline.controls(x, self.phase, &mut inputs.controls);
    }
    fn apply_vjp<T: Real>(&self, x: &[T], bars: &Gradient<T>, x_bar: &mut [T]) {
        self.spline.controls_vjp(x, self.phase, &bars.control, x_bar);
    }
}
