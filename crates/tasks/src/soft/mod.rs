//! Scenes with soft bodies: solids, cloths, springs, and robots that touch them.
//!
//! z is up here; the sources of all scenes but the last have y up, and their (x, y, z) becomes (x, −z, y). Steps are 1/60 s of
//! semi-implicit Euler in equal inner steps. Constants in *italics* are ours because the source does not give them.
//!
//! | scene | source | mesh | material | contact | inner steps |
//! |---|---|---|---|---|---|
//! | `hanging-beam` | gradSim/dFlex beam | 20 × 2 × 2 cells of 0.1 m, both ends held | 10 kg/m³, μ = λ = 1 kPa, 5 Pa s | none | 32 |
//! | `elastic-ball` | gradSim demo_fem | *147 vertices, 540 tetrahedra, radius 1 m* | 10 kg/m³, μ = λ = 1 kPa, 1 Pa s | ke 1e4, kf 10, μ 0.5, radius 0.05 m | 32 |
//! | `gear` | gradSim control_fem | 480 vertices, 1152 tetrahedra; *hole 0.35, root 0.95, tip 1.3, thickness 0.9 m, axis level* | as the ball; activation 0.3 tanh(W p), 8 phases, 2.5 rad/s | as the ball, *radius 0.01 m* | 32 |
//! | `walker` | gradSim control_walker | 74 vertices, 104 triangles in the plane y = 0 | 1 kg per vertex, μ = λ = 10 kN/m, 100 N s/m; activation 0.2 tanh(W p), 4 phases, 20 rad/s | ke 1e4, kf 1e3, μ 0.5, *radius 0.01 m* | 32 |
//! | `cloth-N` | gradSim control_cloth | N triangles, cells of 0.125 m | 2 kg per vertex, μ = 100 N/m, λ = 10 kN/m, 100 N s/m, lift 10, drag 5 | none | 16 |
//! | `cloth-swing` | BO-Leap Swing | 20 cm × 20 cm, two corners held, *12 × 12 cells* | *20 g; springs 60 N/m along edges and diagonals, 10 N/m across two cells, 0.01 N s/m* | none | 64 |
//! | `pancake` | BO-Leap Flip | pan of radius 20 cm with x, z, tilt; *pancake of radius 12 cm, 4 rings of 12* | *150 g; springs 200 N/m, across edges 60 N/m, 0.05 N s/m* | *ke 300, kf 1, μ 0.4, radius 6 mm* | 64 |
//! | `robot-cloth` | ours | *arm of 9 freedoms, 40 cm × 40 cm, 12 × 12 cells* | *0.3 kg/m², μ = λ = 150 N/m* | *ke 100, kf 0.5, radius 6 mm* | 64 |
//!
//! Damping of contact grows with depth here, so that forces are continuous; its constants are chosen to equal the source's at a
//! depth of 1 cm where that is stable and are smaller elsewhere. The walker's phases are sin(20 t + kπ/2): those written in its
//! source, sin(20 (t + kπ/2)), are four times the same function. Weights start as a wave that runs around the gear and along
//! the walker.
//!
//! Each scene has a small version from the same builder: gradients are checked there in every entry, and in the scene itself
//! along random directions.

pub mod objectives;
mod pancake;
mod robot_cloth;
mod sheets;
mod solids;

use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, StepControl};
use pullback_core::random::Random;
use pullback_core::{ConfigError, FieldShape, System, VectorField};
use pullback_math::Dual;
use pullback_physics::articulated::{Geom, Model, Shape};
use pullback_physics::world::World;

use crate::recording;
use crate::scene::{BuiltIn, Scene};
use crate::scenes::SceneOptions;

/// Names of the soft scenes.
pub const NAMES: [&str; 11] = [
    "hanging-beam",
    "elastic-ball",
    "gear",
    "walker",
    "cloth-64",
    "cloth-256",
    "cloth-1024",
    "cloth-2048",
    "cloth-swing",
    "pancake",
    "robot-cloth",
];

/// Scenes in which something touches something.
const TOUCHING: [&str; 5] = ["elastic-ball", "gear", "walker", "pancake", "robot-cloth"];

/// Seconds per step of all soft scenes.
pub const STEP: f64 = 1.0 / 60.0;

/// The scene itself, or a version of it with few elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As the table says.
    Full,
    /// A few cells.
    Small,
}

impl Size {
    fn pick<X>(self, full: X, small: X) -> X {
        match self {
            Size::Full => full,
            Size::Small => small,
        }
    }
}

/// The soft scene called `name`, if it is one.
pub fn build(name: &str, options: SceneOptions) -> Option<Result<Box<dyn Scene>, ConfigError>> {
    NAMES.contains(&name).then(|| {
        // Short steps keep the checks of every entry quick and away from most kinks of contact.
        let short = SceneOptions { dt: Some(options.dt.unwrap_or(STEP) / 8.0), ..options };
        let small = sized(name, Size::Small, short, None)?;
        sized(name, Size::Full, options, Some(small))
    })
}

