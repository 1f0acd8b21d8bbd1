//! Methods of search on known functions beside the packages `cmaes` and BoTorch: the same functions, boxes,
//! starts, budgets and number of seeds.
//!
//! Ends of two methods on a case are compared by the chance that one of ours is lower than one of theirs,
//! drawn at random from both, ties counting half: 0.5 where they are on par. Losses below 10⁻¹⁰ are ties.

use pullback_core::ConfigError;
use pullback_optim::methods::build;
use pullback_optim::test_functions::Shape;
use pullback_optim::{Objective, Run, RunLog, TestFunction, optimize};
use pullback_tasks::{Goal, Results, Row};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::peer;
use crate::output::{CliError, Output};
use crate::progress;

/// First step size of both CMA-ES, in the box scaled to [−1, 1].
const SIGMA: f64 = 0.6;
/// Losses below this are equal.
const FLOOR: f64 = 1e-10;

/// Seeds of ours at least, where a peer takes too long for as many.
const OUR_SEEDS: u64 = 5;

/// A function with a budget of episodes, searched once per seed.
struct Case {
    function: TestFunction,
    budget: usize,
    seeds: u64,
}

impl Case {
    fn new(shape: Shape, dim: usize, budget: usize, seeds: u64) -> Self {
        Case { function: TestFunction::new(shape, dim), budget, seeds }
    }
    fn dim(&self) -> usize {
        self.function.shift().len()
    }
    fn name(&self) -> String {
        format!("{}, {} variables", self.function.shape().name(), self.dim())
    }
    /// As the scripts of the peers read it.
    fn export(&self) -> Value {
        json!({
            "name": self.name(),
            "shape": self.function.shape().name(),
            "shift": self.function.shift(),
            "bounds": self.function.shape().bounds(),
            "budget": self.budget,
            "seeds": self.seeds,
            "initial": 2 * self.dim() + 2,
            "start": vec![0.0; self.dim()],
            "sigma": SIGMA,
        })
    }

    /// As the table names it: a function may be searched with several budgets.
    fn label(&self) -> String {
        format!("{}, {} episodes", self.name(), self.budget)
    }

    /// The lowest loss of each seed.
    fn search(&self, name: &str, options: &Value) -> Result<Vec<f64>, ConfigError> {
        let method = build(name, options)?;
        let one = |seed: u64| {
            let mut run = Run::new(&self.function, self.budget, RunLog::none())?;
            let searched = optimize(method.as_ref(), &mut run, seed);
            searched.map_err(|e| ConfigError::new(e.to_string()))?;
            Ok(run.best().map_or(f64::INFINITY, |best| best.loss))
        };
        (0..self.seeds.max(OUR_SEEDS)).into_par_iter().map(one).collect()
    }
}

/// A method of ours in the comparison.
struct Entrant<'a> {
    label: &'a str,
    method: &'a str,
    options: Value,
}

impl<'a> Entrant<'a> {
    fn plain(method: &'a str) -> Self {
        Entrant { label: method, method, options: Value::Null }
    }
}

/// What a peer found: its version, and the ends of each case.
struct Peer {
    version: String,
    ends: Vec<Vec<f64>>,
}

impl Peer {
    /// What the peer `name` finds in the cases, which are handed over in a file of their own.
    fn measured(output: &Output, (name, file): (&str, &str), cases: &[Case]) -> Result<Self, String> {
        let text = Value::from(cases.iter().map(Case::export).collect::<Vec<_>>()).to_string();
        let file = format!("{file}.json");
        let said = peer::run(output, ("bench-search", "search"), (&file, &text), &[name.to_owned()])?;
        let ends = |case: &Case| {
            let found = &said["cases"][case.name()];
            // The functions must be the same ones.
            let own = case.function.value(&case.function.start()).unwrap_or(f64::NAN);
            let theirs = found["at_center"].as_f64().unwrap_or(f64::NAN);
            if (own - theirs).abs() > 1e-9 * own.abs() || theirs.is_nan() {
                return Err(format!("{} is {own} at the center here and {theirs} there", case.name()));
            }
            let list = found["ends"].as_array().map(|l| l.iter().filter_map(Value::as_f64).collect());
            list.filter(|l: &Vec<f64>| !l.is_empty()).ok_or_else(|| format!("no ends of {}", case.name()))
        };
        let ends = cases.iter().map(ends).collect::<Result<_, _>>()?;
        Ok(Peer { version: said["version"].as_str().unwrap_or(name).to_owned(), ends })
    }
}

