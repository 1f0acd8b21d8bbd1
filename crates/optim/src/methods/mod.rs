//! Ways to search.

pub mod bo;
pub mod bo_descents;

pub use bo::BayesOpt;
pub use bo_descents::BoDescents;
