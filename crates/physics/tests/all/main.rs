//! Laws of the physical systems, exact gradients through them, and rollouts and batches over them.
//!
//! One program, since linking takes longer than most tests.

mod batch;
mod common;
mod contact;
mod energy;
mod events;
mod gradcheck;
mod gradients;
mod momentum;
mod oracle;
mod periods;
mod rollout;
mod soft;
mod soft_gradients;
mod soft_laws;
mod soft_threads;
