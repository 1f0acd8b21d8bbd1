//! [`Point`]: where a system or a field is evaluated; [`Bars`]: the cotangents of that point.

/// The arguments of a step or of a field: parameters θ, state x and control u.
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
