//! Batches: any number of threads gives the same bits, every lane is the scalar rollout.

use pullback_core::batch::{BatchGradients, BatchInputs};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::layout::Layout;
use pullback_core::random::Random;
use pullback_core::rollout::{Loss, Sample};
use pullback_core::{Batch, Described, Inputs, Rollout, Schedule, StepError};
use pullback_math::{Real, f32x16, f64x4, f64x8};
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};

const STEPS: usize = 60;
/// A multiple of no lane count.
const ENVS: usize = 21;

/// ½ Σₜ |xₜ|² + ½ Σₜ |uₜ|²
struct Squares;

impl<T: Real> Loss<T> for Squares {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        for x in at.state.iter().chain(at.control) {
            sum += *x * *x;
        }
        sum * T::lit(0.5)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        for (bar, x) in state_bar.iter_mut().zip(at.state) {
            *bar += *x;
        }
        for (bar, u) in control_bar.iter_mut().zip(at.control) {
            *bar += *u;
        }
    }
}

fn rollout() -> Rollout<Integrated<DoublePendulum>> {
    let system = Integrated::new(DoublePendulum::default(), 0.01, Integrator::fixed(Method::Rk4)).unwrap();
    Rollout::new(system, STEPS, Schedule::Revolve { slots: 7 }).unwrap()
}

struct Data {
    states: Vec<f64>,
    controls: Vec<f64>,
    params: Vec<f64>,
}

impl Data {
    fn inputs(&self) -> BatchInputs<'_> {
        BatchInputs { states: &self.states, controls: &self.controls, params: &self.params }
    }
    /// What environment `env` gets.
    fn of(&self, env: usize) -> (&[f64], &[f64], &[f64]) {
        fn share(all: &[f64], one: usize, env: usize) -> &[f64] {
            if all.len() == one { all } else { &all[env * one..][..one] }
        }
        let field = DoublePendulum::default();
        let Layout { state, control, params } = field.layout();
        (
            share(&self.states, state.len(), env),
            share(&self.controls, control.len() * STEPS, env),
            share(&self.params, params.len(), env),
        )
    }
}

fn data(shared_controls: bool, shared_params: bool) -> Data {
    let mut random = Random::new(7);
    let mut draw = |n: usize, low, high| (0..n).map(|_| random.uniform(low, high)).collect::<Vec<f64>>();
    let sets = |shared| if shared { 1 } else { ENVS };
    let mut params = Vec::new();
    for _ in 0..sets(shared_params) {
        params.extend(draw(6, 0.5, 1.5));
        params.push(9.81);
    }
    Data {
        states: draw(4 * ENVS, -1.5, 1.5),
        controls: draw(2 * STEPS * sets(shared_controls), -1.0, 1.0),
        params,
    }
}

fn all_kinds() -> [Data; 4] {
    [data(false, false), data(false, true), data(true, false), data(true, true)]
}

fn run<T: Real>(data: &Data, threads: usize) -> (Vec<f64>, BatchGradients) {
    let mut batch = Batch::<_, T>::new(rollout(), ENVS, threads).unwrap();
    let mut states = Vec::new();
    batch.simulate(data.inputs(), &mut states).unwrap();
    let mut gradients = BatchGradients::default();
    batch.gradients(data.inputs(), |_| Squares, &mut gradients).unwrap();
    (states, gradients)
}

fn bits((states, g): &(Vec<f64>, BatchGradients)) -> Vec<u64> {
    let all = [states, &g.loss, &g.states, &g.controls, &g.params];
    all.iter().flat_map(|v| v.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    fn same<T: Real>() {
        let data = data(false, false);
        let one = bits(&run::<T>(&data, 1));
        assert_eq!(one.len(), ENVS * (4 + 1 + 4 + 2 * STEPS + 7));
        for threads in [2, 3] {
            assert!(one == bits(&run::<T>(&data, threads)), "{threads} threads changed the result");
        }
    }
    same::<f64>();
    same::<f64x8>();
    same::<f32x16>();
}

/// Largest disagreement with the scalar rollouts, relative to the largest entry of each environment's group.
fn against_scalar<T: Real>(data: &Data) -> f64 {
    let (states, gradients) = run::<T>(data, 2);
    let rollout = rollout();
    let mut ws = rollout.workspace::<f64>();
    let mut worst: f64 = 0.0;
    for env in 0..ENVS {
        let (state, controls, params) = data.of(env);
        let inputs = Inputs { state: state.to_vec(), controls: controls.to_vec(), params: params.to_vec() };
        let mut end = Vec::new();
        let keep_end = |at: Sample<'_, f64>| {
            if at.last() {
                end = at.state.to_vec();
            }
        };
        rollout.simulate(&mut ws, &inputs, keep_end).unwrap();
        rollout.gradient(&mut ws, &inputs, &Squares).unwrap();
        let g = &ws.gradient;
        let pairs = [
            (&states, &end),
            (&gradients.loss, &vec![g.loss]),
            (&gradients.states, &g.state),
            (&gradients.controls, &g.control),
            (&gradients.params, &g.params),
        ];
        for (all, one) in pairs {
            let n = one.len();
            let scale = one.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            assert!(scale > 0.0, "all zero");
            for (a, b) in all[env * n..(env + 1) * n].iter().zip(one) {
                worst = worst.max((a - b).abs() / scale);
            }
        }
    }
    worst
}

