//! [`examine`]: what a practitioner must know about an objective before choosing a method.
//!
//! Points are drawn uniformly from the box, scaled to [−1, 1] along every variable. At each one the adjoint
//! gradient g is held against what the loss does along d = −g/|g| over steps of several lengths h: the slope
//! (L(z + hd) − L(z − hd))/2h is −|g| where the gradient tells the truth, and L(z + hd) < L(z) where
//! following it by h goes down at all. Straight lines across the box show hills, plateaus and jumps.
//!
//! Limits: lines see the loss along random directions only; a thin valley is missed by them. Where
//! simulations fail, points are left out and counted.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use rayon::prelude::*;
use serde::Serialize;

use crate::objective::Objective;
use crate::run::{finite_bounds, unscaled};

/// How closely to look.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorConfig {
    /// Points at which gradients are sampled (48).
    pub points: usize,
    /// Lengths of steps along the gradient, in the box scaled to [−1, 1] (1e-5 to 0.1).
    pub scales: Vec<f64>,
    /// Lines across the box (12).
    pub lines: usize,
    /// Points on each line (65).
    pub line_points: usize,
    /// Seed of points and lines.
    pub seed: u64,
}

impl Default for DoctorConfig {
    fn default() -> Self {
        let scales = vec![1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
        DoctorConfig { points: 48, scales, lines: 12, line_points: 65, seed: 0 }
    }
}

/// What gradients are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Gradients are right and point downhill over useful lengths.
    Trustworthy,
    /// Gradients are right, but the landscape has many valleys.
    Rugged,
    /// Over a large part of the box there is no gradient, or none in most variables.
    Plateaued,
    /// Gradients do not tell where the loss falls over useful lengths.
    Misleading,
}

/// Gradients against steps of one length.
#[derive(Clone, Debug, Serialize)]
pub struct AtScale {
    /// Length of the step in the scaled box.
    pub scale: f64,
    /// Share of the points with a gradient where the difference over the step is within a tenth of it.
    pub agreeing: f64,
    /// Share of the points with a gradient where a step along it goes down.
    pub downhill: f64,
    /// Median of difference over gradient; 1 where both agree.
    pub median_ratio: f64,
}

/// One line across the box.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Place along the line, −1 to 1.
    pub places: Vec<f64>,
    /// Losses; not a number where the simulation failed.
    #[serde(serialize_with = "with_nulls")]
    pub losses: Vec<f64>,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// In a word.
    pub verdict: Verdict,
    /// What follows from it.
    pub advice: String,
    /// Number of variables.
    pub dim: usize,
    /// Points at which the simulation failed.
    pub failures: usize,
    /// Share of points whose gradient is zero in every entry.
    pub zero_gradients: f64,
    /// Share of all entries of gradients that are zero.
    pub zero_entries: f64,
    /// Gradients against steps of several lengths.
    pub scales: Vec<AtScale>,
    /// Smallest and largest loss seen.
    pub range: (f64, f64),
    /// Median over the lines of their valleys.
    pub valleys: f64,
    /// Median over the lines of total variation over range: 1 for a slope, 2 for a valley.
    pub variation: f64,
    /// Share of neighboring points on lines whose losses differ by less than a millionth of the range.
    pub flat: f64,
    /// Share of neighboring points on lines whose losses differ by more than a quarter of the range.
    pub jumps: f64,
    /// The lines.
    pub lines: Vec<Line>,
    /// Simulations run.
    pub episodes: usize,
}

/// Looks at an objective; `tick` is called once per point and per line, from any thread.
pub fn examine(
    objective: &dyn Objective,
    config: &DoctorConfig,
    tick: impl Fn() + Sync,
) -> Result<Examination, ConfigError> {
    let cube = Cube::new(objective)?;
    if config.points == 0 || config.lines == 0 || config.line_points < 5 || config.scales.is_empty() {
        return Err(ConfigError::new(
            "an examination needs points, scales, and lines of at least five points",
        ));
    }
    let numbers = config.points as f64 + config.lines as f64 * (2.0 + config.line_points as f64);
    check_memory("doctor", "points and lines", 8.0 * numbers * cube.dim() as f64)?;
    for scale in &config.scales {
        check_ranges("doctor", &[("scales", *scale, Range::Inside(0.0, 1.0))])?;
    }
    let mut random = Random::new(config.seed);
    // Steps stay inside: points keep the longest step's distance from the walls.
    let reach = 1.0 - config.scales.iter().fold(0.0, |a: f64, b| a.max(*b));
    let points: Vec<Vec<f64>> = (0..config.points)
        .map(|_| (0..cube.dim()).map(|_| reach * random.uniform(-1.0, 1.0)).collect())
        .collect();
    let lines: Vec<(Vec<f64>, Vec<f64>)> = (0..config.lines).map(|_| cube.line(&mut random)).collect();

    let samples: Vec<Option<GradientSample>> = points
        .par_iter()
        .map(|z| {
            let sample = cube.sample_gradient(z, &config.scales);
            tick();
            sample
        })
        .collect();
    let lines: Vec<Line> = lines
        .par_iter()
        .map(|(from, to)| {
            let line = cube.sample_line(from, to, config.line_points);
            tick();
            line
        })
        .collect();
    let failures = samples.iter().filter(|j| j.is_none()).count();
    let samples: Vec<GradientSample> = samples.into_iter().flatten().collect();
    if samples.is_empty() {
        return Err(ConfigError::new("every simulation failed: check the task's bounds and time step"));
    }
    Ok(diagnose(&cube, config, samples, lines, failures))
}

