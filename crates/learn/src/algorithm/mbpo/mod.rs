//! MBPO, model-based policy optimization (Janner et al., 2019), and its enhancements by gradients of the
//! physics (Qiao et al., 2021).
//!
//! One epoch is a thousand steps of one environment. An ensemble of models is fitted to all steps so far every
//! few hundred of them, and short rollouts of it fill a buffer. After each step a soft actor-critic is updated
//! several times from batches of that buffer and of true steps. See [`enhance`] for what gradients of the
//! physics add.

mod config;
pub mod enhance;
pub mod ensemble;
pub mod jacobian;
pub mod likelihood;
pub mod rollout;
pub mod transitions;

use pullback_core::random::Random;
use pullback_core::{ConfigError, StepError};

use super::parts::below;
use super::ranges::check_rows;
use super::returns::Episodes;
use super::sac::batch::Batch;
use super::sac::learner::{GuidedRows, SoftLearner, Updated};
use super::saved::Saved;
use super::{Actor, Algorithm, PolicyActor, Report, TrainError};
use crate::env::{Ends, Spaces, StepOutput, VecEnv};
use crate::nn::gaussian::squashed_sample;
use crate::nn::{InputShape, Normalizer, PolicyTape, Statistics};
use crate::run::Checkpoint;
pub use config::{MbpoConfig, config, preset};
use enhance::Enhancement;
use ensemble::{Ensemble, Fitted};
use rollout::Imagined;
use transitions::{Step, Transitions, normalized};

/// Uses of random numbers under a seed.
const ACT: u64 = 0xc0;
const SAMPLE: u64 = 0xc1;
const NEIGHBORS: u64 = 0xc2;

/// Models, policy and critics, and what they have seen.
pub struct Mbpo {
    config: MbpoConfig,
    spaces: Spaces,
    seed: u64,
    epoch: usize,
    learner: SoftLearner,
    ensemble: Ensemble,
    real: Transitions,
    imagined: Transitions,
    normalizer: Option<Normalizer>,
    episodes: Episodes,
    fitted: Fitted,
    tape: PolicyTape<f32>,
    batch: Batch<f32>,
    guided: GuidedRows,
}

/// What a step of the environment leaves behind.
struct Taken {
    observation: Vec<f32>,
    action: Vec<f32>,
    out: StepOutput<f32>,
    jacobian: Vec<f32>,
}

impl Mbpo {
    /// A policy that knows nothing.
    pub fn new(config: MbpoConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let MbpoConfig { capacity, model_capacity, .. } = config;
        let (width, rows) = (2 * spaces.observation() + spaces.actions + 2, spaces.observation() + 1);
        let jacobian = if config.enhancement == Enhancement::Policy { rows * spaces.actions } else { 0 };
        check_rows("capacity", capacity as f64, width + jacobian)?;
        check_rows("model_capacity", model_capacity as f64, width)?;
        check_rows("batch", config.batch as f64, width)?;
        check_rows("rollouts", config.rollouts as f64, width)?;
        let input = InputShape { points: spaces.points, vector: spaces.vector };
        let count = config.normalize_observations;
        let normalizer = count.map(|count| Normalizer::new(input, count, Statistics::PerEntry));
        let learner = SoftLearner::new(config.learner.clone(), spaces, seed)?;
        Ok(Mbpo {
            tape: learner.policy().tape(1),
            ensemble: Ensemble::new(config.model.clone(), spaces, seed)?,
            real: Transitions::new(spaces, capacity, config.enhancement == Enhancement::Policy),
            imagined: Transitions::new(spaces, model_capacity, false),
            normalizer: normalizer.transpose()?,
            episodes: Episodes::new(1),
            fitted: Fitted { error: f64::NAN, passes: 0.0 },
            batch: Batch::default(),
            guided: GuidedRows::default(),
            epoch: 0,
            learner,
            spaces,
            seed,
            config,
        })
    }

    /// Takes one step of the environment, with its Jacobian where gradients are made use of.
    fn step(&mut self, env: &mut VecEnv<f32>, step: usize, taken: &mut Taken) -> Result<(), StepError> {
        let seen = self.spaces.observation();
        taken.observation.clear();
        taken.observation.extend_from_slice(&taken.out.observations[..seen]);
        let mut random = Random::stream(self.seed, &[ACT, step as u64]);
        if step < self.config.warm_up {
            taken.action.iter_mut().for_each(|a| *a = random.uniform(-1.0, 1.0) as f32);
        } else {
            let mut row = Vec::with_capacity(seen);
            normalized(self.normalizer.as_ref(), &taken.observation, &mut row);
            self.learner.policy().forward(self.learner.params(), &row, &mut self.tape);
            for (k, a) in taken.action.iter_mut().enumerate() {
                let (mean, log_std) = (self.tape.mean()[k], self.tape.log_std()[k]);
                *a = squashed_sample(mean, log_std, random.normal() as f32);
            }
        }
        match self.config.enhancement {
            Enhancement::None => env.step(&taken.action.repeat(env.envs()), &mut taken.out),
            _ => jacobian::step_with_jacobian(env, &taken.action, &mut taken.out, &mut taken.jacobian),
        }
    }

