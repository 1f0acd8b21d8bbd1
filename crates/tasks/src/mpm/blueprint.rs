//! [`Blueprint`]: parts of a scene before it becomes a system; [`ToolBuilder`]: models of tools and their
//! transmissions.

use std::fmt::Write;

use pullback_core::ConfigError;
use pullback_math::Vec3;
use pullback_physics::articulated::{ContactModel, Model};
use pullback_physics::mpm::{ActuatedMpm, Floor, Grid, Mpm, Particles, Rolling, Transmission};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

/// How finely a scene is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As the source has it.
    Full,
    /// Half the nodes along each axis, a tenth to a third of the particles, longer substeps: the same episode
    /// for less.
    Coarse,
    /// A few particles, for checks of every entry.
    Small,
}

impl Size {
    /// The value of this size.
    pub fn pick<X>(self, full: X, coarse: X, small: X) -> X {
        match self {
            Size::Full => full,
            Size::Coarse => coarse,
            Size::Small => small,
        }
    }
}

/// Frame of a source with y up: its (x, y, z) is our (x, 1 − z, y), lifted onto our floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceFrame {
    /// Height of the frame's origin, m. Our floor is the margin of the grid, which depends on its resolution.
    pub lift: f64,
}

impl SourceFrame {
    /// The frame on a grid, for a source whose floor is at height `floor`.
    pub fn new(grid: &Grid, floor: f64) -> Self {
        SourceFrame { lift: grid.margin as f64 * grid.spacing - floor }
    }

    /// A position of the source in our frame.
    pub fn at(&self, x: f64, y: f64, z: f64) -> Vec3<f64> {
        Vec3::new(x, 1.0 - z, y + self.lift)
    }
}

/// A unit cube whose colliders have the same range in cells at every resolution. Small versions have a larger
/// range, so that colliders act on their few nodes.
pub(super) fn cube(nodes: usize, full: usize, size: Size, friction: f64) -> Grid {
    let softness = size.pick(666.0, 666.0 * nodes as f64 / full as f64, 20.0);
    let floor = if friction >= STICKY { Floor::Sticky } else { Floor::Friction };
    Grid { softness, floor, floor_friction: friction.min(STICKY), ..Grid::cube(nodes) }
}

/// Friction from which on the floor of the sources is sticky.
const STICKY: f64 = 10.0;

/// What a scene is made of.
pub(super) struct Blueprint {
    pub grid: Grid,
    pub particles: Particles,
    pub tools: Tools,
    /// Seconds per substep.
    pub dt: f64,
    /// Substeps per action.
    pub substeps: usize,
    /// Controls in units of their limits, in segments of equal length, for a replay.
    pub demonstration: Vec<Vec<f64>>,
}

impl Blueprint {
    /// The system whose step is one substep.
    pub fn system(&self) -> Result<ActuatedMpm, ConfigError> {
        let Tools { model, transmissions, rolling, start } = &self.tools;
        let mpm = Mpm::new(self.grid, self.particles.clone(), model.clone(), self.dt)?;
        ActuatedMpm::new(mpm, transmissions, rolling.as_ref(), start)
    }

    /// The demonstration over `steps` actions; it lasts an episode of `actions` and then stops.
    pub fn controls(&self, steps: usize, actions: usize) -> Vec<f64> {
        let segment = actions.div_ceil(self.demonstration.len().max(1)).max(1);
        let limits = || self.tools.transmissions.iter().map(|t| t.limit);
        (0..steps)
            .flat_map(|step| match self.demonstration.get(step / segment) {
                Some(relative) => limits().zip(relative).map(|(limit, u)| limit * u).collect(),
                None => vec![0.0; self.tools.transmissions.len()],
            })
            .collect()
    }
}

/// Tools and their transmissions.
#[derive(Clone)]
pub(super) struct Tools {
    pub model: Model,
    pub transmissions: Vec<Transmission>,
    pub rolling: Option<Rolling>,
    /// Initial coordinates of the first joints, where they differ from the reference of the model.
    pub start: Vec<f64>,
}

