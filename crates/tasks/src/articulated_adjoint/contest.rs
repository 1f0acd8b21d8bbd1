//! Gradient descent beside CMA-ES on the same simulation.
//!
//! *Descent.* Adam or plain gradient descent with a rate per task. An iteration is one simulation with its
//! gradient.
//!
//! *CMA-ES.* The covariance of 9,000 variables would take 650 MB and hours to decompose. CMA-ES is given
//! torques that are constant over intervals: a smaller problem than the descent's. Its simulations run on
//! all threads, the descent on one.

use std::time::Instant;

use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use pullback_optim::methods::{CmaEs, CmaEsConfig};
use pullback_optim::{Objective, RolloutObjective, Run, RunLog, optimize};
use pullback_replay::{ReplayGeom, ReplayShape};

use super::{ExperimentError, Reach, Replay, Robot, replay};
use crate::results::{Goal, Results};

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
    /// Unit of the loss.
    pub unit: &'static str,
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

/// Both searches of a task.
pub struct Contest {
    /// The task.
    pub task: Task,
    /// Gradient descent.
    pub descent: Trace,
    /// CMA-ES.
    pub cma_es: Trace,
}

/// Runs both searches for so many iterations and generations; `tick` is told of each.
pub fn run(
    task: Task,
    (iterations, generations, seed): (usize, usize, u64),
    mut tick: impl FnMut(),
) -> Result<Contest, ExperimentError> {
    let descent = descend(&task, iterations, &mut tick)?;
    let cma_es = cma_es(&task, (generations, seed), &mut tick)?;
    Ok(Contest { task, descent, cma_es })
}

impl Contest {
    /// The best motion of the descent, with its target.
    pub fn replay(&self) -> Result<Replay, ExperimentError> {
        let Task { objective, solved, .. } = &self.task;
        let mut page = replay(&objective.rollout().system, objective.states(&self.descent.best)?);
        let (shape, position) = match objective.loss().target[..] {
            [x, y, z] => (ReplayShape::Sphere { radius: *solved }, [x, y, z]),
            // A line across the ground, where the rear axle is to stop.
            _ => (ReplayShape::Box { half: [0.004, 0.3, 0.001] }, [objective.loss().target[0], 0.0, 0.001]),
        };
        let target = ReplayGeom::new("target", 0, shape);
        page.geoms.push(ReplayGeom { position, rgba: [0.2, 0.7, 0.3, 0.6], ..target });
        Ok(page)
    }

    /// Adds figures and goals.
    pub fn add_results(&self, results: &mut Results) {
        let Contest { task, descent, cma_es } = self;
        let until = |trace: &Trace| {
            let found = trace.until(task.solved).map(|(n, seconds)| (n as f64, seconds));
            found.unwrap_or((f64::INFINITY, f64::INFINITY))
        };
        let (ours, theirs) = (until(descent), until(cma_es));
        let mut row = |metric: &str, value: f64, unit: &str, paper: Option<usize>| {
            results.row(task.name, metric, value, unit);
            if let (Some(row), Some(paper)) = (results.rows.last_mut(), paper) {
                (row.peer, row.peer_name) = (Some(paper as f64), Some("the paper".into()));
            }
        };
        row("variables", task.objective.names().len() as f64, "1", None);
        row("loss that counts as solved", task.solved, task.unit, None);
        row("descent: iterations until solved", ours.0, "1", Some(task.paper.0));
        row("descent: time until solved", ours.1, "s", None);
        row("descent: lowest loss", descent.lowest(), task.unit, None);
        row("CMA-ES: variables", task.coarse.names().len() as f64, "1", None);
        row("CMA-ES: generations until solved", theirs.0, "1", None);
        row("CMA-ES: time until solved", theirs.1, "s", None);
        row("CMA-ES: generations", cma_es.iterations.len() as f64, "1", task.paper.1);
        row("CMA-ES: time of all", cma_es.iterations.last().map_or(f64::NAN, |i| i.seconds), "s", None);
        row("CMA-ES: lowest loss", cma_es.lowest(), task.unit, None);
        let name = |what: &str| format!("{}: {what}", task.name);
        results.goals.push(Goal::at_most(
            name("iterations of the descent until solved"),
            ours.0,
            task.paper.0 as f64,
        ));
        // A search that did not solve the task took at least as long as it ran.
        let ran = cma_es.iterations.last().map_or(f64::INFINITY, |i| i.seconds);
        results.goals.push(Goal::at_most(
            name("time until solved over that of CMA-ES"),
            ours.1 / theirs.1.min(ran),
            1.0,
        ));
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
