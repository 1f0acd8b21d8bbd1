//! [`identify`]: fits that find the noise of each channel too, and what the result looks like beside the data.
//!
//! Channels have different units and different noise. Where the noise is not given, the first fit weighs each channel by its
//! spread; then the noise is taken from the residuals of each channel and the fit goes on from there, until the noise
//! no longer changes (feasible generalized least squares).

use std::path::PathBuf;

use pullback_core::{ConfigError, StepError};
use pullback_optim::least_squares::{
    Channel, FitError, FitLog, FitMethod, FitSettings, Fitted, LeastSquares, Place, StartResult, fit,
    residuals,
};
use pullback_optim::{Failures, RunName};
use serde::Serialize;
use thiserror::Error;

use super::setup::Setup;
use crate::scene::Scene;

/// An identification that could not be carried out.
#[derive(Debug, Error)]
pub enum IdentifyError {
    /// Settings that make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The result cannot be simulated.
    #[error(transparent)]
    Step(#[from] StepError),
}

/// How a fit is carried out.
pub struct RunSettings<'a> {
    /// The method.
    pub method: &'a FitMethod,
    /// Starts of the first fit.
    pub starts: usize,
    /// Seed of all but the first.
    pub seed: u64,
    /// Simulations of a search per start.
    pub budget: usize,
    /// Folder for logs, and what they are about but for the data.
    pub log: Option<(PathBuf, RunName)>,
}

/// How well a channel is met.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelReport {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Measured values.
    pub samples: usize,
    /// Standard deviation of the measured values.
    pub spread: f64,
    /// Root mean square of simulated less measured, at the start and at the end.
    pub misfit: (Option<f64>, f64),
    /// Standard deviation that the residuals were divided by.
    pub noise: f64,
    /// Whether that was given.
    pub given: bool,
    /// Correlation of residuals that follow each other; near 0 where they are noise.
    pub autocorrelation: f64,
}

/// A channel of a recording over time.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Which channel.
    pub channel: usize,
    /// Time, measured and simulated value; of an orientation 0 and the angle between both.
    pub points: Vec<(f64, f64, f64)>,
}

/// What was found.
pub struct Identified {
    /// The quantities and their errors.
    pub fitted: Fitted,
    /// How well each channel is met.
    pub channels: Vec<ChannelReport>,
    /// Curves of every recording.
    pub curves: Vec<Vec<Curve>>,
    /// Fits after the first, in which the noise was found.
    pub rounds: usize,
}

/// Fits at most, after the first.
const ROUNDS: usize = 6;
/// Noise that changes by less than this part is found.
const SETTLED: f64 = 0.01;
/// No noise is taken to be less than this part of a channel's spread.
const LEAST_NOISE: f64 = 1e-6;

/// Finds what `setup` asks for; `watch` sees the round, the number of a start, its steps and its cost, from any thread.
pub fn identify(
    scene: &dyn Scene,
    setup: &Setup,
    settings: &RunSettings<'_>,
    watch: &(dyn Fn(usize, usize, usize, f64) + Sync),
) -> Result<Identified, IdentifyError> {
    let mut noise: Vec<f64> = setup.channels.iter().map(|c| c.noise.unwrap_or(c.spread)).collect();
    // All starts belong to the first fit.
    let (mut resumed, mut searched, mut failures) = (0, 0, Failures::default());
    let (mut rounds, mut from, mut first) = (0, None, None::<(Vec<StartResult>, usize)>);
    let (fitted, problem) = loop {
        let problem = scene.residuals(setup.motion(noise.clone()))?;
        let log = settings.log.as_ref().map(|(folder, name)| {
            let stage = if rounds == 0 { "fit".to_owned() } else { format!("fit-noise-{rounds}") };
            FitLog::new(folder, stage, name.clone().with_inputs([setup.data()]))
        });
        let fit_settings = FitSettings {
            method: settings.method,
            starts: if rounds == 0 { settings.starts } else { 1 },
            seed: settings.seed,
            budget: settings.budget,
            from: from.take(),
            log,
        };
        let found =
            fit(problem.as_ref(), &fit_settings, &|start, steps, cost| watch(rounds, start, steps, cost))?;
        let (starts, best) = first.get_or_insert_with(|| (found.starts.clone(), found.best)).clone();
        resumed += found.resumed;
        failures.add(&found.failures);
        searched += found.searched;
        let found = Fitted { starts, best, resumed, failures: failures.clone(), searched, ..found };
        let misfits = misfits(problem.as_ref(), setup, &noise, &found)?;
        let next: Vec<f64> = setup
            .channels
            .iter()
            .zip(&misfits)
            .map(|(c, misfit)| c.noise.unwrap_or(misfit.max(LEAST_NOISE * c.spread)))
            .collect();
        let settled = noise.iter().zip(&next).all(|(a, b)| (a / b - 1.0).abs() <= SETTLED);
        if settled || rounds == ROUNDS {
            break (found, problem);
        }
        from = Some(found.at.clone());
        noise = next;
        rounds += 1;
    };
    let start = problem.unknowns().iter().map(|u| u.start()).collect();
    let start = Place::new(problem.as_ref(), start);
    let before = residuals(problem.as_ref(), &start).ok().map(|r| by_channel(setup, &noise, &r));
    let after = residuals(problem.as_ref(), &fitted.at)?;
    let misfit = by_channel(setup, &noise, &after);
    let curves = curves(setup, &noise, &after);
    let channels = setup.channels.iter().enumerate().map(|(c, info)| ChannelReport {
        name: info.name.clone(),
        unit: info.unit.clone(),
        samples: curves
            .iter()
            .flatten()
            .filter(|curve| curve.channel == c)
            .map(|curve| curve.points.len())
            .sum(),
        spread: info.spread,
        misfit: (before.as_ref().map(|b| b[c]).filter(|x| x.is_finite()), misfit[c]),
        noise: noise[c],
        given: info.noise.is_some(),
        autocorrelation: autocorrelation(setup, &noise, &after, c),
    });
    let channels = channels.collect();
    Ok(Identified { fitted, channels, curves, rounds })
}

