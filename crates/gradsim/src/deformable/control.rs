//! Soft bodies moved to where a single picture shows them, by a network of sines (gradSim Figs. 5 and 6a, appendix E).

use std::f64::consts::TAU;

use pullback_core::drive::{Driven, SineNetwork};
use pullback_core::input_map::{InputMap, LinearMap, Transform};
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{ConfigError, Described, Schedule};
use pullback_math::Vec3;
use pullback_optim::Objective;
use pullback_optim::least_squares::LeastSquares;
use pullback_physics::world::World;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::Image;
use pullback_tasks::Goal;
use pullback_tasks::soft::{self, Size};
use pullback_video::{Frame, Pixels, Shot, VisibleWorld, film};
use serde::{Deserialize, Serialize};

use super::filmed::{Filmed, Tracks, center, loss};
use super::pictures::{overlap, square};
use super::pyramid::Pyramid;
use super::shots::{for_eyes, orbit};
use crate::descent::{AdamRate, descend};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// A body with a network over its elements.
type Body = Driven<World, SineNetwork>;

/// A body that is to move to where a picture shows it.
pub struct Task {
    name: &'static str,
    body: fn(Size) -> Result<Body, ConfigError>,
    /// Seconds, and substeps of each step of 1/60 s.
    time: (f64, usize),
    /// Ranges of the goal's center along x, m.
    goals: (f64, f64),
    /// Size of the body along x, m.
    length: f64,
    /// Goals are drawn after so many times [`SETTLING`] in which the body comes to rest under its weight.
    settling: usize,
    /// First weights, size of what is random of them, and from how many of them, the lowest losses, are descents side
    /// by side.
    starts: Starts,
    weights: f64,
    descents: usize,
    /// Goals in full.
    seeds: usize,
    rate: AdamRate,
    /// Iterations of ours, and of the paper.
    steps: usize,
    iterations: usize,
    /// Pixels along each side.
    pixels: usize,
    view: ([f64; 3], f64, f64),
    /// Softness of the pictures compared, pixels.
    softnesses: &'static [f64],
}

/// First weights of a network of so many.
type Starts = fn(Size, usize) -> Result<Vec<Vec<f64>>, ConfigError>;

/// A network without output.
fn at_rest(_size: Size, count: usize) -> Result<Vec<Vec<f64>>, ConfigError> {
    Ok(vec![vec![0.0; count]])
}

/// A bulge that runs around the wheel against its rolling, of three strengths, from eight angles.
fn bulges(size: Size, _count: usize) -> Result<Vec<Vec<f64>>, ConfigError> {
    let angles = (0..8).map(|k| TAU * f64::from(k) / 8.0);
    let strengths = [1.0, 2.0, 4.0];
    let waves = strengths.into_iter().flat_map(|gain| angles.clone().map(move |phase| (phase, gain)));
    waves.map(|(phase, gain)| soft::gear_wave(size, -1.0, phase, gain)).collect()
}

/// control-walker of the paper.
pub const WALKER: Task = Task {
    name: "walker",
    body: soft::walker,
    time: (5.0, 32),
    goals: (2.0, 4.0),
    length: 2.5,
    settling: 0,
    starts: at_rest,
    weights: 0.1,
    descents: 1,
    seeds: 3,
    rate: AdamRate { rate: 0.2, fall: 1.0, trials: &[0.35, 0.7, 1.0, 1.5, 2.0] },
    steps: 3,
    iterations: 3,
    pixels: 64,
    view: ([1.0, 0.0, 1.0], 6.0, 0.1),
    softnesses: &[1.0, 8.0, 32.0],
};

/// control-fem of the paper.
pub const GEAR: Task = Task {
    name: "gear",
    body: soft::gear,
    time: (3.0, 32),
    goals: (-2.0, -0.5),
    length: 2.6,
    settling: 30,
    starts: bulges,
    weights: 0.0,
    descents: 3,
    seeds: 6,
    rate: AdamRate { rate: 0.1, fall: 0.3, trials: &[0.25, 1.0, 3.0] },
    steps: 5,
    iterations: 40,
    pixels: 64,
    view: ([-2.2, 0.0, 1.0], 6.0, 0.2),
    softnesses: &[1.0, 8.0, 32.0],
};