fn diagnose(
    cube: &Cube<'_>,
    config: &DoctorConfig,
    samples: Vec<GradientSample>,
    lines: Vec<Line>,
    failures: usize,
) -> Examination {
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let with_gradient: Vec<&GradientSample> = samples.iter().filter(|j| j.size > 0.0).collect();
    let scales: Vec<AtScale> = config
        .scales
        .iter()
        .enumerate()
        .map(|(k, scale)| {
            let steps = || with_gradient.iter().map(|j| j.steps[k]);
            AtScale {
                scale: *scale,
                agreeing: share(steps().filter(|(r, _)| (r - 1.0).abs() < 0.1).count(), with_gradient.len()),
                downhill: share(steps().filter(|(_, down)| *down).count(), with_gradient.len()),
                median_ratio: median(steps().map(|(r, _)| r).collect()),
            }
        })
        .collect();
    let seen = samples.iter().map(|j| j.loss).chain(lines.iter().flat_map(|l| l.losses.iter().copied()));
    let range = seen
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let shapes: Vec<Shape> = lines.iter().map(|l| Shape::of(&l.losses, range.1 - range.0)).collect();
    let pairs = shapes.iter().map(|s| s.pairs).sum();
    let zero_entries = samples.iter().map(|j| j.zero_entries).sum::<usize>();
    let steps = config.points * (1 + 2 * config.scales.len());
    let mut found = Examination {
        verdict: Verdict::Trustworthy,
        advice: String::new(),
        dim: cube.dim(),
        failures,
        zero_gradients: share(samples.len() - with_gradient.len(), samples.len()),
        zero_entries: share(zero_entries, samples.len() * cube.dim()),
        scales,
        range,
        valleys: median(shapes.iter().map(|s| s.valleys as f64).collect()),
        variation: median(shapes.iter().map(|s| s.variation).collect()),
        flat: share(shapes.iter().map(|s| s.flat).sum(), pairs),
        jumps: share(shapes.iter().map(|s| s.jumps).sum(), pairs),
        episodes: steps + config.lines * config.line_points,
        lines,
    };
    found.verdict = found.verdict();
    found.advice = found.advise();
    found
}

impl Examination {
    /// The share of points whose gradient leads down over a step of a hundredth of the box or the nearest
    /// length to it.
    fn downhill_over_useful_step(&self) -> f64 {
        let off = |s: &&AtScale| (s.scale / 0.02).ln().abs();
        self.scales.iter().min_by(|a, b| off(a).total_cmp(&off(b))).map_or(0.0, |s| s.downhill)
    }

    /// The best agreement of gradient and difference over all lengths.
    fn best_agreement(&self) -> f64 {
        self.scales.iter().map(|s| s.agreeing).fold(0.0, f64::max)
    }

    fn verdict(&self) -> Verdict {
        if self.zero_gradients > 0.1 || self.zero_entries > 2.0 / 3.0 || self.flat > 0.3 {
            Verdict::Plateaued
        } else if self.best_agreement() < 0.8 || self.downhill_over_useful_step() < 0.8 {
            Verdict::Misleading
        } else if self.valleys > 3.0 {
            Verdict::Rugged
        } else {
            Verdict::Trustworthy
        }
    }

