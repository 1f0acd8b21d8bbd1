//! Control of muscles by looking ahead (Figs. 1, 10): gradients with and without contacts from distance beside samples.
//!
//! Two tasks, [`swap`] and [`tennis`], with MyoSuite's models where
//! they are given, with our own otherwise. Every planner has the same start, horizon and number of applied controls.
//! Beyond the paper, `hybrid` polishes samples by gradients.
//!
//! A run is one task, one planner and one seed. It has a folder of its own and goes on after an interruption. Runs
//! are made side by side, each on one thread, so the seconds of a run are those of one core.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pullback_control::candidates::Precision;
use pullback_control::descent::DescentConfig;
use pullback_control::hybrid::HybridConfig;
use pullback_control::mpc::Episode;
use pullback_control::noise::Noise;
use pullback_control::sampling::SamplingConfig;
use pullback_control::task::{Judgment, Planning};
use pullback_control::{PlanError, PlannerConfig, RunOptions};
use pullback_core::ConfigError;
use pullback_core::files::noting_inputs;
use pullback_replay::Replay;
use serde::Serialize;

use crate::planning::{BuildTask, ControlTask, TaskOptions, swap, tennis};
use crate::results::{Goal, Results, Row};

/// A task of the paper.
pub struct MuscleTask {
    /// Name.
    pub name: &'static str,
    /// How it is built.
    pub build: BuildTask,
    /// MyoSuite's model, in the folder of its files.
    pub model: &'static str,
    /// Hours of the paper's gradients with contacts from distance, and of their compilation, on a GPU.
    pub paper: (f64, f64),
}

/// Both tasks.
pub const MUSCLE_TASKS: [MuscleTask; 2] = [
    MuscleTask {
        name: "in-hand-swap",
        build: swap::task,
        model: "hand/myohand_baoding.xml",
        paper: (6.4, 2.1),
    },
    MuscleTask { name: "bionic-tennis", build: tennis::task, model: "arm/myoarm.xml", paper: (9.7, 1.2) },
];

/// Hours that a run of gradients with contacts from distance may take.
const HOURS: f64 = 1.0;

/// A planner that takes part.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name.
    pub name: String,
    /// The planner.
    pub planner: PlannerConfig,
    /// Whether contacts act from distance on the way back.
    pub from_distance: bool,
}

/// Name of the contender that the paper proposes.
pub const PROPOSED: &str = "gradient, contacts from distance";

/// How much is computed.
#[derive(Clone, Debug)]
pub struct Size {
    /// Runs of each planner on each task.
    pub seeds: u64,
    /// Samples per plan, one contender each.
    pub samples: Vec<usize>,
    /// Samples of the hybrid planner.
    pub proposals: usize,
    /// Gradients per plan.
    pub iterations: usize,
    /// Controls of an episode at most.
    pub steps: usize,
}

impl Size {
    /// The paper's.
    pub fn full() -> Size {
        Size { seeds: 2, samples: vec![1024, 2048], proposals: 256, iterations: 32, steps: usize::MAX }
    }

    /// For a quick look.
    pub fn quick() -> Size {
        Size { seeds: 1, samples: vec![64], proposals: 32, iterations: 32, steps: 400 }
    }

    /// The planners.
    pub fn contenders(&self) -> Vec<Contender> {
        let descent = DescentConfig { iterations: self.iterations, ..DescentConfig::default() };
        // Muscles follow slow commands, so noise is brown (section 5.2).
        let sampling = |samples| SamplingConfig {
            samples,
            noise: Noise::Brown,
            precision: Precision::F32,
            ..SamplingConfig::default()
        };
        let hybrid = HybridConfig {
            sampling: sampling(self.proposals),
            descent: DescentConfig { iterations: self.iterations / 2, ..descent },
            ..HybridConfig::default()
        };
        let contender =
            |name: &str, planner, from_distance| Contender { name: name.into(), planner, from_distance };
        let mut contenders = vec![
            contender(PROPOSED, PlannerConfig::Gradient(descent), true),
            contender("gradient", PlannerConfig::Gradient(descent), false),
            contender("hybrid, contacts from distance", PlannerConfig::Hybrid(hybrid), true),
        ];
        for samples in &self.samples {
            let planner = PlannerConfig::Sampling(sampling(*samples));
            contenders.push(contender(&format!("{samples} samples"), planner, false));
        }
        contenders
    }
}

