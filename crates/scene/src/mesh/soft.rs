//! Meshes of soft bodies from files.
//!
//! | extension | becomes |
//! |---|---|
//! | `.msh` that begins with `$MeshFormat` | Gmsh: a solid if it has tetrahedra, else a sheet |
//! | any other `.msh` | MuJoCo's legacy format: a sheet |
//! | `.obj`, `.stl` | a sheet |
//!
//! What comes back has passed the check of [`TetMesh::check`] or [`TriangleMesh::check`]. Vertices that no
//! element uses are dropped; the others keep their order. Sheets of OBJ and MSH files are not sewn: two
//! vertices at one place stay two, and the cloth comes apart there. Elements are never turned round: a file
//! whose tetrahedra are inside out is refused.

use std::path::Path;

use pullback_soft::mesh::{MeshError as Fault, TetMesh, TriangleMesh};

use super::gmsh::{HEADER, parse_gmsh};
use super::{MeshError, parse_msh, parse_obj, parse_stl, read_bytes};

/// A mesh that is either filled or hollow.
#[derive(Clone, Debug, PartialEq)]
pub enum SoftMesh {
    /// Tetrahedra: an elastic body.
    Solid(TetMesh),
    /// Triangles: cloth, or a flat body.
    Sheet(TriangleMesh),
}

/// Reads a Gmsh, OBJ, STL or MuJoCo MSH file as a soft body, told apart by extension and first bytes.
pub fn read_soft(path: impl AsRef<Path>) -> Result<SoftMesh, MeshError> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if !["msh", "obj", "stl"].contains(&extension.as_str()) {
        let reason =
            format!("soft mesh format `{extension}` is not read; convert it to Gmsh's msh, or obj for cloth");
        return Err(MeshError::Read { file, reason });
    }
    parse_soft(&read_bytes(path, &file)?, &extension, &file)
}

/// Reads a soft body from the bytes of a file with this extension; `file` is the name that errors show.
pub fn parse_soft(bytes: &[u8], extension: &str, file: &str) -> Result<SoftMesh, MeshError> {
    let surface = match extension {
        "msh" if bytes.starts_with(HEADER) => return parse_gmsh(bytes, file),
        "msh" => parse_msh(bytes, file)?,
        "stl" => parse_stl(bytes, file)?,
        "obj" => parse_obj(bytes, file)?,
        other => {
            let reason = format!("`{other}` is no extension of a soft mesh; msh, obj and stl are");
            return Err(MeshError::Read { file: file.into(), reason });
        }
    };
    let sheet = TriangleMesh { positions: surface.vertices, triangles: surface.triangles };
    let mesh = SoftMesh::Sheet(sheet.compacted());
    check(&mesh, file, |element| format!("triangle {element}"))?;
    Ok(mesh)
}

/// Checks a mesh as it came from a file; `place` says where an element stands in it.
pub(super) fn check(mesh: &SoftMesh, file: &str, place: impl Fn(usize) -> String) -> Result<(), MeshError> {
    let checked = match mesh {
        SoftMesh::Solid(mesh) => mesh.check(),
        SoftMesh::Sheet(mesh) => mesh.check(),
    };
    checked.map_err(|fault| {
        let element = match &fault {
            Fault::Index { element, .. }
            | Fault::Repeated { element, .. }
            | Fault::Degenerate { element, .. }
            | Fault::Inverted { element } => Some(*element),
            Fault::Overlap { second, .. } => Some(*second),
            _ => None,
        };
        let reason = fault.to_string();
        match element {
            Some(element) => MeshError::Format { file: file.into(), place: place(element), reason },
            None => MeshError::Read { file: file.into(), reason },
        }
    })
}
