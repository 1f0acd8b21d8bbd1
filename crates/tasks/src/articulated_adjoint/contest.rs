//! Gradient descent beside CMA-ES on the same simulation.
//!
//! *Descent.* Adam or plain gradient descent with a rate per task. An iteration is one simulation with its
//! gradient.
//!
//! *CMA-ES.* The covariance of 9,000 variables would take 650 MB and hours to decompose. Over the variables
//! of the descent it is diagonal (separable CMA-ES); the full one searches torques that are constant over 50
//! steps, a smaller problem. Simulations of a generation run on all threads, the descent on one.

use std::time::Instant;

use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use pullback_optim::methods::{CmaEs, CmaEsConfig, SepCmaEs, SepCmaEsConfig};
use pullback_optim::{Objective, RolloutObjective, Run, RunLog, SearchMethod, optimize};
use pullback_replay::{ReplayGeom, ReplayShape};

use super::{ExperimentError, Reach, Replay, Robot, replay};
use crate::results::{Goal, Results};

/// How the descent makes steps of gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Descent {
    /// Adam with decays 0.9 and 0.999, in the box of the variables; the rate falls along half a cosine.
    Adam {
        /// Length of the first steps along each variable, in its unit.
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
    /// The loss over variables that are few enough for a full covariance, if those are not.
    pub coarse: Option<Simulated>,
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
    /// Iterations until the loss was at most `loss` and stayed so.
    pub fn settled(&self, loss: f64) -> Option<usize> {
        let above = self.iterations.iter().rposition(|i| i.loss > loss).map_or(0, |last| last + 1);
        (above < self.iterations.len()).then_some(above + 1)
    }
    /// The lowest loss.
    pub fn lowest(&self) -> f64 {
        self.iterations.last().map_or(f64::INFINITY, |i| i.lowest)
    }
}

/// A search without gradients.
#[derive(Clone, Debug)]
pub struct Rival {
    /// Name.
    pub name: &'static str,
    /// Number of variables.
    pub variables: usize,
    /// How it went.
    pub trace: Trace,
}

/// All searches of a task.
pub struct Contest {
    /// The task.
    pub task: Task,
    /// Gradient descent.
    pub descent: Trace,
    /// Searches without gradients.
    pub rivals: Vec<Rival>,
}

/// The searches without gradients of a task.
fn rivals(task: &Task) -> Vec<(&'static str, &Simulated, Box<dyn SearchMethod>)> {
    // Runs until the generations are spent: no restarts.
    let full = CmaEsConfig { sigma: task.sigma, restart_growth: 0, ..CmaEsConfig::default() };
    let full = Box::new(CmaEs { config: full });
    match &task.coarse {
        None => vec![("CMA-ES", &task.objective, full)],
        Some(coarse) => {
            let config = SepCmaEsConfig { sigma: task.sigma, ..SepCmaEsConfig::default() };
            let separable = Box::new(SepCmaEs { config });
            vec![("separable CMA-ES", &task.objective, separable), ("CMA-ES over intervals", coarse, full)]
        }
    }
}

/// Runs all searches for so many iterations and generations; `tick` is told of each.
pub fn run(
    task: Task,
    (iterations, generations, seed): (usize, usize, u64),
    mut tick: impl FnMut(),
) -> Result<Contest, ExperimentError> {
    let descent = descend(&task, iterations, &mut tick)?;
    let evolved = |(name, objective, method): (&'static str, &Simulated, Box<dyn SearchMethod>)| {
        let trace = evolve(objective, method.as_ref(), (generations, seed), &mut tick)?;
        Ok(Rival { name, variables: objective.names().len(), trace })
    };
    let rivals = rivals(&task).into_iter().map(evolved).collect::<Result<_, ExperimentError>>()?;
    Ok(Contest { task, descent, rivals })
}

