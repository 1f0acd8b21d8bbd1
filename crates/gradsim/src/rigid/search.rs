//! Searches along videos that grow, from several starts.
//!
//! Two motions that begin alike drift apart, and pictures of bodies that no longer overlap tell no direction. So a search
//! sees the beginning of a video first, then more and more of it. Where the whole video is not reproduced in the end, the
//! search begins elsewhere: a video without noise says itself whether it is.

use pullback_optim::least_squares::LeastSquares;

use crate::deformable::filmed::{Fit, fit};
use crate::experiment::ExperimentError;

/// How a search proceeds.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// Numbers of frames, in ascending order.
    pub lengths: &'a [usize],
    /// Steps of Gauss-Newton at most on each length but the last, and on the last.
    pub steps: (usize, usize),
    /// Mean square of pixels below which a video is reproduced.
    pub exact: f64,
}

/// The best fit over starts, and how many were tried. `problem` poses that of the first frames of the video.
pub fn search<P: LeastSquares>(
    growth: Growth<'_>,
    starts: impl IntoIterator<Item = Vec<f64>>,
    problem: impl Fn(usize) -> Result<P, ExperimentError>,
) -> Result<(Fit, usize), ExperimentError> {
    let (mut best, mut tried) = (Fit { found: Vec::new(), losses: Vec::new() }, 0);
    for start in starts {
        let found = grow(growth, start, &problem)?;
        tried += 1;
        if best.losses.is_empty() || found.loss() < best.loss() {
            best = found;
        }
        if best.loss() <= growth.exact {
            break;
        }
    }
    Ok((best, tried))
}

fn grow<P: LeastSquares>(
    growth: Growth<'_>,
    start: Vec<f64>,
    problem: impl Fn(usize) -> Result<P, ExperimentError>,
) -> Result<Fit, ExperimentError> {
    let mut found = Fit { found: start, losses: Vec::new() };
    for (i, frames) in growth.lengths.iter().enumerate() {
        let last = i + 1 == growth.lengths.len();
        let steps = if last { growth.steps.1 } else { growth.steps.0 };
        found = fit(&problem(*frames)?, &found.found, steps)?;
    }
    Ok(found)
}

impl Fit {
    /// Mean square of the residuals at the end.
    pub fn loss(&self) -> f64 {
        self.losses.last().copied().unwrap_or(f64::INFINITY)
    }
}
