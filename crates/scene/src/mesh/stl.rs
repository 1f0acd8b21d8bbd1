//! STL, binary and text.
//!
//! A file is binary if its length is exactly what the triangle count at byte 80 announces, text if it begins
//! with `solid`; in this order, since many binary files begin with `solid` too. Normals are not read: the
//! order of the corners says the same. STL repeats a corner in every triangle around it; equal corners are
//! merged, by exact coordinates with -0 = 0, and triangles that collapse by it are dropped.

use std::collections::HashMap;

use pullback_math::Vec3;

use super::{MeshError, TriangleMesh};

const HEADER: usize = 84;
const RECORD: usize = 50;

/// Reads an STL file from its bytes; `file` is the name that errors show.
pub fn parse_stl(bytes: &[u8], file: &str) -> Result<TriangleMesh, MeshError> {
    let announced = bytes.get(80..HEADER).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    if announced.is_some_and(|n| n.checked_mul(RECORD) == bytes.len().checked_sub(HEADER)) {
        return parse_binary(bytes, file);
    }
    if bytes.trim_ascii_start().get(..5).is_some_and(|s| s.eq_ignore_ascii_case(b"solid")) {
        return parse_text(bytes, file);
    }
    Err(match announced {
        None => MeshError::byte(file, bytes.len(), "the file ends inside the STL header"),
        Some(n) => MeshError::byte(
            file,
            bytes.len(),
            format!(
                "the header announces {n} triangles, but there are bytes for {}; export the file again",
                (bytes.len() - HEADER) / RECORD
            ),
        ),
    })
}

fn parse_binary(bytes: &[u8], file: &str) -> Result<TriangleMesh, MeshError> {
    let mut merge = Merge::default();
    for (i, record) in bytes[HEADER..].chunks_exact(RECORD).enumerate() {
        let number = |at: usize| {
            f64::from(f32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]))
        };
        let corners = [12, 24, 36].map(|at| Vec3::new(number(at), number(at + 4), number(at + 8)));
        let place = || MeshError::byte(file, HEADER + i * RECORD, format!("triangle {i} is not finite"));
        merge.add(corners).ok_or_else(place)?;
    }
    merge.finish(file)
}

fn parse_text(bytes: &[u8], file: &str) -> Result<TriangleMesh, MeshError> {
    let mut merge = Merge::default();
    let mut corners = Vec::with_capacity(3);
    let (mut in_facet, mut in_loop, mut closed) = (false, false, true);
    let mut last = 0;
    for (i, line) in bytes.split(|b| *b == b'\n').enumerate() {
        let number = i + 1;
        let refuse = |why: &str| Err(MeshError::line(file, number, why));
        let Ok(text) = std::str::from_utf8(line) else {
            // Names of solids may be in any encoding; numbers may not.
            if line.trim_ascii_start().starts_with(b"solid")
                || line.trim_ascii_start().starts_with(b"endsolid")
            {
                continue;
            }
            return refuse("not text, and not as long as its binary header says");
        };
        let mut words = text.split_ascii_whitespace();
        let Some(keyword) = words.next() else { continue };
        last = number;
        match keyword.to_ascii_lowercase().as_str() {
            "solid" if !in_facet => closed = false,
            "endsolid" if !in_facet => closed = true,
            "facet" if !in_facet => in_facet = true,
            "outer" if in_facet && !in_loop && corners.is_empty() => in_loop = true,
            "vertex" if in_loop && corners.len() < 3 => {
                let mut read = || words.next().and_then(|w| w.parse::<f64>().ok());
                match (read(), read(), read()) {
                    (Some(x), Some(y), Some(z)) => corners.push(Vec3::new(x, y, z)),
                    _ => return refuse("a vertex needs three numbers"),
                }
            }
            "endloop" if in_loop && corners.len() == 3 => in_loop = false,
            "endfacet" if in_facet && !in_loop && corners.len() == 3 => {
                let corners = [corners.remove(0), corners.remove(0), corners.remove(0)];
                if merge.add(corners).is_none() {
                    return refuse("the triangle is not finite");
                }
                in_facet = false;
            }
            other => {
                let other: String = other.chars().take(40).collect();
                return refuse(&format!(
                    "`{other}` does not belong here; a facet is a loop of three vertices"
                ));
            }
        }
    }
    if in_facet || !closed {
        return Err(MeshError::line(file, last, "the file ends before `endsolid`"));
    }
    merge.finish(file)
}

/// Collects triangles and merges equal corners.
#[derive(Default)]
struct Merge {
    mesh: TriangleMesh,
    index: HashMap<[u64; 3], usize>,
}

impl Merge {
    fn add(&mut self, corners: [Vec3<f64>; 3]) -> Option<()> {
        let mut triangle = [0; 3];
        for (slot, v) in triangle.iter_mut().zip(corners) {
            if !(v.x.is_finite() && v.y.is_finite() && v.z.is_finite()) {
                return None;
            }
            let next = self.mesh.vertices.len();
            *slot = *self.index.entry(position_key(v)).or_insert(next);
            if *slot == next {
                self.mesh.vertices.push(v);
            }
        }
        let [a, b, c] = triangle;
        if a != b && b != c && c != a {
            self.mesh.triangles.push(triangle);
        }
        Some(())
    }

    fn finish(self, file: &str) -> Result<TriangleMesh, MeshError> {
        if self.mesh.triangles.is_empty() {
            return Err(MeshError::Read { file: file.into(), reason: "there is no triangle in it".into() });
        }
        Ok(self.mesh)
    }
}

/// Bits that are equal exactly when positions are; adding 0 makes -0 to 0.
pub(super) fn position_key(v: Vec3<f64>) -> [u64; 3] {
    [v.x, v.y, v.z].map(|c| (c + 0.0).to_bits())
}
