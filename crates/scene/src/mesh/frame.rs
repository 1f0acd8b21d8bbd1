//! Principal axes of an inertia, named as MuJoCo names them.
//!
//! Principal axes are unique only up to signs and, for equal moments, rotations. To name the same frame as
//! MuJoCo, the eigenvectors are found the way it does: Jacobi rotations of the largest off-diagonal entry
//! (Golub and Van Loan, §8.5.3), kept as a quaternion, then quarter turns that sort the moments. One
//! difference remains: our threshold is relative to the inertia, so that small meshes are diagonalized too.
//!
//! The axes along which MuJoCo stores the vertices of a mesh lack the last rotation, of up to 10⁻⁶ rad
//! (`stored_axes`). Vertices are rounded along them.

use pullback_math::{Quat, SymMat3, Vec3};

/// Principal moments, descending, and the rotation from principal axes to the axes of `inertia`; MuJoCo's
/// choice of signs.
pub fn principal_axes(inertia: SymMat3<f64>) -> (Vec3<f64>, Quat<f64>) {
    jacobi(inertia, |tangent| Some((0.5 * tangent.atan()).sin()))
}

/// The rotation from the axes along which MuJoCo stores a mesh to those of its `inertia`.
pub(super) fn stored_axes(inertia: SymMat3<f64>) -> Quat<f64> {
    /// 1 − cos θ of a rotation that is not made.
    const NO_TURN: f64 = 1e-12;
    let half_sine = |tangent: f64| {
        let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
        (cosine <= 1.0 - NO_TURN).then(|| (0.5 - 0.5 * cosine).sqrt().copysign(tangent))
    };
    jacobi(inertia, half_sine).1
}

/// Principal moments and axes; `half_sine` is sin θ/2 from tan θ of a rotation, or nothing where to end.
fn jacobi(inertia: SymMat3<f64>, half_sine: impl Fn(f64) -> Option<f64>) -> (Vec3<f64>, Quat<f64>) {
    const RELATIVE: f64 = 1e-14;
    const SWEEPS: usize = 500;
    let small = RELATIVE * inertia.trace().abs();
    let rotated = |q: Quat<f64>| inertia.congruence(q.to_mat3().transpose()).to_mat3();
    let mut q = Quat::identity();
    let mut d = rotated(q);
    for _ in 0..SWEEPS {
        // Of equal entries the last, which tells the axes of equal moments.
        let (mut row, mut col) = (1, 2);
        for (r, c) in [(0, 2), (0, 1)] {
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
        let Some(sine) = half_sine(tangent) else { break };
        let axis = 3 - row - col;
        q = (q * half_turned(axis, if axis == 1 { sine } else { -sine })).normalize();
        d = rotated(q);
    }
    let mut moments = d.diagonal_part();
    for low in [0, 1, 0] {
        if moments[low] + small < moments[low + 1] {
            (moments[low], moments[low + 1]) = (moments[low + 1], moments[low]);
            q = (q * half_turned((low + 2) % 3, std::f64::consts::FRAC_1_SQRT_2)).normalize();
        }
    }
    (moments, q)
}

/// Rotation about a coordinate axis, by the sine of half its angle.
fn half_turned(axis: usize, sine: f64) -> Quat<f64> {
    let mut v = Vec3::zero();
    v[axis] = sine;
    Quat::from_parts((1.0 - sine * sine).sqrt(), v)
}
