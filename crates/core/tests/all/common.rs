//! A field with everything an integrator must handle: nonlinear, damped, driven in time, controlled.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Described, FieldShape, Point, VectorField};
use pullback_math::Real;

/// Duffing's oscillator ẍ = u + A cos(ω t) − c ẋ − x − k x³.
#[derive(Debug)]
pub struct Duffing {
    layout: Layout,
}

impl Duffing {
    pub fn new() -> Self {
        let layout = Layout::builder()
            .state(Slice::new("x", 1, "m").default(&[0.7]))
            .state(Slice::new("v", 1, "m/s").default(&[-0.3]))
            .control(Slice::new("push", 1, "m/s^2").default(&[0.2]))
            .param(Slice::new("cubic", 1, "1/(m s)^2").default(&[1.3]))
            .param(Slice::new("damping", 1, "1/s").default(&[0.25]))
            .param(Slice::new("drive", 1, "m/s^2").default(&[0.8]))
            .param(Slice::new("frequency", 1, "rad/s").default(&[1.7]))
            .build()
            .unwrap();
        Duffing { layout }
    }
}

impl Described for Duffing {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for Duffing {
    fn velocities(&self) -> Option<usize> {
        Some(1)
    }
    fn time_dependent(&self) -> bool {
        true
    }
}

impl<T: Real> VectorField<T> for Duffing {
    type Workspace = ();
    fn workspace(&self) {}
    fn eval(&self, _ws: &mut (), at: Point<'_, T>, time: T, rate: &mut [T]) {
        let Point { params: p, state: s, control: u } = at;
        rate[0] = s[1];
        rate[1] = u[0] + p[2] * (p[3] * time).cos() - p[1] * s[1] - s[0] - p[0] * s[0] * s[0] * s[0];
    }
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params: p, state: s, .. } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let a_bar = rate_bar[1];
        let (sin, cos) = (p[3] * time).sin_cos();
        state_bar[0] -= a_bar * (T::one() + T::lit(3.0) * p[0] * s[0] * s[0]);
        state_bar[1] += rate_bar[0] - a_bar * p[1];
        control_bar[0] += a_bar;
        params_bar[0] -= a_bar * s[0] * s[0] * s[0];
        params_bar[1] -= a_bar * s[1];
        params_bar[2] += a_bar * cos;
        params_bar[3] -= a_bar * p[2] * sin * time;
        -(a_bar * p[2] * sin * p[3])
    }
}
