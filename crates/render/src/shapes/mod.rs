//! Meshes made by formulas: closed, seen from outside counter-clockwise, around the origin, z up.

mod extrusion;
mod geodesic;
mod revolution;
mod sweep;

use pullback_core::registry::Entry;
use pullback_math::Vec3;

pub use extrusion::{cross, gear, prism, star};
pub use geodesic::{bunny, peanut, sphere, star_shaped};
pub use revolution::{capsule, cone, cylinder, frustum, revolution, vase};
pub use sweep::{knot, spring, sweep_closed, torus};

use crate::mesh::Mesh;

/// A shape of at most 250 vertices, about 2 m across.
pub type Shape = fn() -> Mesh;

/// Shapes by name.
pub const SHAPES: &[Entry<Shape>] = &[
    Entry::new("box", "box with a square base", || cuboid(Vec3::new(1.4, 1.4, 1.0))),
    Entry::new("sphere", "geodesic sphere", || sphere(2, 1.0)),
    Entry::new("tetrahedron", "four faces", || frustum(3, 1.0, 0.0, 1.4)),
    Entry::new("pyramid", "pyramid on a square", || frustum(4, 1.0, 0.0, 1.4)),
    Entry::new("prism", "prism on a hexagon", || prism(6, 0.9, 1.0)),
    Entry::new("cylinder", "round cylinder", || cylinder(32, 0.8, 1.6)),
    Entry::new("cone", "round cone", || cone(32, 0.9, 1.6)),
    Entry::new("capsule", "cylinder between half spheres", || capsule(20, 5, 0.5, 1.0)),
    Entry::new("torus", "ring", || torus(20, 12, 0.75, 0.25)),
    Entry::new("vase", "waisted vase with a hollow", || vase(18)),
    Entry::new("star", "star of five points", || star(5, 1.0, 0.45, 0.5)),
    Entry::new("cross", "upright cross", || cross(1.0, 0.35, 0.5)),
    Entry::new("gear", "gear of twelve teeth", || gear(12, 1.0, 0.75, 0.4)),
    Entry::new("knot", "trefoil knot", || knot(40, 6, 0.3, 0.14)),
    Entry::new("spring", "closed spring", || spring(48, 5, 6, 0.75, 0.2, 0.1)),
    Entry::new("peanut", "ball with a waist", || peanut(2)),
    Entry::new("bunny", "body with head, ears and tail", || bunny(2)),
];

/// A box with these lengths of its edges, m. Each side shows a whole texture.
pub fn cuboid(size: Vec3<f64>) -> Mesh {
    let h = size * 0.5;
    let sign = |i: usize, bit: usize| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
    let vertices = (0..8).map(|i| Vec3::new(h.x * sign(i, 0), h.y * sign(i, 1), h.z * sign(i, 2))).collect();
    // Corners of each side, counter-clockwise from its lower left.
    let sides: [[u32; 4]; 6] =
        [[0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6], [4, 5, 7, 6], [2, 3, 1, 0]];
    let [a, b, c, d] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let faces = sides.iter().flat_map(|[p, q, r, s]| [[*p, *q, *r], [*p, *r, *s]]).collect();
    let uv = sides.iter().flat_map(|_| [[a, b, c], [a, c, d]]).collect();
    Mesh::with_uv(vertices, faces, uv)
}

/// A rectangle of `nx` × `ny` fields in the plane z = 0, seen from above, with one texture over all. Not closed.
pub fn rectangle(nx: usize, ny: usize, width: f64, depth: f64) -> Mesh {
    let place = |i: usize, j: usize| [i as f64 / nx as f64, j as f64 / ny as f64];
    let vertices = (0..(nx + 1) * (ny + 1)).map(|k| {
        let [u, v] = place(k % (nx + 1), k / (nx + 1));
        Vec3::new((u - 0.5) * width, (v - 0.5) * depth, 0.0)
    });
    let (mut faces, mut uv) = (Vec::new(), Vec::new());
    for j in 0..ny {
        for i in 0..nx {
            let corner = |a: usize, b: usize| ((j + b) * (nx + 1) + i + a) as u32;
            let at = |a: usize, b: usize| place(i + a, j + b);
            faces.extend([
                [corner(0, 0), corner(1, 0), corner(1, 1)],
                [corner(0, 0), corner(1, 1), corner(0, 1)],
            ]);
            uv.extend([[at(0, 0), at(1, 0), at(1, 1)], [at(0, 0), at(1, 1), at(0, 1)]]);
        }
    }
    Mesh::with_uv(vertices.collect(), faces, uv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_closed_small_and_face_outward() {
        assert!(SHAPES.len() >= 14);
        for entry in SHAPES {
            let mesh = (entry.value)();
            assert!(mesh.is_closed(), "{} is not closed", entry.name);
            assert!(mesh.volume() > 0.0, "{} looks inward: volume {}", entry.name, mesh.volume());
            let vertices = mesh.vertices.len();
            assert!((4..=250).contains(&vertices), "{} has {vertices} vertices", entry.name);
            let reach = mesh.vertices.iter().map(|x| x.norm()).fold(0.0, f64::max);
            assert!((0.7..1.5).contains(&reach), "{} reaches {reach} m", entry.name);
        }
    }

    #[test]
    fn volumes_are_those_of_the_formulas() {
        use std::f64::consts::PI;
        let near = |a: f64, b: f64, part: f64| assert!((a - b).abs() < part * b, "{a} for {b}");
        near(cuboid(Vec3::new(1.0, 2.0, 3.0)).volume(), 6.0, 1e-12);
        near(sphere(5, 1.5).volume(), 4.5 * PI, 1e-3);
        near(cylinder(200, 0.5, 2.0).volume(), 0.5 * PI, 1e-3);
        near(cone(200, 1.0, 3.0).volume(), PI, 1e-3);
        near(torus(200, 100, 1.0, 0.25).volume(), 2.0 * PI * PI / 16.0, 2e-3);
        near(capsule(200, 60, 0.5, 1.0).volume(), 0.25 * PI + PI / 6.0, 2e-3);
        near(prism(4, 2_f64.sqrt(), 1.0).volume(), 4.0, 1e-12);
    }

    #[test]
    fn a_sphere_of_three_subdivisions_has_1280_faces() {
        let mesh = sphere(3, 1.0);
        assert_eq!((mesh.vertices.len(), mesh.topology.faces.len()), (642, 1280));
    }
}
