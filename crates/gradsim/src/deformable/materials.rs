//! Lamé parameters of beams, balls and cloths from videos (gradSim Table 3, Fig. 3).

use pullback_core::ConfigError;
use pullback_core::input_map::Transform;
use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_math::Vec3;
use pullback_physics::world::World;
use pullback_plot::Section;
use pullback_tasks::Goal;
use pullback_tasks::soft::{self, Size};
use pullback_video::{Frame, Pixels, VisibleWorld, film};
use serde::{Deserialize, Serialize};

use super::filmed::{Filmed, every_coordinate, fit, fit_from};
use super::pyramid::Pyramid;

use super::shots::{every, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// A kind of body and how it is filmed.
pub struct Kind {
    name: &'static str,
    world: fn() -> Result<World, ConfigError>,
    /// Slices of μ and λ.
    slices: [&'static str; 2],
    /// Their usual values.
    usual: [f64; 2],
    /// Steps of 1/60 s, and substeps.
    steps: (usize, usize),
    /// What the camera looks at, from how far (m) and how high (rad).
    view: ([f64; 3], f64, f64),
}

/// An elastic beam held at both ends that sags.
pub const BEAM: Kind = Kind {
    name: "beam",
    world: || soft::beam(Size::Full),
    slices: ["beam.solid.mu", "beam.solid.lambda"],
    usual: [1e3, 1e3],
    steps: (60, 32),
    view: ([0.0, 0.0, 0.8], 2.4, 0.3),
};

const KINDS: [Kind; 3] = [
    BEAM,
    Kind {
        name: "ball",
        world: || soft::ball(Size::Full),
        slices: ["ball.solid.mu", "ball.solid.lambda"],
        usual: [1e3, 1e3],
        steps: (60, 32),
        view: ([-1.0, 0.0, 1.0], 5.0, 0.3),
    },
    Kind {
        name: "cloth",
        world: || soft::thrown((8, 8)),
        slices: ["cloth.membrane.mu", "cloth.membrane.lambda"],
        usual: [1e2, 1e4],
        steps: (60, 16),
        view: ([-4.5, 0.0, 1.0], 5.0, 0.3),
    },
];

/// Quantities lie within this factor of the usual ones, and so do the guesses that fits start from.
const FACTOR: f64 = 2.0;
/// Searches stay within this factor.
const BOUNDS: f64 = 8.0;
/// Softness of the pictures compared, pixels.
const SOFTNESSES: [f64; 2] = [1.0, 6.0];
/// Pixels along each side.
const PIXELS: usize = 64;
/// Steps between frames.
const STRIDE: usize = 5;
/// Steps of Gauss-Newton at most.
const STEPS: usize = 30;

/// One instance: truth, guess, and what was found from the video and from the motion; μ and λ.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Instance {
    truth: [f64; 2],
    guess: [f64; 2],
    video: Vec<f64>,
    motion: Vec<f64>,
    losses: Vec<f64>,
}

impl Instance {
    fn error(&self, of: fn(&Instance) -> &[f64], k: usize) -> f64 {
        (of(self)[k] / self.truth[k] - 1.0).abs()
    }
}

impl Kind {
    /// The scene.
    pub fn filmed(&self) -> Result<Filmed<World>, ExperimentError> {
        let world = (self.world)()?;
        let visible = VisibleWorld::new(&world);
        let ([x, y, z], distance, elevation) = self.view;
        let shot = orbit(Vec3::new(x, y, z), distance, elevation, PIXELS);
        Ok(Filmed::new(world, self.steps, visible, shot, every(STRIDE, self.steps.0))?)
    }

    /// What an instance starts from at these values.
    pub fn inputs(&self, filmed: &Filmed<World>, values: &[f64]) -> Result<Inputs<f64>, ConfigError> {
        let mut inputs = filmed.inputs();
        for (slice, value) in self.slices.iter().zip(values) {
            let params = &pullback_core::Described::layout(&filmed.rollout.system).params;
            inputs.params[params.slice(slice)?.range.clone()].fill(*value);
        }
        Ok(inputs)
    }

    /// Where Gauss-Newton ends on the loss of a video alone.
    pub fn descend(
        &self,
        filmed: &Filmed<World>,
        video: &[Frame],
        start: [f64; 2],
    ) -> Result<[f64; 2], ExperimentError> {
        let map = (filmed.tied_params(&self.slices, BOUNDS)?, vec![Transform::Log; 2]);
        let problem = filmed.video_problem(map, filmed.inputs(), video.to_vec(), Pixels::default())?;
        let found = fit(&problem, &start, STEPS)?.found;
        Ok([found[0], found[1]])
    }

    fn instance(&self, filmed: &Filmed<World>, seed: usize) -> Result<Instance, ExperimentError> {
        let mut random = Random::new(seed as u64);
        let mut draw = || self.usual.map(|x| x * FACTOR.powf(random.uniform(-1.0, 1.0)));
        let (truth, guess) = (draw(), draw());
        let (from, base) = (self.inputs(filmed, &truth)?, filmed.inputs());
        let map =
            || Ok::<_, ConfigError>((filmed.tied_params(&self.slices, BOUNDS)?, vec![Transform::Log; 2]));
        let others = [[1.0, 1.0], [0.5, 2.0], [2.0, 0.5], [0.5, 0.5], [2.0, 2.0]];
        let starts = others.map(|factors| (0..2).map(|k| factors[k] * self.usual[k]).collect());
        let starts: Vec<Vec<f64>> = std::iter::once(guess.to_vec()).chain(starts).collect();

        let Filmed { rollout, visible, shot, frames } = filmed;
        let video = Pyramid::new(visible, *shot, &SOFTNESSES, Pixels::default(), |shot| {
            Ok(film(rollout, &from, visible, &shot, frames)?)
        })?;
        let residuals = video.residual_count();
        let seen = fit_from(&filmed.residuals(video, residuals, map()?, base.clone())?, &starts, STEPS)?;

        let tracks = filmed.track(&from, every_coordinate(filmed.rollout.system.field()))?;
        let motion = fit_from(&filmed.motion_problem(map()?, base, tracks)?, &starts, STEPS)?;
        Ok(Instance { truth, guess, video: seen.found, motion: motion.found, losses: seen.losses })
    }
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let count = setting.seeds(10, 1);
    let (mut exhibit, mut all) = (Exhibit::default(), Vec::new());
    for kind in &KINDS {
        let filmed = kind.filmed()?;
        let instances = (0..count)
            .map(|seed| {
                setting.part(&format!("material of {} {seed}", kind.name), || kind.instance(&filmed, seed))
            })
            .collect::<Result<Vec<_>, _>>()?;
        report(&mut exhibit, kind.name, &instances);
        let section = show(kind, &filmed, &instances, &mut exhibit)?;
        exhibit.section(section);
        all.extend(instances);
    }
    report(&mut exhibit, "all", &all);
    for (k, (name, paper)) in [("μ", 0.0054), ("λ", 0.0056)].into_iter().enumerate() {
        let error = mean(&all, |i| i.error(|i| &i.video, k));
        exhibit.row(
            "Lamé parameters",
            &format!("{name} from video, relative error"),
            (error, "1"),
            Some(paper),
        );
        exhibit.goal(Goal::at_most(format!("Lamé {name} from video: mean relative error"), error, 0.006));
    }
    for (k, (name, paper)) in [("μ", 0.0025), ("λ", 0.0024)].into_iter().enumerate() {
        let error = mean(&all, |i| i.error(|i| &i.motion, k));
        let metric = format!("{name} from positions (3D supervision), relative error");
        exhibit.row("Lamé parameters", &metric, (error, "1"), Some(paper));
    }
    exhibit.note(format!(
        "Lamé parameters: {} instances ({count} of each kind; the paper has 100), true values and guesses within a factor of \
         {FACTOR} of {:?} and {:?} Pa (N/m for cloth); {PIXELS} x {PIXELS} pixels, every {STRIDE}th of 60 frames per second for \
         1 s; Gauss-Newton on logarithms, from other starts where the guess leads to a \
         local minimum.",
        all.len(),
        KINDS[0].usual,
        KINDS[2].usual,
    ));
    Ok(exhibit)
}

fn mean(instances: &[Instance], of: impl Fn(&Instance) -> f64) -> f64 {
    instances.iter().map(of).sum::<f64>() / instances.len() as f64
}

/// Errors of a kind.
fn report(exhibit: &mut Exhibit, case: &str, instances: &[Instance]) {
    for (k, name) in ["μ", "λ"].into_iter().enumerate() {
        let row = |exhibit: &mut Exhibit, how: &str, of: fn(&Instance) -> &[f64]| {
            let metric = format!("{name} {how}, relative error");
            exhibit.row(case, &metric, (mean(instances, |i| i.error(of, k)), "1"), None);
        };
        row(exhibit, "from video", |i| &i.video);
        row(exhibit, "from positions", |i| &i.motion);
        row(exhibit, "of a random guess", |i| &i.guess);
    }
}

/// The video of the first instance beside the guess and the fit.
fn show(
    kind: &Kind,
    filmed: &Filmed<World>,
    instances: &[Instance],
    exhibit: &mut Exhibit,
) -> Result<Section, ExperimentError> {
    let first = &instances[0];
    let mut sheet = Sheet::new();
    for values in [&first.truth[..], &first.guess, &first.video] {
        let video = filmed.film(&kind.inputs(filmed, values)?)?;
        sheet = sheet.with_row(video.iter().step_by(2).map(|frame| &frame.image));
    }
    let caption = format!(
        "A {}: the video given (μ {:.0}, λ {:.0}), the guess (μ {:.0}, λ {:.0}), the fit (μ {:.2}, λ {:.2}).",
        kind.name,
        first.truth[0],
        first.truth[1],
        first.guess[0],
        first.guess[1],
        first.video[0],
        first.video[1],
    );
    let alt = "Three rows of frames: target, first guess, fit.";
    let section = Section::new(format!("A {} from its video", kind.name));
    exhibit.sheet(section, &format!("material-{}", kind.name), &sheet, (&caption, alt))
}
