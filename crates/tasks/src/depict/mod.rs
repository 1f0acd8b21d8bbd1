//! Pictures of scenes: what makes a state visible, for each kind of physics.
//!
//! [`Scene::depict`] gives a [`Depict`] that draws one state after the other; [`picture`] draws one.

mod particles;
mod points;
mod robot;
mod smoke;

use std::ops::Range;

use pullback_core::{ConfigError, Point};
use pullback_math::Vec3;
use pullback_video::look::{Bitmap, CameraChoice, Depict, LookError, Moment, PictureSize, Studio};

pub(crate) use particles::{depict_mpm, depict_world};
pub(crate) use points::{depict_height, depict_pendulum};
pub use robot::depict_robot;
pub(crate) use robot::rooms;
pub(crate) use smoke::depict_smoke;

use crate::scene::Scene;

/// Makes what draws the states of a scene.
pub type Depiction = Box<dyn Fn() -> Box<dyn Depict> + Send + Sync>;

/// A camera, and the size of its pictures.
#[derive(Clone, Debug, Default)]
pub struct PictureOptions {
    /// The camera.
    pub camera: CameraChoice,
    /// The size; `None` leaves it to the camera, or is 640 × 480.
    pub size: Option<PictureSize>,
}

impl PictureOptions {
    /// The size of pictures of these options; an error if there is no such camera.
    pub fn size_of(&self, depict: &dyn Depict) -> Result<PictureSize, LookError> {
        let own = depict.resolution(&self.camera)?;
        Ok(self.size.or(own).unwrap_or_default())
    }
}

/// What draws the states of a scene; an error if there is nothing to see of it.
pub fn depict(scene: &dyn Scene) -> Result<Box<dyn Depict>, ConfigError> {
    scene
        .depict()
        .ok_or_else(|| ConfigError::new(format!("{}: there are no pictures of this scene", scene.name())))
}

/// The picture of a point of a scene: the frame that reinforcement learners call `rgb_array`.
pub fn picture(
    scene: &dyn Scene,
    at: Point<'_, f64>,
    options: &PictureOptions,
) -> Result<Bitmap, ConfigError> {
    draw(&mut *depict(scene)?, at, options)
}

/// The picture of a point, by what draws its states.
pub fn draw(
    depict: &mut dyn Depict,
    at: Point<'_, f64>,
    options: &PictureOptions,
) -> Result<Bitmap, ConfigError> {
    let failed = |e: LookError| ConfigError::new(e.to_string());
    let size = options.size_of(depict).map_err(failed)?;
    depict.picture(at, &options.camera, size).map_err(failed)
}

/// Draws states by a look: `moment` says where everything is.
struct ByLook<F> {
    studio: Studio,
    moment: F,
    /// Where everything was at the point drawn last.
    last: Moment,
}

impl<F: FnMut(Point<'_, f64>, &mut Moment)> ByLook<F> {
    fn new(look: pullback_video::look::Look, moment: F) -> Self {
        ByLook { studio: Studio::new(look), moment, last: Moment::default() }
    }
}

impl<F: FnMut(Point<'_, f64>, &mut Moment)> Depict for ByLook<F> {
    fn picture(
        &mut self,
        at: Point<'_, f64>,
        camera: &CameraChoice,
        size: PictureSize,
    ) -> Result<Bitmap, LookError> {
        (self.moment)(at, &mut self.last);
        self.studio.picture(&self.last, camera, size)
    }
    fn resolution(&self, camera: &CameraChoice) -> Result<Option<PictureSize>, LookError> {
        let look = self.studio.look();
        let own = look.eye(camera)?.and_then(|eye| look.cameras[eye].resolution);
        Ok(own.map(|[w, h]| PictureSize { width: w as usize, height: h as usize }))
    }
    fn notes(&self) -> &[String] {
        &self.studio.look().notes
    }
}

/// Vectors of three numbers each.
fn set_vectors(to: &mut Vec<Vec3<f64>>, from: &[[f64; 3]]) {
    to.clear();
    to.extend(from.iter().map(|[x, y, z]| Vec3::new(*x, *y, *z)));
}

/// Entries of the parameters of a robot among those of a system that holds it.
fn first(count: usize) -> Range<usize> {
    0..count
}
