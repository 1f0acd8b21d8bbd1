//! Tasks with a made-up truth seen by a camera: parameters from the pixels of a video alone.
//!
//! The same tasks, truths, initial states and controls as those from states. A video has a frame for every few samples of
//! the recording; its pixels are rounded to eight bits, as cameras do, unless told otherwise.

use std::f64::consts::FRAC_PI_2;

use pullback_core::input_map::InputMap;
use pullback_core::input_map::Transform;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{ConfigError, Schedule, System};
use pullback_math::{Dual, Vec3};
use pullback_optim::least_squares::{LeastSquares, Part, RolloutResiduals};
use pullback_physics::articulated::Articulated;
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_render::{Camera, Lens, Material, Method as Rendering, Paint, Settings, SoftRas, shapes};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use pullback_video::{
    Footage, Frame, Pixels, Shot, VideoError, Visible, VisibleRobot, VisibleRods, VisibleWorld, film,
};

use super::unknowns::Unknowns;
use crate::files;
use crate::scenes::SceneOptions;
use crate::soft;

/// Pixels along each side.
const PIXELS: usize = 64;
/// Standard deviation of rounding to eight bits.
const ROUNDING: f64 = 1.0 / 255.0 / 3.464_101_615_137_754;

/// What a camera sees of a task.
pub type Filming = fn() -> Result<Box<dyn Filmed>, ConfigError>;

/// A system in front of a camera.
pub trait Filmed: Sync {
    /// The video of a motion of `steps` steps at some of them.
    fn film(&self, inputs: &Inputs<f64>, steps: usize, frames: &[usize]) -> Result<Vec<Frame>, VideoError>;
    /// Videos beside their simulation, as residuals.
    fn residuals(&self, recorded: Filmstrip<'_>) -> Result<Box<dyn LeastSquares + '_>, ConfigError>;
}

/// Videos and what they are compared with.
pub struct Filmstrip<'a> {
    /// From the quantities to the parameters, and how they are searched.
    pub unknowns: &'a Unknowns,
    /// What each video starts from.
    pub inputs: Vec<Inputs<f64>>,
    /// The videos.
    pub videos: Vec<Vec<Frame>>,
    /// Standard deviation of the noise of a pixel.
    pub noise: f64,
}

struct InView<S, V> {
    system: S,
    substeps: usize,
    visible: V,
    shot: Shot,
}

