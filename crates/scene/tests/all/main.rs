//! Readers: what they honor, what they refuse, and golden files of other programs.
//!
//! One program, since linking takes longer than most tests.

mod actuation;
mod adaptive_contact;
mod constraints;
mod convex_batches;
mod convex_laws;
mod convex_piles;
mod dae;
mod dynamics;
mod fluid;
mod from_distance;
mod hfield;
mod hostile;
mod hull;
mod kinematics;
mod mesh;
mod mimic;
mod mjcf;
mod mjcf_fuzz;
mod mjcf_golden;
mod models;
#[allow(dead_code)]
mod moving;
mod sensors;
mod soft_mesh;
mod soft_mesh_text;
mod urdf;
mod urdf_inertia;
mod urdf_strict;
mod urdf_vendors;
