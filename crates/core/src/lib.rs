//! Systems, integrators, adjoints, rollouts, batches, and the gradient validator.

pub mod gradcheck;
pub mod random;

#[doc(hidden)]
pub use pullback_math as math;
