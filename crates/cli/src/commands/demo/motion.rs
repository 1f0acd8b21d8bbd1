//! Robots, cloth and water in motion, as animations on the page.

use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Point};
use pullback_plot::Section;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use pullback_tasks::Scene;
use pullback_tasks::files::robot_scene;
use pullback_tasks::scenes::{self, SceneOptions};
use pullback_video::look::PictureSize;

use super::Chapter;
use crate::args::FilmingOptions;
use crate::commands::filming::Filming;
use crate::output::CliError;

/// Pixels of an animation.
const SIZE: PictureSize = PictureSize { width: 400, height: 260 };
/// Frames per second.
const FPS: f64 = 20.0;

pub fn part(_seed: u64) -> Result<Chapter, CliError> {
    let ant = parse_mjcf(pullback_models::ANT, None, &ImportOptions::default())
        .map_err(|e| ConfigError::new(e.to_string()))?;
    let ant = robot_scene("ant".into(), ant, SceneOptions::default())?;
    let built = |name: &str| scenes::build(name, SceneOptions::default());
    let section = Section::new("What moves")
        .paragraph(
            "Articulated robots with contact, soft bodies and material points, each with exact gradients in state, \
             controls and every parameter. These pictures are drawn by the engine as well.",
        )
        .image(
            film(ant.as_ref(), 2.0, 1.0)?,
            "An ant falls and stands: pullback simulate models/ant.xml.",
            "An ant of four legs on a checkered ground.",
        )
        .image(
            film(built("cloth-swing")?.as_ref(), 2.0, 1.0)?,
            "A cloth held at corners swings: pullback simulate cloth-swing.",
            "A cloth that swings.",
        )
        .image(
            film(built("fluid-tank")?.as_ref(), 0.6, 0.3)?,
            "Water by the material point method, slowed down: pullback simulate fluid-tank.",
            "Water that splashes in a tank.",
        );
    Ok(Chapter::new(None, section))
}

/// So many seconds of a scene as a GIF, at a multiple of their speed.
fn film(scene: &dyn Scene, seconds: f64, speed: f64) -> Result<Vec<u8>, CliError> {
    let steps = (seconds / scene.dt()).round() as usize;
    let layout = scene.layout();
    let (state, params) = (layout.state.defaults(), layout.params.defaults());
    let inputs = Inputs { state, controls: scene.controls(steps), params };
    let file = std::env::temp_dir().join(format!("pullback-{}-{}.gif", scene.name(), std::process::id()));
    let options = FilmingOptions {
        video: Some(file.clone()),
        size: Some(SIZE),
        fps: Some(FPS),
        speed: Some(speed),
        ..FilmingOptions::default()
    };
    let mut filming = Filming::new(scene, &options, (steps, scene.dt()))?;
    let controls = layout.control.len();
    scene.simulate(&inputs, steps, &mut |at| {
        // At the end no control is about to act; the last one is repeated.
        let control = if at.last() { &inputs.controls[(steps - 1) * controls..] } else { at.control };
        filming.see(at.step, Point { params: &inputs.params, state: at.state, control });
    })?;
    filming.finish()?;
    let wrong = |e| ConfigError::new(format!("{}: {e}", file.display()));
    let animation = std::fs::read(&file).map_err(wrong)?;
    std::fs::remove_file(&file).map_err(wrong)?;
    Ok(animation)
}
