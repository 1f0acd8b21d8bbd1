//! Gradient checks of the losses: pullbacks against dual numbers and differences.

use pullback_core::random::Random;

use super::batch::Batch;
use super::losses::{Guides, Soft, SoftMemory, add_critic_gradient};
use crate::Number;
use crate::nn::check::{Map, check, config, normals};
use crate::nn::{Activation, InputShape, LayerNorm, LogStd, Network, Policy};

const ROWS: usize = 5;
const SEEN: usize = 3;
const ACTS: usize = 2;

/// Which function of the learner is checked.
enum What {
    Policy,
    Guided,
    Critic,
    Value,
}

struct Checked {
    what: What,
    policy: Policy,
    critic: Network,
    critics: Vec<Vec<f64>>,
    batch: Batch<f64>,
    noise: Vec<f64>,
}

fn lift<F: Number>(x: &[f64]) -> Vec<F> {
    x.iter().map(|x| F::from_f64(*x)).collect()
}

impl Checked {
    fn new(what: What) -> Self {
        let network = config(&[6], Activation::Silu, LayerNorm::Before);
        let log_std = LogStd::PerState { min: -5.0, max: 2.0 };
        let critic = Network::new(InputShape::vector(SEEN + ACTS), 1, &network).unwrap();
        let batch = Batch {
            observations: normals(ROWS * SEEN, 1),
            actions: normals(ROWS * ACTS, 2),
            rewards: normals(ROWS, 3),
            next_observations: normals(ROWS * SEEN, 4),
            discounts: vec![0.9; ROWS],
        };
        Checked {
            what,
            policy: Policy::new(InputShape::vector(SEEN), ACTS, &network, log_std).unwrap(),
            critics: (0..2).map(|i| critic.init(&mut Random::new(20 + i))).collect(),
            critic,
            batch,
            noise: normals(ROWS * ACTS, 5),
        }
    }

    fn inputs(&self) -> Vec<f64> {
        match self.what {
            What::Policy | What::Guided => self.policy.init(&mut Random::new(9)),
            What::Critic => self.critics[0].clone(),
            What::Value => self.batch.observations.clone(),
        }
    }

    /// Outputs, and the gradient of each with respect to its own inputs.
    fn both<F: Number>(&self, x: &[F]) -> (Vec<F>, Vec<F>) {
        let policy_params: Vec<F> = match self.what {
            What::Policy | What::Guided => x.to_vec(),
            _ => lift(&self.policy.init(&mut Random::new(9))),
        };
        let critics: Vec<Vec<F>> = self.critics.iter().map(|c| lift(c)).collect();
        let soft = Soft {
            policy: &self.policy,
            policy_params: &policy_params,
            critic: &self.critic,
            critics: &critics,
            alpha: 0.3,
        };
        let (observations, noise) = (lift(&self.batch.observations), lift(&self.noise));
        let mut memory = SoftMemory::new(&self.policy, &self.critic, ROWS, x.len());
        match self.what {
            What::Policy => {
                let (loss, _) = soft.add_policy_gradient(&observations, 0..ROWS, &noise, 0.2, &mut memory);
                assert!((0..2).all(|i| memory.smaller.contains(&i)), "both critics count");
                (vec![loss], memory.params_bar)
            }
            What::Guided => {
                let gradients = lift(&self.batch.actions);
                let guides = Guides { gradients: &gradients, actions: None };
                let (loss, _) =
                    soft.add_guided_gradient(&observations, 0..ROWS, &noise, 0.2, guides, &mut memory);
                (vec![loss], memory.params_bar)
            }
            What::Critic => {
                let batch = Batch {
                    observations,
                    actions: lift(&self.batch.actions),
                    rewards: lift(&self.batch.rewards),
                    ..Batch::default()
                };
                let targets = batch.rewards.clone();
                let loss = add_critic_gradient(&self.critic, x, &batch, &targets, 0..ROWS, 0.2, &mut memory);
                (vec![loss], memory.params_bar)
            }
            What::Value => {
                let (mut values, mut gradient) = (lift(&[0.0; ROWS]), lift(&[0.0; ROWS * SEEN]));
                soft.value_gradient(x, &noise, &mut memory, &mut values, &mut gradient);
                (values, gradient)
            }
        }
    }
}

impl Map for Checked {
    fn groups(&self) -> Vec<(&'static str, usize)> {
        vec![("input", self.inputs().len())]
    }
    fn outputs(&self) -> usize {
        if matches!(self.what, What::Value) { ROWS } else { 1 }
    }
    fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
        y.copy_from_slice(&self.both(x).0);
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let gradient = self.both(x).1;
        let share = gradient.len() / y_bar.len();
        gradient.iter().enumerate().for_each(|(i, g)| x_bar[i] += g * y_bar[i / share]);
    }
}

#[test]
fn losses_of_sac_pass_the_check() {
    for what in [What::Policy, What::Guided, What::Critic, What::Value] {
        let checked = Checked::new(what);
        check(&checked, &checked.inputs());
    }
}

/// Rows count by the distance of the actions, and ended episodes have no value beyond.
#[test]
fn weights_and_targets_follow_their_equations() {
    let guides = Guides { gradients: &[0.0; 2], actions: Some(&[1.0, 2.0]) };
    assert!((guides.weight(&[4.0, 6.0], 0..2) - (-5.0_f64).exp()).abs() < 1e-15);
    let checked = Checked::new(What::Value);
    let params = checked.policy.init(&mut Random::new(9));
    let soft = Soft {
        policy: &checked.policy,
        policy_params: &params,
        critic: &checked.critic,
        critics: &checked.critics,
        alpha: 0.3,
    };
    let mut memory = SoftMemory::new(&checked.policy, &checked.critic, ROWS, 0);
    let batch = Batch { discounts: vec![0.0; ROWS], ..checked.batch.clone() };
    let mut targets = vec![0.0; ROWS];
    soft.targets(&batch, 0..ROWS, &checked.noise, &mut memory, &mut targets);
    assert_eq!(targets, batch.rewards);
    let (mut values, mut gradient) = (vec![0.0; ROWS], vec![0.0; ROWS * SEEN]);
    let next = &checked.batch.next_observations;
    soft.value_gradient(next, &checked.noise, &mut memory, &mut values, &mut gradient);
    soft.targets(&checked.batch, 0..ROWS, &checked.noise, &mut memory, &mut targets);
    for i in 0..ROWS {
        assert!((targets[i] - batch.rewards[i] - 0.9 * values[i]).abs() < 1e-14);
    }
}
