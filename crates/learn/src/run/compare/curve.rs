//! [`Curve`]: a metric over steps, mean and interval over seeds.

use serde::Serialize;

use super::Run;
use crate::run::statistics::{Estimate, IntervalMethod};

/// Points of a curve.
const POINTS: usize = 201;

/// Mean over runs at the same steps. Between reports, runs are linear.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curve {
    /// Environment steps, evenly spaced where all runs have reports.
    pub steps: Vec<f64>,
    /// Mean over runs.
    pub mean: Vec<f64>,
    /// Ends of the 95 % interval; empty of a single run.
    pub interval: Vec<(f64, f64)>,
}

impl Curve {
    /// From the latest first report to the earliest last report.
    pub(super) fn of(runs: &[Run], method: IntervalMethod) -> Self {
        let from = runs.iter().map(|run| run.steps[0]).fold(0.0, f64::max);
        let to = runs.iter().map(Run::end).fold(f64::INFINITY, f64::min);
        let points = if to > from { POINTS } else { 1 };
        let mut curve = Curve::default();
        for i in 0..points {
            let steps = from + (to - from) * i as f64 / (POINTS - 1) as f64;
            let values: Vec<f64> = runs.iter().map(|run| run.value_at(steps)).collect();
            let estimate = Estimate::of(&values, method);
            curve.steps.push(steps);
            curve.mean.push(estimate.mean);
            curve.interval.extend(estimate.interval);
        }
        curve
    }
}
