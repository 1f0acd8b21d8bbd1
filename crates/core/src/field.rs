//! [`VectorField`]: continuous dynamics ẋ = f(x, u, θ, t), which an integrator turns into a
//! [`System`](crate::System).

use pullback_math::Real;

use crate::Workspace;
use crate::point::{Bars, Point};
use crate::system::{Described, SolverInfo};

/// What an integrator must know of a field beside its values; nothing here depends on the scalar type.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::FieldShape;
/// let system = falling(0.01);
/// assert_eq!((system.field().velocities(), system.field().flat()), (Some(1), true));
/// ```
pub trait FieldShape: Described {
    /// Length of a rate; that of the state unless the state lives on a manifold.
    fn rate_len(&self) -> usize {
        self.layout().state.len()
    }

    /// For second-order systems: the number n of velocities, when the state is (q, v, rest), the rate is (q̇, v̇, rate
    /// of the rest) with n entries of q̇ and v̇ each, and q̇ = v. Semi-implicit Euler needs it.
    fn velocities(&self) -> Option<usize> {
        None
    }

    /// Whether f depends on t; the integrated system then carries the time as its last state entry.
    fn time_dependent(&self) -> bool {
        false
    }

    /// Number of guards: functions whose sign says which smooth piece of f holds (is this contact closed?).
    fn guards(&self) -> usize {
        0
    }

    /// Whether [`advance`](VectorField::advance) is plain addition; pullbacks are then spared the rates.
    fn flat(&self) -> bool {
        true
    }

    /// Whether [`eval_vjp`](VectorField::eval_vjp) reads what [`eval`](VectorField::eval) left in the
    /// workspace. Integrators then evaluate the field at a point before they pull it back there; other fields
    /// are spared that evaluation.
    fn vjp_follows_eval(&self) -> bool {
        false
    }
}

/// Continuous dynamics ẋ = f(x, u, θ, t) with a pullback.
///
/// States on a manifold (unit quaternions) are supported by [`advance`](VectorField::advance): rates live in
/// the tangent space, may be shorter than the state, and `advance` moves along them.
///
/// ```
/// use pullback_core::{Bars, Described, FieldShape, Layout, Point, Slice, VectorField};
/// use pullback_math::Real;
/// /// ẋ = −k x.
/// struct Cooling(Layout);
/// impl Described for Cooling {
///     fn layout(&self) -> &Layout {
///         &self.0
///     }
/// }
/// impl FieldShape for Cooling {}
/// impl<T: Real> VectorField<T> for Cooling {
///     type Workspace = ();
///     fn workspace(&self) {}
///     fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
///         rate[0] = -at.params[0] * at.state[0];
///     }
///     fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
///         bars.state[0] -= at.params[0] * rate_bar[0];
///         bars.params[0] -= at.state[0] * rate_bar[0];
///         T::zero()
///     }
/// }
/// let field = Cooling(Layout::builder().state(Slice::new("x", 1, "K")).param(Slice::new("k", 1, "1/s")).build()?);
/// let mut rate = [0.0];
/// field.eval(&mut (), Point { params: &[0.5], state: &[8.0], control: &[] }, 0.0, &mut rate);
/// assert_eq!(rate, [-4.0]);
/// # Ok::<(), pullback_core::ConfigError>(())
/// ```
pub trait VectorField<T: Real>: FieldShape + Send + Sync {
    /// Scratch memory.
    type Workspace: Workspace;

    /// Allocates the scratch memory.
    fn workspace(&self) -> Self::Workspace;

    /// g(x, u, θ, t), one value per guard; f is smooth as long as no guard changes sign.
    ///
    /// Adaptive solves end a step where a guard changes sign, hold the side of every guard fixed inside a
    /// step, and carry the gradient exactly across, even where f jumps. Fixed steps do not look at guards.
    fn guard(&self, _ws: &mut Self::Workspace, _at: Point<'_, T>, _time: T, _guards: &mut [T]) {}

    /// The pullback of [`guard`](VectorField::guard): *adds* to `bars` and returns the cotangent of the time.
    fn guard_vjp(
        &self,
        _ws: &mut Self::Workspace,
        _at: Point<'_, T>,
        _time: T,
        _guards_bar: &[T],
        _bars: Bars<'_, T>,
    ) -> T {
        T::zero()
    }

    /// Until further notice, evaluate f as if each guard had the sign of the value given, whatever the state; where
    /// the value is zero, and with `None`, the state decides. A field with guards keeps the sides in its workspace.
    fn freeze(&self, _ws: &mut Self::Workspace, _sides: Option<&[T]>) {}

    /// rate = f(x, u, θ, t).
    fn eval(&self, ws: &mut Self::Workspace, at: Point<'_, T>, time: T, rate: &mut [T]);

    /// What a solver of constraints took in the last evaluation.
    fn solver_info(&self, _ws: &Self::Workspace) -> SolverInfo {
        SolverInfo::default()
    }

    /// The pullback of [`eval`](VectorField::eval): *adds* to `bars` and returns the cotangent of the time.
    ///
    /// Where [`vjp_follows_eval`](FieldShape::vjp_follows_eval), the last evaluation with `ws` was at the
    /// same point.
    fn eval_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        time: T,
        rate_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T;

    /// next = state ⊕ h·rate; in a flat space, state + h·rate.
    #[inline(always)]
    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        for (next, (x, k)) in next.iter_mut().zip(state.iter().zip(rate)) {
            *next = *x + h * *k;
        }
    }

    /// The pullback of [`advance`](VectorField::advance): *adds* to the cotangents of state and rate.
    #[inline(always)]
    fn advance_vjp(
        &self,
        _state: &[T],
        _rate: &[T],
        h: T,
        next_bar: &[T],
        state_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        for (next_bar, (x_bar, k_bar)) in next_bar.iter().zip(state_bar.iter_mut().zip(rate_bar)) {
            *x_bar += *next_bar;
            *k_bar += h * *next_bar;
        }
    }

    /// The rate as ẋ, with one entry per entry of the state: d/dh of state ⊕ h·rate at h = 0.
    #[inline(always)]
    fn embed(&self, _state: &[T], rate: &[T], out: &mut [T]) {
        out.copy_from_slice(rate);
    }

    /// The pullback of [`embed`](VectorField::embed): *adds* to the cotangents of state and rate.
    #[inline(always)]
    fn embed_vjp(&self, _state: &[T], _rate: &[T], out_bar: &[T], _state_bar: &mut [T], rate_bar: &mut [T]) {
        for (bar, out_bar) in rate_bar.iter_mut().zip(out_bar) {
            *bar += *out_bar;
        }
    }

    /// The inverse of dexp, on curved spaces: turns the rate at x ⊕ h·increment into the rate of the
    /// coordinates h·increment, in place. With it Runge-Kutta methods keep their order (Munthe-Kaas, BIT 38,
    /// 1998); without it they fall back to second order.
    #[inline(always)]
    fn dexp_inverse(&self, _increment: &[T], _h: T, _rate: &mut [T]) {}

    /// The pullback of [`dexp_inverse`](VectorField::dexp_inverse) at the rate it was given: `rate_bar` comes
    /// in as the cotangent of the result and goes out as that of `rate`; *adds* to the cotangent of the
    /// increment.
    #[inline(always)]
    fn dexp_inverse_vjp(
        &self,
        _increment: &[T],
        _h: T,
        _rate: &[T],
        _rate_bar: &mut [T],
        _increment_bar: &mut [T],
    ) {
    }
}
