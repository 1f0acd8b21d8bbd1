//! Fits of what a video shows: frames come in one after the other, so that motions that differ still overlap.

use pullback_core::StepError;
use pullback_optim::least_squares::{GaussNewton, LeastSquares};
use pullback_video::{Frame, Pixels};
use serde::{Deserialize, Serialize};

use super::toss::Toss;
use crate::experiment::ExperimentError;

/// What was found of a video.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The quantities.
    pub values: Vec<f64>,
    /// Mean square of all pixels there.
    pub loss: f64,
    /// Steps of Gauss-Newton.
    pub steps: usize,
    /// The quantities after every step.
    pub path: Vec<Vec<f64>>,
}

/// A search that ends.
pub const STEPS: usize = 30;
/// A mean square of pixels below this is round-off: nothing else is to be found.
pub const EXACT: f64 = 1e-20;

/// Gauss-Newton from a start of the quantities themselves.
pub fn gauss_newton(problem: &dyn LeastSquares, start: &[f64], steps: usize) -> Result<Found, StepError> {
    let config = GaussNewton { steps, ..GaussNewton::default() };
    let unknowns = problem.unknowns();
    let searched = |u: &pullback_optim::least_squares::Unknown, x: f64| {
        let (low, high) = u.bounds();
        u.transform.inverse(x).clamp(low, high)
    };
    let z = unknowns.iter().zip(start).map(|(u, x)| searched(u, *x)).collect();
    let mut state = config.begin(problem, z)?;
    let values = |z: &[f64]| -> Vec<f64> { unknowns.iter().zip(z).map(|(u, z)| u.eval(*z).0).collect() };
    let mut path = vec![values(&state.at.shared)];
    while state.end.is_none() {
        config.step(problem, &mut state)?;
        path.push(values(&state.at.shared));
    }
    let count = (0..problem.parts()).map(|part| problem.residual_count(part)).sum::<usize>();
    Ok(Found {
        values: values(&state.at.shared),
        loss: 2.0 * state.cost / count as f64,
        steps: state.steps,
        path,
    })
}

/// Unknowns of a toss: bounds of the mass, and names and bounds of other parameters.
pub type Asked<'a> = ((f64, f64), &'a [(&'a str, (f64, f64))]);

/// Fits the first frames, then more and more of them, up to the whole video; a start that leads astray shows early.
pub fn frame_by_frame(
    toss: &Toss,
    (mass, others): Asked<'_>,
    video: &[Frame],
    stages: &[usize],
    start: &[f64],
    pixels: Pixels,
) -> Result<Found, ExperimentError> {
    let mut all = Found { values: start.to_vec(), path: vec![start.to_vec()], ..Found::default() };
    for frames in stages {
        let seen = video[..(*frames).min(video.len())].to_vec();
        let problem = toss.video_problem(toss.map(mass, others)?, seen, pixels)?;
        let last = *frames >= video.len();
        let found = gauss_newton(&problem, &all.values, if last { STEPS } else { STEPS / 3 })?;
        all.steps += found.steps;
        all.path.extend_from_slice(&found.path[1..]);
        (all.values, all.loss) = (found.values, found.loss);
    }
    Ok(all)
}

/// Frames whose numbers are rounded to eight bits, as cameras do.
pub fn rounded(video: &[Frame]) -> Vec<Frame> {
    let round = |x: f64| (x * 255.0).round() / 255.0;
    video.iter().map(|frame| Frame { image: frame.image.map(round), ..*frame }).collect()
}

/// Mean square of the difference of two videos, over red, green, blue and coverage.
pub fn mean_square(a: &[Frame], b: &[Frame]) -> f64 {
    let mut sum = 0.0;
    let mut count = 0;
    for (a, b) in a.iter().zip(b) {
        let colors = a.image.color.iter().zip(&b.image.color).map(|(a, b)| (*a - *b).norm_squared());
        let alphas = a.image.alpha.iter().zip(&b.image.alpha).map(|(a, b)| (a - b).powi(2));
        sum += colors.sum::<f64>() + alphas.sum::<f64>();
        count += 4 * a.image.alpha.len();
    }
    sum / count.max(1) as f64
}
