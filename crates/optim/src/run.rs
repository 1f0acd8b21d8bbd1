//! [`Run`]: an objective seen by a method of search, with a budget of episodes and a log of every point.
//!
//! Methods work in the box scaled to [−1, 1] along every variable, so that steps and length scales mean the
//! same everywhere. Each value, with or without a gradient, is one episode, as in BO-Leap. A simulation that
//! fails, or whose loss or gradient is no number, has an infinite loss and no gradient; failures are counted and the
//! first is kept. When the budget is spent every further question is answered by
//! [`Stop::Budget`], which methods pass on.

use pullback_core::random::Random;
use pullback_core::{ConfigError, StepError};
use rayon::prelude::*;
use serde::Serialize;
use thiserror::Error;

use crate::line_log::LogError;
use crate::objective::Objective;
use crate::run_log::{Episode, RunLog};
use crate::search::SearchError;

/// Why a search ends.
#[derive(Debug, Error)]
pub enum Stop {
    /// The budget is spent.
    #[error("the budget of episodes is spent")]
    Budget,
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A way to search.
pub trait SearchMethod: Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;
    /// Name and all settings: runs that differ in them do not share a log.
    fn settings(&self) -> String;
    /// Refuses settings that are out of their ranges, or sizes that memory has no room for with `dim` variables.
    fn check(&self, _dim: usize) -> Result<(), ConfigError> {
        Ok(())
    }
    /// Searches until the budget is spent, or until there is nothing left to do.
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop>;
}

/// The lowest loss found and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Episode, from 1.
    pub episode: usize,
    /// Loss.
    pub loss: f64,
    /// Variables in their own units.
    pub x: Vec<f64>,
}

/// Simulations that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Failures {
    /// How many.
    pub count: usize,
    /// Episode of the first, from 1, and why it failed.
    pub first: Option<(usize, String)>,
}

impl Failures {
    /// Adds those of a later search.
    pub fn add(&mut self, later: &Failures) {
        self.count += later.count;
        if self.first.is_none() {
            self.first.clone_from(&later.first);
        }
    }

    /// How many of `episodes` failed, and why the first did; nothing if none did.
    pub fn words(&self, episodes: usize) -> Option<String> {
        let (episode, why) = self.first.as_ref()?;
        Some(format!("{} of {episodes} simulations failed; the first, number {episode}: {why}", self.count))
    }
}

/// An objective, a budget and what was found so far.
pub struct Run<'a> {
    objective: &'a dyn Objective,
    bounds: Vec<(f64, f64)>,
    budget: usize,
    log: RunLog,
    losses: Vec<f64>,
    best: Option<Best>,
    failures: Failures,
    watch: Box<dyn FnMut(usize, f64) + 'a>,
}

impl<'a> Run<'a> {
    /// A run of `budget` episodes over the box of an objective.
    pub fn new(objective: &'a dyn Objective, budget: usize, log: RunLog) -> Result<Self, ConfigError> {
        let bounds = finite_bounds(objective)?;
        let run = Run {
            objective,
            bounds,
            budget,
            log,
            losses: Vec::new(),
            best: None,
            failures: Failures::default(),
            watch: Box::new(|_, _| ()),
        };
        Ok(run)
    }