/// Steps after which a body that settles is stopped, so that it neither bounces nor falls over.
const SETTLING: usize = 6;

/// A body has arrived when its center is within this part of its length from the goal's.
const ARRIVED: f64 = 0.1;

/// Where a body ended, beside the goal.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct End {
    /// Mean square of the difference of the pictures.
    image: f64,
    /// Distance of the centers, m.
    center: f64,
    /// Common area of both silhouettes over their whole area.
    overlap: f64,
}

/// One search: how many first weights were tried, how the iterate of the lowest loss of all descents ended at each
/// iteration, and the weights of the last.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Search {
    starts: usize,
    ends: Vec<End>,
    weights: Vec<f64>,
}

/// Name of a search, and what it did.
type Searches = (&'static str, fn(&Run) -> &Search);
/// Name of a search, and its ends after each iteration.
type Ends = (&'static str, fn(&Run) -> &[End]);

/// One goal: its center along x, and the searches towards it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    goal: f64,
    start: f64,
    image: Search,
    center: Search,
    random: Vec<End>,
}

/// control-walker.
pub fn walker(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    WALKER.run(setting)
}

/// control-fem.
pub fn gear(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    GEAR.run(setting)
}

/// The scene of a task with its goal.
pub struct Scene<'a> {
    task: &'a Task,
    size: Size,
    filmed: Filmed<Body>,
    /// The body at the goal, and its center.
    goal: Inputs<f64>,
    center: [f64; 3],
    picture: Image<f64>,
}

impl Task {
    /// The same for so many seconds and substeps of each step, seen on so many pixels along each side.
    #[cfg(test)]
    pub fn cut(self, time: (f64, usize), pixels: usize) -> Self {
        Task { time, pixels, ..self }
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
        let seeds = setting.seeds(self.seeds, 1);
        let iterations = setting.size(self.steps, self.steps.min(4));
        let run = |seed: usize| {
            let mut random = Random::new(seed as u64);
            let goal = random.uniform(self.goals.0, self.goals.1);
            let scene = self.scene(goal, Size::Full)?;
            let run = setting.part(
                &format!("{} to {goal:.2} m, {iterations} iterations from the best start", self.name),
                || scene.run(&mut random, iterations),
            )?;
            Ok((scene, run))
        };
        let runs = (0..seeds).map(run).collect::<Result<Vec<_>, ExperimentError>>()?;
        let mut exhibit = Exhibit::default();
        self.report(&runs, &mut exhibit)?;
        Ok(exhibit)
    }

    /// The scene with its goal, m along x.
    pub fn scene(&self, goal: f64, size: Size) -> Result<Scene<'_>, ExperimentError> {
        let body = (self.body)(size)?;
        let (visible, steps) = (VisibleWorld::new(body.field()), (self.time.0 * 60.0) as usize);
        let ([x, y, z], distance, elevation) = self.view;
        let shot = orbit(Vec3::new(x, y, z), distance, elevation, self.pixels);
        let filmed = Filmed::new(body, (steps, self.time.1), visible, shot, vec![steps])?;
        // The body as it is at first, moved along x, standing on the ground.
        let mut inputs = filmed.inputs();
        let entries = filmed.rollout.system.field().field().particle_entries();
        on_the_ground(&mut inputs.state[entries.clone()]);
        self.settle(&filmed, &mut inputs)?;
        let positions = inputs.state[entries].as_chunks_mut::<3>().0;
        let middle = positions.iter().map(|x| x[0]).sum::<f64>() / positions.len() as f64;
        positions.iter_mut().for_each(|x| x[0] += goal - middle);
        let mean = |k: usize| positions.iter().map(|x| x[k]).sum::<f64>() / positions.len() as f64;
        let center = std::array::from_fn(mean);
        let mut scene = Scene { task: self, size, filmed, goal: inputs, center, picture: Image::default() };
        scene.picture = scene.still(scene.filmed.shot)?.swap_remove(0).image;
        Ok(scene)
    }

    /// Lets a body sink under its weight, without activations.
    fn settle(&self, filmed: &Filmed<Body>, inputs: &mut Inputs<f64>) -> Result<(), ExperimentError> {
        let Rollout { system, .. } = &filmed.rollout;
        let velocities = system.layout().state.select("*.velocity")?;
        let short = Rollout::new(system, SETTLING, Schedule::StoreAll)?;
        let short = short.with_substeps(filmed.rollout.substeps())?;
        let mut still = Inputs::defaults(system, SETTLING);
        still.params[system.layout().params.slice("network.weight")?.range.clone()].fill(0.0);
        let mut ws = short.workspace::<f64>();
        for _ in 0..self.settling {
            velocities.iter().for_each(|i| inputs.state[*i] = 0.0);
            still.state.copy_from_slice(&inputs.state);
            short.simulate(&mut ws, &still, |at| {
                if at.last() {
                    inputs.state.copy_from_slice(at.state);
                }
            })?;
        }
        velocities.iter().for_each(|i| inputs.state[*i] = 0.0);
        Ok(())
    }
}

