//! Particles that hang on bodies by damped springs of no length.

use pullback_math::{Motion, Real, Transform, Vec3, differentiable};

/// Force on the particle, and torque of its reaction about the origin of the body's frame.
#[differentiable]
pub(super) fn attachment<T: Real>(
    x: Vec3<T>,
    v: Vec3<T>,
    pose: Transform<T>,
    body: Motion<T>,
    stiffness: T,
    damping: T,
    #[constant] local: Vec3<T>,
    #[constant] tree_point: Vec3<T>,
) -> (Vec3<T>, Vec3<T>) {
    let point = pose.point(local);
    let force = (point - x) * stiffness + (body.velocity_at(point - tree_point) - v) * damping;
    (force, (point - pose.translation).cross(-force))
}
