//! A cloth thrown to where a single picture shows it (gradSim Fig. 6b).

use pullback_core::Described;
use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Variable};
use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_math::Vec3;
use pullback_optim::least_squares::{GaussNewton, LeastSquares};
use pullback_physics::world::World;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::Image;
use pullback_tasks::Goal;
use pullback_tasks::soft;
use pullback_video::{Pixels, VisibleWorld, film};
use serde::{Deserialize, Serialize};

use super::filmed::{Filmed, center};
use super::pictures::{overlap, square};
use super::pyramid::Pyramid;
use super::shots::{for_eyes, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// Edge of a cell, m; cells along each side; seconds; substeps of each step of 1/60 s.
const CELL: f64 = 0.125;
const CELLS: (f64, f64) = (8.0, 31.0);
const STEPS: usize = 90;
const SUBSTEPS: usize = 16;
/// Pixels along each side, and softness of the pictures compared, one group after the other: what is far apart is seen
/// on soft pictures alone.
const PIXELS: usize = 96;
const SOFTNESSES: [&[f64]; 4] = [&[48.0], &[24.0], &[8.0], &[1.0, 4.0]];
/// Velocity that searches start from, m/s, and ranges of those of goals, which stay in the picture.
const FIRST: [f64; 3] = [1.0, 0.0, 0.0];
const GOALS: [(f64, f64); 3] = [(1.0, 5.0), (-0.7, 0.7), (-1.0, 4.0)];
/// Iterations of the paper.
const ITERATIONS: usize = 20;
/// A cloth has arrived when its center is within this part of its width from the goal's.
const ARRIVED: f64 = 0.1;

/// Where an iterate ended, beside the goal.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct End {
    /// Mean square of the difference of the pictures.
    image: f64,
    /// Distance of the centers, over the width of the cloth.
    center: f64,
    /// Common area of both silhouettes over their whole area.
    overlap: f64,
}

/// Name of a search, and its ends after each iteration.
type Ends = (&'static str, fn(&Run) -> &[End]);

/// One goal, and the searches towards it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    velocity: [f64; 3],
    found: [f64; 3],
    image: Vec<End>,
    center: Vec<End>,
    random: Vec<End>,
}

/// A cloth and where it is to end.
struct Scene {
    filmed: Filmed<World>,
    width: f64,
    goal: Vec<f64>,
    picture: Image<f64>,
}

impl Scene {
    fn new(cells: (usize, usize), velocity: [f64; 3]) -> Result<Self, ExperimentError> {
        let world = soft::thrown(cells)?;
        let visible = VisibleWorld::new(&world);
        let shot = orbit(Vec3::new(-2.0, 0.0, -1.0), 10.0, 0.2, PIXELS);
        let filmed = Filmed::new(world, (STEPS, SUBSTEPS), visible, shot, vec![STEPS])?;
        let width = CELL * cells.0.max(cells.1) as f64;
        let mut scene = Scene { filmed, width, goal: Vec::new(), picture: Image::default() };
        let inputs = scene.inputs(&velocity);
        scene.goal =
            scene.filmed.track(&inputs, center(scene.filmed.rollout.system.field()))?.last().to_vec();
        scene.picture = scene.filmed.film(&inputs)?.swap_remove(0).image;
        Ok(scene)
    }

    /// One velocity of all particles.
    fn map(&self) -> (LinearMap, Vec<Transform>) {
        let axis =
            |(name, start): (&str, f64)| Variable::new(format!("velocity.{name}"), "m/s", (-8.0, 8.0), start);
        let mut map = LinearMap::new(["x", "y", "z"].into_iter().zip(FIRST).map(axis).collect());
        let layout = self.filmed.rollout.system.layout();
        let velocities = layout.state.slices().iter().filter(|s| s.name.ends_with(".velocity"));
        for (i, entry) in velocities.flat_map(|s| s.range.clone()).enumerate() {
            map.tie(InputEntry::State(entry), 0.0, [(i % 3, 1.0)]);
        }
        (map, vec![Transform::Identity; 3])
    }

    fn inputs(&self, velocity: &[f64]) -> Inputs<f64> {
        let mut inputs = self.filmed.inputs();
        self.map().0.apply(velocity, &mut inputs);
        inputs
    }

