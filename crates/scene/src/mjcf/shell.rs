//! Hollow shapes: `shellinertia`, the mass spread evenly over the surface.
//!
//! Each surface is a sum of pieces (side walls, caps, faces) with the textbook moments of thin plates and
//! rings. An ellipsoid has no closed form; like MuJoCo we take Thomsen's formula for its area and the layer
//! of even thickness [`THICKNESS`] for its inertia, so that files keep their meaning.

use std::f64::consts::PI;

use pullback_articulated::Shape;
use pullback_math::Vec3;

use super::inertia::{primitive_inertia, primitive_volume};

/// Thickness of the layer that stands for the surface of an ellipsoid, m.
const THICKNESS: f64 = 1e-6;
/// Thomsen's exponent.
const THOMSEN: f64 = 1.6075;

/// Area of a shape, m², and the principal moments of its surface at unit mass, m².
pub(super) fn shell(shape: Shape) -> (f64, Vec3<f64>) {
    match shape {
        Shape::Sphere { radius: r } => {
            let moment = 2.0 / 3.0 * r * r;
            (4.0 * PI * r * r, Vec3::new(moment, moment, moment))
        }
        Shape::Cylinder { radius: r, half_length: h } => {
            let (wall, caps) = (4.0 * PI * r * h, 2.0 * PI * r * r);
            let across = wall * (r * r / 2.0 + h * h / 3.0) + caps * (r * r / 4.0 + h * h);
            axisymmetric(wall + caps, across, wall * r * r + caps * r * r / 2.0)
        }
        Shape::Capsule { radius: r, half_length: h } => {
            // Half a hollow ball has its center r/2 beyond its rim.
            let (wall, ball) = (4.0 * PI * r * h, 4.0 * PI * r * r);
            let across = wall * (r * r / 2.0 + h * h / 3.0) + ball * (2.0 / 3.0 * r * r + h * h + h * r);
            axisymmetric(wall + ball, across, wall * r * r + ball * 2.0 / 3.0 * r * r)
        }
        Shape::Box { half: Vec3 { x: a, y: b, z: c } } => {
            // About x, the pairs of faces across x, y and z.
            let moment = |a: f64, b: f64, c: f64| {
                8.0 * (b * c * (b * b + c * c) / 3.0
                    + a * c * (b * b + c * c / 3.0)
                    + a * b * (c * c + b * b / 3.0))
            };
            let area = 8.0 * (a * b + b * c + a * c);
            (area, Vec3::new(moment(a, b, c), moment(b, a, c), moment(c, a, b)) * (1.0 / area))
        }
        Shape::Ellipsoid { radii } => {
            let p = |x: f64, y: f64| (x * y).powf(THOMSEN);
            let Vec3 { x: a, y: b, z: c } = radii;
            let area = 4.0 * PI * ((p(a, b) + p(a, c) + p(b, c)) / 3.0).powf(1.0 / THOMSEN);
            let inner = Shape::Ellipsoid { radii };
            let outer = Shape::Ellipsoid { radii: radii.map(|r| r + THICKNESS) };
            let (small, large) = (primitive_volume(inner), primitive_volume(outer));
            let layer = primitive_inertia(outer) * large - primitive_inertia(inner) * small;
            (area, layer * (1.0 / (large - small)))
        }
        // Planes have no mass, and meshes say themselves how they are weighed.
        _ => (0.0, Vec3::zero()),
    }
}

/// Moments of a body that is round about z.
fn axisymmetric(area: f64, across: f64, along: f64) -> (f64, Vec3<f64>) {
    (area, Vec3::new(across, across, along) * (1.0 / area))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A surface is what a solid gains by growing evenly: area = dV/dt, inertia = dI/dt.
    #[test]
    fn shells_are_the_growth_of_solids() {
        let grown = |t: f64| {
            [
                Shape::Sphere { radius: 0.3 + t },
                Shape::Capsule { radius: 0.2 + t, half_length: 0.3 },
                Shape::Cylinder { radius: 0.2 + t, half_length: 0.3 + t },
                Shape::Box { half: Vec3::new(0.1 + t, 0.2 + t, 0.3 + t) },
            ]
        };
        let t = 1e-5;
        for (i, shape) in grown(0.0).into_iter().enumerate() {
            let (less, more) = (grown(-t)[i], grown(t)[i]);
            let slope = |f: &dyn Fn(Shape) -> f64| (f(more) - f(less)) / (2.0 * t);
            let (area, unit) = shell(shape);
            assert!((slope(&primitive_volume) / area - 1.0).abs() < 1e-8, "{shape:?}");
            for k in 0..3 {
                let moment = slope(&|s| primitive_volume(s) * primitive_inertia(s)[k]);
                assert!((moment / (area * unit[k]) - 1.0).abs() < 1e-8, "{shape:?}, axis {k}");
            }
        }
    }
}
