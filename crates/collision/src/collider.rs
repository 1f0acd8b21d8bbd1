//! A shape as the narrow phase sees it: what it is, its sizes as differentiable numbers, its hull if it is a
//! mesh.

use pullback_math::{Real, Vec3};

use super::hull::Hull;
use super::shape::{Heightfield, Mesh, Shape};

/// What a shape is, in MuJoCo's order: of a pair, the earlier kind comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The half space z ≤ 0; no sizes.
    Plane,
    /// Terrain over a grid; sizes (half width along x, half width along y, elevation of the value 1).
    Heightfield,
    /// A ball; sizes (radius, –, –).
    Sphere,
    /// A rounded segment along z; sizes (radius, half length, –).
    Capsule,
    /// An ellipsoid; sizes are its half axes.
    Ellipsoid,
    /// A round bar along z; sizes (radius, half length, –).
    Cylinder,
    /// A box; sizes are half its edges.
    Box,
    /// The convex hull of a mesh; no sizes.
    Mesh,
    /// A tube around a circle about z; sizes (radius of the circle, radius of the tube, –).
    Torus,
}

/// Elevations over a regular grid, in units of the sizes of the shape.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeightGrid<'m> {
    /// Number of rows, along y; two or more.
    pub rows: usize,
    /// Number of columns, along x; two or more.
    pub columns: usize,
    /// Elevations from 0 to 1, row by row from the smallest y.
    pub values: &'m [f64],
    /// How far the ground reaches below elevation 0, m.
    pub base: f64,
}

/// A shape with differentiable sizes. Sizes that a kind does not have are zero and get no cotangent.
#[derive(Clone, Copy, Debug)]
pub struct Collider<'m, T> {
    /// What it is.
    pub kind: Kind,
    /// Its sizes, m, as [`Kind`] lists them.
    pub size: Vec3<T>,
    /// Vertices of its mesh, m; empty for other kinds.
    pub vertices: &'m [Vec3<f64>],
    /// Which of them are on the hull.
    pub hull: &'m [usize],
    /// Edges and faces of the hull; without them a mesh touches at single points.
    pub faces: Option<&'m Hull>,
    /// Distance up to which contacts are asked for, m; those of a pair add up.
    pub reach: f64,
    /// Distance beyond which a pair may be left without contact, m; the smaller of a pair counts. Infinite
    /// unless set.
    pub cutoff: f64,
    /// Elevations of its terrain; empty for other kinds.
    pub grid: HeightGrid<'m>,
}

