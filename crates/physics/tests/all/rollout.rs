//! Rollouts: the same bits with gradients on or off and under every schedule, memory known beforehand,
//! divergence named.

use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController, StepControl};
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::step_check::check_rollout;
use pullback_core::{Described, Rollout, Schedule, StepError, System, Workspace};
use pullback_math::{Real, f32x16, f64x8};
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_physics::point_mass::{ContactDamping, ElasticPointMass, PenaltyPointMass};

const SCHEDULES: [Schedule; 9] = [
    Schedule::StoreAll,
    Schedule::Every(1),
    Schedule::Every(7),
    Schedule::Every(45),
    Schedule::Revolve { slots: 1 },
    Schedule::Revolve { slots: 10 },
    Schedule::Revolve { slots: 60 },
    Schedule::TwoLevel { frame: 10, slots: 3 },
    Schedule::TwoLevel { frame: 64, slots: 8 },
];

/// Σₜ sin(x₀) + x₁² over all moments, and the controls.
struct Mixed;

impl<T: Real> Loss<T> for Mixed {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = at.state[0].sin() + at.state[1] * at.state[1];
        for u in at.control {
            sum += *u * *u;
        }
        sum
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        state_bar[0] += at.state[0].cos();
        state_bar[1] += at.state[1] + at.state[1];
        for (bar, u) in control_bar.iter_mut().zip(at.control) {
            *bar += *u + *u;
        }
    }
}

fn integrators() -> [Integrator; 5] {
    let pid = PidController::new(1e-6);
    let adaptive = Integrator::adaptive(Method::Tsit5, pid);
    [
        Integrator::fixed(Method::SemiImplicitEuler),
        Integrator::fixed(Method::Rk4),
        adaptive,
        Integrator { adjoint: Adjoint::Discrete { checkpoints: 2 }, ..adaptive },
        Integrator { adjoint: Adjoint::Continuous(pid), ..adaptive },
    ]
}

