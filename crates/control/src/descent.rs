//! [`Descent`]: Adam on one or several plans side by side, the best of all iterations.
//!
//! Losses through contact are not convex and their gradients change by orders of magnitude. So the plan that is kept
//! is the best one seen, not the last, and gradients far longer than usual are shortened (DiffMJX, section 6).
//! Near an optimum in contact, steps that were right on the way there all miss. So a descent without a new best for a
//! while goes back to its best plan and on from there with half the rate.

use pullback_core::batch::{BatchGradients, BatchInputs};
use pullback_core::rollout::Loss;
use pullback_core::settings::{Range, check_ranges};
use pullback_core::{Batch, ConfigError, Schedule, System};
use pullback_math::Real;
use pullback_optim::methods::Settings;
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use serde::{Deserialize, Serialize};

use crate::candidates::lowest;
use crate::error::PlanError;
use crate::planner::ROUNDS;
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::Spline;

/// Settings of a [`Descent`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DescentConfig {
    /// Gradients per plan (32).
    pub iterations: usize,
    /// Length of the first steps of each knot, in the box scaled to [−1, 1] (0.05).
    pub rate: f64,
    /// Decay of the mean of gradients (0.9).
    pub beta1: f64,
    /// Decay of the mean of their squares (0.99): plans are short.
    pub beta2: f64,
    /// Gradients are shortened to this many times the median length so far; 0 for not at all (3).
    pub clip: f64,
    /// Iterations without a new best after which the rate is halved, from the best plan on; 0 for never (8).
    pub patience: usize,
}

impl Default for DescentConfig {
    fn default() -> Self {
        DescentConfig { iterations: 32, rate: 0.05, beta1: 0.9, beta2: 0.99, clip: 3.0, patience: 8 }
    }
}

impl Settings for DescentConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let decay = Range::Below(0.0, 1.0);
        let ranges = [
            ("iterations", self.iterations as f64, ROUNDS),
            ("rate", self.rate, Range::Above(0.0, 2.0)),
            ("beta1", self.beta1, decay),
            ("beta2", self.beta2, decay),
            ("clip", self.clip, Range::NotNegative),
        ];
        check_ranges(name, &ranges)
    }
}

/// One of the descents side by side.
struct Walk {
    adam: AdamState,
    rate: f64,
    /// Lengths of its gradients, in order.
    lengths: Vec<f64>,
    /// Its lowest cost, the knots that have it, and the iterations since.
    best: (f64, Vec<f64>),
    since: usize,
}

impl Walk {
    fn new(config: &DescentConfig, plan: &[f64]) -> Self {
        Walk {
            adam: AdamState::new(plan.len()),
            rate: config.rate,
            lengths: Vec::new(),
            best: (f64::INFINITY, plan.to_vec()),
            since: 0,
        }
    }

    /// Takes note of the cost of `plan`; returns whether patience has ended, with `plan` at the best again.
    fn note(&mut self, config: &DescentConfig, cost: f64, plan: &mut [f64]) -> bool {
        // Of equal costs the later one: before contact only contacts from distance tell them apart.
        if cost <= self.best.0 {
            self.best = (cost, plan.to_vec());
            self.since = 0;
            return false;
        }
        self.since += 1;
        let ended = config.patience > 0 && self.since >= config.patience;
        if ended {
            plan.copy_from_slice(&self.best.1);
            *self = Walk { rate: 0.5 * self.rate, best: self.best.clone(), ..Walk::new(config, plan) };
        }
        ended
    }
}

/// Memory of descents of `starts` plans on scalars `T`.
pub struct Descent<'a, S: System<T>, L, T: Real> {
    problem: Problem<'a, S, L>,
    batch: Batch<&'a S, T>,
    starts: usize,
    gradients: BatchGradients,
    controls: Vec<f64>,
}

/// The best plan of a descent.
#[derive(Clone, Debug, PartialEq)]
pub struct Descended {
    /// Cost of the first start; infinite where it cannot be simulated.
    pub first: f64,
    /// The lowest cost and the knots that have it, if any plan can be simulated.
    pub best: Option<(f64, Vec<f64>)>,
    /// Rollouts with gradients.
    pub gradients: usize,
}

