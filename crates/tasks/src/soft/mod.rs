//! Scenes with soft bodies: solids, cloths, springs, and robots that touch them.
//!
//! z is up here; the sources of all scenes but the last have y up, and their (x, y, z) becomes (x, −z, y).
//! Steps are 1/60 s of semi-implicit Euler in equal inner steps. Constants in *italics* are ours because the
//! source does not give them.
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
//! Damping of contact grows with depth here, so that forces are continuous; its constants are chosen to equal
//! the source's at a depth of 1 cm where that is stable and are smaller elsewhere. The walker's phases are
//! sin(20 t + kπ/2): those written in its source, sin(20 (t + kπ/2)), are four times the same function.
//! Weights start as a wave that runs around the gear and along the walker; [`gear_wave`] makes others.
//!
//! Each scene has a small version from the same builder: gradients are checked there in every entry, and in
//! the scene itself along random directions.

pub mod objectives;
mod pancake;
mod robot_cloth;
mod sheets;
mod solids;

use pullback_core::drive::{Driven, Knots, SineNetwork};
use pullback_core::integrator::{Integrated, Integrator, Method, StepControl};
use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_core::sources::{BO_LEAP, GRADSIM};
use pullback_core::{ConfigError, Erased, FieldShape, VectorField};
use pullback_math::Dual;
use pullback_physics::articulated::{Geom, Model, Shape};
use pullback_physics::world::World;

use crate::depict::depict_world;
use crate::recording::{Recorder, WorldStage};
use crate::scene::{About, BuiltIn, RobotPart, Scene};
use crate::scenes::{BuiltScene, SceneEntry, SceneOptions, SceneSpec};
use crate::stability::{StepLimitOf, world_energy};

use Dynamics::{Network, Passive, Waypoints};

pub use sheets::{thrown, walker};
pub use solids::{ball, beam, gear, gear_wave};

/// The soft scenes.
pub const SCENES: &[SceneEntry] = &[
    Entry::cited(
        "hanging-beam",
        "an elastic beam held at both ends sags",
        GRADSIM.at("dFlex's beam"),
        SceneSpec::Soft(SoftSpec {
            substeps: 32,
            settle: 0.3,
            touches: false,
            dynamics: Passive(solids::beam),
        }),
    ),
    Entry::cited(
        "elastic-ball",
        "an elastic ball is thrown on the ground and bounces",
        GRADSIM.at("demo_fem"),
        SceneSpec::Soft(SoftSpec {
            substeps: 32,
            settle: 0.5,
            touches: true,
            dynamics: Passive(solids::ball),
        }),
    ),
    Entry::cited(
        "gear",
        "an elastic wheel moved by a network of sines over its tetrahedra",
        GRADSIM.at("control_fem"),
        SceneSpec::Soft(SoftSpec {
            substeps: 32,
            settle: 0.5,
            touches: true,
            dynamics: Network(solids::gear),
        }),
    ),
    Entry::cited(
        "walker",
        "a flat elastic quadruped moved by a network of sines",
        GRADSIM.at("control_walker"),
        SceneSpec::Soft(SoftSpec {
            substeps: 32,
            settle: 0.3,
            touches: true,
            dynamics: Network(sheets::walker),
        }),
    ),
    Entry::cited(
        "cloth-64",
        "a cloth of 64 triangles flies and flutters",
        GRADSIM.at("control_cloth"),
        cloth(|size| sheets::thrown(size.pick((8, 4), SMALL_CLOTH))),
    ),
    Entry::cited(
        "cloth-256",
        "a cloth of 256 triangles flies and flutters",
        GRADSIM.at("control_cloth"),
        cloth(|size| sheets::thrown(size.pick((16, 8), SMALL_CLOTH))),
    ),
    Entry::cited(
        "cloth-1024",
        "a cloth of 1024 triangles flies and flutters",
        GRADSIM.at("control_cloth"),
        cloth(|size| sheets::thrown(size.pick((32, 16), SMALL_CLOTH))),
    ),
    Entry::cited(
        "cloth-2048",
        "a cloth of 2048 triangles flies and flutters",
        GRADSIM.at("control_cloth"),
        cloth(|size| sheets::thrown(size.pick((32, 32), SMALL_CLOTH))),
    ),
    Entry::cited(
        "cloth-swing",
        "a cloth of springs swings from two corners",
        BO_LEAP.at("Swing"),
        SceneSpec::Soft(SoftSpec {
            substeps: SWING_SUBSTEPS,
            settle: 0.3,
            touches: false,
            dynamics: Passive(sheets::swing),
        }),
    ),
    Entry::cited(
        "pancake",
        "a pan tosses a pancake of springs",
        BO_LEAP.at("Flip"),
        SceneSpec::Soft(SoftSpec {
            substeps: 64,
            settle: 0.3,
            touches: true,
            dynamics: Waypoints(pancake::pancake),
        }),
    ),
    Entry::new(
        "robot-cloth",
        "an arm of nine freedoms lifts a cloth off a table",
        SceneSpec::Soft(SoftSpec {
            substeps: 64,
            settle: 0.2,
            touches: true,
            dynamics: Waypoints(robot_cloth::robot_cloth),
        }),
    ),
];

