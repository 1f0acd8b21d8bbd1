//! Volume and inertia of the shapes that are no meshes, at density 1, about their centres.

use std::f64::consts::PI;

use pullback_articulated::model::Shape;
use pullback_math::{SymMat3, Vec3};

use super::MassProperties;

/// Weighs a shape at density 1; planes and terrain have no volume and meshes are weighed by
/// [`super::mass_properties`]: none.
pub fn shape_mass_properties(shape: Shape) -> Option<MassProperties> {
    let (volume, moments) = match shape {
        Shape::Plane | Shape::Mesh { .. } | Shape::Heightfield { .. } => return None,
        Shape::Sphere { radius } => ellipsoid(Vec3::new(radius, radius, radius)),
        Shape::Ellipsoid { radii } => ellipsoid(radii),
        Shape::Box { half } => {
            let volume = 8.0 * half.x * half.y * half.z;
            (volume, sums_of_squares(half) * (volume / 3.0))
        }
        Shape::Cylinder { radius: r, half_length: h } => {
            let volume = 2.0 * PI * r * r * h;
            let across = r * r / 4.0 + h * h / 3.0;
            (volume, Vec3::new(across, across, r * r / 2.0) * volume)
        }
        Shape::Torus { ring, tube } => torus(ring, tube),
        Shape::Capsule { radius: r, half_length: h } => {
            // A cylinder and two half balls, whose centres of mass are 3r/8 beyond its ends.
            let (bar, ball) = (2.0 * PI * r * r * h, 4.0 / 3.0 * PI * r * r * r);
            let along = bar * r * r / 2.0 + ball * 0.4 * r * r;
            let across = bar * (r * r / 4.0 + h * h / 3.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r);
            (bar + ball, Vec3::new(across, across, along))
        }
    };
    Some(MassProperties { volume, com: Vec3::zero(), inertia: SymMat3::diagonal(moments) })
}

fn ellipsoid(radii: Vec3<f64>) -> (f64, Vec3<f64>) {
    let volume = 4.0 / 3.0 * PI * radii.x * radii.y * radii.z;
    (volume, sums_of_squares(radii) * (volume / 5.0))
}

/// By Pappus' theorem; moments are exact for tubes no thicker than their circle.
fn torus(ring: f64, tube: f64) -> (f64, Vec3<f64>) {
    let volume = 2.0 * PI * PI * ring * tube * tube;
    let (along, across) = (ring * ring + 0.75 * tube * tube, 0.5 * ring * ring + 0.625 * tube * tube);
    (volume, Vec3::new(across, across, along) * volume)
}

/// (y² + z², z² + x², x² + y²)
fn sums_of_squares(v: Vec3<f64>) -> Vec3<f64> {
    Vec3::new(v.y * v.y + v.z * v.z, v.z * v.z + v.x * v.x, v.x * v.x + v.y * v.y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{MeshInertia, TriangleMesh, mass_properties};

    /// Points on a round shape: `profile` maps the sine of the latitude, -1 to 1, to radius and height.
    fn lathe(profile: impl Fn(f64) -> (f64, f64)) -> TriangleMesh {
        const N: usize = 160;
        let mut vertices = Vec::new();
        for i in 0..=N {
            let (r, z) = profile((PI * (i as f64 / N as f64 - 0.5)).sin());
            for k in 0..N {
                let (s, c) = (2.0 * PI * k as f64 / N as f64).sin_cos();
                vertices.push(Vec3::new(r * c, r * s, z));
            }
        }
        TriangleMesh { vertices, triangles: Vec::new() }
    }

    /// Rings of a torus, summed over the disc of its tube.
    #[test]
    fn a_torus_weighs_as_its_rings() {
        const N: usize = 800;
        let (ring, tube) = (0.7, 0.25);
        let exact = shape_mass_properties(Shape::Torus { ring, tube }).unwrap();
        let (mut volume, mut across, mut along) = (0.0, 0.0, 0.0);
        let cell = 2.0 * tube / N as f64;
        let at = |i: usize| (i as f64 + 0.5) * cell - tube;
        for (x, z) in (0..N * N).map(|k| (at(k / N), at(k % N))) {
            if x * x + z * z <= tube * tube {
                let (rho, part) = (ring + x, 2.0 * PI * (ring + x) * cell * cell);
                volume += part;
                along += part * rho * rho;
                across += part * (0.5 * rho * rho + z * z);
            }
        }
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-4;
        assert!(close(volume, exact.volume), "{volume} {}", exact.volume);
        let inertia = exact.inertia.to_mat3();
        assert!(close(along, inertia.c2.z) && close(across, inertia.c0.x) && close(across, inertia.c1.y));
    }

    #[test]
    fn fine_meshes_weigh_the_same() {
        let round = |s: f64| (1.0 - s * s).max(0.0).sqrt();
        let sphere = lathe(|s| (0.7 * round(s), 0.7 * s));
        let radii = Vec3::new(0.5, 1.1, 0.8);
        let cases = [
            (Shape::Sphere { radius: 0.7 }, sphere.clone()),
            (Shape::Ellipsoid { radii }, sphere.scaled(radii * (1.0 / 0.7))),
            (Shape::Cylinder { radius: 0.3, half_length: 0.9 }, lathe(|s| (0.3, 0.9 * s))),
            (
                Shape::Capsule { radius: 0.3, half_length: 0.6 },
                lathe(|s| (0.3 * round(s), 0.3 * s + 0.6 * s.signum())),
            ),
            (Shape::Box { half: radii }, {
                let corners = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(|b| f64::from(2 * b - 1)));
                let vertices = corners.map(|[x, y, z]| Vec3::new(x, y, z)).collect();
                TriangleMesh { vertices, triangles: Vec::new() }.scaled(radii)
            }),
        ];
        for (shape, mesh) in cases {
            let exact = shape_mass_properties(shape).unwrap();
            let meshed = mass_properties(&mesh, MeshInertia::Convex).unwrap();
            assert!((meshed.volume / exact.volume - 1.0).abs() < 1e-3, "{shape:?}");
            let error = (meshed.inertia - exact.inertia).to_mat3().frobenius_squared().sqrt();
            assert!(error < 2e-3 * exact.inertia.trace(), "{shape:?} {error}");
        }
    }
}
