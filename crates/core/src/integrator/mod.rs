//! From continuous dynamics to steps: method, step control and adjoint are three separate choices.
//!
//! ```
//! use pullback_core::integrator::{Adjoint, Integrator, Method, PidController, StepControl};
//! let fixed = Integrator::fixed(Method::Rk4);
//! let adaptive = Integrator {
//!     method: Method::Tsit5,
//!     control: StepControl::Adaptive(PidController::new(1e-8)),
//!     adjoint: Adjoint::Continuous(PidController::new(1e-8)),
//! };
//! # assert!(fixed.check().is_ok() && adaptive.check().is_ok());
//! ```
//!
//! The *discrete* adjoint is the exact gradient of the numbers that the solver produced, step sizes held
//! constant. The *continuous* adjoint solves the adjoint equation with error control of its own; its error is
//! that tolerance. They agree as the tolerances go to zero. Adaptive solves of fields with
//! [guards](crate::VectorField::guard) end a step at every kink and jump of the field and carry either
//! gradient exactly across.

mod adaptive;
mod continuous_adjoint;
mod controller;
mod discrete_adjoint;
pub mod dopri5;
mod events;
mod explicit;
mod integrated;
mod rhs;
pub mod rk4;
mod semi_implicit_euler;
mod tableau;
pub mod tsit5;

use serde::Serialize;

pub use controller::PidController;
pub use integrated::{Integrated, IntegratedWorkspace};
pub use tableau::Tableau;

use crate::error::ConfigError;
use crate::registry::{Entry, Registry};
use crate::sources::{DORMAND_PRINCE, KUTTA, TSITOURAS};

/// How one step is made.
///
/// ```
/// use pullback_core::integrator::{METHODS, Method};
/// assert_eq!(METHODS.find("rk4")?.value, Method::Rk4);
/// # Ok::<(), pullback_core::registry::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// First order, for second-order systems; symplectic where the inertia does not depend on the position.
    SemiImplicitEuler,
    /// Classical fourth order.
    Rk4,
    /// Tsitouras 5(4).
    Tsit5,
    /// Dormand-Prince 5(4).
    Dopri5,
}

impl Method {
    /// The tableau of a Runge-Kutta method.
    pub fn tableau(self) -> Option<&'static Tableau> {
        match self {
            Method::SemiImplicitEuler => None,
            Method::Rk4 => Some(&rk4::RK4),
            Method::Tsit5 => Some(&tsit5::TSIT5),
            Method::Dopri5 => Some(&dopri5::DOPRI5),
        }
    }
}

/// Every integration method by name.
pub const METHODS: Registry<Method> = Registry::new(
    "integration method",
    &[&[
        Entry::new("semi-implicit-euler", "first order, velocities first", Method::SemiImplicitEuler),
        Entry::cited("rk4", "classical fourth order", KUTTA.whole(), Method::Rk4),
        Entry::cited("tsit5", "orders 5 and 4, with an error estimate", TSITOURAS.whole(), Method::Tsit5),
        Entry::cited(
            "dopri5",
            "orders 5 and 4, with an error estimate",
            DORMAND_PRINCE.whole(),
            Method::Dopri5,
        ),
    ]],
);

/// How the outer step is divided.
///
/// ```
/// use pullback_core::integrator::{Integrator, Method, PidController, StepControl};
/// let adaptive = Integrator::adaptive(Method::Tsit5, PidController::new(1e-8));
/// assert!(matches!(adaptive.control, StepControl::Adaptive(_)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepControl {
    /// One step of the method; a [`Rollout`](crate::Rollout) may take several under one control.
    Fixed,
    /// By error estimates.
    Adaptive(PidController),
}

/// How a step is pulled back.
///
/// ```
/// use pullback_core::integrator::{Adjoint, Integrator, Method, PidController};
/// let tolerance = PidController::new(1e-8);
/// let adjoint = Adjoint::Continuous(tolerance);
/// let integrator = Integrator { adjoint, ..Integrator::adaptive(Method::Tsit5, tolerance) };
/// assert!(integrator.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjoint {
    /// Through the steps that were taken (discretize, then optimize).
    Discrete {
        /// Inner states kept at a time; more steps than that are reversed by revolve.
        checkpoints: usize,
    },
    /// By the adjoint equation with its own error control (optimize, then discretize). The state is solved
    /// backwards with it, anchored at every accepted step, so that it cannot drift.
    Continuous(PidController),
}

/// The three choices together.
///
/// ```
/// use pullback_core::integrator::{Integrator, Method, PidController};
/// assert!(Integrator::fixed(Method::Rk4).check().is_ok());
/// let error = Integrator::adaptive(Method::Rk4, PidController::new(1e-6)).check().unwrap_err();
/// assert!(error.to_string().contains("no error estimate"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Integrator {
    /// How one step is made.
    pub method: Method,
    /// How the outer step is divided.
    pub control: StepControl,
    /// How a step is pulled back.
    pub adjoint: Adjoint,
}

impl Integrator {
    /// One step of `method` per outer step, discrete adjoint.
    pub fn fixed(method: Method) -> Self {
        Integrator { method, control: StepControl::Fixed, adjoint: Adjoint::Discrete { checkpoints: 4096 } }
    }
    /// `method` with error control, discrete adjoint through the accepted steps.
    pub fn adaptive(method: Method, controller: PidController) -> Self {
        Integrator { control: StepControl::Adaptive(controller), ..Integrator::fixed(method) }
    }

    /// Whether the choices fit together.
    pub fn check(&self) -> Result<(), ConfigError> {
        let controllers = [
            if let StepControl::Adaptive(controller) = self.control { Some(controller) } else { None },
            if let Adjoint::Continuous(controller) = self.adjoint { Some(controller) } else { None },
        ];
        for controller in controllers.iter().flatten() {
            controller.check()?;
        }
        let estimates_error = self.method.tableau().is_some_and(|t| t.error.is_some());
        match (self.control, self.adjoint) {
            (_, Adjoint::Discrete { checkpoints: 0 }) => {
                Err(ConfigError::new("the discrete adjoint needs at least 1 checkpoint"))
            }
            (StepControl::Adaptive(_), _) if !estimates_error => Err(ConfigError::new(format!(
                "{:?} has no error estimate for adaptive steps: use Tsit5 or Dopri5",
                self.method
            ))),
            (StepControl::Fixed, Adjoint::Continuous(_)) => Err(ConfigError::new(
                "the continuous adjoint belongs to an adaptive solve: use StepControl::Adaptive, or Adjoint::Discrete",
            )),
            _ => Ok(()),
        }
    }
}
