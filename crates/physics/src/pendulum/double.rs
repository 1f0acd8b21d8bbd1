//! The double pendulum.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Block, Described, FieldShape, Point, VectorField};
use pullback_math::{Cotangent, Flat, Real, differentiable};

/// One rod with a point mass at its end.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct Link<T> {
    /// Length of the rod, m.
    pub length: T,
    /// Mass at its end, kg.
    pub mass: T,
    /// Viscous friction in the joint at its start, N m s/rad.
    pub damping: T,
}

/// Parameters of a [`DoublePendulum`].
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct DoublePendulumParams<T> {
    /// Rod that hangs from the pivot.
    pub upper: Link<T>,
    /// Rod that hangs from the upper one.
    pub lower: Link<T>,
    /// Gravity, m/s².
    pub gravity: T,
}

/// M(δ) θ̈ = r with δ = θ₁ − θ₂ and
/// M = [(m₁+m₂) l₁², m₂ l₁ l₂ cos δ; m₂ l₁ l₂ cos δ, m₂ l₂²],
/// r = [τ₁ − τ₂ − c₁ ω₁ + c₂ (ω₂−ω₁) − m₂ l₁ l₂ sin δ ω₂² − (m₁+m₂) g l₁ sin θ₁,
///      τ₂ − c₂ (ω₂−ω₁) + m₂ l₁ l₂ sin δ ω₁² − m₂ g l₂ sin θ₂].
#[differentiable]
#[inline(always)]
pub fn acceleration<T: Real>(
    angle: [T; 2],
    rate: [T; 2],
    torque: [T; 2],
    upper: Link<T>,
    lower: Link<T>,
    gravity: T,
) -> [T; 2] {
    // The pullback needs both sine and cosine of every angle; asked for together they cost one call.
    let (sin, cos) = (angle[0] - angle[1]).sin_cos();
    let (sin1, _) = angle[0].sin_cos();
    let (sin2, _) = angle[1].sin_cos();
    let both = upper.mass + lower.mass;
    let coupling = lower.mass * upper.length * lower.length;

    // Mass matrix.
    let m11 = both * upper.length * upper.length;
    let m12 = coupling * cos;
    let m22 = lower.mass * lower.length * lower.length;

    // Right-hand side.
    let joint = torque[1] - lower.damping * (rate[1] - rate[0]);
    let weight1 = both * gravity * upper.length * sin1;
    let weight2 = lower.mass * gravity * lower.length * sin2;
    let twist = coupling * sin;
    let r1 = torque[0] - joint - upper.damping * rate[0] - twist * rate[1] * rate[1] - weight1;
    let r2 = joint + twist * rate[0] * rate[0] - weight2;

    // Cramer's rule; det = m₂ l₁² l₂² (m₁ + m₂ sin² δ) > 0.
    let inverse = (m11 * m22 - m12 * m12).recip();
    [(m22 * r1 - m12 * r2) * inverse, (m11 * r2 - m12 * r1) * inverse]
}

/// Two rods, the second hanging from the first. State: both angles from the downward vertical, and their
/// rates; control: a torque at each joint; parameters: length, mass and damping of each rod, and gravity.
#[derive(Clone, Debug)]
pub struct DoublePendulum {
    layout: Layout,
    params: Block<DoublePendulumParams<f64>>,
}

impl Default for DoublePendulum {
    fn default() -> Self {
        let positive = |name: &str, unit, value: f64| {
            Slice::new(name.to_owned(), 1, unit).bounds(1e-6, 1e6).default(&[value])
        };
        let mut builder = Layout::builder()
            .state(Slice::new("angle", 2, "rad").default(&[2.0, 1.0]).doc("from the downward vertical"))
            .state(Slice::new("rate", 2, "rad/s"))
            .control(Slice::new("torque", 2, "N m").doc("at the pivot and at the elbow"));
        let link = |name: &str| {
            [
                positive(&format!("{name}.length"), "m", 1.0),
                positive(&format!("{name}.mass"), "kg", 1.0),
                Slice::new(format!("{name}.damping"), 1, "N m s/rad").bounds(0.0, 1e6),
            ]
        };
        let gravity = Slice::new("gravity", 1, "m/s^2").bounds(-1e3, 1e3).default(&[9.81]);
        let params = builder.param_block(link("upper").into_iter().chain(link("lower")).chain([gravity]));
        let layout = builder.build().unwrap_or_else(|_| unreachable!("names differ"));
        DoublePendulum { layout, params }
    }
}

impl DoublePendulum {
    /// Where the parameters lie.
    pub fn param_block(&self) -> Block<DoublePendulumParams<f64>> {
        self.params
    }

    /// Kinetic plus potential energy, zero when both hang at rest, J.
    pub fn energy(&self, params: &[f64], state: &[f64]) -> f64 {
        let DoublePendulumParams { upper, lower, gravity: g } = self.params.read(params);
        let (l1, m1, l2, m2) = (upper.length, upper.mass, lower.length, lower.mass);
        let [a1, a2, w1, w2] = *state else { return f64::NAN };
        let kinetic = 0.5 * (m1 + m2) * (l1 * w1).powi(2)
            + 0.5 * m2 * (l2 * w2).powi(2)
            + m2 * l1 * l2 * w1 * w2 * (a1 - a2).cos();
        kinetic + (m1 + m2) * g * l1 * (1.0 - a1.cos()) + m2 * g * l2 * (1.0 - a2.cos())
    }
}

impl Described for DoublePendulum {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for DoublePendulum {
    fn velocities(&self) -> Option<usize> {
        Some(2)
    }
}

impl<T: Real> VectorField<T> for DoublePendulum {
    type Workspace = ();
    fn workspace(&self) {}

    #[inline(always)]
    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        let Point { params, state, control } = at;
        let (angle, omega) = <([T; 2], [T; 2])>::read(state);
        let DoublePendulumParams { upper, lower, gravity } = self.params.read(params);
        (omega, acceleration(angle, omega, <[T; 2]>::read(control), upper, lower, gravity)).write(rate);
    }

    #[inline(always)]
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        // All slices are cut to size first, so that no check stands between the computations.
        let (state_bar, control_bar) = (&mut state_bar[..4], &mut control_bar[..2]);
        let params_bar = &mut params_bar[self.params.range()];
        let (angle, omega) = <([T; 2], [T; 2])>::read(state);
        let DoublePendulumParams { upper, lower, gravity } = self.params.read(params);
        let (omega_bar, acceleration_bar) = <([T; 2], [T; 2])>::read(rate_bar);
        let (angle, omega, torque, upper, lower, gravity) =
            acceleration_vjp(angle, omega, <[T; 2]>::read(control), upper, lower, gravity, acceleration_bar);
        let mut omega_bar = omega_bar;
        omega_bar.accumulate(omega);
        (angle, omega_bar).add_to(state_bar);
        torque.add_to(control_bar);
        DoublePendulumParams { upper, lower, gravity }.add_to(params_bar);
        T::zero()
    }
}
