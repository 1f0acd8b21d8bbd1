//! Gradient descent beside CMA-ES on the same simulation.
//!
//! *Descent.* Adam or plain gradient descent with a rate per task. An iteration is one simulation with its
//! gradient.
//!
//! *CMA-ES.* The covariance of 9,000 variables would take 650 MB and hours to decompose. CMA-ES is given
//! torques that are constant over intervals: a smaller problem than the descent's. Its simulations run on all
//! threads, the descent on one.

use std::time::Instant;

use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use pullback_optim::methods::{CmaEs, CmaEsConfig};
use pullback_optim::{Objective, RolloutObjective, Run, RunLog, optimize};

use super::{ExperimentError, Reach, Robot};

/// How the descent makes steps of gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Descent {
    /// Adam with decays 0.9 and 0.999, in the box of the variables.
    Adam {
        /// Length of a step along each variable, in its unit.
        rate: f64,
    },
    /// x ← x − rate · g.
    Plain {
        /// The rate.
        rate: f64,
    },
}

/// A simulation with variables, and when it is solved.
pub struct Task {
    /// Name.
    pub name: &'static str,
    /// How the descent steps.
    pub descent: Descent,
    /// The loss over all variables.
    pub objective: Simulated,
    /// The loss over the variables of CMA-ES.
    pub coarse: Simulated,
    /// First step size of CMA-ES, in the box scaled to [−1, 1].
    pub sigma: f64,
    /// Loss at which the task is solved.
    pub solved: f64,
    /// Iterations of the paper's descent, and of its CMA-ES, which were not enough.
    pub paper: (usize, Option<usize>),
}

/// A loss over the variables of a simulation.
pub type Simulated = RolloutObjective<Robot, Reach>;

/// One simulation, or one generation of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Simulations so far.
    pub simulations: usize,
    /// Seconds so far.
    pub seconds: f64,
    /// Loss of this iteration; of a generation the lowest so far.
    pub loss: f64,
    /// Lowest loss so far.
    pub lowest: f64,
}

/// How a search went.
#[derive(Clone, Debug)]
pub struct Trace {
    /// After each iteration.
    pub iterations: Vec<Iteration>,
    /// The best variables.
    pub best: Vec<f64>,
}

impl Trace {
    /// Iterations and seconds until the loss was at most `loss`.
    pub fn until(&self, loss: f64) -> Option<(usize, f64)> {
        let first = self.iterations.iter().position(|i| i.lowest <= loss)?;
        Some((first + 1, self.iterations[first].seconds))
    }
    /// The lowest loss.
    pub fn lowest(&self) -> f64 {
        self.iterations.last().map_or(f64::INFINITY, |i| i.lowest)
    }
}

/// The controls of all steps as variables, each constant over `hold` steps; they start as in `base`.
pub(super) fn torques(
    robot: &Robot,
    base: Inputs<f64>,
    loss: Reach,
    (steps, hold): (usize, usize),
    bound: f64,
) -> Result<Simulated, ExperimentError> {
    let controls = robot.layout().control.len();
    let variable = |interval: usize, i: usize| {
        let name = format!("control.{}[{interval}]", robot.layout().control.entry_name(i));
        let first = interval * hold * controls + i;
        Variable::new(name, robot.layout().control.unit(i).to_owned(), (-bound, bound), base.controls[first])
    };
    let intervals = steps.div_ceil(hold);
    let variables = (0..intervals).flat_map(|k| (0..controls).map(move |i| (k, i)));
    let mut map = LinearMap::new(variables.map(|(k, i)| variable(k, i)).collect());
    for step in 0..steps {
        for i in 0..controls {
            let entry = InputEntry::Control(step * controls + i);
            map.tie(entry, 0.0, [(step / hold * controls + i, 1.0)]);
        }
    }
    let rollout = Rollout::new(robot.clone(), steps, Schedule::StoreAll)?;
    Ok(RolloutObjective::new(rollout, loss, map).with_base(base).with_floor(0.0))
}

/// Descends for `iterations`; `tick` is told of each.
pub fn descend(task: &Task, iterations: usize, mut tick: impl FnMut()) -> Result<Trace, ExperimentError> {
    let objective = &task.objective;
    let start = Instant::now();
    let (mut x, mut lowest) = (objective.start(), f64::INFINITY);
    let (mut best, mut gradient) = (x.clone(), vec![0.0; x.len()]);
    let (config, mut adam) = (AdamConfig::default(), AdamState::new(x.len()));
    // The box of the variables is symmetric under Adam: z = x / bound.
    let bound = objective.bounds().first().map_or(1.0, |(_, high)| *high);
    let mut all = Vec::new();
    for simulations in 1..=iterations {
        let loss = objective.value_grad(&x, &mut gradient)?;
        if loss < lowest {
            lowest = loss;
            best.copy_from_slice(&x);
        }
        all.push(Iteration { simulations, seconds: start.elapsed().as_secs_f64(), loss, lowest });
        tick();
        match task.descent {
            Descent::Adam { rate } => {
                x.iter_mut().for_each(|x| *x /= bound);
                adam.step(&config, rate / bound, &mut x, &gradient);
                x.iter_mut().for_each(|x| *x *= bound);
            }
            Descent::Plain { rate } => x.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= rate * g),
        }
    }
    Ok(Trace { iterations: all, best })
}

/// Searches by CMA-ES for some generations, each of which is an iteration.
pub fn cma_es(
    task: &Task,
    (generations, seed): (usize, u64),
    mut tick: impl FnMut(),
) -> Result<Trace, ExperimentError> {
    let dim = task.coarse.names().len();
    // The tutorial's population, 4 + ⌊3 ln n⌋.
    let population = 4 + (3.0 * (dim as f64).ln()) as usize;
    let config = CmaEsConfig { population, sigma: task.sigma, restart_growth: 0, ..CmaEsConfig::default() };
    let (start, mut iterations) = (Instant::now(), Vec::new());
    let watch = |simulations: usize, lowest: f64| {
        if simulations.is_multiple_of(population) {
            let seconds = start.elapsed().as_secs_f64();
            iterations.push(Iteration { simulations, seconds, loss: lowest, lowest });
            tick();
        }
    };
    let mut run = Run::new(&task.coarse, generations * population, RunLog::none())?.with_callback(watch);
    optimize(&CmaEs { config }, &mut run, seed).map_err(|e| ConfigError::new(e.to_string()))?;
    let best = run.best().map(|best| best.x.clone()).unwrap_or_default();
    drop(run);
    Ok(Trace { iterations, best })
}
