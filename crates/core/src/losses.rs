//! Losses that planners are made of: targets of states, effort of controls, and sums of losses.
//!
//! A term counts with one weight at every step and with another at the end ([`Weights`]); how far it is from
//! its target is measured by a [`Norm`]. Tuples and vectors of losses are their sums.

use pullback_math::Real;

use crate::error::{ConfigError, StepError};
use crate::layout::Layout;
use crate::loss::{Loss, Sample};

/// How much a term counts along the way and at the end.
///
/// ```
/// use pullback_core::losses::Weights;
/// let late = Weights { running: 0.1, terminal: 10.0 };
/// assert_ne!(late, Weights::always(0.1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    /// At every sample but the last.
    pub running: f64,
    /// At the last sample.
    pub terminal: f64,
}

impl Weights {
    /// The same at every sample.
    pub const fn always(weight: f64) -> Self {
        Weights { running: weight, terminal: weight }
    }
    /// At the end alone.
    pub const fn at_end(weight: f64) -> Self {
        Weights { running: 0.0, terminal: weight }
    }
    /// At one sample.
    pub fn at<T>(self, sample: &Sample<'_, T>) -> f64 {
        if sample.last() { self.terminal } else { self.running }
    }
}

/// The size of an error x of several entries.
///
/// ```
/// use pullback_core::losses::Norm;
/// assert_eq!(Norm::Square.value([3.0, 4.0].into_iter()), 25.0);
/// assert!((Norm::Smooth(1e-9).value([3.0, 4.0].into_iter()) - 5.0f64).abs() < 1e-8);
/// assert!(Norm::Cosine.value([std::f64::consts::TAU].into_iter()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Norm {
    /// Σ xᵢ².
    Square,
    /// √(Σ xᵢ² + s²) − s: the distance, rounded off within s > 0.
    Smooth(f64),
    /// Σ (1 − cos xᵢ): angles, for which whole turns are the same.
    Cosine,
}

impl Norm {
    /// The size of an error.
    #[inline(always)]
    pub fn value<T: Real>(self, errors: impl Iterator<Item = T>) -> T {
        match self {
            Norm::Square => sum_of_squares(errors),
            Norm::Smooth(s) => (sum_of_squares(errors) + T::lit(s * s)).sqrt() - T::lit(s),
            Norm::Cosine => {
                let mut sum = T::zero();
                for x in errors {
                    sum += T::one() - x.cos();
                }
                sum
            }
        }
    }

    /// The slope along each entry of the error, handed to `add` with its number.
    #[inline(always)]
    pub fn slope<T: Real>(self, errors: impl Iterator<Item = T> + Clone, mut add: impl FnMut(usize, T)) {
        let scale = match self {
            // d Σ x² = 2 x dx
            Norm::Square => T::lit(2.0),
            // d √(Σ x² + s²) = x dx / √(Σ x² + s²)
            Norm::Smooth(s) => (sum_of_squares(errors.clone()) + T::lit(s * s)).sqrt().recip(),
            // d (1 − cos x) = sin x dx
            Norm::Cosine => return errors.enumerate().for_each(|(i, x)| add(i, x.sin())),
        };
        errors.enumerate().for_each(|(i, x)| add(i, scale * x));
    }
}

#[inline(always)]
fn sum_of_squares<T: Real>(errors: impl Iterator<Item = T>) -> T {
    let mut sum = T::zero();
    for x in errors {
        sum += x * x;
    }
    sum
}

/// Entries of the state that should have given values.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::losses::{Norm, StateTarget, Weights};
/// use pullback_core::{Described, Inputs, Rollout, Schedule};
/// let rollout = Rollout::new(falling(0.01), 100, Schedule::StoreAll)?;
/// let target = StateTarget::new(rollout.system.layout(), "height", Norm::Square, Weights::at_end(1.0))?.at(&[1.0])?;
/// let mut ws = rollout.workspace::<f64>();
/// rollout.gradient(&mut ws, &Inputs::defaults(&rollout.system, 100), &target)?;
/// assert!(ws.gradient.state[1] < 0.0, "thrown up it would end higher");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StateTarget {
    entries: Vec<usize>,
    target: Vec<f64>,
    norm: Norm,
    weights: Weights,
}

impl StateTarget {
    /// The entries that `pattern` selects, such as `root.position` or `*.v`, all at zero unless
    /// [told otherwise](StateTarget::at).
    pub fn new(layout: &Layout, pattern: &str, norm: Norm, weights: Weights) -> Result<Self, ConfigError> {
        let entries = layout.state.select(pattern)?;
        Ok(StateTarget { target: vec![0.0; entries.len()], entries, norm, weights })
    }

