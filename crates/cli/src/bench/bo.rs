//! A trial of Bayesian optimization among 500 and 1,000 points of ten variables, beside BoTorch on the same
//! points with the same model in the same run: likelihood with gradient, fit of hyperparameters, proposal,
//! and trials with fits every time and on the schedule.

use std::time::Instant;

use pullback_core::random::Random;
use pullback_optim::gp::hyper::{FitConfig, Likelihood, prior_mode};
use pullback_optim::gp::kernel::Points;
use pullback_optim::gp::outcome::Outcomes;
use pullback_optim::gp::{Acquisition, Kernel, LossModel, ModelConfig};
use pullback_tasks::{Goal, Results, Row};
use serde_json::{Value, json};

use super::peer;
use crate::output::{CliError, Output};
use crate::progress;

/// Numbers of points.
const SIZES: [usize; 2] = [500, 1000];
/// Number of variables.
const DIM: usize = 10;
/// Rounds of each measurement, of which the best counts.
const ROUNDS: usize = 3;
/// Seconds of work in a round, over which the mean is taken: the system counts a thread's time in ticks of
/// milliseconds.
const LONG_ENOUGH: f64 = 0.2;

/// Ackley's function of ten variables in [−1, 1] with its minimum off the center, and noise of 0.05.
fn loss(z: &[f64], random: &mut Random) -> f64 {
    let x = z.iter().map(|z| 6.0 * (0.5 * (z + 1.0) - 0.3));
    let square = x.clone().map(|x| x * x).sum::<f64>() / DIM as f64;
    let wave = x.map(|x| (std::f64::consts::TAU * x).cos()).sum::<f64>() / DIM as f64;
    20.0 + std::f64::consts::E - 20.0 * (-0.2 * square.sqrt()).exp() - wave.exp() + 0.05 * random.normal()
}

/// A set of points with losses that are standardized already.
struct Case {
    name: String,
    points: Vec<Vec<f64>>,
    losses: Vec<f64>,
    /// Mean and deviation of the losses as they were.
    shift: f64,
    scale: f64,
}

impl Case {
    fn new(n: usize) -> Self {
        let mut random = Random::new(0);
        let anywhere = |random: &mut Random| (0..DIM).map(|_| random.uniform(-1.0, 1.0)).collect();
        let points: Vec<Vec<f64>> = (0..n).map(|_| anywhere(&mut random)).collect();
        let losses: Vec<f64> = points.iter().map(|z| loss(z, &mut random)).collect();
        let Outcomes { y, shift, scale } = Outcomes::new(&losses);
        Case { name: format!("n = {n}, d = {DIM}"), points, losses: y, shift, scale }
    }

    /// In the unit cube and to be maximized, as BoTorch has it.
    fn export(&self) -> Value {
        let unit = |z: &Vec<f64>| z.iter().map(|z| 0.5 * (z + 1.0)).collect::<Vec<f64>>();
        json!({
            "name": self.name,
            "points": self.points.iter().map(unit).collect::<Vec<_>>(),
            "values": self.losses.iter().map(|loss| -loss).collect::<Vec<_>>(),
        })
    }

    /// A model of all points but the last `without`.
    fn model(&self, config: ModelConfig, without: usize) -> LossModel {
        let mut model = LossModel::new(config, DIM);
        let n = self.points.len() - without;
        for (z, loss) in self.points.iter().zip(&self.losses).take(n) {
            model.add(z, *loss);
        }
        model
    }
}

/// Best seconds of each part.
#[derive(Clone, Copy, Debug)]
struct Seconds {
    likelihood: f64,
    /// Fit from the priors' modes.
    cold: f64,
    /// Fit from the optimum at one point less.
    warm: f64,
    propose: f64,
    /// A point taken in and a proposal, without a fit.
    plain: f64,
    /// The mean over a tenth of the points, one fit among them.
    scheduled: f64,
    /// log p(y) + log priors over n, at the end of the cold fit.
    objective: f64,
    /// Log expected improvement where the proposal is.
    improvement: f64,
    evaluations: (usize, usize),
}

