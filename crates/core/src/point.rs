//! [`Point`]: where a system or a field is evaluated; [`Bars`]: the cotangents of that point.

/// The arguments of a step or of a field: parameters θ, state x and control u.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Point, System};
/// let (system, mut next) = (falling(0.1), [0.0; 2]);
/// system.step(&mut system.workspace(), Point { params: &[10.0], state: &[2.0, 0.0], control: &[] }, &mut next)?;
/// assert_eq!(next, [1.9, -1.0]);
/// # Ok::<(), pullback_core::StepError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Point<'a, T> {
    /// Parameters θ.
    pub params: &'a [T],
    /// State x.
    pub state: &'a [T],
    /// Control u.
    pub control: &'a [T],
}

impl<'a, T> Point<'a, T> {
    /// The same parameters and control at another state.
    #[inline(always)]
    pub fn with_state(self, state: &'a [T]) -> Self {
        Point { state, ..self }
    }
    /// The same parameters and state under another control.
    #[inline(always)]
    pub fn with_control(self, control: &'a [T]) -> Self {
        Point { control, ..self }
    }
}

/// Cotangents of a [`Point`], one per field; pullbacks *add* to them.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Bars, Point, System};
/// let system = falling(0.1);
/// let (mut params, mut state) = ([0.0], [0.0; 2]);
/// let bars = Bars { params: &mut params, state: &mut state, control: &mut [] };
/// let at = Point { params: &[10.0], state: &[2.0, 0.0], control: &[] };
/// system.step_vjp(&mut system.workspace(), at, &[1.0, 0.0], bars)?; // of the height after the step
/// assert_eq!(state, [1.0, 0.1]);
/// # Ok::<(), pullback_core::StepError>(())
/// ```
#[derive(Debug)]
pub struct Bars<'a, T> {
    /// Cotangent of the parameters.
    pub params: &'a mut [T],
    /// Cotangent of the state.
    pub state: &'a mut [T],
    /// Cotangent of the control.
    pub control: &'a mut [T],
}

impl<T> Bars<'_, T> {
    /// The same cotangents of parameters and control beside another one of the state.
    #[inline(always)]
    pub fn with_state<'b>(&'b mut self, state: &'b mut [T]) -> Bars<'b, T> {
        Bars { params: self.params, state, control: self.control }
    }
    /// The same cotangents of parameters and state beside another one of the control.
    #[inline(always)]
    pub fn with_control<'b>(&'b mut self, control: &'b mut [T]) -> Bars<'b, T> {
        Bars { params: self.params, state: self.state, control }
    }
}
