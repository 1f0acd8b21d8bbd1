//! The same seed gives the same bits, whatever the number of threads.

use pullback_control::RunOptions;
use serde_json::{Value, json};

use crate::common::{options, pendulum, planner};

#[test]
fn threads_change_no_bit() {
    let all: [(&str, Value); 6] = [
        ("gradient", json!({"iterations": 5})),
        ("sampling", json!({"samples": 37, "noise": "brown"})),
        ("mppi", json!({"samples": 37, "precision": "f32"})),
        ("cem", json!({"samples": 37})),
        ("ilqr", json!({"iterations": 3})),
        ("hybrid", json!({"sampling": {"samples": 37}, "descent": {"iterations": 3}, "starts": 11})),
    ];
    let task = pendulum();
    for (name, settings) in all {
        let run = |threads, seed| {
            let options = RunOptions { threads, seed, ..options(&task, 8) };
            task.run(&planner(name, settings.clone()), &options, &mut |_| ()).unwrap()
        };
        let one = run(1, 5);
        for threads in [2, 3] {
            let more = run(threads, 5);
            assert_eq!(more.controls, one.controls, "{name} on {threads} threads");
            assert_eq!(more.plan, one.plan, "{name} on {threads} threads");
        }
        if ["sampling", "mppi", "cem"].contains(&name) {
            assert_ne!(run(1, 6).controls, one.controls, "{name} must depend on the seed");
        }
    }
}