/// Cells of the small version of a thrown cloth.
const SMALL_CLOTH: (usize, usize) = (3, 2);

/// A cloth thrown through the air.
const fn cloth(world: fn(Size) -> Result<World, ConfigError>) -> SceneSpec {
    let dynamics = Passive(world);
    SceneSpec::Soft(SoftSpec { substeps: 16, settle: 0.3, touches: false, dynamics })
}

/// How a soft scene is stepped, where its gradients are checked, and what moves in it.
#[derive(Clone, Copy, Debug)]
pub struct SoftSpec {
    /// Substeps per step of [`STEP`] seconds.
    substeps: usize,
    /// Seconds until it shows what it is about; gradients are checked there.
    settle: f64,
    /// Whether something touches something.
    touches: bool,
    /// What moves.
    dynamics: Dynamics,
}

/// What moves in a soft scene, at a size.
#[derive(Clone, Copy, Debug)]
enum Dynamics {
    /// A world that nothing drives.
    Passive(fn(Size) -> Result<World, ConfigError>),
    /// A world whose activations follow a network of sines.
    Network(fn(Size) -> Result<Driven<World, SineNetwork>, ConfigError>),
    /// A world whose servos follow waypoints.
    Waypoints(fn(Size) -> Result<Driven<World, Knots>, ConfigError>),
}

/// Seconds per step of all soft scenes.
pub const STEP: f64 = 1.0 / 60.0;

/// Substeps of the cloth that swings.
const SWING_SUBSTEPS: usize = 64;

/// The cloth that swings from two corners, and its substeps.
pub(crate) fn swinging() -> Result<(World, usize), ConfigError> {
    Ok((sheets::swing(Size::Full)?, SWING_SUBSTEPS))
}

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

impl SoftSpec {
    /// The scene with its small version.
    pub(crate) fn build(self, about: About, options: SceneOptions) -> BuiltScene {
        // Short steps keep the checks of every entry quick and away from most kinks of contact.
        let short = SceneOptions { dt: Some(options.dt.unwrap_or(STEP) / 8.0), ..options.clone() };
        let small = self.sized(about.clone(), Size::Small, short, None)?;
        self.sized(about, Size::Full, options, Some(small))
    }

    /// The scene at one size.
    fn sized(
        self,
        about: About,
        size: Size,
        options: SceneOptions,
        small: Option<Box<dyn Scene>>,
    ) -> BuiltScene {
        match self.dynamics {
            Passive(build) => {
                let world = build(size)?;
                self.scene(about, world.clone(), world, options, small)
            }
            Network(build) => {
                let field = build(size)?;
                let world = field.field().clone();
                self.scene(about, field, world, options, small)
            }
            Waypoints(build) => {
                let field = build(size)?;
                let world = field.field().clone();
                self.scene(about, field, world, options, small)
            }
        }
    }

    /// The scene of a field over a world.
    fn scene<F>(
        self,
        about: About,
        field: F,
        world: World,
        options: SceneOptions,
        small: Option<Box<dyn Scene>>,
    ) -> BuiltScene
    where
        F: FieldShape + VectorField<f64> + VectorField<Dual<f64>> + Clone + 'static,
    {
        let dt = options.dt.unwrap_or(STEP);
        let integrator = options.integrator.unwrap_or(Integrator::fixed(Method::SemiImplicitEuler));
        // Substeps stay as long as they are, whatever the step; adaptive solves choose their own.
        let substeps = match integrator.control {
            StepControl::Fixed => (dt / STEP * self.substeps as f64).ceil().clamp(1.0, 1e6) as usize,
            StepControl::Adaptive(_) => 1,
        };
        let step_limit = StepLimitOf::of_field(field.clone(), dt / substeps as f64, integrator);
        let energy = matches!(self.dynamics, Passive(_)).then(|| world_energy(world.clone())).flatten();
        let (nq, nv) = (world.robot().coordinates().nq, world.robot().coordinates().nv);
        let velocities = world.particle_entries().end..world.particle_entries().end + nv;
        let robot = RobotPart::beside(world.robot().clone(), 0..nq, velocities);
        let system = Integrated::new(field, dt / substeps as f64, integrator)?;
        let start = pullback_core::Described::layout(&system).state.defaults();
        let shaken = shake(&world, &start);
        let (title, seen) = (about.name.clone(), world.clone());
        Ok(Box::new(BuiltIn {
            about,
            dt,
            substeps,
            probes: vec![("shaken".to_owned(), shaken.clone())],
            rollout_from: ("the shaken state, settled".to_owned(), shaken),
            keyframes: Vec::new(),
            sensing: None,
            robot: (nq > 0).then_some(robot),
            step_limit,
            energy,
            settle: (self.settle / dt).round() as usize,
            recorder: Some(Recorder::new(title, dt, move || WorldStage::new(world.clone()))),
            depiction: Some(Box::new(move || depict_world(&seen))),
            // Forward mode is the strict judge. Differences suffer round-off of sums over thousands of
            // entries, and where things touch they step over the kinks of particles that come and go.
            difference_tolerance: if self.touches { 1e-2 } else { 1e-4 },
            system: Erased::new(system),
            small,
        }))
    }
}

/// A state with particles moved by up to a millimeter and velocities changed by up to 0.1 m/s: off all
/// symmetries and kinks.
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
