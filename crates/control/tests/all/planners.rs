//! Settings that no planner can work with.

use pullback_control::build_planner;
use pullback_control::task::Planning;
use pullback_control::{PlannerConfig, RunOptions};
use serde_json::{Value, json};

use crate::common::{options, pendulum, planner};

#[test]
fn settings_out_of_their_ranges_are_refused_by_name() {
    let refused = [
        ("mppi", json!({"temperature": 0.0}), "`temperature` is 0; it must be above 0"),
        ("mppi", json!({"samples": 1e12 as u64}), "`samples` is 1000000000000"),
        ("mppi", json!([]), "settings are an object such as {\"steps\": 20}, not []"),
        ("cem", json!({"elites": 129}), "`elites` is 129; it must be from 1 to 128"),
        ("cem", json!({"least_sigma": 11.0}), "`least_sigma` is 11"),
        ("sampling", json!({"rounds": 0}), "`rounds` is 0"),
        ("sampling", json!({"sigma": "wide"}), "`sigma`: invalid type"),
        ("gradient", json!({"beta2": 1.0}), "`beta2` is 1; it must be at least 0 and below 1"),
        ("gradient", json!({"clip": -1.0}), "`clip` is -1"),
        ("ilqr", json!({"tolerance": 2.0}), "`tolerance` is 2"),
        (
            "ilqr",
            json!({"least_regularization": 1.0, "most_regularization": 0.1}),
            "`least_regularization` is 1",
        ),
        ("hybrid", json!({"starts": 300}), "`starts` is 300; it must be from 1 to 256"),
        ("hybrid", json!({"sampling": {"rounds": 2}}), "`rounds` is 2; there is one round"),
        ("hybrid", json!({"descent": [1]}), "`descent` is a list"),
        ("shooting", json!({"budget": 0}), "`budget` is 0"),
        ("shooting", json!({"settings": {"rate": 5.0}}), "`rate` is 5"),
    ];
    for (name, settings, words) in refused {
        let found = build_planner(name, &settings).err();
        let message = found.unwrap_or_else(|| panic!("{name} {settings}")).to_string();
        assert!(message.contains(words), "{name} {settings}: {message}");
    }
}

#[test]
fn horizons_that_need_too_much_memory_are_refused_with_their_bytes() {
    let task = pendulum();
    let said = |planner: PlannerConfig, planning: Planning| {
        let options = RunOptions { planning, ..options(&task, 4) };
        task.run(&planner, &options, &mut |_| ()).unwrap_err().to_string()
    };
    let long = Planning { horizon: 1 << 40, ..options(&task, 4).planning };
    let message = said(planner("ilqr", Value::Null), long);
    assert!(message.contains("`horizon` needs 26388279066624 bytes"), "{message}");
    let wide = Planning { horizon: 1 << 20, spacing: 1, ..options(&task, 4).planning };
    let message = said(planner("sampling", json!({"samples": 100_000})), wide);
    assert!(message.contains("`samples` needs 838860800000 bytes"), "{message}");
}
