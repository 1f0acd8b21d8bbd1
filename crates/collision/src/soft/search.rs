//! Minima in one environment: damped Newton steps from a large softness down to the one asked for.

use pullback_math::{Mat3, Vec3};

use super::balance::Minimum;
use super::cholesky::{cholesky, columns, solve_factored};

/// Softness of the first stage in sizes.
const FIRST_SOFTNESS: f64 = 0.3;
/// Steps in units of the softness after which a stage on the way, and the last, stops.
const CONVERGED: (f64, f64) = (1.0, 1e-7);
/// Longest step in sizes.
const LONGEST: f64 = 0.5;
/// Rise of the function, in sizes, that is round-off.
const ROUND_OFF: f64 = 1e-14;

/// How the softness is lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stages {
    /// Softness of a stage in that of the last.
    pub shrink: f64,
    /// Newton steps of a stage on the way, and of the last.
    pub steps: (usize, usize),
}

/// A convex function of a point, evaluated where a search stands. A search moves the point itself, or a direction m
/// whose soft support point it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// What the search moves.
    pub variable: Vec3<f64>,
    /// The point.
    pub x: Vec3<f64>,
    /// The function, and its largest wall, m.
    pub value: f64,
    pub highest: f64,
    /// What must vanish, and its derivative by x but for that of the variable itself.
    pub residual: Vec3<f64>,
    pub hessian: Mat3<f64>,
    /// Derivative of x by the direction m; none where the variable is x.
    pub spread: Option<Mat3<f64>>,
}

impl Trial {
    /// The inverse of d residual / dx: H⁻¹, or C (1 + H C)⁻¹ as L (1 + Lᵀ H L)⁻¹ Lᵀ with C = L Lᵀ.
    fn inverse(&self) -> impl Fn(Vec3<f64>) -> Vec3<f64> {
        let l = self.spread.map(cholesky);
        let inner = match l {
            None => cholesky(self.hessian),
            Some(l) => cholesky(Mat3::identity() + l.transpose() * self.hessian * l),
        };
        move |g| match l {
            None => solve_factored(&inner, g),
            Some(l) => l * solve_factored(&inner, l.transpose() * g),
        }
    }
}

/// The minimum of a function of a softness, searched from `start`; `size` is that of the solids, m.
pub(super) fn search(
    trial: impl Fn(Vec3<f64>, f64) -> Trial,
    start: Vec3<f64>,
    (softness, size): (f64, f64),
    Stages { shrink, steps }: Stages,
) -> Minimum<f64> {
    let (mut variable, mut stage) = (start, (FIRST_SOFTNESS * size).max(softness));
    while stage > softness {
        variable = descend(|v| trial(v, stage), variable, stage, size, (steps.0, CONVERGED.0)).variable;
        stage = (shrink * stage).max(softness);
    }
    let at = descend(|v| trial(v, softness), variable, softness, size, (steps.1, CONVERGED.1));
    let direction = if at.spread.is_some() { at.variable } else { Vec3::zero() };
    Minimum { x: at.x, direction, inverse: columns(at.inverse()), highest: at.highest }
}

/// Newton steps at one softness, each shortened until the function falls enough.
fn descend(
    trial: impl Fn(Vec3<f64>) -> Trial,
    start: Vec3<f64>,
    softness: f64,
    size: f64,
    (steps, converged): (usize, f64),
) -> Trial {
    let mut at = trial(start);
    for _ in 0..steps {
        let way = -at.inverse()(at.residual);
        // (1 + H C) dm = −g, dx = C dm
        let step = if at.spread.is_some() { -at.residual - at.hessian * way } else { way };
        let fall = -at.residual.dot(way);
        // At the bottom, up to round-off.
        if fall.is_nan() || (fall <= 0.0 && step.norm() < converged) {
            break;
        }
        let mut part = (LONGEST * size / way.norm().max(f64::MIN_POSITIVE)).min(1.0);
        at = loop {
            let next = trial(at.variable + step * part);
            // Armijo, up to round-off.
            if next.value <= at.value - 0.1 * part * fall + ROUND_OFF * size || part < 1e-9 {
                break next;
            }
            part *= 0.4;
        };
        if part == 1.0 && way.norm() < converged * softness && step.norm() < converged {
            break;
        }
    }
    at
}
