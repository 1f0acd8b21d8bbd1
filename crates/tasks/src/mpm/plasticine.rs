//! The ten scenes of PlasticineLab (Huang et al. 2021; BO-Leap, A.2.2): plasticine, and spheres and other
//! tools that shape it.
//!
//! The source's boxes stand on y = 0 while its grid holds what is below three cells; here everything is
//! lifted by these three cells, so that boxes stand on the floor. Places in comments are the source's, y up.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_core::sources::PLASTICINE_LAB;
use pullback_math::Vec3;
use pullback_physics::articulated::Shape;
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastoplastic, Material, Particles, Rolling};

use super::MpmSpec;
use super::blueprint::{Blueprint, Size, SourceFrame, ToolBuilder, Tools, cube};
use crate::scenes::{SceneEntry, SceneSpec};

/// Seconds per action: 19 substeps of 10⁻⁴ s.
const ACTION: f64 = 1.9e-3;
/// Actions per episode.
const HORIZON: usize = 50;
/// Volume of a particle, m³; not that of the space it fills.
const VOLUME: f64 = 1.0 / (128.0 * 128.0);
/// Young's modulus, Pa.
const YOUNG: f64 = 5e3;
/// Friction of tools where the source names none.
const FRICTION: f64 = 0.9;
/// Smallest gap between chopsticks, and the gap they start with, m.
const GAP: f64 = 0.06;

/// All scenes here have episodes of the same length.
const SPEC: SceneSpec = SceneSpec::Mpm(MpmSpec { actions: HORIZON, action: ACTION, blueprint: build });

