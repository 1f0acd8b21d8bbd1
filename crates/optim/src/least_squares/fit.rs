//! [`fit`]: several starts of one method, the best of them, and its errors; resumed after an interruption.
//!
//! Starts are drawn from streams of their own and run in parallel, so the result depends on the seed alone. Gauss-Newton
//! logs its state after every step, searches log every simulation (`run_log.rs`); a run that starts again goes on there
//! and ends with the same bits.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pullback_core::random::Random;
use pullback_core::settings::{Range, check_ranges};
use pullback_core::{ConfigError, StepError};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::gauss_newton::{End, GaussNewton, GaussNewtonState};
use super::laplace::{Laplace, laplace};
use super::methods::FitMethod;
use super::problem::{LeastSquares, Loss, Place, cost, residual_count};
use crate::line_log::{LineLog, LogError, RunName};
use crate::methods::Settings;
use crate::objective::Objective;
use crate::run::{Failures, Run, SearchMethod, optimize};
use crate::run_log::RunLog;
use crate::search::SearchError;

/// A fit that could not be carried out.
#[derive(Debug, Error)]
pub enum FitError {
    /// Settings that make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No start could be simulated; this is why the first one could not.
    #[error("no start can be simulated: {0}")]
    Step(#[from] StepError),
}

impl From<SearchError> for FitError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Config(error) => FitError::Config(error),
            SearchError::Log(error) => FitError::Log(error),
            SearchError::Interrupted(_) => FitError::Log(LogError::Interrupted),
        }
    }
}

/// Where a fit is written down.
#[derive(Clone, Debug)]
pub struct FitLog {
    /// A folder that exists.
    pub folder: PathBuf,
    /// Files begin with this.
    pub stage: String,
    /// What the fit is of, with the data; method and seed are those of the fit.
    pub name: RunName,
}

impl FitLog {
    /// Files of one stage of a fit in a folder.
    pub fn new(folder: &Path, stage: impl Into<String>, name: RunName) -> Self {
        FitLog { folder: folder.to_owned(), stage: stage.into(), name }
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{}{part}.jsonl", self.stage))
    }

    /// What a log of a fit by a method is about. More starts or simulations go on from fewer.
    fn name(&self, method: &str, settings: &FitSettings<'_>) -> RunName {
        RunName { seed: settings.seed, ..self.name.clone() }.with_settings(method)
    }
}

/// How a fit is carried out.
pub struct FitSettings<'a> {
    /// The method.
    pub method: &'a FitMethod,
    /// Starts; the first is the problem's own, or [`FitSettings::from`].
    pub starts: usize,
    /// Seed of the others.
    pub seed: u64,
    /// Simulations of a search per start; Gauss-Newton has its own limit.
    pub budget: usize,
    /// Where to begin in place of the problem's own start.
    pub from: Option<Place>,
    /// Where to write down what was done.
    pub log: Option<FitLog>,
}

/// How one start ended.
#[derive(Clone, Debug, Serialize)]
pub struct StartResult {
    /// The quantities where it began.
    pub start: Vec<f64>,
    /// The quantities where it ended; none where it could not be simulated.
    pub values: Vec<f64>,
    /// Mean square of the weighted residuals there; none where it could not be simulated.
    pub mean_square: Option<f64>,
    /// Steps of Gauss-Newton, or simulations of a search.
    pub steps: usize,
    /// Why Gauss-Newton ended.
    pub end: Option<End>,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// Where the best start ended.
    pub at: Place,
    /// Its errors.
    pub laplace: Laplace,
    /// All starts.
    pub starts: Vec<StartResult>,
    /// Which was the best.
    pub best: usize,
    /// Steps or simulations that were read back from an interrupted run.
    pub resumed: usize,
    /// Simulations of searches that failed, over all starts.
    pub failures: Failures,
    /// Simulations of searches.
    pub searched: usize,
}

impl Fitted {
    /// How many starts ended as low as the best, to a part in a thousand of the mean square.
    pub fn agreeing(&self) -> usize {
        let best = self.starts[self.best].mean_square.unwrap_or(f64::INFINITY);
        let low = |s: &&StartResult| s.mean_square.is_some_and(|x| x <= best * 1.001 + f64::MIN_POSITIVE);
        self.starts.iter().filter(low).count()
    }
}

/// Where one start ended.
struct Ended {
    at: Place,
    cost: f64,
    steps: usize,
    end: Option<End>,
    resumed: usize,
    failures: Failures,
}

