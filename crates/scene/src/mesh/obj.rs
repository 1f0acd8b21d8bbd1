//! Wavefront OBJ: corners and faces.
//!
//! Read: `v` (a color after the position is allowed and dropped, a weight is divided out) and `f` in all
//! four notations, with negative indices counted from the last vertex so far; polygons are cut into triangles
//! as MuJoCo cuts them, faces without area skipped. All groups and objects of a file become one
//! mesh, in file order. `vt`, `vn`, materials, smoothing, lines and points are skipped, free-form surfaces
//! and unknown keywords are errors. A backslash joins lines.
//!
//! Corners are not merged: indices stay those of the file.

use pullback_math::Vec3;

use super::{MeshError, TriangleMesh, polygon};

/// Reads an OBJ file from its bytes; `file` is the name that errors show.
pub fn parse_obj(bytes: &[u8], file: &str) -> Result<TriangleMesh, MeshError> {
    let mut mesh = TriangleMesh::default();
    let (mut joined, mut work) = (String::new(), 0);
    for (i, raw) in bytes.split(|b| *b == b'\n').enumerate() {
        let number = i + 1;
        // Comments and names may be in any encoding; numbers and keywords are ASCII.
        let text = String::from_utf8_lossy(raw);
        let text = text.split('#').next().unwrap_or("").trim_end();
        if let Some(begin) = text.strip_suffix('\\') {
            joined.push_str(begin);
            joined.push(' ');
            continue;
        }
        joined.push_str(text);
        statement(&joined, &mut mesh, &mut work).map_err(|why| MeshError::line(file, number, why))?;
        joined.clear();
    }
    if !joined.trim().is_empty() {
        return Err(MeshError::Read {
            file: file.into(),
            reason: "the file ends in a continued line".into(),
        });
    }
    if mesh.vertices.is_empty() {
        return Err(MeshError::Read { file: file.into(), reason: "there is no vertex in it".into() });
    }
    Ok(mesh)
}

fn statement(text: &str, mesh: &mut TriangleMesh, work: &mut u64) -> Result<(), String> {
    let mut words = text.split_ascii_whitespace();
    match words.next() {
        None => Ok(()),
        Some("v") => {
            mesh.vertices.push(vertex(words)?);
            Ok(())
        }
        Some("f") => face(words, mesh, work),
        Some(
            "vt" | "vn" | "vp" | "g" | "o" | "s" | "l" | "p" | "mg" | "usemtl" | "mtllib" | "usemap"
            | "maplib",
        ) => Ok(()),
        Some("bevel" | "c_interp" | "d_interp" | "lod" | "shadow_obj" | "trace_obj") => Ok(()),
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            Err(format!("`{other}` is not read; export plain polygons"))
        }
    }
}

fn vertex<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec3<f64>, String> {
    let mut values = [0.0; 7];
    let mut count = 0;
    for word in words {
        let value = word.parse::<f64>().ok().filter(|x| x.is_finite());
        let (Some(slot), Some(value)) = (values.get_mut(count), value) else {
            return Err("a vertex needs three finite numbers, and at most a weight and a color".into());
        };
        *slot = value;
        count += 1;
    }
    let [x, y, z, w, ..] = values;
    match count {
        3 | 6 | 7 => Ok(Vec3::new(x, y, z)),
        4 if w.abs() >= 1e-100 && [x, y, z].iter().all(|c| (c / w).is_finite()) => {
            Ok(Vec3::new(x / w, y / w, z / w))
        }
        _ => Err("a vertex needs three finite numbers, and at most a weight and a color".into()),
    }
}

fn face<'a>(
    words: impl Iterator<Item = &'a str>,
    mesh: &mut TriangleMesh,
    work: &mut u64,
) -> Result<(), String> {
    let count = mesh.vertices.len();
    let index = |word: &str| {
        let first = word.split('/').next().unwrap_or("");
        let written: i64 = first.parse().map_err(|_| "a face needs indices of vertices".to_string())?;
        let zero_based = match written {
            1.. => usize::try_from(written - 1).ok(),
            0 => None,
            _ => usize::try_from(written.unsigned_abs()).ok().and_then(|back| count.checked_sub(back)),
        };
        zero_based.filter(|i| *i < count).ok_or_else(|| format!("vertex {written} of {count} does not exist"))
    };
    let corners = words.map(index).collect::<Result<Vec<usize>, String>>()?;
    // A face of one or two corners has no area; MuJoCo skips it too.
    if corners.len() < 3 {
        return Ok(());
    }
    polygon::cut(&corners, &mesh.vertices, work, &mut mesh.triangles)
}
