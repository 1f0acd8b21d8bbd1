//! Model-predictive control: plan, apply the first controls, shift the plan, plan again.
//!
//! *Resumption.* Every round is a line of `run.jsonl`, with the controls that were applied; the plan that the next
//! round starts from is in `checkpoint.json`, which is replaced whole. A run that starts again simulates the logged
//! controls and goes on from the checkpoint. What a planner does depends on state, plan and seed alone, so the end is
//! the same as without an interruption.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pullback_core::files::write_atomically;
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{ConfigError, Rollout, Schedule, StepError};
use pullback_optim::{LineLog, LogError};
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::planner::{Moment, Planner};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::Plan;

/// How long and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Control steps of the episode.
    pub steps: usize,
    /// Control steps that are applied of each plan.
    pub apply: usize,
}

/// One plan and the controls of it that were applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Control steps applied before.
    pub step: usize,
    /// Cost over the horizon before planning; none where the shifted plan could not be simulated.
    pub before: Option<f64>,
    /// And after.
    pub after: f64,
    /// Rollouts without gradients.
    pub rollouts: usize,
    /// Rollouts with gradients or Jacobians.
    pub gradients: usize,
    /// Seconds that planning took.
    pub seconds: f64,
    /// The controls applied, step after step.
    pub controls: Vec<f64>,
}

/// What a run is about: a log resumes only the run it was written by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunIdentity {
    /// The task, with all that changes it.
    pub task: String,
    /// The planner with its settings.
    pub planner: String,
    /// Horizon, controls applied per plan and spline.
    pub pace: String,
    /// Seed.
    pub seed: u64,
}

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    /// Rounds that were applied.
    rounds: usize,
    /// The plan of the next round.
    plan: Plan,
}

/// An episode.
#[derive(Clone, Debug)]
pub struct Episode {
    /// States at which controls change, and the last.
    pub states: Vec<Vec<f64>>,
    /// Controls, step after step.
    pub controls: Vec<f64>,
    /// Loss at each of the states.
    pub costs: Vec<f64>,
    /// The plans.
    pub rounds: Vec<Round>,
    /// How many of them an earlier run had made.
    pub resumed: usize,
    /// The plan at the end.
    pub plan: Plan,
}

impl Episode {
    /// The loss of the whole episode.
    pub fn cost(&self) -> f64 {
        self.costs.iter().sum()
    }
    /// Seconds spent planning.
    pub fn seconds(&self) -> f64 {
        self.rounds.iter().map(|round| round.seconds).sum()
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Control steps applied.
    pub step: usize,
    /// Parts of the present plan that are done: iterations, rounds, simulations.
    pub part: usize,
    /// Lowest cost over the horizon in this plan.
    pub cost: f64,
}

/// Where a run is kept.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// The folder, which exists.
    pub folder: PathBuf,
    /// The run.
    pub identity: RunIdentity,
}

impl RunFolder {
    fn checkpoint(&self) -> PathBuf {
        self.folder.join("checkpoint.json")
    }

    /// The log, and the rounds and the plan that an earlier run left.
    fn open(&self) -> Result<(LineLog, Vec<Round>, Option<Plan>), PlanError> {
        let (mut log, mut rounds): (_, Vec<Round>) =
            LineLog::open(&self.folder.join("run.jsonl"), &self.identity)?;
        let path = self.checkpoint();
        let found = match rounds.is_empty() {
            true => None,
            false => std::fs::read(&path).ok().map(|bytes| serde_json::from_slice::<Checkpoint>(&bytes)),
        };
        let kept = match found {
            None => None,
            Some(Ok(checkpoint)) if checkpoint.rounds <= rounds.len() => Some(checkpoint),
            Some(found) => {
                let what = found.err().map_or("it is ahead of run.jsonl".to_owned(), |e| e.to_string());
                return Err(LogError::Content { path, line: 1, what }.into());
            }
        };
        // A round whose checkpoint was not written is made again.
        rounds.truncate(kept.as_ref().map_or(0, |checkpoint| checkpoint.rounds));
        log.keep(rounds.len())?;
        Ok((log, rounds, kept.map(|checkpoint| checkpoint.plan)))
    }

    fn save(&self, checkpoint: &Checkpoint) -> Result<(), PlanError> {
        let path = self.checkpoint();
        let failed = |source| LogError::File { path: path.clone(), source };
        let bytes = serde_json::to_vec(checkpoint).map_err(|e| failed(e.into()))?;
        Ok(write_atomically(&path, &bytes).map_err(failed)?)
    }
}

/// Deviation of the knots of the first plan, in the box scaled to [−1, 1].
const FIRST_NOISE: f64 = 0.01;

