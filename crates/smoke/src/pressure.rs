//! The projection: the nearest flow without divergence that passes no wall, u′ = u − G q with A q = −div u.
//!
//! With G the differences of neighbors over open faces and div = −Gᵀ, A = GᵀG and u′ = (1 − G A⁻¹ Gᵀ) u. That
//! map is symmetric, so it is its own pullback. Pressure is ρ₀ h q / Δt. Dual numbers have no iterations to
//! follow: the tangent of u′ is the projection of the tangent of u, by a solve of its own.
//!
//! The solve is in double precision for any scalar, but for its preconditioner: differences of neighbors of a
//! smooth q drown in the round-off of single precision, and conjugate gradients then stall. Limitation: tangents
//! of tangents are not followed.

use pullback_math::Real;

use super::conjugate_gradients::{RightHandSide, SolveTolerance, Solved, Solver};
use super::padded::{Padded, Place};
use super::sums::{fold, total};

/// Divergences of so many round-offs of the velocities are noise.
const ROUND_OFFS: f64 = 4.0;

/// Projects velocities with filled halos and zeros on closed faces.
pub(crate) fn project<T: Real, const D: usize>(
    padded: &Padded<D>,
    closed: &[Vec<u32>; D],
    solver: &mut Solver<D>,
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
    solver: &mut Solver<D>,
    tolerance: SolveTolerance,
    velocity: &mut [Vec<T>; D],
    part: impl Fn(T) -> f64 + Sync,
    less: impl Fn(T, f64) -> T + Sync,
) -> Solved {
    // What is left after a projection is the round-off of differences.
    let noise = divergence(padded, velocity, &part, solver.right_hand_side()) * ROUND_OFFS * T::EPSILON;
    let solved = solver.solve(tolerance, noise);
    padded.fill_halo(Place::Cell, &mut solver.solution);
    let q = &solver.solution;
    for (u, stride) in velocity.iter_mut().zip(padded.strides) {
        padded.for_blocks(padded.part(u), |at, u| {
            // u′ = u − (q_c − q_lower)
            let (here, lower) = (&q[at.start..][..at.len], &q[at.start - stride..][..at.len]);
            for i in 0..at.len {
                u[i] = less(u[i], here[i] - lower[i]);
            }
        });
    }
    solved
}

/// b = −Σ (u_upper − u_lower) over the axes; returns the length of the velocities.
fn divergence<T: Real, const D: usize>(
    padded: &Padded<D>,
    velocity: &[Vec<T>; D],
    part: impl Fn(T) -> f64 + Sync,
    to: RightHandSide<'_, D>,
) -> f64 {
    let RightHandSide { level, b, sums } = to;
    padded.for_blocks((padded.part(b), padded.dense(sums, 1)), |at, (b, sum)| {
        let (n, diagonal) = (at.len, level.diagonal(at));
        let lower = velocity.each_ref().map(|u| &u[at.start..][..n]);
        let upper: [&[T]; D] = std::array::from_fn(|a| &velocity[a][at.start + padded.strides[a]..][..n]);
        for i in 0..n {
            let mut out = 0.0;
            for a in 0..D {
                out += part(lower[a][i]) - part(upper[a][i]);
            }
            b[i] = if diagonal[i] > 0.0 { out } else { 0.0 };
        }
        // Lower faces of fluid cells are all that are open.
        let squares = lower.map(|u| {
            fold(u, diagonal, |sum, u, d| if d > 0.0 { part(u).mul_add(part(u), sum) } else { sum })
        });
        sum[0] = squares.into_iter().sum();
    });
    total(sums).sqrt()
}

/// Zero at the listed entries.
pub(crate) fn clear<T: Real>(at: &[u32], data: &mut [T]) {
    at.iter().for_each(|i| data[*i as usize] = T::zero());
}
