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
//! | [`hull`] | convex hulls: corners, edges, faces |
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
//! | [`soft`] | any pair, features chosen softly: [`collide_soft`], [`collide_soft_vjp`] |
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
//! | plane with mesh | 4 | same | 10⁻¹⁵; see below |
//! | sphere with sphere, capsule, box, cylinder | 1 | same | 2·10⁻¹⁴ |
//! | capsule with capsule | 2 | same | 3·10⁻¹¹ |
//! | capsule with box | 2 | same | 6·10⁻¹² |
//! | box with box | 8 | same | 2·10⁻¹⁰ |
//! | sphere with mesh | 1 | same | 10⁻¹³ |
//! | capsule with mesh | 2 | same | 2·10⁻¹³; an edge along the axis: see below |
//! | box with mesh | 4 | same | 10⁻¹³; with a margin, position 3·10⁻⁷ |
//! | mesh with mesh | 4 | same but for 10 of 400, see below | as box with mesh |
//! | capsule with cylinder | 2 | same | distance 10⁻⁹, normal 3·10⁻⁶, position 10⁻⁶ |
//! | cylinder with cylinder, box, mesh | 4 | same but for 2 of 1,200 | distance and position 5·10⁻⁶, normal 10⁻⁵ |
//! | ellipsoid with all but plane | 1 | same | distance 10⁻⁵, normal 2·10⁻⁵, position 9·10⁻⁵ |
//!
//! Pairs from sphere with mesh on, and planes with meshes, are compared over 400 poses, half of them with a
//! margin of 0.1 m; `tests/all/convex_oracle.rs` keeps 36 of each. They go through MuJoCo's iterative solver,
//! run at a tolerance of 10⁻¹². With an ellipsoid or a cylinder its iterate limits the agreement: at the
//! default tolerance of 10⁻⁶, distances differ by up to that and points on a rim by its root. With a margin,
//! the solver sees rounded shapes where they overlap.
//!
//! Errors are those of contacts that do not depend on the order of MuJoCo's search. Where they do, ours may
//! be others, mostly as many:
//!
//! * Of a polygon with more than four corners, four are kept, from a start that follows the order of the
//!   mesh's triangles, which is that of qhull. Given the same triangles, all agree.
//! * Of corners that are equally low over a plane, qhull's order decides which comes first: with a face of
//!   more than four corners that lies flat, others of its corners touch.
//! * A capsule or cylinder along an edge of a mesh lies on one of the two faces that meet there, by the order
//!   of a hash table: a fifth of the poses with an axis in common, 1 in 100 random ones.
//! * Where an edge is exactly parallel to a face, MuJoCo has one contact or two; ours are two.
//! * The single contact of parallel sides may be anywhere along them. A cylinder whose cap is square to the
//!   normal has no side towards the other shape; an edge of it may be anywhere around.
//! * Triangles whose normals round alike in steps of 0.01 rad are one face (see [`hull`]); at the border
//!   between two steps, round-off decides.
//! * A face of several triangles is not flat. Its plane goes through its first corner, which is that of the
//!   first triangle in qhull's order, and so do the sides that clip one after the other; of edges at a corner
//!   that lie along a face, the first counts.
//!
//! At four random states each of four robots with scanned or drawn meshes (Robotiq 140, Jaco, Fourier's hand,
//! a fruit fly), 161 of 237 pairs of meshes agree to 10⁻⁸ m. 34 are off by the height of another corner of the
//! face to within 10⁻⁸ m: 3·10⁻⁶ m or less, but for one of 9·10⁻⁵ m. 12 have other points along the same
//! normal, 2 another normal, 2 another number of contacts; the rest are off by 7·10⁻⁵ m at most.
//!
//! With cylinders and ellipsoids, MuJoCo's distances at its default tolerance are off by up to 10⁻⁴ m from its
//! own at 10⁻¹², with which ours agree to 6·10⁻⁷ m in such robots. A plane may meet a mesh at a vertex in the
//! middle of a flat side, which is on the hull but on no face: MuJoCo's climb ends there with one contact, ours
//! are four at the corners. MuJoCo takes the frame of a geom that is turned by 8·10⁻⁷ rad for that of its body,
//! and moves its vertices by as much. Contacts with terrain are our own (see [`heightfield`]).
//!
//! Where a comparison of numbers that are equal but for round-off decides, contacts may differ: an axis or a
//! center exactly in the plane of a face, boxes of equal size that lie flush after a rotation (four poses in
//! a hundred). At a distance equal to the limit, pairs of the iterative solver have no contact, others have
//! ([`excludes_limit`]). A box balanced on an edge with that exactly level keeps its lower corners, where
//! MuJoCo takes the first four within the limit. Tangent frames are our own.
//!
//! # Limits
//!
//! Planes and heightfields do not collide with each other, and tori only with spheres. Switching features
//! keeps distances continuous, except that contacts of convex shapes are measured along a face up to 0.09 rad
//! off the direction of least depth and jump where another face takes over, that a capsule whose axis pierces
//! a box is measured at its ends or near an edge, that nearly parallel capsules and boxes gain and lose
//! contacts at once, and that boxes prefer a face to edges that separate them by up to a twentieth more;
//! normals and positions may jump. Those of [`soft`] do not.

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
pub mod soft;
pub mod sphere_solid;
mod support;
pub mod torus;

pub use broad_phase::BroadPhase;
pub use collider::{Collider, HeightGrid, Kind};
pub use contact::{Contact, INACTIVE, tangent_frame, tangent_frame_vjp};
pub use dispatch::{MAX_CONTACTS, ShapeBar, collide, collide_vjp, excludes_limit, is_iterated, max_contacts};
pub use hull::Hull;
pub use penalty::{
    ContactDamping, PENALTY_DEFAULTS, PenaltyLaw, normal_force, normal_force_vjp, penalty_force,
    penalty_force_at, penalty_force_at_vjp, penalty_force_vjp,
};
pub use shape::{Heightfield, Mesh, Shape};
pub use soft::{SOFT_REACH, collide_soft, collide_soft_vjp, max_soft_contacts};
