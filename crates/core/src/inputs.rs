//! [`Inputs`]: everything a rollout starts from.

use pullback_math::Real;

use crate::error::StepError;
use crate::layout::Layout;
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

    /// Checks the lengths against a layout and a number of steps.
    pub fn check(&self, layout: &Layout, steps: usize) -> Result<(), StepError> {
        check_len("state", self.state.len(), layout.state.len())?;
        check_len("controls", self.controls.len(), steps * layout.control.len())?;
        check_len("params", self.params.len(), layout.params.len())
    }
}

/// An error unless the vector called `name` has the expected number of entries.
pub(crate) fn check_len(name: &'static str, found: usize, expected: usize) -> Result<(), StepError> {
    if found == expected { Ok(()) } else { Err(StepError::WrongLength { name, expected, found }) }
}
