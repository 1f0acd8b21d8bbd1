//! Masses of rigid bodies from videos (gradSim Table 1), beside descents, supervision by states, and searches without
//! gradients.

use pullback_core::random::Random;
use pullback_math::Vec3;
use pullback_optim::least_squares::Loss;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::shapes::SHAPES;
use pullback_render::{Material, Mesh, Paint};
use pullback_tasks::Goal;
use pullback_video::{Frame, Pixels};
use serde::{Deserialize, Serialize};

use super::fit::{Found, frame_by_frame, gauss_newton, rounded};
use super::reinforce::{Reinforce, reinforce};
use super::solid::Solid;
use super::states::States;
use super::toss::{FRAMES, Look, Start, Toss, anywhere, centered, turned};
use crate::descent::{AdamRate, descend};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// Densities, kg/m³ (gradSim G).
pub(super) const DENSITY: (f64, f64) = (2.0, 12.0);
/// Frames that are compared: every fifth (gradSim's code).
const EVERY: usize = 5;
/// Of these, how many each stage of a fit sees.
const STAGES: [usize; 3] = [2, 5, FRAMES / EVERY];
/// Steps of the descent, and the length of the first and of the last, in the logarithm of the mass.
const DESCENT: (usize, AdamRate) = (80, AdamRate::falling(0.1, 1e-4));
/// Tiny masses, kg; of each the range is as wide as that of the densities.
const TINY: (f64, f64) = (1e-3, 0.1);
/// A mean square of pixels below this is that of the truth.
const MET: f64 = 1e-9;
/// Guesses that are tried, spread over the range, if the first one leads astray.
const GUESSES: usize = 6;

/// The paper's errors: mean absolute (kg) and mean relative.
const PAPER: [(&str, f64, f64); 5] = [
    ("average", 0.2022, 0.1031),
    ("random", 0.2653, 0.1344),
    ("REINFORCE", 0.0928, 0.3668),
    ("states (3D supervision)", 1.35e-9, 5.17e-9),
    ("video", 2.36e-5, 9.01e-5),
];

/// What was found of one body.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Instance {
    shape: usize,
    truth: f64,
    guess: f64,
    video: Found,
    /// From pixels of eight bits.
    rounded: f64,
    states: f64,
}

/// A body drawn from the ranges: its shape goes through the list.
pub(super) struct Drawn {
    pub shape: usize,
    pub toss: Toss,
    /// Volume, m³: the mass of density 1.
    pub volume: f64,
}

/// Draws size, pose, motion, impulse and density (kg/m³, from a range); `seed` also goes through the shapes.
pub(super) fn draw(seed: usize, density: (f64, f64), pixels: usize) -> Result<Drawn, ExperimentError> {
    let paint = Paint::Uniform(Vec3::new(0.9, 0.55, 0.15));
    draw_as(seed, density, |_| Look { paint, material: Material::matt(), pixels })
}

/// The same with another look, by number of faces.
pub(super) fn draw_as(
    seed: usize,
    density: (f64, f64),
    look: impl FnOnce(usize) -> Look,
) -> Result<Drawn, ExperimentError> {
    let mut random = Random::stream(1, &[seed as u64]);
    let shape = seed % SHAPES.len();
    let mut scale = || 0.6 * random.uniform(0.7, 1.3);
    let (sx, sy, sz) = (scale(), scale(), scale());
    let mesh = centered(&(SHAPES[shape].value)().moved(|x| Vec3::new(x.x * sx, x.y * sy, x.z * sz)));
    let volume = mesh.volume();
    let rho = random.uniform(density.0, density.1);
    // An impulse that gives a body of middle density half a meter per second or more.
    let middle = 0.5 * (density.0 + density.1) * volume;
    let direction = anywhere(&mut random, 1.0).normalize();
    let start = Start {
        position: anywhere(&mut random, 0.8),
        orientation: turned(&mut random),
        velocity: anywhere(&mut random, 0.4),
        spin: anywhere(&mut random, 0.6),
        impulse: direction * (middle * random.uniform(0.5, 0.9)),
        twist: anywhere(&mut random, 0.8) * (middle / volume * smallest_inertia(&mesh)),
    };
    let toss = Toss::new(&mesh, rho, &start, None, &look(mesh.topology.faces.len()), 1)?;
    Ok(Drawn { shape, toss, volume })
}

/// The smallest moment of inertia of density 1 about an axis of the mesh, m⁵.
fn smallest_inertia(mesh: &Mesh) -> f64 {
    let inertia = Solid::of(mesh).inertia;
    inertia.xx.min(inertia.yy).min(inertia.zz)
}

/// The frames of a video that are compared.
pub(super) fn frames() -> Vec<usize> {
    (1..=FRAMES / EVERY).map(|k| EVERY * k).collect()
}

/// A guess of the mass from the range of densities, and bounds of searches.
fn guess(seed: usize, volume: f64, density: (f64, f64)) -> (f64, (f64, f64)) {
    let rho = Random::stream(2, &[seed as u64]).uniform(density.0, density.1);
    (volume * rho, (0.2 * volume * density.0, 5.0 * volume * density.1))
}

