//! The ant's policies in MuJoCo as they are (Table 5), by `bench/mujoco_policy`.

use std::path::Path;

use pullback_learn::run::statistics::{Estimate, IntervalMethod};
use pullback_tasks::Results;
use pullback_tasks::results::Row;
use serde_json::Value;

use super::{Found, MBPO};
use crate::bench::peer;
use crate::output::Output;

/// Table 5: reward in MuJoCo and its deviation, without and with training in the paper's simulator.
const PAPER: [(f64, f64); 2] = [(868.0, 77.0), (1735.0, 1066.0)];
/// What is played beside the policies.
const OTHERS: [(&str, &str); 2] = [("random", "random actions"), ("zero", "no actions")];

/// Returns of one policy, or of one algorithm over seeds.
pub struct Played {
    pub label: String,
    /// Mean return and deviation over episodes in MuJoCo.
    pub there: (f64, f64),
    /// Mean return in our simulator.
    pub here: Option<f64>,
    pub paper: Option<(f64, f64)>,
}

/// All that was played.
pub struct Transfer {
    pub version: String,
    pub played: Vec<Played>,
}

/// Plays every policy of the ant.
pub fn run(found: &[Found], episodes: usize, output: &Output) -> Result<Transfer, String> {
    let ants: Vec<&Found> = found.iter().filter(|one| one.links().is_none()).collect();
    let path = |folder: &Path| std::path::absolute(folder.join("policy.onnx")).map_err(|e| e.to_string());
    let mut lines = Vec::new();
    for folder in ants.iter().flat_map(|one| &one.folders) {
        lines.push(path(folder)?.display().to_string());
    }
    let example = lines.first().cloned().unwrap_or_default();
    lines.extend(OTHERS.map(|(name, _)| name.to_owned()));
    let bench = ("reproduce-articulated-learning", "mujoco_policy");
    let said = peer::run(output, bench, ("policies.txt", &lines.join("\n")), &[episodes.to_string()]);
    let said = said.map_err(|why| {
        format!("{why}; by hand: pip install mujoco onnxruntime, python3 reference/play_policy.py {example}")
    })?;
    let rows =
        said["rows"].as_array().filter(|rows| rows.len() == lines.len()).ok_or("it printed other rows")?;
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let there = |row: &Value| (number(row, "mean"), number(row, "deviation"));
    let mut played = Vec::new();
    let mut at = 0;
    for one in ants {
        let rows = &rows[at..at + one.folders.len()];
        at += one.folders.len();
        let means: Vec<f64> = rows.iter().map(|row| there(row).0).collect();
        let returns: Vec<f64> = one.runs.iter().map(|run| run.return_mean).collect();
        let mean = |x: &[f64]| Estimate::of(x, IntervalMethod::Student).mean;
        let deviation = rows.iter().map(|row| there(row).1).sum::<f64>() / rows.len() as f64;
        played.push(Played {
            label: one.contender.label.into(),
            there: (mean(&means), deviation),
            here: Some(mean(&returns)),
            // The paper does not say which of its policies it moved; its text speaks of training with MBPO.
            paper: (one.contender.label == MBPO).then_some(PAPER[1]),
        });
    }
    for ((_, label), row) in OTHERS.iter().zip(&rows[at..]) {
        played.push(Played { label: (*label).into(), there: there(row), here: None, paper: None });
    }
    // Without training a policy's actions are near zero.
    if let Some(zero) = played.last_mut() {
        zero.paper = Some(PAPER[0]);
    }
    Ok(Transfer { version: said["version"].as_str().unwrap_or("").to_owned(), played })
}

impl Transfer {
    /// Returns in MuJoCo, and over those here.
    pub fn add_results(&self, results: &mut Results) {
        for one in &self.played {
            let case = format!("ant-mujoco, {}, in MuJoCo {}", one.label, self.version);
            results.rows.push(Row {
                case: case.clone(),
                metric: "return".into(),
                value: one.there.0,
                unit: "1".into(),
                peer: one.paper.map(|paper| paper.0),
                peer_name: one.paper.map(|_| "paper".into()),
            });
            results.row(&case, "deviation over episodes", one.there.1, "1");
            if let Some(here) = one.here {
                results.row(&case, "return there over return here", one.there.0 / here, "1");
            }
        }
    }
}