pub fn run(output: &Output) -> Result<Results, CliError> {
    let mut results = Results::new("bo");
    let cases: Vec<Case> = SIZES.iter().map(|n| Case::new(*n)).collect();
    let input = Value::from(cases.iter().map(Case::export).collect::<Vec<_>>()).to_string();
    // Before and after the peer, so that a slow hour of the machine hits both.
    let bar = progress::bar(2 * cases.len(), "Bayesian optimization");
    let round = || -> Vec<Seconds> {
        let measured = |case: &Case| {
            let seconds = measure(case);
            bar.inc(1);
            seconds
        };
        cases.iter().map(measured).collect()
    };
    let before = round();
    let peer = peer::run(output, ("bench-bo", "botorch"), ("points.json", &input), &[]);
    let after = round();
    bar.finish_and_clear();
    for ((case, a), b) in cases.iter().zip(before).zip(after) {
        report(&mut results, case, a.lower(b), peer.as_ref().ok());
    }
    match peer {
        Ok(said) => results.notes.push(format!(
            "{}, CPU, one thread; both in seconds of their processor, without the turns of other programs",
            said["version"].as_str().unwrap_or("BoTorch")
        )),
        Err(why) => results.notes.push(format!("BoTorch was not measured: {why}")),
    }
    results.notes.push(format!(
        "Ackley's function with noise; Matern 5/2 with a length scale per variable, f64, one thread, mean of a round, best of {ROUNDS} rounds twice; log \
         expected improvement from 512 candidates and 10 starts. A cold fit starts at the priors' modes, a warm one at the optimum \
         with one point less; the schedule fits when the points have grown by a tenth"
    ));
    Ok(results)
}

/// Seconds on the processor of this thread, or of the clock where the system does not tell.
struct Watch(Instant, Option<f64>);

impl Watch {
    fn start() -> Self {
        Watch(Instant::now(), on_processor())
    }
    fn seconds(&self) -> f64 {
        match (self.1, on_processor()) {
            (Some(before), Some(now)) => now - before,
            _ => self.0.elapsed().as_secs_f64(),
        }
    }
}

/// Seconds this thread has run so far.
fn on_processor() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| 1e-9 * ns)
}

