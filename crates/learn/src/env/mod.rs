//! Environments: a [`Task`] says what moves, what is seen and what is wanted; a [`VecEnv`] runs many of them.
//!
//! Environments of a task are packed into SIMD lanes, packs into [shards](EnvShard), and shards run on threads.
//! What an environment does depends on its number and the seed alone, never on lanes, shards or threads.
//!
//! There are two views of the same steps. *Plain stepping* is [`EnvShard::step`]. A *horizon* is
//! [`EnvShard::record`], the same steps, and [`EnvShard::step_vjp`] from the last step to the first: states of
//! control steps are kept, substeps are run again on the way back. Where an episode ends, the cotangent of the
//! state is cut.

mod lanes;
mod pack;
mod shard;
mod snapshot;
mod task;
mod vec_env;

pub use lanes::Lanes;
pub use shard::{EnvShard, Kept, StepBars, StepOutput, TaskShard};
pub use snapshot::EnvSnapshot;
pub use task::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
pub use vec_env::{Ends, VecEnv, VecEnvOptions};
