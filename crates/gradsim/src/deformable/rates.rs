//! Steps and pictures per second over numbers of tetrahedra, forward and backward (gradSim Table 4 right).

use std::time::Instant;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::Inputs;
use pullback_core::{Bars, ConfigError, Point, System};
use pullback_math::Vec3;
use pullback_physics::soft::mesh::{Split, box_grid};
use pullback_physics::soft::{Placement, SoftBody, Solid};
use pullback_physics::world::World;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::{Image, RenderWorkspace, View, ViewBars, render, render_vjp};
use pullback_tasks::Goal;
use pullback_video::{Shot, Visible, VisibleWorld};
use serde::{Deserialize, Serialize};

use super::shots::orbit;
use crate::experiment::{Exhibit, ExperimentError, Setting};

/// Tetrahedra; cells along each axis, five tetrahedra each; the paper's rates, Hz: physics forward, rendering forward,
/// physics backward, both backward.
const CASES: [(usize, [usize; 3], [f64; 4]); 7] = [
    (100, [5, 2, 2], [9057.0, 3504.0, 3721.0, 3057.0]),
    (200, [5, 4, 2], [9057.0, 3478.0, 3780.0, 2963.0]),
    (400, [5, 4, 4], [8751.0, 3357.0, 3750.0, 1360.0]),
    (1000, [8, 5, 5], [4174.0, 1690.0, 1644.0, 1041.0]),
    (2000, [10, 8, 5], [3967.0, 1584.0, 1655.0, 698.0]),
    (5000, [10, 10, 10], [3871.0, 1529.0, 1553.0, 424.0]),
    (10_000, [20, 10, 10], [3721.0, 1500.0, 1429.0, 248.0]),
];
/// What the rates are of.
const WHAT: [&str; 4] = ["physics forward", "rendering forward", "physics backward", "both backward"];
/// Pixels along each side.
const PIXELS: usize = 64;

/// Best seconds of a step, a picture, and their pullbacks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Times {
    step: f64,
    picture: f64,
    step_back: f64,
    picture_back: f64,
}

impl Times {
    /// In the order of [`WHAT`], Hz.
    fn rates(&self) -> [f64; 4] {
        let both = self.step_back + self.picture_back;
        [self.step, self.picture, self.step_back, both].map(f64::recip)
    }
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let rounds = setting.size(40, 10);
    let mut exhibit = Exhibit::default();
    let mut all = Vec::new();
    for (tets, cells, paper) in CASES {
        let times = setting.part(&format!("rates of {tets} tetrahedra"), || measure(cells, rounds))?;
        let rates = times.rates();
        for ((what, rate), paper) in WHAT.into_iter().zip(rates).zip(paper) {
            exhibit.row(&format!("{tets} tetrahedra"), what, (rate, "Hz"), Some(paper));
        }
        all.push((tets, rates, paper));
    }
    for k in [0, 2] {
        let least = all.iter().map(|(_, rates, paper)| rates[k] / paper[k]).fold(f64::INFINITY, f64::min);
        let name = format!("rates: {} over the paper's, least of all sizes", WHAT[k]);
        exhibit.goal(Goal::at_least(name, least, 1.0));
    }
    let panel = LinePanel {
        x_label: "tetrahedra".into(),
        y_label: "rate (Hz)".into(),
        series: (0..4)
            .flat_map(|k| {
                let ours = all.iter().map(|(n, rates, _)| (*n as f64, rates[k])).collect();
                let paper = all.iter().map(|(n, _, paper)| (*n as f64, paper[k])).collect();
                [Series::new(WHAT[k], k, ours), Series::new("", k, paper).dashed()]
            })
            .collect(),
        log_x: true,
        log_y: true,
        ..LinePanel::default()
    };
    let caption = "Steps and pictures per second; dashed: the paper's.";
    let section = Section::new("Rates");
    let figure = Figure::single(panel.into());
    let section = exhibit.figure(section, "rates", &figure, (caption, "Curves that fall with size."))?;
    exhibit.section(section);
    exhibit.note(format!(
        "Rates: one thread; in f64, a step of semi-implicit Euler of an elastic block that has sagged; in f32, a picture of {PIXELS} x \
         {PIXELS} pixels of its surface; backward is the pullback with what it computes again; best of {rounds} rounds. The paper \
         names neither its processor nor the size of its pictures.",
    ));
    Ok(exhibit)
}

