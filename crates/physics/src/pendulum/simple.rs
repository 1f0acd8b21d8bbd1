//! The simple pendulum.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Described, FieldShape, Point, VectorField};
use pullback_math::{Real, differentiable};

/// m l² θ̈ = τ − c θ̇ − m g l sin θ
#[differentiable]
#[inline(always)]
pub fn acceleration<T: Real>(angle: T, rate: T, torque: T, length: T, mass: T, damping: T, gravity: T) -> T {
    let inertia = mass * length * length;
    let (sin, _) = angle.sin_cos();
    let weight = mass * gravity * length * sin;
    (torque - damping * rate - weight) / inertia
}

/// A point mass on a rod. State: angle and its rate; control: joint torque; parameters: length, mass,
/// damping, gravity.
#[derive(Clone, Debug)]
pub struct SimplePendulum {
    layout: Layout,
}

impl Default for SimplePendulum {
    fn default() -> Self {
        let positive = |name, unit, value: f64| Slice::new(name, 1, unit).bounds(1e-6, 1e6).default(&[value]);
        let layout = Layout::builder()
            .state(Slice::new("angle", 1, "rad").default(&[1.0]).doc("from the downward vertical"))
            .state(Slice::new("rate", 1, "rad/s"))
            .control(Slice::new("torque", 1, "N m").doc("at the pivot"))
            .param(positive("length", "m", 1.0))
            .param(positive("mass", "kg", 1.0))
            .param(Slice::new("damping", 1, "N m s/rad").bounds(0.0, 1e6).default(&[0.1]))
            .param(Slice::new("gravity", 1, "m/s^2").bounds(-1e3, 1e3).default(&[9.81]))
            .build()
            .unwrap_or_else(|_| unreachable!("names differ"));
        SimplePendulum { layout }
    }
}

impl SimplePendulum {
    /// Kinetic plus potential energy, zero at rest, J.
    pub fn energy(&self, params: &[f64], state: &[f64]) -> f64 {
        let [length, mass, _, gravity] = *params else { return f64::NAN };
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
        let Point { params: p, state, control } = at;
        rate[0] = state[1];
        rate[1] = acceleration(state[0], state[1], control[0], p[0], p[1], p[2], p[3]);
    }

    #[inline(always)]
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params: p, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (angle, rate, torque, length, mass, damping, gravity) =
            acceleration_vjp(state[0], state[1], control[0], p[0], p[1], p[2], p[3], rate_bar[1]);
        state_bar[0] += angle;
        state_bar[1] += rate_bar[0] + rate;
        control_bar[0] += torque;
        for (bar, x) in params_bar.iter_mut().zip([length, mass, damping, gravity]) {
            *bar += x;
        }
        T::zero()
    }
}
