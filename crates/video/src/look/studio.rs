//! [`Studio`]: pictures of a look, one after the other.

use std::str::FromStr;

use pullback_core::Point;
use pullback_render::{Effects, Image, Outputs, PlainWorkspace, Scene, Settings, View, rasterize};

use super::{CameraChoice, Look, LookError, Moment};

/// Pixels of a picture, red, green and blue of each, row by row from the top left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// Three bytes for each pixel.
    pub rgb: Vec<u8>,
}

/// Size of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
}

impl Default for PictureSize {
    /// 640 × 480.
    fn default() -> Self {
        PictureSize { width: 640, height: 480 }
    }
}

/// Most pixels along a side.
const LARGEST: usize = 8192;

/// `WIDTHxHEIGHT`, such as `640x480`.
impl FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once(['x', '×']).and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
        match sides {
            Some([width, height]) if (2..=LARGEST).contains(&width) && (2..=LARGEST).contains(&height) => {
                Ok(PictureSize { width, height })
            }
            _ => Err(format!("write WIDTHxHEIGHT with 2 to {LARGEST} pixels each, such as 640x480")),
        }
    }
}

/// Something whose states have pictures.
pub trait Depict {
    /// The picture of a point from a camera.
    fn picture(
        &mut self,
        at: Point<'_, f64>,
        camera: &CameraChoice,
        size: PictureSize,
    ) -> Result<Bitmap, LookError>;
    /// What a camera gives as the size of its pictures; an error if there is no such camera.
    fn resolution(&self, camera: &CameraChoice) -> Result<Option<PictureSize>, LookError>;
    /// What of looks is not drawn, a line each.
    fn notes(&self) -> &[String];
}

/// Samples of a pixel along each axis.
const SUPERSAMPLING: usize = 2;

/// Draws pictures of a look. Everything that stands still is kept from one to the next.
#[derive(Debug)]
pub struct Studio {
    look: Look,
    scene: Scene<f32>,
    effects: Effects,
    ws: PlainWorkspace<f32>,
    image: Image<f32>,
    /// Samples of a pixel along each axis (2).
    pub supersampling: usize,
}

impl Studio {
    /// A studio for a look.
    pub fn new(look: Look) -> Self {
        let mut effects = look.effects.clone();
        effects.lamps.resize(look.scene.lights.len(), pullback_render::Lamp::default());
        Studio {
            scene: look.scene.map(|x| x as f32),
            effects,
            look,
            ws: PlainWorkspace::new(),
            image: Image::default(),
            supersampling: SUPERSAMPLING,
        }
    }

    /// What is drawn.
    pub fn look(&self) -> &Look {
        &self.look
    }

    /// Draws a moment; the planes of the picture are colors as screens show them, coverage and whatever else is asked for.
    pub fn draw(
        &mut self,
        moment: &Moment,
        camera: &CameraChoice,
        size: PictureSize,
        outputs: Outputs,
    ) -> Result<&Image<f32>, LookError> {
        let camera = self.look.camera(camera, moment)?;
        self.look.place(moment, &mut self.scene);
        self.look.aim_lights(moment, &camera, &mut self.scene, &mut self.effects.lamps);
        let settings = Settings::new(size.width, size.height)
            .with_supersampling(self.supersampling)
            .with_outputs(outputs);
        let camera = camera.map(|x| x as f32);
        let view = View { scene: &self.scene, camera: &camera, settings: &settings };
        rasterize(view, &self.effects, &mut self.ws, &mut self.image)?;
        Ok(&self.image)
    }

    /// The picture of a moment.
    pub fn picture(
        &mut self,
        moment: &Moment,
        camera: &CameraChoice,
        size: PictureSize,
    ) -> Result<Bitmap, LookError> {
        let image = self.draw(moment, camera, size, Outputs::color())?;
        Ok(Bitmap { width: size.width, height: size.height, rgb: image.to_bytes() })
    }
}
