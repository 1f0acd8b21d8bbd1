//! Principal axes of an inertia, named as MuJoCo names them.
//!
//! Principal axes are unique only up to signs and, for equal moments, rotations. To name the same frame as
//! MuJoCo, the eigenvectors are found the way it does: Jacobi rotations of the largest off-diagonal entry
//! (Golub and Van Loan, §8.5.3), kept as a quaternion, then quarter turns that sort the moments. One
//! difference remains: our threshold is relative to the inertia, so that small meshes are diagonalized too.

use pullback_math::{Quat, SymMat3, Vec3};

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
