//! Quantities of every particle from videos: masses of a ball, first velocities of a cloth (gradSim Table 3).

use pullback_core::input_map::{InputMap, LinearMap, Transform};
use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described};
use pullback_math::Vec3;
use pullback_physics::world::World;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_tasks::Goal;
use pullback_tasks::soft::{self, Size};
use pullback_video::{Channels, Pixels, VisibleWorld, film};
use serde::{Deserialize, Serialize};

use super::filmed::{Filmed, Fit, center, every_coordinate, fit};
use super::pyramid::Pyramid;
use super::shots::orbit;
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// What is found of every particle of a body, and how the body is filmed.
struct Task {
    name: &'static str,
    /// Which entries of the inputs.
    pattern: &'static str,
    /// Searched through.
    transform: Transform,
    /// Between which values.
    bounds: (f64, f64),
    /// Numbers of a particle, for each of which one value of all particles is found first.
    common: Option<usize>,
    steps: (usize, usize),
    frames: &'static [usize],
    /// Steps up to which frames are compared, one after the other.
    stages: &'static [usize],
    pixels: usize,
    /// What the camera looks at, from how far (m) and how high (rad).
    view: ([f64; 3], f64, f64),
    /// The paper's mean relative error from video and from states.
    paper: (f64, f64),
}

const MASS: Task = Task {
    name: "mass",
    pattern: "params.ball.mass",
    transform: Transform::Log,
    bounds: (1e-6, 1e6),
    common: None,
    steps: (48, 32),
    frames: &[27, 29, 31, 33, 35, 37, 39, 42, 45, 48],
    stages: &[33, 39, 48],
    pixels: 48,

    view: ([-0.8, 0.0, 1.0], 4.0, 0.3),
    paper: (0.048, 0.032),
};

const VELOCITY: Task = Task {
    name: "velocity",
    pattern: "state.cloth.velocity",
    transform: Transform::Identity,
    bounds: (-5.0, 5.0),
    common: Some(3),
    steps: (20, 16),
    frames: &[1, 2, 3, 4, 5, 6, 8, 11, 15, 20],
    stages: &[4, 20],
    pixels: 48,

    view: ([-4.8, 0.0, 2.3], 2.2, 0.3),
    paper: (0.026, 0.127),
};

/// Masses are drawn within this part of the usual one; coordinates of velocities within so many m/s of a common one.
const MASS_SPREAD: f64 = 0.3;
const VELOCITY_SPREAD: f64 = 0.5;
/// Softness of the pictures compared, pixels.
const SOFTNESSES: [f64; 2] = [1.0, 5.0];
/// Steps of Gauss-Newton at most.
const STEPS: usize = 20;

/// One instance: the truth, and what was found of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Instance {
    truth: Vec<f64>,
    guess: Vec<f64>,
    video: Fit,
    positions: Fit,
    center: Fit,
}

impl Instance {
    /// Σ |x − x*| / Σ |x*|
    fn error(&self, found: &[f64]) -> f64 {
        let sum = |x: &mut dyn Iterator<Item = f64>| x.map(f64::abs).sum::<f64>();
        sum(&mut found.iter().zip(&self.truth).map(|(a, b)| a - b)) / sum(&mut self.truth.iter().copied())
    }
}

/// Masses of the particles of a ball that falls and bounces.
pub fn masses(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let world = soft::ball(setting.size(Size::Full, Size::Small))?;
    let visible = VisibleWorld::new(&world);
    let (mut exhibit, filmed) = (Exhibit::default(), MASS.filmed(world, visible)?);
    let instances = MASS.instances(setting, &filmed, setting.seeds(3, 1), |random, usual| {
        let drawn = usual.iter().map(|m| m * (1.0 + random.uniform(-MASS_SPREAD, MASS_SPREAD))).collect();
        (drawn, usual.to_vec())
    })?;
    MASS.report(&filmed, &instances, &mut exhibit)?;
    exhibit.note(format!(
        "Masses: {} instances of a ball of {} particles, true masses within {:.0} % of the usual ones, which are the guess.",
        instances.len(),
        instances[0].truth.len(),
        100.0 * MASS_SPREAD,
    ));
    Ok(exhibit)
}

