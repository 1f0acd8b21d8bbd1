//! Shooting over a whole episode (trajectory optimization): a search method of `optim` over the knots of one plan.
//!
//! Every simulation is logged; a search that was interrupted goes on by its log.

use pullback_core::rollout::Inputs;
use pullback_core::settings::{Range, check_ranges};
use pullback_core::{ConfigError, Schedule};
use pullback_optim::methods::Settings;
use pullback_optim::search::{Search, Searched};
use pullback_optim::{RolloutObjective, RunName, build_method};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::PlanError;
use crate::planner::{Moment, Outcome, Planner};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::{Plan, Spline, SplineMap};

/// Settings of [`Shooting`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShootingConfig {
    /// A search method, by its name in `pullback list` (adam).
    pub method: String,
    /// Its settings.
    pub settings: Value,
    /// Simulations (300).
    pub budget: usize,
}

impl Default for ShootingConfig {
    fn default() -> Self {
        ShootingConfig { method: "adam".into(), settings: Value::Null, budget: 300 }
    }
}

impl Settings for ShootingConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        check_ranges(name, &[("budget", self.budget as f64, Range::Within(1.0, 1e9))])?;
        build_method(&self.method, &self.settings).map(drop)
    }
}

/// The planner.
pub struct Shooting<'a, S, L> {
    problem: Problem<'a, S, L>,
    config: ShootingConfig,
    spline: Spline,
}

impl<'a, S: PlanSystem, L: PlanLoss> Shooting<'a, S, L> {
    /// A planner for a problem.
    pub fn new(
        problem: Problem<'a, S, L>,
        spline: Spline,
        config: ShootingConfig,
    ) -> Result<Self, ConfigError> {
        problem.check_bounded("shooting")?;
        config.check("shooting")?;
        Ok(Shooting { problem, config, spline })
    }
}

impl<S: PlanSystem, L: PlanLoss> Planner for Shooting<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let Problem { system, loss, params, .. } = self.problem;
        let rollout = self.problem.rollout(Schedule::Every(self.problem.substeps))?;
        let mut base = Inputs::<f64>::defaults(system, self.problem.horizon);
        base.state.copy_from_slice(from);
        base.params.copy_from_slice(params);
        let map = SplineMap::new(&self.spline, plan);
        let objective: RolloutObjective<&S, &L, SplineMap, f64> =
            RolloutObjective::new(rollout, loss, map).with_base(base);
        let method = build_method(&self.config.method, &self.config.settings)?;
        let (budget, seed) = (self.config.budget, moment.seed);
        let (log, task, inputs) = match moment.log {
            Some((log, RunName { task, inputs, .. })) => (Some(log), task.as_str(), &inputs[..]),
            None => (None, "plan", &[][..]),
        };
        let search = Search { objective: &objective, task, inputs, method: method.as_ref(), budget, seed };
        let Searched { losses, best, .. } = search.run(log, &mut *moment.watch)?;
        let best = best.filter(|best| best.loss.is_finite());
        let best = best.ok_or(PlanError::NoPlan { step: moment.step })?;
        plan.knots = best.x;
        let before = losses.first().copied().unwrap_or(f64::INFINITY);
        Ok(Outcome { before, after: best.loss, rollouts: 0, gradients: losses.len() })
    }
}
