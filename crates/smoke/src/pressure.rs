//! The projection: the nearest flow without divergence that passes no wall, u′ = u − G q with A q = −div u.
//!
//! With G the differences of neighbors over open faces and div = −Gᵀ, A = GᵀG and u′ = (1 − G A⁻¹ Gᵀ) u. That
//! map is symmetric, so it is its own pullback. Pressure is ρ₀ h q / Δt. Dual numbers have no iterations to
//! follow: the tangent of u′ is the projection of the tangent of u, by a solve of its own.
//!
//! The solve is in double precision for any scalar: differences of neighbors of a smooth q drown in the round-off
//! of single precision, and conjugate gradients then stall. Limitation: tangents of tangents are not followed.

use pullback_math::Real;

use super::conjugate_gradients::{SolveTolerance, Solved, Solver};
use super::padded::{Padded, Place};

/// Divergences of so many round-offs of the velocities are noise.
const ROUND_OFFS: f64 = 4.0;

/// Projects velocities with filled halos and zeros on closed faces.
pub(crate) fn project<T: Real, const D: usize>(
    padded: &Padded<D>,
    closed: &[Vec<u32>; D],
    solver: &mut Solver<f64, D>,
    tolerance: SolveTolerance,
    velocity: &mut [Vec<T>; D],
) -> Solved {
    let mut all = Solved { converged: true, ..Solved::default() };
    for lane in 0..T::LANES {
        // A change in this lane alone.
        let in_lane = |x: f64| T::Primal::from_lanes(|l| if l == lane { x } else { 0.0 });
        let value = |u: T| u.primal().lane(lane);
        let less = |u: T, x: f64| T::from_parts(u.primal() - in_lane(x), u.tangent());
        all.add(project_part(padded, solver, tolerance, velocity, value, less));
        if T::HAS_TANGENT {
            let tangent = |u: T| u.tangent().lane(lane);
            let less = |u: T, x: f64| T::from_parts(u.primal(), u.tangent() - in_lane(x));
            all.add(project_part(padded, solver, tolerance, velocity, tangent, less));
        }
    }
    for a in 0..D {
        clear(&closed[a], &mut velocity[a]);
        padded.fill_halo(Place::Face(a), &mut velocity[a]);
    }
    all
}

/// Projects values or tangents of a lane.
fn project_part<T: Real, const D: usize>(
    padded: &Padded<D>,
    solver: &mut Solver<f64, D>,
    tolerance: SolveTolerance,
    velocity: &mut [Vec<T>; D],
    part: impl Fn(T) -> f64 + Sync,
    less: impl Fn(T, f64) -> T + Sync,
) -> Solved {
    divergence(padded, velocity, &part, solver.right_hand_side());
    // What is left after a projection is the round-off of differences.
    let size = velocity.iter().fold(0.0f64, |most, u| most.max(solver.length(|i| part(u[i]))));
    let solved = solver.solve(tolerance, size * ROUND_OFFS * T::EPSILON);
    padded.fill_halo(Place::Cell, &mut solver.solution);
    let q = &solver.solution;
    let strides = padded.strides;
    padded.for_rows(velocity.each_mut().map(|u| padded.part(u)), |at, rows| {
        for (a, row) in rows.into_iter().enumerate() {
            // u′ = u − (q_c − q_lower)
            let (here, lower) = (&q[at.start..][..row.len()], &q[at.start - strides[a]..][..row.len()]);
            for i in 0..row.len() {
                row[i] = less(row[i], here[i] - lower[i]);
            }
        }
    });
    solved
}

/// b = −Σ (u_upper − u_lower) over the axes.
fn divergence<T: Real, const D: usize>(
    padded: &Padded<D>,
    velocity: &[Vec<T>; D],
    part: impl Fn(T) -> f64 + Sync,
    b: &mut [f64],
) {
    padded.for_rows(padded.part(b), |at, row| {
        let n = row.len();
        row.fill(0.0);
        for a in 0..D {
            let lower = &velocity[a][at.start..][..n];
            let upper = &velocity[a][at.start + padded.strides[a]..][..n];
            for i in 0..n {
                row[i] += part(lower[i]) - part(upper[i]);
            }
        }
    });
}

/// Zero at the listed entries.
pub(crate) fn clear<T: Real>(at: &[u32], data: &mut [T]) {
    at.iter().for_each(|i| data[*i as usize] = T::zero());
}