/// First velocities of the particles of a cloth.
pub fn velocities(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let world = soft::thrown(setting.size((8, 8), (4, 4)))?;
    let visible = VisibleWorld::new(&world);
    let (mut exhibit, filmed) = (Exhibit::default(), VELOCITY.filmed(world, visible)?);
    let instances = VELOCITY.instances(setting, &filmed, setting.seeds(3, 1), |random, usual| {
        let common: [f64; 3] = std::array::from_fn(|_| random.uniform(-1.0, 1.0));
        let own =
            |i: usize, random: &mut Random| common[i % 3] + random.uniform(-VELOCITY_SPREAD, VELOCITY_SPREAD);
        ((0..usual.len()).map(|i| usual[i] + own(i, random)).collect(), usual.to_vec())
    })?;
    VELOCITY.report(&filmed, &instances, &mut exhibit)?;
    exhibit.note(format!(
        "Velocities: {} instances of a cloth of {} particles; true velocities are (1, 0, 0) m/s, the guess, and up to 1 m/s more \
         along each axis for all and {VELOCITY_SPREAD} m/s for each.",
        instances.len(),
        instances[0].truth.len() / 3,
    ));
    Ok(exhibit)
}

impl Task {
    fn filmed(&self, world: World, visible: VisibleWorld) -> Result<Filmed<World>, ExperimentError> {
        let ([x, y, z], distance, elevation) = self.view;
        let shot = orbit(Vec3::new(x, y, z), distance, elevation, self.pixels);
        Ok(Filmed::new(world, self.steps, visible, shot, self.frames.to_vec())?)
    }

    fn map(&self, filmed: &Filmed<World>) -> Result<(LinearMap, Vec<Transform>), ConfigError> {
        let layout = filmed.rollout.system.layout();
        let map = LinearMap::select(layout, filmed.rollout.steps(), &filmed.inputs(), self.pattern)?;
        let count = map.variables().len();
        Ok((map.with_bounds(&vec![self.bounds; count])?, vec![self.transform; count]))
    }

    /// The inputs with these values.
    fn inputs(&self, filmed: &Filmed<World>, values: &[f64]) -> Result<Inputs<f64>, ConfigError> {
        let mut inputs = filmed.inputs();
        self.map(filmed)?.0.apply(values, &mut inputs);
        Ok(inputs)
    }

    /// Instances whose truth and guess `draw` makes of the usual values.
    fn instances(
        &self,
        setting: &Setting<'_>,
        filmed: &Filmed<World>,
        count: usize,
        draw: impl Fn(&mut Random, &[f64]) -> (Vec<f64>, Vec<f64>),
    ) -> Result<Vec<Instance>, ExperimentError> {
        let map = self.map(filmed)?.0;
        let variables = map.variables();
        let usual: Vec<f64> = variables.iter().map(|v| v.start).collect();
        let instance = |seed: usize| {
            let (truth, guess) = draw(&mut Random::new(100 + seed as u64), &usual);
            setting.part(&format!("{} of {} {seed}", self.name, usual.len()), || {
                self.instance(filmed, truth, guess)
            })
        };
        (0..count).map(instance).collect()
    }

    fn instance(
        &self,
        filmed: &Filmed<World>,
        truth: Vec<f64>,
        guess: Vec<f64>,
    ) -> Result<Instance, ExperimentError> {
        let from = self.inputs(filmed, &truth)?;
        let world = filmed.rollout.system.field();
        let video = self.by_stages(filmed, &guess, |part, map, start| {
            // Coverage tells nothing that colors on black do not tell.
            let pixels = Pixels { channels: Channels::Color, ..Pixels::default() };
            let Filmed { rollout, visible, shot, frames } = part;
            let from = Inputs { controls: Vec::new(), ..from.clone() };
            let video = Pyramid::new(visible, *shot, &SOFTNESSES, pixels, |shot| {
                Ok(film(rollout, &from, visible, &shot, frames)?)
            })?;
            let residuals = video.residual_count();
            fit(&part.residuals(video, residuals, map, part.inputs())?, start, STEPS)
        })?;
        let [positions, center] = [every_coordinate(world), center(world)].map(|groups| {
            self.by_stages(filmed, &guess, |part, map, start| {
                let tracks = part.track(&from, groups.clone())?;
                fit(&part.motion_problem(map, part.inputs(), tracks)?, start, STEPS)
            })
        });
        Ok(Instance { truth, guess, video, positions: positions?, center: center? })
    }