    /// Keeps a step, and samples around it.
    fn keep(&mut self, step: usize, taken: &Taken) -> Result<(), TrainError> {
        let out = &taken.out;
        if let Some(normalizer) = &mut self.normalizer {
            let (epoch, what, env) = (self.epoch, "an observation", Some(0));
            let kept = normalizer.update(&taken.observation);
            kept.map_err(|e| TrainError::Diverged { epoch, what, value: e.value, env })?;
        }
        self.episodes.add(0, f64::from(out.rewards[0]), out.done(0));
        // A step whose physics failed has no end that could be learned.
        if out.failed[0] {
            return Ok(());
        }
        let one = Step {
            observation: &taken.observation,
            action: &taken.action,
            reward: out.rewards[0],
            next: &out.final_observations[..self.spaces.observation()],
            terminated: out.terminated[0],
            jacobian: &taken.jacobian,
        };
        self.real.push(one);
        if let Enhancement::Sample { count, delta } = self.config.enhancement {
            let mut random = Random::stream(self.seed, &[NEIGHBORS, step as u64]);
            enhance::push_neighbors(one, count, delta, &mut random, &mut self.real);
        }
        Ok(())
    }

    /// Fits the models to all true steps, and fills the buffer of their rollouts.
    fn imagine(&mut self, step: usize, ends_where: &Ends) -> Result<(), TrainError> {
        self.fitted = self.ensemble.fit(&self.real, self.epoch)?;
        let imagined = Imagined {
            policy: self.learner.policy(),
            params: self.learner.params(),
            normalizer: self.normalizer.as_ref(),
            ends_where,
            length: self.config.lengths.at(self.epoch),
            noise: (self.seed, step as u64),
        };
        let count = self.config.rollouts * self.config.model_every;
        imagined.roll_out(&self.ensemble, &self.real, count, &mut self.imagined);
        Ok(())
    }

    /// Updates policy and critics from batches of both buffers; means over the updates.
    fn improve(&mut self) -> Result<Updated, TrainError> {
        let MbpoConfig { updates, batch, gamma, real_share, enhancement, .. } = self.config;
        let mut mean = Updated { alpha: self.learner.alpha(), ..Updated::default() };
        for _ in 0..updates {
            let mut random = Random::stream(self.seed, &[SAMPLE, self.learner.updates()]);
            let normalizer = self.normalizer.as_ref();
            let share = if self.imagined.is_empty() { 1.0 } else { real_share };
            let true_rows = (batch as f64 * share).round() as usize;
            self.batch.clear();
            for row in 0..batch {
                let from = if row < true_rows { &self.real } else { &self.imagined };
                from.append(below(from.len(), &mut random), gamma, normalizer, &mut self.batch);
            }
            let guided = enhancement == Enhancement::Policy;
            if guided {
                let indices: Vec<usize> = (0..batch).map(|_| below(self.real.len(), &mut random)).collect();
                enhance::guides(&self.real, &indices, gamma, normalizer, &mut self.learner, &mut self.guided);
            }
            let guided = guided.then_some(&self.guided);
            mean.add(self.learner.update(&self.batch, guided, self.epoch)?, 1.0 / updates as f64);
        }
        Ok(mean)
    }
}

impl Algorithm for Mbpo {
    fn epochs(&self) -> usize {
        self.config.epochs
    }
    fn epoch(&self) -> usize {
        self.epoch
    }
    fn envs(&self) -> usize {
        match self.config.enhancement {
            Enhancement::None => 1,
            _ => jacobian::copies(self.spaces.observation()),
        }
    }
    fn steps_per_epoch(&self) -> usize {
        self.config.steps
    }

