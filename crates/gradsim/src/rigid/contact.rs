//! Mass, stiffness, damping and friction of a body jointly, from the video of a bounce (gradSim Table 2).
//!
//! An object gets a known push in the air, falls, bounces, slides and comes to rest. The push tells the mass, the bounces
//! tell ke and kd, sliding tells μ, and creeping to rest tells kf.

use pullback_core::random::Random;
use pullback_math::{Quat, Vec3};
use pullback_optim::least_squares::{Place, laplace};
use pullback_plot::{Section, Table};
use pullback_render::shapes::{SHAPES, cuboid};
use pullback_tasks::Goal;
use pullback_video::Frame;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bits::eight_bits;
use super::object::{Filming, KD, KE, KF, MASS, MU, Object, Push, Quantity, Start, Throw, Thrown};
use super::search::{Growth, search};
use crate::deformable::filmed::fit;
use crate::deformable::shots::{every, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// What is found.
pub const QUANTITIES: [Quantity; 5] = [MASS, KE, KD, KF, MU];
/// Density in place of mass, kg/m³; then ke, kd, kf and μ.
const RANGES: [(f64, f64); 5] = [(2.0, 12.0), (1e3, 1e4), (100.0, 1000.0), (2.0, 20.0), (0.2, 1.0)];
/// The paper's relative errors: from video, with 3D supervision, of the average and of a random guess.
const PAPER: [[f64; 4]; 5] = [
    [2.87e-4, 1.70e-8, 1.7713, 10.0007],
    [0.0026, 0.0020, 2.3410, 2.5454],
    [0.4, 0.036, 3.7145, 4.18],
    [0.0017, 0.0007, 4.1157, 5.0241],
    [0.0073, 0.0107, 0.4463, 0.5558],
];
/// Steps of 1/60 s and substeps of each; every second step has a frame.
const STEPS: (usize, usize) = (120, 32);
const STRIDE: usize = 2;
const PIXELS: usize = 64;
/// Factors of the axes of shapes that are 2 m across.
const SCALE: (f64, f64) = (0.35, 0.5);
/// Steps that the push lasts, and the speed that it gives, m/s.
const PUSHED: usize = 6;
const SPEED: (f64, f64) = (1.2, 2.2);
/// Tilt at the start, rad, and height of the lowest corner, m.
const TILT: (f64, f64) = (0.0, 0.4);
const HEIGHT: (f64, f64) = (0.2, 0.4);
const GROWTH: Growth<'_> = Growth { lengths: &[10, 16, 24, 36, 60], steps: (8, 40), exact: 1e-13 };
/// Searches begin at the guess, then elsewhere.
const STARTS: usize = 6;
/// Draws of the baselines that see no video.
const UNSEEN: usize = 200;

/// An instance.
pub struct Bounce {
    object: Object,
    truth: [f64; 5],
    guess: [f64; 5],
    others: Vec<[f64; 5]>,
    start: Start,
    push: Push,
}

/// What was found of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Estimate {
    shape: usize,
    truth: [f64; 5],
    guess: [f64; 5],
    video: Vec<f64>,
    loss: f64,
    starts: usize,
    bits: Vec<f64>,
    /// Standard errors named from frames of 8 bits per color; none where a quantity is not told.
    errors: Vec<Option<f64>>,
    motion: Vec<f64>,
}

/// Mass, ke, kd, kf and μ of an object of some volume.
fn drawn(random: &mut Random, volume: f64) -> [f64; 5] {
    let mut values = RANGES.map(|(low, high)| random.uniform(low, high));
    values[0] *= volume;
    values
}

impl Bounce {
    /// One by its number.
    pub fn draw(seed: usize) -> Result<Self, ExperimentError> {
        let mut random = Random::stream(12, &[seed as u64]);
        let mut among = |(low, high): (f64, f64)| random.uniform(low, high);
        let scale = Vec3::new(among(SCALE), among(SCALE), among(SCALE));
        let object = Object::new(&(SHAPES[seed % SHAPES.len()].value)(), scale)?;
        let (turn, unit) = ((0.0, std::f64::consts::TAU), (-1.0, 1.0));
        let (sin, cos) = among(turn).sin_cos();
        let tilt = Quat::from_axis_angle(Vec3::new(cos, sin, 0.0), among(TILT));
        let orientation = tilt * Quat::from_axis_angle(Vec3::new(0.0, 0.0, 1.0), among(turn));
        let height = among(HEIGHT) - object.lowest(orientation);
        let side = among(unit).signum();
        let along = Vec3::new(side, among((-0.3, 0.3)), 0.0);
        let speed = among(SPEED);
        let start = Start {
            position: Vec3::new(-0.9 * along.x, -0.5 * along.y, height),
            orientation,
            velocity: Vec3::zero(),
            spin: Vec3::new(among(unit), among(unit), among(unit)) * 0.5,
        };
        let arm = Vec3::new(among(unit), among(unit), among(unit)) * 0.02;
        let truth = drawn(&mut random, object.volume);
        let guess = drawn(&mut random, object.volume);
        let others = (1..STARTS).map(|_| drawn(&mut random, object.volume)).collect();
        let force = along * (speed * truth[0] * 60.0 / PUSHED as f64);
        let push = Push { force, arm, steps: (0, PUSHED) };
        Ok(Bounce { object, truth, guess, others, start, push })
    }

