//! Batches of robots: threads and gradients change no bit, every lane is the scalar run, parameters may
//! differ per environment.

use std::sync::Mutex;

use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
use pullback_core::integrator::Integrated;
use pullback_core::random::Random;
use pullback_core::rollout::{FinalState, Loss, Sample};
use pullback_core::{Described, Inputs, Point, Rollout, Schedule, VectorField};
use pullback_math::{Real, f64x8};
use pullback_physics::articulated::{Articulated, ContactModel};
use pullback_tasks::files::{random_state, read_model, system};
use pullback_tasks::scenes::SceneOptions;

/// A multiple of no lane count.
const ENVS: usize = 11;
const STEPS: usize = 24;

type Robot = Integrated<Articulated>;

fn robot(name: &str, contact: bool) -> Robot {
    let file = format!("{}/../../models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    let mut model = read_model(&file).unwrap();
    (model.options.contact, model.options.contact_model) = (contact, ContactModel::Penalty);
    system(Articulated::new(model).unwrap(), SceneOptions::default()).unwrap()
}

/// Inputs of all environments, with one set of parameters or one each.
struct Data {
    states: Vec<f64>,
    controls: Vec<f64>,
    params: Vec<f64>,
}

impl Data {
    /// From the home pose with the feet in the ground, each environment deeper than the one before. `height`
    /// is the entry of the state that lifts the robot.
    fn touching(robot: &Robot, height: usize) -> Data {
        let home = &robot.field().model().keyframes[0];
        let mut random = Random::new(3);
        let mut states = Vec::new();
        for env in 0..ENVS {
            let mut q = home.q.clone();
            q[height] -= 0.01 + 1e-3 * env as f64;
            states.extend(q);
            states.extend(home.v.iter().map(|_| random.uniform(-0.1, 0.1)));
        }
        let controls = ENVS * STEPS * robot.layout().control.len();
        Data {
            states,
            controls: (0..controls).map(|_| random.uniform(-0.2, 0.2)).collect(),
            params: robot.layout().params.defaults(),
        }
    }

    fn inputs(&self) -> BatchInputs<'_> {
        BatchInputs { states: &self.states, controls: &self.controls, params: &self.params }
    }
}

fn rollout(robot: &Robot) -> Rollout<&Robot> {
    Rollout::new(robot, STEPS, Schedule::Revolve { slots: 5 }).unwrap()
}

fn weights(robot: &Robot) -> Vec<f64> {
    let mut random = Random::new(5);
    (0..robot.layout().state.len()).map(|_| random.uniform(0.5, 1.5)).collect()
}

fn bits<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    values.into_iter().map(|x| x.to_bits()).collect()
}

/// A weighted sum of the final state that also notes the final state of its first environments.
struct Watching<'a> {
    sum: FinalState,
    first: usize,
    ends: &'a Mutex<Vec<f64>>,
}

impl<T: Real> Loss<T> for Watching<'_> {
    fn value(&self, at: Sample<'_, T>) -> T {
        if at.last() {
            let mut ends = self.ends.lock().unwrap();
            for lane in 0..T::LANES.min(ENVS - self.first) {
                for (k, x) in at.state.iter().enumerate() {
                    ends[(self.first + lane) * at.state.len() + k] = x.lane(lane);
                }
            }
        }
        self.sum.value(at)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        self.sum.vjp(at, state_bar, control_bar);
    }
}

/// Number of contacts that push in the first environment.
fn pushing(robot: &Robot, data: &Data) -> usize {
    let field = robot.field();
    let mut ws = VectorField::<f64>::workspace(field);
    let control = vec![0.0; robot.layout().control.len()];
    field.accelerations(
        &mut ws,
        Point { params: &data.params, state: &data.states[..robot.layout().state.len()], control: &control },
    );
    ws.contacts.iter().filter(|(_, contact)| contact.distance < 0.0).count()
}

#[test]
fn neither_threads_nor_gradients_change_a_bit_of_a_robot_in_contact() {
    fn run<T: Real>(robot: &Robot, data: &Data) {
        let mut results = Vec::new();
        for threads in [1, 2] {
            let mut batch = Batch::<_, T>::new(rollout(robot), ENVS, threads).unwrap();
            let mut forward = Vec::new();
            batch.simulate(data.inputs(), &mut forward).unwrap();
            let ends = Mutex::new(vec![0.0; forward.len()]);
            let mut g = BatchGradients::default();
            let sum = FinalState { weights: weights(robot) };
            let loss = |first| Watching { sum: sum.clone(), first, ends: &ends };
            batch.gradients(data.inputs(), loss, &mut g).unwrap();
            assert!(bits(&forward) == bits(&ends.into_inner().unwrap()), "gradients changed the run");
            let all = [forward, g.loss, g.states, g.controls, g.params];
            assert!(all.iter().all(|part| part.iter().any(|x| *x != 0.0)));
            results.push(bits(all.iter().flatten()));
        }
        assert!(results[0] == results[1], "threads changed the result");
    }
    for (name, height, feet) in [("hopper", 1, 2), ("ant", 2, 4)] {
        let robot = robot(name, true);
        let data = Data::touching(&robot, height);
        assert!(pushing(&robot, &data) >= feet, "{name} does not stand on its feet");
        run::<f64>(&robot, &data);
        run::<f64x8>(&robot, &data);
    }
}

