//! Limited-memory BFGS in a box (Nocedal and Wright, algorithm 7.4), for smooth functions that are dear to
//! evaluate.
//!
//! Variables at a wall that the gradient presses against are left out of the step; the others move along the
//! two-loop direction and are taken back into the box. A step is shortened by interpolation until the
//! decrease is sufficient. Where the function is not finite it counts as no decrease. The pairs of past steps
//! that stand for the curvature can be handed from one descent to the next of a similar function, which then
//! needs no steps to learn it.

use super::kernel::dot;
use crate::two_loop::Pairs;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LbfgsConfig {
    /// Steps before giving up.
    pub max_steps: usize,
    /// Stop when a step lowers the value by less than this, or is expected to, relative to max(|value|, 1).
    pub value_tolerance: f64,
    /// Stop when no entry of the gradient that may act exceeds this.
    pub gradient_tolerance: f64,
}

/// Pairs (s, y) of past steps that shape the next one.
pub(crate) const MEMORY: usize = 10;
/// Shortenings of a step before it is given up.
const SHORTENINGS: usize = 15;

/// Where a descent ended.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The variables.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// Values with gradients that were computed.
    pub evaluations: usize,
}

/// Descends from `start`; `f` returns the value and writes the gradient; `pairs` are what is known of the
/// curvature, now and in the end.
pub(crate) fn minimize(
    mut f: impl FnMut(&[f64], &mut [f64]) -> f64,
    start: &[f64],
    bounds: &[(f64, f64)],
    pairs: &mut Pairs,
    config: &LbfgsConfig,
) -> Minimum {
    let n = start.len();
    let clamped = |x: f64, (low, high): (f64, f64)| x.clamp(low, high);
    let mut x: Vec<f64> = start.iter().zip(bounds).map(|(x, b)| clamped(*x, *b)).collect();
    let mut gradient = vec![0.0; n];
    let mut value = f(&x, &mut gradient);
    let mut evaluations = 1;
    for _ in 0..config.max_steps {
        let clip = |i: usize| if is_free(x[i], gradient[i], bounds[i]) { gradient[i] } else { 0.0 };
        let clipped: Vec<f64> = (0..n).map(clip).collect();
        let largest = clipped.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        if !value.is_finite() || largest <= config.gradient_tolerance {
            break;
        }
        let mut direction = pairs.direction(&clipped);
        if dot(&direction, &gradient) >= 0.0 {
            pairs.clear();
            direction = clipped.iter().map(|g| -g).collect();
        }
        // With H the inverse Hessian a step gains ½ gᵀHg.
        let expected = -0.5 * dot(&direction, &gradient);
        if !pairs.is_empty() && expected <= config.value_tolerance * value.abs().max(1.0) {
            break;
        }
        // The first step, of unknown scale, is no longer than one.
        let mut scale =
            if pairs.is_empty() { 1.0 / dot(&direction, &direction).sqrt().max(1.0) } else { 1.0 };
        let mut accepted = None;
        for _ in 0..SHORTENINGS {
            let trial: Vec<f64> = (0..n).map(|i| clamped(x[i] + scale * direction[i], bounds[i])).collect();
            let s: Vec<f64> = trial.iter().zip(&x).map(|(a, b)| a - b).collect();
            let slope = dot(&s, &gradient);
            let mut trial_gradient = vec![0.0; n];
            let trial_value = f(&trial, &mut trial_gradient);
            evaluations += 1;
            if trial_value.is_finite() && trial_value <= value + 1e-4 * slope {
                accepted = Some((trial, trial_value, trial_gradient, s));
                break;
            }
            // The minimum of the parabola through value, slope and trial, in the middle part of the step.
            let parabola = -0.5 * slope / (trial_value - value - slope);
            scale *= if parabola.is_finite() { parabola.clamp(0.1, 0.5) } else { 0.1 };
        }
        let Some((trial, trial_value, trial_gradient, s)) = accepted else {
            if pairs.is_empty() {
                break;
            }
            pairs.clear();
            continue;
        };
        let y: Vec<f64> = trial_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        pairs.push(s, y);
        let gained = value - trial_value;
        (x, value, gradient) = (trial, trial_value, trial_gradient);
        if gained <= config.value_tolerance * value.abs().max(1.0) {
            break;
        }
    }
    Minimum { x, value, evaluations }
}

