//! Tasks of BO-Leap on material point scenes: tool speeds in five segments, so that the material takes a
//! shape.
//!
//! Controls are constant in each of five segments of an episode. On PlasticineLab's scenes the loss is its
//! own, 10 Σ|m − m*| + 10 Σ d·m + w Σ D², summed over the actions; BO-Leap raises the weight w of contact
//! without saying how far, ours is 100. In `fluid` the loss is that of the final state, with the sign of its
//! first term turned: see [`ScoopLoss`].
//!
//! | tasks | precision | states kept for the gradient |
//! |---|---|---|
//! | coarse | `f32` | all substeps: 30 to 160 MB per thread |
//! | `-full` | `f64` | actions, and the substeps of one action at a time |
//!
//! Variables, losses and gradients are `f64` to the outside. Single precision halves the memory and doubles
//! the particles in a register, and suffices: over whole episodes at three random points of each coarse task,
//! losses differ from those in `f64` by at most 2·10⁻⁵ of themselves (`fluid`: 4·10⁻⁴, of a loss that sinks
//! towards 0), and the cosine between gradients is at least 0.99998. Where a difference of losses below 10⁻⁵
//! matters, ask for the full size.
//!
//! The loss of `fluid` is smooth in pieces: where a wall of the ladle, thinner than a cell, passes a row of
//! nodes at the end of a substep, the row is pushed out on the other side, and the loss jumps. Along the
//! first speed it jumped in nearly every stretch of 8·10⁻⁴ m/s, mostly by less than 1 % of itself. The
//! gradient is that of the piece: exact, and blind to the jumps.

use std::ops::Range;
use std::sync::Arc;

use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_core::layout::Section;
use pullback_core::registry::Entry;
use pullback_core::rollout::{Loss, Rollout, Sample};
use pullback_core::sources::BO_LEAP;
use pullback_core::{ConfigError, Described, Schedule};
use pullback_math::{Real, Scalar};
use pullback_optim::RolloutObjective;
use pullback_physics::mpm::ActuatedMpm;
use pullback_physics::mpm::losses::{ShapeLoss, Weights};

use super::blueprint::Size;
use super::water::{TANK, WALL, tank_corner};
use super::{find, targets};
use crate::objectives::{Build, Built, Task};

/// Segments of an episode.
const SEGMENTS: usize = 5;
/// Weight of contact.
const CONTACT: f64 = 100.0;
/// Memory for the states of all substeps of an episode, bytes; episodes that need more keep those of one
/// action at a time.
const MOST_BYTES: usize = 256 << 20;

/// Makes the table of coarse tasks, and that of the same at full size.
macro_rules! tasks {
    ($(($name:literal, $summary:literal, $place:literal),)*) => {
        /// Tasks on coarse versions of the scenes, quick enough for thousands of episodes.
        pub const TASKS: &[Task] = &[$(Entry::cited(
            $name,
            $summary,
            BO_LEAP.at($place),
            Build::Plain(|| sized($name, Size::Coarse)),
        )),*];
        /// The same on the scenes at full size.
        pub const FULL_TASKS: &[Task] = &[$(Entry::cited(
            concat!($name, "-full"),
            concat!($summary, ", at full size"),
            BO_LEAP.at($place),
            Build::Plain(|| sized($name, Size::Full)),
        )),*];
    };
}

tasks![
    ("fluid", "speeds of a ladle that lifts a cube of sugar out of syrup", "A.2.1"),
    ("assembly", "speeds of two spheres that put a ball on a stand", "A.2.2"),
    ("pinch", "speeds of a sphere that dents a box", "A.2.2"),
    ("rollingpin", "roll, yaw and height of a pin that flattens dough", "A.2.2"),
    ("rope", "speeds of two spheres that lay a rope around a pole", "A.2.2"),
    ("table", "speeds of a sphere that pushes a table's leg outwards", "A.2.2"),
    ("torus", "speeds of a torus that prints itself into dough", "A.2.2"),
    ("triplemove", "speeds of six spheres that move three boxes", "A.2.2"),
    ("writer", "speeds of a pen that draws a letter in dough", "A.2.2"),
];

/// A task at a size, in the precision that the head of this file says.
pub fn sized(name: &str, size: Size) -> Built {
    match size {
        Size::Coarse => in_precision::<f32>(name, size, None),
        Size::Full | Size::Small => in_precision::<f64>(name, size, None),
    }
}

/// A task at a size in the precision of `T`, with episodes of `actions` or as long as the scene's.
pub fn in_precision<T: Scalar>(name: &str, size: Size, actions: Option<usize>) -> Built {
    let scene = if name == "fluid" { "fluid-tank".to_owned() } else { format!("plb-{name}") };
    let (_, spec) = find(&scene)?;
    let plan = (spec.blueprint)(&scene, size)?;
    let (system, actions) = (plan.system()?, actions.unwrap_or(spec.actions));
    if name == "fluid" {
        let loss = ScoopLoss::new(&system)?;
        return Ok(Box::new(segmented::<T, _>(system, actions, plan.substeps, loss)?));
    }
    let mpm = Arc::new(system.mpm().clone());
    let target = targets::target(&scene, &mpm)?;
    let weights = Weights { contact: CONTACT, ..Weights::default() };
    let loss = ShapeLoss::new(mpm, target)?.with_weights(weights);
    Ok(Box::new(segmented::<T, _>(system, actions, plan.substeps, loss)?))
}

