//! Every planner swings a pendulum up and holds it there.

use crate::common::{options, pendulum, planner};
use serde_json::{Value, json};

fn swings_up(name: &str, settings: Value) {
    let task = pendulum();
    let episode = task.run(&planner(name, settings), &options(&task, 160), &mut |_| ()).unwrap();
    let judged = task.success.judge(&episode.states);
    assert!(judged.solved, "{name}: cost {}, {judged:?}", episode.cost());
    assert!(episode.controls.iter().all(|u| u.abs() <= 4.0));
    assert_eq!(episode.costs.len(), 161);
    // Rounds only ever improve what they are handed.
    assert!(episode.rounds.iter().all(|r| r.before.is_none_or(|before| r.after <= before + 1e-9)));
}

#[test]
fn by_gradients() {
    swings_up("gradient", json!({"iterations": 40, "rate": 0.1}));
}
#[test]
fn by_predictive_sampling() {
    swings_up("sampling", json!({"samples": 64}));
}
#[test]
fn by_path_integrals() {
    swings_up("mppi", json!({"samples": 64}));
}
#[test]
fn by_cross_entropy() {
    swings_up("cem", json!({"samples": 48, "elites": 8}));
}
#[test]
fn by_ilqr() {
    swings_up("ilqr", json!({"iterations": 20}));
}
#[test]
fn by_shooting() {
    swings_up("shooting", json!({"method": "lbfgs", "budget": 150}));
}
#[test]
fn by_sampling_and_gradients() {
    swings_up("hybrid", json!({"sampling": {"samples": 32}, "descent": {"iterations": 8}}));
}