    fn learn(&mut self, env: &mut VecEnv<f32>) -> Result<Report, TrainError> {
        let MbpoConfig { steps, warm_up, model_every, .. } = self.config;
        let mut taken = Taken {
            observation: Vec::new(),
            action: vec![0.0; self.spaces.actions],
            out: StepOutput::new(env.envs(), self.spaces),
            jacobian: Vec::new(),
        };
        env.observe(&mut taken.out.observations);
        let mut updated = Updated { alpha: self.learner.alpha(), ..Updated::default() };
        let (mut reward, mut failed, finished) = (0.0, 0.0, self.episodes.statistics().finished);
        let (mut step_seconds, mut model_seconds, mut update_seconds) = (0.0, 0.0, 0.0);
        for i in 0..steps {
            let step = self.epoch * steps + i;
            let clock = std::time::Instant::now();
            let epoch = self.epoch;
            let done = self.step(env, step, &mut taken);
            done.map_err(|source| TrainError::Physics { epoch, source })?;
            self.keep(step, &taken)?;
            reward += f64::from(taken.out.rewards[0]) / steps as f64;
            failed += f64::from(u8::from(taken.out.failed[0]));
            step_seconds += clock.elapsed().as_secs_f64();
            if step + 1 < warm_up || self.real.len() < 10 {
                continue;
            }
            let clock = std::time::Instant::now();
            if (step + 1 - warm_up).is_multiple_of(model_every) || self.imagined.is_empty() {
                let ends_where = env.ends_where();
                env.pool().install(|| self.imagine(step, ends_where))?;
            }
            model_seconds += clock.elapsed().as_secs_f64();
            let clock = std::time::Instant::now();
            updated.add(env.pool().install(|| self.improve())?, 1.0 / steps as f64);
            update_seconds += clock.elapsed().as_secs_f64();
        }
        self.epoch += 1;

        let episodes = self.episodes.statistics();
        Ok(vec![
            ("return_mean", episodes.return_mean),
            ("return_max", episodes.return_max),
            ("return_now", self.episodes.mean_of_last(episodes.finished - finished)),
            ("return_std", episodes.return_std),
            ("length", episodes.length_mean),
            ("episodes", episodes.finished as f64),
            ("reward", reward),
            ("actor_loss", updated.actor_loss),
            ("actor_grad_norm", updated.actor_norm),
            ("critic_loss", updated.critic_loss),
            ("critic_grad_norm", updated.critic_norm),
            ("entropy", updated.entropy),
            ("alpha", updated.alpha),
            ("model_error", self.fitted.error),
            ("model_passes", self.fitted.passes),
            ("failed", failed),
            ("step_seconds", step_seconds),
            ("model_seconds", model_seconds),
            ("update_seconds", update_seconds),
        ])
    }

    fn actor(&self) -> Actor<'_> {
        Actor::Policy(PolicyActor {
            policy: self.learner.policy(),
            params: self.learner.params(),
            normalizer: self.normalizer.as_ref(),
            squashed: true,
        })
    }

    fn save(&self, to: &mut Checkpoint) {
        to.epoch = self.epoch as u64;
        let mut saved = Saved::new(to);
        self.learner.save(&mut saved);
        self.ensemble.save(&mut saved);
        self.real.save("real", &mut saved);
        self.imagined.save("imagined", &mut saved);
        saved.value("normalizer", &self.normalizer);
        saved.value("episodes", &self.episodes);
    }

    fn load(&mut self, from: &Checkpoint) -> Result<(), TrainError> {
        self.epoch = from.epoch as usize;
        let mut copy = from.clone();
        let mut saved = Saved::new(&mut copy);
        self.learner.load(&mut saved)?;
        self.ensemble.load(&mut saved)?;
        self.real.load("real", &mut saved)?;
        self.imagined.load("imagined", &mut saved)?;
        self.normalizer = saved.read_value("normalizer")?;
        self.episodes = saved.read_value("episodes")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;
    use crate::nn::Activation;

    const ENHANCEMENTS: [Enhancement; 3] =
        [Enhancement::None, Enhancement::Policy, Enhancement::Sample { count: 9, delta: 1e-2 }];

    fn small(epochs: usize, enhancement: Enhancement) -> MbpoConfig {
        let mut config =
            MbpoConfig { epochs, enhancement, steps: 50, warm_up: 100, ..config::config(&[32], &[32]) };
        (config.model_every, config.rollouts, config.model_capacity) = (50, 20, 2000);
        (config.updates, config.batch) = (10, 64);
        (config.learner.actor_lr, config.learner.critic_lr, config.learner.alpha) = (3e-3, 3e-3, 0.1);
        config.model.network = config::network(&[32], Activation::Silu);
        (config.model.batch, config.model.max_passes, config.model.lr) = (64, 5, 3e-3);
        (config.model.members, config.model.elites) = (3, 2);
        config
    }

    #[test]
    fn mbpo_brings_the_point_home_with_every_enhancement() {
        for enhancement in ENHANCEMENTS {
            let mut mbpo = Mbpo::new(small(12, enhancement), toy::SPACES, 1).unwrap();
            let (before, after) = toy::improvement(&mut mbpo);
            assert!(after > 33.0 && after > before + 5.0, "{enhancement:?}: {before} {after}");
        }
    }

    #[test]
    fn mbpo_depends_on_the_seed_alone() {
        for enhancement in ENHANCEMENTS {
            let config = MbpoConfig { capacity: 300, model_capacity: 700, ..small(9, enhancement) };
            toy::check_bits(&|| Box::new(Mbpo::new(config.clone(), toy::SPACES, 1).unwrap()), 5);
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let refused = |config: MbpoConfig| Mbpo::new(config, toy::SPACES, 0).is_err();
        let plain = || small(1, Enhancement::None);
        assert!(refused(MbpoConfig { steps: 0, ..plain() }));
        assert!(refused(MbpoConfig { real_share: 1.5, ..plain() }));
        assert!(refused(MbpoConfig { warm_up: 1, ..plain() }));
        let mut config = plain();
        config.model.elites = 4;
        assert!(refused(config));
    }
}