/// Fits a problem; `watch` sees the number of a start, its steps and its cost, from any thread.
pub fn fit(
    problem: &dyn LeastSquares,
    settings: &FitSettings<'_>,
    watch: &(dyn Fn(usize, usize, f64) + Sync),
) -> Result<Fitted, FitError> {
    check_ranges("fit", &[("starts", settings.starts as f64, Range::Within(1.0, 1e6))])?;
    if let FitMethod::GaussNewton(config) = settings.method {
        config.check("gauss-newton")?;
    }
    if residual_count(problem) == 0 || problem.unknowns().is_empty() {
        return Err(ConfigError::new("a fit needs something measured and something unknown").into());
    }
    let starts: Vec<Vec<f64>> = (0..settings.starts).map(|k| start(problem, settings, k)).collect();
    let ended = match settings.method {
        FitMethod::GaussNewton(config) => {
            let log = StateLog::open(problem, settings)?;
            let run = |(k, start): (usize, &Vec<f64>)| {
                let begin = settings.from.clone().filter(|_| k == 0);
                gauss_newton(problem, config, (k, start, begin), &log, watch)
            };
            starts.par_iter().enumerate().map(run).collect::<Result<Vec<_>, _>>()?
        }
        FitMethod::Search(method) => {
            let run = |(k, start): (usize, &Vec<f64>)| {
                by_search(problem, method.as_ref(), settings, (k, start), watch)
            };
            starts.par_iter().enumerate().map(run).collect::<Result<Vec<_>, _>>()?
        }
    };
    // The lowest; of equal ones the first.
    let mut best: Option<usize> = None;
    for (k, result) in ended.iter().enumerate() {
        let lowest = best.and_then(|b| ended[b].as_ref().ok()).map_or(f64::INFINITY, |e| e.cost);
        if result.as_ref().is_ok_and(|e| e.cost < lowest) {
            best = Some(k);
        }
    }
    let Some(best) = best else {
        let first = ended.into_iter().find_map(Result::err);
        return Err(first.map_or_else(
            || ConfigError::new("no start has a finite misfit: change starts or bounds").into(),
            FitError::Step,
        ));
    };
    let physical =
        |z: &[f64]| -> Vec<f64> { problem.unknowns().iter().zip(z).map(|(u, z)| u.eval(*z).0).collect() };
    let count = residual_count(problem) as f64;
    let result = |(start, ended): (&Vec<f64>, &Result<Ended, StepError>)| StartResult {
        start: physical(start),
        values: ended.as_ref().map_or(Vec::new(), |e| physical(&e.at.shared)),
        mean_square: ended.as_ref().ok().map(|e| 2.0 * e.cost / count).filter(|x| x.is_finite()),
        steps: ended.as_ref().map_or(0, |e| e.steps),
        end: ended.as_ref().ok().and_then(|e| e.end),
    };
    let results = starts.iter().zip(&ended).map(result).collect();
    let resumed = ended.iter().flatten().map(|e| e.resumed).sum();
    let mut failures = Failures::default();
    ended.iter().flatten().for_each(|e| failures.add(&e.failures));
    let searched = match settings.method {
        FitMethod::GaussNewton(_) => 0,
        FitMethod::Search(_) => ended.iter().flatten().map(|e| e.steps).sum(),
    };
    let at = ended.into_iter().nth(best).and_then(Result::ok).map(|e| e.at).unwrap_or_default();
    let laplace = laplace(problem, &at)?;
    Ok(Fitted { at, laplace, starts: results, best, resumed, failures, searched })
}

/// The start number `k`: the problem's own, or a random point of the box.
fn start(problem: &dyn LeastSquares, settings: &FitSettings<'_>, k: usize) -> Vec<f64> {
    let unknowns = problem.unknowns();
    let own = |u: &super::problem::Unknown| {
        let (low, high) = u.bounds();
        u.start().clamp(low, high)
    };
    if k == 0 {
        return settings
            .from
            .as_ref()
            .map_or_else(|| unknowns.iter().map(own).collect(), |p| p.shared.clone());
    }
    let mut random = Random::stream(settings.seed, &[k as u64]);
    let draw = |u: &super::problem::Unknown| {
        let (own, (low, high)) = (own(u), u.bounds());
        // Where there is no bound, as far from the start as the quantity is large.
        let reach = u.size(own);
        let low = if low.is_finite() { low } else { own - reach };
        let high = if high.is_finite() { high } else { own + reach };
        random.uniform(low, high)
    };
    unknowns.iter().map(draw).collect()
}

