//! Where shapes touch: a broad phase that lists pairs and a narrow phase that hands out contacts, not forces.
//!
//! Contact models read [`Contact`]s: a position, a normal from the first shape to the second, a signed
//! distance. Each pair of kinds fills a fixed number of slots ([`max_contacts`]), so that lanes of
//! environments share one path; an empty slot has a distance of [`INACTIVE`] or more. Every function has its
//! `_vjp` with respect to both poses and sizes.
//!
//! | module | what |
//! |---|---|
//! | [`shape`] | shapes, meshes and terrain as described |
//! | [`contact`] | the contact, its tangent frame |
//! | [`collider`] | a shape with differentiable sizes |
//! | [`plane`] | plane against everything |
//! | [`rounded`] | spheres and capsules among themselves |
//! | [`sphere_solid`] | sphere against box and cylinder |
//! | [`torus`] | sphere against torus |
//! | [`capsule_box`] | capsule against box |
//! | [`box_box`] | box against box |
//! | [`heightfield`] | terrain against everything solid |
//! | [`convex`] | all other pairs, by GJK and EPA |
//! | [`manifold`] | the contacts of those that rest on a face |
//! | `dispatch` | any pair: [`collide`], [`collide_vjp`] |
//! | [`broad_phase`] | which of many pairs to try |
//! | [`penalty`] | the law of compliant contact |
//!
//! # Method
//!
//! Discrete choices (which face, which vertex, which end) are made on primal values in `f64`, one lane at a
//! time, and are constants of the differentiation. The geometry at these features is then evaluated on `T`.
//! Where a feature point solves an equation, one Newton step from its primal value, with the derivative
//! matrix held constant, gives the exact first derivative by the implicit function theorem; second
//! derivatives through such steps are not exact.
//!
//! # Limits
//!
//! Planes and heightfields do not collide with each other, and tori only with spheres. Switching features
//! keeps distances continuous, except that a capsule whose axis pierces a box is measured by its deepest
//! point; normals and positions may jump.

pub mod box_box;
pub mod broad_phase;
pub mod capsule_box;
pub mod collider;
pub mod contact;
pub mod convex;
mod dispatch;
mod epa;
mod face_polygon;
mod gjk;
mod height_features;
mod height_grid;
pub mod heightfield;
mod lanes;
pub mod manifold;
mod overlap;
pub mod penalty;
pub mod plane;
mod plane_mesh;
pub mod rounded;
pub mod shape;
pub mod sphere_solid;
mod support;
pub mod torus;

pub use broad_phase::BroadPhase;
pub use collider::{Collider, HeightGrid, Kind};
pub use contact::{Contact, INACTIVE, tangent_frame, tangent_frame_vjp};
pub use dispatch::{MAX_CONTACTS, ShapeBar, collide, collide_vjp, max_contacts};
pub use penalty::{
    ContactDamping, PENALTY_DEFAULTS, PenaltyLaw, normal_force, normal_force_vjp, penalty_force,
    penalty_force_vjp,
};
pub use shape::{Heightfield, Mesh, Shape};