    fn advise(&self) -> String {
        let percent = |x: f64| format!("{:.0} %", 100.0 * x);
        match self.verdict {
            Verdict::Trustworthy => format!(
                "Gradients agree with differences at {} of the points and lead down over a useful step at {}. Descend: \
                 L-BFGS or Adam from a few starts; BO-Leap where there may be other valleys.",
                percent(self.best_agreement()),
                percent(self.downhill_over_useful_step())
            ),
            Verdict::Rugged => format!(
                "Gradients are right at {} of the points, but a line across the box crosses {} valleys. A single descent \
                 ends in the nearest one: BO-Leap, or CMA-ES with restarts.",
                percent(self.best_agreement()),
                self.valleys
            ),
            Verdict::Plateaued => format!(
                "{} of the points have no gradient at all, {} of all entries of gradients are zero, and {} of the neighbors on \
                 lines are level. Descents stand still there: CMA-ES or Bayesian optimization without gradients, a loss that also rewards coming closer, or contacts \
                 that act from a distance.",
                percent(self.zero_gradients),
                percent(self.zero_entries),
                percent(self.flat)
            ),
            Verdict::Misleading => format!(
                "Gradients agree with differences at {} of the points at best, and a useful step along them goes down at {}. Do \
                 not descend: CMA-ES or Bayesian optimization; or smooth the task (softer contacts, shorter horizon, \
                 averaged losses) and examine it again.",
                percent(self.best_agreement()),
                percent(self.downhill_over_useful_step())
            ),
        }
    }
}

/// An objective over the box scaled to [−1, 1].
struct Cube<'a> {
    objective: &'a dyn Objective,
    bounds: Vec<(f64, f64)>,
}

/// A point with its gradient and what steps along it did.
struct GradientSample {
    loss: f64,
    /// |g| in the scaled box.
    size: f64,
    zero_entries: usize,
    /// Difference over gradient at each scale, and whether a step goes down.
    steps: Vec<(f64, bool)>,
}

impl<'a> Cube<'a> {
    fn new(objective: &'a dyn Objective) -> Result<Self, ConfigError> {
        Ok(Cube { objective, bounds: finite_bounds(objective)? })
    }

    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn loss(&self, z: &[f64]) -> f64 {
        self.objective.value(&unscaled(z, &self.bounds)).unwrap_or(f64::NAN)
    }

    /// Two opposite ends of a line through a random point near the middle, on the faces of the box.
    fn line(&self, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
        let direction: Vec<f64> = (0..self.dim()).map(|_| random.normal()).collect();
        let largest = direction.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let middle: Vec<f64> = (0..self.dim()).map(|_| 0.3 * random.uniform(-1.0, 1.0)).collect();
        let end = |sign: f64| {
            let moved = middle.iter().zip(&direction).map(|(m, d)| m + sign * 0.7 * d / largest);
            moved.collect::<Vec<f64>>()
        };
        (end(-1.0), end(1.0))
    }

    fn sample_line(&self, from: &[f64], to: &[f64], points: usize) -> Line {
        let places: Vec<f64> = (0..points).map(|k| 2.0 * k as f64 / (points - 1) as f64 - 1.0).collect();
        let at =
            |t: f64| from.iter().zip(to).map(|(a, b)| a + 0.5 * (t + 1.0) * (b - a)).collect::<Vec<f64>>();
        let losses = places.iter().map(|t| self.loss(&at(*t))).collect();
        Line { places, losses }
    }

    /// Nothing where a simulation fails.
    fn sample_gradient(&self, z: &[f64], scales: &[f64]) -> Option<GradientSample> {
        let mut gradient = vec![0.0; z.len()];
        let loss = self.objective.value_grad(&unscaled(z, &self.bounds), &mut gradient).ok()?;
        let zero_entries = gradient.iter().filter(|g| **g == 0.0).count();
        for (g, (low, high)) in gradient.iter_mut().zip(&self.bounds) {
            *g *= 0.5 * (high - low);
        }
        let size = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        if !(loss.is_finite() && size.is_finite()) {
            return None;
        }
        let mut steps = Vec::new();
        if size > 0.0 {
            for h in scales {
                let moved = |h: f64| {
                    let along = z.iter().zip(&gradient).map(|(z, g)| z - h * g / size);
                    along.collect::<Vec<f64>>()
                };
                let (back, ahead) = (self.loss(&moved(-h)), self.loss(&moved(*h)));
                steps.push(((back - ahead) / (2.0 * h * size), ahead < loss));
            }
        }
        Some(GradientSample { loss, size, zero_entries, steps })
    }
}

/// What a line looks like.
struct Shape {
    valleys: usize,
    variation: f64,
    flat: usize,
    jumps: usize,
    pairs: usize,
}