fn sized(
    name: &str,
    size: Size,
    options: SceneOptions,
    small: Option<Box<dyn Scene>>,
) -> Result<Box<dyn Scene>, ConfigError> {
    let about = |summary: &str, substeps: usize, settle: f64| About {
        name: name.to_owned(),
        summary: summary.to_owned(),
        substeps,
        settle,
        // Forward mode is the strict judge. Differences suffer round-off of sums over thousands of entries, and where things
        // touch they step over the kinks of particles that come and go.
        difference_tolerance: if TOUCHING.contains(&name) { 1e-2 } else { 1e-4 },
    };
    match name {
        "hanging-beam" => {
            let about = about("an elastic beam held at both ends sags (paper 1, gradSim)", 32, 0.3);
            plain(about, solids::beam(size)?, options, small)
        }
        "elastic-ball" => {
            let about =
                about("an elastic ball is thrown on the ground and bounces (paper 1, gradSim)", 32, 0.5);
            plain(about, solids::ball(size)?, options, small)
        }
        "gear" => {
            let about =
                about("an elastic wheel moved by a network of sines over its tetrahedra (paper 1)", 32, 0.5);
            let field = solids::gear(size)?;
            let world = field.field().clone();
            scene(about, field, world, options, small)
        }
        "walker" => {
            let about =
                about("a flat elastic quadruped moved by a network of sines (paper 1, gradSim)", 32, 0.3);
            let field = sheets::walker(size)?;
            let world = field.field().clone();
            scene(about, field, world, options, small)
        }
        "cloth-swing" => {
            let about = about("a cloth of springs swings from two corners (paper 0, Swing)", 64, 0.3);
            plain(about, sheets::swing(size)?, options, small)
        }
        "pancake" => {
            let about = about("a pan tosses a pancake of springs (paper 0, Flip)", 64, 0.3);
            let field = pancake::pancake(size)?;
            let world = field.field().clone();
            scene(about, field, world, options, small)
        }
        "robot-cloth" => {
            let about = about("an arm of nine freedoms lifts a cloth off a table", 64, 0.2);
            let field = robot_cloth::robot_cloth(size)?;
            let world = field.field().clone();
            scene(about, field, world, options, small)
        }
        cloth => {
            let (nx, ny) = match cloth {
                "cloth-64" => (8, 4),
                "cloth-256" => (16, 8),
                "cloth-1024" => (32, 16),
                _ => (32, 32),
            };
            let summary =
                format!("a cloth of {} triangles flies and flutters (paper 1, gradSim)", 2 * nx * ny);
            let (nx, ny) = size.pick((nx, ny), (3, 2));
            plain(about(&summary, 16, 0.3), sheets::thrown(nx, ny)?, options, small)
        }
    }
}

/// What a scene is called and how it is stepped.
struct About {
    name: String,
    summary: String,
    /// Inner steps per step of [`STEP`] seconds.
    substeps: usize,
    /// Seconds until it shows what it is about; gradients are checked there.
    settle: f64,
    /// Largest accepted error against finite differences.
    difference_tolerance: f64,
}

/// A world that nothing drives.
fn plain(
    about: About,
    world: World,
    options: SceneOptions,
    small: Option<Box<dyn Scene>>,
) -> Result<Box<dyn Scene>, ConfigError> {
    scene(about, world.clone(), world, options, small)
}

/// How soft scenes are integrated.
pub fn integrator(substeps: usize) -> Integrator {
    Integrator {
        method: Method::SemiImplicitEuler,
        control: StepControl::Fixed { substeps },
        adjoint: Adjoint::Discrete { checkpoints: 4096 },
    }
}

fn scene<F>(
    about: About,
    field: F,
    world: World,
    options: SceneOptions,
    small: Option<Box<dyn Scene>>,
) -> Result<Box<dyn Scene>, ConfigError>
where
    F: FieldShape + VectorField<f64> + VectorField<Dual<f64>> + 'static,
    Integrated<F>: System<f64> + System<Dual<f64>>,
{
    let dt = options.dt.unwrap_or(STEP);
    // The inner step stays what it is, whatever the outer one.
    let substeps = (dt / STEP * about.substeps as f64).ceil().clamp(1.0, 1e6) as usize;
    let system = Integrated::new(field, dt, options.integrator.unwrap_or(integrator(substeps)))?;
    let start = pullback_core::Described::layout(&system).state.defaults();
    let shaken = shake(&world, &start);
    let title = about.name.clone();
    Ok(Box::new(BuiltIn {
        name: about.name,
        summary: about.summary,
        dt,
        probes: vec![("shaken".to_owned(), shaken.clone())],
        rollout_from: ("the shaken state, settled".to_owned(), shaken),
        keyframes: Vec::new(),
        settle: (about.settle / dt).round() as usize,
        recorder: Some(Box::new(move |rows| recording::world_replay(&world, &title, rows))),
        difference_tolerance: about.difference_tolerance,
        system,
        small,
    }))
}

/// A state with particles moved by up to a millimetre and velocities changed by up to 0.1 m/s: off all symmetries and kinks.
fn shake(world: &World, start: &[f64]) -> Vec<f64> {
    let mut random = Random::new(11);
    let model = world.robot().model();
    let n = 3 * world.soft().body().particles();
    let mut state = start.to_vec();
    for x in &mut state[model.nq..model.nq + n] {
        *x += random.uniform(-1e-3, 1e-3);
    }
    for v in &mut state[model.nq + n..model.nq + 2 * n + model.nv] {
        *v += random.uniform(-0.1, 0.1);
    }
    state
}

/// A model with nothing but a level ground.
fn ground(friction: f64) -> Result<Model, ConfigError> {
    let mut model = Model::new("ground");
    model.geoms.push(Geom { friction: [friction, 0.0, 0.0], ..Geom::new("ground", 0, Shape::Plane) });
    model.compile()
}

/// An error of the mesh generators as one of the settings.
fn mesh_error(error: pullback_physics::soft::mesh::MeshError) -> ConfigError {
    ConfigError::new(error.to_string())
}
