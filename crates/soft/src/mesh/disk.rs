//! A round sheet.

use std::f64::consts::TAU;

use pullback_math::Vec3;

use super::error::{check_counts, check_lengths};
use super::{MeshError, TriangleMesh};

/// A disk of `radius`, m, in z = 0 facing +z: a fan around the center, then rings of `segments` cells,
/// equally wide.
///
/// Vertex 0 is the center; ring r = 1 … `rings`, segment s has index 1 + (r − 1) `segments` + s and stands at
/// angle 2π s / `segments`. Around 6 `rings` segments make the outer triangles equilateral and the inner ones
/// thin.
pub fn disk(rings: usize, segments: usize, radius: f64) -> Result<TriangleMesh, MeshError> {
    check_counts("disk", &[("rings", rings), ("segments", segments)], 2)?;
    check_lengths("disk", &[("radius", radius)])?;
    if segments < 3 {
        return Err(MeshError::Shape { shape: "disk", reason: "`segments` must be at least 3".into() });
    }
    let mut positions = vec![Vec3::zero()];
    for ring in 1..=rings {
        let r = radius * ring as f64 / rings as f64;
        positions.extend((0..segments).map(|s| {
            let (sin, cos) = (TAU * s as f64 / segments as f64).sin_cos();
            Vec3::new(r * cos, r * sin, 0.0)
        }));
    }
    let at = |ring: usize, s: usize| 1 + (ring - 1) * segments + s % segments;
    let mut triangles: Vec<[usize; 3]> = (0..segments).map(|s| [0, at(1, s), at(1, s + 1)]).collect();
    for ring in 1..rings {
        for s in 0..segments {
            let [a, b] = [at(ring, s), at(ring, s + 1)];
            let [c, d] = [at(ring + 1, s), at(ring + 1, s + 1)];
            // a, b inside and c, d outside; both diagonals of such a cell are equally long.
            triangles.extend([[a, c, d], [a, d, b]]);
        }
    }
    Ok(TriangleMesh { positions, triangles })
}