impl<'a, S: PlanSystem + System<T>, L: PlanLoss + Loss<T>, T: Real> Descent<'a, S, L, T> {
    /// Memory for `starts` plans.
    pub fn new(problem: Problem<'a, S, L>, starts: usize) -> Result<Self, ConfigError> {
        // States at which controls change are kept, the steps between are computed again.
        let rollout = problem.rollout(Schedule::Every(problem.substeps))?;
        let batch = Batch::new(rollout, starts, problem.threads)?;
        let controls = vec![0.0; starts * problem.horizon * problem.bounds.len()];
        Ok(Descent { problem, batch, starts, gradients: BatchGradients::default(), controls })
    }

    /// Descends from each of `plans`, which are left where the descents end.
    pub fn run(
        &mut self,
        config: &DescentConfig,
        from: &[f64],
        (spline, phase): (&Spline, usize),
        plans: &mut [Vec<f64>],
        watch: &mut dyn FnMut(usize, f64),
    ) -> Result<Descended, PlanError> {
        let length = self.problem.horizon * self.problem.bounds.len();
        let adam = AdamConfig { beta1: config.beta1, beta2: config.beta2, ..AdamConfig::default() };
        let mut walks: Vec<Walk> = plans.iter().map(|plan| Walk::new(config, plan)).collect();
        let mut gradient = vec![0.0; spline.len()];
        let mut found = Descended { first: f64::INFINITY, best: None, gradients: 0 };
        for iteration in 0..=config.iterations {
            for (plan, controls) in plans.iter().zip(self.controls.chunks_mut(length.max(1))) {
                spline.controls(plan, phase, controls);
            }
            let last = iteration == config.iterations;
            let downhill = self.evaluate(from, last)?;
            found.gradients += usize::from(!last) * self.starts;
            if iteration == 0 {
                found.first = self.gradients.loss[0];
            }
            if let Some(i) = lowest(&self.gradients.loss)
                && found.best.as_ref().is_none_or(|(cost, _)| self.gradients.loss[i] <= *cost)
            {
                found.best = Some((self.gradients.loss[i], plans[i].clone()));
            }
            watch(iteration, found.best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost));
            if !downhill || last {
                break;
            }
            for (i, (plan, walk)) in plans.iter_mut().zip(&mut walks).enumerate() {
                // The next iteration takes the gradient at the best plan anew.
                if walk.note(config, self.gradients.loss[i], plan) {
                    continue;
                }
                gradient.fill(0.0);
                let bars = &self.gradients.controls[i * length..(i + 1) * length];
                spline.controls_vjp(plan, phase, bars, &mut gradient);
                clip(&mut gradient, config.clip, &mut walk.lengths);
                walk.adam.step(&adam, walk.rate, plan, &gradient);
                spline.bounds().clamp(plan);
            }
        }
        Ok(found)
    }

    /// Costs of the controls, and their gradients unless `values_only`; whether there are any.
    fn evaluate(&mut self, from: &[f64], values_only: bool) -> Result<bool, PlanError> {
        let inputs = BatchInputs { states: from, controls: &self.controls, params: self.problem.params };
        let loss = self.problem.loss;
        if !values_only && self.batch.gradients(inputs, |_| loss, &mut self.gradients).is_ok() {
            return Ok(true);
        }
        // A simulation or a gradient failed: what can be simulated still counts.
        self.batch.values(inputs, |_| loss, &mut self.gradients.loss)?;
        Ok(false)
    }
}

/// Shortens a gradient to `clip` times the median of the lengths so far.
fn clip(gradient: &mut [f64], clip: f64, lengths: &mut Vec<f64>) {
    let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let place = lengths.partition_point(|l| *l < length);
    lengths.insert(place, length);
    let most = clip * lengths[(lengths.len() - 1) / 2];
    if clip > 0.0 && length > most {
        gradient.iter_mut().for_each(|g| *g *= most / length);
    }
}