/// One run, ended.
#[derive(Debug, Serialize)]
pub struct MuscleRun {
    /// Task.
    pub task: &'static str,
    /// Name of the planner.
    pub contender: String,
    /// Seed.
    pub seed: u64,
    /// Whether it is solved.
    #[serde(flatten)]
    pub judgment: Judgment,
    /// Seconds of simulated time from which on it is solved.
    pub solved_at: Option<f64>,
    /// Loss of the episode.
    pub cost: f64,
    /// Seconds per control.
    pub control_step: f64,
    /// Seconds spent planning.
    pub seconds: f64,
    /// Plans.
    pub plans: usize,
    /// Rollouts without gradients.
    pub rollouts: usize,
    /// Rollouts with gradients.
    pub gradients: usize,
    /// Loss at every control step.
    #[serde(skip)]
    pub costs: Vec<f64>,
    /// The motion.
    #[serde(skip)]
    pub replay: Option<Replay>,
}

/// How far a run is.
pub struct RunProgress<'a> {
    /// Task.
    pub task: &'static str,
    /// Planner.
    pub contender: &'a str,
    /// Controls applied since the last call.
    pub applied: usize,
}

/// What is compared, where runs are kept, and on how many threads they are made.
pub struct Comparison<'a> {
    /// How much.
    pub size: &'a Size,
    /// Folder of MyoSuite's models; our own models if none.
    pub models: Option<&'a Path>,
    /// Folder of the runs.
    pub folder: &'a Path,
    /// Runs at a time.
    pub threads: usize,
}

