//! The ten scenes of PlasticineLab (Huang et al. 2021; BO-Leap, A.2.2): plasticine, and spheres and other
//! tools that shape it.
//!
//! The source's boxes stand on y = 0 while its grid holds what is below three cells; here everything is lifted by these three
//! cells, so that boxes stand on the floor. Places in comments are the source's, y up.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_core::sources::PLASTICINE_LAB;
use pullback_math::Vec3;
use pullback_physics::articulated::Shape;
use pullback_physics::mpm::cloud::random_box;
use pullback_physics::mpm::{Cloud, Stuff};

use super::MpmSpec;
use super::blueprint::{Blueprint, Site, Size, Toolbox, Tools, cube};
use super::geared::Rolling;
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
    let (strength, poisson, floor_friction) = match name {
        "plb-move" | "plb-triplemove" => (200.0, 0.2, 1.5),
        "plb-rope" => (50.0, 0.2, 0.3),
        "plb-rollingpin" => (50.0, 0.2, 1.5),
        "plb-chopsticks" => (200.0, 0.2, 0.0),
        "plb-table" => (50.0, 0.05, 0.3),
        "plb-assembly" => (100.0, 0.2, 100.0),
        _ => (50.0, 0.2, 100.0),
    };
    let grid = cube(size.pick(64, 32, 16), 64, size, floor_friction);
    let site = Site::new(&grid, 0.0);
    let stuff = Stuff::Plasticine(YOUNG, poisson, strength);
    let mut pieces = Pieces { site, size, stuff, cloud: Cloud::default() };
    material(name, &mut pieces)?;
    let (dt, substeps) = size.pick((ACTION / 19.0, 19), (ACTION / 10.0, 10), (ACTION / 5.0, 1));
    Ok(Blueprint {
        grid,
        cloud: pieces.cloud,
        tools: tools(name, site)?,
        dt,
        substeps,
        demonstration: demonstration(name),
    })
}

/// The plasticine of a scene.
fn material(name: &str, pieces: &mut Pieces) -> Result<(), ConfigError> {
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
fn tools(name: &str, site: Site) -> Result<Tools, ConfigError> {
    let friction = match name {
        "plb-writer" => 0.0,
        "plb-chopsticks" => 10.0,
        _ => FRICTION,
    };
    let mut kit = Toolbox::new(ACTION, friction);
    let gravity = if name == "plb-chopsticks" { 150.0 } else { 30.0 };
    // Tools stay in the unit cube of the source.
    let unit = [(0.0, 1.0), (0.0, 1.0), (site.lift, 1.0 + site.lift)];
    let ball = |radius: f64| format!("<geom type='sphere' size='{radius}'/>");
    match name {
        "plb-move" => {
            for (side, x) in [("left", 0.36), ("right", 0.64)] {
                kit.anchor(side, site.at(x, 0.15, 0.5), &ball(0.03), [0.01; 3], unit);
            }
        }
        "plb-torus" => {
            // A sphere in the file, a torus below: files know no tori.
            kit.anchor("torus", site.at(0.5, 0.2, 0.5), &ball(0.03), [0.004; 3], unit);
        }
        "plb-rope" => {
            for (side, x) in [("left", 0.22), ("right", 0.78)] {
                kit.anchor(side, site.at(x, 0.015, 0.82), &ball(0.03), [0.01; 3], unit);
            }
            let Vec3 { x, y, z } = site.at(0.39, 0.0, 0.5);
            let pole = format!("<geom type='cylinder' size='0.1 0.2' pos='{x} {y} {z}'/>");
            kit.add(&kit.geoms(&pole));
        }
        "plb-writer" => {
            // The source's pen starts inside the dough; ours just above.
            let pen = "<geom type='capsule' size='0.03 0.03'/>";
            kit.anchor("pen", site.at(0.5, 0.165, 0.5), pen, [0.01; 3], unit);
        }
        "plb-pinch" => {
            let within = [(0.1, 0.9), (0.1, 0.9), (0.1 + site.lift, 0.9 + site.lift)];
            kit.anchor("sphere", site.at(0.5, 0.35, 0.5), &ball(0.04), [0.02; 3], within);
        }
        "plb-rollingpin" => rolling_pin(&mut kit, site),
        "plb-chopsticks" => chopsticks(&mut kit, site),
        "plb-table" => {
            kit.anchor("sphere", site.at(0.5, 0.06, 0.5), &ball(0.04), [0.03, 0.03, 0.0], unit);
        }
        "plb-triplemove" => {
            for (name, x) in [("left", 0.3), ("middle", 0.5), ("right", 0.7)] {
                for (side, z) in [("front", 0.58), ("back", 0.42)] {
                    let name = format!("{name}_{side}");
                    kit.anchor(&name, site.at(x, 0.05, z), &ball(0.03), [0.01; 3], unit);
                }
            }
        }
        _ => {
            for (side, x) in [("left", 0.22), ("right", 0.38)] {
                kit.anchor(side, site.at(x, 0.06, 0.5), &ball(0.04), [0.009; 3], unit);
            }
        }
    }
    let mut tools = kit.finish(name, gravity, site.lift)?;
    match name {
        "plb-torus" => {
            for geom in tools.model.geoms.iter_mut().filter(|g| g.body > 0) {
                geom.shape = Shape::Torus { ring: 0.05, tube: 0.03 };
            }
        }
        // A roll of 1 rad moves the pin by 0.03 m.
        "plb-rollingpin" => tools.rolling = Some(Rolling { roll: 0, radius: 0.03 }),
        _ => {}
    }
    Ok(tools)
}

/// A pin that rolls, turns about the vertical and goes up and down.
fn rolling_pin(kit: &mut Toolbox, site: Site) {
    let Vec3 { x, y, z } = site.at(0.5, 0.123, 0.5);
    let (low, high) = (site.lift, 1.0 + site.lift);
    let pin = kit.geoms("<geom type='capsule' fromto='0 -0.15 0 0 0.15 0' size='0.03'/>");
    kit.add(&format!(
        "<body name='pin' pos='{x} {y} {z}'>
          <joint name='pin_x' type='slide' axis='1 0 0' ref='{x}' range='0 1'/>
          <joint name='pin_y' type='slide' axis='0 1 0' ref='{y}' range='0 1'/>
          <joint name='pin_z' type='slide' axis='0 0 1' ref='{z}' range='{low} {high}'/>
          <joint name='pin_yaw' type='hinge' axis='0 0 1'/>
          <joint name='pin_spin' type='hinge' axis='0 1 0'/>
          {pin}
        </body>"
    ));
    let [_, _, height, yaw, spin] = [0; 5].map(|_: usize| kit.joint());
    kit.lever("pin.roll.rate", "rad/s", 0.6667, &[(spin, 1.0)]);
    kit.lever("pin.yaw.rate", "rad/s", 0.0667, &[(yaw, 1.0)]);
    kit.lever("pin.z.rate", "m/s", 0.001, &[(height, 1.0)]);
}

/// Two upright sticks that move and turn together and open and close.
fn chopsticks(kit: &mut Toolbox, site: Site) {
    let Vec3 { x, y, z } = site.at(0.5, 0.15, 0.5);
    let half = 0.5 * GAP;
    let stick = kit.geoms("<geom type='capsule' size='0.02 0.1'/>");
    let side = |name: &str, sign: f64| {
        format!(
            "<body name='{name}' pos='{} 0 0'>
              <joint name='{name}_gap' type='slide' axis='{sign} 0 0' ref='{half}' range='{half} 0.2'/>{stick}</body>",
            sign * half
        )
    };
    kit.add(&format!(
        "<body name='sticks' pos='{x} {y} {z}'>
          <freejoint name='sticks'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>{}{}</body>",
        side("left", -1.0),
        side("right", 1.0)
    ));
    let joints = [0; 8].map(|_: usize| kit.joint());
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        kit.lever(format!("sticks.{axis}.rate"), "m/s", 0.02, &[(joints[k], 1.0)]);
    }
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        kit.lever(format!("sticks.turn_{axis}.rate"), "rad/s", 0.04, &[(joints[3 + k], 1.0)]);
    }
    kit.lever("sticks.gap.rate", "m/s", 0.02, &[(joints[6], 0.5), (joints[7], 0.5)]);
}