fn misfits(
    problem: &dyn LeastSquares,
    setup: &Setup,
    noise: &[f64],
    found: &Fitted,
) -> Result<Vec<f64>, StepError> {
    Ok(by_channel(setup, noise, &residuals(problem, &found.at)?))
}

/// Root mean square of each channel in its own unit, over all recordings.
fn by_channel(setup: &Setup, noise: &[f64], residuals: &[Vec<f64>]) -> Vec<f64> {
    let recorded = setup.recorded(noise.to_vec());
    let (mut squares, mut counts) = (vec![0.0; noise.len()], vec![0usize; noise.len()]);
    for (part, r) in residuals.iter().enumerate() {
        for (row, sample) in recorded.samples(part) {
            let count = recorded.channels()[sample.channel].residuals();
            squares[sample.channel] += r[row..row + count].iter().map(|x| x * x).sum::<f64>();
            counts[sample.channel] += count;
        }
    }
    (0..noise.len()).map(|c| noise[c] * (squares[c] / counts[c].max(1) as f64).sqrt()).collect()
}

/// Measured and simulated values at the measured times.
fn curves(setup: &Setup, noise: &[f64], residuals: &[Vec<f64>]) -> Vec<Vec<Curve>> {
    let recorded = setup.recorded(noise.to_vec());
    let of_part = |(part, r): (usize, &Vec<f64>)| {
        let mut curves: Vec<Curve> =
            (0..noise.len()).map(|channel| Curve { channel, points: Vec::new() }).collect();
        for (row, sample) in recorded.samples(part) {
            let (time, sigma) = (setup.time(part, sample), noise[sample.channel]);
            let point = match recorded.channels()[sample.channel] {
                Channel::Output(_) => (time, sample.value[0], sample.value[0] + sigma * r[row]),
                Channel::Rotation(_) => {
                    let size = r[row..row + 3].iter().map(|x| x * x).sum::<f64>().sqrt();
                    (time, 0.0, sigma * size)
                }
            };
            curves[sample.channel].points.push(point);
        }
        curves.retain(|curve| !curve.points.is_empty());
        curves
    };
    residuals.iter().enumerate().map(of_part).collect()
}

/// Σ rᵢ rᵢ₊₁ / Σ rᵢ² over the samples of a channel, each number of an orientation by itself.
fn autocorrelation(setup: &Setup, noise: &[f64], residuals: &[Vec<f64>], channel: usize) -> f64 {
    let recorded = setup.recorded(noise.to_vec());
    let count = recorded.channels()[channel].residuals();
    let (mut products, mut squares) = (0.0, 0.0);
    for (part, r) in residuals.iter().enumerate() {
        let rows: Vec<usize> =
            recorded.samples(part).filter(|(_, s)| s.channel == channel).map(|(row, _)| row).collect();
        for k in 0..count {
            squares += rows.iter().map(|row| r[row + k] * r[row + k]).sum::<f64>();
            products += rows.windows(2).map(|pair| r[pair[0] + k] * r[pair[1] + k]).sum::<f64>();
        }
    }
    if squares > 0.0 { products / squares } else { 0.0 }
}
