//! Mass, center and inertia: of shapes, of several shapes together, and MuJoCo's repairs.
//!
//! Inertia is kept as principal moments and axes, because bounds (`boundinertia`) and the triangle inequality
//! (`balanceinertia`) speak of principal moments.

use std::f64::consts::PI;

use pullback_articulated::Shape;
use pullback_math::{Mat3, Quat, SymMat3, Vec3};

use super::ImportOptions;
use super::mesh::SolidProperties;
use super::pose::Pose;
use super::settings::Compiler;
use crate::ImportError;
use crate::mesh::principal_axes;
use crate::xml::Element;

/// Masses below this count as none, kg.
const NO_MASS: f64 = 1e-14;

/// Mass, center of mass and principal inertia in the frame of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inertial {
    pub mass: f64,
    pub center: Vec3<f64>,
    /// Principal axes, as columns.
    pub axes: Mat3<f64>,
    /// Principal moments, kg m².
    pub principal: Vec3<f64>,
}

impl Inertial {
    /// No mass, in a pose.
    pub fn none(pose: Pose) -> Self {
        Inertial {
            mass: 0.0,
            center: pose.position,
            axes: pose.orientation.to_mat3(),
            principal: Vec3::zero(),
        }
    }

    /// A mesh of this mass in a pose.
    pub fn of_mesh(solid: SolidProperties, pose: Pose, mass: f64) -> Self {
        let (moments, axes) = principal_axes(solid.inertia);
        Inertial {
            mass,
            center: pose.point(solid.center),
            axes: pose.orientation.to_mat3() * axes.to_mat3(),
            principal: moments * (mass / solid.volume.max(f64::MIN_POSITIVE)),
        }
    }

    /// `<inertial>`, inside `frame` of its body.
    pub fn read(
        e: &Element,
        frame: Pose,
        compiler: &Compiler,
        options: &ImportOptions,
    ) -> Result<Self, ImportError> {
        e.required("pos")?;
        e.required("mass")?;
        let full = e.array::<6>("fullinertia")?;
        if full.is_some()
            && ["diaginertia", "quat", "axisangle", "euler", "xyaxes", "zaxis"].iter().any(|n| e.has(n))
        {
            return Err(e.error("`fullinertia` stands without `diaginertia` and orientation; keep one form"));
        }
        let pose = frame.compose(Pose::read(e, compiler)?);
        let mut inertial = Inertial::none(pose);
        e.set("mass", &mut inertial.mass)?;
        inertial.principal = e.vec3("diaginertia")?.unwrap_or_else(Vec3::zero);
        if let Some([xx, yy, zz, xy, xz, yz]) = full {
            let (moments, axes) = principal_axes(SymMat3 { xx, yy, zz, xy, xz, yz });
            let least = moments.z;
            if least.is_nan() || least <= NO_MASS {
                return Err(e.error_in("fullinertia", "is not positive definite"));
            }
            inertial.principal = moments;
            inertial.axes = inertial.axes * axes.to_mat3();
        }
        e.finish(options, &[])?;
        e.no_children(options)?;
        Ok(inertial)
    }

    /// The frame of the center and the principal axes.
    pub fn frame(&self) -> Pose {
        Pose { position: self.center, orientation: Quat::from_mat3(self.axes).normalize() }
    }

    /// The matrix about the center, axes of the body.
    pub fn matrix(&self) -> SymMat3<f64> {
        SymMat3::diagonal(self.principal).congruence(self.axes)
    }

    /// Several as one; `None` if they have no mass.
    pub fn sum(parts: &[Inertial]) -> Option<Inertial> {
        let mass: f64 = parts.iter().map(|p| p.mass).sum();
        if mass < NO_MASS {
            return None;
        }
        if let [one] = parts {
            return Some(*one);
        }
        // c = Σ mᵢ cᵢ / m,  I = Σ (Iᵢ + mᵢ (|d|² 1 − d dᵀ)),  d = cᵢ − c
        let center = parts.iter().fold(Vec3::zero(), |sum, p| sum + p.center * p.mass) * (1.0 / mass);
        let inertia = parts.iter().fold(SymMat3::zero(), |sum, p| {
            sum + p.matrix() + SymMat3::point_inertia(p.center - center) * p.mass
        });
        let (principal, axes) = principal_axes(inertia);
        Some(Inertial { mass, center, axes: axes.to_mat3(), principal })
    }

    /// The same seen from the frame in which the body has this pose.
    pub fn in_frame(&self, outer: Pose) -> Inertial {
        Inertial { center: outer.point(self.center), axes: outer.orientation.to_mat3() * self.axes, ..*self }
    }

    /// Applies lower bounds and the triangle inequality; the complaint if it cannot.
    pub fn repair(&mut self, compiler: &Compiler) -> Result<(), &'static str> {
        self.mass = self.mass.max(compiler.least_mass);
        self.principal = self.principal.map(|i| i.max(compiler.least_inertia));
        let Vec3 { x: a, y: b, z: c } = self.principal;
        if !(self.mass.is_finite() && (a + b + c).is_finite()) {
            return Err("its mass or inertia is not finite; use smaller sizes and masses");
        }
        if self.mass < 0.0 || a < 0.0 || b < 0.0 || c < 0.0 {
            return Err("its mass or inertia is negative");
        }
        let slack = 1e-14 * f64::max(1.0, a + b + c);
        if a + b < c - slack || a + c < b - slack || b + c < a - slack {
            if !compiler.balance_inertia {
                return Err("its inertia must satisfy A + B ≥ C; correct it or turn on `balanceinertia`");
            }
            let mean = (a + b + c) / 3.0;
            self.principal = Vec3::new(mean, mean, mean);
        }
        Ok(())
    }
}

