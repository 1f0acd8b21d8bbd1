//! `pullback reproduce articulated-learning`: what gradients of the physics do for model-based learning (Qiao et al.,
//! ICML 2021, section 6.2): pendula with policy enhancement, an ant with sample enhancement, both beside MBPO,
//! and the ant's policy in MuJoCo.
//!
//! Runs are independent, so each has one thread and as many run at once as there are processors.

mod page;
mod transfer;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback_core::ConfigError;
use pullback_learn::run::MetricsTable;
use pullback_learn::train::TrainOptions;
use pullback_tasks::results::Row;
use pullback_tasks::{Goal, Results};

use self::transfer::Transfer;
use super::Summary;
use super::contender::Contender;
use crate::args::ReproduceOptions;
use crate::commands::train::{Summary as Trained, threads};
use crate::output::{CliError, Output};

/// The paper's names.
const MBPO: &str = "MBPO";
const POLICY: &str = "policy enhancement";
const SAMPLE: &str = "sample enhancement";
const SAC: &str = "SAC";

/// Most links of a pendulum.
const LINKS: usize = 7;
/// Epochs of a pendulum per link, in full and if time is short; the paper has 100.
const EPOCHS_PER_LINK: (usize, usize) = (10, 3);
/// Epochs of the ant for each of a pendulum's per link.
const ANT_EPOCHS: usize = 10;
/// Links of pendula if time is short.
const QUICK_LINKS: [usize; 2] = [1, 2];
/// Settings of pendula: one update after each step, as appendix A has it; the rest is ours. Rewards are small, so the
/// temperature begins low.
const PENDULUM_SETTINGS: &[(&str, &str)] = &[
    ("updates", "1"),
    ("model_every", "1000"),
    ("rollouts", "20"),
    ("learner.alpha", "0.01"),
    ("learner.actor_lr", "0.001"),
    ("learner.critic_lr", "0.001"),
    ("learner.alpha_lr", "0.001"),
    ("model.pass_rows", "5000"),
];
/// Settings of MBPO on the ant: fewer updates and fits than Janner et al. have, with larger steps.
const ANT_SETTINGS: &[(&str, &str)] = &[
    ("updates", "4"),
    ("model_every", "1000"),
    ("rollouts", "100"),
    ("learner.alpha", "0.1"),
    ("learner.actor_lr", "0.0005"),
    ("learner.critic_lr", "0.0005"),
    ("learner.alpha_lr", "0.0005"),
    ("model.pass_rows", "10000"),
];
/// Settings of SAC: one environment, and an update after each step.
const SAC_SETTINGS: &[(&str, &str)] =
    &[("envs", "1"), ("horizon", "1000"), ("updates", "1000"), ("batch", "256"), ("warm_up", "1")];
/// Episodes of each policy in MuJoCo.
const EPISODES: usize = 20;
/// Epochs between checkpoints.
const CHECKPOINT_EVERY: usize = 5;
/// The metric of the curves: mean return of the episodes that ended in an epoch.
const CURVE: &str = "return_now";

/// Table 4: mean and deviation of the largest return of 1 to 7 links over ten seeds.
const PAPER_POLICY: [(f64, f64); LINKS] =
    [(0.49, 0.01), (1.93, 0.08), (4.28, 0.25), (7.81, 0.19), (12.31, 0.16), (17.78, 0.24), (24.34, 0.11)];
const PAPER_MBPO: [(f64, f64); LINKS] =
    [(0.49, 0.01), (1.90, 0.02), (4.28, 0.22), (7.50, 0.57), (11.13, 0.99), (15.02, 1.45), (19.97, 2.33)];

const PENDULA: [(&str, &str); LINKS] = [
    ("pendulum-1", "adjoint-pendulum-1"),
    ("pendulum-2", "adjoint-pendulum-2"),
    ("pendulum-3", "adjoint-pendulum-3"),
    ("pendulum-4", "adjoint-pendulum-4"),
    ("pendulum-5", "adjoint-pendulum-5"),
    ("pendulum-6", "adjoint-pendulum-6"),
    ("pendulum-7", "adjoint-pendulum-7"),
];