fn instance(seed: usize, density: (f64, f64), pixels: usize) -> Result<Instance, ExperimentError> {
    let Drawn { shape, toss, volume } = draw(seed, density, pixels)?;
    let (guess, bounds) = guess(seed, volume, density);
    let video = toss.film(&toss.inputs, &frames())?;
    let found = find(&toss, bounds, &video, guess, volume, density)?;
    let eight_bits = toss.video_problem(toss.map(bounds, &[])?, rounded(&video), Pixels::default())?;
    let rounded = gauss_newton(&eight_bits, &found.values, 20)?.values[0];
    let states = States::of(&toss, &frames())?;
    let (steps, residuals) = (FRAMES, states.residual_count());
    let problem = toss.problem(toss.map(bounds, &[])?, states, steps, residuals);
    let states = gauss_newton(&problem, &[guess], 100)?;
    Ok(Instance { shape, truth: toss.mass, guess, video: found, rounded, states: states.values[0] })
}

/// The fit from the guess; where it does not meet the video, the best of fits from other guesses too.
fn find(
    toss: &Toss,
    bounds: (f64, f64),
    video: &[Frame],
    guess: f64,
    volume: f64,
    (low, high): (f64, f64),
) -> Result<Found, ExperimentError> {
    let from = |guess: f64| frame_by_frame(toss, (bounds, &[]), video, &STAGES, &[guess], Pixels::default());
    let mut best = from(guess)?;
    for k in 0..GUESSES {
        if best.loss < MET {
            break;
        }
        let found = from(volume * low * (high / low).powf(k as f64 / (GUESSES - 1) as f64))?;
        if found.loss < best.loss {
            best = found;
        }
    }
    Ok(best)
}

/// Gradient descent on the mean square of all pixels, as the paper has it: by Adam, with the frames coming in. Returns the
/// mass and the truth.
fn descent(seed: usize, pixels: usize) -> Result<(f64, f64), ExperimentError> {
    let Drawn { toss, volume, .. } = draw(seed, DENSITY, pixels)?;
    let (guess, bounds) = guess(seed, volume, DENSITY);
    let video = toss.film(&toss.inputs, &frames())?;
    let mut log_mass = guess.ln();
    for count in STAGES {
        let problem =
            toss.video_problem(toss.map(bounds, &[])?, video[..count].to_vec(), Pixels::default())?;
        let loss = Loss { problem: &problem, start: vec![log_mass] };
        log_mass = descend(&loss, &[log_mass], (DESCENT.1, DESCENT.0), |_, _, _| ())?.best[0];
    }
    Ok((log_mass.exp(), toss.mass))
}

/// REINFORCE: the mass and the truth.
fn searched(seed: usize, pixels: usize) -> Result<(f64, f64), ExperimentError> {
    let Drawn { toss, volume, .. } = draw(seed, DENSITY, pixels)?;
    let (guess, _) = guess(seed, volume, DENSITY);
    let video = toss.film(&toss.inputs, &frames())?;
    Ok((reinforce(&toss, &video, guess, Reinforce::default(), seed as u64)?, toss.mass))
}

/// Means of |m − m*| and |m − m*| / m*.
fn errors(instances: &[Instance], found: impl Fn(&Instance) -> f64) -> (f64, f64) {
    let n = instances.len() as f64;
    let off = |i: &Instance| (found(i) - i.truth).abs();
    let absolute = instances.iter().map(off).sum::<f64>() / n;
    (absolute, instances.iter().map(|i| off(i) / i.truth).sum::<f64>() / n)
}

