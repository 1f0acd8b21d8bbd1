//! The actor's loss over whole horizons (policy, observation, reward, physics, normalization, entropy, value) is
//! pulled back to the policy's parameters exactly, in every task.

use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
use pullback_core::random::Random;
use pullback_learn::Number;
use pullback_learn::algorithm::horizon::{ActorObjective, EntropyBonus, HorizonMemory};
use pullback_learn::algorithm::sapo;
use pullback_learn::env::StepOutput;
use pullback_learn::nn::{InputShape, LogStd, Network, Normalizer, Policy, Statistics};

use super::*;

/// Steps of the horizon, and directions in the space of parameters along which it is checked.
const STEPS: usize = 3;
const DIRECTIONS: usize = 3;
const SMALL: EnvironmentOptions = EnvironmentOptions { paper_values: false, small: true };

/// The loss of a horizon along random directions of the policy's parameters.
struct Loss<'a> {
    environment: &'a dyn Environment,
    policy: Policy,
    params: Vec<f64>,
    directions: Vec<Vec<f64>>,
    critic: Network,
    critics: Vec<Vec<f64>>,
    normalizer: Normalizer,
    /// Steps before the horizon begins.
    settle: usize,
}

impl<'a> Loss<'a> {
    fn new(environment: &'a dyn Environment, settle: usize) -> Self {
        let spaces = environment.spaces();
        let input = InputShape { points: spaces.points, vector: spaces.vector };
        let network = sapo::network(&[6]);
        let policy =
            Policy::new(input, spaces.actions, &network, LogStd::PerState { min: -5.0, max: 2.0 }).unwrap();
        let critic = Network::new(input, 1, &network).unwrap();
        let mut random = Random::new(11);
        // The policy is not quite what it starts as: its layers have shifts.
        let nudge = |values: Vec<f64>, random: &mut Random| -> Vec<f64> {
            values.into_iter().map(|x| x + 0.1 * random.normal()).collect()
        };
        let params = nudge(policy.init(&mut Random::new(1)), &mut random);
        let critics = (0..2).map(|i| nudge(critic.init(&mut Random::new(2 + i)), &mut random)).collect();
        let directions = (0..DIRECTIONS).map(|_| params.iter().map(|_| 0.1 * random.normal()).collect());
        let directions = directions.collect();
        let mut normalizer = Normalizer::new(input, 1.0, Statistics::PerEntry).unwrap();
        let rows: Vec<f64> = (0..8 * input.len()).map(|_| random.normal()).collect();
        normalizer.update(&rows).unwrap();
        Loss { environment, policy, params, directions, critic, critics, normalizer, settle }
    }

    fn run<F: Number>(&self, env: &mut VecEnv<F>, x: &[F], x_bar: Option<&mut [f64]>) -> F {
        let spaces = env.spaces();
        env.reset(3);
        settle(env, self.settle);
        let lift = |values: &[f64]| values.iter().map(|x| F::from_f64(*x)).collect::<Vec<F>>();
        let mut params = lift(&self.params);
        for (direction, x) in self.directions.iter().zip(x) {
            params.iter_mut().zip(direction).for_each(|(p, d)| *p += F::from_f64(*d) * *x);
        }
        let critics: Vec<Vec<F>> = self.critics.iter().map(|critic| lift(critic)).collect();
        let objective = ActorObjective {
            policy: &self.policy,
            params: &params,
            normalizer: Some(&self.normalizer),
            observation_gradients: true,
            critic: Some((&self.critic, &critics)),
            horizon: STEPS,
            gamma: 0.9,
            entropy: Some(EntropyBonus::normalized(0.7, -0.5 * spaces.actions as f64)),
            scale: 0.5,
            noise: (5, 6),
        };
        let mut memory = [HorizonMemory::new(spaces, 1, STEPS, &self.policy, Some(&self.critic))];
        for done in env.run_with(&mut memory, |shard, memory| objective.forward(shard, memory)) {
            done.unwrap();
        }
        if let Some(x_bar) = x_bar {
            for done in env.run_with(&mut memory, |shard, memory| objective.backward(shard, memory)) {
                done.unwrap();
            }
            for (bar, direction) in x_bar.iter_mut().zip(&self.directions) {
                let along = memory[0].policy_bar.iter().zip(direction);
                *bar += along.map(|(g, d)| g.to_f64() * d).sum::<f64>();
            }
        }
        memory[0].loss
    }

    fn options(&self) -> VecEnvOptions {
        VecEnvOptions { threads: 1, ..VecEnvOptions::new(1) }
    }

    fn check(&self, name: &str) {
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, probes: 1, ..Options::default() };
        let report = gradcheck(self, &[0.0; DIRECTIONS], &options);
        assert!(report.passed(), "{name} after {} steps\n{report}", self.settle);
    }
}

/// Steps under small random actions; returns the number of the first after which an episode ended.
fn settle<F: Number>(env: &mut VecEnv<F>, steps: usize) -> Option<usize> {
    let spaces = env.spaces();
    let mut out = StepOutput::new(1, spaces);
    let mut random = Random::new(4);
    for step in 0..steps {
        let calm: Vec<F> = (0..spaces.actions).map(|_| F::from_f64(random.uniform(-0.3, 0.3))).collect();
        env.step(&calm, &mut out).unwrap();
        if out.done(0) {
            return Some(step);
        }
    }
    None
}

impl Differentiable for Loss<'_> {
    fn input_names(&self) -> Vec<String> {
        (0..DIRECTIONS).map(|i| format!("direction[{i}]")).collect()
    }
    fn outputs(&self) -> usize {
        1
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        let mut env = self.environment.exact_env(self.options()).map_err(|e| e.to_string())?;
        y[0] = self.run(&mut env, x, None);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let mut env = self.environment.dual_env(self.options()).map_err(|e| e.to_string())?;
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual { value: *x, tangent: *d }).collect();
        let found = self.run(&mut env, &x, None);
        (y[0], y_dot[0]) = (found.value, found.tangent);
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let mut env = self.environment.exact_env(self.options()).map_err(|e| e.to_string())?;
        let mut bar = vec![0.0; x.len()];
        self.run(&mut env, x, Some(&mut bar));
        x_bar.iter_mut().zip(bar).for_each(|(to, x)| *to += x * y_bar[0]);
        Ok(())
    }
}

#[test]
fn horizons_pull_back_to_policies() {
    for entry in ENVIRONMENTS.entries() {
        let environment = build(entry.name, &SMALL).unwrap();
        for settle in [1, 15] {
            Loss::new(&*environment, settle).check(entry.name);
        }
    }
}

/// Where a hopper falls within the horizon, nothing that follows is felt before.
#[test]
fn ends_of_episodes_cut_gradients() {
    let environment = build("hopper", &SMALL).unwrap();
    let mut env = environment.exact_env(VecEnvOptions { threads: 1, ..VecEnvOptions::new(1) }).unwrap();
    env.reset(3);
    let falls = settle(&mut env, 500).unwrap();
    let loss = Loss::new(&*environment, falls - 1);
    let mut env = environment.exact_env(loss.options()).unwrap();
    loss.run(&mut env, &[0.0; DIRECTIONS], None);
    assert_eq!(env.snapshot().episodes, [1], "the episode ends within the horizon");
    loss.check("hopper that falls");
}