/// PlasticineLab's scenes; those that BO-Leap has tasks on say so.
pub const SCENES: &[SceneEntry] = &[
    Entry::cited("plb-move", "two spheres carry a ball of plasticine", PLASTICINE_LAB.at("Move"), SPEC),
    Entry::cited(
        "plb-torus",
        "a torus prints itself into plasticine",
        PLASTICINE_LAB.at("Torus; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-rope",
        "two spheres lay a rope of plasticine around a pole",
        PLASTICINE_LAB.at("Rope; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-writer",
        "a pen draws in plasticine",
        PLASTICINE_LAB.at("Writer; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-pinch",
        "a sphere dents a box of plasticine",
        PLASTICINE_LAB.at("Pinch; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-rollingpin",
        "a rolling pin flattens plasticine",
        PLASTICINE_LAB.at("RollingPin; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-chopsticks",
        "chopsticks pick up a rope of plasticine",
        PLASTICINE_LAB.at("Chopsticks"),
        SPEC,
    ),
    Entry::cited(
        "plb-table",
        "a sphere pushes a leg of a table outwards",
        PLASTICINE_LAB.at("Table; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-triplemove",
        "six spheres move three boxes",
        PLASTICINE_LAB.at("TripleMove; BO-Leap, A.2.2"),
        SPEC,
    ),
    Entry::cited(
        "plb-assembly",
        "two spheres put a ball on a stand",
        PLASTICINE_LAB.at("Assembly; BO-Leap, A.2.2"),
        SPEC,
    ),
];

/// The scene called `name`.
pub(super) fn build(name: &str, size: Size) -> Result<Blueprint, ConfigError> {
    let (yield_stress, poisson, floor_friction) = match name {
        "plb-move" | "plb-triplemove" => (200.0, 0.2, 1.5),
        "plb-rope" => (50.0, 0.2, 0.3),
        "plb-rollingpin" => (50.0, 0.2, 1.5),
        "plb-chopsticks" => (200.0, 0.2, 0.0),
        "plb-table" => (50.0, 0.05, 0.3),
        "plb-assembly" => (100.0, 0.2, 100.0),
        _ => (50.0, 0.2, 100.0),
    };
    let grid = cube(size.pick(64, 32, 16), 64, size, floor_friction);
    let frame = SourceFrame::new(&grid, 0.0);
    let material = Material::Plasticine(Elastoplastic { young: YOUNG, poisson, yield_stress });
    let mut pieces = Pieces { frame, size, material, particles: Particles::default() };
    add_particles(name, &mut pieces)?;
    let (dt, substeps) = size.pick((ACTION / 19.0, 19), (ACTION / 10.0, 10), (ACTION / 5.0, 1));
    Ok(Blueprint {
        grid,
        particles: pieces.particles,
        tools: tools(name, frame)?,
        dt,
        substeps,
        demonstration: demonstration(name),
    })
}

/// Adds the plasticine of a scene.
fn add_particles(name: &str, pieces: &mut Pieces) -> Result<(), ConfigError> {
    match name {
        // The source's ball hangs in the air at a height that depends on the variant.
        "plb-move" => pieces.ball("ball", 10_000, [0.5, 0.15, 0.5], 0.1025),
        "plb-rope" => pieces.block("rope", 10_000, [0.5, 0.03, 0.73], [0.6, 0.06, 0.06]),
        "plb-pinch" => pieces.block("box", 6_000, [0.5, 0.1, 0.5], [0.2, 0.2, 0.2]),
        "plb-chopsticks" => pieces.block("rope", 10_000, [0.5, 0.02, 0.5], [0.04, 0.04, 0.6]),
        "plb-table" => {
            for (k, (x, z)) in LEGS.into_iter().enumerate() {
                pieces.block(&format!("leg_{k}"), 2_000, [x, 0.05, z], [0.04, 0.1, 0.04])?;
            }
            pieces.block("top", 2_000, [0.5, 0.125, 0.5], [0.2, 0.05, 0.2])
        }
        "plb-triplemove" => {
            for (name, x) in [("left", 0.3), ("middle", 0.5), ("right", 0.7)] {
                pieces.block(name, 3_333, [x, 0.05, 0.5], [0.1; 3])?;
            }
            Ok(())
        }
        "plb-assembly" => {
            pieces.block("stand", 6_000, [0.6, 0.08, 0.5], [0.16; 3])?;
            pieces.ball("ball", 4_000, [0.3, 0.06, 0.5], 0.06)
        }
        _ => pieces.block("dough", 10_000, [0.5, 0.05, 0.5], [0.3, 0.1, 0.3]),
    }
}

/// Where the legs of the table stand: x and z of the source.
pub(super) const LEGS: [(f64, f64); 4] = [(0.42, 0.42), (0.58, 0.42), (0.42, 0.58), (0.58, 0.58)];

/// The tools of a scene.
fn tools(name: &str, frame: SourceFrame) -> Result<Tools, ConfigError> {
    let friction = match name {
        "plb-writer" => 0.0,
        "plb-chopsticks" => 10.0,
        _ => FRICTION,
    };
    let mut builder = ToolBuilder::new(ACTION, friction);
    let gravity = if name == "plb-chopsticks" { 150.0 } else { 30.0 };
    // Tools stay in the unit cube of the source.
    let unit = [(0.0, 1.0), (0.0, 1.0), (frame.lift, 1.0 + frame.lift)];
    let ball = |radius: f64| format!("<geom type='sphere' size='{radius}'/>");
    match name {
        "plb-move" => {
            for (side, x) in [("left", 0.36), ("right", 0.64)] {
                builder.slider(side, frame.at(x, 0.15, 0.5), &ball(0.03), [0.01; 3], unit);
            }
        }
        "plb-torus" => {
            // A sphere in the file, a torus below: MJCF has no tori.
            builder.slider("torus", frame.at(0.5, 0.2, 0.5), &ball(0.03), [0.004; 3], unit);
        }
        "plb-rope" => {
            for (side, x) in [("left", 0.22), ("right", 0.78)] {
                builder.slider(side, frame.at(x, 0.015, 0.82), &ball(0.03), [0.01; 3], unit);
            }
            let Vec3 { x, y, z } = frame.at(0.39, 0.0, 0.5);
            let pole = format!("<geom type='cylinder' size='0.1 0.2' pos='{x} {y} {z}'/>");
            builder.add(&builder.geoms(&pole));
        }
        "plb-writer" => {
            // The source's pen starts inside the dough; ours just above.
            let pen = "<geom type='capsule' size='0.03 0.03'/>";
            builder.slider("pen", frame.at(0.5, 0.165, 0.5), pen, [0.01; 3], unit);
        }
        "plb-pinch" => {
            let within = [(0.1, 0.9), (0.1, 0.9), (0.1 + frame.lift, 0.9 + frame.lift)];
            builder.slider("sphere", frame.at(0.5, 0.35, 0.5), &ball(0.04), [0.02; 3], within);
        }
        "plb-rollingpin" => rolling_pin(&mut builder, frame),
        "plb-chopsticks" => chopsticks(&mut builder, frame),
        "plb-table" => {
            builder.slider("sphere", frame.at(0.5, 0.06, 0.5), &ball(0.04), [0.03, 0.03, 0.0], unit);
        }
        "plb-triplemove" => {
            for (name, x) in [("left", 0.3), ("middle", 0.5), ("right", 0.7)] {
                for (side, z) in [("front", 0.58), ("back", 0.42)] {
                    let name = format!("{name}_{side}");
                    builder.slider(&name, frame.at(x, 0.05, z), &ball(0.03), [0.01; 3], unit);
                }
            }
        }
        _ => {
            for (side, x) in [("left", 0.22), ("right", 0.38)] {
                builder.slider(side, frame.at(x, 0.06, 0.5), &ball(0.04), [0.009; 3], unit);
            }
        }
    }
    let mut tools = builder.finish(name, gravity, frame.lift)?;
    match name {
        "plb-torus" => {
            for geom in tools.model.geoms.iter_mut().filter(|g| g.body > 0) {
                geom.shape = Shape::Torus { ring: 0.05, tube: 0.03 };
            }
        }
        // A roll of 1 rad moves the pin by 0.03 m.
        "plb-rollingpin" => {
            let [control, x, y, yaw] =
                ["pin.roll.rate", "pin_x.rate", "pin_y.rate", "pin_yaw.q"].map(str::to_owned);
            tools.rolling = Some(Rolling { control, x, y, yaw, radius: 0.03 });
        }
        _ => {}
    }
    Ok(tools)
}

/// A pin that rolls, turns about the vertical and goes up and down.
fn rolling_pin(builder: &mut ToolBuilder, frame: SourceFrame) {
    let Vec3 { x, y, z } = frame.at(0.5, 0.123, 0.5);
    let (low, high) = (frame.lift, 1.0 + frame.lift);
    let pin = builder.geoms("<geom type='capsule' fromto='0 -0.15 0 0 0.15 0' size='0.03'/>");
    builder.add(&format!(
        "<body name='pin' pos='{x} {y} {z}'>
          <joint name='pin_x' type='slide' axis='1 0 0' ref='{x}' range='0 1'/>
          <joint name='pin_y' type='slide' axis='0 1 0' ref='{y}' range='0 1'/>
          <joint name='pin_z' type='slide' axis='0 0 1' ref='{z}' range='{low} {high}'/>
          <joint name='pin_yaw' type='hinge' axis='0 0 1'/>
          <joint name='pin_spin' type='hinge' axis='0 1 0'/>
          {pin}
        </body>"
    ));
    builder.transmission("pin.roll.rate", "rad/s", 0.6667, &[("pin_spin.rate", 1.0)]);
    builder.transmission("pin.yaw.rate", "rad/s", 0.0667, &[("pin_yaw.rate", 1.0)]);
    builder.transmission("pin.z.rate", "m/s", 0.001, &[("pin_z.rate", 1.0)]);
}

/// Two upright sticks that move and turn together and open and close.
fn chopsticks(builder: &mut ToolBuilder, frame: SourceFrame) {
    let Vec3 { x, y, z } = frame.at(0.5, 0.15, 0.5);
    let half = 0.5 * GAP;
    let stick = builder.geoms("<geom type='capsule' size='0.02 0.1'/>");
    let side = |name: &str, sign: f64| {
        format!(
            "<body name='{name}' pos='{} 0 0'>
              <joint name='{name}_gap' type='slide' axis='{sign} 0 0' ref='{half}' range='{half} 0.2'/>{stick}</body>",
            sign * half
        )
    };
    builder.add(&format!(
        "<body name='sticks' pos='{x} {y} {z}'>
          <freejoint name='sticks'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>{}{}</body>",
        side("left", -1.0),
        side("right", 1.0)
    ));
    // Velocities of a free joint: three along the axes, then three about them.
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let joint = format!("sticks.rate[{k}]");
        builder.transmission(format!("sticks.{axis}.rate"), "m/s", 0.02, &[(&joint, 1.0)]);
    }
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let joint = format!("sticks.rate[{}]", 3 + k);
        builder.transmission(format!("sticks.turn_{axis}.rate"), "rad/s", 0.04, &[(&joint, 1.0)]);
    }
    let gaps = [("left_gap.rate", 0.5), ("right_gap.rate", 0.5)];
    builder.transmission("sticks.gap.rate", "m/s", 0.02, &gaps);
}

/// Controls for a replay: in units of their limits, in five segments of an episode.
fn demonstration(name: &str) -> Vec<Vec<f64>> {
    let both = |a: [f64; 3], b: [f64; 3]| [a, b].concat();
    match name {
        "plb-move" => vec![
            both([0.45, 0.0, 0.0], [-0.45, 0.0, 0.0]),
            both([0.4, 0.0, 0.5], [0.3, 0.0, 0.5]),
            both([0.45, 0.0, 0.5], [0.35, 0.0, 0.5]),
            both([0.5, 0.0, 0.3], [0.45, 0.0, 0.3]),
            both([0.5, 0.0, 0.0], [0.5, 0.0, 0.0]),
        ],
        "plb-torus" => [-1.0, -1.0, -1.0, 1.0, 1.0].map(|z| vec![0.0, 0.0, z]).to_vec(),
        "plb-rope" => vec![
            both([0.1, 1.0, 0.0], [-0.1, 1.0, 0.0]),
            both([0.0, 1.0, 0.0], [-0.1, 1.0, 0.0]),
            both([0.0, 1.0, 0.0], [-0.4, 1.0, 0.0]),
            both([0.3, 0.9, 0.0], [-0.9, 0.9, 0.0]),
            both([0.6, 0.6, 0.0], [-0.9, 0.5, 0.0]),
        ],
        "plb-writer" => vec![
            vec![-0.8, 0.0, 0.0],
            vec![0.0, 0.8, -0.65],
            vec![0.8, -0.8, 0.0],
            vec![0.8, 0.8, 0.0],
            vec![0.0, 0.0, 1.0],
        ],
        "plb-pinch" => vec![
            vec![0.0, 0.0, -0.8],
            vec![0.0, 0.0, -0.5],
            vec![0.0, 0.0, 0.5],
            vec![0.2, 0.0, 0.5],
            vec![0.0, 0.0, 0.3],
        ],
        "plb-rollingpin" => vec![
            vec![0.5, 0.0, -1.0],
            vec![-1.0, 0.0, -1.0],
            vec![1.0, 0.0, -1.0],
            vec![-0.7, 1.0, -0.5],
            vec![0.6, 1.0, 0.0],
        ],
        "plb-chopsticks" => {
            let sticks = |z: f64, gap: f64| vec![0.0, 0.0, z, 0.0, 0.0, 0.0, gap];
            vec![sticks(0.0, 0.8), sticks(-0.32, 0.0), sticks(0.0, -0.8), sticks(0.4, 0.0), sticks(0.6, 0.0)]
        }
        "plb-table" => [0.1, 0.15, 0.15, 0.1, 0.05].map(|u| vec![u, -u, 0.0]).to_vec(),
        "plb-triplemove" => {
            let pairs = |squeeze: f64, ways: [[f64; 2]; 3]| {
                let pair = |[x, z]: [f64; 2]| [x, squeeze, z, x, -squeeze, z];
                ways.map(pair).concat()
            };
            vec![
                pairs(0.3, [[0.0; 2]; 3]),
                pairs(0.05, [[0.0, 0.6], [0.0, 0.2], [0.0, 0.4]]),
                pairs(0.05, [[0.2, 0.6], [-0.2, 0.2], [0.0, 0.4]]),
                pairs(0.05, [[0.5, 0.2], [-0.5, 0.0], [0.0, 0.4]]),
                pairs(0.0, [[0.6, 0.0], [-0.6, 0.0], [0.0, 0.0]]),
            ]
        }
        _ => vec![
            both([0.1, 0.0, 0.8], [-0.1, 0.0, 0.8]),
            both([0.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
            both([1.0, 0.0, 0.3], [1.0, 0.0, 0.3]),
            both([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
            both([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ],
    }
}

/// Builds pieces of plasticine.
struct Pieces {
    frame: SourceFrame,
    size: Size,
    particles: Particles,
    material: Material,
}

impl Pieces {
    /// Number of particles: the source's, or fewer.
    fn count(&self, full: usize) -> usize {
        self.size.pick(full, full / 10, (full / 1600).max(2))
    }

    /// Fewer particles are as heavy and as stiff together as the source's.
    fn add(&mut self, name: &str, full: usize, positions: &[Vec3<f64>]) -> Result<(), ConfigError> {
        let volume = VOLUME * full as f64 / positions.len() as f64;
        self.particles.add(name, self.material, 1.0, volume, positions, Vec3::zero())
    }

    /// A box with center and edges given in the source's axes.
    fn block(&mut self, name: &str, full: usize, at: [f64; 3], edges: [f64; 3]) -> Result<(), ConfigError> {
        let (center, seed) = (self.frame.at(at[0], at[1], at[2]), self.particles.groups.len() as u64);
        let [x, y, z] = edges;
        self.add(name, full, &random_box(self.count(full), center, Vec3::new(x, z, y), seed))
    }

    /// A ball with its center given in the source's axes.
    fn ball(&mut self, name: &str, full: usize, at: [f64; 3], radius: f64) -> Result<(), ConfigError> {
        let (center, mut random) = (self.frame.at(at[0], at[1], at[2]), Random::new(7));
        let mut positions = Vec::new();
        while positions.len() < self.count(full) {
            let [x, y, z] = [0; 3].map(|_| random.uniform(-radius, radius));
            if x * x + y * y + z * z < radius * radius {
                positions.push(center + Vec3::new(x, y, z));
            }
        }
        self.add(name, full, &positions)
    }
}
