//! Networks, optimizers and what surrounds them.

pub mod product;
pub mod rows;
