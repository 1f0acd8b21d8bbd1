//! Videos and pictures of a motion while it is simulated.

use std::path::PathBuf;

use pullback_core::{ConfigError, Point};
use pullback_tasks::Scene;
use pullback_tasks::depict::{PictureOptions, depict};
use pullback_video::encode::{Format, VideoWriter, save_png};
use pullback_video::look::{CameraChoice, Depict, PictureSize};

use crate::args::{FilmingOptions, Place};
use crate::output::print_notes;

/// Frames per second of a video when nothing else is said.
const FPS: f64 = 30.0;
/// Longer videos are surely a slip of the keyboard.
const MOST_FRAMES: f64 = 1e5;

/// What is filmed of a motion, if anything.
pub struct Filming(Option<Camera>);

struct Camera {
    depict: Box<dyn Depict>,
    choice: CameraChoice,
    size: PictureSize,
    video: Option<(PathBuf, VideoWriter)>,
    /// Steps whose states are the frames of the video, in ascending order; one may be there several times.
    frames: Vec<usize>,
    /// Frames that are drawn.
    drawn: usize,
    picture: Option<PathBuf>,
    last_step: usize,
    failed: Option<ConfigError>,
}

impl Filming {
    /// What the options ask for; an error if the scene, the file or the camera cannot.
    pub fn new(
        scene: &dyn Scene,
        options: &FilmingOptions,
        (steps, dt): (usize, f64),
    ) -> Result<Self, ConfigError> {
        let FilmingOptions { video, picture, size, fps, speed, .. } = options;
        if video.is_none() && picture.is_none() {
            return refuse_alone(options).map(|()| Filming(None));
        }
        if let (None, Some(flag)) = (video, fps.map(|_| "--fps").or(speed.map(|_| "--speed"))) {
            return Err(ConfigError::new(format!("{flag} is for videos; add --video FILE")));
        }
        let positive = |flag: &str, value: Option<f64>, default: f64| match value.unwrap_or(default) {
            x if x > 0.0 && x.is_finite() => Ok(x),
            x => Err(ConfigError::new(format!("{flag} must be positive, got {x}"))),
        };
        let (fps, speed) = (positive("--fps", *fps, FPS)?, positive("--speed", *speed, 1.0)?);
        if let Some(path) = video {
            Format::of(path).map_err(refused)?;
        }
        if let Some(path) = picture.as_ref().filter(|p| p.extension().is_none_or(|e| e != "png")) {
            return Err(ConfigError::new(format!("--picture {}: pictures are .png files", path.display())));
        }

        let depict = depict(scene)?;
        let choice = choice(options)?;
        let wanted = PictureOptions { camera: choice, size: *size };
        let size = wanted.size_of(depict.as_ref()).map_err(refused)?;
        let frames = frames(steps, dt, fps / speed)?;
        let writer = |path: &PathBuf| {
            let writer = VideoWriter::create(path, size, fps, frames.len()).map_err(refused)?;
            Ok::<_, ConfigError>((path.clone(), writer))
        };
        let video = video.as_ref().map(writer).transpose()?;
        print_notes(depict.notes());
        Ok(Filming(Some(Camera {
            depict,
            choice: wanted.camera,
            size,
            frames: if video.is_some() { frames } else { Vec::new() },
            video,
            drawn: 0,
            picture: picture.clone(),
            last_step: steps,
            failed: None,
        })))
    }

    /// Draws the state of a step if it is wanted.
    pub fn see(&mut self, step: usize, at: Point<'_, f64>) {
        let Some(camera) = &mut self.0 else { return };
        if camera.failed.is_none() {
            camera.failed = camera.see(step, at).err();
        }
    }

    /// Ends the files; their names.
    pub fn finish(self) -> Result<Vec<PathBuf>, ConfigError> {
        let Some(Camera { video, picture, failed, .. }) = self.0 else { return Ok(Vec::new()) };
        if let Some(error) = failed {
            return Err(error);
        }
        let mut files = Vec::new();
        if let Some((path, writer)) = video {
            writer.finish().map_err(refused)?;
            files.push(path);
        }
        files.extend(picture);
        Ok(files)
    }
}

impl Camera {
    fn see(&mut self, step: usize, at: Point<'_, f64>) -> Result<(), ConfigError> {
        let times = self.frames[self.drawn..].iter().take_while(|frame| **frame == step).count();
        let picture = self.picture.as_ref().filter(|_| step == self.last_step);
        if times == 0 && picture.is_none() {
            return Ok(());
        }
        let bitmap = self.depict.picture(at, &self.choice, self.size).map_err(refused)?;
        if let Some((_, writer)) = &mut self.video {
            (0..times).try_for_each(|_| writer.add(&bitmap)).map_err(refused)?;
            self.drawn += times;
        }
        picture.map_or(Ok(()), |path| save_png(path, &bitmap).map_err(refused))
    }
}

/// Steps of the frames: those nearest to the moments k / rate.
fn frames(steps: usize, dt: f64, rate: f64) -> Result<Vec<usize>, ConfigError> {
    let count = (steps as f64 * dt * rate).floor() + 1.0;
    if count > MOST_FRAMES {
        return Err(ConfigError::new(format!(
            "the video would have {count:e} frames: lower --fps or --time"
        )));
    }
    Ok((0..count as usize).map(|k| ((k as f64 / (rate * dt)).round() as usize).min(steps)).collect())
}

/// The camera that the options ask for.
fn choice(options: &FilmingOptions) -> Result<CameraChoice, ConfigError> {
    let FilmingOptions { azimuth, elevation, distance, lookat, .. } = options;
    let moved = azimuth.or(*elevation).or(*distance).is_some() || lookat.is_some();
    if let Some(d) = distance.filter(|d| !(*d > 0.0 && d.is_finite())) {
        return Err(ConfigError::new(format!("--distance must be positive, got {d}")));
    }
    match &options.camera {
        Some(name) if name != "free" && moved => Err(ConfigError::new(format!(
            "--azimuth, --elevation, --distance and --lookat move the free camera, not `{name}`; drop --camera"
        ))),
        Some(name) if name != "free" => Ok(CameraChoice::Named(name.clone())),
        None if !moved => Ok(CameraChoice::Default),
        _ => Ok(CameraChoice::Free {
            azimuth: *azimuth,
            elevation: *elevation,
            distance: *distance,
            lookat: lookat.map(|Place(at)| at),
        }),
    }
}

/// Refuses choices for pictures where none is asked for.
fn refuse_alone(options: &FilmingOptions) -> Result<(), ConfigError> {
    let FilmingOptions { camera, azimuth, elevation, distance, lookat, size, fps, speed, .. } = options;
    let given = [
        (camera.is_some(), "--camera"),
        (azimuth.is_some(), "--azimuth"),
        (elevation.is_some(), "--elevation"),
        (distance.is_some(), "--distance"),
        (lookat.is_some(), "--lookat"),
        (size.is_some(), "--size"),
        (fps.is_some(), "--fps"),
        (speed.is_some(), "--speed"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, flag)) => {
            Err(ConfigError::new(format!("{flag} is for pictures; add --video FILE or --picture FILE")))
        }
    }
}

fn refused(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(error.to_string())
}