impl<S, V> Filmed for InView<S, V>
where
    S: System<f64> + System<Dual<f64>>,
    V: Visible<f64> + Visible<Dual<f64>> + Clone,
{
    fn film(&self, inputs: &Inputs<f64>, steps: usize, frames: &[usize]) -> Result<Vec<Frame>, VideoError> {
        let rollout = Rollout::new(&self.system, steps, Schedule::Revolve { slots: 1 })
            .and_then(|rollout| rollout.with_substeps(self.substeps))
            .unwrap_or_else(|_| unreachable!("one slot, and at least one substep"));
        film(&rollout, inputs, &self.visible, &self.shot, frames)
    }

    fn residuals(&self, recorded: Filmstrip<'_>) -> Result<Box<dyn LeastSquares + '_>, ConfigError> {
        let Filmstrip { unknowns, inputs, videos, noise } = recorded;
        let params = inputs.first().map_or(Vec::new(), |inputs| inputs.params.clone());
        let controls = self.system.layout().control.len();
        let pixels = Pixels { noise, ..Pixels::default() };
        let steps: Vec<usize> = videos.iter().map(|v| v.last().map_or(1, |frame| frame.step)).collect();
        let footage = Footage::new(self.visible.clone(), self.shot, pixels, videos)
            .map_err(|e| ConfigError::new(e.to_string()))?;
        let part = |(number, (inputs, steps)): (usize, (Inputs<f64>, usize))| Part {
            state: inputs.state,
            controls: inputs.controls[..controls * steps].to_vec(),
            steps,
            residuals: footage.residual_count(number),
            cluster: number,
            ..Part::default()
        };
        let parts = inputs.into_iter().zip(steps).enumerate().map(part).collect();
        let map = (unknowns.map.clone(), unknowns.transforms.clone());
        let residuals: RolloutResiduals<_, _, _, Dual<f64>> =
            RolloutResiduals::new(&self.system, footage, map, params, parts)?;
        Ok(Box::new(residuals.with_substeps(self.substeps).with_known_noise()))
    }
}

/// A camera in front (toward +y), `distance` m from `target` and `elevation` rad above it; outlines are a pixel soft.
fn shot(target: Vec3<f64>, distance: f64, elevation: f64) -> Shot {
    let half_height = Camera::<f64>::half_height_of_degrees(45.0);
    let lens = Lens { near: 0.1 * distance, far: 10.0 * distance, ..Lens::default() };
    let camera = Camera::orbit(lens, target, distance, -FRAC_PI_2, elevation, half_height);
    let sigma = (2.0 / PIXELS as f64).powi(2);
    let method = Rendering::SoftRas(SoftRas { sigma, ..SoftRas::default() });
    Shot { camera, settings: Settings::new(PIXELS, PIXELS).with_method(method) }
}

/// The pendulum.
pub fn pendulum() -> Result<Box<dyn Filmed>, ConfigError> {
    let field = SimplePendulum::default();
    let visible = VisibleRods::from(&field);
    let system = Integrated::new(field, 0.01, Integrator::fixed(Method::Rk4))?;
    let shot = shot(Vec3::new(0.0, 0.0, -0.7), 4.5, 0.1);
    Ok(Box::new(InView { system, substeps: 1, visible, shot }))
}

/// The double pendulum.
pub fn double_pendulum() -> Result<Box<dyn Filmed>, ConfigError> {
    let field = DoublePendulum::default();
    let visible = VisibleRods::from(&field);
    let system = Integrated::new(field, 0.01, Integrator::fixed(Method::Rk4))?;
    let shot = shot(Vec3::new(0.0, 0.0, -1.2), 6.5, 0.1);
    Ok(Box::new(InView { system, substeps: 1, visible, shot }))
}

/// A robot of a model file.
fn robot(text: &str) -> Result<Integrated<Articulated>, ConfigError> {
    let model =
        parse_mjcf(text, None, &ImportOptions::default()).map_err(|e| ConfigError::new(e.to_string()))?;
    files::system(Articulated::new(model)?.with_kinematic_params()?, SceneOptions::default())
}

/// A ball whose faces have colors, so that it is seen to spin.
pub fn ball(text: &str) -> Result<Box<dyn Filmed>, ConfigError> {
    let system = robot(text)?;
    let mesh = shapes::sphere(2, 0.05);
    let bright = |i: usize| if (i / 20).is_multiple_of(2) { 0.9 } else { 0.25 };
    let color = |i: usize| Vec3::new(bright(i), 0.3, bright(i / 3));
    let paint = Paint::Faces((0..mesh.topology.faces.len()).map(color).collect());
    let floor = shapes::rectangle(1, 1, 6.0, 6.0);
    let visible = VisibleRobot::bare(system.field())
        .with_mesh("ball", &mesh, paint, Material::matt())?
        .with_still(&floor, Paint::Uniform(Vec3::new(0.35, 0.4, 0.45)), Material::matt());
    let shot = shot(Vec3::new(0.3, 0.1, 0.12), 1.9, 0.3);
    Ok(Box::new(InView { system, substeps: 1, visible, shot }))
}

/// A robot with its geoms, or meshes, of its file.
pub fn arm(text: &str) -> Result<Box<dyn Filmed>, ConfigError> {
    let system = robot(text)?;
    let visible = VisibleRobot::new(system.field());
    let shot = shot(Vec3::new(0.0, 0.0, 0.5), 2.6, 0.3);
    Ok(Box::new(InView { system, substeps: 1, visible, shot }))
}

/// The cloth of springs; its surface are the triangles between its rows.
pub fn cloth() -> Result<Box<dyn Filmed>, ConfigError> {
    let (world, substeps) = soft::swinging()?;
    let visible = VisibleWorld::new(&world);
    let dt = soft::STEP / substeps as f64;
    let system = Integrated::new(world, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
    let shot = shot(Vec3::new(0.0, 0.0, 0.42), 0.6, 0.3);
    Ok(Box::new(InView { system, substeps, visible, shot }))
}

/// A task before the camera: videos of the truth, and what to ask.
pub struct MadeFilm {
    /// The system.
    pub filmed: Box<dyn Filmed>,
    /// What is found.
    pub unknowns: Unknowns,
    /// What each video starts from; parameters as the scene has them.
    pub inputs: Vec<Inputs<f64>>,
    /// Steps of each video that have a frame.
    pub frames: Vec<usize>,
    /// The videos under the truth.
    pub videos: Vec<Vec<Frame>>,
    /// Names and true values of the unknowns.
    pub truth: Vec<(String, f64)>,
    /// Whether pixels are rounded to eight bits.
    pub rounded: bool,
}

impl MadeFilm {
    /// The problem that the first `count` frames pose.
    pub fn residuals(&self, count: usize) -> Result<Box<dyn LeastSquares + '_>, ConfigError> {
        let first = |video: &Vec<Frame>| video[..count.min(video.len())].to_vec();
        self.filmed.residuals(Filmstrip {
            unknowns: &self.unknowns,
            inputs: self.inputs.clone(),
            videos: self.videos.iter().map(first).collect(),
            noise: ROUNDING,
        })
    }

    /// The videos at these values of the quantities.
    pub fn film(&self, values: &[f64]) -> Result<Vec<Vec<Frame>>, VideoError> {
        let steps = self.frames.last().copied().unwrap_or(0);
        let one = |inputs: &Inputs<f64>| {
            let mut inputs = inputs.clone();
            self.unknowns.map.apply(values, &mut inputs);
            self.filmed.film(&inputs, steps, &self.frames)
        };
        self.inputs.iter().map(one).collect()
    }

    /// How each quantity is searched.
    pub fn transforms(&self) -> &[Transform] {
        &self.unknowns.transforms
    }
}

/// Frames whose numbers are rounded to eight bits.
pub fn rounded(video: Vec<Frame>) -> Vec<Frame> {
    let round = |x: f64| (x * 255.0).round() / 255.0;
    video.into_iter().map(|frame| Frame { image: frame.image.map(round), ..frame }).collect()
}
