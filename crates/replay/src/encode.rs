//! The motion as text: arrays of little-endian numbers in base64, and a JSON object that holds them.

use crate::model::{Replay, ReplayShape, ReplaySoft, Up};
use serde_json::{Value, json};

/// What the page reads: names and shapes as JSON, everything per frame as base64.
pub(crate) fn scene(replay: &Replay) -> Value {
    let frames = &replay.frames;
    let poses = || frames.iter().flat_map(|frame| &frame.poses);
    let contacts = || frames.iter().flat_map(|frame| &frame.contacts);
    let contact_values = contacts().flat_map(|c| {
        let [px, py, pz] = c.position;
        let [nx, ny, nz] = c.normal;
        let [fx, fy, fz] = c.force;
        [px, py, pz, nx, ny, nz, fx, fy, fz, c.distance]
    });
    json!({
        "fps": replay.fps,
        "up": match replay.up { Up::Y => "y", Up::Z => "z" },
        "bodies": replay.bodies,
        "geoms": replay.geoms.iter().map(geom).collect::<Vec<_>>(),
        "soft": replay.soft.iter().map(soft).collect::<Vec<_>>(),
        "frames": frames.len(),
        "times": base64(&frames.iter().flat_map(|frame| frame.time.to_le_bytes()).collect::<Vec<u8>>()),
        "positions": f32s(poses().flat_map(|(position, _)| *position)),
        "orientations": base64(&poses().flat_map(|(_, q)| quaternion_bytes(*q)).collect::<Vec<u8>>()),
        "contactCounts": u32s(frames.iter().map(|frame| frame.contacts.len() as u32)),
        "contacts": f32s(contact_values),
        "series": replay.series.iter()
            .map(|(name, values)| json!({ "name": name, "values": f32s(values.iter().copied()) }))
            .collect::<Vec<_>>(),
    })
}

fn geom(geom: &crate::ReplayGeom) -> Value {
    json!({
        "name": geom.name,
        "body": geom.body,
        "shape": shape(&geom.shape),
        "position": geom.position,
        "orientation": unit(geom.orientation),
        "rgba": geom.rgba,
    })
}

/// Vertices as 16-bit fractions of the box they move in, low corner 0, high corner 65535.
fn soft(soft: &ReplaySoft) -> Value {
    let all = || soft.vertices.iter().flatten();
    let low: [f64; 3] = std::array::from_fn(|k| all().map(|v| v[k]).fold(f64::INFINITY, f64::min));
    let high: [f64; 3] = std::array::from_fn(|k| all().map(|v| v[k]).fold(f64::NEG_INFINITY, f64::max));
    let size: [f64; 3] = std::array::from_fn(|k| if high[k] > low[k] { high[k] - low[k] } else { 1.0 });
    let fraction = |v: &[f64; 3], k: usize| ((v[k] - low[k]) / size[k] * 65535.0).round() as u16;
    let bytes = all().flat_map(|v| [0, 1, 2].map(|k| fraction(v, k))).flat_map(u16::to_le_bytes);
    json!({
        "name": soft.name,
        "rgba": soft.rgba,
        "count": soft.vertices.first().map_or(0, Vec::len),
        "low": low.map(|x| if x.is_finite() { x } else { 0.0 }),
        "size": size,
        "triangles": u32s(soft.triangles.iter().flatten().copied()),
        "lines": u32s(soft.lines.iter().flatten().copied()),
        "dots": u32s(soft.dots.iter().copied()),
        "dotRadius": soft.dot_radius,
        "vertices": base64(&bytes.collect::<Vec<u8>>()),
    })
}