impl<'m, T: Real> Collider<'m, T> {
    /// A shape that is neither a mesh nor terrain.
    pub fn new(kind: Kind, size: Vec3<T>) -> Self {
        let (vertices, hull, grid): (_, _, HeightGrid) = (&[], &[], HeightGrid::default());
        Collider { kind, size, vertices, hull, faces: None, reach: 0.0, cutoff: f64::INFINITY, grid }
    }
    /// The shape of one environment.
    pub(super) fn lane(&self, lane: usize) -> Collider<'m, f64> {
        self.with_size(self.size.map(|x| x.lane(lane)))
    }
    /// A half space.
    pub fn plane() -> Self {
        Self::new(Kind::Plane, Vec3::zero())
    }
    /// A ball.
    pub fn sphere(radius: T) -> Self {
        Self::new(Kind::Sphere, Vec3::new(radius, T::zero(), T::zero()))
    }
    /// A rounded segment along z.
    pub fn capsule(radius: T, half_length: T) -> Self {
        Self::new(Kind::Capsule, Vec3::new(radius, half_length, T::zero()))
    }
    /// A round bar along z.
    pub fn cylinder(radius: T, half_length: T) -> Self {
        Self::new(Kind::Cylinder, Vec3::new(radius, half_length, T::zero()))
    }
    /// An ellipsoid.
    pub fn ellipsoid(radii: Vec3<T>) -> Self {
        Self::new(Kind::Ellipsoid, radii)
    }
    /// A box.
    pub fn cuboid(half: Vec3<T>) -> Self {
        Self::new(Kind::Box, half)
    }
    /// A tube around a circle about z.
    pub fn torus(ring: T, tube: T) -> Self {
        Self::new(Kind::Torus, Vec3::new(ring, tube, T::zero()))
    }
    /// The convex hull of a mesh.
    pub fn mesh(vertices: &'m [Vec3<f64>], hull: &'m Hull) -> Self {
        Collider { faces: Some(hull), ..Self::points(vertices, &hull.corners) }
    }
    /// The convex hull of points of which only the corners are known.
    pub fn points(vertices: &'m [Vec3<f64>], hull: &'m [usize]) -> Self {
        Collider { vertices, hull, ..Self::new(Kind::Mesh, Vec3::zero()) }
    }
    /// Terrain.
    pub fn heightfield(size: Vec3<T>, grid: HeightGrid<'m>) -> Self {
        Collider { grid, ..Self::new(Kind::Heightfield, size) }
    }
    /// A shape with its sizes as described; `meshes` and `heightfields` are those it refers to by index.
    pub fn of_shape(shape: &Shape, meshes: &'m [Mesh], heightfields: &'m [Heightfield]) -> Self {
        let lit = |v: Vec3<f64>| v.map(T::lit);
        match *shape {
            Shape::Plane => Self::plane(),
            Shape::Sphere { radius } => Self::sphere(T::lit(radius)),
            Shape::Capsule { radius, half_length } => Self::capsule(T::lit(radius), T::lit(half_length)),
            Shape::Cylinder { radius, half_length } => Self::cylinder(T::lit(radius), T::lit(half_length)),
            Shape::Ellipsoid { radii } => Self::ellipsoid(lit(radii)),
            Shape::Box { half } => Self::cuboid(lit(half)),
            Shape::Torus { ring, tube } => Self::torus(T::lit(ring), T::lit(tube)),
            Shape::Mesh { mesh } => Self::mesh(&meshes[mesh].vertices, &meshes[mesh].hull),
            Shape::Heightfield { field } => {
                let f = &heightfields[field];
                let grid = HeightGrid { rows: f.rows, columns: f.columns, values: &f.values, base: f.base };
                Self::heightfield(lit(f.size), grid)
            }
        }
    }
    /// The same shape with sizes of another scalar.
    pub fn with_size<U: Real>(&self, size: Vec3<U>) -> Collider<'m, U> {
        let Collider { kind, vertices, hull, faces, reach, cutoff, grid, .. } = *self;
        Collider { kind, size, vertices, hull, faces, reach, cutoff, grid }
    }
    /// Radius of a ball around its origin that holds it, m; infinite for a plane.
    pub fn bounding_radius(&self) -> f64 {
        let s = self.size.map(|x| x.max_lane());
        match self.kind {
            Kind::Plane => f64::INFINITY,
            Kind::Sphere => s.x,
            Kind::Capsule | Kind::Torus => s.x + s.y,
            Kind::Cylinder => s.x.hypot(s.y),
            Kind::Ellipsoid => s.x.max(s.y).max(s.z),
            Kind::Box => s.norm(),
            Kind::Heightfield => Vec3::new(s.x, s.y, s.z.max(self.grid.base)).norm(),
            Kind::Mesh => match self.faces {
                Some(hull) => hull.radius,
                None => self.hull.iter().map(|&i| self.vertices[i].norm()).fold(0.0, f64::max),
            },
        }
    }
    /// Middle and half edges of a box along its axes that holds it, m; `None` for a plane or terrain.
    pub fn bounding_box(&self) -> Option<(Vec3<T>, Vec3<T>)> {
        let s = self.size;
        let half = match self.kind {
            Kind::Plane | Kind::Heightfield => return None,
            Kind::Sphere => Vec3::new(s.x, s.x, s.x),
            Kind::Capsule => Vec3::new(s.x, s.x, s.x + s.y),
            Kind::Cylinder => Vec3::new(s.x, s.x, s.y),
            Kind::Torus => Vec3::new(s.x + s.y, s.x + s.y, s.y),
            Kind::Ellipsoid | Kind::Box => s,
            Kind::Mesh => {
                let (middle, half) = self.faces?.bounds;
                return Some((middle.map(T::lit), half.map(T::lit)));
            }
        };
        Some((Vec3::zero(), half))
    }
}
