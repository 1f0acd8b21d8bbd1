//! Gradient model-predictive control: Adam on the plan, from where the last one left off.

use pullback_core::ConfigError;
use pullback_optim::methods::Settings;

use crate::descent::{Descent, DescentConfig};
use crate::error::PlanError;
use crate::planner::{Moment, Outcome, Planner};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::{Plan, Spline};

/// Settings of [`Gradient`].
pub type GradientConfig = DescentConfig;

/// The planner.
pub struct Gradient<'a, S: PlanSystem, L> {
    config: GradientConfig,
    spline: Spline,
    descent: Descent<'a, S, L, f64>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Gradient<'a, S, L> {
    /// Memory for plans of a problem.
    pub fn new(
        problem: Problem<'a, S, L>,
        spline: Spline,
        config: GradientConfig,
    ) -> Result<Self, ConfigError> {
        problem.check_bounded("gradient")?;
        config.check("gradient")?;
        Ok(Gradient { config, spline, descent: Descent::new(problem, 1)? })
    }
}

impl<S: PlanSystem, L: PlanLoss> Planner for Gradient<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let mut plans = [plan.knots.clone()];
        let at = (&self.spline, plan.phase);
        let found = self.descent.run(&self.config, from, at, &mut plans, moment.watch)?;
        let (after, knots) = found.best.ok_or(PlanError::NoPlan { step: moment.step })?;
        plan.knots = knots;
        Ok(Outcome { before: found.first, after, rollouts: 1, gradients: found.gradients })
    }
}
