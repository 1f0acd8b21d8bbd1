//! [`System`]: a discrete-time differentiable system, s′ = step(s, u, θ).

use pullback_math::Real;

use crate::error::StepError;
use crate::layout::Layout;
use crate::point::{Bars, Point};
use crate::workspace::Workspace;

/// Anything whose flat vectors have names.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::Described;
/// assert_eq!(falling(0.01).layout().state.entry_names(), ["height", "velocity"]);
/// ```
pub trait Described {
    /// Names, units and bounds of state, control and parameters.
    fn layout(&self) -> &Layout;
}

/// What a solver of constraints took; of several solves, the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverInfo {
    /// Iterations.
    pub iterations: usize,
    /// What is left of the equations at the end, in units of the solver.
    pub residual: f64,
    /// Blocks of rows.
    pub constraints: usize,
    /// Rows.
    pub rows: usize,
    /// Rows with a force in some lane.
    pub active: usize,
    /// Sets of rows that share no degree of freedom.
    pub islands: usize,
    /// Whether every solve converged.
    pub converged: bool,
}

impl Default for SolverInfo {
    /// Nothing was solved.
    fn default() -> Self {
        SolverInfo {
            iterations: 0,
            residual: 0.0,
            constraints: 0,
            rows: 0,
            active: 0,
            islands: 0,
            converged: true,
        }
    }
}

impl SolverInfo {
    /// Takes the larger of every number.
    pub fn add(&mut self, other: SolverInfo) {
        self.iterations = self.iterations.max(other.iterations);
        self.residual = self.residual.max(other.residual);
        self.constraints = self.constraints.max(other.constraints);
        self.rows = self.rows.max(other.rows);
        self.active = self.active.max(other.active);
        self.islands = self.islands.max(other.islands);
        self.converged &= other.converged;
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Info {
    /// Inner steps taken.
    pub accepted: usize,
    /// Inner steps tried and thrown away.
    pub rejected: usize,
    /// What solvers of constraints took, in the last evaluation of every step.
    pub solver: SolverInfo,
}

impl Info {
    /// One inner step, nothing rejected.
    pub fn one() -> Info {
        Info { accepted: 1, ..Info::default() }
    }

    /// Adds another step's work.
    pub fn add(&mut self, other: Info) {
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        self.solver.add(other.solver);
    }
}

/// A discrete-time differentiable system.
///
/// The state is complete: a step depends on its arguments alone, never on what the workspace saw before.
/// `next` must come out the same to the last bit whether or not gradients are asked for afterwards.
///
/// ```
/// use pullback_core::{Bars, Described, Info, Layout, Point, Slice, StepError, System};
/// use pullback_math::Real;
/// /// x′ = a x.
/// struct Decay(Layout);
/// impl Described for Decay {
///     fn layout(&self) -> &Layout {
///         &self.0
///     }
/// }
/// impl<T: Real> System<T> for Decay {
///     type Workspace = ();
///     fn workspace(&self) {}
///     fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
///         next[0] = at.params[0] * at.state[0];
///         Ok(Info::one())
///     }
///     fn step_vjp(
///         &self,
///         _ws: &mut (),
///         at: Point<'_, T>,
///         next_bar: &[T],
///         bars: Bars<'_, T>,
///     ) -> Result<(), StepError> {
///         bars.state[0] += at.params[0] * next_bar[0];
///         bars.params[0] += at.state[0] * next_bar[0];
///         Ok(())
///     }
/// }
/// let decay = Decay(Layout::builder().state(Slice::new("x", 1, "1")).param(Slice::new("a", 1, "1")).build()?);
/// let mut next = [0.0];
/// decay.step(&mut (), Point { params: &[0.5], state: &[8.0], control: &[] }, &mut next)?;
/// assert_eq!(next, [4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait System<T: Real>: Described + Send + Sync {
    /// Scratch memory.
    type Workspace: Workspace;

    /// Allocates the scratch memory.
    fn workspace(&self) -> Self::Workspace;

    /// s′ = step(s, u, θ).
    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError>;

    /// The pullback of [`System::step`] at the same point: *adds* to `bars`.
    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError>;
}

/// A borrowed or shared system is a system.
macro_rules! forward_system {
    ($($pointer:ty),*) => {$(
        impl<S: Described + ?Sized> Described for $pointer {
            fn layout(&self) -> &Layout {
                (**self).layout()
            }
        }
        impl<T: Real, S: System<T>> System<T> for $pointer {
            type Workspace = S::Workspace;
            #[inline(always)]
            fn workspace(&self) -> S::Workspace {
                (**self).workspace()
            }
            #[inline(always)]
            fn step(
                &self,
                ws: &mut S::Workspace,
                at: Point<'_, T>,
                next: &mut [T],
            ) -> Result<Info, StepError> {
                (**self).step(ws, at, next)
            }
            #[inline(always)]
            fn step_vjp(
                &self,
                ws: &mut S::Workspace,
                at: Point<'_, T>,
                next_bar: &[T],
                bars: Bars<'_, T>,
            ) -> Result<(), StepError> {
                (**self).step_vjp(ws, at, next_bar, bars)
            }
        }
    )*};
}
forward_system!(&S, std::sync::Arc<S>);

/// Entries that [`first_not_finite`] looks at together.
const CHUNK: usize = 256;

/// The first entry of `values` that is not finite in every lane, with that lane's value.
pub(crate) fn first_not_finite<T: Real>(values: &[T]) -> Option<(usize, f64)> {
    use pullback_math::Mask;
    // A chunk at a time without a way out in between, so that many are looked at together.
    let finite = |chunk: &[T]| chunk.iter().fold(T::Mask::splat(true), |all, x| all & x.is_finite()).all();
    let first = values.chunks(CHUNK).position(|chunk| !finite(chunk))? * CHUNK;
    let at = first + values[first..].iter().position(|x| !x.is_finite().all())?;
    let lane = (0..T::LANES).map(|i| values[at].lane(i)).find(|x| !x.is_finite());
    Some((at, lane.unwrap_or(f64::NAN)))
}
