//! Meshes of soft bodies: tetrahedra for solids, triangles for cloth and flat bodies.
//!
//! A mesh is plain data, particles and the elements between them; [`TetMesh::check`] and
//! [`TriangleMesh::check`] say whether a simulation can stand on it. The shapes below are our own, built on
//! grids or on a subdivided icosahedron, so every element is known by counting and no general mesher is
//! needed. Lengths are in m, z is up, solids are centered at the origin unless said otherwise, flat meshes
//! lie in z = 0 with their normals along +z.
//!
//! | shape | elements |
//! |---|---|
//! | [`cloth_grid`] | 2 `nx` `ny` triangles |
//! | [`disk`] | (2 `rings` − 1) `segments` triangles |
//! | [`walker_2d`] | a flat quadruped, 74 vertices and 104 triangles |
//! | [`icosphere`] | 20 · 4ⁿ triangles |
//! | [`box_grid`], [`beam`] | 5 or 6 tetrahedra per cell |
//! | [`solid_icosphere`] | 20 n³ tetrahedra; n = 3: 147 vertices, 540 tetrahedra |
//! | [`gear`] | by default 480 vertices and 1152 tetrahedra |
//! | [`table`] | 204 vertices and 444 tetrahedra |
//!
//! Limits: no mesher for arbitrary surfaces (mesh those with Gmsh; `pullback_scene::mesh` reads its files),
//! linear elements only. The same arguments give the same mesh, bit for bit, vertex order included.
//!
//! ```
//! use pullback_math::Vec3;
//! use pullback_soft::mesh::{Split, box_grid};
//! let block = box_grid(5, 5, 8, Vec3::new(0.5, 0.5, 0.8), Split::Five)?;
//! assert_eq!(block.tets.len(), 1000);
//! assert!((block.volume() - 0.2).abs() < 1e-12);
//! block.check()?;
//! # Ok::<(), pullback_soft::mesh::MeshError>(())
//! ```

mod cloth;
mod disk;
mod error;
mod gear;
mod icosphere;
mod lattice;
mod quality;
mod table;
mod tet;
mod triangle;
mod walker;

pub use cloth::{Diagonals, cloth_grid};
pub use disk::disk;
pub use error::MeshError;
pub use gear::{Gear, gear};
pub use icosphere::{icosphere, solid_icosphere};
pub use lattice::{Split, beam, box_grid};
pub use quality::{DEGENERATE, MAX_COORDINATE};
pub use table::table;
pub use tet::TetMesh;
pub use triangle::TriangleMesh;
pub use walker::walker_2d;
