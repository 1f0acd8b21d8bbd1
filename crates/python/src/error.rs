//! Errors of the engine as exceptions with the same text, and panics as `RuntimeError`.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::core;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    pullback,
    ConfigError,
    PyValueError,
    "Settings, names, files or sizes that make no sense."
);
pyo3::create_exception!(
    pullback,
    StepError,
    PyRuntimeError,
    "A simulation that could not go on, or a gradient that is not finite."
);

/// Something that went wrong in a call.
pub enum Error {
    /// The request makes no sense.
    Config(String),
    /// The simulation failed.
    Step(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Config(text) | Error::Step(text)) = self;
        f.write_str(text)
    }
}

impl From<core::ConfigError> for Error {
    fn from(error: core::ConfigError) -> Self {
        Error::Config(error.to_string())
    }
}

impl From<core::StepError> for Error {
    fn from(error: core::StepError) -> Self {
        match error {
            core::StepError::WrongLength { .. } => Error::Config(error.to_string()),
            _ => Error::Step(error.to_string()),
        }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Config(text) => ConfigError::new_err(text),
            Error::Step(text) => StepError::new_err(text),
        }
    }
}

/// A request that makes no sense.
pub fn refuse(why: impl Into<String>) -> Error {
    Error::Config(why.into())
}

/// Runs `work` without the interpreter, so that other threads of Python go on.
pub fn detached<R: Send, E: Into<PyErr> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, E> + Send,
) -> PyResult<R> {
    py.detach(|| caught(work)).map_err(PyRuntimeError::new_err)?.map_err(Into::into)
}

/// What `work` returns, or what it panicked with.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        format!("the engine panicked, which is a defect of it: {}; please report it", message(&*panic))
    })
}

/// The text of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}

/// Panics on purpose: what tests of exceptions call.
#[pyfunction]
#[pyo3(name = "_panics")]
pub fn panics(py: Python<'_>, text: String) -> PyResult<()> {
    detached(py, || -> Result<(), Error> { panic!("{text}") })
}
