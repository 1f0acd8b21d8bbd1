//! Meshes of geoms, coarse: every face of a differentiable picture costs time in every frame.

use pullback_math::Vec3;
use pullback_physics::articulated::{Geom, Model, Shape};
use pullback_render::Mesh;
use pullback_render::shapes::{capsule, cuboid, cylinder, rectangle, sphere, torus};

/// Half size of an endless plane, m.
const ENDLESS: f64 = 10.0;
/// Segments around what is round.
const ROUND: usize = 16;
/// Rings of half a sphere at the end of a capsule.
const RINGS: usize = 4;

/// The mesh of a geom in its own frame.
pub fn geom_mesh(model: &Model, geom: &Geom) -> Mesh {
    match geom.shape {
        Shape::Plane => {
            let [x, y] = geom.extent.map(|half| if half > 0.0 { half } else { ENDLESS });
            rectangle(1, 1, 2.0 * x, 2.0 * y)
        }
        Shape::Sphere { radius } => sphere(2, radius),
        Shape::Ellipsoid { radii } => sphere(2, 1.0).moved(|x| x.zip(radii, |x, r| x * r)),
        Shape::Capsule { radius, half_length } => capsule(ROUND, RINGS, radius, 2.0 * half_length),
        Shape::Cylinder { radius, half_length } => cylinder(ROUND, radius, 2.0 * half_length),
        Shape::Box { half } => cuboid(half * 2.0),
        Shape::Torus { ring, tube } => torus(2 * ROUND, ROUND, ring, tube),
        Shape::Mesh { mesh } => of_triangles(&model.meshes[mesh].vertices, &model.meshes[mesh].triangles),
        Shape::Heightfield { field } => {
            let (vertices, triangles) = model.heightfields[field].surface();
            of_triangles(&vertices, &triangles)
        }
    }
}

fn of_triangles(vertices: &[Vec3<f64>], triangles: &[[usize; 3]]) -> Mesh {
    Mesh::new(vertices.to_vec(), triangles.iter().map(|t| t.map(|v| v as u32)).collect())
}
