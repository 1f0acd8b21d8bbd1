//! A field with everything an integrator must handle: nonlinear, damped, driven in time, controlled.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Block, Described, FieldShape, Point, VectorField};
use pullback_math::{Cotangent, Real};

/// Parameters of [`Duffing`].
#[derive(Clone, Copy, Debug, Cotangent)]
struct DuffingParams<T> {
    /// Stiffness k of the cubic spring, 1/(m s)².
    cubic: T,
    /// Damping c, 1/s.
    damping: T,
    /// Amplitude A of the drive, m/s².
    drive: T,
    /// Frequency ω of the drive, rad/s.
    frequency: T,
}

/// Duffing's oscillator ẍ = u + A cos(ω t) − c ẋ − x − k x³.
#[derive(Debug)]
pub struct Duffing {
    layout: Layout,
    params: Block<DuffingParams<f64>>,
}

impl Duffing {
    pub fn new() -> Self {
        let mut builder = Layout::builder()
            .state(Slice::new("x", 1, "m").default(&[0.7]))
            .state(Slice::new("v", 1, "m/s").default(&[-0.3]))
            .control(Slice::new("push", 1, "m/s^2").default(&[0.2]));
        let params = builder.param_block([
            Slice::new("cubic", 1, "1/(m s)^2").default(&[1.3]),
            Slice::new("damping", 1, "1/s").default(&[0.25]),
            Slice::new("drive", 1, "m/s^2").default(&[0.8]),
            Slice::new("frequency", 1, "rad/s").default(&[1.7]),
        ]);
        Duffing { layout: builder.build().unwrap(), params }
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
        let Point { params, state: s, control: u } = at;
        let p = self.params.read(params);
        let drive = p.drive * (p.frequency * time).cos();
        rate[0] = s[1];
        rate[1] = u[0] + drive - p.damping * s[1] - s[0] - p.cubic * s[0] * s[0] * s[0];
    }
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params, state: s, .. } = at;
        let p = self.params.read(params);
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let a_bar = rate_bar[1];
        let (sin, cos) = (p.frequency * time).sin_cos();
        state_bar[0] -= a_bar * (T::one() + T::lit(3.0) * p.cubic * s[0] * s[0]);
        state_bar[1] += rate_bar[0] - a_bar * p.damping;
        control_bar[0] += a_bar;
        let p_bar = DuffingParams {
            cubic: -(a_bar * s[0] * s[0] * s[0]),
            damping: -(a_bar * s[1]),
            drive: a_bar * cos,
            frequency: -(a_bar * p.drive * sin * time),
        };
        self.params.add(p_bar, params_bar);
        -(a_bar * p.drive * sin * p.frequency)
    }
}
