//! The mass of a rigid body from a video, with a known impulse (gradSim Table 1), and of bodies of a few grams.
//!
//! An object floats in free space, moves and turns, and is pushed for a tenth of a second. What follows depends on its mass.

use pullback_core::random::Random;
use pullback_math::{Quat, Vec3};
use pullback_optim::least_squares::{Place, laplace};
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::shapes::SHAPES;
use pullback_tasks::Goal;
use pullback_video::Frame;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bits::eight_bits;
use super::object::{Filming, MASS, Object, Push, Start, Throw, Thrown};
use super::reinforce::{self, reinforce};
use super::search::{Growth, search};
use crate::deformable::filmed::{fit, loss};
use crate::deformable::pictures::square;
use crate::deformable::shots::{every, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;
use crate::{AdamRate, descend};

/// Steps of 1/60 s and substeps of each; every second step has a frame, so that 2 s have 60.
const STEPS: (usize, usize) = (120, 2);
const STRIDE: usize = 2;
/// Steps that the push lasts.
const PUSHED: usize = 6;
/// Pixels along each side.
const PIXELS: usize = 64;
/// Densities, kg/m³ (appendix G), and factors of the axes of shapes that are 2 m across.
const DENSITY: (f64, f64) = (2.0, 12.0);
const SCALE: (f64, f64) = (0.35, 0.6);
/// Frames that a search sees, stage by stage.
const GROWTH: Growth<'_> = Growth { lengths: &[4, 8, 16, 32, 60], steps: (6, 20), exact: 1e-14 };
/// Searches begin at the guess, then at other densities.
const STARTS: usize = 4;
/// Descent and REINFORCE see every fifth frame; steps of the descent and its rate in the logarithm of the mass.
const SPARSE: usize = 5;
const DESCENT: (AdamRate, usize) = (AdamRate { rate: 0.1, fall: 1e-4 }, 80);
/// Objects of the baselines that see no video, as many as the paper tests on.
const UNSEEN: usize = 200;

/// A range of objects.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// Those of the paper's appendix G.
    Usual,
    /// The same, smaller: of 1 g to 100 g.
    Tiny,
}

/// Steps whose frames a page shows.
pub fn shown() -> Vec<usize> {
    every(20, STEPS.0)
}

/// What is drawn of an instance.
pub struct Flight {
    shape: usize,
    object: Object,
    density: f64,
    guess: f64,
    start: Start,
    push: Push,
    /// Size in that of the usual objects.
    size: f64,
}

/// One instance: masses, kg.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Estimate {
    shape: usize,
    truth: f64,
    guess: f64,
    video: f64,
    loss: f64,
    starts: usize,
    /// From frames of 8 bits per color, and the standard error that the fit names.
    bits: f64,
    error: f64,
    motion: f64,
    descent: f64,
    /// Relative error over steps of the descent.
    path: Vec<f64>,
}

impl Flight {
    /// One by its number; numbers go through all shapes.
    pub fn draw(range: Range, seed: usize) -> Result<Self, ExperimentError> {
        let mut random = Random::stream(11, &[range as u64, seed as u64]);
        let shape = seed % SHAPES.len();
        let mut among = |(low, high): (f64, f64)| random.uniform(low, high);
        let scale = Vec3::new(among(SCALE), among(SCALE), among(SCALE));
        let density = among(DENSITY);
        let mesh = (SHAPES[shape].value)();
        let usual = Object::new(&mesh, scale)?;
        let size = match range {
            Range::Usual => 1.0,
            // A mass whose logarithm is uniform fixes the volume.
            Range::Tiny => (1e-3 * 100f64.powf(among((0.0, 1.0))) / (density * usual.volume)).cbrt(),
        };
        let object = Object::new(&mesh, scale * size)?;
        let guess = among(DENSITY);
        let unit = (-1.0, 1.0);
        let axis = Vec3::new(among(unit), among(unit), among(unit)).normalize();
        let orientation = Quat::from_axis_angle(axis, among((0.0, std::f64::consts::TAU)));
        // Mostly across the view, which looks along y.
        let (sin, cos) = among((0.0, std::f64::consts::TAU)).sin_cos();
        let along = Vec3::new(cos, among((-0.3, 0.3)), sin);
        let speed = among((0.5, 1.2)) * size;
        let impulse = along * (speed * density * object.volume);
        let start = Start {
            position: along * (-1.2 * size),
            orientation,
            velocity: Vec3::new(among(unit), among(unit), among(unit)) * (0.2 * size),
            spin: Vec3::new(among(unit), among(unit), among(unit)) * 1.5,
        };
        let arm = Vec3::new(among(unit), among(unit), among(unit)) * (0.1 * size);
        let push = Push { force: impulse * (60.0 / PUSHED as f64), arm, steps: (0, PUSHED) };
        Ok(Flight { shape, object, density, guess, start, push, size })
    }