/// The loss of an episode as a function of the controls in each segment.
fn segmented<T: Scalar, L: Loss<T>>(
    system: ActuatedMpm,
    actions: usize,
    substeps: usize,
    loss: L,
) -> Result<RolloutObjective<ActuatedMpm, L, LinearMap, T>, ConfigError> {
    let mut rollout = Rollout::new(system, actions, Schedule::StoreAll)?.with_substeps(substeps)?;
    if rollout.predict_bytes::<T>() > MOST_BYTES {
        rollout =
            Rollout::new(rollout.system, actions, Schedule::Every(substeps))?.with_substeps(substeps)?;
    }
    let map = segments(&rollout.system.layout().control, actions);
    // Masses, distances and weights are none of them negative.
    Ok(RolloutObjective::new(rollout, loss, map).with_floor(0.0))
}

/// One variable per segment and control; every action of a segment takes its values.
fn segments(control: &Section, actions: usize) -> LinearMap {
    let controls = control.len();
    let variable = |segment: usize, i: usize| {
        let name = format!("{}[segment {segment}]", control.entry_name(i));
        Variable::new(name, control.unit(i).to_owned(), control.bounds(i), 0.0)
    };
    let variables = (0..SEGMENTS).flat_map(|s| (0..controls).map(move |i| variable(s, i))).collect();
    let mut map = LinearMap::new(variables);
    for entry in 0..actions * controls {
        let (action, i) = (entry / controls, entry % controls);
        let segment = action * SEGMENTS / actions;
        map.tie(InputEntry::Control(entry), 0.0, [(segment * controls + i, 1.0)]);
    }
    map
}

/// L = max(0, z_w − z) + 3 |p − p_ladle| + |p − c| at the end: p and z are the cube's level place and its
/// height above the tank's floor, c the middle of the tank, z_w the height of its walls. BO-Leap prints
/// max(0, y − y_w), which would reward a cube that stays down; its words ask for the highest cube.
#[derive(Clone, Debug)]
pub struct ScoopLoss {
    /// Positions of the cube's particles in the state.
    cube: Range<usize>,
    /// Coordinate of the ladle along x in the state.
    ladle: usize,
    /// The tank's lowest corner, m.
    corner: f64,
}

/// Smoothing of a distance, which keeps its slope finite at 0, m².
const SMOOTHING: f64 = 1e-8;

impl ScoopLoss {
    fn new(system: &ActuatedMpm) -> Result<Self, ConfigError> {
        let state = &system.layout().state;
        let cube = state.slice("sugar.position")?.range.clone();
        let ladle = state.slice("ladle_x.q")?.range.start;
        Ok(ScoopLoss { cube, ladle, corner: tank_corner(system.mpm().grid()) })
    }

    /// Mean position of the cube.
    fn position<T: Real>(&self, state: &[T]) -> [T; 3] {
        let per_particle = T::lit(3.0 / self.cube.len() as f64);
        std::array::from_fn(|k| {
            let entries = state[self.cube.clone()].iter().skip(k).step_by(3);
            entries.fold(T::zero(), |sum, x| sum + *x) * per_particle
        })
    }

    /// From ladle and from the middle of the tank to the cube, level; the depth below the rim.
    fn offsets<T: Real>(&self, state: &[T]) -> ([[T; 2]; 2], T) {
        let [x, y, z] = self.position(state);
        let middle = T::lit(self.corner + 0.5 * TANK);
        let across = y - middle;
        ([[x - state[self.ladle], across], [x - middle, across]], T::lit(self.corner + WALL) - z)
    }
}

/// Weights of the two distances.
const DISTANCE_WEIGHTS: [f64; 2] = [3.0, 1.0];

fn length<T: Real>([x, y]: [T; 2]) -> T {
    (x * x + y * y + T::lit(SMOOTHING)).sqrt()
}

impl<T: Real> Loss<T> for ScoopLoss {
    fn value(&self, at: Sample<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let (offsets, depth) = self.offsets(at.state);
        let weighted = offsets.into_iter().zip(DISTANCE_WEIGHTS);
        weighted.fold(depth.max(T::zero()), |sum, (d, weight)| sum + length(d) * T::lit(weight))
    }

    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if !at.last() {
            return;
        }
        let (offsets, depth) = self.offsets(at.state);
        let (depth_bar, _) = depth.max_vjp(T::zero(), T::one());
        let mut position_bar = [T::zero(), T::zero(), -depth_bar];
        for (k, (d, weight)) in offsets.into_iter().zip(DISTANCE_WEIGHTS).enumerate() {
            // d|d| = d·dd/|d|
            let scale = T::lit(weight) / length(d);
            position_bar[0] += d[0] * scale;
            position_bar[1] += d[1] * scale;
            if k == 0 {
                state_bar[self.ladle] -= d[0] * scale;
            }
        }
        let per_particle = T::lit(3.0 / self.cube.len() as f64);
        for (i, bar) in state_bar[self.cube.clone()].iter_mut().enumerate() {
            *bar += position_bar[i % 3] * per_particle;
        }
    }
}
