//! `pullback reproduce articulated-adjoint`: what gradients of articulated bodies cost, and what
//! they are good for (Qiao et al., ICML 2021).

mod casadi;
mod figures;
mod page;

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_core::memory::peak_of;
use pullback_tasks::Results;
use pullback_tasks::articulated_adjoint::contest::{self, Contest};
use pullback_tasks::articulated_adjoint::standing::{Cost, STEPS, Standing};
use pullback_tasks::articulated_adjoint::{Replay, golf, racecar, throw};

use self::casadi::PeerCost;
use super::Summary;
use crate::args::ReproduceOptions;
use crate::output::{CliError, Output};
use crate::progress;

/// Seed of CMA-ES.
const SEED: u64 = 0;
/// Frictions of the racecar's landscape.
const LANDSCAPE: usize = 41;

const NOTE: &str = "\
    Times are per step of all robots, on one thread; those of the paper are from a Xeon W-2123. Peak \
    memory: of value and gradient, the gradients by initial state, controls and parameters included, \
    the inputs not. Searches: the descent is Adam (first steps of 0.008 N m in the throw, 0.5 N m in \
    golf) or plain (racecar, rate 0.02), on one thread; separable CMA-ES has the same variables, \
    CMA-ES over intervals torques that are constant over 50 steps, both on all threads. \
    Step rule, \
    decays and rates of the descents were chosen by their outcome on these same tasks; CMA-ES has its \
    defaults but for the first step size. Solved: the first iteration at or below the loss named; for \
    good: the one after which the loss stays there.";

/// How much is run.
struct Plan {
    /// Steps of one robot, and of ten.
    one: &'static [usize],
    ten: &'static [usize],
    /// Steps of ten robots with fewer states kept, and the intervals between these.
    ablation: (usize, &'static [usize]),
    /// Steps that measurements of a time take at least.
    work: usize,
    /// Iterations of descents and generations of CMA-ES: throw, golf, racecar.
    searches: [(usize, usize); 3],
    /// Robots and steps of the peer.
    peer: &'static [(usize, usize)],
}

const FULL: Plan = Plan {
    one: &STEPS,
    ten: &[1000, 2000, 3000, 4000, 5000],
    ablation: (5000, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    work: 10_000,
    searches: [(60, 500), (60, 1500), (10, 100)],
    peer: &[(1, 50), (1, 100), (1, 500), (1, 1000), (1, 5000), (10, 1000)],
};

const QUICK: Plan = Plan {
    one: &[50, 100, 500, 1000, 5000],
    ten: &[1000, 2000],
    ablation: (1000, &[1, 2, 5, 10, 30, 100]),
    work: 1000,
    searches: [(60, 60), (60, 150), (10, 30)],
    peer: &[(1, 50), (1, 500)],
};

/// All that was measured.
struct Measured {
    one: Vec<Cost>,
    ten: Vec<Cost>,
    ablation: Vec<Cost>,
    contests: Vec<Contest>,
    landscape: Vec<(f64, f64)>,
    peer: Result<Vec<PeerCost>, String>,
}

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let plan = if options.quick { QUICK } else { FULL };
    let (folder, _lock) = output.run_folder("reproduce-articulated-adjoint")?;
    let (one, ten) = (Standing::new(1)?, Standing::new(10)?);
    let measured = Measured {
        one: costs(&one, plan.one.iter().map(|steps| (*steps, 1)), plan.work)?,
        ten: costs(&ten, plan.ten.iter().map(|steps| (*steps, 1)), plan.work)?,
        ablation: costs(&ten, plan.ablation.1.iter().map(|k| (plan.ablation.0, *k)), plan.work)?,
        contests: contests(&plan)?,
        landscape: racecar::landscape(&racecar::task()?, LANDSCAPE)?,
        peer: casadi::run(&one, plan.peer, output),
    };
    let results = results(&measured);

    let mut files = replays(&measured.contests, &ten, &folder)?;
    files.splice(0..0, page::write(&measured, &results, &folder)?);

    Summary { results, files }.print(output)
}

/// The costs of gradients over these steps and intervals.
fn costs(
    standing: &Standing,
    cases: impl ExactSizeIterator<Item = (usize, usize)>,
    work: usize,
) -> Result<Vec<Cost>, CliError> {
    let bar = progress::bar(cases.len(), "standing quadrupeds");
    let peak = |work: &mut dyn FnMut()| peak_of(work).1;
    let measure = |(steps, interval)| {
        let cost = standing.measure((steps, interval, work), &peak)?;
        bar.inc(1);
        Ok(cost)
    };
    let all = cases.map(measure).collect();
    bar.finish_and_clear();
    all
}

fn contests(plan: &Plan) -> Result<Vec<Contest>, CliError> {
    let tasks = [throw::task()?, golf::task()?, racecar::task()?];
    let mut contests = Vec::new();
    for (task, (iterations, generations)) in tasks.into_iter().zip(plan.searches) {
        let generations_of_all = if task.coarse.is_some() { 2 * generations } else { generations };
        let bar = progress::bar(iterations + generations_of_all, task.name);
        contests.push(contest::run(task, (iterations, generations, SEED), || bar.inc(1))?);
        bar.finish_and_clear();
    }
    Ok(contests)
}

fn results(measured: &Measured) -> Results {
    let mut results = Results::new("articulated-adjoint");
    for cost in measured.one.iter().chain(&measured.ten).chain(&measured.ablation[1..]) {
        cost.add_results(&mut results);
    }
    measured.contests.iter().for_each(|contest| contest.add_results(&mut results));
    match &measured.peer {
        Ok(peer) => casadi::add_results(peer, &measured.one, &mut results),
        Err(why) => results.notes.push(format!("CasADi was not measured: {why}.")),
    }
    results.notes.push(NOTE.into());
    results
}

/// The best motions of the descents, with their targets, and the quadrupeds.
fn replays(contests: &[Contest], ten: &Standing, folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let mut pages = vec![("standing", ten.replay()?)];
    for contest in contests {
        pages.push((contest.task.name, contest.replay()?));
    }
    let save = |(name, page): (&str, Replay)| {
        let file = folder.join(format!("{name}.html"));
        page.save(&file).map_err(|e| ConfigError::new(format!("{}: {e}", file.display())))?;
        Ok(file)
    };
    pages.into_iter().map(save).collect()
}
