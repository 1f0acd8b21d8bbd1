//! [`Candidates`]: the costs of many plans from one state, on lanes and threads.

use pullback_core::Batch;
use pullback_core::batch::BatchInputs;
use pullback_core::{ConfigError, Schedule};
use pullback_math::{f32x16, f64x8};
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::Spline;

/// Numbers that samples are simulated with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Eight lanes of double precision.
    #[default]
    F64,
    /// Sixteen lanes of single precision.
    F32,
}

/// At most this many plans are in memory at once.
const ROUND: usize = 256;

enum Lanes<'a, S: PlanSystem> {
    F64(Batch<&'a S, f64x8>),
    F32(Batch<&'a S, f32x16>),
}

/// Many plans from one state.
pub struct Candidates<'a, S: PlanSystem, L> {
    problem: Problem<'a, S, L>,
    lanes: Lanes<'a, S>,
    round: usize,
    controls: Vec<f64>,
    found: Vec<f64>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Candidates<'a, S, L> {
    /// Memory for up to `count` plans.
    pub fn new(problem: Problem<'a, S, L>, count: usize, precision: Precision) -> Result<Self, ConfigError> {
        let round = count.clamp(1, ROUND);
        // Nothing is kept for a way back.
        let rollout = problem.rollout(Schedule::Revolve { slots: 1 })?;
        let lanes = match precision {
            Precision::F64 => Lanes::F64(Batch::new(rollout, round, problem.threads)?),
            Precision::F32 => Lanes::F32(Batch::new(rollout, round, problem.threads)?),
        };
        let controls = vec![0.0; round * problem.horizon * problem.bounds.len()];
        Ok(Candidates { problem, lanes, round, controls, found: Vec::new() })
    }

    /// The cost of every plan; infinite where the simulation fails.
    pub fn costs(
        &mut self,
        from: &[f64],
        spline: &Spline,
        phase: usize,
        plans: &[Vec<f64>],
        costs: &mut Vec<f64>,
    ) -> Result<(), PlanError> {
        costs.clear();
        let length = self.problem.horizon * self.problem.bounds.len();
        for plans in plans.chunks(self.round) {
            for (i, controls) in self.controls.chunks_mut(length.max(1)).enumerate() {
                // The last round is filled up with its last plan.
                spline.controls(&plans[i.min(plans.len() - 1)], phase, controls);
            }
            let inputs = BatchInputs { states: from, controls: &self.controls, params: self.problem.params };
            let loss = self.problem.loss;
            match &mut self.lanes {
                Lanes::F64(batch) => batch.values(inputs, |_| loss, &mut self.found)?,
                Lanes::F32(batch) => batch.values(inputs, |_| loss, &mut self.found)?,
            }
            costs.extend_from_slice(&self.found[..plans.len()]);
        }
        Ok(())
    }
}

/// The place of the lowest cost; of equal ones, the first.
pub fn lowest(costs: &[f64]) -> Option<usize> {
    (0..costs.len()).filter(|i| costs[*i].is_finite()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]))
}