pub fn run(output: &Output) -> Result<Results, CliError> {
    let mut results = Results::new("search");
    let every = |sizes: &[(usize, usize)], seeds: u64| -> Vec<Case> {
        let shapes = |(dim, budget): &(usize, usize)| Shape::ALL.map(|s| Case::new(s, *dim, *budget, seeds));
        sizes.iter().flat_map(shapes).collect()
    };

    let many = every(&[(2, 1000), (5, 1000), (10, 2000), (20, 3000)], 11);
    let cmaes = Peer::measured(output, ("cmaes", "many"), &many);
    let ours = Entrant { options: json!({"sigma": SIGMA}), ..Entrant::plain("cma-es") };
    let chances = compare(&mut results, &many, &ours, ("cmaes", &cmaes))?;
    goal(&mut results, "cma-es: mean chance to end lower than cmaes", &chances, 0.45);

    let leaps = every(&[(2, 500), (5, 500), (10, 500), (20, 500)], 5);
    let cmaes = Peer::measured(output, ("cmaes", "leaps"), &leaps);
    compare_leaps(&mut results, &leaps, ("cmaes", &cmaes))?;

    let few = every(&[(2, 60), (10, 60)], 4);
    let botorch = Peer::measured(output, ("botorch", "few"), &few);
    let chances = compare(&mut results, &few, &Entrant::plain("bo"), ("BoTorch", &botorch))?;
    goal(&mut results, "bo: mean chance to end lower than BoTorch", &chances, 0.45);
    let slopes = json!({"model": {"gradients": 20}});
    let ours = Entrant { label: "bo with gradients", method: "bo", options: slopes };
    let chances = compare(&mut results, &few, &ours, ("BoTorch", &botorch))?;
    goal(&mut results, "bo with gradients: mean chance to end lower than BoTorch", &chances, 0.6);
    compare_leaps(&mut results, &few, ("BoTorch", &botorch))?;

    // More than one semi-local search of BO-Leap, and as much as BoTorch does in half an hour.
    let long = every(&[(10, 200)], 2);
    let botorch = Peer::measured(output, ("botorch", "long"), &long);
    compare_leaps(&mut results, &long, ("BoTorch", &botorch))?;

    results.notes.push(format!(
        "medians of the lowest loss. cma-es: 11 seeds; both CMA-ES begin at the center of the box with a step size of {SIGMA} (half the \
         box is 1) and restart with doubled populations. BO-Leap: 5 seeds of both beside cmaes; 5 beside BoTorch's 4 (60 episodes, less than \
         one of its semi-local searches) and 2 (200), as our BO there, plain and with a model conditioned on the gradients at its 20 lowest \
         points. BO-Leap and that BO use gradients, the peers do not"
    ));
    results.notes.push(
        "chance: that a random end of ours is lower than a random one of the peer's, ties (below 1e-10) counting half; 0.5 is on par. \
         Gradients help where plain descents from random points are likely to end lower than random points of the same number"
            .into(),
    );
    Ok(results)
}

/// BO-Leap beside a peer; it must be ahead where gradients help.
fn compare_leaps(
    results: &mut Results,
    cases: &[Case],
    (peer_name, peer): (&str, &Result<Peer, String>),
) -> Result<(), CliError> {
    let chances = compare(results, cases, &Entrant::plain("bo-leap"), (peer_name, peer))?;
    if chances.is_empty() {
        return Ok(());
    }
    let mut where_they_help = Vec::new();
    for (case, chance_here) in cases.iter().zip(&chances) {
        let ends = |name: &str| case.search(name, &Value::Null);
        let helped = chance(&ends("rand-descents")?, &ends("random")?);
        results.row(&case.label(), "chance of descents to end lower than random points", helped, "1");
        if helped > 0.5 {
            where_they_help.push(*chance_here);
        }
    }
    let name = format!(
        "bo-leap, {} episodes: mean chance to end lower than {peer_name} on {} functions where gradients help",
        cases[0].budget,
        where_they_help.len()
    );
    goal(results, &name, &where_they_help, 0.6);
    results.row(
        &format!("all functions, {} episodes, bo-leap", cases[0].budget),
        &format!("mean chance to end lower than {peer_name}"),
        mean(&chances),
        "1",
    );
    Ok(())
}

/// The mean of the chances must be this at least; no chances, no goal.
fn goal(results: &mut Results, name: &str, chances: &[f64], at_least: f64) {
    if !chances.is_empty() {
        results.goals.push(Goal::at_least(name.to_owned(), mean(chances), at_least));
    }
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// A method of ours on all cases; its chances beside a peer, none where that was not measured.
fn compare(
    results: &mut Results,
    cases: &[Case],
    ours: &Entrant<'_>,
    (peer_name, peer): (&str, &Result<Peer, String>),
) -> Result<Vec<f64>, CliError> {
    let bar = progress::bar(cases.len(), ours.label);
    let mut chances = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let ends = case.search(ours.method, &ours.options)?;
        bar.inc(1);
        let theirs = peer.as_ref().ok().map(|peer| &peer.ends[i]);
        let label = format!("{}, {}", case.label(), ours.label);
        results.rows.push(Row {
            case: label.clone(),
            metric: "median of the lowest loss".into(),
            value: median(&ends),
            unit: "1".into(),
            peer: theirs.map(|ends| median(ends)),
            peer_name: peer.as_ref().ok().map(|peer| peer.version.clone()),
        });
        if let Some(theirs) = theirs {
            let chance = chance(&ends, theirs);
            results.row(&label, &format!("chance to end lower than {peer_name}"), chance, "1");
            chances.push(chance);
        }
    }
    bar.finish_and_clear();
    if let Err(why) = peer {
        let note = format!("{peer_name} was not measured: {why}");
        if !results.notes.contains(&note) {
            results.notes.push(note);
        }
    }
    Ok(chances)
}

fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// P(ours < theirs) + P(ours = theirs)/2.
fn chance(ours: &[f64], theirs: &[f64]) -> f64 {
    let score = |a: f64, b: f64| match a.max(FLOOR).total_cmp(&b.max(FLOOR)) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    };
    let sum: f64 = ours.iter().map(|a| theirs.iter().map(|b| score(*a, *b)).sum::<f64>()).sum();
    sum / (ours.len() * theirs.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_count_ties_half() {
        assert_eq!(chance(&[1.0, 2.0], &[1.0, 2.0]), 0.5);
        assert_eq!(chance(&[1e-12, 1e-11], &[0.0]), 0.5);
        assert_eq!(chance(&[1.0, 5.0], &[2.0, 3.0]), 0.5);
        assert_eq!(chance(&[1.0, 1.5], &[2.0, 3.0]), 1.0);
    }
}
