//! Bodies in contact: microseconds per step, forward and with gradients, beside MuJoCo ([`beside_mujoco`](super::beside_mujoco)) and
//! MJX on one model, in the same run. MJX is differentiated in reverse through [`MJX_STEPS`] steps of a batch, per step
//! of one environment.

use pullback_tasks::{Goal, Results};

use super::beside_mujoco::{Case, Motion, SCALARS, Source, measure};
use super::peer;
use crate::output::{CliError, Output};

/// Name, bound of random controls around those of the keyframe, and text.
const MODELS: [(&str, f64, &str); 5] = [
    ("ant", 0.05, pullback_models::ANT),
    ("humanoid", 0.05, pullback_models::HUMANOID),
    ("laikago", 0.01, pullback_models::LAIKAGO),
    ("stack10", 0.0, pullback_models::STACK10),
    ("hand", 0.01, pullback_models::HAND),
];
/// The case that MJX is measured on.
const MJX_CASE: &str = "ant";
/// Steps that MJX is differentiated through.
const MJX_STEPS: usize = 10;
/// Environments in MJX's batches.
const MJX_BATCHES: [usize; 2] = [64, 256];
/// Seconds before anything is measured.
const SETTLE: f64 = 2.0;

fn motion((name, bound, xml): (&'static str, f64, &'static str)) -> Motion {
    Motion { name, source: Source::Text(xml), bound, start: None, settle: SETTLE, gradient_limit: 3.0 }
}

pub fn run(seed: u64, output: &Output) -> Result<Results, CliError> {
    let mut results = Results::new("contact");
    let gradients = measure(&mut results, "bench-contact", &MODELS.map(motion), seed, output)?;
    let ours = MODELS.iter().zip(gradients).find(|((name, ..), _)| *name == MJX_CASE);
    mjx(&mut results, seed, output, ours.map_or([f64::NAN; 2], |(_, gradient)| gradient))?;
    Ok(results)
}

/// MJX on one case; `ours` is the microseconds of a step and its pullback on lanes.
fn mjx(results: &mut Results, seed: u64, output: &Output, ours: [f64; 2]) -> Result<(), CliError> {
    let model = MODELS.into_iter().find(|(name, ..)| *name == MJX_CASE);
    let case = Case::new(&motion(model.unwrap_or(MODELS[0])), seed)?;
    let arguments: Vec<String> = [MJX_STEPS].into_iter().chain(MJX_BATCHES).map(|n| n.to_string()).collect();
    let input = (&*format!("{MJX_CASE}-mjx.json"), &*case.exported().to_string());
    let found = match peer::run(output, ("bench-contact", "mjx"), input, &arguments) {
        Ok(found) => found,
        Err(why) => {
            results.notes.push(format!("MJX was not measured: {why}"));
            return Ok(());
        }
    };
    let version = found["version"].as_str().unwrap_or("MJX");
    let mut least = f64::INFINITY;
    for batch in found["batches"].as_array().into_iter().flatten() {
        let number = |key: &str| batch[key].as_f64().unwrap_or(f64::NAN);
        let who = format!("{MJX_CASE}, {version}, {} environments", number("environments"));
        results.row(&who, "forward step", number("forward"), "us");
        results.row(&who, "forward step, as differentiated", number("unrolled"), "us");
        results.row(&who, "forward and backward step", number("gradient"), "us");
        for what in ["forward", "unrolled", "gradient"] {
            let metric = format!("compilation, {what}");
            results.row(&who, &metric, number(&format!("compile_{what}")), "s");
        }
        least = least.min(number("gradient"));
    }
    for (scalar, us) in SCALARS[1..].iter().zip(ours) {
        let goal = format!("{MJX_CASE}: {scalar} step and pullback per core over MJX's forward and backward");
        results.goals.push(Goal::at_least(goal, least / us, 50.0));
    }
    results.notes.extend(found["note"].as_str().map(str::to_owned));
    Ok(())
}
