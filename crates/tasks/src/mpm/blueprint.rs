//! [`Blueprint`]: what a scene is made of, before it becomes a system; [`Toolbox`]: models of tools and their levers.

use std::fmt::Write;

use pullback_core::{ConfigError, Repeated};
use pullback_math::Vec3;
use pullback_physics::articulated::Model;
use pullback_physics::mpm::grid::Floor;
use pullback_physics::mpm::{Cloud, Grid, Mpm};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::geared::{Geared, Lever, Rolling};

/// How finely a scene is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As the source has it.
    Full,
    /// Half the nodes along each axis, a tenth to a third of the particles, longer substeps: the same episode for less.
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

/// Where a scene of a source with y up stands in ours: (x, y, z) becomes (x, 1 − z, y), lifted onto our floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// How much higher than in the source things are, m: our floor is the margin of the grid, which depends on its resolution.
    pub lift: f64,
}

impl Site {
    /// The site of a grid, for a source whose floor is at height `floor`.
    pub fn new(grid: &Grid, floor: f64) -> Self {
        Site { lift: grid.margin as f64 * grid.spacing - floor }
    }

    /// A place of the source.
    pub fn at(&self, x: f64, y: f64, z: f64) -> Vec3<f64> {
        Vec3::new(x, 1.0 - z, y + self.lift)
    }
}

/// A unit cube whose colliders reach equally many cells at every resolution; small versions feel them from far away, so that
/// their few nodes do.
pub(super) fn cube(nodes: usize, full: usize, size: Size, friction: f64) -> Grid {
    let softness = size.pick(666.0, 666.0 * nodes as f64 / full as f64, 20.0);
    let floor = if friction >= STICKY { Floor::Sticky } else { Floor::Friction };
    Grid { softness, floor, floor_friction: friction.min(STICKY), ..Grid::cube(nodes) }
}

/// From this friction on, the sources let what touches the floor stick to it.
const STICKY: f64 = 10.0;

/// What a scene is made of.
pub(super) struct Blueprint {
    pub grid: Grid,
    pub cloud: Cloud,
    pub tools: Tools,
    /// Seconds per substep.
    pub dt: f64,
    /// Substeps per action.
    pub substeps: usize,
    /// Levers in units of their limits, in stretches of equal length: something to look at.
    pub demonstration: Vec<Vec<f64>>,
}

impl Blueprint {
    /// The system whose step is one substep.
    pub fn system(&self) -> Result<Geared, ConfigError> {
        let Tools { model, levers, rolling, start } = self.tools.clone();
        let mpm = Mpm::new(self.grid, self.cloud.clone(), model, self.dt)?;
        Geared::new(mpm, levers, rolling, &start)
    }

    /// The system whose step is one action of `substeps`.
    pub fn frames(&self, substeps: usize) -> Result<Repeated<Geared>, ConfigError> {
        Repeated::new(self.system()?, substeps)
    }

    /// The demonstration over `steps` actions; it lasts an episode of `actions` and then stops.
    pub fn controls(&self, steps: usize, actions: usize) -> Vec<f64> {
        let stretch = actions.div_ceil(self.demonstration.len().max(1)).max(1);
        let limits = || self.tools.levers.iter().map(|l| l.limit);
        (0..steps)
            .flat_map(|step| match self.demonstration.get(step / stretch) {
                Some(shares) => limits().zip(shares).map(|(limit, share)| limit * share).collect(),
                None => vec![0.0; self.tools.levers.len()],
            })
            .collect()
    }
}

/// Tools and their levers.
#[derive(Clone)]
pub(super) struct Tools {
    pub model: Model,
    pub levers: Vec<Lever>,
    pub rolling: Option<Rolling>,
    /// Coordinates of the joints at the start, where they differ from those the model stands at.
    pub start: Vec<f64>,
}

/// Writes down a model of tools.
pub(super) struct Toolbox {
    bodies: String,
    joints: usize,
    levers: Vec<Lever>,
    /// Seconds per action.
    action: f64,
    /// Sliding friction of what is added next.
    pub friction: f64,
    /// Colour of what is added next.
    pub rgba: &'static str,
}

/// Colours of tools.
const STEEL: &str = "0.45 0.5 0.56 1";
pub(super) const GLASS: &str = "0.7 0.8 0.9 0.25";

/// Name and direction of an axis.
const AXES: [(&str, &str); 3] = [("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1")];

impl Toolbox {
    /// No tools yet; levers move by their scale within `action` seconds.
    pub fn new(action: f64, friction: f64) -> Self {
        Toolbox { bodies: String::new(), joints: 0, levers: Vec::new(), action, friction, rgba: STEEL }
    }

    /// Adds elements to the world.
    pub fn add(&mut self, text: &str) {
        self.bodies += text;
    }

    /// Counts a joint velocity of an element just written; returns its place.
    pub fn joint(&mut self) -> usize {
        self.joints += 1;
        self.joints - 1
    }

    /// A lever that moves joints by up to `scale` per action.
    pub fn lever(&mut self, name: impl Into<String>, unit: &'static str, scale: f64, moves: &[(usize, f64)]) {
        let limit = scale / self.action;
        self.levers.push(Lever { name: name.into(), unit, limit, moves: moves.to_vec() });
    }

    /// A body on three slides, with a lever for each. Its geoms get friction and colour of the box.
    pub fn anchor(
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
            let joint = self.joint();
            // A scale of 0 is a lever that moves nothing, as in the source.
            let (scale, moves) = if scale[k] > 0.0 { (scale[k], vec![(joint, 1.0)]) } else { (1.0, vec![]) };
            self.lever(format!("{name}.{axis}.rate"), "m/s", scale, &moves);
        }
        let geoms = self.geoms(geoms);
        let Vec3 { x, y, z } = at;
        let _ = write!(self.bodies, "<body name='{name}' pos='{x} {y} {z}'>{joints}{geoms}</body>");
    }

    /// Puts friction and colour of tools into geoms.
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
        let model = model.map_err(|e| ConfigError::new(format!("tools of {name}: {e}")))?;
        Ok(Tools { model, levers: self.levers, rolling: None, start: Vec::new() })
    }
}
