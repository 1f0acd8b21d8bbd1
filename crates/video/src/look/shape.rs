//! Shapes of geoms as triangles. Vertices along sharp edges are there several times, so that normals, which are
//! interpolated between vertices, stay those of the faces beside them.

use std::f64::consts::TAU;

use pullback_math::Vec3;
use pullback_physics::articulated::{Model, Shape};
use pullback_render::shapes::{capsule, cuboid, sphere, torus};

/// Sides of what is round, and rings of half a sphere.
const ROUND: usize = 32;
const RINGS: usize = 8;
/// Fields of an endless plane along each side, so that no triangle is much larger than the view.
const FIELDS: usize = 32;
/// Cosine of the angle between faces beyond which the edge between them is sharp: 40°.
const SHARP: f64 = 0.766;

/// Triangles in the frame of a geom.
#[derive(Clone, Debug)]
pub(super) struct Triangles {
    pub vertices: Vec<Vec3<f64>>,
    pub faces: Vec<[u32; 3]>,
    /// Half sizes, which textures are stretched over, m; 1 along what is endless.
    pub half: Vec3<f64>,
}

/// The triangles of a shape. Planes have half sizes of their own, 0 for endless: so far they reach.
pub(super) fn triangles(model: &Model, shape: Shape, extent: [f64; 2], endless: f64) -> Triangles {
    let all = |r: f64| Vec3::new(r, r, r);
    match shape {
        Shape::Plane => plane(extent, endless),
        Shape::Sphere { radius } => of_mesh(sphere(3, radius), all(radius)),
        Shape::Ellipsoid { radii } => of_mesh(sphere(3, 1.0).moved(|x| x.zip(radii, |x, r| x * r)), radii),
        Shape::Capsule { radius, half_length } => {
            of_mesh(capsule(ROUND, RINGS, radius, 2.0 * half_length), Vec3::new(radius, radius, half_length))
        }
        Shape::Cylinder { radius, half_length } => cylinder(radius, half_length),
        Shape::Box { half } => {
            let mesh = cuboid(half * 2.0);
            creased(&mesh.vertices, &mesh.topology.faces, half)
        }
        Shape::Torus { ring, tube } => of_mesh(torus(2 * ROUND, ROUND / 2, ring, tube), all(ring + tube)),
        Shape::Mesh { mesh } => {
            let mesh = &model.meshes[mesh];
            let faces: Vec<_> = mesh.triangles.iter().map(|t| t.map(|i| i as u32)).collect();
            let half = mesh.vertices.iter().fold(all(1e-9), |most, x| most.zip(*x, |m, x| m.max(x.abs())));
            creased(&mesh.vertices, &faces, half)
        }
        Shape::Heightfield { field } => {
            let field = &model.heightfields[field];
            let (vertices, faces) = field.surface();
            let faces: Vec<_> = faces.iter().map(|t| t.map(|i| i as u32)).collect();
            creased(&vertices, &faces, field.size)
        }
    }
}

fn of_mesh(mesh: pullback_render::Mesh, half: Vec3<f64>) -> Triangles {
    Triangles { faces: mesh.topology.faces.clone(), vertices: mesh.vertices, half }
}

fn plane(extent: [f64; 2], endless: f64) -> Triangles {
    let reach = extent.map(|half| if half > 0.0 { half } else { endless });
    let mesh = pullback_render::shapes::rectangle(FIELDS, FIELDS, 2.0 * reach[0], 2.0 * reach[1]);
    let half = extent.map(|half| if half > 0.0 { half } else { 1.0 });
    of_mesh(mesh, Vec3::new(half[0], half[1], 1.0))
}

/// A side with rings of its own above and below, and two lids.
fn cylinder(radius: f64, half_length: f64) -> Triangles {
    let n = ROUND as u32;
    let ring = |z: f64| {
        (0..ROUND).map(move |k| {
            let (sin, cos) = (TAU * k as f64 / ROUND as f64).sin_cos();
            Vec3::new(radius * cos, radius * sin, z)
        })
    };
    let vertices =
        [-half_length, half_length, -half_length, half_length].into_iter().flat_map(ring).collect();
    let at = |which: u32, k: u32| which * n + k % n;
    let mut faces = Vec::new();
    for k in 0..n {
        faces.extend([[at(0, k), at(0, k + 1), at(1, k + 1)], [at(0, k), at(1, k + 1), at(1, k)]]);
    }
    for k in 1..n - 1 {
        faces.extend([[at(2, 0), at(2, k + 1), at(2, k)], [at(3, 0), at(3, k), at(3, k + 1)]]);
    }
    Triangles { vertices, faces, half: Vec3::new(radius, radius, half_length) }
}

/// Splits vertices so that faces share one only if the angle between them is small.
fn creased(vertices: &[Vec3<f64>], faces: &[[u32; 3]], half: Vec3<f64>) -> Triangles {
    let normal = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|i| vertices[i as usize]);
        (b - a).cross(c - a).normalize()
    };
    // Copies of each vertex: the normal of the first face that has it, and its new number.
    let mut copies: Vec<Vec<(Vec3<f64>, u32)>> = vec![Vec::new(); vertices.len()];
    let mut split = Vec::with_capacity(vertices.len());
    let mut corner = |vertex: u32, n: Vec3<f64>| {
        let there = &mut copies[vertex as usize];
        if let Some((_, copy)) = there.iter().find(|(m, _)| m.dot(n) > SHARP) {
            return *copy;
        }
        let copy = split.len() as u32;
        split.push(vertices[vertex as usize]);
        there.push((n, copy));
        copy
    };
    let faces = faces.iter().map(|face| {
        let n = normal(face);
        face.map(|vertex| corner(vertex, n))
    });
    let faces = faces.collect();
    Triangles { vertices: split, faces, half }
}