/// The state of a start after a step.
#[derive(Serialize, Deserialize)]
struct Line {
    start: usize,
    state: GaussNewtonState,
}

/// States of all starts, written down as they come.
struct StateLog {
    log: Option<Mutex<LineLog>>,
    /// The last state of each start of an earlier run.
    earlier: Vec<Option<GaussNewtonState>>,
}

impl StateLog {
    fn open(problem: &dyn LeastSquares, settings: &FitSettings<'_>) -> Result<Self, LogError> {
        let mut earlier = vec![None; settings.starts];
        let Some(log) = &settings.log else { return Ok(StateLog { log: None, earlier }) };
        let (path, name) = (log.path(""), log.name(&settings.method.settings(), settings));
        let (log, lines) = LineLog::open::<Line>(&path, &name)?;
        let unknowns = problem.unknowns().len();
        for (number, Line { start, state }) in lines.into_iter().enumerate() {
            if !state.fits(problem) {
                let what = format!("this is no state of a fit of {unknowns} quantities");
                return Err(LogError::Content { path, line: number + 2, what });
            }
            if start < earlier.len() {
                earlier[start] = Some(state);
            }
        }
        Ok(StateLog { log: Some(Mutex::new(log)), earlier })
    }

    fn add(&self, start: usize, state: &GaussNewtonState) -> Result<(), LogError> {
        let Some(log) = &self.log else { return Ok(()) };
        let line = Line { start, state: state.clone() };
        log.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(&line)?;
        LogError::unless_interrupted()
    }
}

/// Steps until the end. A start that cannot be simulated is a result, a log that cannot be written an error.
fn gauss_newton(
    problem: &dyn LeastSquares,
    config: &GaussNewton,
    (k, start, from): (usize, &[f64], Option<Place>),
    log: &StateLog,
    watch: &(dyn Fn(usize, usize, f64) + Sync),
) -> Result<Result<Ended, StepError>, FitError> {
    let earlier = log.earlier[k].clone();
    let resumed = earlier.as_ref().map_or(0, |state| state.steps);
    let begun = match earlier {
        Some(state) => Ok(state),
        None => config.begin(problem, start.to_vec()).map(|mut state| {
            if let Some(at) = from {
                state.cost = cost(problem, &at);
                state.at = at;
            }
            state
        }),
    };
    let mut state = match begun {
        Ok(state) => state,
        Err(why) => return Ok(Err(why)),
    };
    while state.end.is_none() {
        watch(k, state.steps, state.cost);
        if let Err(why) = config.step(problem, &mut state) {
            return Ok(Err(why));
        }
        log.add(k, &state)?;
    }
    watch(k, state.steps, state.cost);
    let GaussNewtonState { at, cost, steps, end, .. } = state;
    Ok(Ok(Ended { at, cost, steps, end, resumed, failures: Failures::default() }))
}

/// A search by gradients with a log of its own.
fn by_search(
    problem: &dyn LeastSquares,
    method: &dyn SearchMethod,
    settings: &FitSettings<'_>,
    (k, start): (usize, &[f64]),
    watch: &(dyn Fn(usize, usize, f64) + Sync),
) -> Result<Result<Ended, StepError>, FitError> {
    let from = settings.from.as_ref().filter(|_| k == 0);
    let locals = from.map_or(Vec::new(), |at| at.locals.concat());
    let loss = Loss { problem, start: [start, &locals].concat() };
    // A start that fails says why.
    if let Err(why) = loss.value(&loss.start()) {
        return Ok(Err(why));
    }
    let log = match &settings.log {
        Some(log) => RunLog::open(&log.path(&format!("-{k}")), &log.name(&method.settings(), settings))?,
        None => RunLog::none(),
    };
    let resumed = log.kept().min(settings.budget);
    let count = residual_count(problem) as f64;
    let tell = |steps: usize, loss: f64| watch(k, steps, loss * count);
    let mut run = Run::new(&loss, settings.budget, log)?.with_callback(tell);
    optimize(method, &mut run, settings.seed)?;
    let Some(best) = run.best() else {
        return Err(ConfigError::new("a budget of nothing finds nothing; give --budget").into());
    };
    let (at, cost, steps) = (loss.place(&best.x), best.loss * count, run.losses().len());
    let failures = run.failures().clone();
    Ok(Ok(Ended { at, cost, steps, end: None, resumed, failures }))
}