/// Something to look at: levers in units of their limits, five stretches of an episode or ten.
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
            let levers = |z: f64, gap: f64| vec![0.0, 0.0, z, 0.0, 0.0, 0.0, gap];
            vec![levers(0.0, 0.8), levers(-0.32, 0.0), levers(0.0, -0.8), levers(0.4, 0.0), levers(0.6, 0.0)]
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

/// Plasticine in pieces.
struct Pieces {
    site: Site,
    size: Size,
    cloud: Cloud,
    stuff: Stuff,
}

impl Pieces {
    /// Number of particles: the source's, or fewer.
    fn count(&self, full: usize) -> usize {
        self.size.pick(full, full / 10, (full / 1600).max(2))
    }

    /// Fewer particles are as heavy and as stiff together as the source's.
    fn add(&mut self, name: &str, full: usize, places: &[Vec3<f64>]) -> Result<(), ConfigError> {
        let volume = VOLUME * full as f64 / places.len() as f64;
        self.cloud.add(name, self.stuff, 1.0, volume, places, Vec3::zero())
    }

    /// A box with centre and edges given in the source's axes.
    fn block(&mut self, name: &str, full: usize, at: [f64; 3], edges: [f64; 3]) -> Result<(), ConfigError> {
        let (centre, seed) = (self.site.at(at[0], at[1], at[2]), self.cloud.parts.len() as u64);
        let [x, y, z] = edges;
        self.add(name, full, &random_box(self.count(full), centre, Vec3::new(x, z, y), seed))
    }

    /// A ball with its centre given in the source's axes.
    fn ball(&mut self, name: &str, full: usize, at: [f64; 3], radius: f64) -> Result<(), ConfigError> {
        let (centre, mut random) = (self.site.at(at[0], at[1], at[2]), Random::new(7));
        let mut places = Vec::new();
        while places.len() < self.count(full) {
            let [x, y, z] = [0; 3].map(|_| random.uniform(-radius, radius));
            if x * x + y * y + z * z < radius * radius {
                places.push(centre + Vec3::new(x, y, z));
            }
        }
        self.add(name, full, &places)
    }
}
