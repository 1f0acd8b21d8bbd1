//! Mass, elasticity and friction together from videos of bodies that fall and slide (gradSim Table 2).
//!
//! A known impulse tells the mass: without it the motion depends on the ratios of the constants to the mass alone. The body
//! lands while it slides, comes to rest against friction, and so tells μ by how it slows down and kf by how it creeps at
//! last. What a video of 8-bit pixels cannot tell is named by the errors of a fit to it.

use pullback_core::random::Random;
use pullback_math::{Quat, Vec3};
use pullback_optim::least_squares::{Laplace, Place, laplace};
use pullback_plot::{Section, Table, compact};
use pullback_render::shapes::{self, cuboid};
use pullback_render::{Material, Mesh, Paint};
use pullback_tasks::Goal;
use pullback_video::Pixels;
use serde::{Deserialize, Serialize};

use super::fit::{EXACT, Found, STEPS, frame_by_frame, gauss_newton, rounded};
use super::states::States;
use super::toss::{FRAMES, Ground, Look, Start, Toss, anywhere, centered};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// Names of the parameters after the mass, symbols, and the paper's errors from video and from states.
const QUANTITIES: [(&str, &str, f64, f64); 5] = [
    ("mass", "mass", 2.87e-4, 1.70e-8),
    ("contact.damping", "kd", 0.4, 0.036),
    ("contact.stiffness", "ke", 0.0026, 0.0020),
    ("contact.friction_slope", "kf", 0.0017, 0.0007),
    ("*.friction", "mu", 0.0073, 0.0107),
];
/// Ranges of appendix G.
const RANGE: (f64, f64) = (1.0, 500.0);
const FRICTION: (f64, f64) = (0.2, 1.0);
const DENSITY: (f64, f64) = (2.0, 12.0);
/// Searches go so far beyond the ranges.
const BOUNDS: [(&str, (f64, f64)); 4] = [
    ("contact.damping", (0.2, 2500.0)),
    ("contact.stiffness", (0.2, 2500.0)),
    ("contact.friction_slope", (0.2, 2500.0)),
    ("*.friction", (0.04, 5.0)),
];
/// Steps of the simulation per frame.
const SUBSTEPS: usize = 32;
/// Every so many frames one is compared.
const EVERY: usize = 3;
/// Of these, how many each stage of a fit sees.
const STAGES: [usize; 6] = [2, 4, 6, 9, 13, FRAMES / EVERY];
/// Standard deviation of rounding to eight bits.
const ROUNDING: f64 = 1.0 / 255.0 / 3.464_101_615_137_754;
/// A mean square of pixels below this is near the truth in all but kf.
const MET: f64 = 1e-9;
/// Place of kf among the quantities, and values of it that are tried.
const CREEP: usize = 3;
const CREEPS: usize = 10;
/// A quantity whose error is larger than this part of it is not told.
const TOLD: f64 = 0.1;

/// What was found of one body.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Instance {
    truth: Vec<f64>,
    guess: Vec<f64>,
    video: Found,
    states: Found,
    /// From pixels of eight bits: values, their relative errors, and combinations that are not told.
    rounded: Vec<f64>,
    errors: Vec<Option<f64>>,
    untold: Vec<String>,
}

/// Meshes of few vertices.
fn mesh(seed: usize) -> Mesh {
    match seed % 5 {
        0 => cuboid(Vec3::new(1.1, 1.0, 0.8)),
        1 => shapes::prism(6, 0.6, 0.8),
        2 => shapes::frustum(4, 0.7, 0.3, 0.9),
        3 => shapes::cross(0.7, 0.3, 0.5),
        _ => shapes::star(5, 0.7, 0.35, 0.5),
    }
}

