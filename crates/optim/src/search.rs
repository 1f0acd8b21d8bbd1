//! [`Search`]: one method on one objective, with a log on disk if wanted; and how several such runs compare.

use std::path::Path;

use pullback_core::ConfigError;
use pullback_core::files::{Fingerprint, InputFile};
use serde::Serialize;
use thiserror::Error;

use crate::line_log::{LogError, RunName};
use crate::objective::Objective;
use crate::run::{Best, Failures, Run, SearchMethod, finite_bounds, optimize};
use crate::run_log::RunLog;

/// A search that could not be carried out.
#[derive(Debug, Error)]
pub enum SearchError {
    /// No box to search in, or no such method.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The search was asked to stop; what it found so far.
    #[error("interrupted after {} simulations; the same command goes on from there", .0.losses.len())]
    Interrupted(Box<Searched>),
}

/// What a search ended with.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Losses of all episodes.
    pub losses: Vec<f64>,
    /// The lowest; nothing if the budget was nothing.
    pub best: Option<Best>,
    /// Simulations that failed.
    pub failures: Failures,
    /// Episodes read back from the log.
    pub resumed: usize,
    /// Name and settings of the method.
    pub settings: String,
}

/// What is searched, with what it was read from, and by which method.
pub struct Search<'a> {
    /// The objective.
    pub objective: &'a dyn Objective,
    /// Its name.
    pub task: &'a str,
    /// Files that the objective was made of.
    pub inputs: &'a [InputFile],
    /// The method.
    pub method: &'a dyn SearchMethod,
    /// Simulations at most.
    pub budget: usize,
    /// Seed of the method's random numbers.
    pub seed: u64,
}

impl Search<'_> {
    /// What a log of the search is about.
    pub fn name(&self) -> RunName {
        let Search { objective, inputs, .. } = self;
        let (low, high): (Vec<f64>, Vec<f64>) = objective.bounds().into_iter().unzip();
        let variables = objective.names().iter().fold(Fingerprint::default(), |hash, name| hash.text(name));
        let variables = variables.numbers(&low).numbers(&high).numbers(&objective.start());
        RunName::new(self.task, self.method.settings(), self.seed)
            .with_inputs(inputs.iter().cloned())
            .with_inputs([InputFile::new("variables, bounds and start", variables)])
    }

    /// Runs the search, or what an interrupted one left of it in a log; `watch` sees the number of episodes and the lowest
    /// loss.
    pub fn run(&self, log: Option<&Path>, watch: impl FnMut(usize, f64)) -> Result<Searched, SearchError> {
        let Search { objective, method, budget, seed, .. } = *self;
        let bounds = finite_bounds(objective)?;
        method.check(bounds.len())?;
        let log = match log {
            Some(file) => RunLog::open(file, &self.name())?,
            None => RunLog::none(),
        };
        let resumed = log.kept().min(budget);
        let mut run = Run::new(objective, budget, log)?.with_callback(watch);
        let ended = optimize(method, &mut run, seed);
        let (losses, best, failures) = (run.losses().to_vec(), run.best().cloned(), run.failures().clone());
        let found = Searched { losses, best, failures, resumed, settings: method.settings() };
        match ended {
            Ok(()) => Ok(found),
            Err(SearchError::Log(LogError::Interrupted)) => Err(SearchError::Interrupted(Box::new(found))),
            Err(error) => Err(error),
        }
    }
}

/// Lowest loss after each episode.
pub fn lowest_so_far(losses: &[f64]) -> Vec<f64> {
    let mut lowest = f64::INFINITY;
    let so_far = |x: &f64| {
        lowest = lowest.min(*x);
        lowest
    };
    losses.iter().map(so_far).collect()
}

/// Mean of a few numbers with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Half the width of the interval: t · s / √n; infinite of a single number.
    pub half_width: f64,
    /// Standard deviation s.
    pub deviation: f64,
}

impl Spread {
    /// Of these numbers.
    pub fn of(values: &[f64]) -> Spread {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { f64::INFINITY };
        let half_width = t_quantile(count as f64 - 1.0) * deviation / (count as f64).sqrt();
        Spread { count, mean, half_width, deviation }
    }

    /// Whether the mean lies below the other's or cannot be told from it: Welch's test at 5 %.
    pub fn below_or_tied(&self, other: &Spread) -> bool {
        // The spread of a single number is unknown, and nothing can be told apart from it.
        if self.mean <= other.mean || self.count.min(other.count) < 2 {
            return true;
        }
        let part = |s: &Spread| s.deviation * s.deviation / s.count as f64;
        let (a, b) = (part(self), part(other));
        if a + b == 0.0 {
            return false;
        }
        // Welch-Satterthwaite: ν = (a + b)² / (a²/(n−1) + b²/(m−1))
        let freedom = (a + b).powi(2)
            / (a * a / (self.count as f64 - 1.0) + b * b / (other.count as f64 - 1.0)).max(f64::MIN_POSITIVE);
        (self.mean - other.mean) / (a + b).sqrt() <= t_quantile(freedom)
    }
}

/// 97.5 % quantile of Student's t, by Hill's expansion about the normal quantile; exact to 1 % from two
/// degrees on, and tabled below.
pub(crate) fn t_quantile(freedom: f64) -> f64 {
    if freedom < 1.0 {
        return f64::INFINITY;
    }
    if freedom < 3.0 {
        // 12.71 at one degree, 4.303 at two, 3.182 at three.
        let (low, high) = if freedom < 2.0 { (12.706, 4.303) } else { (4.303, 3.182) };
        return low + (high - low) * freedom.fract();
    }
    let z = 1.959_964_f64;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom * freedom)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, tabled) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (9.0, 2.262), (30.0, 2.042)]
        {
            assert!((t_quantile(freedom) / tabled - 1.0).abs() < 0.01, "{freedom}: {}", t_quantile(freedom));
        }
    }

    #[test]
    fn means_are_told_apart_only_with_reason() {
        let close = (Spread::of(&[1.0, 1.2, 0.9, 1.1]), Spread::of(&[1.0, 1.1, 0.8, 1.0]));
        assert!(close.0.below_or_tied(&close.1) && close.1.below_or_tied(&close.0));
        let apart = (Spread::of(&[1.0, 1.2, 0.9, 1.1]), Spread::of(&[0.1, 0.2, 0.15, 0.12]));
        assert!(!apart.0.below_or_tied(&apart.1) && apart.1.below_or_tied(&apart.0));
        let (once, exact) = (Spread::of(&[2.0]), Spread::of(&[1.0, 1.0]));
        assert!(once.below_or_tied(&exact));
        assert!(!Spread::of(&[2.0, 2.0]).below_or_tied(&exact));
        assert!((Spread::of(&[1.0, 3.0]).half_width - 12.706).abs() < 1e-9);
    }
}
