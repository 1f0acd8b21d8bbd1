//! Stability of steps: how fast the smallest changes of a state grow, and the largest step at which they do not grow
//! without bound.
//!
//! A step x′ = Φₕ(x) takes a small change δ to A δ, A = ∂Φₕ/∂x. Repeated at one point this is the power method: δ turns
//! into the mode that grows most, and its factor per step is the spectral radius of A. The products A δ are exact (dual
//! numbers), whatever the physics: springs, elements, contacts, particles, implicit terms and any integrator alike.
//!
//! A motion may be unstable by nature, as a pole that is balanced. A mode that the step resolves grows and turns by
//! little per step. One that the step does not resolve flips its sign or turns far, or grows by more than half: that is
//! an instability of the step, and [`Growth::unstable`] is this distinction.
//!
//! *Limits.* The linearization knows what acts at the state that is given: a contact that is not touched has no stiffness
//! yet. Look at states along the motion ([`largest_stable_step`] takes one at a time). An instability that needs a finite
//! change, as particles that leave their cells, is not seen.

use pullback_math::Dual;

use crate::error::{ConfigError, StepError};
use crate::point::Point;
use crate::random::Random;
use crate::system::System;

/// Steps of the power method before it is measured, and in each of two windows that are compared.
const WINDOW: usize = 20;
/// A growth per step below this is round-off of windows, or too slow to matter.
const GROWS: f64 = 0.02;
/// A mode that is multiplied by more than e to this per step is not resolved by the step.
const UNRESOLVED: f64 = 0.5;
/// Cosine of the largest turn per step of a mode that is resolved.
const TURNS: f64 = 0.5;

/// The mode of a step that grows most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Natural logarithm of its factor per step.
    pub per_step: f64,
    /// Mean cosine between the mode before and after a step: 1 if it stays, −1 if it flips.
    pub turn: f64,
    /// The entry of the state that it changes most.
    pub entry: usize,
}

impl Growth {
    /// Whether the step makes it grow: the mode grows, and the step does not resolve it.
    pub fn unstable(&self) -> bool {
        self.per_step > UNRESOLVED || (self.per_step > GROWS && self.turn < TURNS)
    }
}

/// The growth of small changes at a point, by 60 products with the Jacobian of a step.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Point, stability::growth};
/// let found = growth(&falling(0.01), Point { params: &[9.81], state: &[2.0, 0.0], control: &[] })?;
/// assert!(!found.unstable(), "free fall is stable at any step");
/// # Ok::<(), pullback_core::StepError>(())
/// ```
pub fn growth<S: System<Dual<f64>>>(system: &S, at: Point<'_, f64>) -> Result<Growth, StepError> {
    let lift = |x: &[f64]| -> Vec<Dual<f64>> { x.iter().map(|x| Dual::new(*x, 0.0)).collect() };
    let (params, control) = (lift(at.params), lift(at.control));
    let mut state = lift(at.state);
    let mut next = state.clone();
    let mut ws = system.workspace();
    let mut random = Random::new(0);
    let mut change: Vec<f64> = at.state.iter().map(|_| random.normal()).collect();
    normalize(&mut change);

    // Logarithm of the length so far, and its highest values in both windows: a mode that turns shows its full length
    // only now and then.
    let (mut length, mut highest) = (0.0, [f64::NEG_INFINITY; 2]);
    let (mut turn, mut entry) = (0.0, 0);
    for k in 0..3 * WINDOW {
        state.iter_mut().zip(&change).for_each(|(x, d)| x.tangent = *d);
        system.step(&mut ws, Point { params: &params, state: &state, control: &control }, &mut next)?;
        let mut grown: Vec<f64> = next.iter().map(|x| x.tangent).collect();
        let factor = normalize(&mut grown);
        if !factor.is_finite() {
            // A derivative that is not finite is growth without bound.
            return Ok(Growth { per_step: f64::INFINITY, turn: 0.0, entry: largest(&grown) });
        }
        if factor == 0.0 {
            return Ok(Growth { per_step: f64::NEG_INFINITY, turn: 1.0, entry: 0 });
        }
        length += factor.ln();
        if let Some(window) = (k / WINDOW).checked_sub(1) {
            if window == 1 {
                turn += dot(&change, &grown) / WINDOW as f64;
                if length > highest[1] {
                    entry = largest(&grown);
                }
            }
            highest[window] = highest[window].max(length);
        }
        change = grown;
    }
    Ok(Growth { per_step: (highest[1] - highest[0]) / WINDOW as f64, turn, entry })
}

/// The largest step at which the motion around a state is stable.
#[derive(Clone, Debug, PartialEq)]
pub struct StableStep {
    /// s; infinite if no step that was tried is too large.
    pub seconds: f64,
    /// The entry of the state that grows most beyond it.
    pub entry: usize,
}

/// Steps tried go from that given up and down by this factor at most.
const REACH: f64 = 4096.0;

/// The largest stable step at a point, to within 2 %: `system_of` makes the system of a step, s, and the search begins at
/// `around`.
///
/// ```
/// # use pullback_core::doc_example::oscillator;
/// use pullback_core::{Point, stability::largest_stable_step};
/// // ẍ = −k x by semi-implicit Euler: stable up to 2/√k.
/// let at = Point { params: &[100.0], state: &[1.0, 0.0], control: &[] };
/// let found = largest_stable_step(|step| Ok(oscillator(step)), at, 0.01)?;
/// assert!((found.seconds - 0.2).abs() < 0.01);
/// # Ok::<(), pullback_core::ConfigError>(())
/// ```
pub fn largest_stable_step<S: System<Dual<f64>>>(
    mut system_of: impl FnMut(f64) -> Result<S, ConfigError>,
    at: Point<'_, f64>,
    around: f64,
) -> Result<StableStep, ConfigError> {
    let mut entry = 0;
    let mut stable = |step: f64| -> Result<bool, ConfigError> {
        // A step that fails is none that is stable.
        Ok(match growth(&system_of(step)?, at) {
            Ok(found) if found.unstable() => {
                entry = found.entry;
                false
            }
            Ok(_) => true,
            Err(_) => false,
        })
    };
    // A factor of 2 between a stable step and one that is not.
    let first = stable(around)?;
    let (mut low, mut high) = (around, around);
    loop {
        if first {
            high *= 2.0;
            if high > around * REACH {
                return Ok(StableStep { seconds: f64::INFINITY, entry });
            }
            if !stable(high)? {
                break;
            }
            low = high;
        } else {
            low *= 0.5;
            if low < around / REACH {
                return Err(ConfigError::new(format!(
                    "no step down to {low:e} s is stable: are parameters and state what they should be?"
                )));
            }
            if stable(low)? {
                break;
            }
            high = low;
        }
    }
    while high > 1.02 * low {
        let middle = (low * high).sqrt();
        *(if stable(middle)? { &mut low } else { &mut high }) = middle;
    }
    Ok(StableStep { seconds: low, entry })
}

/// Makes the length 1, and returns what it was.
fn normalize(x: &mut [f64]) -> f64 {
    let length = dot(x, x).sqrt();
    x.iter_mut().for_each(|x| *x /= length);
    length
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The entry of the largest size, or the first that is not finite.
fn largest(x: &[f64]) -> usize {
    let size = |x: f64| if x.is_finite() { x.abs() } else { f64::INFINITY };
    (0..x.len()).fold(0, |best, i| if size(x[i]) > size(x[best]) { i } else { best })
}