fn draw(seed: usize, pixels: usize) -> Result<(Toss, Vec<f64>), ExperimentError> {
    let mut random = Random::stream(5, &[seed as u64]);
    let mesh = centered(&mesh(seed));
    let mut within = |(low, high): (f64, f64)| random.uniform(low, high);
    let ground = Ground { kd: within(RANGE), ke: within(RANGE), kf: within(RANGE), mu: within(FRICTION) };
    let density = within(DENSITY);
    let middle = 0.5 * (DENSITY.0 + DENSITY.1) * mesh.volume();
    let side = if within((0.0, 1.0)) < 0.5 { -1.0 } else { 1.0 };
    let (speed, push) = (within((0.5, 1.0)), within((0.5, 0.9)));
    let small = anywhere(&mut random, 0.12);
    let start = Start {
        position: Vec3::new(-1.5 * side, 0.3, 1.3) + small,
        orientation: Quat::from_parts(1.0, small).normalize(),
        velocity: Vec3::new(speed * side, small.y, 0.3),
        spin: small * 2.0,
        impulse: Vec3::new(side, 0.2, 0.3) * (push * middle),
        twist: anywhere(&mut random, 0.03) * middle,
    };
    let faces = mesh.topology.faces.len();
    let color = |i: usize| Vec3::new(0.9, 0.25 + 0.5 * (i / 2 % 4) as f64 / 3.0, 0.15);
    let paint = Paint::Faces((0..faces).map(color).collect());
    let look = Look { paint, material: Material::matt(), pixels };
    let toss = Toss::new(&mesh, density, &start, Some(ground), &look, SUBSTEPS)?;
    let truth = vec![toss.mass, ground.kd, ground.ke, ground.kf, ground.mu];
    Ok((toss, truth))
}

fn frames() -> Vec<usize> {
    (1..=FRAMES / EVERY).map(|k| EVERY * k).collect()
}

fn instance(seed: usize, pixels: usize, starts: usize) -> Result<Instance, ExperimentError> {
    let (toss, truth) = draw(seed, pixels)?;
    let volume = centered(&mesh(seed)).volume();
    let asked = ((0.2 * DENSITY.0 * volume, 5.0 * DENSITY.1 * volume), &BOUNDS[..]);
    let video = toss.film(&toss.inputs, &frames())?;

    // The lowest of several guesses from the ranges.
    let mut best: Option<(Vec<f64>, Found)> = None;
    for start in 0..starts {
        let mut random = Random::stream(6, &[seed as u64, start as u64]);
        let mut log = |(low, high): (f64, f64)| random.uniform(f64::ln(low), f64::ln(high)).exp();
        let wide = (20.0, 500.0);
        let guess = vec![volume * log(DENSITY), log(wide), log(wide), log(wide), log(FRICTION)];
        let found = frame_by_frame(&toss, asked, &video, &STAGES, &guess, Pixels::default());
        let Ok(found) = found else { continue };
        if best.as_ref().is_none_or(|(_, b)| found.loss < b.loss) {
            best = Some((guess, found));
        }
        if best.as_ref().is_some_and(|(_, b)| b.loss < MET) {
            break;
        }
    }
    let (guess, mut video_fit) = best.ok_or_else(|| {
        pullback_core::ConfigError::new(format!("no guess of body {seed} can be simulated"))
    })?;
    // Creep against friction shows little: valleys along kf are flat, and have more than one floor.
    let exact = toss.video_problem(toss.map(asked.0, asked.1)?, video.clone(), Pixels::default())?;
    for k in 0..CREEPS {
        if video_fit.loss < EXACT {
            break;
        }
        let mut start = video_fit.values.clone();
        start[CREEP] = RANGE.0 * (RANGE.1 / RANGE.0).powf((k as f64 + 0.5) / CREEPS as f64);
        let Ok(found) = gauss_newton(&exact, &start, STEPS) else { continue };
        if found.loss < video_fit.loss {
            let path = [&video_fit.path[..], &found.path[1..]].concat();
            video_fit = Found { path, steps: video_fit.steps + found.steps, ..found };
        }
    }

    let states = States::of(&toss, &frames())?;
    let residuals = states.residual_count();
    let problem = toss.problem(toss.map(asked.0, asked.1)?, states, FRAMES, residuals);
    let states = gauss_newton(&problem, &video_fit.values, 100)?;

    let pixels = Pixels { noise: ROUNDING, ..Pixels::default() };
    let problem =
        toss.video_problem(toss.map(asked.0, asked.1)?, rounded(&video), pixels)?.with_known_noise();
    let fit = gauss_newton(&problem, &video_fit.values, 20)?;
    let at = Place::new(&problem, fit.values.iter().map(|x| x.ln()).collect());
    let Laplace { estimates, untold, .. } = laplace(&problem, &at)?;
    let errors = estimates.iter().map(|e| e.error.map(|error| error.error / e.value)).collect();
    let untold = untold.into_iter().map(|u| u.words).collect();
    Ok(Instance { truth, guess, video: video_fit, states, rounded: fit.values, errors, untold })
}

