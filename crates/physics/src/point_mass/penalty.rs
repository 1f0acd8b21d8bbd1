//! Penalty contact of a point mass: the normal force of the shared law, per unit mass.
//!
//! [`ContactDamping::Plain`] is a = −k q − c v, as printed in Fig. S4 of DiffMJX. The force jumps by −c v at
//! the instant of touch. Fixed steps do not see how that instant depends on the state, so gradients of motion
//! that ends inside the contact stay wrong however small the step; adaptive steps end at the touch and carry
//! the gradient across. [`ContactDamping::ByDepth`] is a = −k q + c q v; the force is continuous, and
//! gradients converge as the step shrinks. Both damp the way out too, unlike contacts of robots and
//! particles.

use pullback_collision::{ContactDamping, normal_force, normal_force_vjp};
use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Block, Described, FieldShape, Point, VectorField, Workspace};
use pullback_math::{Cotangent, Real, differentiable, select};

/// Parameters of a [`PenaltyPointMass`].
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct PenaltyPointMassParams<T> {
    /// Stiffness of the surface per unit mass, 1/s².
    pub stiffness: T,
    /// Damping of the surface per unit mass, 1/s, or 1/(m s) for [`ContactDamping::ByDepth`].
    pub damping: T,
    /// Gravity, m/s².
    pub gravity: T,
}

/// Acceleration of a point at `height` above the surface, where it is `touching` the surface or not.
#[differentiable]
#[inline(always)]
pub fn penalty_acceleration<T: Real>(
    height: T,
    velocity: T,
    params: PenaltyPointMassParams<T>,
    #[constant] touching: T::Mask,
    #[constant] form: ContactDamping,
) -> T {
    let push = normal_force(-height, velocity, params.stiffness, params.damping, form);
    select(touching, push, T::zero()) - params.gravity
}

/// The side of the surface that an adaptive solve has fixed, as the sign of a height; none where it has fixed
/// none.
#[derive(Clone, Copy, Debug, Workspace)]
pub struct FrozenSide<T>(#[workspace(plain)] Option<T>);

/// Whether the point touches: what an adaptive solve has fixed, or else what the height says.
#[inline(always)]
fn touching<T: Real>(fixed: &FrozenSide<T>, height: T) -> T::Mask {
    fixed.0.unwrap_or(height).lt(T::zero())
}

/// State: height and velocity; parameters: stiffness and damping of the surface per unit mass, gravity.
#[derive(Clone, Debug)]
pub struct PenaltyPointMass {
    layout: Layout,
    params: Block<PenaltyPointMassParams<f64>>,
    form: ContactDamping,
}

impl PenaltyPointMass {
    /// A point mass with the stiffness of Fig. S4 and a damping that returns about 0.8 of the speed.
    pub fn new(form: ContactDamping) -> Self {
        let (damping, unit) = match form {
            ContactDamping::Plain => (1.0, "1/s"),
            ContactDamping::ByDepth => (18.0, "1/(m s)"),
        };
        let mut builder = Layout::builder()
            .state(Slice::new("height", 1, "m").default(&[1.0]).bounds(-10.0, 10.0))
            .state(Slice::new("velocity", 1, "m/s").default(&[-1.0]));
        let params = builder.param_block([
            Slice::new("stiffness", 1, "1/s^2").bounds(0.0, 1e6).default(&[50.0]),
            Slice::new("damping", 1, unit).bounds(0.0, 1e6).default(&[damping]),
            Slice::new("gravity", 1, "m/s^2").bounds(-1e3, 1e3).default(&[0.0]),
        ]);
        let layout = builder.build().unwrap_or_else(|_| unreachable!("names differ"));
        PenaltyPointMass { layout, params, form }
    }

    /// Where the parameters lie.
    pub fn param_block(&self) -> Block<PenaltyPointMassParams<f64>> {
        self.params
    }
}

impl Described for PenaltyPointMass {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for PenaltyPointMass {
    fn velocities(&self) -> Option<usize> {
        Some(1)
    }
    fn guards(&self) -> usize {
        1
    }
}

impl<T: Real> VectorField<T> for PenaltyPointMass {
    type Workspace = FrozenSide<T>;
    fn workspace(&self) -> FrozenSide<T> {
        FrozenSide(None)
    }

    // The force is smooth while the height keeps its sign.
    fn guard(&self, _ws: &mut FrozenSide<T>, at: Point<'_, T>, _time: T, guards: &mut [T]) {
        let Point { state, .. } = at;
        guards[0] = state[0];
    }
    fn guard_vjp(
        &self,
        _ws: &mut FrozenSide<T>,
        _at: Point<'_, T>,
        _time: T,
        guards_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        let Bars { state: state_bar, .. } = bars;
        state_bar[0] += guards_bar[0];
        T::zero()
    }
    fn freeze(&self, ws: &mut FrozenSide<T>, sides: Option<&[T]>) {
        ws.0 = sides.map(|sides| sides[0]);
    }

    #[inline(always)]
    fn eval(&self, ws: &mut FrozenSide<T>, at: Point<'_, T>, _time: T, rate: &mut [T]) {
        let Point { params, state, .. } = at;
        rate[0] = state[1];
        let touching = touching(ws, state[0]);
        let params = self.params.read(params);
        rate[1] = penalty_acceleration(state[0], state[1], params, touching, self.form);
    }

    #[inline(always)]
    fn eval_vjp(
        &self,
        ws: &mut FrozenSide<T>,
        at: Point<'_, T>,
        _time: T,
        rate_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        let Point { params, state, .. } = at;
        let Bars { params: params_bar, state: state_bar, .. } = bars;
        let touching = touching(ws, state[0]);
        let params = self.params.read(params);
        let (height, velocity, params, (), ()) =
            penalty_acceleration_vjp(state[0], state[1], params, touching, self.form, rate_bar[1]);
        state_bar[0] += height;
        state_bar[1] += rate_bar[0] + velocity;
        self.params.add(params, params_bar);
        T::zero()
    }
}