fn shape(shape: &ReplayShape) -> Value {
    match shape {
        ReplayShape::Plane { half_x, half_y } => json!({ "kind": "plane", "half": [half_x, half_y] }),
        ReplayShape::Sphere { radius } => json!({ "kind": "ellipsoid", "radii": [radius, radius, radius] }),
        ReplayShape::Capsule { radius, half_length } => {
            json!({ "kind": "capsule", "radius": radius, "halfLength": half_length })
        }
        ReplayShape::Cylinder { radius, half_length } => {
            json!({ "kind": "cylinder", "radius": radius, "halfLength": half_length })
        }
        ReplayShape::Ellipsoid { radii } => json!({ "kind": "ellipsoid", "radii": radii }),
        ReplayShape::Torus { ring, tube } => json!({ "kind": "torus", "ring": ring, "tube": tube }),
        ReplayShape::Box { half } => json!({ "kind": "box", "half": half }),
        ReplayShape::Mesh { vertices, triangles } => json!({
            "kind": "mesh",
            "vertices": f32s(vertices.iter().flatten().copied()),
            "triangles": u32s(triangles.iter().flatten().copied()),
        }),
    }
}

fn unit(q: [f64; 4]) -> [f64; 4] {
    let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    q.map(|c| c / norm)
}

/// A unit quaternion in four 16-bit integers, 1 being 32767.
fn quaternion_bytes(q: [f64; 4]) -> impl Iterator<Item = u8> {
    unit(q).into_iter().flat_map(|c| ((c * 32767.0).round() as i16).to_le_bytes())
}

fn f32s(values: impl Iterator<Item = f64>) -> String {
    base64(&values.flat_map(|v| (v as f32).to_le_bytes()).collect::<Vec<u8>>())
}

fn u32s(values: impl Iterator<Item = u32>) -> String {
    base64(&values.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |k: usize| u32::from(chunk.get(k).copied().unwrap_or(0));
        let group = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { DIGITS[index as usize] as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, ReplayGeom};

    #[test]
    fn base64_agrees_with_the_vectors_of_rfc_4648() {
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in vectors.iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), *expected);
        }
    }

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(f32s([1.0].into_iter()), base64(&[0, 0, 128, 63]));
        assert_eq!(u32s([258].into_iter()), base64(&[2, 1, 0, 0]));
    }

    #[test]
    fn quaternions_are_normalized_and_keep_four_digits() {
        let bytes: Vec<u8> = quaternion_bytes([3.0, 0.0, -4.0, 0.0]).collect();
        let back: Vec<f64> =
            bytes.chunks(2).map(|b| f64::from(i16::from_le_bytes([b[0], b[1]])) / 32767.0).collect();
        for (found, expected) in back.iter().zip([0.6, 0.0, -0.8, 0.0]) {
            assert!((found - expected).abs() < 2e-5, "{found} is not {expected}");
        }
    }

    #[test]
    fn soft_vertices_fill_their_box() {
        let vertices = vec![vec![[-1.0, 2.0, 5.0], [1.0, 2.0, 6.0]], vec![[0.0, 2.0, 5.25], [1.0, 2.0, 6.0]]];
        let value = soft(&ReplaySoft { vertices, ..ReplaySoft::default() });
        assert_eq!((&value["low"], &value["size"]), (&json!([-1.0, 2.0, 5.0]), &json!([2.0, 1.0, 1.0])));
        let fractions = [0, 0, 0, 65535, 0, 65535, 32768, 0, 16384, 65535, 0, 65535];
        let bytes: Vec<u8> = fractions.into_iter().flat_map(u16::to_le_bytes).collect();
        assert_eq!(value["vertices"], base64(&bytes));
    }

    #[test]
    fn a_thousand_frames_of_twenty_bodies_stay_below_a_megabyte() {
        let mut replay = Replay::new("long", 100.0);
        replay.bodies = (0..20).map(|k| format!("body {k}")).collect();
        replay.geoms =
            (0..20).map(|k| ReplayGeom::new("g", k, ReplayShape::Sphere { radius: 0.1 })).collect();
        let pose = ([0.123; 3], [0.5; 4]);
        replay.frames = (0..1000)
            .map(|k| Frame { time: k as f64 / 100.0, poses: vec![pose; 20], contacts: Vec::new() })
            .collect();
        let size = replay.to_html().unwrap().len();
        assert!(size < 1_000_000, "{size} bytes");
    }
}
