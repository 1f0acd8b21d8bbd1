//! Polygons around the origin, lifted along z.

use pullback_math::Vec3;

use crate::mesh::Mesh;

/// The body between two copies of a polygon, half of `height` below and above. The origin sees every corner, and corners
/// run counter-clockwise.
fn extrusion(polygon: &[[f64; 2]], height: f64) -> Mesh {
    let n = polygon.len();
    let level = |z: f64| polygon.iter().map(move |[x, y]| Vec3::new(*x, *y, z));
    let (below, above) = (-0.5 * height, 0.5 * height);
    let centers = [below, above].map(|z| Vec3::new(0.0, 0.0, z));
    let vertices: Vec<Vec3<f64>> = level(below).chain(level(above)).chain(centers).collect();
    let mut faces = Vec::with_capacity(4 * n);
    for i in 0..n {
        let [a, b] = [i, (i + 1) % n];
        let corners = [[2 * n, b, a], [2 * n + 1, n + a, n + b], [a, b, n + b], [a, n + b, n + a]];
        faces.extend(corners.map(|f| f.map(|v| v as u32)));
    }
    Mesh::new(vertices, faces)
}

/// Corners at these radii, evenly around.
fn around(count: usize, radius: impl Fn(usize) -> f64) -> Vec<[f64; 2]> {
    let corner = |i: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / count as f64).sin_cos();
        [radius(i) * cos, radius(i) * sin]
    };
    (0..count).map(corner).collect()
}

/// A prism on a regular polygon.
pub fn prism(sides: usize, radius: f64, height: f64) -> Mesh {
    extrusion(&around(sides, |_| radius), height)
}

/// A star.
pub fn star(points: usize, outer: f64, inner: f64, height: f64) -> Mesh {
    extrusion(&around(2 * points, |i| if i % 2 == 0 { outer } else { inner }), height)
}

/// A gear.
pub fn gear(teeth: usize, outer: f64, inner: f64, height: f64) -> Mesh {
    extrusion(&around(4 * teeth, |i| if i % 4 < 2 { outer } else { inner }), height)
}

/// A cross whose arms reach to `reach` and are `width` wide.
pub fn cross(reach: f64, width: f64, height: f64) -> Mesh {
    let h = 0.5 * width;
    let arm = [[reach, -h], [reach, h], [h, h]];
    // Quarter turns: (x, y) → (−y, x)
    let turned = |turns: usize, p: [f64; 2]| (0..turns).fold(p, |[x, y], _| [-y, x]);
    let corners: Vec<[f64; 2]> = (0..4).flat_map(|turns| arm.map(|p| turned(turns, p))).collect();
    extrusion(&corners, height)
}
