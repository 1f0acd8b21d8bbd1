//! Contacts of shapes: laws, exact gradients, and MuJoCo as an oracle.
//!
//! One program, since linking takes longer than most tests.

mod convex_oracle;
mod gradients;
mod heightfield;
mod laws;
mod manifold;
mod oracle;
mod soft;
mod torus;
