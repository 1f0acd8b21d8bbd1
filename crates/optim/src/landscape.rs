//! What an objective looks like over two of its variables: values, adjoint gradients, finite differences.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use pullback_core::settings::{Range, check_memory, check_ranges};
use pullback_core::{ConfigError, StepError};
use rayon::prelude::*;
use serde::{Serialize, Serializer};

use crate::objective::Objective;

/// Which slice of the objective to look at.
#[derive(Clone, Debug, Serialize)]
pub struct LandscapeConfig {
    /// The two variables that move.
    pub dims: (usize, usize),
    /// Grid points along each.
    pub points: (usize, usize),
    /// Step of the finite differences, as a fraction of the range (1e-4).
    pub difference_step: f64,
}

/// Variables that an error names.
const TOLD: usize = 12;

/// A grid over two variables; row j holds the points of the second variable's j-th value.
#[derive(Clone, Debug, Serialize)]
pub struct Landscape {
    /// Names of the two variables.
    pub names: (String, String),
    /// Their units.
    pub units: (String, String),
    /// Values of the first variable.
    pub xs: Vec<f64>,
    /// Values of the second variable.
    pub ys: Vec<f64>,
    /// Objective, row after row; NaN where the simulation failed, `null` in JSON.
    #[serde(serialize_with = "null_where_not_finite")]
    pub values: Vec<f64>,
    /// Adjoint gradient with respect to both variables.
    #[serde(serialize_with = "null_where_either_is_not_finite")]
    pub adjoint: Vec<(f64, f64)>,
    /// Central differences with respect to both variables.
    #[serde(serialize_with = "null_where_either_is_not_finite")]
    pub difference: Vec<(f64, f64)>,
    /// Simulations that failed.
    pub failures: usize,
    /// Rows that were not evaluated because the evaluation was ended; NaN like failures.
    pub rows_left_out: usize,
}

fn null_where_not_finite<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| Some(*value).filter(|value| value.is_finite())))
}