/// Moves particles up or down until the lowest is at height zero.
fn on_the_ground(positions: &mut [f64]) {
    let positions = positions.as_chunks_mut::<3>().0;
    let lowest = positions.iter().map(|x| x[2]).fold(f64::INFINITY, f64::min);
    positions.iter_mut().for_each(|x| x[2] -= lowest);
}

impl Scene<'_> {
    /// The picture of the goal, as the frame of the last step.
    fn still(&self, shot: Shot) -> Result<Vec<Frame>, ExperimentError> {
        let Filmed { rollout, visible, .. } = &self.filmed;
        let one = Rollout::new(&rollout.system, 1, Schedule::StoreAll)?;
        let mut frames = film(&one, &self.goal, visible, &shot, &[0])?;
        frames.iter_mut().for_each(|frame| frame.step = rollout.steps());
        Ok(frames)
    }

    fn map(&self) -> Result<(LinearMap, Vec<Transform>), ConfigError> {
        let (system, steps) = (&self.filmed.rollout.system, self.filmed.rollout.steps());
        let map = LinearMap::select(system.layout(), steps, &self.filmed.inputs(), "params.network.weight")?;
        let count = map.variables().len();
        Ok((map.with_bounds(&vec![(-1e3, 1e3); count])?, vec![Transform::Identity; count]))
    }

    fn inputs(&self, weights: &[f64]) -> Result<Inputs<f64>, ConfigError> {
        let mut inputs = self.filmed.inputs();
        self.map()?.0.apply(weights, &mut inputs);
        Ok(inputs)
    }

    /// Where these weights lead.
    fn end(&self, weights: &[f64]) -> Result<End, ExperimentError> {
        let (image, at) =
            self.filmed.last(&self.inputs(weights)?, center(self.filmed.rollout.system.field().field()))?;
        let off = at.iter().zip(self.center).map(|(a, b)| (a - b).powi(2)).sum::<f64>();

        Ok(End {
            image: square(&image, &self.picture),
            center: off.sqrt(),
            overlap: overlap(&image, &self.picture),
        })
    }

    /// The final picture against that of the goal, at several softnesses.
    pub fn by_picture(&self) -> Result<impl LeastSquares + use<'_>, ExperimentError> {
        let Filmed { visible, shot, .. } = &self.filmed;
        let softnesses = self.task.softnesses;
        let pyramid = Pyramid::new(visible, *shot, softnesses, Pixels::default(), |shot| self.still(shot))?;
        let residuals = pyramid.residual_count();
        self.filmed.residuals(pyramid, residuals, self.map()?, self.filmed.inputs())
    }

    /// The privileged search: the center against that of the goal, 30 times per second.
    pub fn by_center(&self) -> Result<impl LeastSquares + use<'_>, ExperimentError> {
        let moments = (1..=self.filmed.rollout.steps() / 2).map(|k| (2 * k, self.center.to_vec())).collect();
        let tracks = Tracks::to(center(self.filmed.rollout.system.field().field()), moments);
        self.filmed.motion_problem(self.map()?, self.filmed.inputs(), tracks)
    }

    fn run(&self, random: &mut Random, iterations: usize) -> Result<Run, ExperimentError> {
        let count = self.map()?.1.len();
        let size = self.task.weights;
        let noise: Vec<f64> = (0..count).map(|_| random.uniform(-size, size)).collect();
        let mut starts = (self.task.starts)(self.size, count)?;
        starts.iter_mut().flatten().zip(noise.iter().cycle()).for_each(|(weight, noise)| *weight += noise);
        let image = self.search(&self.by_picture()?, &starts, iterations)?;
        let center = self.search(&self.by_center()?, &starts, iterations)?;
        let draw = |_| {
            let weights: Vec<f64> = (0..count).map(|_| random.uniform(-1.0, 1.0)).collect();
            self.end(&weights)
        };
        let random = (0..iterations.min(4)).map(draw).collect::<Result<_, _>>()?;
        Ok(Run { goal: self.center[0], start: base_center(&self.filmed), image, center, random })
    }

    fn search(
        &self,
        problem: &dyn LeastSquares,
        starts: &[Vec<f64>],
        iterations: usize,
    ) -> Result<Search, ExperimentError> {
        let (objective, descents) = (loss(problem), self.task.descents);
        let mut ranked = Vec::new();
        for weights in starts {
            // The order of starts that are all taken does not matter.
            let value = if starts.len() > descents { objective.value(weights)? } else { 0.0 };
            ranked.push((value, weights));
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut best, mut failed) = (Vec::<(f64, End, Vec<f64>)>::new(), None);
        for (_, start) in ranked.iter().take(descents) {
            descend(&objective, start, (self.task.rate, iterations), |k, x, loss| match self.end(x) {
                Ok(end) if k == best.len() => best.push((loss, end, x.to_vec())),
                Ok(end) if loss < best[k].0 => best[k] = (loss, end, x.to_vec()),
                Ok(_) => {}
                Err(error) => failed = Some(error),
            })?;
        }
        let weights = best.last().map_or_else(Vec::new, |(_, _, weights)| weights.clone());
        let ends = best.into_iter().map(|(_, end, _)| end).collect();
        failed.map_or(Ok(Search { starts: starts.len(), ends, weights }), Err)
    }
}