    /// Fits to longer and longer parts of the motion, each from where the one before ended. Numbers that particles may
    /// have in common are found before their own.
    fn by_stages(
        &self,
        filmed: &Filmed<World>,
        guess: &[f64],
        fit: impl Fn(&Filmed<World>, (LinearMap, Vec<Transform>), &[f64]) -> Result<Fit, ExperimentError>,
    ) -> Result<Fit, ExperimentError> {
        let mut all = Fit { found: guess.to_vec(), losses: Vec::new() };
        let part = |steps: usize| {
            let frames = self.frames.iter().copied().filter(|frame| *frame <= steps).collect();
            let (world, visible) = (filmed.rollout.system.field().clone(), filmed.visible.clone());
            Filmed::new(world, (steps, self.steps.1), visible, filmed.shot, frames)
        };
        if let Some(count) = self.common {
            let part = part(filmed.rollout.steps())?;
            let (map, mut transforms) = self.map(&part)?;
            transforms.truncate(count);
            let stage = fit(&part, (map.with_period(count), transforms), &guess[..count])?;
            all.found = stage.found.iter().copied().cycle().take(guess.len()).collect();
            all.losses.extend(stage.losses);
        }
        for steps in self.stages {
            let part = part(*steps)?;
            let stage = fit(&part, self.map(&part)?, &all.found)?;
            all.found = stage.found;
            all.losses.extend(stage.losses);
        }
        Ok(all)
    }

    fn report(
        &self,
        filmed: &Filmed<World>,
        instances: &[Instance],
        exhibit: &mut Exhibit,
    ) -> Result<(), ExperimentError> {
        let case = format!("{} of each particle", self.name);
        let mean = |of: &dyn Fn(&Instance) -> &[f64]| {
            instances.iter().map(|i| i.error(of(i))).sum::<f64>() / instances.len() as f64
        };
        let video = mean(&|i| &i.video.found);
        let metric = |how: &str| format!("relative error {how}");
        exhibit.row(&case, &metric("from video"), (video, "1"), Some(self.paper.0));
        let positions = mean(&|i| &i.positions.found);
        exhibit.row(&case, &metric("from positions (3D supervision)"), (positions, "1"), Some(self.paper.1));
        let center = mean(&|i| &i.center.found);
        exhibit.row(
            &case,
            &metric("from the center of mass (3D supervision)"),
            (center, "1"),
            Some(self.paper.1),
        );
        exhibit.row(&case, &metric("of the guess"), (mean(&|i| &i.guess), "1"), None);
        exhibit.goal(Goal::at_most(format!("{case}: relative error from video"), video, self.paper.0));

        let first = &instances[0];
        let mut sheet = Sheet::new();
        for values in [&first.truth, &first.guess, &first.video.found] {
            let video = filmed.film(&self.inputs(filmed, values)?)?;
            sheet = sheet.with_row(video.iter().map(|frame| &frame.image));
        }
        let section = Section::new(format!("The {} of each particle from a video", self.name));
        let alt = "Three rows of frames: target, first guess, fit.";
        let name = format!("particles-{}", self.name);
        let section =
            exhibit.sheet(section, &name, &sheet, ("The video given, the guess and the fit.", alt))?;
        let caption = "Left: values found from the video over true ones. Right: mean square of pixels over steps of Gauss-Newton.";
        let alt = "Dots on the diagonal; curves that fall.";
        let section =
            exhibit.figure(section, &format!("{name}-fit"), &figure(self.name, instances), (caption, alt))?;
        exhibit.section(section);
        Ok(())
    }
}

fn figure(name: &str, instances: &[Instance]) -> Figure {
    let dots = instances.iter().enumerate().map(|(i, one)| {
        let points = one.truth.iter().copied().zip(one.video.found.iter().copied()).collect();
        Series { width: 1.0, ..Series::new("", i, points).dots() }
    });
    let unit = if name == "mass" { "kg" } else { "m/s" };
    let scatter = LinePanel {
        x_label: format!("true {name} ({unit})"),
        y_label: format!("found ({unit})"),
        series: dots.collect(),
        ..LinePanel::default()
    };
    let curves = instances.iter().enumerate().map(|(i, one)| {
        let losses = one.video.losses.iter().enumerate();
        Series::new("", i, losses.map(|(k, loss)| (k as f64, *loss)).collect())
    });
    let losses = LinePanel {
        x_label: "step".into(),
        y_label: "mean square of pixels".into(),
        series: curves.collect(),
        log_y: true,
        ..LinePanel::default()
    };
    Figure::grid("", 2, vec![scatter.into(), losses.into()])
}