    /// Calls `watch` after every episode with their number and the lowest loss so far.
    pub fn with_callback(mut self, watch: impl FnMut(usize, f64) + 'a) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Number of variables.
    pub fn dim(&self) -> usize {
        self.bounds.len()
    }
    /// Episodes that may still be run.
    pub fn remaining(&self) -> usize {
        self.budget - self.losses.len()
    }
    /// A loss that none is below, if the objective knows one.
    pub fn floor(&self) -> Option<f64> {
        self.objective.floor()
    }
    /// Losses of all episodes so far.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }
    /// The lowest loss so far.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// Simulations that failed so far.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// A uniformly random point of the box.
    pub fn sample_uniform(&self, random: &mut Random) -> Vec<f64> {
        (0..self.dim()).map(|_| random.uniform(-1.0, 1.0)).collect()
    }

    /// The objective's own start, in the box.
    pub fn start(&self) -> Vec<f64> {
        let scaled = |(x, (low, high)): (f64, &(f64, f64))| 2.0 * (x - low) / (high - low) - 1.0;
        self.objective.start().into_iter().zip(&self.bounds).map(scaled).map(|z| z.clamp(-1.0, 1.0)).collect()
    }

    /// The loss at `z`; a point outside the box is taken to its wall.
    pub fn value(&mut self, z: &[f64]) -> Result<f64, Stop> {
        Ok(self.values(std::slice::from_ref(&z.to_vec()))?[0])
    }

    /// The losses at several points, simulated in parallel. If the budget does not reach for all, the first
    /// ones are run and the rest is [`Stop::Budget`].
    pub fn values(&mut self, points: &[Vec<f64>]) -> Result<Vec<f64>, Stop> {
        let affordable = points.len().min(self.remaining());
        let mut losses = Vec::with_capacity(points.len());
        let points: Vec<Vec<f64>> = points.iter().map(|z| clamp_to_box(z)).collect();
        for z in &points[..affordable] {
            let Some(episode) = self.log.take(z, false)? else { break };
            losses.push(episode.loss);
            self.count(episode);
        }
        if losses.len() < affordable {
            self.log.unless_interrupted()?;
        }
        let (objective, bounds) = (self.objective, &self.bounds);
        let ask = |z: &Vec<f64>| objective.value(&unscaled(z, bounds));
        let fresh: Vec<_> = points[losses.len()..affordable].par_iter().map(ask).collect();
        for found in fresh {
            let (loss, failure) = judged(found);
            let episode = Episode { z: points[losses.len()].clone(), loss, gradient: None, failure };
            losses.push(loss);
            self.log.add(&episode)?;
            self.count(episode);
        }
        if affordable < points.len() { Err(Stop::Budget) } else { Ok(losses) }
    }

    /// The loss at `z` and its gradient by z.
    pub fn value_grad(&mut self, z: &[f64], gradient: &mut [f64]) -> Result<f64, Stop> {
        if self.remaining() == 0 {
            return Err(Stop::Budget);
        }
        let z = clamp_to_box(z);
        let episode = match self.log.take(&z, true)? {
            Some(episode) => episode,
            None => {
                self.log.unless_interrupted()?;
                let episode = self.simulate_with_gradient(z, gradient.len());
                self.log.add(&episode)?;
                episode
            }
        };
        gradient.copy_from_slice(episode.gradient.as_deref().unwrap_or(&[]));
        let loss = episode.loss;
        self.count(episode);
        Ok(loss)
    }

    fn simulate_with_gradient(&self, z: Vec<f64>, dim: usize) -> Episode {
        let mut gradient = vec![0.0; dim];
        let found = self.objective.value_grad(&unscaled(&z, &self.bounds), &mut gradient);
        let (loss, failure) = judged(found);
        // dL/dz = dL/dx · (high − low)/2
        for (g, (low, high)) in gradient.iter_mut().zip(&self.bounds) {
            *g *= 0.5 * (high - low);
        }
        let broken = gradient.iter().position(|g| !g.is_finite());
        let failure = failure.or_else(|| {
            let name = self.objective.names().swap_remove(broken?);
            Some(format!("the gradient by {name} is {}", gradient[broken?]))
        });
        if failure.is_some() {
            gradient.fill(0.0);
        }
        Episode { z, loss, gradient: Some(gradient), failure }
    }

    fn count(&mut self, episode: Episode) {
        self.losses.push(episode.loss);
        if let Some(why) = episode.failure {
            self.failures.count += 1;
            let number = self.losses.len();
            self.failures.first.get_or_insert((number, why));
        }
        if self.best.as_ref().is_none_or(|best| episode.loss < best.loss) {
            let x = unscaled(&episode.z, &self.bounds);
            self.best = Some(Best { episode: self.losses.len(), loss: episode.loss, x });
        }
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| best.loss);
        (self.watch)(self.losses.len(), best);
    }
}

/// The loss of a simulation, infinite where it failed, and why it did.
fn judged(found: Result<f64, StepError>) -> (f64, Option<String>) {
    match found {
        Ok(loss) if loss.is_finite() => (loss, None),
        Ok(loss) => (f64::INFINITY, Some(format!("the loss is {loss}"))),
        Err(why) => (f64::INFINITY, Some(why.to_string())),
    }
}

/// The box of an objective, which must have walls all around, and its start in it.
pub(crate) fn finite_bounds(objective: &dyn Objective) -> Result<Vec<(f64, f64)>, ConfigError> {
    let (names, bounds, start) = (objective.names(), objective.bounds(), objective.start());
    if names.is_empty() {
        return Err(ConfigError::new("there is nothing to search: the objective has no variables"));
    }
    if (bounds.len(), start.len()) != (names.len(), names.len()) {
        let (n, bounds, start) = (names.len(), bounds.len(), start.len());
        return Err(ConfigError::new(format!("{n} variables have {bounds} bounds and {start} starts")));
    }
    for ((low, high), name) in bounds.iter().zip(&names) {
        if !(low.is_finite() && high.is_finite() && low < high) {
            let why = format!("{name} has no finite bounds to search between: they are {low} and {high}");
            return Err(ConfigError::new(why));
        }
    }
    match start.iter().zip(&names).find(|(x, _)| !x.is_finite()) {
        Some((x, name)) => Err(ConfigError::new(format!("{name} starts at {x}, which is no finite number"))),
        None => Ok(bounds),
    }
}

