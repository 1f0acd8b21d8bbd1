//! Methods of search on known functions beside the packages `cmaes` and BoTorch: the same functions, boxes, starts, budgets and
//! number of seeds.
//!
//! Ends of two methods on a case are compared by the chance that one of ours is lower than one of theirs, drawn at random from both,
//! ties counting half: 0.5 where they are on par. Losses below 10⁻¹⁰ are ties.

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

    /// The lowest loss of each seed.
    fn search(&self, name: &str, options: &Value) -> Result<Vec<f64>, ConfigError> {
        let method = build(name, options)?;
        let one = |seed: u64| {
            let mut run = Run::new(&self.function, self.budget, RunLog::none())?;
            let searched = optimize(method.as_ref(), &mut run, seed);
            searched.map_err(|e| ConfigError::new(e.to_string()))?;
            Ok(run.best().map_or(f64::INFINITY, |best| best.loss))
        };
        (0..self.seeds).into_par_iter().map(one).collect()
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
            let theirs = found["at_centre"].as_f64().unwrap_or(f64::NAN);
            if (own - theirs).abs() > 1e-9 * own.abs() || theirs.is_nan() {
                return Err(format!("{} is {own} at the centre here and {theirs} there", case.name()));
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
    let sizes = [(2, 1000), (5, 1000), (10, 2000), (20, 3000)];
    let many: Vec<Case> = sizes
        .iter()
        .flat_map(|(dim, budget)| Shape::ALL.map(|shape| Case::new(shape, *dim, *budget, 11)))
        .collect();
    let few: Vec<Case> = [2, 5]
        .iter()
        .flat_map(|dim| [Shape::Ackley, Shape::Levy].map(|s| Case::new(s, *dim, 60, 5)))
        .collect();

    let cmaes = Peer::measured(output, ("cmaes", "many"), &many);
    let options = json!({"sigma": SIGMA});
    compare(&mut results, &many, ("cma-es", &options), ("cmaes", &cmaes), 0.45)?;
    let leaps: Vec<Case> =
        [2, 5, 10].iter().flat_map(|dim| Shape::ALL.map(|shape| Case::new(shape, *dim, 500, 5))).collect();
    let cmaes = Peer::measured(output, ("cmaes", "leaps"), &leaps);
    compare(&mut results, &leaps, ("bo-leap", &Value::Null), ("cmaes", &cmaes), 0.6)?;
    let botorch = Peer::measured(output, ("botorch", "few"), &few);
    compare(&mut results, &few, ("bo", &Value::Null), ("BoTorch", &botorch), 0.45)?;
    compare(&mut results, &few, ("bo-leap", &Value::Null), ("BoTorch", &botorch), 0.6)?;
    results.notes.push(format!(
        "medians over 11 seeds of the lowest loss, budgets of 1,000 (2 and 5 variables), 2,000 (10) and 3,000 (20) episodes; both \
         CMA-ES begin at the centre of the box with a step size of {SIGMA} (half the box is 1) and restart with doubled populations; BO-Leap has \
         500 episodes beside cmaes and 60 beside BoTorch, as our BO there, and 5 seeds. BO-Leap uses gradients, the peers do not"
    ));
    results.notes.push(
        "chance: that a random end of ours is lower than a random one of the peer's, ties (below 1e-10) counting half; 0.5 is on par"
            .into(),
    );
    Ok(results)
}

/// A method of ours on all cases, beside a peer where it was measured, which it must beat with this mean chance at least.
fn compare(
    results: &mut Results,
    cases: &[Case],
    (name, options): (&str, &Value),
    (peer_name, peer): (&str, &Result<Peer, String>),
    at_least: f64,
) -> Result<(), CliError> {
    let bar = progress::bar(cases.len(), name);
    let mut chances = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let ours = case.search(name, options)?;
        bar.inc(1);
        let theirs = peer.as_ref().ok().map(|peer| &peer.ends[i]);
        let label = format!("{}, {name}", case.name());
        results.rows.push(Row {
            case: label.clone(),
            metric: "median of the lowest loss".into(),
            value: median(&ours),
            unit: "1".into(),
            peer: theirs.map(|ends| median(ends)),
            peer_name: peer.as_ref().ok().map(|peer| peer.version.clone()),
        });
        if let Some(theirs) = theirs {
            let chance = chance(&ours, theirs);
            results.row(&label, &format!("chance to end lower than {peer_name}"), chance, "1");
            chances.push(chance);
        }
    }
    bar.finish_and_clear();
    match peer {
        Ok(_) => {
            let mean = chances.iter().sum::<f64>() / chances.len() as f64;
            let name = format!("{name}: mean chance to end lower than {peer_name}");
            results.goals.push(Goal::at_least(name, mean, at_least));
        }
        Err(why) => {
            let note = format!("{peer_name} was not measured: {why}");
            if !results.notes.contains(&note) {
                results.notes.push(note);
            }
        }
    }
    Ok(())
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
