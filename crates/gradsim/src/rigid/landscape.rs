//! The loss of a cube's video over its mass (gradSim Fig. 4 left), and over how many frames are compared (Fig. 12).

use pullback_math::{Quat, Vec3};
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::shapes::cuboid;
use pullback_tasks::Goal;
use pullback_video::Frame;
use rayon::prelude::*;

use super::object::{Filming, MASS, Object, Push, Start, Throw, Thrown};
use crate::deformable::pictures::square;
use crate::deformable::shots::{every, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};

/// True mass and range of masses, kg.
const TRUTH: f64 = 1.0;
const RANGE: (f64, f64) = (0.1, 5.0);
/// Force on each of two corners, N, for the first frame: an impulse.
const FORCE: f64 = 10.0;
/// Steps of 1/60 s between frames, and frames.
const STRIDE: usize = 2;
const FRAMES: usize = 20;
const PIXELS: usize = 64;

/// Frames that are compared: a name, how many the video has, and those of them that count (from 1).
type Choice = (&'static str, fn(usize) -> bool);
const CHOICES: [Choice; 5] = [
    ("all 20 frames", |_| true),
    ("every second", |n| n % 2 == 0),
    ("every fifth", |n| n % 5 == 0),
    ("the first 10", |n| n <= 10),
    ("first and last", |n| n == 1 || n == FRAMES),
];

fn cube() -> Result<Thrown, ExperimentError> {
    let object = Object::new(&cuboid(Vec3::new(1.0, 1.0, 1.0)), Vec3::new(1.0, 1.0, 1.0))?;
    let start = Start {
        position: Vec3::new(-1.5, 0.0, 0.0),
        orientation: Quat::identity(),
        velocity: Vec3::zero(),
        spin: Vec3::zero(),
    };
    // Two opposite corners, whose torques cancel.
    let push = Push { force: Vec3::new(2.0 * FORCE, 0.0, 0.0), arm: Vec3::zero(), steps: (0, STRIDE) };
    let throw = Throw { object: &object, start, pushes: vec![push], ground: false };
    let steps = STRIDE * FRAMES;
    let shot = orbit(Vec3::zero(), 8.0, std::f64::consts::FRAC_PI_6, PIXELS);
    Thrown::new(&throw, Filming { steps: (steps, 1), shot, frames: every(STRIDE, steps) })
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let points = setting.size(393, 99);
    let thrown = cube()?;
    let film = |mass: f64| thrown.filmed.film(&thrown.inputs(&[MASS], &[mass])?);
    let target = film(TRUTH)?;
    let place = |i: usize| RANGE.0 + (RANGE.1 - RANGE.0) * i as f64 / (points - 1) as f64;
    let losses = setting.part(&format!("landscape of {points} masses"), || {
        let of_frames = |video: Vec<Frame>| -> Vec<f64> {
            video.iter().zip(&target).map(|(a, b)| square(&a.image, &b.image)).collect()
        };
        (0..points)
            .into_par_iter()
            .map(|i| Ok(of_frames(film(place(i))?)))
            .collect::<Result<Vec<Vec<f64>>, ExperimentError>>()
    })?;

    let (mut exhibit, mut series) = (Exhibit::default(), Vec::new());
    for (color, (name, counts)) in CHOICES.into_iter().enumerate() {
        let chosen: Vec<usize> = (0..FRAMES).filter(|i| counts(i + 1)).collect();
        let mean = |frames: &Vec<f64>| chosen.iter().map(|i| frames[*i]).sum::<f64>() / chosen.len() as f64;
        let curve: Vec<f64> = losses.iter().map(mean).collect();
        let case = format!("landscape of mass, {name}");
        let minima = minima(&curve);
        exhibit.row(&case, "local minima", (minima.len() as f64, "1"), Some(1.0));
        let lowest = (0..points).min_by(|a, b| curve[*a].total_cmp(&curve[*b])).unwrap_or(0);
        exhibit.row(&case, "mass of the lowest loss", (place(lowest), "kg"), Some(TRUTH));
        exhibit.goal(Goal::at_most(format!("{case}: local minima"), minima.len() as f64, 1.0));
        series.push(Series::new(name, color, curve.iter().enumerate().map(|(i, x)| (place(i), *x)).collect()));
    }
    let panel = |title: &str, log_x: bool, series: Vec<Series>| LinePanel {
        title: title.into(),
        x_label: "mass (kg)".into(),
        y_label: "mean square of pixels".into(),
        series,
        log_x,
        ..LinePanel::default()
    };
    let all = vec![Series { label: String::new(), ..series[0].clone() }];
    let panels = [panel("All frames", false, all), panel("More and fewer frames", true, series)];
    let figure = Figure::grid("", 2, panels.into_iter().map(Into::into).collect());
    let caption = "The mean square of the pixels of a pushed cube's video over its mass; the true mass is 1 kg. Left as Fig. 4, right as Fig. 12.";
    let alt = "Curves with one valley at 1 kg.";
    let section = Section::new("The landscape of mass");
    let section = exhibit.figure(section, "landscape-mass", &figure, (caption, alt))?;
    exhibit.section(section);
    exhibit.note(format!(
        "Landscape of mass: a cube of 1 m and 1 kg in free space, 10 N on two opposite corners for 1/30 s, {FRAMES} frames at \
         30 Hz of {PIXELS} x {PIXELS} pixels, {points} masses.",
    ));
    Ok(exhibit)
}

/// Places that are lower than both neighbors; the ends are none.
fn minima(curve: &[f64]) -> Vec<usize> {
    (1..curve.len() - 1).filter(|i| curve[*i] < curve[i - 1] && curve[*i] < curve[i + 1]).collect()
}
