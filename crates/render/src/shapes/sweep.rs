//! Round tubes along closed curves.

use std::f64::consts::TAU;

use pullback_math::Vec3;

use crate::mesh::Mesh;

/// A tube of `radius` around the closed curve `curve(t)`, 0 ≤ t < 1, in `along` steps with `around` corners each.
///
/// Sections stand on the mean direction of the neighboring steps. Their corners are carried from section to section
/// without twist, and what twist is left at the end is spread evenly.
pub fn sweep_closed(along: usize, around: usize, radius: f64, curve: impl Fn(f64) -> Vec3<f64>) -> Mesh {
    let at = |i: usize| curve((i % along) as f64 / along as f64);
    let tangent = |i: usize| (at(i + 1) - at(i + along - 1)).normalize();
    // The first axis of each section, carried along: n′ is what is left of n across the new tangent.
    let first = tangent(0);
    let start = if first.z.abs() < 0.9 { Vec3::new(0.0, 0.0, 1.0) } else { Vec3::new(1.0, 0.0, 0.0) };
    let mut axes = vec![across(start, first)];
    for i in 1..=along {
        axes.push(across(axes[i - 1], tangent(i)));
    }
    let (n, b) = (axes[0], first.cross(axes[0]));
    let twist = axes[along].dot(b).atan2(axes[along].dot(n));

    let mut vertices = Vec::with_capacity(along * around);
    for i in 0..along {
        let (n, b) = (axes[i], tangent(i).cross(axes[i]));
        for j in 0..around {
            let angle = TAU * j as f64 / around as f64 - twist * i as f64 / along as f64;
            let (sin, cos) = angle.sin_cos();
            vertices.push(at(i) + (n * cos + b * sin) * radius);
        }
    }
    let corner = |i: usize, j: usize| (i % along * around + j % around) as u32;
    let mut faces = Vec::with_capacity(2 * along * around);
    for i in 0..along {
        for j in 0..around {
            let [p, q, r, s] = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
            faces.extend([[p, r, q], [p, s, r]]);
        }
    }
    Mesh::new(vertices, faces)
}

/// The part of v across t, of unit length.
fn across(v: Vec3<f64>, t: Vec3<f64>) -> Vec3<f64> {
    (v - t * v.dot(t)).normalize()
}

/// A ring around z.
pub fn torus(along: usize, around: usize, radius: f64, tube: f64) -> Mesh {
    sweep_closed(along, around, tube, |t| {
        let (sin, cos) = (TAU * t).sin_cos();
        Vec3::new(radius * cos, radius * sin, 0.0)
    })
}

/// A trefoil knot around z; `scale` is a third of its reach.
pub fn knot(along: usize, around: usize, scale: f64, tube: f64) -> Mesh {
    sweep_closed(along, around, tube, |t| {
        let ((s1, c1), (s2, c2), (s3, _)) =
            ((TAU * t).sin_cos(), (2.0 * TAU * t).sin_cos(), (3.0 * TAU * t).sin_cos());
        Vec3::new(s1 + 2.0 * s2, c1 - 2.0 * c2, -s3) * scale
    })
}

/// A spring bent to a ring around z: `turns` turns of radius `coil`.
pub fn spring(along: usize, around: usize, turns: usize, radius: f64, coil: f64, tube: f64) -> Mesh {
    sweep_closed(along, around, tube, |t| {
        let ((sin, cos), (lift, out)) = ((TAU * t).sin_cos(), (TAU * turns as f64 * t).sin_cos());
        let r = radius + coil * out;
        Vec3::new(r * cos, r * sin, coil * lift)
    })
}