impl Comparison<'_> {
    /// Controls of all runs.
    pub fn controls(&self) -> Result<usize, ConfigError> {
        let mut controls = 0;
        for task in &MUSCLE_TASKS {
            let steps = self.planning((task.build)(&self.options(task, false))?.planning()).steps;
            controls += steps * self.size.contenders().len() * self.size.seeds as usize;
        }
        Ok(controls)
    }

    /// All runs, or what interrupted ones left of them. Seeds are outermost, so that an interrupted comparison has
    /// all planners at the same number of seeds.
    pub fn run(&self, watch: &(impl Fn(RunProgress<'_>) + Sync)) -> Result<Vec<MuscleRun>, PlanError> {
        let contenders = self.size.contenders();
        let mut jobs = Vec::new();
        for seed in 0..self.size.seeds {
            for contender in &contenders {
                jobs.extend(MUSCLE_TASKS.iter().map(|task| (task, contender, seed)));
            }
        }
        let (next, ended) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some((task, contender, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let run = self.one(task, contender, *seed, watch);
                let failed = run.is_err();
                ended.lock().unwrap_or_else(PoisonError::into_inner).push(run);
                if failed {
                    next.store(jobs.len(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..self.threads.max(1)).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut runs = ended.into_iter().collect::<Result<Vec<MuscleRun>, PlanError>>()?;
        let place = |run: &MuscleRun| {
            jobs.iter().position(|(task, contender, seed)| {
                task.name == run.task && contender.name == run.contender && *seed == run.seed
            })
        };
        runs.sort_by_key(place);
        Ok(runs)
    }

    fn options(&self, task: &MuscleTask, from_distance: bool) -> TaskOptions {
        TaskOptions {
            model: self.models.map(|folder| folder.join(task.model).display().to_string()),
            from_distance: (!from_distance).then_some(0.0),
        }
    }

    fn planning(&self, planning: Planning) -> Planning {
        Planning { steps: planning.steps.min(self.size.steps), ..planning }
    }

    fn one(
        &self,
        task: &MuscleTask,
        contender: &Contender,
        seed: u64,
        watch: &(impl Fn(RunProgress<'_>) + Sync),
    ) -> Result<MuscleRun, PlanError> {
        let (built, inputs) = noting_inputs(|| (task.build)(&self.options(task, contender.from_distance)));
        let built = built?;
        let folder = self.run_folder(task, contender, seed)?;
        let planning = self.planning(built.planning());
        let options = RunOptions { planning, threads: 1, seed, folder: Some(folder), inputs };
        let mut seen = 0;
        let name = &contender.name;
        let mut report = |step: usize| {
            watch(RunProgress { task: task.name, contender: name, applied: step - seen });
            seen = step;
        };
        let episode = built.run(&contender.planner, &options, &mut |at| report(at.step))?;
        report(planning.steps);
        Ok(ended(task, name, seed, &built, &episode))
    }

    fn run_folder(
        &self,
        task: &MuscleTask,
        contender: &Contender,
        seed: u64,
    ) -> Result<PathBuf, ConfigError> {
        let planner = contender.name.replace(", ", "-").replace(' ', "-");
        let folder = self.folder.join(format!("{}-{planner}-{seed}", task.name));
        match std::fs::create_dir_all(&folder) {
            Ok(()) => Ok(folder),
            Err(e) => Err(ConfigError::new(format!("cannot create {}: {e}", folder.display()))),
        }
    }
}

fn ended(
    task: &MuscleTask,
    contender: &str,
    seed: u64,
    built: &impl ControlTask,
    episode: &Episode,
) -> MuscleRun {
    let judgment = built.judge(&episode.states);
    let solved_at = judgment.solved_from.filter(|_| judgment.solved).map(|step| step as f64 * built.dt());
    MuscleRun {
        task: task.name,
        contender: contender.into(),
        seed,
        judgment,
        solved_at,
        cost: episode.cost(),
        control_step: built.dt(),
        seconds: episode.seconds(),
        plans: episode.rounds.len(),
        rollouts: episode.rounds.iter().map(|round| round.rollouts).sum(),
        gradients: episode.rounds.iter().map(|round| round.gradients).sum(),
        costs: episode.costs.clone(),
        replay: Some(built.replay(episode)),
    }
}

/// Adds figures and goals: gradients with contacts from distance solve every task, in less than an hour.
pub fn add_results(runs: &[MuscleRun], results: &mut Results) {
    for run in runs {
        let case = format!("{}, {}, seed {}", run.task, run.contender, run.seed);
        results.row(&case, &run.judgment.what, run.judgment.last, run.judgment.unit);
        results.row(&case, "solved", f64::from(u8::from(run.judgment.solved)), "1");
        if let Some(at) = run.solved_at {
            results.row(&case, "solved from", at, "s");
        }
        results.row(&case, "cost of the episode", run.cost, "1");
        let paper = MUSCLE_TASKS.iter().find(|task| task.name == run.task && run.contender == PROPOSED);
        results.rows.push(Row {
            case: case.clone(),
            metric: "planning".into(),
            value: run.seconds,
            unit: "s".into(),
            peer: paper.map(|task| 3600.0 * task.paper.0),
            peer_name: paper.map(|task| format!("DiffMJX on a GPU, after {} h of compilation", task.paper.1)),
        });
        results.row(&case, "rollouts", run.rollouts as f64, "1");
        results.row(&case, "gradients", run.gradients as f64, "1");
    }
    for task in &MUSCLE_TASKS {
        let proposed: Vec<&MuscleRun> =
            runs.iter().filter(|run| run.task == task.name && run.contender == PROPOSED).collect();
        if proposed.is_empty() {
            continue;
        }
        let solved = proposed.iter().filter(|run| run.judgment.solved).count();
        let (all, slowest) =
            (proposed.len() as f64, proposed.iter().map(|run| run.seconds).fold(0.0, f64::max));
        let name = |what: &str| format!("{}: {what}", task.name);
        results.goals.push(Goal::at_least(
            name("share of seeds that gradients with contacts from distance solve"),
            solved as f64 / all,
            1.0,
        ));
        results.goals.push(Goal::at_most(name("hours of the slowest of them"), slowest / 3600.0, HOURS));
    }
}
