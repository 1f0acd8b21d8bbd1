//! Taichi and Warp on the same particles: run `bench/taichi` and `bench/warp_mpm`, and say how far their
//! gradients are from ours.

use pullback_core::{Rollout, Schedule};
use pullback_tasks::{Goal, Results};
use serde_json::{Value, json};

use super::{Case, DT, GRAVITY, NODES, POISSON, SUBSTEPS, YIELD, YOUNG};
use crate::bench::peer;
use crate::output::{CliError, Output};

/// What a peer said.
pub(super) struct Peer {
    name: String,
    /// Threads that it had.
    pub threads: usize,
    said: Value,
}

impl Peer {
    /// Warp, and Taichi with one thread and two.
    pub(super) fn measure_all(cases: &[Case], output: &Output) -> Vec<Result<Self, String>> {
        let text = Value::from(cases.iter().map(export).collect::<Vec<_>>()).to_string();
        let run = |script: &str, arguments: &[String], threads: usize, more: &str| {
            let said = peer::run(output, ("bench-mpm", script), ("cases.json", &text), arguments);
            let said = said.map_err(|why| format!("{script}{more} was not measured: {why}"))?;
            let version = said["version"].as_str().unwrap_or(script);
            Ok(Peer { name: format!("{version} CPU{more}"), threads, said })
        };
        vec![
            run("warp_mpm", &[], 1, ""),
            run("taichi", &["1".into()], 1, ", 1 thread"),
            run("taichi", &["2".into()], 2, ", 2 threads"),
        ]
    }

    /// Its times as ratios to ours (milliseconds forward and backward, f32, as many threads), and whether both
    /// computed the same.
    pub(super) fn beside(
        &self,
        results: &mut Results,
        case: &Case,
        ours: (f64, f64),
    ) -> Result<(), CliError> {
        let said = &self.said["cases"][&case.name];
        let row = format!("{}, {}", case.name, self.name);
        for (what, ours) in [("forward", ours.0), ("backward", ours.1)] {
            let theirs = said[what].as_f64().unwrap_or(f64::NAN) * 1e3;
            results.row(&row, what, theirs, "ms per substep");
            results.row(&row, &format!("ours over theirs, {what}, f32"), theirs / ours, "1");
            results.goals.push(Goal::at_least(format!("{row}: {what}, times faster"), theirs / ours, 10.0));
        }
        results.row(
            &row,
            "first gradient, compilation included",
            said["first"].as_f64().unwrap_or(f64::NAN),
            "s",
        );
        let off = self.difference(case)?;
        results.row(&row, "difference of the gradient in velocities from ours at f64", off, "1");
        // Peers clamp differences of singular values, and sum single precision in the order that threads
        // arrive.
        results.goals.push(Goal::at_most(format!("{row}: difference of gradients"), off, 2e-2));
        Ok(())
    }

    /// |ours − theirs| / |ours| over the gradient in initial velocities.
    fn difference(&self, case: &Case) -> Result<f64, CliError> {
        let rollout = Rollout::new(&case.mpm, SUBSTEPS, Schedule::StoreAll)?;
        let (at, mut ws) = (case.inputs::<f64>(SUBSTEPS), rollout.workspace::<f64>());
        rollout.gradient(&mut ws, &at, &case.loss())?;
        let ours = case.mpm.split(&ws.gradient.state).v.as_flattened();
        let theirs = self.said["cases"][&case.name]["gradient"].as_array();
        let theirs: Vec<f64> = theirs.into_iter().flatten().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect();
        if theirs.len() != ours.len() {
            return Ok(f64::NAN);
        }
        let off: f64 = ours.iter().zip(&theirs).map(|(a, b)| (a - b).powi(2)).sum();
        Ok((off / ours.iter().map(|x| x * x).sum::<f64>()).sqrt())
    }
}

/// A case in the format that the scripts read; matrices row by row.
fn export(case: &Case) -> Value {
    let at = case.mpm.split(&case.start);
    let rows = |m: &[f64; 9]| [[m[0], m[3], m[6]], [m[1], m[4], m[7]], [m[2], m[5], m[8]]];
    let grid = case.mpm.grid();
    json!({
        "name": case.name,
        "positions": at.x,
        "velocities": at.v,
        "deformations": at.f.iter().map(rows).collect::<Vec<_>>(),
        "nodes": NODES,
        "margin": grid.margin,
        "substeps": SUBSTEPS,
        "dt": DT,
        "volume": (0.5 * grid.spacing).powi(3),
        "density": 1.0,
        "young": YOUNG,
        "poisson": POISSON,
        "yield": YIELD,
        "gravity": GRAVITY,
        "target": [case.target.x, case.target.y, case.target.z],
    })
}
