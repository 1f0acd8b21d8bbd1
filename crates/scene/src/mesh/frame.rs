//! A mesh in its own inertial frame, as MuJoCo keeps its assets.
//!
//! MuJoCo moves every mesh so that its centre of mass is the origin and its principal axes, largest moment
//! first, are x, y and z; a geom that uses the mesh is displaced by the inverse. [`to_inertial_frame`] does
//! the same. With the returned placement, the frame of a geom written at (p, q) becomes (p + q·position,
//! q·orientation).
//!
//! Principal axes are unique only up to signs and, for equal moments, rotations. To name the same frame as
//! MuJoCo, the eigenvectors are found the way it does: Jacobi rotations of the largest off-diagonal entry
//! (Golub and Van Loan, §8.5.3), kept as a quaternion, then quarter turns that sort the moments. One
//! difference remains: our threshold is relative to the inertia, so that small meshes are diagonalised too.

use pullback_math::{Quat, SymMat3, Vec3};

use super::{MeshError, MeshInertia, TriangleMesh, mass_properties};

/// A mesh in its inertial frame and where that frame was.
#[derive(Clone, Debug, PartialEq)]
pub struct InertialMesh {
    /// The mesh, centred at its centre of mass and turned to its principal axes.
    pub mesh: TriangleMesh,
    /// Centre of mass in the original frame, m.
    pub position: Vec3<f64>,
    /// Principal axes in the original frame: rotates vectors of the inertial frame to the original.
    pub orientation: Quat<f64>,
    /// Volume, m³ (area for shells, m²).
    pub volume: f64,
    /// Principal moments at density 1, descending.
    pub moments: Vec3<f64>,
}

/// Moves a mesh to its inertial frame, weighed by `kind`.
pub fn to_inertial_frame(mesh: &TriangleMesh, kind: MeshInertia) -> Result<InertialMesh, MeshError> {
    let weighed = mass_properties(mesh, kind)?;
    let (moments, orientation) = principal_axes(weighed.inertia);
    Ok(InertialMesh {
        mesh: mesh.in_frame(weighed.com, orientation),
        position: weighed.com,
        orientation,
        volume: weighed.volume,
        moments,
    })
}

/// Principal moments, descending, and the rotation from principal axes to the axes of `inertia`; MuJoCo's
/// choice of signs.
pub fn principal_axes(inertia: SymMat3<f64>) -> (Vec3<f64>, Quat<f64>) {
    const RELATIVE: f64 = 1e-14;
    const SWEEPS: usize = 500;
    let small = RELATIVE * inertia.trace().abs();
    let rotated = |q: Quat<f64>| inertia.congruence(q.to_mat3().transpose()).to_mat3();
    let mut q = Quat::identity();
    let mut d = rotated(q);
    for _ in 0..SWEEPS {
        let (mut row, mut col) = (0, 1);
        for (r, c) in [(0, 2), (1, 2)] {
            if d[(r, c)].abs() > d[(row, col)].abs() {
                (row, col) = (r, c);
            }
        }
        let off = d[(row, col)];
        if off.abs() <= small || off.is_nan() {
            break;
        }
        // tan θ of the smaller rotation that clears the entry
        let tau = (d[(col, col)] - d[(row, row)]) / (2.0 * off);
        let tangent = if tau >= 0.0 { 1.0 } else { -1.0 } / (tau.abs() + (1.0 + tau * tau).sqrt());
        let angle = tangent.atan();
        let axis = 3 - row - col;
        let turn = if axis == 1 { angle } else { -angle };
        q = (q * about(axis, turn)).normalize();
        d = rotated(q);
    }
    let mut moments = d.diagonal_part();
    for low in [0, 1, 0] {
        if moments[low] + small < moments[low + 1] {
            (moments[low], moments[low + 1]) = (moments[low + 1], moments[low]);
            q = (q * about((low + 2) % 3, std::f64::consts::FRAC_PI_2)).normalize();
        }
    }
    (moments, q)
}

/// Rotation about a coordinate axis.
fn about(axis: usize, angle: f64) -> Quat<f64> {
    let mut v = Vec3::zero();
    v[axis] = (angle / 2.0).sin();
    Quat::from_parts((angle / 2.0).cos(), v)
}