    /// In front of the camera.
    pub fn thrown(&self) -> Result<Thrown, ExperimentError> {
        let throw =
            Throw { object: &self.object, start: self.start, pushes: vec![self.push], ground: false };
        let shot = orbit(Vec3::zero(), 6.0 * self.size, 0.2, PIXELS);
        Thrown::new(&throw, Filming { steps: STEPS, shot, frames: every(STRIDE, STEPS.0) })
    }

    /// True mass, kg.
    pub fn truth(&self) -> f64 {
        self.mass(self.density)
    }

    /// Guess of the mass, kg.
    pub fn guess(&self) -> f64 {
        self.mass(self.guess)
    }

    fn mass(&self, density: f64) -> f64 {
        density * self.object.volume
    }

    /// The guess, then masses at densities evenly spread over their range.
    fn starts(&self) -> impl Iterator<Item = Vec<f64>> {
        let (low, high) = DENSITY;
        let spread = (1..STARTS).map(move |k| low * (high / low).powf(k as f64 / STARTS as f64));
        [self.guess].into_iter().chain(spread).map(|density| vec![self.mass(density)])
    }

    fn estimate(&self) -> Result<Estimate, ExperimentError> {
        let thrown = self.thrown()?;
        let truth = self.truth();
        let video = thrown.filmed.film(&thrown.inputs(&[MASS], &[truth])?)?;
        let (found, starts) = search(GROWTH, self.starts(), |n| thrown.problem(&[MASS], &video[..n]))?;

        let coarse: Vec<Frame> = video.iter().map(eight_bits).collect();
        let problem = thrown.problem(&[MASS], &coarse)?;
        let bits = fit(&problem, &found.found, 10)?.found[0];
        let errors = laplace(&problem, &Place::new(&problem, vec![bits.ln()]))?;
        let error = errors.estimates[0].error.map_or(f64::NAN, |e| e.error);

        let guess = self.guess();
        let problem = thrown.poses(&[MASS], &[truth], video.len())?;
        let motion = fit(&problem, &[guess], 50)?.found[0];

        let sparse: Vec<Frame> = video.iter().skip(SPARSE - 1).step_by(SPARSE).cloned().collect();
        let problem = thrown.problem(&[MASS], &sparse)?;
        let mut path = Vec::new();
        let descended = descend(&loss(&problem), &[guess.ln()], DESCENT, |_, x, _| {
            path.push((x[0].exp() / truth - 1.0).abs());
        })?;
        Ok(Estimate {
            shape: self.shape,
            truth,
            guess,
            video: found.found[0],
            loss: found.loss(),
            starts,
            bits,
            error,
            motion,
            descent: descended.best[0].exp(),
            path,
        })
    }

    /// What REINFORCE finds.
    fn reinforced(&self, seed: usize) -> Result<f64, ExperimentError> {
        let mut thrown = self.thrown()?;
        thrown.filmed.frames = every(STRIDE * SPARSE, STEPS.0);
        let film = |mass: f64| thrown.filmed.film(&thrown.inputs(&[MASS], &[mass])?);
        let video = film(self.truth())?;
        let distance = |mass: f64| {
            let pairs = film(mass)?.into_iter().zip(&video).map(|(a, b)| square(&a.image, &b.image));
            Ok(pairs.sum())
        };
        reinforce(self.guess(), &mut Random::new(seed as u64), distance)
    }
}

