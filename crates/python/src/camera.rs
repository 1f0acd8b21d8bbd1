//! [`Camera`]: differentiable pictures of robots.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray4, PyArrayMethods};
use pullback::core::layout::Layout;
use pullback::core::{Bars, Point};
use pullback::math::Vec3;
use pullback::render::{Camera as View, Image, Lens, Method, Settings, SoftRas};
use pullback::video::{Shot, Stage, Visible, VisibleRobot};
use pyo3::prelude::*;

use crate::arrays::{Flat, Numbers, array, finite, numbers};
use crate::error::{Error, detached, refuse};
use crate::system::{Loaded, System};

/// Memory of pictures of a robot.
type RobotStage = Stage<f64, <VisibleRobot as Visible<f64>>::Workspace>;

/// Numbers of a pixel: red, green, blue and coverage.
const CHANNELS: usize = 4;

/// A camera that sees the geoms of a robot with soft outlines.
#[pyclass(frozen, module = "pullback._pullback")]
pub struct Camera {
    system: Arc<Loaded>,
    robot: VisibleRobot,
    shot: Shot,
    stage: Mutex<RobotStage>,
}

/// States, row after row, and the control and the parameters of all.
type Seen<'py> = (Numbers<'py>, Numbers<'py>, Numbers<'py>);

/// States, control and parameters, checked.
struct Points<'a> {
    states: &'a [f64],
    control: &'a [f64],
    params: &'a [f64],
}

impl Points<'_> {
    fn new<'a>(layout: &Layout, (states, control, params): &'a Seen<'_>) -> Result<Points<'a>, Error> {
        let points = Points {
            states: finite("state", states, &layout.state)?,
            control: finite("control", control, &layout.control)?,
            params: finite("params", params, &layout.params)?,
        };
        let (n, m, p) = (layout.state.len(), layout.control.len(), layout.params.len());
        let fit =
            points.states.len().is_multiple_of(n) && points.control.len() == m && points.params.len() == p;
        if !fit {
            let found = (points.states.len(), points.control.len(), points.params.len());
            return Err(refuse(format!(
                "states, control and params have {found:?} entries for ({n}, {m}, {p})"
            )));
        }
        Ok(points)
    }
}

#[pymethods]
impl Camera {
    /// `place` is azimuth and elevation in degrees and the distance from the target; `size` is width and height; outlines
    /// are `softness` pixels wide.
    #[new]
    fn new(
        system: &System,
        target: [f64; 3],
        place: [f64; 3],
        view: f64,
        size: (usize, usize),
        softness: f64,
    ) -> PyResult<Self> {
        let Some(robot) = &system.0.robot else {
            let name = system.0.scene.name();
            return Err(
                refuse(format!("{name}: only robots of files are seen by a differentiable camera")).into()
            );
        };
        let [azimuth, elevation, distance] = place;
        let positive = [("distance", distance), ("softness", softness), ("view", view)];
        if let Some((what, x)) = positive.into_iter().find(|(_, x)| !(*x > 0.0 && x.is_finite())) {
            return Err(refuse(format!("{what} must be positive, got {x}")).into());
        }
        let (width, height) = size;
        if !(1..=4096).contains(&width) || !(1..=4096).contains(&height) {
            return Err(
                refuse(format!("size must be between 1 and 4096 pixels, got {width} × {height}")).into()
            );
        }
        let lens = Lens { near: 0.1 * distance, far: 10.0 * distance, ..Lens::default() };
        let [x, y, z] = target;
        let (azimuth, elevation) = (azimuth.to_radians(), elevation.to_radians());
        let half_height = View::<f64>::half_height_of_degrees(view);
        let camera = View::orbit(lens, Vec3::new(x, y, z), distance, azimuth, elevation, half_height);
        let sigma = (2.0 * softness / height as f64).powi(2);
        let method = Method::SoftRas(SoftRas { sigma, ..SoftRas::default() });
        let shot = Shot { camera, settings: Settings::new(width, height).with_method(method) };
        let robot = VisibleRobot::new(robot.field());
        let stage = Mutex::new(Stage::new(&robot, &shot));
        Ok(Camera { system: system.0.clone(), robot, shot, stage })
    }

    /// Pictures of states: state × height × width × (red, green, blue, coverage).
    fn draw<'py>(&self, py: Python<'py>, seen: Seen<'_>) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let layout = self.system.scene.layout();
        let points = Points::new(layout, &seen)?;
        let n = layout.state.len();
        let pictures = detached(py, || -> Result<_, Error> {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let mut pictures = Vec::new();
            for state in points.states.chunks(n) {
                let at = Point { params: points.params, state, control: points.control };
                stage.draw(&self.robot, at).map_err(|e| refuse(e.to_string()))?;
                let pixels = stage.image.color.iter().zip(&stage.image.alpha);
                pictures.extend(pixels.flat_map(|(color, alpha)| [color.x, color.y, color.z, *alpha]));
            }
            Ok(pictures)
        })?;
        let Settings { width, height, .. } = self.shot.settings;
        PyArray1::from_vec(py, pictures).reshape([points.states.len() / n, height, width, CHANNELS])
    }

    /// The pullback of [`Camera::draw`]: cotangents of the states and, for each, of the parameters.
    fn draw_vjp<'py>(
        &self,
        py: Python<'py>,
        seen: Seen<'_>,
        pictures_bar: Numbers<'_>,
    ) -> PyResult<[Flat<'py>; 2]> {
        let layout = self.system.scene.layout();
        let points = Points::new(layout, &seen)?;
        let (n, m, p) = (layout.state.len(), layout.control.len(), layout.params.len());
        let bars = numbers("pictures_bar", &pictures_bar)?;
        let Settings { width, height, .. } = self.shot.settings;
        let (rows, picture) = (points.states.len() / n, width * height * CHANNELS);
        if bars.len() != rows * picture {
            let wanted = rows * picture;
            return Err(refuse(format!("pictures_bar needs {wanted} entries, got {}", bars.len())).into());
        }
        let found = detached(py, || -> Result<_, Error> {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut states_bar, mut params_bar) = (vec![0.0; rows * n], vec![0.0; rows * p]);
            let mut control_bar = vec![0.0; m];
            let mut image_bar: Image<f64> = stage.image.zero_like();
            for row in 0..rows {
                let state = &points.states[row * n..][..n];
                let at = Point { params: points.params, state, control: points.control };
                stage.draw(&self.robot, at).map_err(|e| refuse(e.to_string()))?;
                for (i, pixel) in bars[row * picture..][..picture].chunks(CHANNELS).enumerate() {
                    image_bar.color[i] = Vec3::new(pixel[0], pixel[1], pixel[2]);
                    image_bar.alpha[i] = pixel[3];
                }
                let bars = Bars {
                    params: &mut params_bar[row * p..][..p],
                    state: &mut states_bar[row * n..][..n],
                    control: &mut control_bar,
                };
                stage.draw_vjp(&self.robot, at, &image_bar, bars).map_err(|e| refuse(e.to_string()))?;
            }
            Ok([states_bar, params_bar])
        })?;
        Ok(found.map(|values| array(py, values)))
    }
}
