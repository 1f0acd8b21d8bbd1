//! Losses that planners are made of, and batches that only ask for losses.

use pullback_core::batch::{BatchGradients, BatchInputs};
use pullback_core::gradcheck::Options;
use pullback_core::layout::{Layout, Slice};
use pullback_core::losses::{Effort, Norm, StateTarget, Weights};
use pullback_core::rollout::{Loss, Sample};
use pullback_core::step_check::check_loss;
use pullback_core::{Batch, Integrated, Integrator, Point, Rollout, Schedule, integrator::Method};
use pullback_math::f64x8;

use crate::common::Duffing;

fn layout() -> Layout {
    Layout::builder()
        .state(Slice::new("angle", 3, "rad"))
        .state(Slice::new("rate", 2, "rad/s"))
        .control(Slice::new("torque", 2, "N m").default(&[0.1, -0.2]))
        .build()
        .unwrap()
}

#[test]
fn every_loss_passes_the_validator() {
    let layout = layout();
    let at = Point { params: &[], state: &[0.3, -1.2, 2.0, 0.4, -0.6], control: &[0.5, 0.7] };
    let weights = Weights { running: 0.7, terminal: 2.5 };
    for norm in [Norm::Square, Norm::Smooth(0.3), Norm::Cosine] {
        let target = StateTarget::new(&layout, "angle, rate[1]", norm, weights).unwrap();
        let target = target.at(&[0.1, 0.2, -0.3, 0.4]).unwrap();
        // Alone, and in sums of every kind.
        let all = (vec![target.clone(), target.clone()], &target, Effort::new(&layout, 0.3));
        for last in [false, true] {
            check_loss(&target, &layout, at, last, &Options::default()).assert_passed();
            check_loss(&all, &layout, at, last, &Options::default()).assert_passed();
        }
    }
    assert!(StateTarget::new(&layout, "angel", Norm::Square, weights).is_err());
    assert!(StateTarget::new(&layout, "angle", Norm::Square, weights).unwrap().at(&[0.0]).is_err());
}

#[test]
fn losses_are_what_their_lines_say() {
    let layout = layout();
    let sample = |step| Sample {
        step,
        steps: 2,
        state: &[3.0, 4.0, 0.0, 0.0, 0.0],
        control: &[1.1, -0.2],
        params: &[],
    };
    let value = |norm, step| {
        let loss = StateTarget::new(&layout, "angle[0], angle[1]", norm, Weights::at_end(2.0)).unwrap();
        Loss::<f64>::value(&loss, sample(step))
    };
    assert_eq!((value(Norm::Square, 2), value(Norm::Square, 1)), (50.0, 0.0));
    assert!((value(Norm::Smooth(1e-9), 2) - 10.0).abs() < 1e-8);
    assert_eq!(value(Norm::Cosine, 2), 2.0 * (2.0 - 3f64.cos() - 4f64.cos()));
    assert!((Loss::<f64>::value(&Effort::new(&layout, 3.0), sample(0)) - 3.0).abs() < 1e-15);
}

#[test]
fn losses_of_a_batch_are_those_of_its_gradients_and_a_failure_is_its_own() {
    let system = Integrated::new(Duffing::new(), 0.1, Integrator::fixed(Method::Rk4)).unwrap();
    let layout = pullback_core::Described::layout(&system);
    let loss = StateTarget::new(layout, "x", Norm::Square, Weights::always(1.0)).unwrap();
    let (steps, envs) = (20, 13);
    let params = layout.params.defaults();
    let state = layout.state.defaults();
    let controls: Vec<f64> = (0..envs * steps).map(|i| (i as f64 * 0.37).sin()).collect();
    let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
    let mut batch = Batch::<_, f64x8>::new(rollout, envs, 2).unwrap();
    let (mut values, mut gradients) = (Vec::new(), BatchGradients::default());
    let inputs = BatchInputs { states: &state, controls: &controls, params: &params };
    batch.values(inputs, |_| &loss, &mut values).unwrap();
    batch.gradients(inputs, |_| &loss, &mut gradients).unwrap();
    assert_eq!(values, gradients.loss);

    // A push that makes one environment diverge leaves the others alone.
    let mut pushed = controls.clone();
    pushed[5 * steps] = 1e200;
    let inputs = BatchInputs { controls: &pushed, ..inputs };
    let mut found = Vec::new();
    batch.values(inputs, |_| &loss, &mut found).unwrap();
    assert_eq!(found[5], f64::INFINITY);
    for env in (0..envs).filter(|env| *env != 5) {
        assert!((found[env] / values[env] - 1.0).abs() < 1e-12, "{env}: {} {}", found[env], values[env]);
    }
    let before = gradients.clone();
    let error = batch.gradients(inputs, |_| &loss, &mut gradients).unwrap_err();
    assert!(error.to_string().starts_with("environment 5 of 13, one of 1 that failed: x became "), "{error}");
    assert_eq!(batch.failures().iter().map(|(env, _)| *env).collect::<Vec<_>>(), [5]);
    assert!(gradients.controls[5 * steps..6 * steps].iter().all(|g| g.is_nan()));
    for env in (0..envs).filter(|env| *env != 5) {
        let of = |g: &BatchGradients| g.controls[env * steps..][..steps].to_vec();
        for (found, alone) in of(&gradients).iter().zip(of(&before)) {
            assert!((found - alone).abs() <= 1e-12 * alone.abs().max(1e-3), "{env}: {found} {alone}");
        }
    }
}
