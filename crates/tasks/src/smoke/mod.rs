//! Scenes of smoke, and tasks that give it a shape.
//!
//! z is up. Walls are closed. Constants are ours: gradSim (C.4) names the method and shows a pattern, without
//! numbers.
//!
//! | scene | cells | step | what happens |
//! |---|---|---|---|
//! | `smoke-plume-2d` | 64 × 96 of 1/64 m, MacCormack | 1/60 s | smoke rises from a slot around a disc; buoyancy 2 m/s², confinement 0.3, damping and dissipation 0.1 1/s |
//! | `smoke-plume-3d` | 32 × 32 × 48 of 1/32 m | 1/60 s | the same in three dimensions, around a ball |
//!
//! Gradients are checked in every entry of small versions, and in the scenes along random directions.

pub mod objectives;
mod shapes;

use std::ops::ControlFlow;
use std::sync::Arc;

use pullback_core::gradcheck::Report;
use pullback_core::picture::Picture;
use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_core::rollout::{Inputs, Sample};
use pullback_core::sources::GRADSIM;
use pullback_core::{ConfigError, Erased, Info, StepError, System};
use pullback_math::{Dual, Vec3};
use pullback_optim::least_squares::LeastSquares;
use pullback_physics::articulated::Keyframe;
use pullback_physics::smoke::camera::{Camera, Lens};
use pullback_physics::smoke::march::{Look, Marcher};
use pullback_physics::smoke::{Grid, Scheme, Settings, Smoke, SolveTolerance};
use pullback_replay::Replay;
use pullback_video::look::Depict;

use crate::depict::depict_smoke;
use crate::identify::RecordedMotion;
use crate::recording::Stage;
use crate::scene::{About, BuiltIn, Checking, Scene};
use crate::scenes::{BuiltScene, SceneEntry, SceneOptions, SceneSpec};

/// The scenes.
pub const SCENES: &[SceneEntry] = &[
    Entry::cited(
        "smoke-plume-2d",
        "smoke rises from a slot around a disc",
        GRADSIM.at("C.4"),
        SceneSpec::Smoke(SmokeSpec { horizon: 4.0, build: plume::<2> }),
    ),
    Entry::cited(
        "smoke-plume-3d",
        "smoke rises from a hole around a ball",
        GRADSIM.at("C.4"),
        SceneSpec::Smoke(SmokeSpec { horizon: 2.5, build: plume::<3> }),
    ),
];

/// How a scene of smoke is built.
#[derive(Clone, Copy, Debug)]
pub struct SmokeSpec {
    /// Seconds after which there is nothing new to see.
    pub horizon: f64,
    build: fn(About, f64) -> BuiltScene,
}

impl SmokeSpec {
    pub(crate) fn build(self, about: About, options: SceneOptions) -> BuiltScene {
        if options.integrator.is_some() {
            let why = "smoke has a scheme of its own: --method and --tolerance do not apply";
            return Err(ConfigError::new(format!("{}: {why}", about.name)));
        }
        (self.build)(about, options.dt.unwrap_or(STEP))
    }
}

/// Seconds per step.
const STEP: f64 = 1.0 / 60.0;
/// So exact that a solve adds nothing to the error of a gradient.
const PRESSURE: SolveTolerance = SolveTolerance { relative: 1e-12, iterations: 100 };

/// A plume in so many cells per meter.
fn plume_system<const D: usize>(cells_per_meter: usize, dt: f64) -> Result<Smoke<D>, ConfigError> {
    let mut cells = [cells_per_meter; D];
    cells[D - 1] = cells_per_meter * 3 / 2;
    let h = 1.0 / cells_per_meter as f64;
    // In coarse grids as wide as a cell, so that there is one.
    let (ball, slot) = (f64::max(0.13, 0.8 * h), f64::max(0.12, 0.8 * h));
    let middle = |x: &[f64; D]| x[..D - 1].iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>();
    let grid =
        Grid::<D>::new(cells, h).with_obstacle(|x| middle(&x) + (x[D - 1] - 0.7).powi(2) < ball * ball);
    let share = |i: usize| {
        let x = grid.center(i);
        if middle(&x) < slot * slot && (0.05..0.15).contains(&x[D - 1]) { 1.0 } else { 0.0 }
    };
    let share = (0..grid.len()).map(share).collect();
    let settings = Settings {
        scheme: if D == 2 { Scheme::MacCormack } else { Scheme::SemiLagrangian },
        buoyancy: Some(2.0),
        damping: Some(0.1),
        dissipation: Some(0.1),
        confinement: Some(0.3),
        pressure: PRESSURE,
        ..Settings::default()
    };
    Smoke::with_source(grid, settings, dt, share, 4.0)
}

/// The scene with its small version.
fn plume<const D: usize>(about: About, dt: f64) -> BuiltScene
where
    Smoke<D>: System<f64> + System<Dual<f64>>,
{
    let (full, small) = if D == 2 { (64, 8) } else { (32, 4) };
    let small = SmokeScene::new(&about, plume_system::<D>(small, dt)?, None);
    let full = SmokeScene::new(&about, plume_system::<D>(full, dt)?, Some(Box::new(small)));
    Ok(Box::new(full))
}

