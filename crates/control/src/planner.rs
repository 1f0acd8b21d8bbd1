//! [`Planner`]: improves a plan; [`PLANNERS`]: every planner by name.

use std::path::Path;

use pullback_core::ConfigError;
use pullback_core::registry::{Entry, Registry};
use pullback_core::settings::Range;
use pullback_core::sources::{BOX_DDP, CEM, DIFFMJX, MPPI, PREDICTIVE_SAMPLING};
use pullback_optim::RunName;
use pullback_optim::methods::read;
use serde::Serialize;
use serde_json::Value;

use crate::cem::{Cem, CemConfig};
use crate::error::PlanError;
use crate::gradient::{Gradient, GradientConfig};
use crate::hybrid::{Hybrid, HybridConfig};
use crate::ilqr::{Ilqr, IlqrConfig};
use crate::mppi::{Mppi, MppiConfig};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::sampling::{Sampling, SamplingConfig};
use crate::shooting::{Shooting, ShootingConfig};
use crate::spline::{Plan, Spline};

/// When a plan is made.
pub struct Moment<'a> {
    /// Control steps applied so far.
    pub step: usize,
    /// Seed of everything random in this plan.
    pub seed: u64,
    /// A file for planners that log what they do, and the run that it is part of.
    pub log: Option<(&'a Path, &'a RunName)>,
    /// Called during long plans, with how much is done and the lowest cost.
    pub watch: &'a mut dyn FnMut(usize, f64),
}

/// What planning came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Cost of the plan that was handed in; infinite where it cannot be simulated.
    pub before: f64,
    /// Cost of the plan now.
    pub after: f64,
    /// Rollouts without gradients.
    pub rollouts: usize,
    /// Rollouts with gradients, or with Jacobians of all steps.
    pub gradients: usize,
}

/// A way to plan. Nothing but memory is kept between plans: what a planner makes of a state, a plan and a seed
/// depends on these alone.
pub trait Planner {
    /// How knots become controls.
    fn spline(&self) -> &Spline;
    /// Improves `plan` for the state `from`; the result is never worse.
    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError>;
}

/// A planner and its settings.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerConfig {
    /// Adam.
    Gradient(GradientConfig),
    /// Predictive sampling.
    Sampling(SamplingConfig),
    /// Model-predictive path integral control.
    Mppi(MppiConfig),
    /// The cross-entropy method.
    Cem(CemConfig),
    /// Iterative LQR with control limits.
    Ilqr(IlqrConfig),
    /// A search over a whole episode.
    Shooting(ShootingConfig),
    /// Sampling, then gradients.
    Hybrid(HybridConfig),
}

impl PlannerConfig {
    /// Whether one plan spans the whole episode.
    pub fn plans_once(&self) -> bool {
        matches!(self, PlannerConfig::Shooting(_))
    }

    /// The planner for a problem, over `spline` where it plans with knots.
    pub fn planner<'a, S: PlanSystem, L: PlanLoss>(
        &self,
        problem: Problem<'a, S, L>,
        spline: Spline,
    ) -> Result<Box<dyn Planner + 'a>, ConfigError> {
        Ok(match self.clone() {
            PlannerConfig::Gradient(config) => Box::new(Gradient::new(problem, spline, config)?),
            PlannerConfig::Sampling(config) => Box::new(Sampling::new(problem, spline, config)?),
            PlannerConfig::Mppi(config) => Box::new(Mppi::new(problem, spline, config)?),
            PlannerConfig::Cem(config) => Box::new(Cem::new(problem, spline, config)?),
            PlannerConfig::Ilqr(config) => Box::new(Ilqr::new(problem, config)?),
            PlannerConfig::Shooting(config) => Box::new(Shooting::new(problem, spline, config)?),
            PlannerConfig::Hybrid(config) => Box::new(Hybrid::new(problem, spline, config)?),
        })
    }
}

/// How a planner is made of its name and the object of its settings.
pub type BuildPlanner = fn(&str, &Value) -> Result<PlannerConfig, ConfigError>;

/// Every planner by name.
pub const PLANNERS: Registry<BuildPlanner> = Registry::new("planner", &[TABLE]);

const TABLE: &[Entry<BuildPlanner>] = &[
    Entry::cited(
        "gradient",
        "Adam on the plan, warm-started, the best of its iterations",
        DIFFMJX.at("section 6"),
        |name, settings| Ok(PlannerConfig::Gradient(read(name, settings)?)),
    ),
    Entry::cited(
        "sampling",
        "predictive sampling: the best of many noisy plans",
        PREDICTIVE_SAMPLING.whole(),
        |name, settings| Ok(PlannerConfig::Sampling(read(name, settings)?)),
    ),
    Entry::cited(
        "mppi",
        "path integral control: a mean of noisy plans, weighted by their costs",
        MPPI.whole(),
        |name, settings| Ok(PlannerConfig::Mppi(read(name, settings)?)),
    ),
    Entry::cited(
        "cem",
        "the cross-entropy method: mean and deviation of the best, round by round",
        CEM.whole(),
        |name, settings| Ok(PlannerConfig::Cem(read(name, settings)?)),
    ),
    Entry::cited(
        "ilqr",
        "iterative LQR with control limits, from exact Jacobians",
        BOX_DDP.whole(),
        |name, settings| Ok(PlannerConfig::Ilqr(read(name, settings)?)),
    ),
    Entry::new("shooting", "a search method over the controls of a whole episode", |name, settings| {
        Ok(PlannerConfig::Shooting(read(name, settings)?))
    }),
    Entry::new("hybrid", "sampling proposes, gradients polish", |name, settings| {
        Ok(PlannerConfig::Hybrid(read(name, settings)?))
    }),
];

/// The planner `name` with the settings in the object given; those not named, or all for null, have their
/// defaults.
///
/// ```
/// use pullback_control::build_planner;
/// use serde_json::json;
/// assert!(build_planner("mppi", &json!({"samples": 256, "noise": "brown"})).is_ok());
/// assert!(build_planner("mppi", &json!({"sample": 256})).is_err());
/// ```
pub fn build(name: &str, settings: &Value) -> Result<PlannerConfig, ConfigError> {
    let entry = PLANNERS.find(name)?;
    (entry.value)(entry.name, settings)
}

/// Samples, elites or starts at most.
const MOST_PLANS: f64 = 1e6;

/// The range of a number of plans.
pub(crate) const PLANS: Range = Range::Within(1.0, MOST_PLANS);
/// The range of a number of rounds or iterations.
pub(crate) const ROUNDS: Range = Range::Within(1.0, 1e6);
/// The range of a deviation or of a step, in the box scaled to [−1, 1].
pub(crate) const LENGTH: Range = Range::Above(0.0, 10.0);
