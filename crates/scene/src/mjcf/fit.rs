//! Shapes fitted to meshes: a geom that names a mesh but is of another type.
//!
//! The shape stands along the principal axes of the mesh. Its sizes come from half sizes B, smallest first:
//! those of the box that has the inertia of the mesh, around its center of mass, or with `fitaabb` those of
//! the bounding box along the axes, around the center of that box.

use pullback_math::Vec3;

use super::mesh::SolidProperties;
use super::pose::Pose;
use crate::mesh::principal_axes;

/// Which box a shape is fitted to.
#[derive(Clone, Copy, Debug)]
pub(super) enum BoxFit {
    /// The box of equal inertia.
    Inertia,
    /// The bounds along the principal axes.
    Bounds([Vec3<f64>; 2]),
}

/// Pose in the frame of the mesh, and sizes, of a shape of that kind.
pub(super) fn fit(kind: &str, solid: &SolidProperties, by: BoxFit) -> (Pose, [f64; 3]) {
    let (moments, axes) = principal_axes(solid.inertia);
    let mut pose = Pose { position: solid.center, orientation: axes };
    let [x, y, z] = match by {
        BoxFit::Inertia => {
            // A box of mass m and half sizes B has the moments I₀ = m (B₁² + B₂²) / 3 and so on.
            let half = |own: f64, a: f64, b: f64| (1.5 * (a + b - own).max(0.0) / solid.volume).sqrt();
            let Vec3 { x, y, z } = moments;
            [half(x, y, z), half(y, x, z), half(z, x, y)]
        }
        BoxFit::Bounds([low, high]) => {
            pose.position = pose.point((low + high) * 0.5);
            [0, 1, 2].map(|i| 0.5 * (high[i] - low[i]))
        }
    };
    let bounds = matches!(by, BoxFit::Bounds(_));
    let across = if bounds { x.max(y) } else { 0.5 * (x + y) };
    let size = match kind {
        "sphere" => [if bounds { x.max(y).max(z) } else { (x + y + z) / 3.0 }, 0.0, 0.0],
        "cylinder" => [across, z, 0.0],
        "capsule" => [across, (if bounds { z - across } else { z - 0.5 * across }).max(0.0), 0.0],
        _ => [x, y, z],
    };
    (pose, size)
}