/// Table 1.
pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let (count, pixels) = (setting.seeds(10 * SHAPES.len(), SHAPES.len()), setting.size(128, 64));
    let mut exhibit = Exhibit::default();
    let instances = (0..count)
        .map(|seed| setting.part(&format!("mass {seed} {pixels}"), || instance(seed, DENSITY, pixels)))
        .collect::<Result<Vec<_>, _>>()?;
    let tiny = (0..count.min(setting.size(SHAPES.len(), 5)))
        .map(|seed| {
            // Densities that give tiny masses, whatever the volume.
            let (volume, width) = (draw(seed, DENSITY, pixels)?.volume, DENSITY.1 / DENSITY.0);
            let reach = (TINY.1 / TINY.0 / width).ln();
            let least = TINY.0 * Random::stream(7, &[seed as u64]).uniform(0.0, reach).exp();
            let density = (least / volume, least * width / volume);
            setting.part(&format!("tiny mass {seed} {pixels}"), || instance(seed, density, pixels))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let descents = (0..count.min(setting.size(SHAPES.len(), 3)))
        .map(|seed| setting.part(&format!("descent {seed} {pixels}"), || descent(seed, pixels)))
        .collect::<Result<Vec<_>, _>>()?;
    let searches = (0..count.min(setting.size(5, 1)))
        .map(|seed| setting.part(&format!("REINFORCE {seed} {pixels}"), || searched(seed, pixels)))
        .collect::<Result<Vec<_>, _>>()?;

    table(&mut exhibit, &instances, &tiny, (&descents, &searches));
    let section = Section::new("Masses from videos");
    let section = exhibit.figure(section, "mass-convergence", &convergence(&instances), (
        "Relative error of the mass over steps of Gauss-Newton, a curve per body; frames come in between.",
        "Curves that fall to round-off.",
    ))?;
    let section = exhibit.sheet(section, "mass-videos", &sheet(&instances, pixels)?, (
        "Three bodies, each in three rows: the video given, that of the first guess, and that of the mass found.",
        "Rows of frames of a moving body; the first and the third row of each body are alike.",
    ))?;
    exhibit.section(section);
    exhibit.note(
        "The ConvLSTM of Table 1 is not reproduced: it is a network trained on a data set, not a simulator.",
    );
    exhibit.note(format!(
        "Masses: {count} videos of {} own meshes, {pixels} x {pixels} pixels, 60 frames in 2 s of which every fifth is \
         compared; densities from {} to {} kg/m^3, no gravity, a known impulse over the first frame. The ranges of sizes, \
         poses and velocities keep the body in view.",
        SHAPES.len(), DENSITY.0, DENSITY.1,
    ));
    Ok(exhibit)
}

/// A mass found and the true one, kg.
type Pair = (f64, f64);

fn table(
    exhibit: &mut Exhibit,
    instances: &[Instance],
    tiny: &[Instance],
    (descents, searches): (&[Pair], &[Pair]),
) {
    let mean = instances.iter().map(|i| i.truth).sum::<f64>() / instances.len() as f64;
    let mut random = Random::new(3);
    let others: Vec<f64> = instances
        .iter()
        .map(|_| {
            instances[(random.uniform(0.0, 1.0) * instances.len() as f64) as usize % instances.len()].truth
        })
        .collect();
    let random_guess =
        instances.iter().zip(&others).map(|(i, other)| Instance { guess: *other, ..i.clone() });
    let random_guess: Vec<Instance> = random_guess.collect();
    let pairs = |all: &[Pair]| {
        let n = all.len() as f64;
        let absolute = all.iter().map(|(x, truth)| (x - truth).abs()).sum::<f64>() / n;
        (absolute, all.iter().map(|(x, truth)| (x / truth - 1.0).abs()).sum::<f64>() / n)
    };
    let video = errors(instances, |i| i.video.values[0]);
    let ours = [
        errors(instances, |_| mean),
        errors(&random_guess, |i| i.guess),
        pairs(searches),
        errors(instances, |i| i.states),
        video,
    ];
    for ((case, absolute, relative), (a, r)) in PAPER.into_iter().zip(ours) {
        exhibit.row(&format!("mass, {case}"), "mean absolute error", (a, "kg"), Some(absolute));
        exhibit.row(&format!("mass, {case}"), "mean relative error", (r, "1"), Some(relative));
    }
    let descent = pairs(descents);
    let (_, _, paper) = PAPER[4];
    exhibit.row("mass, video, by gradient descent", "mean relative error", (descent.1, "1"), Some(paper));
    let rounded = errors(instances, |i| i.rounded);
    exhibit.row("mass, video of 8 bits", "mean relative error", (rounded.1, "1"), None);
    let worst = instances.iter().map(|i| (i.video.values[0] / i.truth - 1.0).abs()).fold(0.0, f64::max);
    exhibit.row("mass, video", "largest relative error", (worst, "1"), None);
    let small = errors(tiny, |i| i.video.values[0]);
    exhibit.row("masses of 1 g to 100 g, video", "mean relative error", (small.1, "1"), None);
    exhibit.goal(Goal::at_most("mass from video: mean relative error", video.1, 9e-5));
    exhibit.goal(Goal::at_most("masses of 1 g to 100 g from video: mean relative error", small.1, 9e-5));
}

fn convergence(instances: &[Instance]) -> Figure {
    let curve = |(i, one): (usize, &Instance)| {
        let off = |(k, x): (usize, &Vec<f64>)| (k as f64, (x[0] / one.truth - 1.0).abs().max(1e-16));
        Series::new("", i, one.video.path.iter().enumerate().map(off).collect())
    };
    let panel = LinePanel {
        x_label: "step".into(),
        y_label: "relative error of the mass".into(),
        series: instances.iter().take(17).enumerate().map(curve).collect(),
        log_y: true,
        ..LinePanel::default()
    };
    Figure::grid("", 1, vec![panel.into()])
}

/// The bodies whose guess was farthest off.
fn sheet(instances: &[Instance], pixels: usize) -> Result<Sheet, ExperimentError> {
    let mut order: Vec<usize> = (0..instances.len()).collect();
    let off = |i: &usize| (instances[*i].guess / instances[*i].truth).ln().abs();
    order.sort_by(|a, b| off(b).total_cmp(&off(a)));
    let mut sheet = Sheet::new();
    for seed in order.into_iter().take(3) {
        let one = &instances[seed];
        let toss = draw(seed, DENSITY, pixels)?.toss;
        for mass in [one.truth, one.guess, one.video.values[0]] {
            let video = toss.film(&toss.with_mass(mass), &frames())?;
            sheet = sheet.with_row(video.iter().step_by(2).map(|frame| &frame.image));
        }
    }
    Ok(sheet)
}
