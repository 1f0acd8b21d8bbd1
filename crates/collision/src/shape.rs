//! Shapes as files and models describe them: primitives by their sizes, meshes and terrain by index.

mod heightfield;

use pullback_math::Vec3;

use super::hull::Hull;

pub use heightfield::Heightfield;

/// A shape, in its own frame. Sizes in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// The half space z ≤ 0.
    Plane,
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A segment along z, rounded.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the segment.
        half_length: f64,
    },
    /// A round bar along z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the length.
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half axes.
        radii: Vec3<f64>,
    },
    /// A box.
    Box {
        /// Half sizes.
        half: Vec3<f64>,
    },
    /// A tube around a circle about z; it collides only with spheres, particles and nodes of a grid.
    Torus {
        /// Radius of the circle.
        ring: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// The convex hull of a mesh.
    Mesh {
        /// Index into the meshes beside it.
        mesh: usize,
    },
    /// Terrain; only on bodies fixed to the world.
    Heightfield {
        /// Index into the heightfields beside it.
        field: usize,
    },
}

/// A triangle mesh, in the frame of the geoms that use it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Unique name.
    pub name: String,
    /// Corners, m.
    pub vertices: Vec<Vec3<f64>>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[usize; 3]>,
    /// The convex hull.
    pub hull: Hull,
}
