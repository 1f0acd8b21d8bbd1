//! [`identify_from_video`]: fits that see more and more frames, so that motions that differ still overlap.

use pullback_core::ConfigError;
use pullback_optim::least_squares::{FitError, FitLog, FitMethod, FitSettings, Fitted, Place, fit};
use pullback_video::{Frame, VideoError};
use thiserror::Error;

use super::film::MadeFilm;
use super::run::RunSettings;

/// A video from which nothing can be found.
#[derive(Debug, Error)]
pub enum FromVideoError {
    /// Settings that make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The result cannot be filmed.
    #[error(transparent)]
    Video(#[from] VideoError),
}

/// What was found of a video.
pub struct FromVideo {
    /// The quantities and their errors; those of the last fit, which sees all frames.
    pub fitted: Fitted,
    /// The videos of the start and of what was found.
    pub start: Vec<Vec<Frame>>,
    /// The videos of what was found.
    pub found: Vec<Vec<Frame>>,
}

/// Frames of the first fit.
const FIRST: usize = 3;

/// Finds the quantities of a film; `watch` sees the stage, the number of a start, its steps and its cost, from any thread.
pub fn identify_from_video(
    film: &MadeFilm,
    settings: &RunSettings<'_>,
    watch: &(dyn Fn(usize, usize, usize, f64) + Sync),
) -> Result<FromVideo, FromVideoError> {
    let frames = film.frames.len();
    let (mut count, mut stage, mut from) = (FIRST.min(frames), 0, None::<Place>);
    let fitted = loop {
        let problem = film.residuals(count)?;
        let log = settings.log.as_ref().map(|(folder, name)| {
            FitLog::new(
                folder,
                format!("video-{stage}"),
                name.clone().with_settings(&format!("{count} frames")),
            )
        });
        let fit_settings = FitSettings {
            method: settings.method as &FitMethod,
            starts: settings.starts,
            seed: settings.seed,
            budget: settings.budget,
            from: from.take(),
            log,
        };
        let found =
            fit(problem.as_ref(), &fit_settings, &|start, steps, cost| watch(stage, start, steps, cost))?;
        if count == frames {
            break found;
        }
        from = Some(found.at);
        (count, stage) = ((2 * count).min(frames), stage + 1);
    };
    let values = |estimate: fn(&pullback_optim::least_squares::Estimate) -> f64| -> Vec<f64> {
        fitted.laplace.estimates.iter().map(estimate).collect()
    };
    let (start, found) = (film.film(&values(|e| e.start))?, film.film(&values(|e| e.value))?);
    Ok(FromVideo { fitted, start, found })
}
