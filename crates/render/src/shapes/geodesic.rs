//! Geodesic spheres, and bodies whose surface is seen from one point inside.

use std::collections::HashMap;

use pullback_math::Vec3;

use crate::mesh::Mesh;

/// A sphere of 20 · 4ⁿ faces: an icosahedron whose edges are halved n times. Radius in m.
pub fn sphere(subdivisions: usize, radius: f64) -> Mesh {
    star_shaped(subdivisions, |direction| direction * radius)
}

/// A body whose surface lies at `place(n)` in the unit direction n from the origin.
pub fn star_shaped(subdivisions: usize, place: impl Fn(Vec3<f64>) -> Vec3<f64>) -> Mesh {
    let (mut directions, mut faces) = icosahedron();
    for _ in 0..subdivisions {
        (directions, faces) = halved(directions, &faces);
    }
    Mesh::new(directions.into_iter().map(place).collect(), faces)
}

/// Two bulges and a waist between them.
pub fn peanut(subdivisions: usize) -> Mesh {
    star_shaped(subdivisions, |n| n * (0.45 + 0.55 * n.x * n.x))
}

/// A sitting body with a head, two ears and a tail: bulges of a ball around their directions.
pub fn bunny(subdivisions: usize) -> Mesh {
    // Direction, height and sharpness of each bulge.
    let bulges = [
        (Vec3::new(0.75, 0.0, 0.65), 0.5, 7.0),
        (Vec3::new(0.1, 0.42, 0.9), 0.75, 26.0),
        (Vec3::new(0.1, -0.42, 0.9), 0.75, 26.0),
        (Vec3::new(-1.0, 0.0, -0.3), 0.22, 20.0),
        (Vec3::new(0.8, 0.45, -0.6), 0.22, 14.0),
        (Vec3::new(0.8, -0.45, -0.6), 0.22, 14.0),
    ];
    star_shaped(subdivisions, |n| {
        let bulge = |(at, height, sharpness): (Vec3<f64>, f64, f64)| {
            height * (sharpness * (n.dot(at.normalize()) - 1.0)).exp()
        };
        n * (0.55 + bulges.into_iter().map(bulge).sum::<f64>())
    })
}

/// Corners (0, ±1, ±φ) and their rotations, and the triples of them at distance 2.
fn icosahedron() -> (Vec<Vec3<f64>>, Vec<[u32; 3]>) {
    let golden = 0.5 * (1.0 + 5_f64.sqrt());
    let signs = [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)];
    let corners: Vec<Vec3<f64>> = signs
        .into_iter()
        .flat_map(|(a, b)| [Vec3::new(0.0, a, b), Vec3::new(a, b, 0.0), Vec3::new(b, 0.0, a)])
        .collect();
    let near = |i: usize, j: usize| (corners[i] - corners[j]).norm_squared() < 5.0;
    let mut faces = Vec::new();
    for i in 0..12 {
        for j in (i + 1..12).filter(|j| near(i, *j)) {
            for k in (j + 1..12).filter(|k| near(i, *k) && near(j, *k)) {
                let outward = corners[i].cross(corners[j]).dot(corners[k]) > 0.0;
                let [i, j, k] = [i, j, k].map(|v| v as u32);
                faces.push(if outward { [i, j, k] } else { [i, k, j] });
            }
        }
    }
    (corners.into_iter().map(Vec3::normalize).collect(), faces)
}

/// Each face cut in four by the middles of its edges, which move out to the sphere.
fn halved(mut directions: Vec<Vec3<f64>>, faces: &[[u32; 3]]) -> (Vec<Vec3<f64>>, Vec<[u32; 3]>) {
    let mut middles = HashMap::new();
    let mut finer = Vec::with_capacity(4 * faces.len());
    for [a, b, c] in faces.iter().copied() {
        let mut middle = |p: u32, q: u32| {
            *middles.entry((p.min(q), p.max(q))).or_insert_with(|| {
                directions.push((directions[p as usize] + directions[q as usize]).normalize());
                directions.len() as u32 - 1
            })
        };
        let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
        finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
    }
    (directions, finer)
}
