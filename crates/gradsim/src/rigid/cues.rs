//! What of a picture tells a mass: color alone, shading, texture (gradSim Fig. 7).

use pullback_core::random::Random;
use pullback_math::Vec3;
use pullback_optim::least_squares::Loss;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::shapes::SHAPES;
use pullback_render::{Material, Paint};
use pullback_video::Pixels;

use super::mass::{DENSITY, Drawn, draw_as, frames};
use super::toss::Look;
use crate::descent::{AdamRate, descend};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// Steps of Adam, and their length in the logarithm of the mass.
const STEPS: usize = 60;
const RATE: AdamRate = AdamRate::falling(0.1, 1e-2);
/// A mass that is found to this part is found.
const FOUND: f64 = 0.01;
/// Guesses are so far off.
const OFF: f64 = 1.3;

/// Looks by what they show besides the silhouette.
const CUES: [&str; 3] = ["color", "shading", "texture and shading"];

fn look(cue: usize, pixels: usize, faces: usize) -> Look {
    let mut random = Random::new(9);
    let mut color = || {
        let mut draw = || random.uniform(0.1, 0.95);
        Vec3::new(draw(), draw(), draw())
    };
    let uniform = Paint::Uniform(Vec3::new(0.9, 0.55, 0.15));
    match cue {
        0 => Look { paint: uniform, material: Material::unlit(), pixels },
        1 => Look { paint: uniform, material: Material::matt(), pixels },
        _ => Look {
            paint: Paint::Faces((0..faces).map(|_| color()).collect()),
            material: Material::matt(),
            pixels,
        },
    }
}

/// Relative errors of the mass of a body over the steps of a descent.
fn descent(seed: usize, cue: usize, pixels: usize) -> Result<Vec<f64>, ExperimentError> {
    let Drawn { toss, volume, .. } = draw_as(seed, DENSITY, |faces| look(cue, pixels, faces))?;
    let bounds = (0.2 * volume * DENSITY.0, 5.0 * volume * DENSITY.1);
    let video = toss.film(&toss.inputs, &frames())?;
    let problem = toss.video_problem(toss.map(bounds, &[])?, video, Pixels::default())?;
    let start = (toss.mass * OFF).ln();
    let loss = Loss { problem: &problem, start: vec![start] };
    let mut errors = Vec::new();
    descend(&loss, &[start], (RATE, STEPS), |_, x, _| errors.push((x[0].exp() / toss.mass - 1.0).abs()))?;
    Ok(errors)
}

/// Fig. 7.
pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let (bodies, pixels) = (setting.seeds(SHAPES.len(), 3), setting.size(128, 64));
    let mut exhibit = Exhibit::default();
    let (mut series, mut sheet) = (Vec::new(), Sheet::new());
    for (cue, name) in CUES.into_iter().enumerate() {
        let curves = (0..bodies)
            .map(|seed| setting.part(&format!("cue {name} {seed} {pixels}"), || descent(seed, cue, pixels)))
            .collect::<Result<Vec<_>, _>>()?;
        // The middle one of the bodies, so that one that is led astray does not hide the others.
        let middle = |k: usize| {
            let mut at: Vec<f64> = curves.iter().map(|curve| curve[k]).collect();
            at.sort_by(f64::total_cmp);
            at[at.len() / 2]
        };
        let errors: Vec<f64> = (0..=STEPS).map(middle).collect();
        let case = format!("mass by {name}");
        let steps = errors.iter().position(|e| *e < FOUND).unwrap_or(STEPS + 1);
        exhibit.row(&case, "steps to 1 % (median of bodies)", (steps as f64, "1"), None);
        exhibit.row(&case, "relative error at the end (median of bodies)", (errors[STEPS], "1"), None);
        series.push(Series::new(name, cue, errors.iter().enumerate().map(|(k, e)| (k as f64, *e)).collect()));
        let toss = draw_as(0, DENSITY, |faces| look(cue, pixels, faces))?.toss;
        let video = toss.film(&toss.inputs, &frames())?;
        sheet = sheet.with_row(video.iter().step_by(2).map(|frame| &frame.image));
    }
    let panel = LinePanel {
        x_label: "step of Adam".into(),
        y_label: "relative error of the mass".into(),
        series,
        log_y: true,
        ..LinePanel::default()
    };
    let section = Section::new("Cues");
    let section = exhibit.figure(section, "cues", &Figure::single(panel.into()), (
        "Relative error of the mass, median over bodies, for pictures that show color alone, shading, or texture.",
        "Three curves that fall.",
    ))?;
    let alt = "Three rows of frames.";
    let section =
        exhibit.sheet(section, "cues-videos", &sheet, ("The same motion in the three looks.", alt))?;
    exhibit.section(section);
    Ok(exhibit)
}
