//! Gradient descent in the box: one episode per step, halted when the loss stagnates. The building block of
//! RandDescents and BO-Leap.
//!
//! BO-Leap gives no step size α, and none serves both a loss in meters and one in thousands. Three rules are
//! offered. The constant one is line 15 of its Algorithm 1 as printed. The adaptive one, ours and the
//! default, needs no unit of the loss: a step goes along the negative gradient for Barzilai and Borwein's
//! length sᵀs/sᵀy where the last step saw positive curvature, never farther than a trust length (largest
//! coordinate): four times the last step that was kept, and less after one that was not. Where the objective
//! knows a value L* that no loss is below, nor farther than twice Polyak's length (L − L*)/‖∇L‖², which leads
//! to the floor of a square and mirrors a distance: distances have a constant slope towards their zero, whose
//! end is not seen from one side. A step is kept if it ends lower than the highest of the last few. Every
//! trial is an episode and counts as a step, so that a bad gradient costs at most `patience` + 1 of them.
//!
//! The quasi-Newton rule, beyond the paper, turns the step by the curvature that the last steps saw.
//!
//! The gradient is clipped so as not to leave the box: entries that point out of a wall that the point is on
//! are zero, and a step ends at the wall.

use std::collections::VecDeque;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_ranges};
use serde::{Deserialize, Serialize};

use super::{MOST_STEPS, Settings, Start, settings};
use crate::run::{Run, SearchMethod, Stop};
use crate::two_loop::Pairs;

/// How long a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRule {
    /// s ← s − α ∇L with α = `step`; steps that go up are kept.
    Constant,
    /// Barzilai and Borwein's length within a trust length that begins at `step`; steps that go up are taken
    /// back.
    Adaptive,
    /// Along −H ∇L with H of limited-memory BFGS, in the same trust length: beyond the paper, for narrow
    /// valleys.
    QuasiNewton,
}

/// Settings of a descent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DescentConfig {
    /// Steps at most, J (100; 1000 where the method is one descent).
    pub max_steps: usize,
    /// The rule of the step length (adaptive).
    pub rule: StepRule,
    /// α, or the first length in the box scaled to [−1, 1] (0.1: a twentieth of its width).
    pub step: f64,
    /// Halted when the loss has stagnated for more than this many steps in a row (3).
    pub patience: usize,
    /// A loss stagnates if it is not lower than the lowest so far by this part of it (1e-4).
    pub tolerance: f64,
}

impl Default for DescentConfig {
    fn default() -> Self {
        DescentConfig { max_steps: 100, rule: StepRule::Adaptive, step: 0.1, patience: 3, tolerance: 1e-4 }
    }
}

impl DescentConfig {
    /// Refuses a number that is out of its range.
    pub(crate) fn check(&self, name: &str) -> Result<(), ConfigError> {
        // A constant step has the unit of the gradient's inverse.
        let step = if self.rule == StepRule::Constant { Range::Positive } else { Range::Above(0.0, 2.0) };
        let ranges = [
            ("max_steps", self.max_steps as f64, Range::Within(1.0, MOST_STEPS)),
            ("step", self.step, step),
            ("tolerance", self.tolerance, Range::Below(0.0, 1.0)),
        ];
        check_ranges(name, &ranges)
    }
}

impl Settings for Descent {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        self.descent.check(name)
    }
}

/// A point with its loss and gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    /// The point in the scaled box.
    pub z: Vec<f64>,
    /// Loss there.
    pub loss: f64,
    /// Its gradient there.
    pub gradient: Vec<f64>,
}

/// The iterates of a descent.
#[derive(Clone, Debug, PartialEq)]
pub struct DescentPath {
    /// Every point simulated, the start first.
    pub path: Vec<Iterate>,
    /// Where it ended: the last point by the constant rule, the lowest by the others.
    pub end: Vec<f64>,
    /// Loss there.
    pub loss: f64,
}

/// The method `descent`: one descent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Descent {
    /// Where to begin (own).
    pub start: Start,
    /// How it goes on.
    pub descent: DescentConfig,
}