fn built_in<const D: usize>(about: &About, system: &Arc<Smoke<D>>, small: Option<Box<dyn Scene>>) -> BuiltIn
where
    Smoke<D>: System<f64> + System<Dual<f64>>,
{
    let shaken = shaken(system);
    let seen = system.clone();
    BuiltIn {
        about: about.clone(),
        dt: system.dt(),
        substeps: 1,
        probes: vec![("in a random flow".to_owned(), shaken.clone())],
        rollout_from: ("a random flow".to_owned(), shaken),
        keyframes: Vec::new(),
        settle: 0,
        recorder: None,
        depiction: Some(Box::new(move || depict_smoke(&seen))),
        sensing: None,
        robot: None,
        // Advection traces backwards and pressure is solved for: no step is too large to be stable.
        step_limit: None,
        energy: None,
        // Forward mode is the strict check: differences step over the kinks of thousands of traces.
        difference_tolerance: 1e-2,
        system: Erased::from(system.clone()),
        small,
    }
}

/// Smoke of any density everywhere, in any motion.
fn shaken<const D: usize>(smoke: &Smoke<D>) -> Vec<f64> {
    let (mut random, n) = (Random::new(11), smoke.grid().len());
    let mut state: Vec<f64> = (0..D * n).map(|_| random.uniform(-1.0, 1.0)).collect();
    state.extend((0..n).map(|_| random.uniform(0.2, 1.0)));
    state
}

/// A scene that shows its density.
struct SmokeScene<const D: usize> {
    system: Arc<Smoke<D>>,
    shown: BuiltIn,
}

impl<const D: usize> SmokeScene<D>
where
    Smoke<D>: System<f64> + System<Dual<f64>>,
{
    fn new(about: &About, system: Smoke<D>, small: Option<Box<dyn Scene>>) -> Self {
        let system = Arc::new(system);
        SmokeScene { shown: built_in(about, &system, small), system }
    }
}

impl<const D: usize> Scene for SmokeScene<D>
where
    Smoke<D>: System<f64> + System<Dual<f64>>,
{
    fn name(&self) -> &str {
        self.shown.name()
    }
    fn summary(&self) -> &str {
        self.shown.summary()
    }
    fn horizon(&self) -> f64 {
        self.shown.horizon()
    }
    fn small_version(&self) -> Option<&dyn Scene> {
        self.shown.small_version()
    }
    fn system(&self) -> &Erased {
        self.shown.system()
    }
    fn substeps(&self) -> usize {
        self.shown.substeps()
    }
    fn dt(&self) -> f64 {
        self.shown.dt
    }
    fn keyframes(&self) -> &[Keyframe] {
        &[]
    }
    fn simulate_while(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Sample<'_, f64>) -> ControlFlow<()>,
    ) -> Result<Info, StepError> {
        self.shown.simulate_while(inputs, steps, visit)
    }
    fn replay(&self, _inputs: &Inputs<f64>, _rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        None
    }
    fn stage(&self) -> Option<Box<dyn Stage>> {
        None
    }
    fn depict(&self) -> Option<Box<dyn Depict>> {
        self.shown.depict()
    }
    fn residuals(&self, motion: RecordedMotion) -> Result<Box<dyn LeastSquares + '_>, ConfigError> {
        self.shown.residuals(motion)
    }
    fn pictures(&self, rows: &[(f64, Vec<f64>)]) -> Vec<Picture> {
        // Six moments, the last one included.
        let last = rows.len().saturating_sub(1);
        let mut shown: Vec<usize> = (0..6).map(|k| last * (k + 1) / 6).collect();
        shown.dedup();
        let picture = |k: usize| {
            let (time, state) = &rows[k];
            let title = format!("after {time:.2} s");
            picture(self.system.grid(), title, self.system.density(state))
        };
        shown.into_iter().filter(|k| *k < rows.len()).map(picture).collect()
    }
    fn gradcheck(&self, checking: Checking) -> Result<Vec<(String, Report)>, ConfigError> {
        self.shown.gradcheck(checking)
    }
}

/// Density, or in three dimensions what a camera sees of it.
fn picture<const D: usize>(grid: &Grid<D>, title: String, density: &[f64]) -> Picture {
    let (extent, h) = (grid.extent(), grid.spacing);
    if let (Ok(cells), Ok(sides)) =
        (<[usize; 3]>::try_from(&grid.cells[..]), <[f64; 3]>::try_from(&extent[..]))
        && let Ok(marcher) = Marcher::new(Grid::new(cells, h), side_view(sides))
    {
        let mut image = marcher.image();
        marcher.render(&mut marcher.workspace(), density, LOOK, &mut image);
        let rows = image.pixels.chunks(image.width).rev().map(<[f64]>::to_vec).collect();
        let axis = |n: usize| (0.0, (n - 1) as f64);
        return Picture {
            title,
            values: rows,
            across: (axis(image.width), "column".into()),
            up: (axis(image.height), "row".into()),
        };
    }
    let range = |a: usize| (0.5 * h, extent[a] - 0.5 * h);
    Picture {
        title,
        values: density.chunks(grid.cells[0]).map(<[f64]>::to_vec).collect(),
        across: (range(0), "x (m)".into()),
        up: (range(D - 1), "z (m)".into()),
    }
}

/// White smoke that dims itself, before black.
const LOOK: Look<f64> = Look { absorption: 8.0, ambient: 0.25, background: 0.0 };

/// A camera before the grid, a little above it and to the side.
fn side_view(extent: [f64; 3]) -> Camera {
    let [x, y, z] = extent;
    let target = Vec3::new(0.5 * x, 0.5 * y, 0.5 * z);
    let position = target + Vec3::new(0.8 * z, -1.9 * z, 0.5 * z);
    let height = 120;
    let width = (height as f64 * (x + y) / (1.2 * z)).round().min(height as f64) as usize;
    Camera { position, target, lens: Lens::Perspective(0.62), pixels: (width, height) }
}