const NOTE: &str = "\
    Epochs are 1,000 steps. The paper trains pendula for 100 epochs per link with ten seeds; it does not say how \
    long the ant is trained, or what the networks are. Largest return: of any \
    episode in training, and of the policy's mean at the end. Returns at the end: of mean actions.";

/// Both methods on pendula of these links, then those on the ant.
fn contenders(links: impl IntoIterator<Item = usize>) -> Vec<Contender> {
    let plain = |task, preset, (algorithm, label), changes| Contender {
        task,
        algorithm,
        label,
        preset: Some(preset),
        changes,
        seeds: (1, 1),
        epochs: None,
        paper: None,
    };
    let mut all = Vec::new();
    for n in links {
        let (task, preset) = PENDULA[n - 1];
        all.push(plain(task, preset, ("mbpo-policy", POLICY), PENDULUM_SETTINGS));
        all.push(plain(task, preset, ("mbpo", MBPO), PENDULUM_SETTINGS));
    }
    for (algorithm, settings) in [
        (("mbpo-sample", SAMPLE), ANT_SETTINGS),
        (("mbpo", MBPO), ANT_SETTINGS),
        (("sac", SAC), SAC_SETTINGS),
    ] {
        all.push(plain("ant-mujoco", "adjoint-ant", algorithm, settings));
    }
    all
}

/// Runs of a contender.
struct Found {
    contender: Contender,
    runs: Vec<Trained>,
    folders: Vec<PathBuf>,
    /// Largest return of each run.
    largest: Vec<f64>,
}

impl Found {
    /// The number of links; `None` of the ant.
    fn links(&self) -> Option<usize> {
        PENDULA.iter().position(|(task, _)| *task == self.contender.task).map(|i| i + 1)
    }

    /// The paper's largest return of a pendulum.
    fn paper(&self) -> Option<(f64, f64)> {
        let table = if self.contender.label == POLICY { PAPER_POLICY } else { PAPER_MBPO };
        self.links().map(|n| table[n - 1])
    }

    fn largest(&self) -> f64 {
        self.largest.iter().sum::<f64>() / self.largest.len() as f64
    }
}

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let (folder, _lock) = output.run_folder("reproduce-articulated-learning")?;
    let quick = options.quick;
    let contenders = if quick { contenders(QUICK_LINKS) } else { contenders(1..=LINKS) };
    let usual = if quick { EPOCHS_PER_LINK.1 } else { EPOCHS_PER_LINK.0 };
    let plan = Plan { per_link: options.budget.unwrap_or(usual), seeds: options.seeds.unwrap_or(1) };
    let found = train_all(&contenders, &plan, &folder, output)?;
    let transfer = transfer::run(&found, EPISODES, output);
    let results = results(&found, &transfer);
    let files = page::write(&found, &transfer, &results, &folder, output)?;
    Summary { results, files }.print(output)
}

/// How much is run.
struct Plan {
    /// Epochs per link.
    per_link: usize,
    seeds: u64,
}

impl Plan {
    fn how(&self, contender: &Contender) -> TrainOptions {
        let links = PENDULA.iter().position(|(task, _)| *task == contender.task).map(|i| i + 1);
        let epochs = self.per_link * links.unwrap_or(ANT_EPOCHS);
        TrainOptions {
            stop_after: Some(epochs.max(1)),
            checkpoint_every: CHECKPOINT_EVERY,
            ..TrainOptions::default()
        }
    }
}