impl Shape {
    fn of(losses: &[f64], range: f64) -> Shape {
        let seen: Vec<f64> = losses.iter().copied().filter(|x| x.is_finite()).collect();
        let steps: Vec<f64> = seen.windows(2).map(|w| w[1] - w[0]).collect();
        let own = seen.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b))
            - seen.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        // Ripples below a thousandth of the whole range are no valleys.
        let mut valleys = 0;
        let (mut lowest, mut highest, mut falling) = (f64::INFINITY, f64::NEG_INFINITY, true);
        for x in &seen {
            (lowest, highest) = (lowest.min(*x), highest.max(*x));
            if falling && *x > lowest + 1e-3 * range {
                (valleys, falling, highest) = (valleys + 1, false, *x);
            } else if !falling && *x < highest - 1e-3 * range {
                (falling, lowest) = (true, *x);
            }
        }
        if falling && !seen.is_empty() {
            valleys += 1;
        }
        Shape {
            valleys,
            variation: steps.iter().map(|s| s.abs()).sum::<f64>() / own.max(f64::MIN_POSITIVE),
            flat: steps.iter().filter(|s| s.abs() <= 1e-6 * range).count(),
            jumps: steps.iter().filter(|s| s.abs() > 0.25 * range).count(),
            pairs: steps.len(),
        }
    }
}

/// The middle value; not a number of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.retain(|x| !x.is_nan());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// JSON has no NaN: null stands for it.
fn with_nulls<S: serde::Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(|x| Some(*x).filter(|x| x.is_finite())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::StepError;

    /// A function of one variable in [−1, 1] and what claims to be its slope, summed over two variables.
    struct Sum(fn(f64) -> f64, fn(f64) -> f64);

    impl Objective for Sum {
        fn names(&self) -> Vec<String> {
            vec!["a".into(), "b".into()]
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(-1.0, 1.0), (-1.0, 1.0)]
        }
        fn start(&self) -> Vec<f64> {
            vec![0.0; 2]
        }
        fn value(&self, x: &[f64]) -> Result<f64, StepError> {
            Ok(x.iter().map(|x| self.0(*x)).sum())
        }
        fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            grad.iter_mut().zip(x).for_each(|(g, x)| *g = self.1(*x));
            self.value(x)
        }
    }

    fn verdict(value: fn(f64) -> f64, slope: fn(f64) -> f64) -> Verdict {
        examine(&Sum(value, slope), &DoctorConfig::default(), || {}).unwrap().verdict
    }

    #[test]
    fn known_landscapes_are_told_apart() {
        assert_eq!(verdict(|x| x * x, |x| 2.0 * x), Verdict::Trustworthy);
        assert_eq!(verdict(f64::round, |_| 0.0), Verdict::Plateaued);
        assert_eq!(verdict(|x| x * x, |x| -2.0 * x), Verdict::Misleading);
        // Ripples shorter than a useful step hide the slope.
        assert_eq!(
            verdict(|x| x + 0.1 * (900.0 * x).sin(), |x| 1.0 + 90.0 * (900.0 * x).cos()),
            Verdict::Misleading
        );
        assert_eq!(verdict(|x| (25.0 * x).sin(), |x| 25.0 * (25.0 * x).cos()), Verdict::Rugged);
    }

    #[test]
    fn figures_of_a_bowl() {
        let found = examine(&Sum(|x| x * x, |x| 2.0 * x), &DoctorConfig::default(), || {}).unwrap();
        assert_eq!((found.zero_gradients, found.failures, found.jumps), (0.0, 0, 0.0));
        assert!(found.scales.iter().all(|s| s.agreeing == 1.0 && (s.median_ratio - 1.0).abs() < 1e-6));
        assert!((found.valleys - 1.0).abs() < 1e-12 && (1.0..=2.0 + 1e-9).contains(&found.variation));
    }

    #[test]
    fn a_box_without_walls_is_refused() {
        struct Open;
        impl Objective for Open {
            fn names(&self) -> Vec<String> {
                vec!["a".into()]
            }
            fn bounds(&self) -> Vec<(f64, f64)> {
                vec![(0.0, f64::INFINITY)]
            }
            fn start(&self) -> Vec<f64> {
                vec![0.0]
            }
            fn value(&self, _: &[f64]) -> Result<f64, StepError> {
                Ok(0.0)
            }
            fn value_grad(&self, _: &[f64], _: &mut [f64]) -> Result<f64, StepError> {
                Ok(0.0)
            }
        }
        assert!(examine(&Open, &DoctorConfig::default(), || {}).is_err());
    }
}