    fn end(&self, velocity: &[f64]) -> Result<End, ExperimentError> {
        let (image, at) =
            self.filmed.last(&self.inputs(velocity), center(self.filmed.rollout.system.field()))?;
        let off: f64 = at.iter().zip(&self.goal).map(|(a, b)| (a - b).powi(2)).sum();
        Ok(End {
            image: square(&image, &self.picture),
            center: off.sqrt() / self.width,
            overlap: overlap(&image, &self.picture),
        })
    }

    fn run(
        &self,
        velocity: [f64; 3],
        random: &mut Random,
        iterations: usize,
    ) -> Result<Run, ExperimentError> {
        let Filmed { visible, shot, .. } = &self.filmed;
        let base = self.filmed.inputs();
        let goal = self.inputs(&velocity);
        let (mut image, mut found) = (vec![self.end(&FIRST)?], FIRST.to_vec());
        for softnesses in SOFTNESSES {
            let pyramid = Pyramid::new(visible, *shot, softnesses, Pixels::default(), |shot| {
                Ok(film(&self.filmed.rollout, &goal, visible, &shot, &[STEPS])?)
            })?;
            let count = pyramid.residual_count();
            let seen = self.filmed.residuals(pyramid, count, self.map(), base.clone())?;
            let steps = (iterations / SOFTNESSES.len()).min(iterations + 1 - image.len());
            image.extend(self.search(&seen, &mut found, steps)?);
        }
        let tracks = self.filmed.track(&goal, center(self.filmed.rollout.system.field()))?;
        let (mut center, mut at) = (vec![self.end(&FIRST)?], FIRST.to_vec());
        center.extend(self.search(
            &self.filmed.motion_problem(self.map(), base, tracks)?,
            &mut at,
            iterations,
        )?);
        // The last iterate stays.
        for ends in [&mut image, &mut center] {
            ends.resize(iterations + 1, ends[ends.len() - 1]);
        }
        let mut draw = || drawn(random);
        let random = (0..iterations).map(|_| self.end(&draw())).collect::<Result<_, _>>()?;
        Ok(Run { velocity, found: [found[0], found[1], found[2]], image, center, random })
    }

    /// Steps of Gauss-Newton from `velocity`, which becomes the last iterate: where each ended.
    fn search(
        &self,
        problem: &dyn LeastSquares,
        velocity: &mut Vec<f64>,
        steps: usize,
    ) -> Result<Vec<End>, ExperimentError> {
        let config = GaussNewton { steps, ..GaussNewton::default() };
        let (mut state, mut ends) = (config.begin(problem, velocity.clone())?, Vec::new());
        while state.end.is_none() && ends.len() < steps {
            config.step(problem, &mut state)?;
            ends.push(self.end(&state.at.shared)?);
        }
        *velocity = state.at.shared;
        Ok(ends)
    }
}

/// A velocity of a goal.
fn drawn(random: &mut Random) -> [f64; 3] {
    GOALS.map(|(low, high)| random.uniform(low, high))
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let seeds = setting.seeds(5, 2);
    let largest = setting.size(CELLS.1, 12.0);
    let one = |seed: usize| {
        let mut random = Random::new(seed as u64);
        let cells = (
            random.uniform(CELLS.0, largest + 1.0) as usize,
            random.uniform(CELLS.0, largest + 1.0) as usize,
        );
        let velocity = drawn(&mut random);
        let scene = Scene::new(cells, velocity)?;
        let name = format!("cloth {seed} of {} x {} cells", cells.0, cells.1);
        let run = setting.part(&name, || scene.run(velocity, &mut random, ITERATIONS))?;
        Ok((scene, run))
    };
    let runs = (0..seeds).map(one).collect::<Result<Vec<_>, ExperimentError>>()?;
    report(&runs)
}