impl Default for Descent {
    fn default() -> Self {
        Descent { start: Start::Own, descent: DescentConfig { max_steps: 1000, ..DescentConfig::default() } }
    }
}

impl SearchMethod for Descent {
    fn name(&self) -> &'static str {
        "descent"
    }
    fn settings(&self) -> String {
        settings(self.name(), self)
    }
    fn check(&self, _dim: usize) -> Result<(), ConfigError> {
        Settings::check(self, self.name())
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let start = self.start.point(run, random);
        descend(run, start, &self.descent).map(drop)
    }
}

/// A step is kept if it ends lower than the highest of this many before it: Barzilai and Borwein's steps are
/// quick because they may climb out of the zigzag of a narrow valley.
const MEMORY: usize = 4;

/// Steps that the quasi-Newton rule remembers.
const PAIRS: usize = 10;
/// A step goes no farther than this times Polyak's length.
const BEYOND_POLYAK: f64 = 2.0;

/// Descends from `start`.
pub fn descend(run: &mut Run<'_>, start: Vec<f64>, config: &DescentConfig) -> Result<DescentPath, Stop> {
    let mut here = evaluate(run, start)?;
    let mut path = vec![here.clone()];
    let (mut best, mut recent) = (here.clone(), VecDeque::from([here.loss]));
    let (mut lowest, mut stagnating) = (here.loss, 0);
    let (mut trust, mut length) = (config.step, f64::INFINITY);
    let mut pairs = Pairs::new(PAIRS);
    for _ in 1..config.max_steps {
        let clipped = clipped_gradient(&here.z, &here.gradient);
        let steepest = largest(&clipped);
        if steepest == 0.0 {
            break;
        }
        // (L − L*)/‖∇L‖²
        let polyak = run.floor().map(|floor| (here.loss - floor) / dot(&clipped, &clipped));
        let farthest = (trust / steepest).min(polyak.map_or(f64::INFINITY, |p| BEYOND_POLYAK * p));
        let along = |rate: f64| clipped.iter().map(|g| -rate * g).collect::<Vec<f64>>();
        let step = match config.rule {
            StepRule::Constant => along(config.step),
            StepRule::Adaptive => along(length.min(farthest)),
            StepRule::QuasiNewton => {
                let newton = pairs.direction(&clipped);
                if pairs.is_empty() || dot(&newton, &clipped) >= 0.0 {
                    along(farthest)
                } else {
                    let scale = (trust / largest(&newton)).min(1.0);
                    newton.iter().map(|d| scale * d).collect()
                }
            }
        };
        let moved = here.z.iter().zip(&step).map(|(z, d)| (z + d).clamp(-1.0, 1.0));
        let there = evaluate(run, moved.collect())?;
        path.push(there.clone());
        let better = there.loss < lowest - config.tolerance * lowest.abs();
        stagnating = if better { 0 } else { stagnating + 1 };

        if config.rule == StepRule::Constant {
            here = there;
        } else if there.loss < recent.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)) {
            // sᵀs/sᵀy, and no guess where the curvature is not positive
            let (s, y) = (minus(&there.z, &here.z), minus(&there.gradient, &here.gradient));
            let curvature = dot(&s, &y);
            length = if curvature > 0.0 { dot(&s, &s) / curvature } else { f64::INFINITY };
            trust = (4.0 * largest(&s)).min(1.0);
            pairs.push(s, y);
            here = there;
            recent.push_back(here.loss);
            if recent.len() > MEMORY {
                recent.pop_front();
            }
            if here.loss < best.loss {
                best = here.clone();
            }
        } else {
            let s = minus(&there.z, &here.z);
            trust = largest(&s) * shrink(dot(&here.gradient, &s), dot(&there.gradient, &s));
        }
        lowest = lowest.min(path[path.len() - 1].loss);
        // The last try before it is halted goes out from the lowest point again.
        if config.rule != StepRule::Constant && stagnating == config.patience && here.loss > best.loss {
            here = best.clone();
            (trust, length) = (0.25 * trust, f64::INFINITY);
            recent.clear();
            recent.push_back(here.loss);
        }
        if stagnating > config.patience || trust < 1e-15 {
            break;
        }
    }
    let end = if config.rule == StepRule::Constant { here } else { best };
    Ok(DescentPath { path, end: end.z, loss: end.loss })
}

