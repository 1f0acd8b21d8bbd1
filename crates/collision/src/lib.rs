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
//! | [`plane`], `plane_mesh` | plane against everything |
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
//! # Agreement with MuJoCo
//!
//! Slots with a distance up to a limit are MuJoCo's contacts for that margin, in its order. Compared with
//! version 3.17 over 10,000 poses each without margin and with one of 0.1 m: random, along the axes of the
//! world, with one axis in common, nearly parallel; `tests/all/oracle.rs` keeps 36 of every pair.
//!
//! | pair | slots | count | worst error |
//! |---|---|---|---|
//! | plane with sphere, capsule, ellipsoid, box | 1, 2, 1, 4 | same | 10⁻¹⁵ |
//! | plane with cylinder | 4 | same | 10⁻¹⁶ / lean, MuJoCo's round-off, else 10⁻¹⁵ |
//! | plane with mesh, faces of three or four corners | 4 | same | 10⁻¹⁵ |
//! | plane with mesh, larger faces | 4 | same | other corners in up to one case in ten: see `plane_mesh` |
//! | sphere with sphere, capsule, box, cylinder | 1 | same | 2·10⁻¹⁴ |
//! | capsule with capsule | 2 | same | 3·10⁻¹¹ |
//! | capsule with box | 2 | same | 6·10⁻¹² |
//! | box with box | 8 | same | 2·10⁻¹⁰ |
//! | all other | 1, 2 or 8 | ours | deepest contact only: 10⁻⁶ in distance, 10⁻⁵ in the normal |
//!
//! Of the other pairs, the deepest contact is another one in up to a fifth of 400 random overlaps where
//! cylinders, or meshes with more than a point, touch, and in at most three of a hundred elsewhere. In those
//! that the tests keep, parallel planes along both normals show that MuJoCo's does not separate the shapes.
//!
//! Where a comparison of numbers that are equal but for round-off decides, contacts may differ: an axis or a
//! center exactly in the plane of a face, boxes of equal size that lie flush after a rotation (four poses in
//! a hundred), a distance equal to the limit. A box balanced on an edge with that exactly level keeps its
//! lower corners, where MuJoCo takes the first four within the limit. Tangent frames are our own.
//!
//! # Limits
//!
//! Planes and heightfields do not collide with each other, and tori only with spheres. Switching features
//! keeps distances continuous, except that a capsule whose axis pierces a box is measured at its ends or near
//! an edge, that nearly parallel capsules and boxes gain and lose contacts at once, and that boxes prefer a
//! face to edges that separate them by up to a twentieth more; normals and positions may jump.

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
pub mod hull;
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
pub use hull::Hull;
pub use penalty::{
    ContactDamping, PENALTY_DEFAULTS, PenaltyLaw, normal_force, normal_force_vjp, penalty_force,
    penalty_force_vjp,
};
pub use shape::{Heightfield, Mesh, Shape};