#[test]
fn every_lane_is_the_scalar_rollout() {
    for data in &all_kinds() {
        assert_eq!(against_scalar::<f64>(data), 0.0);
        let (four, eight) = (against_scalar::<f64x4>(data), against_scalar::<f64x8>(data));
        println!("f64x4 {four:.1e}, f64x8 {eight:.1e}");
        assert!(four < 1e-12 && eight < 1e-12, "f64x4 {four:e}, f64x8 {eight:e}");
        let single = against_scalar::<f32x16>(data);
        assert!(single > 1e-9 && single < 1e-4, "f32x16 {single:e}");
    }
}

#[test]
fn the_loss_learns_which_environments_it_is_for() {
    struct Picked(usize);
    impl<T: Real> Loss<T> for Picked {
        fn value(&self, at: Sample<'_, T>) -> T {
            if at.last() { T::from_lanes(|lane| (self.0 + lane) as f64) } else { T::zero() }
        }
        fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
            if at.last() {
                state_bar[0] += T::one();
            }
        }
    }
    let data = data(true, true);
    let mut batch = Batch::<_, f64x4>::new(rollout(), ENVS, 2).unwrap();
    let mut gradients = BatchGradients::default();
    batch.gradients(data.inputs(), Picked, &mut gradients).unwrap();
    assert!(gradients.loss.iter().enumerate().all(|(env, loss)| *loss == env as f64));
}

/// Simple pendula of which some have an absurd negative friction, overflowing in the step after its exponent
/// says.
fn failing<T: Real>(threads: usize, envs: usize, absurd: &[(usize, f64)]) -> Result<(), StepError> {
    let integrator = Integrator::fixed(Method::SemiImplicitEuler);
    let system = Integrated::new(SimplePendulum::default(), 0.01, integrator).unwrap();
    let rollout = Rollout::new(system, 10, Schedule::StoreAll).unwrap();
    let layout = &rollout.system.layout().params;
    let (len, damping_index) = (layout.len(), layout.index_of("damping").unwrap());
    let mut params = layout.defaults().repeat(envs);
    for (env, damping) in absurd {
        params[env * len..][damping_index] = *damping;
    }
    let states = [1.0, 0.5].repeat(envs);
    let controls = [0.0; 10];
    let inputs = BatchInputs { states: &states, controls: &controls, params: &params };
    let mut batch = Batch::<_, T>::new(rollout, envs, threads).unwrap();
    let (mut states, mut gradients) = (Vec::new(), BatchGradients::default());
    let simulated = batch.simulate(inputs, &mut states);
    let differentiated = batch.gradients(inputs, |_| Squares, &mut gradients);
    assert_eq!(simulated, differentiated);
    let failed: Vec<usize> = batch.failures().iter().map(|(env, _)| *env).collect();
    assert_eq!(failed, absurd.iter().map(|(env, _)| *env).collect::<Vec<_>>());
    simulated
}

#[test]
fn of_several_errors_the_first_environment_s_is_returned() {
    fn first<T: Real>() {
        for threads in [1, 3] {
            assert!(failing::<T>(threads, 20, &[]).is_ok());
            // The later environment fails in an earlier step.
            let error = failing::<T>(threads, 20, &[(4, -1e120), (17, -1e200)]).unwrap_err();
            let start = "environment 4 of 20, one of 2 that failed: angle became ";
            let words = error.to_string();
            assert!(words.starts_with(start) && words.contains(" in step 2: "), "{error}");
            let error = failing::<T>(threads, 20, &[(17, -1e200)]).unwrap_err();
            let StepError::Environment { env: 17, failed: 1, error, .. } = error else { panic!("{error}") };
            assert!(matches!(*error, StepError::NotFinite { step: 1, .. }), "{error}");
        }
    }
    first::<f64>();
    first::<f64x4>();
    first::<f64x8>();
}

#[test]
fn an_empty_batch_is_refused() {
    assert!(Batch::<_, f64>::new(rollout(), 0, 1).is_err());
    assert!(Batch::<_, f64>::new(rollout(), 1, 0).is_err());
}
