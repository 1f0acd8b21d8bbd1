//! Robots: laws of their dynamics and contacts, and exact gradients.
//!
//! One program, since linking takes longer than most tests.

mod complementarity;
mod contact;
mod convex;
mod coupling;
mod dynamics;
mod kinematic_params;
mod losses;
mod robots;
mod soft_collision;
mod tendons;