fn double(dt: f64, integrator: Integrator) -> Integrated<DoublePendulum> {
    Integrated::new(DoublePendulum::default(), dt, integrator).unwrap()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// Inputs with a torque that changes from step to step.
fn driven(system: &impl Described, steps: usize) -> Inputs<f64> {
    let mut inputs = Inputs::defaults(system, steps);
    for (i, u) in inputs.controls.iter_mut().enumerate() {
        *u = 0.3 * (0.1 * i as f64).sin();
    }
    inputs
}

#[test]
fn the_value_is_the_same_bits_with_gradients_on_or_off() {
    fn same(system: &impl System<f64>, steps: usize) {
        let inputs = driven(system, steps);
        for schedule in SCHEDULES {
            let rollout = Rollout::new(system, steps, schedule).unwrap();
            let mut ws = rollout.workspace::<f64>();
            let before = rollout.value(&mut ws, &inputs, &Mixed).unwrap();
            rollout.gradient(&mut ws, &inputs, &Mixed).unwrap();
            let with = ws.gradient.loss;
            let after = rollout.value(&mut ws, &inputs, &Mixed).unwrap();
            assert!(with.is_finite() && with != 0.0);
            assert_eq!(bits(&[before, after]), bits(&[with, with]), "{schedule:?}");
        }
    }
    for integrator in integrators() {
        same(&double(0.02, integrator), 60);
        let penalty = PenaltyPointMass::new(ContactDamping::ByDepth);
        same(&Integrated::new(penalty, 0.02, integrator).unwrap(), 60);
    }
    same(&ElasticPointMass::new(0.07, true).unwrap(), 60);
}

#[test]
fn every_schedule_gives_the_same_bits() {
    let steps = 2000;
    let system = double(0.005, Integrator::fixed(Method::Rk4));
    let inputs = driven(&system, steps);
    let gradient = |schedule| {
        let rollout = Rollout::new(&system, steps, schedule).unwrap();
        let mut ws = rollout.workspace::<f64>();
        rollout.gradient(&mut ws, &inputs, &Mixed).unwrap();
        // A second gradient by the same memory must not see the first.
        let first = ws.gradient.clone();
        rollout.gradient(&mut ws, &inputs, &Mixed).unwrap();
        assert_eq!(first, ws.gradient, "{schedule:?}");
        (bits(&[&[first.loss], &first.state[..], &first.control, &first.params].concat()), ws.forward_steps)
    };
    let (reference, taken) = gradient(Schedule::StoreAll);
    assert_eq!(taken, steps);
    for schedule in SCHEDULES.into_iter().filter(|s| *s != Schedule::Revolve { slots: 1 }) {
        let (other, taken) = gradient(schedule);
        assert!(reference == other, "{schedule:?} changed the gradient");
        assert!(taken >= steps);
    }
    // Quadratic recomputation: over a shorter horizon.
    let rollout = Rollout::new(&system, 100, Schedule::Revolve { slots: 1 }).unwrap();
    let mut ws = rollout.workspace::<f64>();
    rollout
        .gradient(&mut ws, &Inputs { controls: inputs.controls[..200].to_vec(), ..inputs.clone() }, &Mixed)
        .unwrap();
    assert!(ws.forward_steps > 4000);
}

#[test]
fn memory_is_known_before_the_rollout_runs() {
    fn known<T: Real, S: System<T>>(system: &S, stays: bool) {
        let steps = 50;
        let inputs = Inputs::<T>::defaults(system, steps);
        for schedule in SCHEDULES {
            let rollout = Rollout::new(system, steps, schedule).unwrap();
            let mut ws = rollout.workspace::<T>();
            let predicted = rollout.predict_bytes::<T>();
            assert_eq!(predicted, ws.heap_bytes(), "{schedule:?}");
            assert!(predicted >= rollout.plan().states() * inputs.state.len() * size_of::<T>());
            rollout.gradient(&mut ws, &inputs, &Mixed).unwrap();
            if stays {
                assert_eq!(predicted, ws.heap_bytes(), "{schedule:?}: memory grew");
            }
        }
    }
    for integrator in integrators() {
        // Adaptive steps are kept as they come; their number is known only afterwards.
        let stays = matches!(integrator.control, StepControl::Fixed);
        known::<f64, _>(&double(0.01, integrator), stays);
        known::<f64x8, _>(&double(0.01, integrator), stays);
        known::<f32x16, _>(&Integrated::new(SimplePendulum::default(), 0.01, integrator).unwrap(), stays);
    }
    known::<f64, _>(&ElasticPointMass::new(0.1, true).unwrap(), true);
}

#[test]
fn revolve_holds_memory_while_the_horizon_grows() {
    let system = Integrated::new(
        PenaltyPointMass::new(ContactDamping::ByDepth),
        0.01,
        Integrator::fixed(Method::SemiImplicitEuler),
    )
    .unwrap();
    let bytes = |steps, schedule| Rollout::new(&system, steps, schedule).unwrap().predict_bytes::<f64>();
    let revolve = Schedule::Revolve { slots: 20 };
    assert_eq!(bytes(100, revolve), bytes(100_000, revolve));
    assert!(bytes(100_000, Schedule::StoreAll) > 1000 * bytes(100_000, revolve));
}

#[test]
fn a_diverging_simulation_names_the_entry_and_the_step() {
    let system = double(0.01, Integrator::fixed(Method::SemiImplicitEuler));
    let mut inputs = driven(&system, 50);
    for (schedule, rate, first_bad) in [
        (Schedule::StoreAll, 2, "angle[0]"),
        (Schedule::Revolve { slots: 3 }, 3, "angle[0]"),
        (Schedule::TwoLevel { frame: 8, slots: 2 }, 2, "angle[0]"),
    ] {
        // A rate whose square overflows makes the other angle's acceleration infinite at once.
        inputs.state = vec![0.3, 1.2, 0.0, 0.0];
        inputs.state[rate] = 1e170;
        let rollout = Rollout::new(&system, 50, schedule).unwrap();
        let mut ws = rollout.workspace::<f64>();
        let value = rollout.value(&mut ws, &inputs, &Mixed).unwrap_err();
        let gradient = rollout.gradient(&mut ws, &inputs, &Mixed).unwrap_err();
        for error in [value, gradient] {
            let StepError::NotFinite { entry, value, step } = &error else { panic!("{error}") };
            assert_eq!((entry.as_str(), *step), (first_bad, 0), "{error}");
            assert!(!value.is_finite());
            let message = error.to_string();
            assert!(message.contains(first_bad) && message.contains("reduce the time step"), "{message}");
        }
        // The same memory serves the next, sane rollout.
        inputs.state = vec![0.3, 1.2, 0.0, 0.0];
        rollout.gradient(&mut ws, &inputs, &Mixed).unwrap();
    }
}

#[test]
fn a_divergence_later_on_says_when() {
    let integrator = Integrator::fixed(Method::SemiImplicitEuler);
    let system = Integrated::new(SimplePendulum::default(), 0.01, integrator).unwrap();
    let rollout = Rollout::new(&system, 400, Schedule::Every(9)).unwrap();
    let mut ws = rollout.workspace::<f64>();
    // Negative friction: the rate grows elevenfold per step, over 10³⁰⁸ after about 297 steps.
    let error = rollout.gradient(
        &mut ws,
        &Inputs { state: vec![0.1, 1.0], controls: vec![0.0; 400], params: vec![1.0, 1.0, -1000.0, 9.81] },
        &Mixed,
    );
    let error = error.unwrap_err();
    let StepError::NotFinite { entry, step, .. } = &error else { panic!("{error}") };
    assert!(entry == "angle" && (290..300).contains(step), "{error}");
}

#[test]
fn no_steps_is_a_rollout_too() {
    let system = double(0.01, Integrator::fixed(Method::Rk4));
    let inputs = driven(&system, 0);
    let rollout = Rollout::new(&system, 0, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    rollout.gradient(&mut ws, &inputs, &Mixed).unwrap();
    assert_eq!(ws.gradient.state, [inputs.state[0].cos(), 2.0 * inputs.state[1], 0.0, 0.0]);
    assert!(ws.gradient.params.iter().all(|g| *g == 0.0));
}

/// A control that holds for several steps is the same as that control at each of them, to the last bit,
/// whatever is kept; its cotangent is the sum of theirs.
#[test]
fn substeps_are_steps_under_one_control() {
    let (steps, substeps) = (6, 4);
    let system = double(0.01, Integrator::fixed(Method::SemiImplicitEuler));
    let mut inputs = Inputs::<f64>::defaults(&system, steps);
    inputs.controls.iter_mut().enumerate().for_each(|(i, u)| *u = 0.3 * i as f64 - 1.0);
    let controls = inputs.controls.len() / steps;
    let repeated = inputs.controls.chunks(controls).flat_map(|u| u.repeat(substeps)).collect();
    let single = Rollout::new(&system, steps * substeps, Schedule::StoreAll).unwrap();
    let mut expected = single.workspace::<f64>();
    single.gradient(&mut expected, &Inputs { controls: repeated, ..inputs.clone() }, &EveryFourth).unwrap();
    let expected = expected.gradient;
    let held = |step: usize, i: usize| {
        let of_substep = |substep: usize| expected.control[(step * substeps + substep) * controls + i];
        (0..substeps).rev().map(of_substep).fold(0.0, |sum, bar| sum + bar)
    };
    let control: Vec<f64> =
        (0..steps).flat_map(|t| (0..controls).map(move |i| (t, i))).map(|(t, i)| held(t, i)).collect();
    for schedule in SCHEDULES.into_iter().chain([Schedule::Every(substeps)]) {
        let rollout = Rollout::new(&system, steps, schedule).unwrap().with_substeps(substeps).unwrap();
        let mut ws = rollout.workspace::<f64>();
        assert_eq!(rollout.predict_bytes::<f64>(), ws.heap_bytes());
        assert_eq!(rollout.value(&mut ws, &inputs, &EverySample).unwrap(), expected.loss);
        rollout.gradient(&mut ws, &inputs, &EverySample).unwrap();
        assert_eq!(ws.gradient.loss, expected.loss, "{schedule:?}");
        assert_eq!(ws.gradient.state, expected.state, "{schedule:?}");
        assert_eq!(ws.gradient.params, expected.params, "{schedule:?}");
        assert_eq!(ws.gradient.control, control, "{schedule:?}");
        check_rollout(&rollout, &inputs, &Mixed, &Options::default()).assert_passed();
    }
    assert!(single.with_substeps(0).is_err());
}

/// Squares of the first angle, weighted by the step.
struct EverySample;

impl Loss<f64> for EverySample {
    fn value(&self, at: Sample<'_, f64>) -> f64 {
        at.state[0] * at.state[0] * (1.0 + at.step as f64) / at.steps as f64
    }
    fn vjp(&self, at: Sample<'_, f64>, state_bar: &mut [f64], _control_bar: &mut [f64]) {
        state_bar[0] += 2.0 * at.state[0] * (1.0 + at.step as f64) / at.steps as f64;
    }
}

/// The same read at every fourth step.
struct EveryFourth;

impl EveryFourth {
    fn sample<'a>(at: Sample<'a, f64>) -> Option<Sample<'a, f64>> {
        at.step.is_multiple_of(4).then_some(Sample { step: at.step / 4, steps: at.steps / 4, ..at })
    }
}

impl Loss<f64> for EveryFourth {
    fn value(&self, at: Sample<'_, f64>) -> f64 {
        Self::sample(at).map_or(0.0, |at| EverySample.value(at))
    }
    fn vjp(&self, at: Sample<'_, f64>, state_bar: &mut [f64], control_bar: &mut [f64]) {
        if let Some(at) = Self::sample(at) {
            EverySample.vjp(at, state_bar, control_bar);
        }
    }
}