/// Mean error in kg, and relative.
fn errors(pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut count, mut absolute, mut relative) = (0.0, 0.0, 0.0);
    for (found, truth) in pairs {
        count += 1.0;
        absolute += (found - truth).abs();
        relative += (found / truth - 1.0).abs();
    }
    (absolute / count, relative / count)
}

/// Masses of 2 to 12 kg/m³.
pub fn usual(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let mut exhibit = Exhibit::default();
    let all = instances(setting, Range::Usual, setting.seeds(3 * SHAPES.len(), SHAPES.len()))?;
    let case = "mass from video";
    report(case, &all, &mut exhibit, Some((2.36e-5, 9.01e-5)), Some((1.35e-9, 5.17e-9)))?;
    blind(&mut exhibit, case)?;

    let count = setting.size(SHAPES.len(), 2);
    let one = |seed: usize| {
        let flight = Flight::draw(Range::Usual, seed)?;
        let found = setting.part(&format!("REINFORCE {seed}"), || flight.reinforced(seed))?;
        Ok((found, flight.truth()))
    };
    let found = (0..count).into_par_iter().map(one).collect::<Result<Vec<_>, ExperimentError>>()?;
    rows(&mut exhibit, case, "REINFORCE", errors(found.into_iter()), Some((0.0928, 0.3668)));
    exhibit.note(format!(
        "Masses: {} objects of all {} shapes, 60 frames over 2 s of {PIXELS} x {PIXELS} pixels, in free space, densities of \
         {} to {} kg/m3; guesses of the density are uniform in the same range; the known push lasts 0.1 s. Descent (Adam, {} \
         steps) and REINFORCE see every fifth frame. REINFORCE: {count} objects, Table 5's settings, {} steps of rate {} kg2 \
         (not named there), on this simulator from the same guesses. The paper's ConvLSTM is not reproduced: it learns from \
         10000 videos.",
        all.len(),
        SHAPES.len(),
        DENSITY.0,
        DENSITY.1,
        DESCENT.1,
        reinforce::STEPS,
        reinforce::RATE,
    ));
    Ok(exhibit)
}

/// Masses of 1 g to 100 g.
pub fn tiny(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let mut exhibit = Exhibit::default();
    let all = instances(setting, Range::Tiny, setting.seeds(SHAPES.len(), 4))?;
    report("mass from video, 1 g to 100 g", &all, &mut exhibit, Some((2.36e-5, 9.01e-5)), None)?;
    exhibit.note(format!(
        "Tiny masses: {} objects of 1 g to 100 g whose logarithms are uniform, of the same densities and so of 1/20 to 1/2 of \
         the usual size, filmed from as much nearer. The paper names masses of 100 g and less as its limitation; the figures \
         beside are those of its usual masses.",
        all.len(),
    ));
    Ok(exhibit)
}

fn instances(setting: &Setting<'_>, range: Range, count: usize) -> Result<Vec<Estimate>, ExperimentError> {
    let one = |seed: usize| {
        let flight = Flight::draw(range, seed)?;
        let name = format!("{range:?} mass {seed}, {}", SHAPES[flight.shape].name);
        setting.part(&name, || flight.estimate())
    };
    (0..count).into_par_iter().map(one).collect()
}

fn rows(exhibit: &mut Exhibit, case: &str, how: &str, found: (f64, f64), paper: Option<(f64, f64)>) {
    exhibit.row(case, &format!("mean error, {how}"), (found.0, "kg"), paper.map(|p| p.0));
    exhibit.row(case, &format!("mean relative error, {how}"), (found.1, "1"), paper.map(|p| p.1));
}