/// A block of an elastic solid held at one end.
fn block(cells: [usize; 3]) -> Result<World, ConfigError> {
    let edges = Vec3::new(0.1 * cells[0] as f64, 0.1 * cells[1] as f64, 0.1 * cells[2] as f64);
    let mesh = box_grid(cells[0], cells[1], cells[2], edges, Split::Five)
        .map_err(|error| ConfigError::new(error.to_string()))?;
    let mut body = SoftBody::new();
    let part = body.add_solid("block", &mesh, Solid::default(), Placement::default())?;
    body.fix(part, |x| x.x < -0.5 * edges.x + 1e-6);
    World::empty(body)
}

/// Everything that is timed, allocated once.
struct Bench {
    system: Integrated<World>,
    inputs: Inputs<f64>,
    ws: <Integrated<World> as System<f64>>::Workspace,
    next: Vec<f64>,
    state_bar: Vec<f64>,
    params_bar: Vec<f64>,
    visible: VisibleWorld,
    shot: Shot,
}

impl Bench {
    fn new(cells: [usize; 3]) -> Result<Self, ExperimentError> {
        let world = block(cells)?;
        let visible = VisibleWorld::new(&world);
        let shot = orbit(Vec3::zero(), 1.0 + 0.15 * cells[0] as f64, 0.3, PIXELS);
        let system = Integrated::new(world, 1.0 / 1920.0, Integrator::fixed(Method::SemiImplicitEuler))?;
        let inputs = Inputs::defaults(&system, 1);
        let (n, m) = (inputs.state.len(), inputs.params.len());
        let ws = System::<f64>::workspace(&system);
        let mut bench = Bench {
            system,
            inputs,
            ws,
            next: vec![0.0; n],
            state_bar: vec![0.0; n],
            params_bar: vec![0.0; m],
            visible,
            shot,
        };
        for _ in 0..50 {
            bench.step()?;
            bench.inputs.state.copy_from_slice(&bench.next);
        }
        Ok(bench)
    }

    fn step(&mut self) -> Result<(), ExperimentError> {
        let Inputs { state, params, .. } = &self.inputs;
        self.system.step(&mut self.ws, Point { params, state, control: &[] }, &mut self.next)?;
        Ok(())
    }

    fn step_back(&mut self) -> Result<(), ExperimentError> {
        let Inputs { state, params, .. } = &self.inputs;
        let bars = Bars { params: &mut self.params_bar, state: &mut self.state_bar, control: &mut [] };
        self.system.step_vjp(&mut self.ws, Point { params, state, control: &[] }, &self.next, bars)?;
        Ok(())
    }
}

fn measure(cells: [usize; 3], rounds: usize) -> Result<Times, ExperimentError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|error| ConfigError::new(error.to_string()))?;
    pool.install(|| {
        let mut bench = Bench::new(cells)?;
        let step = best(rounds, || bench.step())?;
        let step_back = best(rounds, || bench.step_back())?;

        let mut scene = Visible::<f64>::scene(&bench.visible);
        let at = Point { params: &bench.inputs.params, state: &bench.inputs.state, control: &[] };
        bench.visible.place(&mut (), at, &mut scene);
        // Pictures in single precision, as programs that train on them make them.
        let (scene, camera) = (scene.map(|x| x as f32), bench.shot.camera.map(|x| x as f32));
        let settings = &bench.shot.settings;
        let view = View { scene: &scene, camera: &camera, settings };
        let (mut ws, mut image) = (RenderWorkspace::new(), Image::new(settings));
        let picture = best(rounds, || Ok(render(view, &mut ws, &mut image)?))?;
        let mut image_bar = image.zero_like();
        image_bar.alpha.fill(1.0);
        image_bar.color.fill(Vec3::new(1.0, 1.0, 1.0));
        let (mut scene_bar, mut camera_bar) = (scene.zero_like(), camera.map(|_| 0.0));
        let picture_back = best(rounds, || {
            let bars = ViewBars { scene: &mut scene_bar, camera: &mut camera_bar };
            Ok(render_vjp(view, &mut ws, &image_bar, bars)?)
        })?;
        Ok(Times { step, picture, step_back, picture_back })
    })
}

/// Least seconds of a call, over rounds of about five milliseconds.
fn best(
    rounds: usize,
    mut call: impl FnMut() -> Result<(), ExperimentError>,
) -> Result<f64, ExperimentError> {
    let mut time = |calls: usize| {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        Ok::<f64, ExperimentError>(start.elapsed().as_secs_f64() / calls as f64)
    };
    let calls = ((5e-3 / time(1)?.max(1e-7)) as usize).max(1);
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        least = least.min(time(calls)?);
    }
    Ok(least)
}
