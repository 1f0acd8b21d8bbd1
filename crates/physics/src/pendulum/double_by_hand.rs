//! The double pendulum with its adjoint written by hand: the yardstick for what `#[differentiable]` writes.
//!
//! With M θ̈ = r: λ = M⁻¹ θ̈_bar, then r̄ = λ and M̄ = −λ θ̈ᵀ; the rest is the product rule.

use pullback_core::layout::Layout;
use pullback_core::{Bars, Described, FieldShape, Point, VectorField};
use pullback_math::Real;

use super::double::{DoublePendulum, DoublePendulumParams, Link};

/// Same dynamics and layout as [`DoublePendulum`]; the pullback is written by hand.
#[derive(Clone, Debug, Default)]
pub struct DoublePendulumByHand(DoublePendulum);

impl Described for DoublePendulumByHand {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }
}

impl FieldShape for DoublePendulumByHand {
    fn velocities(&self) -> Option<usize> {
        Some(2)
    }
}

impl<T: Real> VectorField<T> for DoublePendulumByHand {
    type Workspace = ();
    fn workspace(&self) {}

    #[inline(always)]
    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        let Point { params, state, control } = at;
        self.0.eval(&mut (), Point { params, state, control }, T::zero(), rate);
    }

    #[inline(always)]
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let DoublePendulumParams { upper, lower, gravity: g } = self.0.param_block().read(params);
        let Link { length: l1, mass: m1, damping: c1 } = upper;
        let Link { length: l2, mass: m2, damping: c2 } = lower;
        let (w1, w2) = (state[2], state[3]);
        let (sin, cos) = (state[0] - state[1]).sin_cos();
        let (sin1, cos1) = state[0].sin_cos();
        let (sin2, cos2) = state[1].sin_cos();

        // Forward again.
        let both = m1 + m2;
        let rods = l1 * l2;
        let coupling = m2 * rods;
        let (m11, m12, m22) = (both * l1 * l1, coupling * cos, m2 * l2 * l2);
        let joint = control[1] - c2 * (w2 - w1);
        let twist = coupling * sin;
        let (w1w1, w2w2) = (w1 * w1, w2 * w2);
        let (weight1, weight2) = (both * g * l1 * sin1, m2 * g * l2 * sin2);
        let r1 = control[0] - joint - c1 * w1 - twist * w2w2 - weight1;
        let r2 = joint + twist * w1w1 - weight2;
        let inverse = (m11 * m22 - m12 * m12).recip();
        let (a1, a2) = ((m22 * r1 - m12 * r2) * inverse, (m11 * r2 - m12 * r1) * inverse);

        // λ = M⁻¹ ā,  r̄ = λ,  M̄ = −λ aᵀ
        let (b1, b2) = (rate_bar[2], rate_bar[3]);
        let (r1_bar, r2_bar) = ((m22 * b1 - m12 * b2) * inverse, (m11 * b2 - m12 * b1) * inverse);
        let m11_bar = -(r1_bar * a1);
        let m12_bar = -(r1_bar * a2 + r2_bar * a1);
        let m22_bar = -(r2_bar * a2);

        // r = [τ₁ − joint − c₁ ω₁ − twist ω₂² − weight₁, joint + twist ω₁² − weight₂]
        let joint_bar = r2_bar - r1_bar;
        let twist_bar = r2_bar * w1w1 - r1_bar * w2w2;
        let relative_bar = -(c2 * joint_bar);
        let two_twist = twist + twist;
        control_bar[0] += r1_bar;
        control_bar[1] += joint_bar;

        // twist = coupling sin δ,  m₁₂ = coupling cos δ,  coupling = m₂ l₁ l₂
        let coupling_bar = m12_bar * cos + twist_bar * sin;
        let delta_bar = twist_bar * m12 - m12_bar * twist;

        // weight₁ = (m₁+m₂) g l₁ sin θ₁,  weight₂ = m₂ g l₂ sin θ₂
        let (u1, u2) = (g * sin1, g * sin2);
        state_bar[0] += delta_bar - r1_bar * both * g * l1 * cos1;
        state_bar[1] += -delta_bar - r2_bar * m2 * g * l2 * cos2;
        state_bar[2] += rate_bar[0] - relative_bar - r1_bar * c1 + r2_bar * two_twist * w1;
        state_bar[3] += rate_bar[1] + relative_bar - r1_bar * two_twist * w2;

        let both_bar = m11_bar * l1 * l1 - r1_bar * u1 * l1;
        let upper = Link {
            length: coupling_bar * m2 * l2 + both * ((m11_bar + m11_bar) * l1 - r1_bar * u1),
            mass: both_bar,
            damping: -(r1_bar * w1),
        };
        let lower = Link {
            length: coupling_bar * m2 * l1 + m2 * ((m22_bar + m22_bar) * l2 - r2_bar * u2),
            mass: both_bar + coupling_bar * rods + m22_bar * l2 * l2 - r2_bar * u2 * l2,
            damping: -(joint_bar * (w2 - w1)),
        };
        let gravity = -(r1_bar * both * l1 * sin1 + r2_bar * m2 * l2 * sin2);
        self.0.param_block().add(DoublePendulumParams { upper, lower, gravity }, params_bar);
        T::zero()
    }
}