/// Where the center is at first, along x.
fn base_center(filmed: &Filmed<Body>) -> f64 {
    let entries = filmed.rollout.system.field().field().particle_entries();
    let state = &filmed.inputs().state[entries];
    3.0 * state.iter().step_by(3).sum::<f64>() / state.len() as f64
}

impl Task {
    fn arrived(&self, end: &End) -> bool {
        end.center <= ARRIVED * self.length
    }

    /// The iteration after which a search arrived first.
    fn solved(&self, search: &Search) -> Option<usize> {
        search.ends.iter().position(|end| self.arrived(end))
    }

    fn report(&self, runs: &[(Scene<'_>, Run)], exhibit: &mut Exhibit) -> Result<(), ExperimentError> {
        let case = format!("control, {}", self.name);
        let mean =
            |of: &dyn Fn(&Run) -> f64| runs.iter().map(|(_, run)| of(run)).sum::<f64>() / runs.len() as f64;
        let best =
            |search: &Search, of: fn(&End) -> f64| search.ends.iter().map(of).fold(f64::INFINITY, f64::min);
        let ends: [Searches; 2] =
            [("by the picture", |run| &run.image), ("by positions (3D supervision)", |run| &run.center)];
        for (how, search) in ends {
            exhibit.row(
                &case,
                &format!("lowest distance of centers {how}"),
                (mean(&|run| best(search(run), |e| e.center)), "m"),
                None,
            );
            exhibit.row(
                &case,
                &format!("lowest difference of pictures {how}"),
                (mean(&|run| best(search(run), |e| e.image)), "1"),
                None,
            );
            exhibit.row(
                &case,
                &format!("highest overlap {how}"),
                (-mean(&|run| best(search(run), |e| -e.overlap)), "1"),
                None,
            );
            let solved: Vec<usize> = runs.iter().filter_map(|(_, run)| self.solved(search(run))).collect();
            exhibit.row(
                &case,
                &format!("solved {how}, share of goals"),
                (solved.len() as f64 / runs.len() as f64, "1"),
                None,
            );
            let most = solved.iter().max().filter(|_| solved.len() == runs.len());
            if let Some(most) = most {
                exhibit.row(
                    &case,
                    &format!("iterations until solved {how}, most"),
                    (*most as f64, "1"),
                    Some(self.iterations as f64),
                );
            }
        }
        let tried = runs.iter().map(|(_, run)| run.image.starts).max().unwrap_or(0);
        exhibit.row(&case, "first weights tried side by side", (tried as f64, "1"), None);
        exhibit.row(&case, "descents side by side", (self.descents as f64, "1"), None);
        let random = mean(&|run| run.random.iter().map(|e| e.center).sum::<f64>() / run.random.len() as f64);
        exhibit.row(&case, "distance of centers, random activations", (random, "m"), None);
        let solved: Vec<usize> = runs.iter().filter_map(|(_, run)| self.solved(&run.image)).collect();
        let share = solved.len() as f64 / runs.len() as f64;
        exhibit.goal(Goal::at_least(
            format!("{case}: share of goals reached, by a single picture"),
            share,
            1.0,
        ));
        if solved.len() == runs.len() {
            exhibit.goal(Goal::at_most(
                format!("{case}: iterations until every goal is reached, by a single picture"),
                solved.iter().fold(0, |most, n| most.max(*n)) as f64,
                self.iterations as f64,
            ));
        }

        let section = Section::new(format!("A {} that goes where a picture shows it", self.name));
        let mut sheet = Sheet::new();
        for (scene, run) in runs.iter().take(4) {
            let Filmed { rollout, visible, shot, .. } = &scene.filmed;
            let steps: Vec<usize> = (0..=5).map(|k| k * rollout.steps() / 5).collect();
            let frames =
                film(rollout, &scene.inputs(&run.image.weights)?, visible, &for_eyes(*shot), &steps)?;
            let goal = scene.still(for_eyes(*shot))?;
            sheet = sheet.with_row(goal.iter().chain(&frames).map(|frame| &frame.image));
        }
        let alt = "Rows of frames, the goal first.";
        let caption =
            "A row per goal: the picture given, then the motion of the last iterate from start to end.";
        let name = format!("control-{}", self.name);
        let section = exhibit.sheet(section, &name, &sheet, (caption, alt))?;
        let caption = "Mean over goals, with the range: difference of the final picture from the goal's, and distance of the centers.";
        let figure = self.curves(runs);
        let section =
            exhibit.figure(section, &format!("{name}-curves"), &figure, (caption, "Curves that fall."))?;
        exhibit.section(section);
        exhibit.note(format!(
            "{case}: {} goals between {} and {} m; the body starts at {:.2} m. Solved: the center within {ARRIVED} of the \
             body's length ({} m) from that of the goal.",
            runs.len(), self.goals.0, self.goals.1, runs[0].1.start, self.length,
        ));
        Ok(())
    }

    fn curves(&self, runs: &[(Scene<'_>, Run)]) -> Figure {
        let panel = |label: &str, of: fn(&End) -> f64| {
            let ends: [Ends; 3] = [
                ("by the picture", |run| &run.image.ends),
                ("by positions", |run| &run.center.ends),
                ("random", |run| &run.random),
            ];
            let series = ends.iter().enumerate().map(|(color, (name, all))| {
                let count = runs.iter().map(|(_, run)| all(run).len()).min().unwrap_or(0);
                let at = |t: usize| runs.iter().map(move |(_, run)| of(&all(run)[t]));
                let mean = |t: usize| at(t).sum::<f64>() / runs.len() as f64;
                let band =
                    |t: usize| (t as f64, at(t).fold(f64::INFINITY, f64::min), at(t).fold(0.0, f64::max));
                let points = (0..count).map(|t| (t as f64, mean(t))).collect();
                Series::new(*name, color, points).with_band((0..count).map(band).collect())
            });
            LinePanel {
                x_label: "iteration".into(),
                y_label: label.into(),
                series: series.collect(),
                ..LinePanel::default()
            }
            .into()
        };
        Figure::grid(
            "",
            2,
            vec![panel("mean square of pixels", |e| e.image), panel("distance (m)", |e| e.center)],
        )
    }
}
