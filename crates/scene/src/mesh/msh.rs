//! MuJoCo's legacy MSH format.
//!
//! Four little-endian `i32` counts (vertices, normals, texture coordinates, faces), then `f32` triples of
//! positions, `f32` triples of normals, `f32` pairs of texture coordinates, and `i32` triples of vertex
//! indices. The length of the file must be exactly what the counts say. Normals and texture coordinates are
//! not kept.

use pullback_math::Vec3;

use super::{MeshError, TriangleMesh};

const HEADER: usize = 16;

/// Reads an MSH file from its bytes; `file` is the name that errors show.
pub fn parse_msh(bytes: &[u8], file: &str) -> Result<TriangleMesh, MeshError> {
    if bytes.starts_with(super::gmsh::HEADER) {
        let reason =
            "this is a mesh of Gmsh, for soft bodies; export the surface as stl or obj for a rigid one";
        return Err(MeshError::line(file, 1, reason));
    }
    let word = |at: usize| bytes.get(at..at + 4).map(|b| [b[0], b[1], b[2], b[3]]);
    let mut counts = [0usize; 4];
    for (i, count) in counts.iter_mut().enumerate() {
        let raw = word(4 * i)
            .ok_or_else(|| MeshError::byte(file, bytes.len(), "the file ends inside the MSH header"))?;
        *count = usize::try_from(i32::from_le_bytes(raw))
            .map_err(|_| MeshError::byte(file, 4 * i, "a count in the header is negative"))?;
    }
    let [vertices, normals, texcoords, faces] = counts;

    // Sizes in i128 cannot overflow: counts are below 2³¹.
    let expected =
        HEADER as i128 + 12 * (vertices as i128 + normals as i128 + faces as i128) + 8 * texcoords as i128;
    if expected != bytes.len() as i128 {
        let reason = format!(
            "{vertices} vertices, {normals} normals, {texcoords} texture coordinates and {faces} faces need {expected} \
             bytes, but there are {}; only MuJoCo's legacy format is read",
            bytes.len()
        );
        return Err(MeshError::byte(file, 0, reason));
    }
    if vertices == 0 {
        return Err(MeshError::byte(file, 0, "there is no vertex in it"));
    }

    let positions = &bytes[HEADER..HEADER + 12 * vertices];
    let mut mesh = TriangleMesh::default();
    for (i, record) in positions.chunks_exact(12).enumerate() {
        let number = |at: usize| {
            f64::from(f32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]))
        };
        let v = Vec3::new(number(0), number(4), number(8));
        if !(v.x.is_finite() && v.y.is_finite() && v.z.is_finite()) {
            return Err(MeshError::byte(file, HEADER + 12 * i, format!("vertex {i} is not finite")));
        }
        mesh.vertices.push(v);
    }
    let first_face = bytes.len() - 12 * faces;
    for (i, record) in bytes[first_face..].chunks_exact(12).enumerate() {
        let mut triangle = [0; 3];
        for (k, slot) in triangle.iter_mut().enumerate() {
            let at = 4 * k;
            let written = i32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
            *slot = usize::try_from(written).ok().filter(|v| *v < vertices).ok_or_else(|| {
                let reason = format!("face {i} names vertex {written} of {vertices}");
                MeshError::byte(file, first_face + 12 * i + at, reason)
            })?;
        }
        mesh.triangles.push(triangle);
    }
    Ok(mesh)
}
