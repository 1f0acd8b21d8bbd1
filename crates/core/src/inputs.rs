//! [`Inputs`]: everything a rollout starts from.

use pullback_math::Real;

use crate::error::StepError;
use crate::layout::{Layout, Section};
use crate::system::Described;

/// Everything a rollout starts from.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::Inputs;
/// let mut inputs = Inputs::<f64>::defaults(&falling(0.01), 100);
/// inputs.state[0] = 10.0;
/// assert_eq!((inputs.state, inputs.params), (vec![10.0, 0.0], vec![9.81]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs<T> {
    /// Initial state.
    pub state: Vec<T>,
    /// Controls, step after step.
    pub controls: Vec<T>,
    /// Parameters.
    pub params: Vec<T>,
}

impl<T: Real> Inputs<T> {
    /// The defaults of a system's layout, controls at their defaults over `steps` steps.
    pub fn defaults(system: &impl Described, steps: usize) -> Self {
        let layout = system.layout();
        let lit = |v: Vec<f64>| v.into_iter().map(T::lit).collect::<Vec<T>>();
        Inputs {
            state: lit(layout.state.defaults()),
            controls: lit(layout.control.defaults().repeat(steps)),
            params: lit(layout.params.defaults()),
        }
    }

    /// Checks the lengths against a layout and a number of steps, and that no quaternion is zero in any lane.
    pub fn check(&self, layout: &Layout, steps: usize) -> Result<(), StepError> {
        check_len("state", self.state.len(), layout.state.len())?;
        check_len("controls", self.controls.len(), steps * layout.control.len())?;
        check_len("params", self.params.len(), layout.params.len())?;
        check_directions(&layout.state, &self.state)?;
        check_directions(&layout.params, &self.params)?;
        let controls = self.controls.chunks_exact(layout.control.len().max(1));
        // Most systems have no quaternion among their controls.
        let directed = layout.control.slices().iter().any(|slice| slice.normalized);
        controls.filter(|_| directed).try_for_each(|control| check_directions(&layout.control, control))
    }
}

/// Refuses a quaternion that is zero.
fn check_directions<T: Real>(section: &Section, values: &[T]) -> Result<(), StepError> {
    let zero = |lane: usize| section.zero_direction(|i| values[i].lane(lane).powi(2));
    match (0..T::LANES).find_map(zero) {
        None => Ok(()),
        Some(slice) => Err(StepError::ZeroDirection { entry: slice.name.clone() }),
    }
}

/// An error unless the vector called `name` has the expected number of entries.
pub(crate) fn check_len(name: &'static str, found: usize, expected: usize) -> Result<(), StepError> {
    if found == expected { Ok(()) } else { Err(StepError::WrongLength { name, expected, found }) }
}