fn null_where_either_is_not_finite<S: Serializer>(
    values: &[(f64, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    serializer.collect_seq(values.iter().map(|value| Some(*value).filter(finite)))
}

impl Landscape {
    /// Evaluates the grid in parallel; `tick` is called once per finished row, from any thread.
    pub fn evaluate(
        objective: &dyn Objective,
        config: &LandscapeConfig,
        tick: impl Fn() + Sync,
    ) -> Result<Landscape, ConfigError> {
        let tick = || {
            tick();
            ControlFlow::Continue(())
        };
        Landscape::evaluate_while(objective, config, tick)
    }

    /// The same for as long as `tick` wants more; rows that were not begun are left out.
    pub fn evaluate_while(
        objective: &dyn Objective,
        config: &LandscapeConfig,
        tick: impl Fn() -> ControlFlow<()> + Sync,
    ) -> Result<Landscape, ConfigError> {
        let (names, bounds, start) = (objective.names(), objective.bounds(), objective.start());
        let (i, j) = config.dims;
        let units = objective.units();
        if names.len() < 2 {
            let n = names.len();
            return Err(ConfigError::new(format!(
                "a landscape is over two variables; the objective has {n}"
            )));
        }
        if i == j || i.max(j) >= names.len() {
            let last = names.len() - 1;
            let (told, more) = names.split_at(names.len().min(TOLD));
            let told: Vec<String> = told.iter().enumerate().map(|(k, n)| format!("{k} = {n}")).collect();
            let rest =
                if more.is_empty() { String::new() } else { format!(", …, {last} = {}", names[last]) };
            return Err(ConfigError::new(format!(
                "--dims needs two different variables between 0 and {last}: {}{rest}",
                told.join(", ")
            )));
        }
        if config.points.0 < 2 || config.points.1 < 2 {
            return Err(ConfigError::new("a landscape needs at least 2 points along each variable"));
        }
        // Value, two gradients and memory to draw them.
        let numbers = 16.0 * config.points.0 as f64 * config.points.1 as f64;
        check_memory("landscape", "points", 8.0 * numbers)?;
        check_ranges("landscape", &[("difference_step", config.difference_step, Range::Above(0.0, 1.0))])?;
        for k in [i, j] {
            if !(bounds[k].0.is_finite() && bounds[k].1.is_finite() && bounds[k].0 < bounds[k].1) {
                return Err(ConfigError::new(format!("{} has no finite bounds to look between", names[k])));
            }
        }
        let xs = grid(bounds[i], config.points.0);
        let ys = grid(bounds[j], config.points.1);
        let step = |k: usize| config.difference_step * (bounds[k].1 - bounds[k].0);
        let point = |x: f64, y: f64| {
            let mut p = start.clone();
            (p[i], p[j]) = (x, y);
            p
        };
        let at = |x: f64, y: f64| -> Result<Sample, StepError> {
            let mut gradient = vec![0.0; names.len()];
            let value = objective.value_grad(&point(x, y), &mut gradient)?;
            let slope = |dx: f64, dy: f64| -> Result<f64, StepError> {
                let high = objective.value(&point(x + dx, y + dy))?;
                let low = objective.value(&point(x - dx, y - dy))?;
                Ok((high - low) / (2.0 * (dx + dy)))
            };
            let difference = (slope(step(i), 0.0)?, slope(0.0, step(j))?);
            Ok(Sample { value, adjoint: (gradient[i], gradient[j]), difference })
        };
        let ended = AtomicBool::new(false);
        let evaluated: Vec<Option<Vec<Sample>>> = ys
            .par_iter()
            .map(|y| {
                if ended.load(Ordering::Relaxed) {
                    return None;
                }
                let row = xs.iter().map(|x| at(*x, *y).unwrap_or(Sample::FAILED)).collect();
                if tick().is_break() {
                    ended.store(true, Ordering::Relaxed);
                }
                Some(row)
            })
            .collect();
        let rows_left_out = evaluated.iter().filter(|row| row.is_none()).count();
        let blank = || xs.iter().map(|_| Sample::FAILED).collect();
        let rows: Vec<Vec<Sample>> = evaluated.into_iter().map(|row| row.unwrap_or_else(blank)).collect();
        let samples = || rows.iter().flatten();
        if samples().all(|s| !s.value.is_finite()) {
            let why = at(xs[0], ys[0]).map_or_else(|e| e.to_string(), |s| format!("the loss is {}", s.value));
            return Err(ConfigError::new(format!("every simulation of the landscape failed: {why}")));
        }
        Ok(Landscape {
            names: (names[i].clone(), names[j].clone()),
            units: (units[i].clone(), units[j].clone()),
            values: samples().map(|s| s.value).collect(),
            adjoint: samples().map(|s| s.adjoint).collect(),
            difference: samples().map(|s| s.difference).collect(),
            failures: samples().filter(|s| s.value.is_nan()).count() - rows_left_out * xs.len(),
            rows_left_out,
            xs,
            ys,
        })
    }

    /// Cosine between adjoint and finite difference at each point where both are nonzero, both scaled to the
    /// grid's box so that units do not matter.
    pub fn cosines(&self) -> Vec<f64> {
        let range = |v: &[f64]| v[v.len() - 1] - v[0];
        let (sx, sy) = (range(&self.xs), range(&self.ys));
        let pairs = self.adjoint.iter().zip(&self.difference);
        pairs
            .filter_map(|(a, d)| {
                let (ax, ay, dx, dy) = (a.0 * sx, a.1 * sy, d.0 * sx, d.1 * sy);
                let norm = (ax.hypot(ay)) * (dx.hypot(dy));
                (norm > 0.0 && norm.is_finite()).then(|| (ax * dx + ay * dy) / norm)
            })
            .collect()
    }
}

struct Sample {
    value: f64,
    adjoint: (f64, f64),
    difference: (f64, f64),
}

impl Sample {
    const FAILED: Sample =
        Sample { value: f64::NAN, adjoint: (f64::NAN, f64::NAN), difference: (f64::NAN, f64::NAN) };
}

fn grid((low, high): (f64, f64), points: usize) -> Vec<f64> {
    (0..points).map(|k| low + (high - low) * k as f64 / (points - 1) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f(x, y, z) = x² − 3y + z
    struct Bowl;
    impl Objective for Bowl {
        fn names(&self) -> Vec<String> {
            ["x", "y", "z"].map(String::from).to_vec()
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(-1.0, 1.0), (0.0, 2.0), (f64::NEG_INFINITY, 0.0)]
        }
        fn start(&self) -> Vec<f64> {
            vec![0.0, 0.0, -7.0]
        }
        fn value(&self, p: &[f64]) -> Result<f64, StepError> {
            Ok(p[0] * p[0] - 3.0 * p[1] + p[2])
        }
        fn value_grad(&self, p: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            grad.copy_from_slice(&[2.0 * p[0], -3.0, 1.0]);
            self.value(p)
        }
    }

    fn config(dims: (usize, usize)) -> LandscapeConfig {
        LandscapeConfig { dims, points: (5, 3), difference_step: 1e-4 }
    }

    #[test]
    fn values_and_slopes_of_a_known_function() {
        let map = Landscape::evaluate(&Bowl, &config((0, 1)), || {}).unwrap();
        assert_eq!(map.values.len(), 15);
        assert_eq!(map.values[5 + 4], 1.0 - 3.0 - 7.0); // x = 1, y = 1
        assert!((map.difference[0].0 + 2.0).abs() < 1e-9 && (map.difference[0].1 + 3.0).abs() < 1e-9);
        assert!(map.cosines().iter().all(|c| *c > 1.0 - 1e-12));
    }

    #[test]
    fn impossible_dims_say_what_there_is() {
        let message = Landscape::evaluate(&Bowl, &config((0, 3)), || {}).unwrap_err().to_string();
        assert!(message.contains("0 = x, 1 = y, 2 = z"), "{message}");
        assert!(Landscape::evaluate(&Bowl, &config((0, 2)), || {}).is_err());
    }
}