/// Table 2.
pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let (count, pixels) = (setting.seeds(20, 3), setting.size(128, 64));
    let starts = setting.size(12, 6);
    let mut exhibit = Exhibit::default();
    let instances = (0..count)
        .map(|seed| setting.part(&format!("contact {seed} {pixels}"), || instance(seed, pixels, starts)))
        .collect::<Result<Vec<_>, _>>()?;

    let mut rows = Vec::new();
    for (q, (_, name, paper, paper_states)) in QUANTITIES.into_iter().enumerate() {
        let told = |i: &&Instance| i.errors[q].is_some_and(|error| error < TOLD);
        let of_told: Vec<&Instance> = instances.iter().filter(told).collect();
        let mean = |found: &dyn Fn(&Instance) -> f64| {
            let off = |i: &&Instance| (found(i) / i.truth[q] - 1.0).abs();
            of_told.iter().map(off).sum::<f64>() / of_told.len().max(1) as f64
        };
        let video = mean(&|i| i.video.values[q]);
        let case = format!("contact, {name}");
        exhibit.row(&case, "mean relative error, video", (video, "1"), Some(paper));
        exhibit.row(&case, "mean relative error, 8-bit video", (mean(&|i| i.rounded[q]), "1"), None);
        let states = mean(&|i| i.states.values[q]);
        exhibit.row(&case, "mean relative error, states (3D supervision)", (states, "1"), Some(paper_states));
        exhibit.row(&case, "mean relative error, guess", (mean(&|i| i.guess[q]), "1"), None);
        exhibit.row(&case, "videos that tell it", (of_told.len() as f64, "1"), None);
        exhibit.goal(Goal::at_most(format!("{name} from video: mean relative error"), video, paper));
        for (seed, one) in instances.iter().enumerate() {
            let error = one.errors[q].map_or("cannot be told".into(), |e| compact(e, 2));
            rows.push(vec![
                seed.to_string(),
                name.into(),
                compact(one.truth[q], 5),
                compact(one.guess[q], 4),
                compact(one.video.values[q], 6),
                compact(one.rounded[q], 5),
                error,
            ]);
        }
    }
    for (seed, one) in instances.iter().enumerate() {
        for (q, error) in one.errors.iter().enumerate() {
            let name = QUANTITIES[q].1;
            match error {
                Some(error) if *error < TOLD => {}
                Some(error) => exhibit
                    .note(format!("Body {seed}: 8-bit pixels tell {name} to {:.0} % only.", 100.0 * error)),
                None => exhibit.note(format!("Body {seed}: {name} cannot be told from 8-bit pixels.")),
            }
        }
        for words in &one.untold {
            exhibit.note(format!("Body {seed}: {words}."));
        }
    }
    exhibit.note(format!(
        "Contact: {count} videos of bodies that fall, bounce and slide; a law at every vertex with damping in proportion to \
         depth, of which kd is the factor. Errors are means over the videos of which 8-bit pixels tell the quantity to \
         {:.0} %; the ConvLSTM is not reproduced.",
        100.0 * TOLD
    ));
    let header = ["body", "quantity", "truth", "guess", "found", "found of 8 bits", "its relative error"];
    let section = Section::new("Contact parameters from videos").table(Table {
        caption: "Truth, guess and fit of every body.".into(),
        header: header.map(String::from).to_vec(),
        rows,
    });
    let mut sheet = Sheet::new();
    for (seed, one) in instances.iter().enumerate().take(3) {
        let (toss, _) = draw(seed, pixels)?;
        for values in [&one.truth, &one.guess, &one.video.values] {
            let video = toss.film(&toss.with(values, &BOUNDS)?, &frames())?;
            sheet = sheet.with_row(video.iter().step_by(3).map(|frame| &frame.image));
        }
    }
    let section = exhibit.sheet(
        section,
        "contact-videos",
        &sheet,
        (
            "Each body in three rows: the video given, that of the guess, and that of the parameters found.",
            "Rows of frames of a body that falls and slides.",
        ),
    )?;
    exhibit.section(section);
    Ok(exhibit)
}