fn report(runs: &[(Scene, Run)]) -> Result<Exhibit, ExperimentError> {
    let (mut exhibit, case) = (Exhibit::default(), "control, cloth");
    let mean =
        |of: &dyn Fn(&Run) -> f64| runs.iter().map(|(_, run)| of(run)).sum::<f64>() / runs.len() as f64;
    let solved = |ends: &[End]| ends.iter().position(|end| end.center <= ARRIVED);
    let ends: [Ends; 2] =
        [("by the picture", |run| &run.image), ("by the center (3D supervision)", |run| &run.center)];
    for (how, of) in ends {
        let last = |of: fn(&Run) -> &[End], x: fn(&End) -> f64| mean(&|run| x(&of(run)[of(run).len() - 1]));
        exhibit.row(
            case,
            &format!("distance of centers over the width {how}"),
            (last(of, |e| e.center), "1"),
            None,
        );
        exhibit.row(case, &format!("difference of pictures {how}"), (last(of, |e| e.image), "1"), None);
        exhibit.row(case, &format!("overlap {how}"), (last(of, |e| e.overlap), "1"), None);
        let all: Option<Vec<usize>> = runs.iter().map(|(_, run)| solved(of(run))).collect();
        if let Some(most) = all.and_then(|all| all.into_iter().max()) {
            let metric = format!("iterations until solved {how}, most");
            exhibit.row(case, &metric, (most as f64, "1"), Some(ITERATIONS as f64));
        }
    }
    let random = mean(&|run| run.random.iter().map(|e| e.center).sum::<f64>() / run.random.len() as f64);
    exhibit.row(case, "distance of centers over the width, random velocities", (random, "1"), None);
    let error = |run: &Run| {
        let off: f64 = run.found.iter().zip(run.velocity).map(|(a, b)| (a - b).powi(2)).sum();
        off.sqrt() / run.velocity.iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    exhibit.row(case, "relative error of the velocity from the picture", (mean(&error), "1"), None);
    let most =
        runs.iter().map(|(_, run)| solved(&run.image).unwrap_or(ITERATIONS + 1) as f64).fold(0.0, f64::max);
    let name = format!("{case}: iterations until every goal is reached, by a single picture");
    exhibit.goal(Goal::at_most(name, most, ITERATIONS as f64));

    let mut sheet = Sheet::new();
    for (scene, run) in runs {
        let Filmed { rollout, visible, shot, .. } = &scene.filmed;
        let steps: Vec<usize> = (0..=5).map(|k| k * STEPS / 5).collect();
        let shot = for_eyes(*shot);
        let goal = film(rollout, &scene.inputs(&run.velocity), visible, &shot, &[STEPS])?;
        let frames = film(rollout, &scene.inputs(&run.found), visible, &shot, &steps)?;
        sheet = sheet.with_row(goal.iter().chain(&frames).map(|frame| &frame.image));
    }
    let caption = "A row per goal: the picture given, then the flight of the last iterate from start to end.";
    let section = Section::new("A cloth thrown to where a picture shows it");
    let section =
        exhibit.sheet(section, "control-cloth", &sheet, (caption, "Rows of frames, the goal first."))?;
    let caption = "Mean over goals, with the range: difference of the final picture from the goal's, and distance of the centers.";
    let section =
        exhibit.figure(section, "control-cloth-curves", &curves(runs), (caption, "Curves that fall."))?;
    exhibit.section(section);
    exhibit.note(format!(
        "{case}: {} cloths of {} to {} cells a side; goals are where velocities in {GOALS:?} m/s lead, so that \
         they can be reached; searches start from {FIRST:?} m/s and are Gauss-Newton. Solved: the center within {ARRIVED} of the cloth's width from that of \
         the goal.",
        runs.len(), CELLS.0, CELLS.1,
    ));
    Ok(exhibit)
}

fn curves(runs: &[(Scene, Run)]) -> Figure {
    let panel = |label: &str, of: fn(&End) -> f64| {
        let ends: [Ends; 3] = [
            ("by the picture", |run| &run.image),
            ("by the center", |run| &run.center),
            ("random", |run| &run.random),
        ];
        let series = ends.iter().enumerate().map(|(color, (name, all))| {
            let count = runs.iter().map(|(_, run)| all(run).len()).min().unwrap_or(0);
            let at = |t: usize| runs.iter().map(move |(_, run)| of(&all(run)[t]));
            let mean = |t: usize| at(t).sum::<f64>() / runs.len() as f64;
            let points = (0..count).map(|t| (t as f64, mean(t))).collect();
            Series::new(*name, color, points)
        });
        LinePanel {
            x_label: "iteration".into(),
            y_label: label.into(),
            series: series.collect(),
            log_y: true,
            ..LinePanel::default()
        }
        .into()
    };
    let pixels = panel("mean square of pixels", |e| e.image.max(1e-12));
    Figure::grid("", 2, vec![pixels, panel("distance over width", |e| e.center.max(1e-8))])
}
