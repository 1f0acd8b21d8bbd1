//! The loss of a video over the mass of a cube (gradSim Fig. 4 left), and how it depends on the length of the video (Fig. 12).

use pullback_math::{Quat, Vec3};
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::shapes::cuboid;
use pullback_render::{Material, Paint};
use pullback_tasks::Goal;
use pullback_video::Frame;
use rayon::prelude::*;

use super::fit::mean_square;
use super::toss::{FRAMES, Look, Start, Toss, centered};
use crate::experiment::{Exhibit, ExperimentError, Setting};

/// True mass and range, kg.
const TRUTH: f64 = 2.0;
const RANGE: (f64, f64) = (0.1, 5.0);
/// Steps of the video, and the force on each of two corners (gradSim's code), N.
const STEPS: usize = 20;
const FORCE: f64 = 10.0;

/// A cube of 1 m that is pushed at two corners.
fn cube(pixels: usize) -> Result<Toss, ExperimentError> {
    let mesh = centered(&cuboid(Vec3::new(1.0, 1.0, 1.0)));
    let start = Start {
        position: Vec3::new(-1.5, 0.0, 0.0),
        orientation: Quat::identity(),
        velocity: Vec3::zero(),
        spin: Vec3::zero(),
        impulse: Vec3::zero(),
        twist: Vec3::zero(),
    };
    let paint = Paint::Uniform(Vec3::new(0.9, 0.55, 0.15));
    let mut toss =
        Toss::new(&mesh, TRUTH, &start, None, &Look { paint, material: Material::matt(), pixels }, 1)?;
    // Two corners of the left side, pushed to the right; those in front, so that the cube turns.
    let (force, twist) = (Vec3::new(2.0 * FORCE, 0.0, 0.0), Vec3::new(0.0, 0.0, 0.1 * FORCE));
    let controls = toss.inputs.controls.len() / FRAMES;
    for control in toss.inputs.controls.chunks_exact_mut(controls).take(STEPS) {
        control.copy_from_slice(&[force.x, force.y, force.z, twist.x, twist.y, twist.z]);
    }
    Ok(toss)
}

/// Numbers of the frames of each video: first and last, then more.
fn videos() -> Vec<(&'static str, Vec<usize>)> {
    let every = |n: usize| (0..=STEPS).step_by(n).collect();
    vec![
        ("first and last frame", vec![0, STEPS]),
        ("5 frames", every(5)),
        ("11 frames", every(2)),
        ("21 frames", every(1)),
    ]
}

/// Figs. 4 left and 12.
pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let (points, pixels) = (setting.size(491, 99), setting.size(128, 64));
    let toss = cube(pixels)?;
    let all: Vec<usize> = (0..=STEPS).collect();
    let target = toss.film(&toss.inputs, &all)?;
    let place = |i: usize| RANGE.0 + (RANGE.1 - RANGE.0) * i as f64 / (points - 1) as f64;
    let losses = setting.part(&format!("landscape of mass, {points} points {pixels}"), || {
        let one = |i: usize| {
            let video = toss.film(&toss.with_mass(place(i)), &all)?;
            let of = |frames: &[usize]| {
                let pick = |all: &[Frame]| frames.iter().map(|k| all[*k].clone()).collect::<Vec<_>>();
                mean_square(&pick(&video), &pick(&target))
            };
            Ok(videos().iter().map(|(_, frames)| of(frames)).collect())
        };
        (0..points).into_par_iter().map(one).collect::<Result<Vec<Vec<f64>>, ExperimentError>>()
    })?;

    let mut exhibit = Exhibit::default();
    let mut series = Vec::new();
    for (k, (name, frames)) in videos().into_iter().enumerate() {
        let curve: Vec<f64> = losses.iter().map(|of| of[k]).collect();
        let minima = minima(&curve);
        let case = format!("landscape of mass, {name}");
        exhibit.row(&case, "local minima", (minima.len() as f64, "1"), Some(1.0));
        let lowest = (0..points).min_by(|a, b| curve[*a].total_cmp(&curve[*b])).unwrap_or(0);
        exhibit.row(&case, "lowest at", (place(lowest), "kg"), Some(TRUTH));
        // Where the cube has left the view of a frame, that frame says nothing: only the whole video is asked for one minimum.
        if frames.len() == STEPS + 1 {
            exhibit.goal(Goal::at_most(format!("{case}: local minima"), minima.len() as f64, 1.0));
        }
        series.push(Series::new(name, k, curve.iter().enumerate().map(|(i, x)| (place(i), *x)).collect()));
    }
    let panel = LinePanel {
        x_label: "mass (kg)".into(),
        y_label: "mean square of pixels".into(),
        series,
        ..LinePanel::default()
    };
    let section = exhibit.figure(
        Section::new("The landscape of a mass"),
        "landscape-mass",
        &Figure::single(panel.into()),
        ("Mean square of pixels over the mass of a cube whose true mass is 2 kg, for videos of different lengths.",
         "Curves with one minimum at 2 kg; steeper for shorter videos."),
    )?;
    exhibit.section(section);
    Ok(exhibit)
}

/// Points lower than their neighbors, ends left out.
fn minima(curve: &[f64]) -> Vec<usize> {
    (1..curve.len() - 1).filter(|i| curve[*i] < curve[i - 1] && curve[*i] < curve[i + 1]).collect()
}
