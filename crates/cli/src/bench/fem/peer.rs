//! Warp's CPU device on the same bodies: runs `bench/warp/run.py`, and says how far its results are from
//! ours.

use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use pullback_core::rollout::{Gradient, Inputs};
use pullback_core::{Described, Rollout, Schedule};
use serde_json::{Value, json};

use super::{CLOTH, Case, STEPS, loss};
use crate::bench::peer;
use crate::output::{CliError, Output};

/// Warp, run by its script, with what it last said and the best it did.
pub(super) struct Peer {
    script: PathBuf,
    bodies: PathBuf,
    build: PathBuf,
    pub(super) version: String,
    said: Vec<Value>,
}

impl Peer {
    /// Writes the bodies for the script to read; needs python3 and the project's `bench/` folder.
    pub(super) fn new(cases: &[Case], output: &Output) -> Result<Self, String> {
        let script = peer::script("warp")?;
        let folder = output.folder("bench-fem").map_err(|e| e.to_string())?;
        let bodies = folder.join("bodies.json");
        let text = Value::from(cases.iter().map(export).collect::<Vec<_>>()).to_string();
        output.write(&bodies, text.as_bytes()).map_err(|e| e.to_string())?;
        Ok(Peer { script, bodies, build: folder.join("warp"), version: String::new(), said: Vec::new() })
    }

    /// One more measurement.
    pub(super) fn measured(mut self) -> Result<Self, String> {
        let mut command = Command::new("python3");
        command.arg(&self.script).arg(&self.bodies).arg(&self.build);
        let said = peer::call(command)?;
        self.version = said["version"].as_str().unwrap_or("Warp").to_owned();
        self.said.push(said);
        Ok(self)
    }

    /// Best seconds per step.
    pub(super) fn best(&self, body: &str, what: &str) -> f64 {
        let seconds = self.said.iter().filter_map(|said| said["bodies"][body][what].as_f64());
        seconds.fold(f64::NAN, f64::min)
    }

    /// How far its results are from ours at f32, relative to the largest entry.
    pub(super) fn differences(&self, case: &Case) -> Result<Vec<(&'static str, f64)>, CliError> {
        let (end, gradient) = ours(case)?;
        let n = 3 * case.body().particles();
        let start = &case.serial.layout().state.defaults()[..n];
        let moved = |x: &[f64]| x.iter().zip(start).map(|(x, start)| x - start).collect::<Vec<f64>>();
        let said = |key: &str| -> Vec<f64> {
            let found = self.said.last().and_then(|said| said["bodies"][&case.name][key].as_array());
            found.map_or(Vec::new(), |list| list.iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect())
        };
        Ok(vec![
            ("positions", off(&moved(&end), &moved(&said("positions")))),
            ("gradient in positions", off(&gradient.state[..n], &said("position_gradient"))),
            ("gradient in velocities", off(&gradient.state[n..], &said("velocity_gradient"))),
            ("gradient in mu", off(&gradient.params[solid_params(case, "mu")], &said("mu_gradient"))),
            (
                "gradient in lambda",
                off(&gradient.params[solid_params(case, "lambda")], &said("lambda_gradient")),
            ),
        ])
    }
}

/// Entries of a parameter of all tetrahedra; none where the body has no tetrahedra.
fn solid_params(case: &Case, name: &str) -> Range<usize> {
    let slice = case.serial.layout().params.slice(&format!("block.solid.{name}"));
    slice.map_or(0..0, |slice| slice.range.clone())
}

/// Final positions and gradient at f32, without damping.
fn ours(case: &Case) -> Result<(Vec<f64>, Gradient<f64>), CliError> {
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let mut at = Inputs::<f32>::defaults(&case.serial, STEPS);
    at.params[solid_params(case, "damping")].fill(0.0);
    let rollout = Rollout::new(&case.serial, STEPS, Schedule::StoreAll)?;
    let mut ws = rollout.workspace::<f32>();
    let mut end = Vec::new();
    rollout.simulate(&mut ws, &at, |moment| {
        if moment.last() {
            end = wide(&moment.state[..3 * case.body().particles()]);
        }
    })?;
    rollout.gradient(&mut ws, &at, &loss(case))?;
    let g = &ws.gradient;
    let gradient = Gradient {
        loss: f64::from(g.loss),
        state: wide(&g.state),
        control: wide(&g.control),
        params: wide(&g.params),
    };
    Ok((end, gradient))
}

/// Largest difference over the largest entry; not a number where the lengths differ.
fn off(ours: &[f64], theirs: &[f64]) -> f64 {
    if ours.len() != theirs.len() {
        return f64::NAN;
    }
    let largest = ours.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    ours.iter().zip(theirs).fold(0.0, |m, (a, b)| larger(m, (a - b).abs())) / largest
}

/// The larger one; not a number if either is none.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// A body in the format that `bench/warp/measure.py` reads; fixed particles have mass 0.
fn export(case: &Case) -> Value {
    let body = case.body();
    let [tets, ..] = &body.solids;
    let params = case.serial.layout().params.defaults();
    let gravity = case.serial.field().robot().index().gravity.read(&params).z;
    let masses: Vec<f64> =
        body.masses.iter().zip(&body.fixed).map(|(m, fixed)| if *fixed { 0.0 } else { *m }).collect();
    let positions: Vec<[f64; 3]> = body.positions.iter().map(|x| [x.x, x.y, x.z]).collect();
    let [mu, lambda, damping, _] =
        tets.values.first().or(body.membranes.values.first()).copied().unwrap_or_default();
    json!({
        "name": case.name, "steps": STEPS, "dt": case.dt, "gravity": gravity,
        "positions": positions, "masses": masses,
        "tets": tets.corners, "triangles": body.membranes.corners, "hinges": body.hinges.corners,
        "mu": mu, "lambda": lambda, "damping": damping, "bending": CLOTH.bending,
    })
}