/// Seconds of `work`, without those of `prepare`.
fn best<R>(mut prepare: impl FnMut() -> R, mut work: impl FnMut(R)) -> f64 {
    let round = |_| {
        let (mut calls, mut total) = (0.0, 0.0);
        while total < LONG_ENOUGH {
            let ready = prepare();
            let watch = Watch::start();
            work(ready);
            total += watch.seconds();
            calls += 1.0;
        }
        total / calls
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn measure(case: &Case) -> Seconds {
    let config = ModelConfig { acquisition: Acquisition::LogImprovement, ..ModelConfig::default() };
    let n = case.points.len();
    let mut points = Points::new(DIM);
    case.points.iter().for_each(|z| points.push(z));
    let mut likelihood = Likelihood::new(Kernel::Matern52, &points, &case.losses, &FitConfig::default());
    let theta = likelihood.pack(&prior_mode(DIM, &config.fit));
    let mut gradient = vec![0.0; theta.len()];
    let one = best(|| (), |()| _ = likelihood.value_grad(&theta, &mut gradient));

    let (mut objective, mut evaluations) = (f64::NAN, (0, 0));
    let cold = best(
        || case.model(config, 0),
        |mut model| {
            let fit = model.refit(&mut Random::new(1));
            (objective, evaluations.0) = (-fit.objective, fit.evaluations);
        },
    );
    let mut less = case.model(config, 1);
    less.refit(&mut Random::new(1));
    let warm = best(
        || {
            let mut model = less.clone();
            model.add(&case.points[n - 1], case.losses[n - 1]);
            model
        },
        |mut model| evaluations.1 = model.refit(&mut Random::new(1)).evaluations,
    );
    let mut full = case.model(config, 0);
    full.refit(&mut Random::new(1));
    let propose = best(|| full.clone(), |mut model| _ = model.propose(&mut Random::new(2)));
    let proposed = full.propose(&mut Random::new(2));
    let (mean, sd) = full.predict(&proposed);
    let lowest = case.losses.iter().fold(f64::INFINITY, |m, loss| m.min(*loss));
    let improvement = -Acquisition::LogImprovement.value(mean, sd, lowest).0;
    let plain = best(
        || {
            let mut model = less.clone();
            model.add(&case.points[n - 1], case.losses[n - 1]);
            model
        },
        |mut model| {
            model.fit(&mut Random::new(2));
            model.propose(&mut Random::new(2));
        },
    );
    // Trials until the points have grown by a tenth, with the fit that is due then.
    let mut random = Random::new(3);
    let (trials, watch) = (n / 10, Watch::start());
    for _ in 0..trials {
        let z = full.propose(&mut random);
        full.add(&z, (loss(&z, &mut random) - case.shift) / case.scale);
        full.fit(&mut random);
    }
    let scheduled = watch.seconds() / trials as f64;
    Seconds { likelihood: one, cold, warm, propose, plain, scheduled, objective, improvement, evaluations }
}

impl Seconds {
    fn lower(self, other: Seconds) -> Seconds {
        Seconds {
            likelihood: self.likelihood.min(other.likelihood),
            cold: self.cold.min(other.cold),
            warm: self.warm.min(other.warm),
            propose: self.propose.min(other.propose),
            plain: self.plain.min(other.plain),
            scheduled: self.scheduled.min(other.scheduled),
            ..self
        }
    }
}

fn report(results: &mut Results, case: &Case, own: Seconds, peer: Option<&Value>) {
    let said = |key: &str| peer.and_then(|said| said["cases"][&case.name][key].as_f64());
    let both = |a: &str, b: &str| Some(said(a)? + said(b)?);
    let mut row = |metric: &str, seconds: f64, theirs: Option<f64>| {
        results.rows.push(Row {
            case: case.name.clone(),
            metric: metric.into(),
            value: 1e3 * seconds,
            unit: "ms".into(),
            peer: theirs.map(|s| 1e3 * s),
            peer_name: theirs.map(|_| "BoTorch".into()),
        });
    };
    row("likelihood with gradient", own.likelihood, said("likelihood"));
    row("cold fit", own.cold, said("fit"));
    row("warm fit", own.warm, said("warm"));
    row("proposal", own.propose, said("propose"));
    row("trial with a cold fit", own.cold + own.propose, both("fit", "propose"));
    row("trial with a warm fit", own.warm + own.propose, both("warm", "propose"));
    row("trial without a fit", own.plain, None);
    row("trial on the schedule", own.scheduled, both("fit", "propose"));
    results.row(&case.name, "evaluations of a cold fit", own.evaluations.0 as f64, "1");
    results.row(&case.name, "evaluations of a warm fit", own.evaluations.1 as f64, "1");

    let mut goal = |what: &str, theirs: Option<f64>, seconds: f64| {
        if let Some(theirs) = theirs {
            results.goals.push(Goal::at_least(format!("{}: {what}", case.name), theirs / seconds, 10.0));
        }
    };
    goal("trial with a cold fit, over BoTorch's", both("fit", "propose"), own.cold + own.propose);
    goal("trial with a warm fit, over BoTorch's", both("warm", "propose"), own.warm + own.propose);
    goal("trial on the schedule, over BoTorch's with a fit", both("fit", "propose"), own.scheduled);
    if let Some(theirs) = said("objective") {
        // A density of length scales in a box twice as wide is half as high.
        let ours = own.objective + DIM as f64 * 2.0_f64.ln() / case.points.len() as f64;
        results.row(&case.name, "objective of the fit, ours", ours, "1");
        results.row(&case.name, "objective of the fit, BoTorch's", theirs, "1");
        let name = format!("{}: objective of the fit, BoTorch's less ours", case.name);
        results.goals.push(Goal::at_most(name, theirs - ours, 1e-5));
    }
    if let Some(theirs) = said("acquisition") {
        results.row(&case.name, "log expected improvement of the proposal, ours", own.improvement, "1");
        results.row(&case.name, "log expected improvement of the proposal, BoTorch's", theirs, "1");
        let name = format!("{}: log expected improvement, BoTorch's less ours", case.name);
        results.goals.push(Goal::at_most(name, theirs - own.improvement, 1e-2));
    }
}
