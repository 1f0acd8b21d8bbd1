//! Where a ray meets a shape, and how its length changes.
//!
//! The ray p = o + t d meets the surface F(p, sizes) = 0. Which shape and which part of its surface come first
//! is chosen on plain numbers and held constant under differentiation. One Newton step from the plain t₀ with
//! the slope held constant, t = t₀ − F(o + t₀ d) / (∂F/∂p · d), has the exact first derivative by the implicit
//! function theorem.

use pullback_collision::Kind;
use pullback_math::{Dual, Real, Vec3, differentiable};

use crate::model::Mesh;

/// Shortest direction, and least divisor.
const LEAST: f64 = 1e-15;

/// What a surface is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// z = 0.
    Plane,
    /// A ball.
    Ball,
    /// An end of a capsule.
    Cap,
    /// Round about z.
    Side,
    /// An ellipsoid.
    Ellipsoid,
    /// A face across an axis, as far out as its size says.
    Face,
    /// An end of a cylinder.
    End,
    /// A triangle.
    Triangle,
}

/// A part of a surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    part: Part,
    /// Axis and side of faces and ends.
    axis: usize,
    side: f64,
    /// A corner and the normal of a triangle.
    corner: Vec3<f64>,
    normal: Vec3<f64>,
}

impl Surface {
    fn of(part: Part) -> Self {
        Surface { part, axis: 2, side: 1.0, corner: Vec3::zero(), normal: Vec3::zero() }
    }

    /// ∂F/∂p · d.
    pub fn slope(self, p: Vec3<f64>, d: Vec3<f64>, size: Vec3<f64>) -> f64 {
        surface_value(p.zip(d, Dual::new), size.map(Dual::fixed), self).tangent
    }
}

/// F: zero on the surface.
#[differentiable]
pub(super) fn surface_value<T: Real>(p: Vec3<T>, size: Vec3<T>, #[constant] surface: Surface) -> T {
    let side = T::lit(surface.side);
    if surface.part == Part::Plane {
        p.z
    } else if surface.part == Part::Ball {
        p.norm_squared() - size.x * size.x
    } else if surface.part == Part::Cap {
        let z = p.z - size.y * side;
        p.x * p.x + p.y * p.y + z * z - size.x * size.x
    } else if surface.part == Part::Side {
        p.x * p.x + p.y * p.y - size.x * size.x
    } else if surface.part == Part::Ellipsoid {
        let (x, y, z) = (p.x / size.x, p.y / size.y, p.z / size.z);
        x * x + y * y + z * z - T::one()
    } else if surface.part == Part::End {
        p.z * side - size.y
    } else if surface.part == Part::Face {
        let (along, out) = if surface.axis == 0 {
            (p.x, size.x)
        } else if surface.axis == 1 {
            (p.y, size.y)
        } else {
            (p.z, size.z)
        };
        along * side - out
    } else {
        let (corner, normal) = (surface.corner.map(T::lit), surface.normal.map(T::lit));
        (p - corner).dot(normal)
    }
}

/// Where a ray first meets a surface, none behind.
#[derive(Default)]
pub(super) struct Nearest(pub Option<(f64, Surface)>);

impl Nearest {
    fn see(&mut self, t: f64, surface: Surface) {
        if t >= 0.0 && self.0.is_none_or(|(nearest, _)| t < nearest) {
            self.0 = Some((t, surface));
        }
    }
}

