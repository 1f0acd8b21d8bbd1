//! Pullbacks that `#[differentiable]` writes, checked by the validator.

mod control;
mod corners;
mod straight;
mod types;
mod unsupported;
mod workspace;