/// Trains every contender with every seed, one thread each.
fn train_all(
    contenders: &[Contender],
    plan: &Plan,
    folder: &Path,
    output: &Output,
) -> Result<Vec<Found>, CliError> {
    let jobs: Vec<(Contender, u64)> =
        contenders.iter().flat_map(|c| (0..plan.seeds).map(|seed| (*c, seed))).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((contender, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let place = contender.folder(folder, *seed);
            let trained = contender.train(*seed, &place, (plan.how(contender), 1), output);
            let failed = trained.is_err();
            done.lock().unwrap_or_else(|e| e.into_inner()).push((
                contender.task,
                contender.label,
                *seed,
                trained,
            ));
            if failed {
                // The others stop after what they are at.
                next.store(jobs.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| (0..threads(0).min(jobs.len())).for_each(|_| drop(scope.spawn(work))));
    let mut trained = std::collections::HashMap::new();
    for (task, label, seed, result) in done.into_inner().unwrap_or_else(|e| e.into_inner()) {
        trained.insert((task, label, seed), result?);
    }
    let collect = |contender: &Contender| {
        let mut found =
            Found { contender: *contender, runs: Vec::new(), folders: Vec::new(), largest: Vec::new() };
        for seed in 0..plan.seeds {
            let run = trained.remove(&(contender.task, contender.label, seed));
            let run = run.ok_or_else(|| ConfigError::new(format!("{}: a run is missing", contender.task)))?;
            let place = contender.folder(folder, seed);
            let seen =
                MetricsTable::read(&place.join("metrics.csv"))?.column("return_max").unwrap_or_default();
            found.largest.push(seen.into_iter().fold(run.return_mean, f64::max));
            found.runs.push(run);
            found.folders.push(place);
        }
        Ok(found)
    };
    contenders.iter().map(collect).collect()
}

fn results(found: &[Found], transfer: &Result<Transfer, String>) -> Results {
    let mut results = Results::new("articulated-learning");
    for one in found {
        let case = format!("{}, {}", one.contender.task, one.contender.label);
        results.rows.push(Row {
            case: case.clone(),
            metric: "largest return".into(),
            value: one.largest(),
            unit: "1".into(),
            peer: one.paper().map(|paper| paper.0),
            peer_name: one.paper().map(|_| "paper".into()),
        });
        if let Some(n) = one.links() {
            results.row(&case, "share of the largest possible return", one.largest() / most(n), "1");
        }
        one.contender.report(&one.runs, &mut results);
    }
    add_goals(found, &mut results);
    match transfer {
        Ok(transfer) => transfer.add_results(&mut results),
        Err(why) => results.notes.push(format!("Policies were not played in MuJoCo: {why}.")),
    }
    results.notes.push(NOTE.into());
    results
}

/// The largest possible return of `n` links.
fn most(n: usize) -> f64 {
    0.5 * (n * n) as f64
}

/// Policy enhancement reaches the paper's returns within two of its deviations, and is no worse than MBPO.
fn add_goals(found: &[Found], results: &mut Results) {
    for pair in found.chunks(2).filter(|pair| pair.len() == 2 && pair[0].links().is_some()) {
        let [policy, mbpo] = [&pair[0], &pair[1]];
        let (task, (mean, deviation)) = (policy.contender.task, policy.paper().unwrap_or_default());
        let name = format!("{task}: {POLICY}, largest return within two deviations of the paper's");
        results.goals.push(Goal::at_least(name, policy.largest(), mean - 2.0 * deviation));
        let name = format!("{task}: {POLICY} over {MBPO}, largest returns");
        results.goals.push(Goal::at_least(name, policy.largest() / mbpo.largest(), 0.98));
    }
    let ant = |label: &str| {
        let one = found.iter().find(|one| one.links().is_none() && one.contender.label == label)?;
        Some(one.runs.iter().map(|run| run.return_mean).sum::<f64>() / one.runs.len() as f64)
    };
    if let (Some(sample), Some(mbpo)) = (ant(SAMPLE), ant(MBPO)) {
        results.goals.push(Goal::at_least(
            format!("ant-mujoco: {SAMPLE} over {MBPO}, at the end"),
            sample,
            mbpo,
        ));
    }
}