/// Where a ray from `from`, in units of `direction`, first meets the surface of a shape, in the frame of the
/// shape. From inside, it meets the surface on its way out. Terrain and tori are never met; planes only from above.
pub(super) fn ray_shape(
    (kind, size): (Kind, Vec3<f64>),
    mesh: Option<&Mesh>,
    from: Vec3<f64>,
    direction: Vec3<f64>,
) -> Nearest {
    let mut nearest = Nearest::default();
    let at = |t: f64| from + direction * t;
    let (a, b) = (direction.norm_squared(), direction.dot(from));
    match kind {
        Kind::Plane => {
            let t = -from.z / direction.z;
            let inside = |x: f64, half: f64| half <= 0.0 || x.abs() <= half;
            if direction.z < -LEAST && inside(at(t).x, size.x) && inside(at(t).y, size.y) {
                nearest.see(t, Surface::of(Part::Plane));
            }
        }
        Kind::Sphere => {
            let c = from.norm_squared() - size.x * size.x;
            roots(a, b, c).for_each(|t| nearest.see(t, Surface::of(Part::Ball)));
        }
        Kind::Ellipsoid => {
            let scaled = |v: Vec3<f64>| v.zip(size, |v, s| v / s);
            let (p, d) = (scaled(from), scaled(direction));
            let hits = roots(d.norm_squared(), d.dot(p), p.norm_squared() - 1.0);
            hits.for_each(|t| nearest.see(t, Surface::of(Part::Ellipsoid)));
        }
        Kind::Capsule => {
            side_hits(from, direction, size, &mut nearest);
            for side in [1.0, -1.0] {
                let p = from - Vec3::new(0.0, 0.0, side * size.y);
                let hits = roots(a, direction.dot(p), p.norm_squared() - size.x * size.x);
                let cap = Surface { side, ..Surface::of(Part::Cap) };
                hits.filter(|t| at(*t).z * side >= size.y).for_each(|t| nearest.see(t, cap));
            }
        }
        Kind::Cylinder => {
            side_hits(from, direction, size, &mut nearest);
            for side in [1.0, -1.0].into_iter().filter(|_| direction.z.abs() > LEAST) {
                let t = (side * size.y - from.z) / direction.z;
                if at(t).x * at(t).x + at(t).y * at(t).y <= size.x * size.x {
                    nearest.see(t, Surface { side, ..Surface::of(Part::End) });
                }
            }
        }
        Kind::Box => {
            for axis in (0..3).filter(|i| direction[*i].abs() > LEAST) {
                for side in [1.0, -1.0] {
                    let t = (side * size[axis] - from[axis]) / direction[axis];
                    let inside = |j: usize| at(t)[j].abs() <= size[j];
                    if inside((axis + 1) % 3) && inside((axis + 2) % 3) {
                        nearest.see(t, Surface { axis, side, ..Surface::of(Part::Face) });
                    }
                }
            }
        }
        Kind::Mesh => {
            let Some(mesh) = mesh else { return nearest };
            for corners in &mesh.triangles {
                let [a, b, c] = corners.map(|corner| mesh.vertices[corner]);
                if let Some((t, normal)) = ray_triangle([a, b, c], from, direction) {
                    nearest.see(t, Surface { corner: a, normal, ..Surface::of(Part::Triangle) });
                }
            }
        }
        Kind::Heightfield | Kind::Torus => {}
    }
    nearest
}

/// Roots of a t² + 2 b t + c.
fn roots(a: f64, b: f64, c: f64) -> impl Iterator<Item = f64> {
    let d = b * b - a * c;
    let found = (a > LEAST && d >= 0.0).then(|| [(-b - d.sqrt()) / a, (-b + d.sqrt()) / a]);
    found.into_iter().flatten()
}

/// Where a ray meets the round side of a capsule or cylinder.
fn side_hits(p: Vec3<f64>, d: Vec3<f64>, size: Vec3<f64>, nearest: &mut Nearest) {
    let c = p.x * p.x + p.y * p.y - size.x * size.x;
    roots(d.x * d.x + d.y * d.y, d.x * p.x + d.y * p.y, c)
        .filter(|t| (p.z + t * d.z).abs() <= size.y)
        .for_each(|t| nearest.see(t, Surface::of(Part::Side)));
}

/// Where a ray meets a triangle, and its normal.
fn ray_triangle(
    [a, b, c]: [Vec3<f64>; 3],
    from: Vec3<f64>,
    direction: Vec3<f64>,
) -> Option<(f64, Vec3<f64>)> {
    let (e, f) = (b - a, c - a);
    let normal = e.cross(f);
    let towards = normal.dot(direction);
    if towards.abs() < LEAST {
        return None;
    }
    let t = normal.dot(a - from) / towards;
    let p = from + direction * t - a;
    let area = normal.norm_squared();
    let (u, v) = (p.cross(f).dot(normal) / area, e.cross(p).dot(normal) / area);
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0).then_some((t, normal))
}
