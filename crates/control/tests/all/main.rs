//! Planners on small problems whose answers are known.

mod common;
mod determinism;
mod ilqr;
mod pendulum;
mod planners;
mod resume;
mod spline;
