//! The material point method.
//!
//! [`material`] holds what a particle is made of.

pub mod material;
