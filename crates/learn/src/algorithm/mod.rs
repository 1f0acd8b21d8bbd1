//! Algorithms that learn policies. Each is a trio: settings, state, and one epoch of learning.

pub mod actor_critic;
pub mod apg;
pub mod collect;
pub mod critics;
mod error;
pub mod horizon;
pub mod learned;
pub mod mbpo;
pub mod parts;
pub mod ppo;
pub mod presets;
mod ranges;
pub mod returns;
pub mod sac;
pub mod sapo;
mod saved;
pub mod shac;
pub mod table;
#[cfg(test)]
mod toy;
pub mod trajopt;
pub mod trust;

pub use actor_critic::{ActorCritic, ActorCriticConfig};
pub use error::TrainError;
pub use mbpo::{Mbpo, MbpoConfig};
pub use ppo::{Ppo, PpoConfig};
pub use presets::{PRESETS, Preset};
pub use sac::{Sac, SacConfig};
pub use table::{ALGORITHMS, AlgorithmSpec};
pub use trajopt::{TrajOpt, TrajOptConfig};

use crate::env::VecEnv;
use crate::nn::Normalizer;
use crate::nn::Policy;
use crate::run::Checkpoint;

/// Numbers that an epoch reports, by name and in order.
pub type Report = Vec<(&'static str, f64)>;

/// What was learned, as it stands.
#[derive(Clone, Copy, Debug)]
pub enum Actor<'a> {
    /// A policy.
    Policy(PolicyActor<'a>),
    /// Actions of the steps of an episode, whatever is seen: step after step. There is no action beyond its
    /// end.
    Sequence(&'a [f32]),
}

/// A policy as it stands.
#[derive(Clone, Copy, Debug)]
pub struct PolicyActor<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Its parameters.
    pub params: &'a [f32],
    /// By which observations are normalized.
    pub normalizer: Option<&'a Normalizer>,
    /// Whether actions are squashed by tanh.
    pub squashed: bool,
}

/// An algorithm with its state.
pub trait Algorithm: Send {
    /// Epochs of a whole run.
    fn epochs(&self) -> usize;
    /// Epochs done.
    fn epoch(&self) -> usize;
    /// Environments it learns in.
    fn envs(&self) -> usize;
    /// Steps of all environments per epoch; those of an algorithm that learns from whole episodes are known
    /// after the first.
    fn steps_per_epoch(&self) -> usize;
    /// Learns for one epoch.
    fn learn(&mut self, env: &mut VecEnv<f32>) -> Result<Report, TrainError>;
    /// What was learned so far.
    fn actor(&self) -> Actor<'_>;
    /// Everything that learning goes on from, but for the environments.
    fn save(&self, to: &mut Checkpoint);
    /// Goes on from what [`Algorithm::save`] kept.
    fn load(&mut self, from: &Checkpoint) -> Result<(), TrainError>;
}
