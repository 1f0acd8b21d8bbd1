//! Gradients of horizons, and what the sources say of each task.

use std::cell::RefCell;

use pullback_core::directions::{Direction, gradcheck_along};
use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
use pullback_core::random::Random;
use pullback_learn::Number;
use pullback_learn::env::{EnvSnapshot, StepBars, StepOutput};

use super::*;

/// Steps of a checked horizon.
const STEPS: usize = 3;
/// Tasks with more actions over a horizon are checked along random directions.
const MOST_ENTRIES: usize = 8;
/// Random directions of actions.
const DIRECTIONS: usize = 4;

/// The small version of a task, if it has one.
const SMALL: EnvironmentOptions = EnvironmentOptions { paper_values: false, small: true };

/// Sum of rewards and of what is seen over a few steps, with random weights, as a function of the actions.
struct Horizon {
    seed: u64,
    start: EnvSnapshot,
    exact: RefCell<VecEnv<f64>>,
    dual: RefCell<VecEnv<Dual<f64>>>,
}

impl Horizon {
    /// The horizon after `settle` steps under small actions.
    fn new(environment: &dyn Environment, seed: u64, settle: usize) -> Horizon {
        let options = VecEnvOptions { threads: 1, seed, ..VecEnvOptions::new(1) };
        let mut exact = environment.exact_env(options).unwrap();
        let mut out = StepOutput::new(1, exact.spaces());
        let mut random = Random::new(seed + 1);
        for _ in 0..settle {
            let calm: Vec<f64> = (0..exact.spaces().actions).map(|_| random.uniform(-0.3, 0.3)).collect();
            exact.step(&calm, &mut out).unwrap();
        }
        let dual = RefCell::new(environment.dual_env(options).unwrap());
        Horizon { seed, start: exact.snapshot(), exact: RefCell::new(exact), dual }
    }

    fn weights(&self, n: usize) -> Vec<f64> {
        let mut random = Random::new(self.seed);
        (0..n).map(|_| random.uniform(-1.0, 1.0)).collect()
    }

    /// Runs the horizon; the value, and where asked for the gradient.
    fn run<F: Number>(&self, env: &mut VecEnv<F>, actions: &[F], bar: Option<&mut [F]>) -> F {
        let spaces = env.spaces();
        let seen = spaces.observation();
        let mut out = StepOutput::new(1, spaces);
        env.restore(self.seed, &self.start);
        let weights: Vec<F> = self.weights(STEPS * (seen + 1)).into_iter().map(F::from_f64).collect();
        let row = |t: usize| &weights[t * (seen + 1)..(t + 1) * (seen + 1)];
        env.run(|shard| shard.record(STEPS));
        let mut value = F::zero();
        for t in 0..STEPS {
            env.step(&actions[t * spaces.actions..(t + 1) * spaces.actions], &mut out).unwrap();
            value += row(t)[0] * out.rewards[0];
            for (w, o) in row(t)[1..].iter().zip(&out.final_observations) {
                value += *w * *o;
            }
        }
        if let Some(bar) = bar {
            let parts = env.run(|shard| {
                let mut bars = vec![F::zero(); STEPS * spaces.actions];
                shard.begin_backward();
                for t in (0..STEPS).rev() {
                    let none = vec![F::zero(); seen];
                    let actions = &mut bars[t * spaces.actions..(t + 1) * spaces.actions];
                    let bars = StepBars {
                        rewards: &row(t)[..1],
                        final_observations: &row(t)[1..],
                        observations: &none,
                        actions,
                    };
                    shard.step_vjp(t, bars, &mut [0.0]).unwrap();
                }
                bars
            });
            bar.copy_from_slice(&parts[0]);
        }
        value
    }
}

impl Differentiable for Horizon {
    fn input_names(&self) -> Vec<String> {
        let actions = self.exact.borrow().spaces().actions;
        (0..STEPS * actions).map(|i| format!("action{}[{}]", i / actions, i % actions)).collect()
    }
    fn outputs(&self) -> usize {
        1
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        y[0] = self.run(&mut self.exact.borrow_mut(), x, None);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual { value: *x, tangent: *d }).collect();
        let found = self.run(&mut self.dual.borrow_mut(), &x, None);
        (y[0], y_dot[0]) = (found.value, found.tangent);
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let mut bar = vec![0.0; x.len()];
        self.run(&mut self.exact.borrow_mut(), x, Some(&mut bar));
        x_bar.iter_mut().zip(bar).for_each(|(to, x)| *to += x * y_bar[0]);
        Ok(())
    }
}