    /// A box that falls flat: without sliding nothing tells of friction, and without a push only ratios to the mass are
    /// told.
    fn flat() -> Result<Self, ExperimentError> {
        let object = Object::new(&cuboid(Vec3::new(0.6, 0.6, 0.4)), Vec3::new(1.0, 1.0, 1.0))?;
        let truth = [1.0, 5e3, 400.0, 10.0, 0.5];
        let start = Start {
            position: Vec3::new(0.0, 0.0, 0.6),
            orientation: Quat::identity(),
            velocity: Vec3::zero(),
            spin: Vec3::zero(),
        };
        let push = Push { force: Vec3::zero(), arm: Vec3::zero(), steps: (0, 0) };
        Ok(Bounce { object, truth, guess: truth, others: Vec::new(), start, push })
    }

    /// In front of the camera, for so many steps.
    pub fn thrown(&self, steps: usize) -> Result<Thrown, ExperimentError> {
        let throw = Throw { object: &self.object, start: self.start, pushes: vec![self.push], ground: true };
        let shot = orbit(Vec3::new(0.0, 0.0, 0.3), 3.6, 0.35, PIXELS);
        Thrown::new(&throw, Filming { steps: (steps, STEPS.1), shot, frames: every(STRIDE, steps) })
    }

    fn estimate(&self, shape: usize) -> Result<Estimate, ExperimentError> {
        let thrown = self.thrown(STEPS.0)?;
        let video = thrown.filmed.film(&thrown.inputs(&QUANTITIES, &self.truth)?)?;
        let starts = || [self.guess].into_iter().chain(self.others.iter().copied()).map(Vec::from);
        let (found, tried) = search(GROWTH, starts(), |n| thrown.problem(&QUANTITIES, &video[..n]))?;

        let coarse: Vec<Frame> = video.iter().map(eight_bits).collect();
        let problem = thrown.problem(&QUANTITIES, &coarse)?;
        let bits = fit(&problem, &found.found, 15)?.found;
        let at = Place::new(&problem, bits.iter().map(|x| x.ln()).collect());
        let told = laplace(&problem, &at)?;
        let errors = told.estimates.iter().map(|e| e.error.map(|e| e.error)).collect();

        let motion = Growth { exact: 1e-18, ..GROWTH };
        let (motion, _) = search(motion, starts(), |n| thrown.poses(&QUANTITIES, &self.truth, n))?;
        Ok(Estimate {
            shape,
            truth: self.truth,
            guess: self.guess,
            video: found.found.clone(),
            loss: found.loss(),
            starts: tried,
            bits,
            errors,
            motion: motion.found,
        })
    }
}

/// Mean relative errors of the five.
fn errors<'a>(pairs: impl Iterator<Item = (&'a [f64], &'a [f64; 5])>) -> [f64; 5] {
    let (mut sums, mut count) = ([0.0; 5], 0.0);
    for (found, truth) in pairs {
        count += 1.0;
        (0..5).for_each(|i| sums[i] += (found[i] / truth[i] - 1.0).abs());
    }
    sums.map(|sum| sum / count)
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let count = setting.seeds(SHAPES.len(), 2);
    let one = |seed: usize| {
        let shape = seed % SHAPES.len();
        let name = format!("contact {seed}, {}", SHAPES[shape].name);
        setting.part(&name, || Bounce::draw(seed)?.estimate(shape))
    };
    let all = (0..count).into_par_iter().map(one).collect::<Result<Vec<Estimate>, ExperimentError>>()?;
    let mut exhibit = Exhibit::default();
    report(&all, &mut exhibit)?;
    let section = show(&all, &mut exhibit)?;
    exhibit.section(section);
    let section = untold(&mut exhibit)?;
    exhibit.section(section);
    exhibit.note(format!(
        "Contact: {count} objects, 60 frames over 2 s of {PIXELS} x {PIXELS} pixels, {} substeps per step of 1/60 s. True values \
         and guesses are uniform: density 2 to 12 kg/m3, ke {} to {} N/m, kd {} to {} N s/m2, kf {} to {} N s/m, mu {} to {}. \
         The paper has 1 to 500 for ke, kd and kf, at which these bodies would sink into the ground.",
        STEPS.1,
        RANGES[1].0,
        RANGES[1].1,
        RANGES[2].0,
        RANGES[2].1,
        RANGES[3].0,
        RANGES[3].1,
        RANGES[4].0,
        RANGES[4].1,
    ));
    Ok(exhibit)
}