/// Builds a model of tools.
pub(super) struct ToolBuilder {
    bodies: String,
    transmissions: Vec<Transmission>,
    /// Seconds per action.
    action: f64,
    /// Sliding friction of geoms to come.
    pub friction: f64,
    /// Color of geoms to come.
    pub rgba: &'static str,
}

/// Colors of tools.
const STEEL: &str = "0.45 0.5 0.56 1";
pub(super) const GLASS: &str = "0.7 0.8 0.9 0.25";

/// Name and direction of an axis.
const AXES: [(&str, &str); 3] = [("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1")];

impl ToolBuilder {
    /// No tools yet; actions take `action` seconds.
    pub fn new(action: f64, friction: f64) -> Self {
        ToolBuilder { bodies: String::new(), transmissions: Vec::new(), action, friction, rgba: STEEL }
    }

    /// Adds elements to the world.
    pub fn add(&mut self, text: &str) {
        self.bodies += text;
    }

    /// A control that moves joints by up to `scale` per action, with the ratio of each joint.
    pub fn transmission(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        scale: f64,
        joints: &[(&str, f64)],
    ) {
        let joints = joints.iter().map(|(joint, ratio)| ((*joint).to_owned(), *ratio)).collect();
        let limit = scale / self.action;
        self.transmissions.push(Transmission { name: name.into(), unit, limit, joints });
    }

    /// A body on three slides, each with a control. Its geoms get the friction and color of the builder.
    pub fn slider(
        &mut self,
        name: &str,
        at: Vec3<f64>,
        geoms: &str,
        scale: [f64; 3],
        ranges: [(f64, f64); 3],
    ) {
        let place = [at.x, at.y, at.z];
        let mut joints = String::new();
        for (k, (axis, direction)) in AXES.into_iter().enumerate() {
            let ((low, high), reference) = (ranges[k], place[k]);
            let _ = write!(
                joints,
                "<joint name='{name}_{axis}' type='slide' axis='{direction}' ref='{reference}' range='{low} {high}'/>"
            );
            let joint = format!("{name}_{axis}.rate");
            let joints = [(joint.as_str(), 1.0)];
            // A scale of 0 is a control that moves nothing, as in the source.
            let (scale, joints) = if scale[k] > 0.0 { (scale[k], &joints[..]) } else { (1.0, &[][..]) };
            self.transmission(format!("{name}.{axis}.rate"), "m/s", scale, joints);
        }
        let geoms = self.geoms(geoms);
        let Vec3 { x, y, z } = at;
        let _ = write!(self.bodies, "<body name='{name}' pos='{x} {y} {z}'>{joints}{geoms}</body>");
    }

    /// Puts friction and color of tools into geoms.
    pub fn geoms(&self, text: &str) -> String {
        let ours = format!("<geom friction='{} 0 0' rgba='{}' ", self.friction, self.rgba);
        text.replace("<geom ", &ours)
    }

    /// The model, above a floor at height `floor`.
    pub fn finish(self, name: &str, gravity: f64, floor: f64) -> Result<Tools, ConfigError> {
        let bodies = &self.bodies;
        let text = format!(
            "<mujoco model='{name}'>
              <compiler angle='radian'/>
              <option gravity='0 0 {}'/>
              <worldbody>
                <geom name='ground' type='plane' size='5 5 1' pos='0 0 {floor}' contype='0' conaffinity='0' rgba='0.5 0.5 0.5 1'/>
                {bodies}
              </worldbody>
            </mujoco>",
            -gravity
        );
        let model = parse_mjcf(&text, None, &ImportOptions::default());
        let mut model = model.map_err(|e| ConfigError::new(format!("tools of {name}: {e}")))?;
        model.options.contact_model = ContactModel::Penalty;
        Ok(Tools { model, transmissions: self.transmissions, rolling: None, start: Vec::new() })
    }
}