/// Whether a variable can move against its gradient.
fn is_free(x: f64, gradient: f64, (low, high): (f64, f64)) -> bool {
    !(x <= low && gradient > 0.0 || x >= high && gradient < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: LbfgsConfig = LbfgsConfig { max_steps: 500, value_tolerance: 0.0, gradient_tolerance: 1e-9 };

    fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut sum = 0.0;
        for i in 0..x.len() - 1 {
            let lift = x[i + 1] - x[i] * x[i];
            sum += (1.0 - x[i]).powi(2) + 100.0 * lift * lift;
            gradient[i] += -2.0 * (1.0 - x[i]) - 400.0 * x[i] * lift;
            gradient[i + 1] += 200.0 * lift;
        }
        sum
    }

    #[test]
    fn a_curved_valley_of_ten_variables_is_followed() {
        let found = minimize(rosenbrock, &[-0.5; 10], &[(-2.0, 2.0); 10], &mut Pairs::new(MEMORY), &TIGHT);
        assert!(found.x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{found:?}");
        assert!(found.evaluations < 200, "{}", found.evaluations);
    }

    #[test]
    fn walls_hold_and_cliffs_are_backed_away_from() {
        // The unconstrained minimum is outside along the first variable.
        let bowl = |x: &[f64], g: &mut [f64]| {
            g.copy_from_slice(&[2.0 * (x[0] - 3.0) + x[1], 2.0 * x[1] + x[0]]);
            (x[0] - 3.0).powi(2) + x[1] * x[1] + x[0] * x[1]
        };
        let found = minimize(bowl, &[0.0, 0.9], &[(-1.0, 1.0); 2], &mut Pairs::new(MEMORY), &TIGHT);
        assert!((found.x[0] - 1.0).abs() < 1e-9 && (found.x[1] + 0.5).abs() < 1e-7, "{found:?}");
        let cliff = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0 - 1.0 / x[0];
            if x[0] <= 0.0 { f64::NAN } else { x[0] - x[0].ln() }
        };
        assert!(
            (minimize(cliff, &[5.0], &[(-10.0, 10.0)], &mut Pairs::new(MEMORY), &TIGHT).x[0] - 1.0).abs()
                < 1e-7
        );
    }

    #[test]
    fn a_second_descent_knows_the_curvature_of_the_first() {
        let bowl = |at: f64| {
            move |x: &[f64], g: &mut [f64]| {
                let mut sum = 0.0;
                for (i, x) in x.iter().enumerate() {
                    let stiffness = 10.0_f64.powi(i as i32);
                    g[i] = stiffness * (x - at);
                    sum += 0.5 * stiffness * (x - at).powi(2);
                }
                sum
            }
        };
        let (mut pairs, bounds) = (Pairs::new(MEMORY), [(-9.0, 9.0); 4]);
        let fair = LbfgsConfig { gradient_tolerance: 1e-4, ..TIGHT };
        let first = minimize(bowl(1.0), &[0.0; 4], &bounds, &mut pairs, &fair);
        let again = minimize(bowl(1.01), &first.x, &bounds, &mut pairs, &fair);
        let cold = minimize(bowl(1.01), &first.x, &bounds, &mut Pairs::new(MEMORY), &fair);
        assert!(again.x.iter().all(|x| (x - 1.01).abs() < 1e-4), "{again:?}");
        assert!(3 * again.evaluations < 2 * cold.evaluations, "{} {}", again.evaluations, cold.evaluations);
    }
}
