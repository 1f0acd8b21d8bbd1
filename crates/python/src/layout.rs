//! Names, units, bounds and defaults of flat vectors, for Python.

use numpy::PyArray1;
use pullback::core::layout::{Layout, Section};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::array;
use crate::error::{Error, refuse};

/// The section of a layout called `vector`: `state`, `control` or `params`.
pub fn section<'a>(layout: &'a Layout, vector: &str) -> Result<&'a Section, Error> {
    match vector {
        "state" => Ok(&layout.state),
        "control" => Ok(&layout.control),
        "params" => Ok(&layout.params),
        other => Err(refuse(format!("`{other}` is not one of state, control, params"))),
    }
}

/// All that a section says, as columns over its slices and arrays over its entries.
pub fn describe<'py>(py: Python<'py>, section: &Section) -> PyResult<Bound<'py, PyDict>> {
    let slices = section.slices();
    let found = PyDict::new(py);
    found.set_item("names", slices.iter().map(|s| s.name.as_str()).collect::<Vec<_>>())?;
    found.set_item("starts", slices.iter().map(|s| s.range.start).collect::<Vec<_>>())?;
    found.set_item("stops", slices.iter().map(|s| s.range.end).collect::<Vec<_>>())?;
    found.set_item("units", slices.iter().map(|s| s.unit.as_ref()).collect::<Vec<_>>())?;
    found.set_item("docs", slices.iter().map(|s| s.doc.as_ref()).collect::<Vec<_>>())?;
    let per_entry = |of: fn(&pullback::core::Slice) -> f64| -> Bound<'py, PyArray1<f64>> {
        array(py, slices.iter().flat_map(|s| std::iter::repeat_n(of(s), s.len())).collect())
    };
    found.set_item("lower", per_entry(|s| s.lower))?;
    found.set_item("upper", per_entry(|s| s.upper))?;
    found.set_item("defaults", array(py, section.defaults()))?;
    Ok(found)
}
