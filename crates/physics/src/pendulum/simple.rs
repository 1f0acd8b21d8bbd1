//! The simple pendulum.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Block, Described, FieldShape, Point, VectorField};
use pullback_math::{Cotangent, Real, differentiable};

/// Parameters of a [`SimplePendulum`].
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct SimplePendulumParams<T> {
    /// Length of the rod, m.
    pub length: T,
    /// Mass at its end, kg.
    pub mass: T,
    /// Viscous friction in the pivot, N m s/rad.
    pub damping: T,
    /// Gravity, m/s².
    pub gravity: T,
}

/// m l² θ̈ = τ − c θ̇ − m g l sin θ
#[differentiable]
#[inline(always)]
pub fn acceleration<T: Real>(angle: T, rate: T, torque: T, params: SimplePendulumParams<T>) -> T {
    let inertia = params.mass * params.length * params.length;
    let (sin, _) = angle.sin_cos();
    let weight = params.mass * params.gravity * params.length * sin;
    (torque - params.damping * rate - weight) / inertia
}

/// A point mass on a rod. State: angle and its rate; control: joint torque; parameters: length, mass,
/// damping, gravity.
#[derive(Clone, Debug)]
pub struct SimplePendulum {
    layout: Layout,
    params: Block<SimplePendulumParams<f64>>,
}

impl Default for SimplePendulum {
    fn default() -> Self {
        let positive = |name, unit, value: f64| Slice::new(name, 1, unit).bounds(1e-6, 1e6).default(&[value]);
        let mut builder = Layout::builder()
            .state(Slice::new("angle", 1, "rad").default(&[1.0]).doc("from the downward vertical"))
            .state(Slice::new("rate", 1, "rad/s"))
            .control(Slice::new("torque", 1, "N m").doc("at the pivot"));
        let params = builder.param_block([
            positive("length", "m", 1.0),
            positive("mass", "kg", 1.0),
            Slice::new("damping", 1, "N m s/rad").bounds(0.0, 1e6).default(&[0.1]),
            Slice::new("gravity", 1, "m/s^2").bounds(-1e3, 1e3).default(&[9.81]),
        ]);
        let layout = builder.build().unwrap_or_else(|_| unreachable!("names differ"));
        SimplePendulum { layout, params }
    }
}

impl SimplePendulum {
    /// Where the parameters lie.
    pub fn param_block(&self) -> Block<SimplePendulumParams<f64>> {
        self.params
    }

    /// Kinetic plus potential energy, zero at rest, J.
    pub fn energy(&self, params: &[f64], state: &[f64]) -> f64 {
        let SimplePendulumParams { length, mass, gravity, .. } = self.params.read(params);
        let [angle, rate] = *state else { return f64::NAN };
        0.5 * mass * (length * rate).powi(2) + mass * gravity * length * (1.0 - angle.cos())
    }
}

impl Described for SimplePendulum {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for SimplePendulum {
    fn velocities(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: Real> VectorField<T> for SimplePendulum {
    type Workspace = ();
    fn workspace(&self) {}

    #[inline(always)]
    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        let Point { params, state, control } = at;
        rate[0] = state[1];
        rate[1] = acceleration(state[0], state[1], control[0], self.params.read(params));
    }

    #[inline(always)]
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let params = self.params.read(params);
        let (angle, rate, torque, params) =
            acceleration_vjp(state[0], state[1], control[0], params, rate_bar[1]);
        state_bar[0] += angle;
        state_bar[1] += rate_bar[0] + rate;
        control_bar[0] += torque;
        self.params.add(params, params_bar);
        T::zero()
    }
}