/// How much of a failed step to try next: up to where the slope along it, taken as linear between both ends,
/// vanishes.
fn shrink(slope_here: f64, slope_there: f64) -> f64 {
    if slope_there > 0.0 && slope_here < 0.0 {
        (slope_here / (slope_here - slope_there)).clamp(0.1, 0.5)
    } else {
        0.25
    }
}

fn evaluate(run: &mut Run<'_>, z: Vec<f64>) -> Result<Iterate, Stop> {
    let mut gradient = vec![0.0; z.len()];
    let loss = run.value_grad(&z, &mut gradient)?;
    Ok(Iterate { z, loss, gradient })
}

/// The gradient without the entries whose descent leads out of the box.
pub(super) fn clipped_gradient(z: &[f64], gradient: &[f64]) -> Vec<f64> {
    let clip =
        |(z, g): (&f64, &f64)| if (*z <= -1.0 && *g > 0.0) || (*z >= 1.0 && *g < 0.0) { 0.0 } else { *g };
    z.iter().zip(gradient).map(clip).collect()
}

pub(super) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| x.abs().max(m))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::RunLog;
    use crate::test_functions::{Shape, TestFunction};

    #[test]
    fn a_descent_ends_in_the_basin_it_began_in_at_its_lowest_point() {
        let function = TestFunction::new(Shape::Rastrigin, 4);
        let mut run = Run::new(&function, 200, RunLog::none()).unwrap();
        let start = run.start();
        let down = descend(&mut run, start, &DescentConfig::default()).unwrap();
        let lowest = down.path.iter().map(|place| place.loss).fold(f64::INFINITY, f64::min);
        assert_eq!(down.loss, lowest);
        assert!(down.path.len() < 40 && down.loss < 0.7 * down.path[0].loss, "{:?}", down);
        // At a minimum: the gradient is small beside that of the start.
        let (mut first, mut last) = (vec![0.0; 4], vec![0.0; 4]);
        run.value_grad(&down.path[0].z, &mut first).unwrap();
        run.value_grad(&down.end, &mut last).unwrap();
        assert!(largest(&last) < 0.05 * largest(&first), "{last:?}");
    }

    #[test]
    fn a_descent_that_only_goes_up_ends_after_patience() {
        let function = TestFunction::new(Shape::Rosenbrock, 2);
        let mut run = Run::new(&function, 200, RunLog::none()).unwrap();
        let start = run.start();
        // A constant step far too long goes from wall to wall.
        let config = DescentConfig { rule: StepRule::Constant, step: 1e3, ..DescentConfig::default() };
        let down = descend(&mut run, start, &config).unwrap();
        assert!(down.path.len() <= 12, "{}", down.path.len());
        assert!(down.path.iter().all(|place| place.z.iter().all(|z| z.abs() <= 1.0)));
    }

    #[test]
    fn the_constant_rule_is_the_plain_step() {
        let function = TestFunction::new(Shape::Levy, 3);
        let config =
            DescentConfig { rule: StepRule::Constant, step: 1e-4, max_steps: 2, ..DescentConfig::default() };
        let mut run = Run::new(&function, 10, RunLog::none()).unwrap();
        let start = vec![0.2, -0.1, 0.5];
        let mut gradient = vec![0.0; 3];
        run.value_grad(&start, &mut gradient).unwrap();
        let down = descend(&mut run, start.clone(), &config).unwrap();
        let expected: Vec<f64> = start.iter().zip(&gradient).map(|(z, g)| z - 1e-4 * g).collect();
        assert_eq!((down.end, down.path.len()), (expected, 2));
    }
}