/// A point of the scaled box in the variables' own units.
pub(crate) fn unscaled(z: &[f64], bounds: &[(f64, f64)]) -> Vec<f64> {
    let own = |(z, (low, high)): (&f64, &(f64, f64))| low + 0.5 * (z + 1.0) * (high - low);
    z.iter().zip(bounds).map(own).collect()
}

/// The nearest point of the box.
pub fn clamp_to_box(z: &[f64]) -> Vec<f64> {
    z.iter().map(|z| z.clamp(-1.0, 1.0)).collect()
}

/// Searches with a method from a seed. The result is the best of the run; a spent budget is no error.
pub fn optimize(method: &dyn SearchMethod, run: &mut Run<'_>, seed: u64) -> Result<(), SearchError> {
    method.check(run.dim())?;
    match method.search(run, &mut Random::new(seed)) {
        Ok(()) | Err(Stop::Budget) => Ok(()),
        Err(Stop::Log(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_log::RunName;

    /// Σ (x − 2)², failing where x₀ > 3.
    struct Bowl;

    impl Objective for Bowl {
        fn names(&self) -> Vec<String> {
            vec!["a".into(), "b".into()]
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(0.0, 4.0), (-8.0, 8.0)]
        }
        fn start(&self) -> Vec<f64> {
            vec![0.0, 0.0]
        }
        fn value(&self, x: &[f64]) -> Result<f64, StepError> {
            if x[0] > 3.0 {
                return Err(StepError::NotFinite { entry: "a".into(), value: f64::NAN, step: 0 });
            }
            Ok(x.iter().map(|x| (x - 2.0).powi(2)).sum())
        }
        fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            for (g, x) in grad.iter_mut().zip(x) {
                *g = 2.0 * (x - 2.0);
            }
            self.value(x)
        }
    }

    struct Search;

    impl SearchMethod for Search {
        fn name(&self) -> &'static str {
            "search"
        }
        fn settings(&self) -> String {
            "search".into()
        }
        fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
            let mut gradient = vec![0.0; run.dim()];
            loop {
                let points: Vec<Vec<f64>> = (0..3).map(|_| run.sample_uniform(random)).collect();
                run.values(&points)?;
                run.value_grad(&points[1], &mut gradient)?;
                let down: Vec<f64> = points[1].iter().zip(&gradient).map(|(z, g)| z - 0.01 * g).collect();
                run.value(&down)?;
            }
        }
    }

    #[test]
    fn gradients_are_by_the_scaled_box_and_failures_are_infinite() {
        let mut run = Run::new(&Bowl, 10, RunLog::none()).unwrap();
        assert_eq!(run.start(), [-1.0, 0.0]);
        let mut gradient = [0.0; 2];
        assert_eq!(run.value_grad(&[-0.5, 0.5], &mut gradient).unwrap(), 1.0 + 4.0);
        assert_eq!(gradient, [-2.0 * 2.0, 4.0 * 8.0]);
        assert_eq!(run.value_grad(&[0.9, 0.5], &mut gradient).unwrap(), f64::INFINITY);
        assert_eq!(gradient, [0.0, 0.0]);
        // A point outside is taken to the wall.
        assert_eq!(run.value(&[0.0, 3.0]).unwrap(), 36.0);
        assert_eq!(run.best().unwrap().x, [1.0, 4.0]);
    }

    #[test]
    fn the_budget_is_never_exceeded() {
        for budget in 1..12 {
            let mut run = Run::new(&Bowl, budget, RunLog::none()).unwrap();
            optimize(&Search, &mut run, 3).unwrap();
            assert_eq!(run.losses().len(), budget);
        }
    }

    #[test]
    fn a_run_cut_anywhere_ends_as_if_uncut() {
        let folder = std::env::temp_dir().join(format!("pullback-run-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("run.jsonl");
        let name = RunName::new("bowl", Search.settings(), 3);
        let whole = |budget| {
            let mut run = Run::new(&Bowl, budget, RunLog::open(&path, &name).unwrap()).unwrap();
            optimize(&Search, &mut run, 3).unwrap();
            (run.losses().to_vec(), run.best().cloned())
        };
        let expected = whole(40);
        let bytes = std::fs::read(&path).unwrap();
        for cut in (0..bytes.len()).step_by(97) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert_eq!(whole(40), expected);
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
        // Another seed must not continue this log.
        let other = RunName { seed: 4, ..name.clone() };
        assert!(RunLog::open(&path, &other).is_err());
        // Nor may a search that goes elsewhere.
        let mut run = Run::new(&Bowl, 40, RunLog::open(&path, &name).unwrap()).unwrap();
        assert!(optimize(&Search, &mut run, 4).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn failures_are_counted_and_the_first_is_kept() {
        let folder = std::env::temp_dir().join(format!("pullback-run-failures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("run.jsonl");
        let name = RunName::new("bowl", "by hand", 0);
        let ask = || {
            let mut run = Run::new(&Bowl, 10, RunLog::open(&path, &name).unwrap()).unwrap();
            let points: Vec<Vec<f64>> = [-0.5, 0.9, 0.0, 0.8].map(|z| vec![z, 0.0]).to_vec();
            run.values(&points).unwrap();
            run.value_grad(&[1.0, 0.0], &mut [0.0; 2]).unwrap();
            run.failures().clone()
        };
        let failures = ask();
        let words = failures.words(5).unwrap();
        assert!(words.starts_with("3 of 5 simulations failed; the first, number 2: a became NaN"), "{words}");
        // Read back from the log they are the same.
        assert_eq!(ask(), failures);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// What an objective may be that no search can use.
    struct Odd {
        bounds: Vec<(f64, f64)>,
        start: Vec<f64>,
        gradient: f64,
    }

    impl Objective for Odd {
        fn names(&self) -> Vec<String> {
            self.bounds.iter().map(|_| "a".into()).collect()
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            self.bounds.clone()
        }
        fn start(&self) -> Vec<f64> {
            self.start.clone()
        }
        fn value(&self, _: &[f64]) -> Result<f64, StepError> {
            Ok(f64::NAN)
        }
        fn value_grad(&self, _: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            grad.fill(self.gradient);
            Ok(1.0)
        }
    }

    #[test]
    fn what_cannot_be_searched_is_an_error() {
        let said = |bounds: &[(f64, f64)], start: &[f64]| {
            let odd = Odd { bounds: bounds.to_vec(), start: start.to_vec(), gradient: 0.0 };
            Run::new(&odd, 1, RunLog::none()).err().unwrap().to_string()
        };
        assert!(said(&[], &[]).contains("no variables"));
        assert!(said(&[(0.0, f64::INFINITY)], &[1.0]).contains("a has no finite bounds"));
        assert!(said(&[(1.0, 1.0)], &[1.0]).contains("a has no finite bounds"));
        assert!(said(&[(0.0, 1.0)], &[f64::NAN]).contains("a starts at NaN"));
        assert!(said(&[(0.0, 1.0)], &[]).contains("0 starts"));
    }

    #[test]
    fn losses_and_gradients_that_are_no_numbers_are_failures() {
        let odd = Odd { bounds: vec![(0.0, 1.0)], start: vec![0.5], gradient: f64::NAN };
        let mut run = Run::new(&odd, 2, RunLog::none()).unwrap();
        assert_eq!(run.value(&[0.0]).unwrap(), f64::INFINITY);
        let mut gradient = [1.0];
        run.value_grad(&[0.0], &mut gradient).unwrap();
        assert_eq!(gradient, [0.0]);
        let words = run.failures().words(2).unwrap();
        assert!(words.starts_with("2 of 2") && words.ends_with("the loss is NaN"), "{words}");
    }

    #[test]
    fn a_logged_gradient_of_the_wrong_length_is_an_error() {
        let path = std::env::temp_dir().join(format!("pullback-run-short-{}.jsonl", std::process::id()));
        let name = RunName::new("bowl", "by hand", 0);
        let mut log = RunLog::open(&path, &name).unwrap();
        let z = vec![0.0, 0.0];
        log.add(&Episode { z: z.clone(), loss: 1.0, gradient: Some(vec![0.5]), failure: None }).unwrap();
        drop(log);
        let mut run = Run::new(&Bowl, 10, RunLog::open(&path, &name).unwrap()).unwrap();
        let message = run.value_grad(&z, &mut [0.0; 2]).unwrap_err().to_string();
        assert!(message.contains("line 2: the gradient has 1 entries for 2 variables"), "{message}");
        std::fs::remove_file(&path).unwrap();
    }
}
