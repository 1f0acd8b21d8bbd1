//! Triangle meshes: reading them, weighing them, and their convex hulls; and the meshes of soft bodies.
//!
//! [`read`] picks the reader by the file's extension: STL (binary or text), OBJ, Collada, or MuJoCo's legacy
//! MSH. Each reader is also available on bytes, under the name that errors shall show. [`read_soft`] reads
//! cloth and elastic solids, from Gmsh files as well.
//!
//! The readers are ours, although crates exist. `stl_io` takes any binary file whose header happens to begin
//! with `solid` for text; `tobj` reads coordinates as `f32`, wraps a negative index that points before the
//! first vertex, and silently skips what it does not know; neither says at which line or byte a file is
//! broken. The formats are small enough that doing better costs less than working around that.
//!
//! Hostile files: a file larger than [`MAX_BYTES`] is refused before it is read, counts in headers are
//! compared with the bytes that are there before anything is allocated, and every index and every coordinate
//! is checked. Memory is at most a small multiple of the file's size.

use std::path::Path;

use pullback_math::{Quat, Vec3};
use thiserror::Error;

mod dae;
pub mod frame;
mod gmsh;
mod gmsh_cursor;
pub mod hull;
mod loader;
pub mod mass;
mod msh;
mod obj;
mod orient;
mod polygon;
mod soft;
mod stl;

pub use dae::parse_dae;
pub use frame::principal_axes;
pub use gmsh::parse_gmsh;
pub use hull::{Hull, convex_hull};
pub use loader::MeshFiles;
pub use mass::{MassProperties, MeshInertia, mass_properties};
pub use msh::parse_msh;
pub use obj::parse_obj;
pub use soft::{SoftMesh, parse_soft, read_soft};
pub use stl::parse_stl;

/// Largest mesh file that is read, bytes: 256 MiB, five million binary STL triangles.
pub const MAX_BYTES: u64 = 256 << 20;

/// Corners and triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleMesh {
    /// Corners, in the unit of the file (m unless scaled).
    pub vertices: Vec<Vec3<f64>>,
    /// Triangles as indices of corners, counter-clockwise seen from outside. May be empty: a cloud of points.
    pub triangles: Vec<[usize; 3]>,
}

/// Why a mesh cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MeshError {
    /// The file cannot be opened, or is too large, or is of no known kind.
    #[error("{file}: {reason}")]
    Read {
        /// Path as given.
        file: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The contents make no sense.
    #[error("{file}: {place}: {reason}")]
    Format {
        /// Path as given.
        file: String,
        /// Line or byte.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The shape has no volume, no hull, or no inside.
    #[error("{0}")]
    Geometry(String),
}

impl MeshError {
    fn line(file: &str, line: usize, reason: impl Into<String>) -> Self {
        MeshError::Format { file: file.into(), place: format!("line {line}"), reason: reason.into() }
    }
    fn byte(file: &str, byte: usize, reason: impl Into<String>) -> Self {
        MeshError::Format { file: file.into(), place: format!("byte {byte}"), reason: reason.into() }
    }
    fn geometry(reason: impl Into<String>) -> Self {
        MeshError::Geometry(reason.into())
    }
}

/// Reads an STL, OBJ, DAE or MSH file, told apart by extension.
pub fn read(path: impl AsRef<Path>) -> Result<TriangleMesh, MeshError> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let refuse = |reason: String| MeshError::Read { file: file.clone(), reason };
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let parse = match extension.as_str() {
        "stl" => parse_stl,
        "obj" => parse_obj,
        "msh" => parse_msh,
        "dae" => parse_dae,
        other => {
            return Err(refuse(format!(
                "mesh format `{other}` is not read; convert it to stl, obj, dae or msh"
            )));
        }
    };
    parse(&read_bytes(path, &file)?, &file)
}

/// The contents of a mesh file, refused before reading if there is too much of it.
fn read_bytes(path: &Path, file: &str) -> Result<Vec<u8>, MeshError> {
    let refuse = |reason: String| MeshError::Read { file: file.into(), reason };
    pullback_core::files::read_at_most(path, MAX_BYTES).map_err(|e| refuse(e.to_string()))
}

impl TriangleMesh {
    /// The mesh with each coordinate multiplied; a mirroring scale turns the triangles so that they still
    /// face outward.
    pub fn scaled(&self, scale: Vec3<f64>) -> TriangleMesh {
        let mut mesh = self.clone();
        for v in &mut mesh.vertices {
            *v = Vec3::new(v.x * scale.x, v.y * scale.y, v.z * scale.z);
        }
        if scale.x * scale.y * scale.z < 0.0 {
            for t in &mut mesh.triangles {
                t.swap(1, 2);
            }
        }
        mesh
    }

    /// The same mesh seen from a frame that stands at `position` with `orientation` in the mesh's frame.
    pub fn in_frame(&self, position: Vec3<f64>, orientation: Quat<f64>) -> TriangleMesh {
        let vertices = self.vertices.iter().map(|v| orientation.inverse_rotate(*v - position)).collect();
        TriangleMesh { vertices, triangles: self.triangles.clone() }
    }

    /// The mesh as the engine's models hold it: named, with its convex hull.
    pub fn into_model_mesh(
        self,
        name: impl Into<String>,
    ) -> Result<pullback_articulated::model::Mesh, MeshError> {
        let hull = convex_hull(&self.vertices)?;
        let faces = pullback_articulated::model::Hull::new(&self.vertices, &hull.triangles);
        let triangles = if self.triangles.is_empty() { hull.triangles } else { self.triangles };
        Ok(pullback_articulated::model::Mesh {
            name: name.into(),
            vertices: self.vertices,
            triangles,
            hull: faces,
        })
    }

    /// The three corners of a triangle.
    pub fn corners(&self, [a, b, c]: [usize; 3]) -> [Vec3<f64>; 3] {
        [self.vertices[a], self.vertices[b], self.vertices[c]]
    }
}
