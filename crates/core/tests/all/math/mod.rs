//! Pullbacks of `pullback-math`, checked by the validator.

mod common;
mod decompositions;
mod matrices;
mod rotations;
mod scalars;
mod spatial;
