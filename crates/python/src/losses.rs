//! Losses that need no Python at all: sums of targets of states, effort of controls and weighted final states.

use pullback::core::layout::Layout;
use pullback::core::losses::{Effort, Norm, StateTarget, Weights};
use pullback::core::rollout::{FinalState, Loss as CoreLoss, Sample};
use pullback::math::Real;
use pyo3::prelude::*;

use crate::arrays::{Numbers, numbers};
use crate::error::{Error, refuse};
use crate::system::System;

/// One term of a loss.
#[derive(Clone, Debug)]
pub enum Term {
    /// Entries of the state that should have given values.
    Target(StateTarget),
    /// Weighted squares of controls.
    Effort(Effort),
    /// A weighted sum of the final state.
    Final(FinalState),
}

impl<T: Real> CoreLoss<T> for Term {
    fn value(&self, at: Sample<'_, T>) -> T {
        match self {
            Term::Target(loss) => loss.value(at),
            Term::Effort(loss) => loss.value(at),
            Term::Final(loss) => loss.value(at),
        }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        match self {
            Term::Target(loss) => loss.vjp(at, state_bar, control_bar),
            Term::Effort(loss) => loss.vjp(at, state_bar, control_bar),
            Term::Final(loss) => loss.vjp(at, state_bar, control_bar),
        }
    }
}

/// A sum of terms for one system.
#[pyclass(frozen, module = "pullback._pullback")]
#[derive(Clone)]
pub struct Loss {
    /// The terms.
    pub terms: Vec<Term>,
    /// Entries of the state and of the control that the terms were made for.
    pub sizes: (usize, usize),
}

impl Loss {
    fn of(layout: &Layout, term: Term) -> Self {
        Loss { terms: vec![term], sizes: (layout.state.len(), layout.control.len()) }
    }
}

impl<T: Real> CoreLoss<T> for Loss {
    fn value(&self, at: Sample<'_, T>) -> T {
        self.terms.value(at)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        self.terms.vjp(at, state_bar, control_bar);
    }
}

#[pymethods]
impl Loss {
    /// Entries of the state that a pattern selects, and what they should be.
    #[staticmethod]
    #[pyo3(signature = (system, pattern, target, norm, softness, running, terminal))]
    fn state_target(
        system: &System,
        pattern: &str,
        target: Option<Numbers<'_>>,
        norm: &str,
        softness: f64,
        running: f64,
        terminal: f64,
    ) -> PyResult<Self> {
        let norm = match norm {
            "square" => Norm::Square,
            "cosine" => Norm::Cosine,
            "smooth" if softness > 0.0 && softness.is_finite() => Norm::Smooth(softness),
            "smooth" => return Err(refuse(format!("softness must be positive, got {softness}")).into()),
            other => {
                return Err(refuse(format!("norm `{other}` is not one of square, smooth, cosine")).into());
            }
        };
        let weights = Weights { running, terminal };
        let mut loss = StateTarget::new(system.layout(), pattern, norm, weights).map_err(Error::from)?;
        if let Some(target) = &target {
            loss = loss.at(numbers("target", target)?).map_err(Error::from)?;
        }
        Ok(Loss::of(system.layout(), Term::Target(loss)))
    }

    /// Weighted squares of controls about a reference.
    #[staticmethod]
    fn effort(system: &System, weights: Numbers<'_>, reference: Numbers<'_>) -> PyResult<Self> {
        let (weights, reference) = (numbers("weights", &weights)?, numbers("reference", &reference)?);
        let wanted = system.layout().control.len();
        for (what, found) in [("weights", weights.len()), ("reference", reference.len())] {
            if found != wanted {
                return Err(refuse(format!("{what}: {found} values for {wanted} controls")).into());
            }
        }
        let effort = Effort { weights: weights.to_vec(), reference: reference.to_vec() };
        Ok(Loss::of(system.layout(), Term::Effort(effort)))
    }

    /// A weighted sum of the final state.
    #[staticmethod]
    fn final_state(system: &System, weights: Numbers<'_>) -> PyResult<Self> {
        let weights = numbers("weights", &weights)?;
        let wanted = system.layout().state.len();
        if weights.len() != wanted {
            return Err(refuse(format!(
                "weights: {} values for {wanted} entries of the state",
                weights.len()
            ))
            .into());
        }
        Ok(Loss::of(system.layout(), Term::Final(FinalState { weights: weights.to_vec() })))
    }

    /// The sum of two losses.
    fn __add__(&self, other: &Loss) -> PyResult<Self> {
        if self.sizes != other.sizes {
            return Err(refuse("losses of two different systems cannot be added").into());
        }
        Ok(Loss { terms: [&self.terms[..], &other.terms].concat(), sizes: self.sizes })
    }
}