    /// With a value for each entry.
    pub fn at(mut self, target: &[f64]) -> Result<Self, ConfigError> {
        if target.len() != self.entries.len() {
            let (given, wanted) = (target.len(), self.entries.len());
            return Err(ConfigError::new(format!("{given} target values for {wanted} entries of the state")));
        }
        self.target = target.to_vec();
        Ok(self)
    }

    fn errors<'a, T: Real>(&'a self, state: &'a [T]) -> impl Iterator<Item = T> + Clone + 'a {
        self.entries.iter().zip(&self.target).map(|(i, target)| state[*i] - T::lit(*target))
    }
}

impl<T: Real> Loss<T> for StateTarget {
    fn value(&self, at: Sample<'_, T>) -> T {
        match self.weights.at(&at) {
            0.0 => T::zero(),
            weight => self.norm.value(self.errors(at.state)) * T::lit(weight),
        }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        let weight = self.weights.at(&at);
        if weight != 0.0 {
            let add = |i: usize, slope: T| state_bar[self.entries[i]] += slope * T::lit(weight);
            self.norm.slope(self.errors(at.state), add);
        }
    }
}

/// Σ wᵢ (uᵢ − rᵢ)² over the controls.
///
/// ```
/// use pullback_core::losses::Effort;
/// use pullback_core::rollout::{Loss, Sample};
/// let effort = Effort { weights: vec![0.5], reference: vec![1.0] };
/// let at = Sample { step: 0, steps: 1, state: &[], control: &[3.0], params: &[] };
/// assert_eq!(effort.value(at), 0.5 * 4.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effort {
    /// A weight per control.
    pub weights: Vec<f64>,
    /// The control that costs nothing.
    pub reference: Vec<f64>,
}

impl Effort {
    /// The same weight for all controls, about their defaults.
    pub fn new(layout: &Layout, weight: f64) -> Self {
        Effort { weights: vec![weight; layout.control.len()], reference: layout.control.defaults() }
    }
}

impl<T: Real> Loss<T> for Effort {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        for ((u, w), r) in at.control.iter().zip(&self.weights).zip(&self.reference) {
            let d = *u - T::lit(*r);
            sum += d * d * T::lit(*w);
        }
        sum
    }
    fn vjp(&self, at: Sample<'_, T>, _state_bar: &mut [T], control_bar: &mut [T]) {
        let terms = at.control.iter().zip(&self.weights).zip(&self.reference);
        for (bar, ((u, w), r)) in control_bar.iter_mut().zip(terms) {
            *bar += (*u - T::lit(*r)) * T::lit(2.0 * w);
        }
    }
}

impl<T: Real, L: Loss<T> + ?Sized> Loss<T> for &L {
    fn value(&self, at: Sample<'_, T>) -> T {
        (**self).value(at)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        (**self).vjp(at, state_bar, control_bar);
    }
    fn params_vjp(&self, at: Sample<'_, T>, params_bar: &mut [T]) {
        (**self).params_vjp(at, params_bar);
    }
    fn check(&self, layout: &Layout) -> Result<(), StepError> {
        (**self).check(layout)
    }
}

/// The sum of losses of one kind.
impl<T: Real, L: Loss<T>> Loss<T> for Vec<L> {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        for loss in self {
            sum += loss.value(at);
        }
        sum
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        self.iter().for_each(|loss| loss.vjp(at, state_bar, control_bar));
    }
    fn params_vjp(&self, at: Sample<'_, T>, params_bar: &mut [T]) {
        self.iter().for_each(|loss| loss.params_vjp(at, params_bar));
    }
    fn check(&self, layout: &Layout) -> Result<(), StepError> {
        self.iter().try_for_each(|loss| loss.check(layout))
    }
}

/// The sum of losses of several kinds.
macro_rules! sum_of_losses {
    ($($loss:ident $i:tt),*) => {
        impl<T: Real, $($loss: Loss<T>),*> Loss<T> for ($($loss,)*) {
            fn value(&self, at: Sample<'_, T>) -> T {
                let mut sum = T::zero();
                $(sum += self.$i.value(at);)*
                sum
            }
            fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
                $(self.$i.vjp(at, state_bar, control_bar);)*
            }
            fn params_vjp(&self, at: Sample<'_, T>, params_bar: &mut [T]) {
                $(self.$i.params_vjp(at, params_bar);)*
            }
            fn check(&self, layout: &Layout) -> Result<(), StepError> {
                $(self.$i.check(layout)?;)*
                Ok(())
            }
        }
    };
}
sum_of_losses!(A 0, B 1);
sum_of_losses!(A 0, B 1, C 2);
sum_of_losses!(A 0, B 1, C 2, D 3);
