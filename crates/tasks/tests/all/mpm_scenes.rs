//! Material point scenes: every one builds, stays in its box, and has the exact pullback where it is small
//! enough to check all of it.

use pullback_core::rollout::Inputs;
use pullback_tasks::Checking;
use pullback_tasks::mpm::objectives::sized;
use pullback_tasks::mpm::{self, Size};
use pullback_tasks::objectives;
use pullback_tasks::scenes::{self, SceneOptions};

/// The demonstration of a small version: every particle stays finite and inside the walls.
#[test]
fn material_stays_inside_the_walls() {
    for name in mpm::names() {
        let scene = mpm::sized(name, Size::Small).unwrap();
        let layout = scene.layout();
        let steps = 40;
        let inputs = Inputs {
            state: layout.state.defaults(),
            controls: scene.controls(steps),
            params: layout.params.defaults(),
        };
        let moves = inputs.controls.iter().any(|u| *u != 0.0);
        assert!(moves, "{name} demonstrates nothing");
        let mut end = Vec::new();
        scene.simulate(&inputs, steps, &mut |at| end = at.state.to_vec()).unwrap();
        for slice in layout.state.slices().iter().filter(|s| s.name.ends_with(".position") && s.len() > 6) {
            for x in &end[slice.range.clone()] {
                assert!(x.is_finite() && (0.0..=1.01).contains(x), "{name}: {} is at {x} m", slice.name);
            }
        }
        // Tools moved.
        assert!(end.iter().zip(&inputs.state).take(3).any(|(a, b)| (a - b).abs() > 1e-6), "{name}");
    }
}

/// Controls that a scene demonstrates are within the bounds it gives them.
#[test]
fn demonstrations_keep_to_their_bounds() {
    for name in mpm::names() {
        let scene = mpm::sized(name, Size::Small).unwrap();
        let control = &scene.layout().control;
        for u in scene.controls(300).chunks(control.len()) {
            control.check(name, u).unwrap();
        }
    }
}

#[test]
fn small_versions_have_exact_gradients() {
    for name in ["plb-torus", "plb-rollingpin", "plb-chopsticks", "fluid-tank", "hand-flip"] {
        for (what, report) in mpm::sized(name, Size::Small)
            .unwrap()
            .gradcheck(Checking { seed: 3, tolerance: 1e-9, steps: None })
            .unwrap()
        {
            assert!(report.passed(), "{name}, {what}:\n{report}");
        }
    }
}

/// Along a random direction, the gradient of an episode agrees with differences.
#[test]
fn tasks_have_the_slope_that_their_gradients_say() {
    for (name, dimension) in [("fluid", 10), ("pinch", 15), ("rollingpin", 15)] {
        let task = sized(name, Size::Small).unwrap();
        assert_eq!(
            (task.names().len(), task.bounds().len(), task.units().len()),
            (dimension, dimension, dimension)
        );
        let way: Vec<f64> =
            task.bounds().iter().enumerate().map(|(i, (_, high))| high * (1.0 + i as f64).sin()).collect();
        let at = |t: f64| way.iter().map(|w| t * w).collect::<Vec<f64>>();
        let mut grad = vec![0.0; dimension];
        let value = task.value_grad(&at(0.1), &mut grad).unwrap();
        assert!((value - task.value(&at(0.1)).unwrap()).abs() < 1e-12 * value.abs());
        let slope: f64 = grad.iter().zip(&way).map(|(g, w)| g * w).sum();
        let step = 1e-6;
        let difference =
            (task.value(&at(0.1 + step)).unwrap() - task.value(&at(0.1 - step)).unwrap()) / (2.0 * step);
        assert!((slope - difference).abs() < 1e-3 * (slope.abs() + 1e-3), "{name}: {slope} {difference}");
    }
}

#[test]
fn tasks_have_the_dimensions_of_bo_leap() {
    for (name, dimension) in
        [("assembly", 30), ("rope", 30), ("table", 15), ("triplemove", 90), ("writer", 15)]
    {
        let task = objectives::build(name).unwrap();
        assert_eq!(task.start().len(), dimension, "{name}");
        assert!(task.bounds().iter().all(|(low, high)| *low == -high && *high > 0.0));
    }
    assert!(objectives::build("rope-full").is_ok());
}

#[test]
fn steps_of_these_scenes_are_their_own() {
    let options = SceneOptions { dt: Some(0.01), ..SceneOptions::default() };
    let Err(error) = scenes::build("plb-pinch", options) else { panic!("a step of its own was accepted") };
    assert!(error.to_string().contains("do not apply"), "{error}");
}
