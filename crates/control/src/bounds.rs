//! [`ControlBox`]: the bounds of the controls, scaled to [−1, 1].

use pullback_core::ConfigError;
use pullback_core::layout::Section;
use pullback_math::Real;

/// Bounds of one control: u = middle + half · z.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    middle: f64,
    half: f64,
    /// Bounds of z.
    low: f64,
    high: f64,
    /// Bounds of u.
    bounds: (f64, f64),
}

/// Bounds of all controls. A control that is bounded on both sides has z in [−1, 1]; any other keeps its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlBox {
    ranges: Vec<Range>,
}

impl ControlBox {
    /// From lower and upper bounds.
    pub fn new(bounds: &[(f64, f64)]) -> Result<Self, ConfigError> {
        let range = |(i, (low, high)): (usize, &(f64, f64))| match (low.is_finite(), high.is_finite()) {
            _ if low.is_nan() || high.is_nan() || low > high => {
                Err(ConfigError::new(format!("bounds {low}..{high} of control {i} hold no value")))
            }
            (true, true) => {
                // A control that cannot move keeps a width for derivatives.
                let half = if high > low { 0.5 * (high - low) } else { 1.0 };
                let (middle, z) = (0.5 * (low + high), 0.5 * (high - low) / half);
                Ok(Range { middle, half, low: -z, high: z, bounds: (*low, *high) })
            }
            _ => Ok(Range { middle: 0.0, half: 1.0, low: *low, high: *high, bounds: (*low, *high) }),
        };
        Ok(ControlBox { ranges: bounds.iter().enumerate().map(range).collect::<Result<_, _>>()? })
    }

    /// The bounds that a layout gives.
    pub fn of_layout(control: &Section) -> Result<Self, ConfigError> {
        ControlBox::new(&(0..control.len()).map(|i| control.bounds(i)).collect::<Vec<_>>())
    }

    /// Number of controls.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// Whether there are no controls.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The first control without bounds on both sides.
    pub fn unbounded(&self) -> Option<usize> {
        self.ranges.iter().position(|r| !(r.low.is_finite() && r.high.is_finite()))
    }

    /// du/dz of control `i`.
    pub fn half(&self, i: usize) -> f64 {
        self.ranges[i].half
    }
    /// Bounds of z of control `i`.
    pub fn limits(&self, i: usize) -> (f64, f64) {
        (self.ranges[i].low, self.ranges[i].high)
    }

    /// Control `i` at z, taken into its bounds.
    #[inline(always)]
    pub fn control<T: Real>(&self, i: usize, z: T) -> T {
        let Range { middle, half, bounds: (lower, upper), .. } = self.ranges[i];
        (T::lit(middle) + T::lit(half) * z).max(T::lit(lower)).min(T::lit(upper))
    }
    /// The pullback of [`ControlBox::control`].
    #[inline(always)]
    pub fn control_vjp<T: Real>(&self, i: usize, z: T, control_bar: T) -> T {
        let Range { middle, half, bounds: (lower, upper), .. } = self.ranges[i];
        let u = T::lit(middle) + T::lit(half) * z;
        // u = min(max(middle + half z, lower), upper)
        let (above_bar, _) = u.max(T::lit(lower)).min_vjp(T::lit(upper), control_bar);
        let (u_bar, _) = u.max_vjp(T::lit(lower), above_bar);
        u_bar * T::lit(half)
    }
    /// z of control `i` at u, taken into the limits.
    pub fn scaled(&self, i: usize, u: f64) -> f64 {
        let Range { middle, half, low, high, .. } = self.ranges[i];
        ((u - middle) / half).clamp(low, high)
    }

    /// Takes knots, one control after another, into the limits.
    pub fn clamp(&self, knots: &mut [f64]) {
        for knot in knots.chunks_mut(self.len().max(1)) {
            knot.iter_mut().zip(&self.ranges).for_each(|(z, r)| *z = z.clamp(r.low, r.high));
        }
    }
}