/// Runs an episode from `start`, or what an interrupted run left of it; the first plan holds `nominal`, up
/// to a little noise.
pub fn run<S: PlanSystem, L: PlanLoss>(
    problem: &Problem<'_, S, L>,
    planner: &mut dyn Planner,
    (start, nominal): (&[f64], &[f64]),
    pace: Pace,
    seed: u64,
    folder: Option<&RunFolder>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Episode, PlanError> {
    let Pace { steps, apply } = pace;
    if steps == 0 || apply == 0 || apply > problem.horizon {
        let why =
            "an episode has at least one step, and at least one and at most all steps of a plan are applied";
        return Err(ConfigError::new(why).into());
    }
    let mut plan = planner.spline().constant(nominal);
    // A little noise, so that no symmetry holds a planner on a saddle.
    let random = &mut Random::new(seed);
    plan.knots.iter_mut().for_each(|z| *z += FIRST_NOISE * random.normal());
    planner.spline().bounds().clamp(&mut plan.knots);
    let (mut log, mut rounds) = (None, Vec::new());
    if let Some(folder) = folder {
        let (opened, kept, kept_plan) = folder.open()?;
        (log, rounds) = (Some(opened), kept);
        plan = kept_plan.unwrap_or(plan);
    }
    let resumed = rounds.len();
    let mut episode = Episode {
        states: vec![start.to_vec()],
        controls: Vec::new(),
        costs: Vec::new(),
        rounds: Vec::new(),
        resumed,
        plan,
    };
    for round in rounds {
        execute(problem, &round.controls, &mut episode)?;
        episode.rounds.push(round);
    }

    let mut controls = vec![0.0; problem.horizon * problem.bounds.len()];
    while episode.states.len() <= steps {
        let step = episode.states.len() - 1;
        let started = Instant::now();
        let from = episode.states[step].clone();
        let log_path = folder.map(|folder| search_log(&folder.folder, step));
        let mut plan = episode.plan.clone();
        let outcome = planner.plan(
            &from,
            &mut plan,
            &mut Moment {
                step,
                seed: Random::new(seed ^ (step as u64).rotate_left(32)).bits(),
                log: log_path.as_deref(),
                watch: &mut |part, cost| watch(Progress { step, part, cost }),
            },
        )?;
        planner.spline().controls(&plan.knots, plan.phase, &mut controls);
        let applied = apply.min(steps - step);
        let round = Round {
            step,
            before: Some(outcome.before).filter(|cost| cost.is_finite()),
            after: outcome.after,
            rollouts: outcome.rollouts,
            gradients: outcome.gradients,
            seconds: started.elapsed().as_secs_f64(),
            controls: controls[..applied * problem.bounds.len()].to_vec(),
        };
        execute(problem, &round.controls, &mut episode)?;
        planner.spline().shift(&mut plan, applied);
        episode.plan = plan;
        if let (Some(log), Some(folder)) = (&mut log, folder) {
            log.add(&round)?;
            folder.save(&Checkpoint { rounds: episode.rounds.len() + 1, plan: episode.plan.clone() })?;
        }
        watch(Progress { step: step + applied, part: 0, cost: round.after });
        episode.rounds.push(round);
    }
    let nu = problem.bounds.len();
    episode.states.truncate(steps + 1);
    episode.controls.truncate(steps * nu);
    let sample = |step: usize| {
        let control = if step == steps { &[] } else { &episode.controls[step * nu..(step + 1) * nu] };
        Sample { step, steps, state: &episode.states[step][..], control }
    };
    episode.costs = (0..=steps).map(|step| Loss::<f64>::value(problem.loss, sample(step))).collect();
    Ok(episode)
}

/// The log of a search inside a plan.
fn search_log(folder: &Path, step: usize) -> PathBuf {
    folder.join(format!("search-{step}.jsonl"))
}

/// Simulates controls from where an episode is.
fn execute<S: PlanSystem, L: PlanLoss>(
    problem: &Problem<'_, S, L>,
    controls: &[f64],
    episode: &mut Episode,
) -> Result<(), StepError> {
    let steps = controls.len() / problem.bounds.len().max(1);
    let rollout = Rollout::new(problem.system, steps, Schedule::Revolve { slots: 1 })
        .and_then(|rollout| rollout.with_substeps(problem.substeps))
        .unwrap_or_else(|_| unreachable!("one slot, and at least one substep"));
    let state = episode.states[episode.states.len() - 1].clone();
    let inputs = Inputs { state, controls: controls.to_vec(), params: problem.params.to_vec() };
    rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| {
        if at.step > 0 {
            episode.states.push(at.state.to_vec());
        }
    })?;
    episode.controls.extend_from_slice(controls);
    Ok(())
}
