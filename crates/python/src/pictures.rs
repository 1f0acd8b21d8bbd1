//! What there is to see: pictures of states, and pages that play a motion.

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pullback::core::Point;
use pullback::core::rollout::Inputs;
use pullback::tasks::depict::{PictureOptions, picture};
use pullback::video::look::{CameraChoice, PictureSize};
use pyo3::prelude::*;

use crate::arrays::{Numbers, finite, numbers};
use crate::error::{Error, detached, refuse};
use crate::system::System;

/// A camera of the model by name or number, or the free one where numbers of it are given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Camera {
    name: Option<String>,
    azimuth: Option<f64>,
    elevation: Option<f64>,
    distance: Option<f64>,
    lookat: Option<[f64; 3]>,
}

impl Camera {
    /// The camera that is meant.
    pub fn choice(self) -> Result<CameraChoice, Error> {
        let Camera { name, azimuth, elevation, distance, lookat } = self;
        let moved = azimuth.or(elevation).or(distance).is_some() || lookat.is_some();
        if let Some(distance) = distance.filter(|d| !(*d > 0.0 && d.is_finite())) {
            return Err(refuse(format!("distance must be positive, got {distance}")));
        }
        match name {
            Some(name) if name != "free" && moved => Err(refuse(format!(
                "azimuth, elevation, distance and lookat move the free camera, not `{name}`; leave out camera"
            ))),
            Some(name) if name != "free" => Ok(CameraChoice::Named(name)),
            None if !moved => Ok(CameraChoice::Default),
            _ => Ok(CameraChoice::Free { azimuth, elevation, distance, lookat }),
        }
    }
}

/// A picture of a state: height × width × 3 bytes.
#[pyfunction]
pub fn render<'py>(
    py: Python<'py>,
    system: &System,
    inputs: (Numbers<'_>, Numbers<'_>, Numbers<'_>),
    camera: Camera,
    size: Option<(usize, usize)>,
) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let layout = system.layout();
    let at = Inputs {
        state: finite("state", &inputs.0, &layout.state)?.to_vec(),
        controls: finite("control", &inputs.1, &layout.control)?.to_vec(),
        params: finite("params", &inputs.2, &layout.params)?.to_vec(),
    };
    at.check(layout, 1).map_err(Error::from)?;
    let size = size.map(|(width, height)| PictureSize { width, height });
    let options = PictureOptions { camera: camera.choice()?, size };
    let bitmap = detached(py, || {
        let point = Point { params: &at.params, state: &at.state, control: &at.controls };
        picture(system.0.scene.as_ref(), point, &options).map_err(Error::from)
    })?;
    PyArray1::from_vec(py, bitmap.rgb).reshape([bitmap.height, bitmap.width, 3])
}

/// A page, complete in itself, that plays a motion in a browser.
#[pyfunction]
pub fn replay(
    py: Python<'_>,
    system: &System,
    inputs: (Numbers<'_>, Numbers<'_>, Numbers<'_>),
    states: Numbers<'_>,
    dt: f64,
) -> PyResult<String> {
    let (layout, scene) = (system.layout(), &system.0.scene);
    let states = numbers("states", &states)?;
    let inputs = Inputs {
        state: numbers("state", &inputs.0)?.to_vec(),
        controls: numbers("controls", &inputs.1)?.to_vec(),
        params: numbers("params", &inputs.2)?.to_vec(),
    };
    let n = layout.state.len();
    inputs.check(layout, (states.len() / n.max(1)).saturating_sub(1)).map_err(Error::from)?;
    let rows: Vec<(f64, Vec<f64>)> =
        states.chunks(n.max(1)).enumerate().map(|(i, state)| (i as f64 * dt, state.to_vec())).collect();
    detached(py, || {
        let page = scene.replay(&inputs, &rows);
        let page =
            page.ok_or_else(|| refuse(format!("{}: there are no pages of this scene", scene.name())))?;
        page.to_html().map_err(|e| refuse(e.to_string()))
    })
}