fn report(all: &[Estimate], exhibit: &mut Exhibit) -> Result<(), ExperimentError> {
    let case = "contact from video";
    let of = |found: fn(&Estimate) -> &[f64]| errors(all.iter().map(|e| (found(e), &e.truth)));
    let unseen = |seed: usize| Bounce::draw(1000 + seed).map(|b| b.truth);
    let unseen = (0..UNSEEN).map(unseen).collect::<Result<Vec<_>, _>>()?;
    let mean: [f64; 5] = std::array::from_fn(|i| unseen.iter().map(|x| x[i]).sum::<f64>() / UNSEEN as f64);
    let average = errors(unseen.iter().map(|truth| (&mean[..], truth)));
    let random = errors(unseen.iter().cycle().skip(1).zip(&unseen).map(|(other, truth)| (&other[..], truth)));
    let (video, motion) = (of(|e| &e.video), of(|e| &e.motion));
    let (bits, guess) = (of(|e| &e.bits), of(|e| &e.guess));
    for (i, quantity) in QUANTITIES.iter().enumerate() {
        let [by_video, by_motion, by_average, by_chance] = PAPER[i].map(Some);
        let mut row = |how: &str, value: f64, paper: Option<f64>| {
            exhibit.row(case, &format!("relative error of {}, {how}", quantity.name), (value, "1"), paper);
        };
        row("from video", video[i], by_video);
        row("from video of 8 bits per color", bits[i], by_video);
        let named: Vec<f64> = all.iter().filter_map(|e| Some(e.errors[i]? / e.truth[i])).collect();
        row("standard error named, 8 bits per color", named.iter().sum::<f64>() / named.len() as f64, None);
        row("DiffPhysics (3D supervision)", motion[i], by_motion);
        row("the guess", guess[i], None);
        row("average", average[i], by_average);
        row("random", random[i], by_chance);
        if [KE.name, KF.name, MU.name].contains(&quantity.name) {
            let name = format!("{case}: relative error of {}", quantity.name);
            exhibit.goal(Goal::at_most(name, video[i], PAPER[i][0]));
        }
    }
    let again = all.iter().filter(|e| e.starts > 1).count();
    exhibit.row(case, "objects that took more than one start", (again as f64, "1"), None);
    let missed = all.iter().filter(|e| e.loss > GROWTH.exact).count();
    exhibit.row(case, "videos that are not reproduced", (missed as f64, "1"), None);
    Ok(())
}

fn show(all: &[Estimate], exhibit: &mut Exhibit) -> Result<Section, ExperimentError> {
    let mut sheet = Sheet::new();
    for (seed, estimate) in all.iter().enumerate().take(3) {
        let mut thrown = Bounce::draw(seed)?.thrown(STEPS.0)?;
        thrown.filmed.frames = every(15, STEPS.0);
        for values in [&estimate.truth[..], &estimate.guess, &estimate.video] {
            let video = thrown.filmed.film(&thrown.inputs(&QUANTITIES, values)?)?;
            sheet = sheet.with_row(video.iter().map(|frame| &frame.image));
        }
    }
    let caption = "Rows in threes: the video given, the guess and the fit.";
    let alt = "Rows of frames of objects that bounce and slide.";
    exhibit.sheet(Section::new("Contact from video"), "contact", &sheet, (caption, alt))
}

/// What the program says of a fall that does not tell all.
fn untold(exhibit: &mut Exhibit) -> Result<Section, ExperimentError> {
    let flat = Bounce::flat()?;
    let thrown = flat.thrown(60)?;
    let video = thrown.filmed.film(&thrown.inputs(&QUANTITIES, &flat.truth)?)?;
    let problem = thrown.problem(&QUANTITIES, &video)?;
    let at = Place::new(&problem, flat.truth.iter().map(|x| x.ln()).collect());
    let words: Vec<String> = laplace(&problem, &at)?.untold.into_iter().map(|u| u.words).collect();
    exhibit.row("a box that falls flat", "combinations not told", (words.len() as f64, "1"), None);
    exhibit.note(format!("Contact, a box that falls flat without a push: {}.", words.join("; ")));
    let table = Table {
        header: vec!["what the video does not tell".into()],
        rows: words.into_iter().map(|w| vec![w]).collect(),
        ..Table::default()
    };
    let text = "A box falls flat and without a push. The program says by itself what its video cannot tell.";
    Ok(Section::new("What cannot be told").paragraph(text).table(table))
}
