//! Model-predictive control: plan, apply the first controls, shift the plan, plan again.
//!
//! *Resumption.* Every round is a line of `run.jsonl`, with the controls that were applied; the plan that the next
//! round starts from is in `checkpoint.json`, which is replaced whole. A run that starts again simulates the logged
//! controls and goes on from the checkpoint. What a planner does depends on state, plan and seed alone, so the end is
//! the same as without an interruption.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pullback_core::files::{self, write_atomically};
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{ConfigError, Rollout, Schedule, StepError};
use pullback_optim::{LineLog, LogError, RunName};
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::planner::{Moment, Planner};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::{Plan, Spline};

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
    /// What the run is about: all that its controls depend on.
    pub name: RunName,
}

impl RunFolder {
    fn checkpoint(&self) -> PathBuf {
        self.folder.join("checkpoint.json")
    }

    /// The log, and the rounds and the plan that an earlier run left.
    fn open(&self) -> Result<(LineLog, Vec<Round>, Option<Plan>), PlanError> {
        let (mut log, mut rounds): (_, Vec<Round>) =
            LineLog::open(&self.folder.join("run.jsonl"), &self.name)?;
        let path = self.checkpoint();
        let found = match rounds.is_empty() {
            true => None,
            false => files::read(&path).ok().map(|bytes| log.unseal_beside::<Checkpoint>(&bytes)),
        };
        let kept = match found {
            None => None,
            Some(Ok(checkpoint)) if checkpoint.rounds <= rounds.len() => Some(checkpoint),
            Some(found) => {
                let what = found.err().unwrap_or_else(|| "it is ahead of run.jsonl".into());
                return Err(LogError::Content { path, line: 1, what }.into());
            }
        };
        // A round whose checkpoint was not written is made again.
        rounds.truncate(kept.as_ref().map_or(0, |checkpoint| checkpoint.rounds));
        log.keep(rounds.len())?;
        Ok((log, rounds, kept.map(|checkpoint| checkpoint.plan)))
    }

    /// Keeps a round and what the next one goes on from, in this order also on the disk.
    fn save(&self, log: &mut LineLog, round: &Round, checkpoint: &Checkpoint) -> Result<(), PlanError> {
        log.add(round)?;
        log.sync()?;
        let path = self.checkpoint();
        let failed = |source| LogError::File { path: path.clone(), source };
        write_atomically(&path, &log.seal_beside(checkpoint)?).map_err(failed)?;
        Ok(LogError::unless_interrupted()?)
    }

    /// Refuses rounds and plans that are not those of a run of this size.
    fn check(
        &self,
        rounds: &[Round],
        plan: Option<&Plan>,
        (spline, applied): (&Spline, &dyn Fn(usize) -> usize),
    ) -> Result<(), LogError> {
        let mut step = 0;
        for (number, round) in rounds.iter().enumerate() {
            let entries = applied(step) * spline.bounds().len();
            if (round.step, round.controls.len()) != (step, entries) {
                let (path, found) = (self.folder.join("run.jsonl"), round.controls.len());
                let what = format!("{found} controls at step {}, not {entries} at step {step}", round.step);
                return Err(LogError::Content { path, line: number + 2, what });
            }
            step += applied(step);
        }
        match plan {
            Some(plan) if !spline.fits(plan) => {
                let what = format!("a plan of {} numbers, not {}", plan.knots.len(), spline.len());
                Err(LogError::Content { path: self.checkpoint(), line: 1, what })
            }
            _ => Ok(()),
        }
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
        let applied = |step: usize| apply.min(steps.saturating_sub(step));
        folder.check(&kept, kept_plan.as_ref(), (planner.spline(), &applied))?;
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
                log: folder.zip(log_path.as_deref()).map(|(folder, path)| (path, &folder.name)),
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
            let checkpoint = Checkpoint { rounds: episode.rounds.len() + 1, plan: episode.plan.clone() };
            folder.save(log, &round, &checkpoint)?;
        }
        watch(Progress { step: step + applied, part: 0, cost: round.after });
        episode.rounds.push(round);
    }
    let nu = problem.bounds.len();
    episode.states.truncate(steps + 1);
    episode.controls.truncate(steps * nu);
    let sample = |step: usize| {
        let control = if step == steps { &[] } else { &episode.controls[step * nu..(step + 1) * nu] };
        Sample { step, steps, state: &episode.states[step][..], control, params: problem.params }
    };
    episode.costs = (0..=steps).map(|step| Loss::<f64>::value(problem.loss, sample(step))).collect();
    if let Some(step) = episode.costs.iter().position(|cost| !cost.is_finite()) {
        let (entry, value) = ("the loss".to_owned(), episode.costs[step]);
        return Err(StepError::NotFinite { entry, value, step }.into());
    }
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
