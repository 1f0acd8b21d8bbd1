//! [`Erased`]: any system behind trait objects, one for plain and one for dual numbers.
//!
//! Rollouts, residuals and gradient checks of erased systems are compiled once, not once for each type of system. A
//! step costs a virtual call, so batches, benchmarks and learning keep the type.

use std::any::Any;
use std::sync::Arc;

use pullback_math::{Dual, Real};

use crate::Workspace;
use crate::error::StepError;
use crate::layout::Layout;
use crate::point::{Bars, Point};
use crate::system::{Described, Info, System};

/// A system whose type is forgotten, on `f64` and on dual numbers. Clones share it.
#[derive(Clone)]
pub struct Erased {
    plain: Arc<dyn Steps<f64>>,
    duals: Arc<dyn Steps<Dual<f64>>>,
}

impl Erased {
    /// Forgets the type of a system.
    pub fn new<S: System<f64> + System<Dual<f64>> + 'static>(system: S) -> Self {
        Arc::new(system).into()
    }
}

impl<S: System<f64> + System<Dual<f64>> + 'static> From<Arc<S>> for Erased {
    fn from(system: Arc<S>) -> Self {
        Erased { plain: system.clone(), duals: system }
    }
}

impl Described for Erased {
    fn layout(&self) -> &Layout {
        self.plain.layout()
    }
}

/// [`System`] with a workspace of any type.
trait Steps<T>: Described + Send + Sync {
    fn make_workspace(&self) -> ErasedWorkspace;
    fn step_any(&self, ws: &mut ErasedWorkspace, at: Point<'_, T>, next: &mut [T])
    -> Result<Info, StepError>;
    fn step_vjp_any(
        &self,
        ws: &mut ErasedWorkspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError>;
}

impl<T: Real + 'static, S: System<T> + 'static> Steps<T> for S {
    fn make_workspace(&self) -> ErasedWorkspace {
        ErasedWorkspace(Box::new(self.workspace()))
    }
    fn step_any(
        &self,
        ws: &mut ErasedWorkspace,
        at: Point<'_, T>,
        next: &mut [T],
    ) -> Result<Info, StepError> {
        self.step(ws.of_type(), at, next)
    }
    fn step_vjp_any(
        &self,
        ws: &mut ErasedWorkspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        self.step_vjp(ws.of_type(), at, next_bar, bars)
    }
}

/// Scratch memory of an [`Erased`] system; it fits the system that made it.
pub struct ErasedWorkspace(Box<dyn AnyWorkspace>);

trait AnyWorkspace: Workspace + Any {}
impl<W: Workspace + Any> AnyWorkspace for W {}

impl ErasedWorkspace {
    fn of_type<W: Any>(&mut self) -> &mut W {
        let memory: &mut dyn Any = &mut *self.0;
        memory
            .downcast_mut()
            .unwrap_or_else(|| panic!("a workspace of another system was handed to this one"))
    }
}

impl Workspace for ErasedWorkspace {
    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0) + self.0.heap_bytes()
    }
}

macro_rules! forward_steps {
    ($($scalar:ty: $steps:ident),*) => {$(
        impl System<$scalar> for Erased {
            type Workspace = ErasedWorkspace;
            fn workspace(&self) -> ErasedWorkspace {
                self.$steps.make_workspace()
            }
            fn step(
                &self,
                ws: &mut ErasedWorkspace,
                at: Point<'_, $scalar>,
                next: &mut [$scalar],
            ) -> Result<Info, StepError> {
                self.$steps.step_any(ws, at, next)
            }
            fn step_vjp(
                &self,
                ws: &mut ErasedWorkspace,
                at: Point<'_, $scalar>,
                next_bar: &[$scalar],
                bars: Bars<'_, $scalar>,
            ) -> Result<(), StepError> {
                self.$steps.step_vjp_any(ws, at, next_bar, bars)
            }
        }
    )*};
}
forward_steps!(f64: plain, Dual<f64>: duals);