/// Checks the gradient of a horizon, after steps that nothing is asked of.
fn check_horizon(name: &str, environment: &dyn Environment, settle: usize) {
    let options =
        Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, probes: 1, ..Options::default() };
    let horizon = Horizon::new(environment, 3, settle);
    let n = STEPS * environment.spaces().actions;
    let mut random = Random::new(7);
    let mut draw = |size: f64| (0..n).map(|_| random.uniform(-size, size)).collect::<Vec<f64>>();
    let actions = draw(0.5);
    let report = if n <= MOST_ENTRIES {
        gradcheck(&horizon, &actions, &options)
    } else {
        let direction = |k| Direction { name: format!("direction[{k}]"), entries: draw(1.0) };
        let directions: Vec<Direction> = (0..DIRECTIONS).map(direction).collect();
        gradcheck_along(&horizon, &actions, &directions, &options)
    };
    assert!(report.passed(), "{name} after {settle} steps\n{report}");
}

/// Every task, from the air and from the ground. The first step is left out: numbers of a task's own that it
/// makes are constants to gradients, and differences would see them move.
#[test]
fn horizons_pull_back_to_actions() {
    for entry in ENVIRONMENTS.entries() {
        let environment = build(entry.name, &SMALL).unwrap();
        for settle in [1, 20] {
            check_horizon(entry.name, &*environment, settle);
        }
    }
}

/// Constants of papers change the steps, and the gradients with them.
#[test]
fn horizons_of_paper_values_pull_back_too() {
    for name in ["hand-reorient", "pendulum-3", "ant-mujoco"] {
        let environment = build(name, &EnvironmentOptions { paper_values: true, small: true }).unwrap();
        check_horizon(name, &*environment, 12);
    }
}

/// Sizes that the sources give.
#[test]
fn spaces_are_those_of_the_sources() {
    let expected = [
        ("cartpole", 5, 1, 240),
        ("cartpole-pixels", 2 * 32 * 16, 1, 240),
        ("hopper", 11, 3, 1000),
        ("cheetah", 17, 6, 1000),
        ("ant", 37, 8, 1000),
        ("humanoid", 76, 21, 1000),
        ("snu-humanoid", 53, 152, 1000),
        ("ant-run", 37, 8, 1000),
        ("hand-reorient", 72, 16, 600),
        ("pendulum-1", 5, 1, 100),
        ("pendulum-7", 29, 7, 100),
        ("ant-mujoco", 27, 8, 1000),
        ("rolling-flat", 3 * 250 + 6, 3, 300),
        ("soft-jumper", 3 * 204 + 228, 222, 300),
        ("hand-flip", 3 * 250 + 27, 24, 300),
        ("fluid-move", 3 * 250 + 9, 3, 300),
    ];
    for (name, observation, actions, length) in expected {
        let environment = build(name, &EnvironmentOptions::default()).unwrap();
        let spaces = environment.spaces();
        let found = (spaces.observation(), spaces.actions, environment.episode_length());
        assert_eq!(found, (observation, actions, length), "{name}");
    }
}

/// The same states to the last bit for any number of threads, and from a snapshot.
#[test]
fn motion_depends_on_the_seed_alone() {
    let environment = build("hopper", &EnvironmentOptions::default()).unwrap();
    let run = |threads: usize, pause: bool| {
        let options = VecEnvOptions { envs: 40, threads, seed: 5, ..VecEnvOptions::new(40) };
        let mut env = environment.vec_env(options, Precision::F32).unwrap();
        let mut out = StepOutput::new(40, env.spaces());
        for t in 0..30 {
            if pause && t == 15 {
                let snapshot = env.snapshot();
                env = environment.vec_env(options, Precision::F32).unwrap();
                env.restore(5, &snapshot);
            }
            let mut random = Random::new(t);
            let actions: Vec<f32> = (0..120).map(|_| random.uniform(-1.0, 1.0) as f32).collect();
            env.step(&actions, &mut out).unwrap();
        }
        out.observations
    };
    let reference = run(1, false);
    assert!(reference.iter().all(|x| x.is_finite()));
    assert_eq!(reference, run(3, false));
    assert_eq!(reference, run(2, true));
}
