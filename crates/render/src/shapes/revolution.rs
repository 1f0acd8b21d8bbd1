//! Bodies of revolution around z.

use pullback_math::Vec3;

use crate::mesh::Mesh;

/// The body whose profile (distance from the axis, height) is turned around z in `segments` steps. The profile runs from
/// the axis below (or inside) to the axis above, with its inner points off the axis.
pub fn revolution(profile: &[[f64; 2]], segments: usize) -> Mesh {
    let rings = profile.len() - 2;
    let mut vertices = Vec::with_capacity(rings * segments + 2);
    for [r, z] in &profile[1..=rings] {
        for s in 0..segments {
            let (sin, cos) = (std::f64::consts::TAU * s as f64 / segments as f64).sin_cos();
            vertices.push(Vec3::new(r * cos, r * sin, *z));
        }
    }
    let axis = |[_, z]: [f64; 2]| Vec3::new(0.0, 0.0, z);
    let (below, above) = (vertices.len() as u32, vertices.len() as u32 + 1);
    vertices.extend([axis(profile[0]), axis(profile[rings + 1])]);

    let at = |ring: usize, s: usize| (ring * segments + s % segments) as u32;
    let mut faces = Vec::with_capacity(2 * rings * segments);
    for s in 0..segments {
        faces.push([below, at(0, s + 1), at(0, s)]);
        for ring in 1..rings {
            let [a, b, c, d] = [at(ring - 1, s), at(ring - 1, s + 1), at(ring, s + 1), at(ring, s)];
            faces.extend([[a, b, c], [a, c, d]]);
        }
        faces.push([above, at(rings - 1, s), at(rings - 1, s + 1)]);
    }
    Mesh::new(vertices, faces)
}

/// A cylinder around z.
pub fn cylinder(segments: usize, radius: f64, height: f64) -> Mesh {
    frustum(segments, radius, radius, height)
}

/// A cone around z with its tip above.
pub fn cone(segments: usize, radius: f64, height: f64) -> Mesh {
    frustum(segments, radius, 0.0, height)
}

/// A pyramid or cone around z with its tip cut off, unless `top` is 0. `segments` is the number of its sides.
pub fn frustum(segments: usize, bottom: f64, top: f64, height: f64) -> Mesh {
    let half = 0.5 * height;
    let mut profile = vec![[0.0, -half], [bottom, -half]];
    if top > 0.0 {
        profile.push([top, half]);
    }
    profile.push([0.0, half]);
    revolution(&profile, segments)
}

/// A cylinder of `length` between half spheres, around z. `rings` circles make up each half sphere.
pub fn capsule(segments: usize, rings: usize, radius: f64, length: f64) -> Mesh {
    let quarter = std::f64::consts::FRAC_PI_2;
    let half_sphere: Vec<[f64; 2]> = (0..=rings)
        .map(|i| (quarter * i as f64 / rings as f64).sin_cos())
        .map(|(sin, cos)| [radius * sin, radius * cos + 0.5 * length])
        .collect();
    let below = half_sphere.iter().map(|[r, z]| [*r, -*z]);
    let profile: Vec<[f64; 2]> = below.chain(half_sphere.iter().rev().copied()).collect();
    revolution(&profile, segments)
}

/// A waisted vase that is hollow from above.
pub fn vase(segments: usize) -> Mesh {
    let outside =
        [[0.0, -1.0], [0.5, -1.0], [0.72, -0.55], [0.62, -0.05], [0.36, 0.4], [0.4, 0.7], [0.58, 0.95]];
    let inside = [[0.5, 0.97], [0.3, 0.68], [0.27, 0.4], [0.5, -0.1], [0.0, -0.75]];
    revolution(&[&outside[..], &inside[..]].concat(), segments)
}
