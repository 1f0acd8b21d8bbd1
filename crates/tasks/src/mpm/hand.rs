//! `hand-flip`: a hand of 24 joints folds a disc of dough (Rewarped, HandFlip).
//!
//! The hand is our own: two joints of the wrist, four each for three fingers, five each for little finger and
//! thumb, with lengths and ranges of a human-sized robot hand, two and a half times as large as the source
//! scales it. In its own frame fingers point along z, the palm looks along −y and the thumb is at +x; it lies
//! on its back, fingers along −y of the world.

use std::fmt::Write;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_math::Vec3;
use pullback_physics::mpm::{Elastoplastic, Material, Particles};

use super::blueprint::{Blueprint, Size, SourceFrame, ToolBuilder, cube};
use super::dough::{ACTION, FLOOR};

/// How much larger than a human hand.
const SCALE: f64 = 2.5;
/// Volume of a particle, m³.
const VOLUME: f64 = 1.0 / (128.0 * 128.0);
/// Largest turn of a joint per action, rad.
const TURN: f64 = 0.33 * 0.002 * 40.0;
/// Radius and half the height of the disc, m.
const DISC: (f64, f64) = (0.1, 0.003);
/// Angles at the start, wrist first, thumb last, rad.
const START: [f64; 24] = [
    -0.1651, -0.3197, 0.1434, 0.3203, 0.7126, 0.6705, 0.0002, 0.3153, 0.7660, 0.7323, 0.0004, 0.3674, 0.7120,
    0.6699, 0.0525, -0.1362, 0.3987, 0.7416, 0.7041, 0.0037, 0.5506, -0.0145, -0.0015, -0.7895,
];

/// A disc of dough above a hand.
pub(super) fn build(name: &str, size: Size) -> Result<Blueprint, ConfigError> {
    let grid = cube(size.pick(48, 32, 16), 48, size, 500.0);
    let frame = SourceFrame::new(&grid, FLOOR);
    let positions = disc(size.pick(2500, 800, 6), frame.at(0.5, 0.38, 0.6));
    let volume = VOLUME * 2500.0 / positions.len() as f64;
    let mut particles = Particles::default();
    let dough = Material::VonMises(Elastoplastic { young: 4e3, poisson: 0.2, yield_stress: 130.0 });
    particles.add("dough", dough, 1.0, volume, &positions, Vec3::zero())?;

    let mut builder = ToolBuilder::new(ACTION, 0.5);
    builder.rgba = "0.62 0.62 0.66 1";
    let mut hand = Hand { text: String::new(), joints: Vec::new(), builder: &builder };
    hand.write(frame.at(0.5, 0.3, 0.3));
    let Hand { text, joints, .. } = hand;
    builder.add(&text);
    for joint in &joints {
        let rate = format!("{joint}.rate");
        builder.transmission(rate.clone(), "rad/s", TURN, &[(&rate, 1.0)]);
    }
    let (dt, substeps) = size.pick((ACTION / 40.0, 40), (ACTION / 20.0, 20), (ACTION / 10.0, 1));
    let mut tools = builder.finish(name, 90.0, FLOOR + frame.lift)?;
    tools.start = START.to_vec();
    // Fingers bend at the knuckle and at the middle joint.
    let bends = |joint: &str| {
        let (finger, number) = joint.rsplit_once('_').unwrap_or_default();
        if finger == "thumb" { number == "3" } else { finger != "wrist" && ["1", "2"].contains(&number) }
    };
    let bend = |fingers: f64, wrist: f64| {
        let relative = |joint: &String| match joint.as_str() {
            "wrist_0" => wrist,
            joint if bends(joint) => fingers,
            _ => 0.0,
        };
        joints.iter().map(relative).collect::<Vec<f64>>()
    };
    Ok(Blueprint {
        grid,
        particles,
        tools,
        dt,
        substeps,
        demonstration: vec![bend(0.0, 0.1), bend(0.6, 0.1), bend(0.9, 0.2), bend(-0.8, 0.0), bend(0.5, 0.0)],
    })
}

/// Particles of a disc; those of its second half mirror those of its first half.
fn disc(count: usize, center: Vec3<f64>) -> Vec<Vec3<f64>> {
    let ((radius, height), mut random) = (DISC, Random::new(0));
    let mut half = Vec::new();
    while half.len() < count / 2 {
        let x = random.uniform(-radius, radius);
        let y = random.uniform(-radius, 0.0);
        if x * x + y * y < radius * radius {
            half.push(Vec3::new(x, y, random.uniform(-height, height)));
        }
    }
    // From the middle outwards, as the source sorts them.
    half.sort_by(|a, b| b.y.total_cmp(&a.y).then(a.x.total_cmp(&b.x)));
    let mirrored = half.iter().map(|v| Vec3::new(v.x, -v.y, v.z));
    half.iter().copied().chain(mirrored).map(|v| center + v).collect()
}

