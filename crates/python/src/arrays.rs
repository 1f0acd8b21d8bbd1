//! Arrays of numbers that Python hands in and gets back.

use numpy::{PyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pullback::core::layout::Section;
use pyo3::prelude::*;

use crate::error::{Error, refuse};

/// An array that Python hands in.
pub type Numbers<'py> = PyReadonlyArrayDyn<'py, f64>;

/// The numbers of an array in the order in which they are written; an error if they lie in another.
pub fn numbers<'a>(what: &str, array: &'a Numbers<'_>) -> Result<&'a [f64], Error> {
    // `as_slice` takes arrays in Fortran's order too.
    if !array.is_c_contiguous() {
        return Err(refuse(format!("{what} must be C-contiguous: use numpy.ascontiguousarray")));
    }
    array.as_slice().map_err(|_| refuse(format!("{what} must be contiguous: use numpy.ascontiguousarray")))
}

/// The numbers of an array over rows of a section; an error if their count is not a multiple of its length, or one of
/// them is not finite.
pub fn finite<'a>(what: &str, array: &'a Numbers<'_>, section: &Section) -> Result<&'a [f64], Error> {
    let values = numbers(what, array)?;
    let Some(at) = values.iter().position(|x| !x.is_finite()) else { return Ok(values) };
    let (row, entry) = (at / section.len().max(1), section.entry_name(at % section.len().max(1)));
    let place = if values.len() == section.len() { String::new() } else { format!(" in row {row}") };
    Err(refuse(format!("{what}: {entry} is {}{place}; inputs must be finite", values[at])))
}

/// An array that Python gets back.
pub type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// Numbers as an array of one dimension, without a copy.
pub fn array(py: Python<'_>, values: Vec<f64>) -> Flat<'_> {
    PyArray1::from_vec(py, values)
}
