//! Lengths and first angles of pendula from videos (gradSim C.3): a simple one, and a double one, which is chaotic.

use pullback_core::integrator::Integrated;
use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Variable};
use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described, System};
use pullback_math::{Dual, Vec3};
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_plot::Section;
use pullback_tasks::Goal;
use pullback_video::Pixels;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chain::VisibleChain;
use super::search::{Growth, search};
use crate::deformable::filmed::{Field, Filmed};
use crate::deformable::shots::{every, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// A pendulum in front of a camera: slices of its lengths, and how the camera sees it.
struct Task {
    name: &'static str,
    lengths: &'static [&'static str],
    /// How far the camera is, m.
    distance: f64,
}

const SIMPLE: Task = Task { name: "pendulum", lengths: &["length"], distance: 3.0 };
const DOUBLE: Task =
    Task { name: "double pendulum", lengths: &["upper.length", "lower.length"], distance: 4.6 };

/// Steps of 1/60 s and substeps of each; every second step has a frame.
const STEPS: (usize, usize) = (120, 8);
const STRIDE: usize = 2;
const PIXELS: usize = 64;
/// Ranges of lengths, m, and of first angles, rad.
const LENGTH: (f64, f64) = (0.6, 1.2);
const ANGLE: (f64, f64) = (-1.5, 1.5);
const GROWTH: Growth<'_> = Growth { lengths: &[3, 8, 16, 30, 60], steps: (8, 30), exact: 1e-14 };
const STARTS: usize = 8;

/// Lengths, then angles.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Estimate {
    truth: Vec<f64>,
    guess: Vec<f64>,
    found: Vec<f64>,
    starts: usize,
}

impl Task {
    fn filmed<F: Field>(&self, field: F) -> Result<Filmed<F, VisibleChain>, ExperimentError>
    where
        Integrated<F>: System<f64> + System<Dual<f64>>,
    {
        let lengths = self.entries(&field)?;
        let visible = VisibleChain::new(lengths.into_iter().enumerate().collect());
        let shot = orbit(Vec3::new(0.0, 0.0, -0.35 * self.lengths.len() as f64), self.distance, 0.1, PIXELS);
        Ok(Filmed::new(field, STEPS, visible, shot, every(STRIDE, STEPS.0))?)
    }

    fn map(&self, lengths: &[usize]) -> (LinearMap, Vec<Transform>) {
        let n = lengths.len();
        let length = |name: &&str| Variable::new(*name, "m", (1e-3, 1e3), 1.0);
        let angle = |i: usize| Variable::new(format!("angle {i}"), "rad", (-10.0, 10.0), 0.0);
        let variables = self.lengths.iter().map(length).chain((0..n).map(angle)).collect();
        let entries = lengths.iter().map(|i| InputEntry::Params(*i)).chain((0..n).map(InputEntry::State));
        let transforms = (0..2 * n).map(|i| if i < n { Transform::Log } else { Transform::Identity });
        (LinearMap::direct(variables, entries), transforms.collect())
    }

    fn drawn(&self, random: &mut Random) -> Vec<f64> {
        let n = self.lengths.len();
        let range = |i: usize| if i < n { LENGTH } else { ANGLE };
        (0..2 * n).map(|i| random.uniform(range(i).0, range(i).1)).collect()
    }

    /// Entries of the parameters that are the lengths.
    fn entries(&self, described: &impl Described) -> Result<Vec<usize>, ConfigError> {
        self.lengths.iter().map(|name| described.layout().params.index_of(name)).collect()
    }

    /// The inputs with these lengths and angles.
    fn inputs<F: Field>(
        &self,
        filmed: &Filmed<F, VisibleChain>,
        values: &[f64],
    ) -> Result<Inputs<f64>, ConfigError>
    where
        Integrated<F>: System<f64> + System<Dual<f64>>,
    {
        let mut inputs = filmed.inputs();
        self.map(&self.entries(&filmed.rollout.system)?).0.apply(values, &mut inputs);
        Ok(inputs)
    }

