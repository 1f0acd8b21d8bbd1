//! Placements of frames.

use pullback_math::{Quat, Vec3};

/// A placement in the frame of a parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub position: Vec3<f64>,
    pub orientation: Quat<f64>,
}

impl Pose {
    pub fn identity() -> Self {
        Pose { position: Vec3::zero(), orientation: Quat::identity() }
    }

    /// xyz, then roll, pitch, yaw about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll).
    pub fn of_xyz_rpy(xyz: Vec3<f64>, rpy: Vec3<f64>) -> Self {
        let turn = |axis: Vec3<f64>, angle| Quat::from_axis_angle(axis, angle);
        let orientation = turn(Vec3::new(0.0, 0.0, 1.0), rpy.z)
            * turn(Vec3::new(0.0, 1.0, 0.0), rpy.y)
            * turn(Vec3::new(1.0, 0.0, 0.0), rpy.x);
        Pose { position: xyz, orientation: orientation.normalize() }
    }

    /// a_from_b · b_from_c = a_from_c
    pub fn compose(self, inner: Pose) -> Pose {
        Pose {
            position: self.position + self.orientation.rotate(inner.position),
            orientation: (self.orientation * inner.orientation).normalize(),
        }
    }
}
