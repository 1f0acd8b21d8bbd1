//! Positions and the five ways to write an orientation.

use pullback_math::{Mat3, Quat, Vec3};

use super::settings::Compiler;
use crate::ImportError;
use crate::xml::Element;

/// Shortest vector that has a direction.
const SHORTEST: f64 = 1e-14;

/// Where a frame stands in its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub position: Vec3<f64>,
    pub orientation: Quat<f64>,
}

impl Pose {
    pub fn identity() -> Self {
        Pose { position: Vec3::zero(), orientation: Quat::identity() }
    }

    /// `pos` and the orientation of an element.
    pub fn read(element: &Element, compiler: &Compiler) -> Result<Self, ImportError> {
        let position = element.vec3("pos")?.unwrap_or_else(Vec3::zero);
        let orientation = read_orientation(element, compiler)?.unwrap_or_else(Quat::identity);
        Ok(Pose { position, orientation })
    }

    /// The pose of a frame in the outer frame: `outer_from_self * self_from_inner`.
    pub fn compose(self, inner: Pose) -> Pose {
        Pose {
            position: self.point(inner.position),
            orientation: (self.orientation * inner.orientation).normalize(),
        }
    }

    /// The outer frame seen from this one.
    pub fn inverse(self) -> Pose {
        let orientation = self.orientation.conjugate();
        Pose { position: orientation.rotate(-self.position), orientation }
    }

    /// A point of the inner frame seen from the outer.
    pub fn point(self, inner: Vec3<f64>) -> Vec3<f64> {
        self.position + self.orientation.rotate(inner)
    }
}

/// The orientation of an element, whichever way it is written; `None` if it is not.
pub(super) fn read_orientation(
    element: &Element,
    compiler: &Compiler,
) -> Result<Option<Quat<f64>>, ImportError> {
    let ways = ["quat", "axisangle", "euler", "xyaxes", "zaxis"];
    if ways.iter().filter(|way| element.has(way)).count() > 1 {
        return Err(
            element.error("has more than one orientation; keep one of quat, axisangle, euler, xyaxes, zaxis")
        );
    }
    let direction = |name: &str, v: Vec3<f64>| {
        let norm = v.norm();
        if norm > SHORTEST {
            Ok(v * (1.0 / norm))
        } else {
            Err(element.error_in(name, "is too short to have a direction"))
        }
    };
    if let Some([w, x, y, z]) = element.array("quat")? {
        let quat = Quat::new(w, x, y, z);
        if quat.norm_squared() < SHORTEST * SHORTEST {
            return Err(element.error_in("quat", "is zero; the identity is 1 0 0 0"));
        }
        return Ok(Some(quat.normalize()));
    }
    if let Some([x, y, z, angle]) = element.array("axisangle")? {
        let axis = direction("axisangle", Vec3::new(x, y, z))?;
        return Ok(Some(Quat::from_axis_angle(axis, compiler.radians(angle))));
    }
    if let Some(angles) = element.array::<3>("euler")? {
        return Ok(Some(from_euler(angles.map(|a| compiler.radians(a)), compiler.euler_sequence)));
    }
    if let Some([a, b, c, d, e, f]) = element.array("xyaxes")? {
        let x = direction("xyaxes", Vec3::new(a, b, c))?;
        let y = Vec3::new(d, e, f);
        let y = direction("xyaxes", y - x * x.dot(y))?;
        let quat = Quat::from_mat3(Mat3::from_cols(x, y, x.cross(y))).normalize();
        // Of the two signs MuJoCo takes that with a positive w, or where the trace of the matrix, 4 w² − 1, is
        // negative that with a positive largest component. It shows in the coordinates of a free joint.
        let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
        let leading = if quat.w.abs() > 0.5 { quat.w } else { larger(larger(quat.x, quat.y), quat.z) };
        return Ok(Some(if leading < 0.0 { quat * -1.0 } else { quat }));
    }
    if let Some(z) = element.vec3("zaxis")? {
        return Ok(Some(from_z_axis(direction("zaxis", z)?)));
    }
    Ok(None)
}

/// Three rotations about axes: lower case about the axes that move along, upper case about those that stay.
pub(super) fn from_euler(angles: [f64; 3], sequence: [u8; 3]) -> Quat<f64> {
    let mut quat = Quat::identity();
    for (angle, letter) in angles.into_iter().zip(sequence) {
        let axis = match letter.to_ascii_lowercase() {
            b'x' => Vec3::new(1.0, 0.0, 0.0),
            b'y' => Vec3::new(0.0, 1.0, 0.0),
            _ => Vec3::new(0.0, 0.0, 1.0),
        };
        let turn = Quat::from_axis_angle(axis, angle);
        quat = if letter.is_ascii_lowercase() { quat * turn } else { turn * quat };
    }
    quat.normalize()
}

/// The smallest rotation that takes z to `direction`, a unit vector; about x where both are opposite.
pub(super) fn from_z_axis(direction: Vec3<f64>) -> Quat<f64> {
    let axis = Vec3::new(0.0, 0.0, 1.0).cross(direction);
    let sine = axis.norm();
    let axis = if sine < 1e-10 { Vec3::new(1.0, 0.0, 0.0) } else { axis * (1.0 / sine) };
    Quat::from_axis_angle(axis, sine.atan2(direction.z))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lower and upper case letters in reverse order are the same rotation.
    #[test]
    fn intrinsic_is_reversed_extrinsic() {
        let (a, b) = (from_euler([0.1, 0.2, 0.3], *b"xyz"), from_euler([0.3, 0.2, 0.1], *b"ZYX"));
        assert!((a.w - b.w).abs() + (a.vector() - b.vector()).norm() < 1e-15);
    }

    #[test]
    fn z_axis_reaches_its_direction() {
        for direction in [Vec3::new(0.6, 0.0, 0.8), Vec3::new(0.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)] {
            let reached = from_z_axis(direction).rotate(Vec3::new(0.0, 0.0, 1.0));
            assert!((reached - direction).norm() < 1e-15);
        }
    }
}