#[test]
fn every_lane_is_the_scalar_run_over_a_second_without_contact() {
    for name in ["cartpole", "hopper", "ant", "laikago", "arm9"] {
        let robot = robot(name, false);
        let steps = (1.0 / robot.dt()).round() as usize;
        let rollout = Rollout::new(&robot, steps, Schedule::Revolve { slots: 1 }).unwrap();
        let states: Vec<f64> = (0..8).flat_map(|seed| random_state(robot.field(), seed)).collect();
        let controls = vec![0.0; steps * robot.layout().control.len()];
        let params = robot.layout().params.defaults();
        let inputs = BatchInputs { states: &states, controls: &controls, params: &params };
        let (mut scalar, mut lanes) = (Vec::new(), Vec::new());
        Batch::<_, f64>::new(rollout, 8, 2).unwrap().simulate(inputs, &mut scalar).unwrap();
        Batch::<_, f64x8>::new(rollout, 8, 1).unwrap().simulate(inputs, &mut lanes).unwrap();
        let moved = scalar.iter().zip(&states).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(moved > 0.1, "{name} did not move");
        let worst =
            scalar.iter().zip(&lanes).fold(0.0f64, |m, (a, b)| m.max((a - b).abs() / a.abs().max(1.0)));
        println!("{name}: {worst:.1e}");
        assert!(worst < 1e-12, "{name}: {worst:e}");
    }
}

#[test]
fn environments_with_masses_of_their_own_get_gradients_of_their_own() {
    let robot = robot("hopper", true);
    let mut data = Data::touching(&robot, 1);
    let layout = &robot.layout().params;
    let masses = layout.select("*.mass").unwrap();
    let mut random = Random::new(11);
    let one = std::mem::take(&mut data.params);
    for _ in 0..ENVS {
        let mut own = one.clone();
        masses.iter().for_each(|i| own[*i] *= random.uniform(0.5, 1.5));
        data.params.extend(own);
    }
    let loss = FinalState { weights: weights(&robot) };

    let (np, nx, nu) = (one.len(), loss.weights.len(), STEPS * robot.layout().control.len());
    let rollout = rollout(&robot);
    let check = |g: &BatchGradients, tolerance: f64| {
        let mut ws = rollout.workspace::<f64>();
        let mut seen: Vec<f64> = Vec::new();
        for env in 0..ENVS {
            let (p, x, u) = (env * np..(env + 1) * np, env * nx..(env + 1) * nx, env * nu..(env + 1) * nu);
            let of = (&data.params[p.clone()], &data.states[x.clone()], &data.controls[u.clone()]);
            rollout
                .gradient(
                    &mut ws,
                    &Inputs { state: of.1.to_vec(), controls: of.2.to_vec(), params: of.0.to_vec() },
                    &loss,
                )
                .unwrap();
            let single = &ws.gradient;
            for (batch, alone) in [
                (&g.params[p], &single.params),
                (&g.states[x], &single.state),
                (&g.controls[u], &single.control),
                (&g.loss[env..=env], &vec![single.loss]),
            ] {
                let scale = alone.iter().fold(0.0f64, |m, y| m.max(y.abs()));
                assert!(scale > 0.0);
                for (a, b) in batch.iter().zip(alone) {
                    assert!((a - b).abs() <= tolerance * scale, "environment {env}: {a:e} against {b:e}");
                }
            }
            seen.push(single.params[masses[0]]);
        }
        // The masses matter, and differently in every environment.
        seen.sort_by(f64::total_cmp);
        assert!(seen.windows(2).all(|w| w[0] != w[1]), "{seen:?}");
    };
    let mut gradients = BatchGradients::default();
    let mut scalars = Batch::<_, f64>::new(rollout, ENVS, 2).unwrap();
    scalars.gradients(data.inputs(), |_| loss.clone(), &mut gradients).unwrap();
    check(&gradients, 0.0);
    let mut lanes = Batch::<_, f64x8>::new(rollout, ENVS, 2).unwrap();
    lanes.gradients(data.inputs(), |_| loss.clone(), &mut gradients).unwrap();
    check(&gradients, 1e-10);
}
