//! Minima of F in one environment: damped Newton steps from a large softness down to the one asked for.
//!
//! The Hessian is the derivative of the gradient in forward mode, one column per lane.

use pullback_math::{Dual, Mat3, Real, Transform, Vec3, f64x4};

use super::balance::{Minimum, Pair, Setup, gradient, objective};
use super::cholesky::{cholesky, columns, solve_factored};

/// Softness of the first stage in sizes of the smaller solid.
const FIRST_SOFTNESS: f64 = 0.3;
/// Softness of a stage in that of the last.
const SHRINK: f64 = 0.2;
/// Newton steps of a stage on the way, and of the last.
const STEPS: (usize, usize) = (6, 100);
/// Steps in units of the softness after which a stage on the way, and the last, stops.
pub(super) const CONVERGED: (f64, f64) = (1.0, 1e-7);

/// Longest step in sizes of the smaller solid.
pub(super) const LONGEST: f64 = 0.5;
/// Rise of F, in sizes of the smaller solid, that is round-off.
pub(super) const ROUND_OFF: f64 = 1e-14;

/// Four numbers that move along x, y, z and not at all.
type Moving = Dual<f64x4>;

pub(super) fn fixed(v: Vec3<f64>) -> Vec3<Moving> {
    v.map(Moving::lit)
}

pub(super) fn fixed_pose(pose: Transform<f64>) -> Transform<Moving> {
    let Mat3 { c0, c1, c2 } = pose.rotation;
    Transform::new(Mat3::from_cols(fixed(c0), fixed(c1), fixed(c2)), fixed(pose.translation))
}

/// The point x, lane i moving along axis i.
pub(super) fn moving(x: Vec3<f64>) -> Vec3<Moving> {
    let coordinate = |i: usize| {
        let along = f64x4::from_lanes(|lane| if lane == i { 1.0 } else { 0.0 });
        Moving::new(f64x4::lit(x[i]), along)
    };
    Vec3::new(coordinate(0), coordinate(1), coordinate(2))
}

/// ∇F and its Hessian at x.
fn derivatives(
    setup: Setup,
    pair: &Pair<Moving>,
    push: Vec3<f64>,
    x: Vec3<f64>,
    highest: f64,
) -> (Vec3<f64>, Mat3<f64>) {
    let g = gradient(setup, *pair, fixed(push), moving(x), Moving::lit(highest));
    let column = |i: usize| g.map(|c| c.tangent.lane(i));
    (g.map(|c| c.value.lane(0)), Mat3::from_cols(column(0), column(1), column(2)))
}

/// The minimum of F with the push κ t, searched from `start`; `size` is that of the smaller solid, m.
pub(super) fn solve(
    setup: Setup,
    pair: &Pair<f64>,
    push: Vec3<f64>,
    start: Vec3<f64>,
    size: f64,
) -> Minimum<f64> {
    let in_forward_mode = Pair {
        size_a: fixed(pair.size_a),
        a: fixed_pose(pair.a),
        size_b: fixed(pair.size_b),
        b: fixed_pose(pair.b),
    };
    let mut x = start;
    let mut softness = (FIRST_SOFTNESS * size).max(setup.softness);
    loop {
        let last = softness <= setup.softness;
        let stage = Setup { softness, ..setup };
        let limits = if last { (STEPS.1, CONVERGED.1) } else { (STEPS.0, CONVERGED.0) };
        x = descend(stage, pair, &in_forward_mode, push, x, size, limits);
        if last {
            break;
        }
        softness = (SHRINK * softness).max(setup.softness);
    }
    let (_, highest) = objective(setup, pair, push, x);
    let (_, hessian) = derivatives(setup, &in_forward_mode, push, x, highest);
    let factor = cholesky(hessian);
    Minimum { x, inverse: columns(|e| solve_factored(&factor, e)), highest }
}

/// Newton steps at one softness, each shortened until F falls enough.
fn descend(
    setup: Setup,
    pair: &Pair<f64>,
    in_forward_mode: &Pair<Moving>,
    push: Vec3<f64>,
    start: Vec3<f64>,
    size: f64,
    (steps, converged): (usize, f64),
) -> Vec3<f64> {
    let mut x = start;
    let (mut value, mut highest) = objective(setup, pair, push, x);
    for _ in 0..steps {
        let (g, hessian) = derivatives(setup, in_forward_mode, push, x, highest);
        let step = -solve_factored(&cholesky(hessian), g);
        let fall = -g.dot(step);
        // At the bottom, up to round-off.
        if fall.is_nan() || fall <= 0.0 {
            break;
        }
        let mut part = (LONGEST * size / step.norm()).min(1.0);
        let next = loop {
            let at = x + step * part;
            let (there, highest) = objective(setup, pair, push, at);
            // Armijo, up to round-off.
            if there <= value - 0.1 * part * fall + ROUND_OFF * size || part < 1e-9 {
                break (at, there, highest);
            }
            part *= 0.4;
        };
        (x, value, highest) = next;
        if part == 1.0 && step.norm() < converged * setup.softness {
            break;
        }
    }
    x
}