    fn estimate<F: Field>(&self, field: F, seed: usize) -> Result<Estimate, ExperimentError>
    where
        Integrated<F>: System<f64> + System<Dual<f64>>,
    {
        let filmed = self.filmed(field)?;
        let lengths = self.entries(&filmed.rollout.system)?;
        let mut random = Random::stream(13, &[self.lengths.len() as u64, seed as u64]);
        let truth = self.drawn(&mut random);
        let starts: Vec<Vec<f64>> = (0..STARTS).map(|_| self.drawn(&mut random)).collect();
        let video = filmed.film(&self.inputs(&filmed, &truth)?)?;
        let (fit, tried) = search(GROWTH, starts.iter().cloned(), |n| {
            filmed.from_beginning(self.map(&lengths), filmed.inputs(), &video[..n], Pixels::default())
        })?;
        Ok(Estimate { truth, guess: starts[0].clone(), found: fit.found, starts: tried })
    }

    /// The video given, the guess and the fit.
    fn sheet<F: Field>(&self, field: F, estimate: &Estimate) -> Result<Sheet, ExperimentError>
    where
        Integrated<F>: System<f64> + System<Dual<f64>>,
    {
        let mut filmed = self.filmed(field)?;
        filmed.frames = every(STEPS.0 / 8, STEPS.0);
        let mut sheet = Sheet::new();
        for values in [&estimate.truth, &estimate.guess, &estimate.found] {
            let video = filmed.film(&self.inputs(&filmed, values)?)?;
            sheet = sheet.with_row(video.iter().map(|frame| &frame.image));
        }
        Ok(sheet)
    }
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let count = setting.seeds(10, 2);
    let mut exhibit = Exhibit::default();
    report(setting, &SIMPLE, count, SimplePendulum::default, &mut exhibit)?;
    report(setting, &DOUBLE, count, DoublePendulum::default, &mut exhibit)?;
    exhibit.note(format!(
        "Pendula: {count} of each, 60 frames over 2 s of {PIXELS} x {PIXELS} pixels; lengths {} to {} m and first angles {} to \
         {} rad, true values and guesses alike. The paper names the experiment without figures.",
        LENGTH.0, LENGTH.1, ANGLE.0, ANGLE.1,
    ));
    Ok(exhibit)
}

fn report<F: Field>(
    setting: &Setting<'_>,
    task: &Task,
    count: usize,
    field: impl Fn() -> F + Sync,
    exhibit: &mut Exhibit,
) -> Result<(), ExperimentError>
where
    Integrated<F>: System<f64> + System<Dual<f64>>,
{
    let one = |seed: usize| {
        setting.part(&format!("{} {seed}", task.name), || task.estimate(field(), seed))
    };
    let all = (0..count).into_par_iter().map(one).collect::<Result<Vec<_>, ExperimentError>>()?;
    let n = task.lengths.len();
    let mean = |of: &dyn Fn(&Estimate) -> f64| all.iter().map(of).sum::<f64>() / count as f64;
    let lengths = |a: &[f64], b: &[f64]| (0..n).map(|i| (a[i] / b[i] - 1.0).abs()).sum::<f64>() / n as f64;
    let angles = |a: &[f64], b: &[f64]| (n..2 * n).map(|i| (a[i] - b[i]).abs()).sum::<f64>() / n as f64;
    let case = format!("{} from video", task.name);
    let found = mean(&|e| lengths(&e.found, &e.truth));
    exhibit.row(&case, "mean relative error of lengths", (found, "1"), None);
    exhibit.row(&case, "mean error of first angles", (mean(&|e| angles(&e.found, &e.truth)), "rad"), None);
    let guess = mean(&|e| lengths(&e.guess, &e.truth));
    exhibit.row(&case, "mean relative error of lengths, the guess", (guess, "1"), None);
    exhibit.row(&case, "starts, mean", (mean(&|e| e.starts as f64), "1"), None);
    exhibit.goal(Goal::at_most(format!("{case}: mean relative error of lengths"), found, 1e-4));
    let sheet = task.sheet(field(), &all[0])?;
    let caption = "The video given, the guess and the fit.";
    let section = Section::new(format!("A {} from a video", task.name));
    let name = task.name.replace(' ', "-");
    let section = exhibit.sheet(section, &name, &sheet, (caption, "Three rows of frames."))?;
    exhibit.section(section);
    Ok(())
}