/// The baselines that see no video: the mean of all objects, and the mass of another one.
fn blind(exhibit: &mut Exhibit, case: &str) -> Result<(), ExperimentError> {
    let mass = |seed: usize| Flight::draw(Range::Usual, 1000 + seed).map(|f| f.truth());
    let masses = (0..UNSEEN).map(mass).collect::<Result<Vec<f64>, _>>()?;
    let mean = masses.iter().sum::<f64>() / UNSEEN as f64;
    let average = errors(masses.iter().map(|m| (mean, *m)));
    rows(exhibit, case, "average", average, Some((0.2022, 0.1031)));
    let others = masses.iter().cycle().skip(1);
    let random = errors(others.zip(&masses).map(|(other, m)| (*other, *m)));
    rows(exhibit, case, "random", random, Some((0.2653, 0.1344)));
    Ok(())
}

fn report(
    case: &str,
    all: &[Estimate],
    exhibit: &mut Exhibit,
    paper: Option<(f64, f64)>,
    motion: Option<(f64, f64)>,
) -> Result<(), ExperimentError> {
    let of = |found: fn(&Estimate) -> f64| errors(all.iter().map(|e| (found(e), e.truth)));
    let video = of(|e| e.video);
    rows(exhibit, case, "from video", video, paper);
    let largest = all.iter().map(|e| (e.video / e.truth - 1.0).abs()).fold(0.0, f64::max);
    exhibit.row(case, "largest relative error from video", (largest, "1"), None);
    rows(exhibit, case, "from video of 8 bits per color", of(|e| e.bits), paper);
    let named = all.iter().map(|e| e.error / e.truth).sum::<f64>() / all.len() as f64;
    exhibit.row(case, "relative standard error named, 8 bits per color", (named, "1"), None);
    rows(exhibit, case, "gradient descent from video", of(|e| e.descent), paper);
    rows(exhibit, case, "DiffPhysics (3D supervision)", of(|e| e.motion), motion);
    rows(exhibit, case, "the guess", of(|e| e.guess), None);
    let again = all.iter().filter(|e| e.starts > 1).count();
    exhibit.row(case, "objects that took more than one start", (again as f64, "1"), None);
    exhibit.goal(Goal::at_most(format!("{case}: mean relative error from video"), video.1, 9e-5));
    let section = show(case, all, exhibit)?;
    exhibit.section(section);
    Ok(())
}

fn show(case: &str, all: &[Estimate], exhibit: &mut Exhibit) -> Result<Section, ExperimentError> {
    let range = if case.contains("100 g") { Range::Tiny } else { Range::Usual };
    let mut sheet = Sheet::new();
    for (seed, estimate) in all.iter().enumerate().take(3) {
        let mut thrown = Flight::draw(range, seed)?.thrown()?;
        thrown.filmed.frames = shown();
        for mass in [estimate.truth, estimate.guess, estimate.video] {
            let video = thrown.filmed.film(&thrown.inputs(&[MASS], &[mass])?)?;
            sheet = sheet.with_row(video.iter().map(|frame| &frame.image));
        }
    }
    let name = if matches!(range, Range::Tiny) { "mass-tiny" } else { "mass" };
    let caption = "Three objects, three rows each: the video given, the guess and the fit.";
    let alt = "Rows of frames of objects that fly and turn.";
    let section =
        exhibit.sheet(Section::new(capital(case)), name, &sheet, (caption, alt))?;
    let curves = all.iter().enumerate().map(|(i, e)| {
        let points = e.path.iter().enumerate().map(|(k, x)| (k as f64, x.max(1e-12))).collect();
        Series { width: 1.0, ..Series::new("", i, points) }
    });
    let panel = LinePanel {
        x_label: "step of gradient descent".into(),
        y_label: "relative error of the mass".into(),
        series: curves.collect(),
        log_y: true,
        ..LinePanel::default()
    };
    let alt = "Curves that fall.";
    let caption = "Gradient descent from pixels, one curve per object.";
    exhibit.figure(section, &format!("{name}-descent"), &Figure::single(panel.into()), (caption, alt))
}

/// A text that begins with a capital.
fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}