/// A joint: name, axis in the body, range in rad.
type Hinge<'a> = (&'a str, &'a str, f64, f64);

/// Writes the MJCF of the hand; sizes are those of a human hand.
struct Hand<'b> {
    text: String,
    joints: Vec<String>,
    builder: &'b ToolBuilder,
}

impl Hand<'_> {
    /// Opens a body with hinges and geoms.
    fn open(&mut self, name: &str, [x, y, z]: [f64; 3], turn: &str, hinges: &[Hinge<'_>], geoms: &str) {
        let [x, y, z] = [x, y, z].map(|d| d * SCALE);
        let _ = write!(self.text, "<body name='{name}' pos='{x} {y} {z}' {turn}>");
        for (joint, axis, low, high) in hinges {
            let _ =
                write!(self.text, "<joint name='{joint}' type='hinge' axis='{axis}' range='{low} {high}'/>");
            self.joints.push((*joint).to_owned());
        }
        if hinges.is_empty() && geoms.is_empty() {
            self.text += "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>";
        }
        self.text += &self.builder.geoms(geoms);
    }

    fn close(&mut self, bodies: usize) {
        self.text += &"</body>".repeat(bodies);
    }

    /// A bone along z.
    fn bone(length: f64, radius: f64) -> String {
        let (length, radius) = (length * SCALE, radius * SCALE);
        format!("<geom type='capsule' fromto='0 0 0 0 0 {length}' size='{radius}'/>")
    }

    /// Knuckle, middle and tip of a finger; leaves nothing open.
    fn finger(&mut self, name: &str, at: [f64; 3], outwards: &str) {
        let joint = |k: usize| format!("{name}_{k}");
        let [spread, bend, middle, tip] = [3, 2, 1, 0].map(joint);
        let knuckle = [(spread.as_str(), outwards, -0.44, 0.44), (bend.as_str(), "1 0 0", 0.0, 1.6)];
        self.open(&format!("{name}_proximal"), at, "", &knuckle, &Self::bone(0.045, 0.01));
        let hinge = [(middle.as_str(), "1 0 0", 0.0, 1.6)];
        self.open(&format!("{name}_middle"), [0.0, 0.0, 0.045], "", &hinge, &Self::bone(0.025, 0.008));
        let hinge = [(tip.as_str(), "1 0 0", 0.0, 1.6)];
        self.open(&format!("{name}_distal"), [0.0, 0.0, 0.025], "", &hinge, &Self::bone(0.026, 0.007));
        self.close(3);
    }

    /// The whole hand with its wrist at a position of the world.
    fn write(&mut self, at: Vec3<f64>) {
        let at = [at.x, at.y, at.z].map(|d| d / SCALE);
        // A half turn about (0, 1, −1): x to −x, y to −z, z to −y.
        self.open("base", at, "quat='0 0 0.70710678 -0.70710678'", &[], "");
        let wrist = [("wrist_1", "0 1 0", -0.52, 0.17)];
        self.open("wrist", [0.0; 3], "", &wrist, &Self::bone(0.02, 0.014));
        let [hx, hy, hz] = [0.04, 0.011, 0.043].map(|d| d * SCALE);
        let palm = format!("<geom type='box' size='{hx} {hy} {hz}' pos='0 0 {}'/>", 0.045 * SCALE);
        self.open("palm", [0.0, 0.0, 0.034], "", &[("wrist_0", "1 0 0", -0.79, 0.61)], &palm);
        self.finger("first", [0.033, 0.0, 0.095], "0 -1 0");
        self.finger("middle", [0.011, 0.0, 0.099], "0 -1 0");
        self.finger("ring", [-0.011, 0.0, 0.095], "0 1 0");
        let heel = [("little_4", "0.571 0 0.821", 0.0, 0.7)];
        self.open("little_heel", [-0.017, 0.0, 0.044], "", &heel, &Self::bone(0.03, 0.01));
        self.finger("little", [-0.017, 0.0, 0.044], "0 1 0");
        self.close(1);
        let root = [("thumb_4", "0 0 -1", -1.05, 1.05), ("thumb_3", "1 0 0", 0.0, 1.3)];
        let turn = "quat='0.924 0 0.383 0'";
        self.open("thumb_proximal", [0.034, -0.009, 0.029], turn, &root, &Self::bone(0.038, 0.013));
        let hinges = [("thumb_2", "1 0 0", -0.26, 0.26), ("thumb_1", "0 1 0", -0.52, 0.52)];
        self.open("thumb_middle", [0.0, 0.0, 0.038], "", &hinges, &Self::bone(0.032, 0.011));
        let tip = [("thumb_0", "0 1 0", -1.58, 0.0)];
        self.open("thumb_distal", [0.0, 0.0, 0.032], "", &tip, &Self::bone(0.0275, 0.009));
        self.close(6);
    }
}
