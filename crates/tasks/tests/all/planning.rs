//! Tasks of planners: losses with exact gradients, Jacobians on manifolds, and short runs.

use pullback_control::ilqr::expansion::{Expander, Expansion, embedding, pseudoinverse};
use pullback_control::task::Planning;
use pullback_control::{ControlBox, Problem, RunOptions, build_planner};
use pullback_core::gradcheck::Options;
use pullback_core::random::Random;
use pullback_core::step_check::check_loss;
use pullback_core::{Described, Manifold, Point, System};
use pullback_math::Dual;
use pullback_tasks::files::random_state;
use pullback_tasks::planning::file::FileTask;
use pullback_tasks::planning::{CONTROL_TASKS, ControlTask, RobotTask, TaskOptions};
use serde_json::json;

fn task(name: &str) -> RobotTask {
    (CONTROL_TASKS.find(name).unwrap().value)(&TaskOptions::default()).unwrap()
}

#[test]
fn losses_of_all_tasks_pass_the_validator() {
    for name in CONTROL_TASKS.names() {
        let task = task(name).0;
        let state = random_state(task.system.field(), 7);
        for last in [false, true] {
            let at = Point { params: &task.params, state: &state, control: &task.nominal };
            // Joints that do not move a point at all have gradients of round-off; small terms drown in differences.
            let options =
                Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, ..Options::default() };
            check_loss(&task.loss, task.system.layout(), at, last, &options).assert_passed();
        }
        // The start fits its layout and is not yet the end.
        assert!(
            !task.success.judge(std::slice::from_ref(&task.start)).solved,
            "{name} is solved at its start"
        );
        assert_eq!(task.bounds.len(), task.system.layout().control.len());
    }
}

/// A and B are those of dual numbers, in the tangent spaces, through substeps with contacts and a free joint.
#[test]
fn jacobians_on_manifolds_are_exact() {
    let task = task("quadruped-rise").0;
    let (system, bounds) = (&task.system, ControlBox::new(&task.bounds).unwrap());
    let problem = Problem {
        system,
        loss: &task.loss,
        params: &task.params,
        bounds: &bounds,
        horizon: 1,
        substeps: 3,
        threads: 1,
    };
    let (n, m) = (system.tangent_len(), task.nominal.len());
    assert_eq!((n, system.layout().state.len()), (36, 37));
    let mut out = Expansion::new(n, m);
    let expander = &mut Expander::new(&problem);
    // Feet on the ground, tilted and moving.
    let random = &mut Random::new(8);
    let mut state = task.start.clone();
    state.iter_mut().skip(7).for_each(|x| *x += random.uniform(-0.02, 0.02));
    let tangent: Vec<f64> = (0..n).map(|_| random.uniform(-0.02, 0.02)).collect();
    let mut moved = state.clone();
    pullback_core::VectorField::<f64>::advance(system.field(), &state, &tangent, 1.0, &mut moved);
    moved[2] -= 0.03;
    let state = moved;
    expander.expand(&problem, 0, (&state, &task.nominal), &mut out).unwrap();

    let mut ws = System::<Dual<f64>>::workspace(system);
    let params: Vec<Dual<f64>> = task.params.iter().map(|p| Dual::fixed(*p)).collect();
    for _ in 0..4 {
        let x_dot: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
        let z_dot: Vec<f64> = (0..m).map(|_| random.uniform(-1.0, 1.0)).collect();
        let e = embedding(system, &state);
        let dual = |i: usize, x: f64| Dual::new(x, (0..n).map(|j| e[(i, j)] * x_dot[j]).sum());
        let mut x: Vec<Dual<f64>> = state.iter().enumerate().map(|(i, x)| dual(i, *x)).collect();
        let u: Vec<Dual<f64>> =
            (0..m).map(|i| Dual::new(task.nominal[i], bounds.half(i) * z_dot[i])).collect();
        let mut next = x.clone();
        for _ in 0..3 {
            let at = Point { params: &params, state: &x, control: &u };
            System::<Dual<f64>>::step(system, &mut ws, at, &mut next).unwrap();
            x.clone_from(&next);
        }
        let values: Vec<f64> = x.iter().map(|x| x.value).collect();
        let back = pseudoinverse(&embedding(system, &values));
        let sizes: Vec<f64> =
            (0..n).map(|i| (0..x.len()).map(|j| back[(i, j)] * x[j].tangent).sum()).collect();
        let scale = sizes.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (i, expected) in sizes.iter().enumerate() {
            let found: f64 = (0..n).map(|j| out.a[(i, j)] * x_dot[j]).sum::<f64>()
                + (0..m).map(|j| out.b[(i, j)] * z_dot[j]).sum::<f64>();
            assert!((found - expected).abs() < 1e-8 * scale, "{i}: {found} against {expected} of {scale}");
        }
    }
}

/// iLQR lowers the cost of a robot on a free joint, in contact; so do gradients.
#[test]
fn plans_of_a_quadruped_come_out_lower() {
    let task = task("quadruped-rise");
    let planning = Planning { horizon: 6, apply: 2, spacing: 2, steps: 2, ..task.planning() };
    let options = RunOptions { planning, threads: 2, seed: 0, folder: None, inputs: Vec::new() };
    let planners = [("ilqr", json!({"iterations": 3})), ("gradient", json!({"iterations": 6}))];
    for (name, settings) in planners {
        let planner = build_planner(name, &settings).unwrap();
        let episode = task.run(&planner, &options, &mut |_| ()).unwrap();
        let round = &episode.rounds[0];
        assert!(round.after < 0.99 * round.before.unwrap(), "{name}: {round:?}");
    }
}

#[test]
fn tasks_of_files_say_what_is_missing() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/");
    let error = |model: &str, task: FileTask| {
        task.build(&format!("{models}{model}")).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let reach = |name: &str, value: &[f64]| FileTask {
        targets: vec![(name.into(), value.to_vec())],
        ..FileTask::default()
    };
    assert!(error("cartpole.xml", FileTask::default()).contains("--target hinge.q=0"));
    assert!(error("cartpole.xml", reach("hinge", &[0.0])).contains("nothing is called `hinge`"));
    assert!(error("cartpole.xml", reach("top", &[0.0; 3])).contains("no site and no body"));
    assert!(error("cartpole.xml", reach("tip", &[0.0; 2])).contains("three for a point"));
    assert!(error("laikago.xml", reach("chassis", &[0.0; 3])).contains("give --bound LIMIT"));
    assert_eq!(error("cartpole.xml", reach("tip", &[0.0, 0.0, 1.0])), "");
    assert_eq!(error("cartpole.xml", reach("hinge.q", &[0.0])), "");
}