/// Volume of a shape, m³; that of planes, meshes and terrain is 0 here.
pub(super) fn primitive_volume(shape: Shape) -> f64 {
    match shape {
        Shape::Plane | Shape::Mesh { .. } | Shape::Heightfield { .. } => 0.0,
        Shape::Sphere { radius: r } => 4.0 / 3.0 * PI * r * r * r,
        Shape::Capsule { radius: r, half_length: h } => PI * r * r * (4.0 / 3.0 * r + 2.0 * h),
        Shape::Cylinder { radius: r, half_length: h } => 2.0 * PI * r * r * h,
        Shape::Ellipsoid { radii: a } => 4.0 / 3.0 * PI * a.x * a.y * a.z,
        Shape::Box { half: a } => 8.0 * a.x * a.y * a.z,
        Shape::Torus { ring, tube } => 2.0 * PI * PI * ring * tube * tube,
    }
}

/// Principal inertia of a solid shape of unit mass about its center, m².
pub(super) fn primitive_inertia(shape: Shape) -> Vec3<f64> {
    let of_squares = |a: Vec3<f64>, divisor: f64| {
        Vec3::new(a.y * a.y + a.z * a.z, a.x * a.x + a.z * a.z, a.x * a.x + a.y * a.y) * (1.0 / divisor)
    };
    match shape {
        Shape::Plane | Shape::Mesh { .. } | Shape::Heightfield { .. } => Vec3::zero(),
        Shape::Sphere { radius: r } => Vec3::new(1.0, 1.0, 1.0) * (0.4 * r * r),
        Shape::Cylinder { radius: r, half_length: h } => {
            let across = (3.0 * r * r + 4.0 * h * h) / 12.0;
            Vec3::new(across, across, r * r / 2.0)
        }
        Shape::Capsule { radius: r, half_length: h } => {
            // A cylinder of length l and two half balls, each with its center 3r/8 beyond the end.
            let l = 2.0 * h;
            let ball = 4.0 * r / (4.0 * r + 3.0 * l);
            let bar = 1.0 - ball;
            let across =
                bar * (3.0 * r * r + l * l) / 12.0 + ball * (0.4 * r * r + l * (3.0 * r + 2.0 * l) / 8.0);
            Vec3::new(across, across, bar * r * r / 2.0 + ball * 0.4 * r * r)
        }
        Shape::Ellipsoid { radii } => of_squares(radii, 5.0),
        Shape::Box { half } => of_squares(half, 3.0),
        Shape::Torus { ring, tube } => {
            let across = 0.5 * ring * ring + 0.625 * tube * tube;
            Vec3::new(across, across, ring * ring + 0.75 * tube * tube)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{MeshInertia, TriangleMesh, mass_properties};

    /// A capsule without length is a ball, and of large length nearly a cylinder.
    #[test]
    fn capsules_have_the_right_limits() {
        let ball = primitive_inertia(Shape::Sphere { radius: 0.3 });
        let short = primitive_inertia(Shape::Capsule { radius: 0.3, half_length: 1e-12 });
        assert!((ball - short).norm() < 1e-11);
        let (r, h) = (1e-3, 10.0);
        let long = primitive_inertia(Shape::Capsule { radius: r, half_length: h });
        let bar = primitive_inertia(Shape::Cylinder { radius: r, half_length: h });
        assert!((long.x / bar.x - 1.0).abs() < 1e-3);
    }

    /// Two halves of a box are the box.
    #[test]
    fn halves_make_a_whole() {
        let half = Vec3::new(0.1, 0.2, 0.3);
        let part = |x: f64| {
            let shape = Shape::Box { half: Vec3::new(0.05, 0.2, 0.3) };
            Inertial {
                mass: 1.5,
                center: Vec3::new(x, 0.0, 0.0),
                axes: Mat3::identity(),
                principal: primitive_inertia(shape) * 1.5,
            }
        };
        let sum = Inertial::sum(&[part(0.05), part(-0.05)]).expect("has mass").matrix();
        let whole = SymMat3::diagonal(primitive_inertia(Shape::Box { half }) * 3.0);
        assert!((sum - whole).to_mat3().frobenius_squared().sqrt() < 1e-15);
    }

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
        let torus = Shape::Torus { ring, tube };
        let (exact_volume, exact) = (primitive_volume(torus), primitive_inertia(torus));
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
        assert!(close(volume, exact_volume), "{volume} {exact_volume}");
        let exact = exact * exact_volume;
        assert!(close(along, exact.z) && close(across, exact.x) && close(across, exact.y));
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
            let volume = primitive_volume(shape);
            let inertia = SymMat3::diagonal(primitive_inertia(shape) * volume);
            let meshed = mass_properties(&mesh, MeshInertia::Convex).unwrap();
            assert!((meshed.volume / volume - 1.0).abs() < 1e-3, "{shape:?}");
            let error = (meshed.inertia - inertia).to_mat3().frobenius_squared().sqrt();
            assert!(error < 2e-3 * inertia.trace(), "{shape:?} {error}");
        }
    }
}