impl Contest {
    /// The best motion of the descent, with its target.
    pub fn replay(&self) -> Result<Replay, ExperimentError> {
        let Task { name, objective, solved, .. } = &self.task;
        let best = &self.descent.best;
        let mut page = replay(&objective.rollout().system, &objective.inputs(best), objective.states(best)?);
        page.title = format!("{name}, after {} iterations", self.descent.iterations.len());
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
        let Contest { task, descent, rivals } = self;
        let until = |trace: &Trace| {
            let found = trace.until(task.solved).map(|(n, seconds)| (n as f64, seconds));
            found.unwrap_or((f64::INFINITY, f64::INFINITY))
        };
        let seconds = |trace: &Trace| trace.iterations.last().map_or(f64::INFINITY, |i| i.seconds);
        let mut row = |metric: String, value: f64, unit: &str, paper: Option<usize>| {
            results.row(task.name, &metric, value, unit);
            if let (Some(row), Some(paper)) = (results.rows.last_mut(), paper) {
                (row.peer, row.peer_name) = (Some(paper as f64), Some("the paper".into()));
            }
        };
        row("loss that counts as solved".into(), task.solved, task.unit, None);
        let descents = ("gradient descent", task.objective.names().len(), descent, Some(task.paper.0), None);
        let others = rivals.iter().map(|r| (r.name, r.variables, &r.trace, None, task.paper.1));
        for (name, variables, trace, solved_in_paper, run_in_paper) in std::iter::once(descents).chain(others)
        {
            let solved = until(trace);
            row(format!("{name}: variables"), variables as f64, "1", None);
            row(format!("{name}: iterations until solved"), solved.0, "1", solved_in_paper);
            row(format!("{name}: time until solved"), solved.1, "s", None);
            let settled = trace.settled(task.solved).map_or(f64::INFINITY, |n| n as f64);
            row(format!("{name}: iterations until solved for good"), settled, "1", None);
            row(format!("{name}: iterations"), trace.iterations.len() as f64, "1", run_in_paper);
            row(format!("{name}: time of all iterations"), seconds(trace), "s", None);
            row(format!("{name}: lowest loss"), trace.lowest(), task.unit, None);
        }
        let ours = until(descent);
        let name = |what: &str| format!("{}: {what}", task.name);
        results.goals.push(Goal::at_most(
            name("iterations of the descent until solved"),
            ours.0,
            task.paper.0 as f64,
        ));
        // A search that did not solve the task would take longer than it ran.
        for rival in rivals {
            let theirs = until(&rival.trace).1.min(seconds(&rival.trace));
            results.goals.push(Goal::at_most(
                name(&format!("time until solved over that of {}", rival.name)),
                ours.1 / theirs,
                1.0,
            ));
        }
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
                let cosine = (std::f64::consts::PI * simulations as f64 / iterations as f64).cos();
                let rate = 0.5 * rate * (1.0 + cosine);
                x.iter_mut().for_each(|x| *x /= bound);
                adam.step(&config, rate / bound, &mut x, &gradient);
                x.iter_mut().for_each(|x| *x *= bound);
            }
            Descent::Plain { rate } => x.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= rate * g),
        }
    }
    Ok(Trace { iterations: all, best })
}

/// Searches without gradients for some generations, each of which is an iteration.
fn evolve(
    objective: &Simulated,
    method: &dyn SearchMethod,
    (generations, seed): (usize, u64),
    mut tick: impl FnMut(),
) -> Result<Trace, ExperimentError> {
    // The default population of both methods, 4 + ⌊3 ln n⌋.
    let population = 4 + (3.0 * (objective.names().len() as f64).ln()) as usize;
    let (start, mut iterations) = (Instant::now(), Vec::new());
    let watch = |simulations: usize, lowest: f64| {
        if simulations.is_multiple_of(population) {
            let seconds = start.elapsed().as_secs_f64();
            iterations.push(Iteration { simulations, seconds, loss: lowest, lowest });
            tick();
        }
    };
    let mut run = Run::new(objective, generations * population, RunLog::none())?.with_callback(watch);
    optimize(method, &mut run, seed).map_err(|e| ConfigError::new(e.to_string()))?;
    let best = run.best().map(|best| best.x.clone()).unwrap_or_default();
    drop(run);
    Ok(Trace { iterations, best })
}
