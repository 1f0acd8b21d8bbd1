//! Tasks of paper 0 on material point scenes: tool speeds in five segments, so that the material takes a shape.
//!
//! Controls are constant in each of five segments of an episode. On PlasticineLab's scenes the loss is its own, 10 Σ|m − m*| +
//! 10 Σ d·m + w Σ D², summed over the actions; paper 0 raises the weight w of contact without saying how far, ours is 100. In
//! `fluid` the loss is that of the final state, with the sign of its first term turned: see [`ScoopLoss`].
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
use std::sync::{Arc, Mutex};

use pullback_core::rollout::{Framed, Inputs, Loss, Moment, Rollout, RolloutWorkspace};
use pullback_core::{ConfigError, Described, Schedule, StepError, System};
use pullback_math::{Real, Scalar};
use pullback_optim::Objective;
use pullback_physics::mpm::ActuatedMpm;
use pullback_physics::mpm::losses::{ShapeLoss, Weights};

use super::blueprint::Size;
use super::water::{TANK, WALL, tank_corner};
use super::{blueprint, targets};
use crate::objectives::{Built, Task};

/// Segments of an episode.
const SEGMENTS: usize = 5;
/// Weight of contact.
const CONTACT: f64 = 100.0;
/// Memory for the states of all substeps of an episode, bytes; episodes that need more keep those of one
/// action at a time.
const MOST_BYTES: usize = 256 << 20;

/// Makes the table of coarse tasks, and that of the same at full size.
macro_rules! tasks {
    ($(($name:literal, $summary:literal),)*) => {
        /// Tasks on coarse versions of the scenes, quick enough for thousands of episodes.
        pub const TASKS: &[Task] = &[$(Task::new($name, $summary, || sized($name, Size::Coarse))),*];
        /// The same on the scenes at full size.
        pub const FULL_TASKS: &[Task] = &[$(Task::new(
            concat!($name, "-full"),
            concat!($summary, ", at full size"),
            || sized($name, Size::Full),
        )),*];
    };
}

tasks![
    ("fluid", "speeds of a ladle that lifts a cube of sugar out of syrup (paper 0, A.2.1)"),
    ("assembly", "speeds of two spheres that put a ball on a stand (paper 0, A.2.2)"),
    ("pinch", "speeds of a sphere that dents a box (paper 0, A.2.2)"),
    ("rollingpin", "roll, yaw and height of a pin that flattens dough (paper 0, A.2.2)"),
    ("rope", "speeds of two spheres that lay a rope around a pole (paper 0, A.2.2)"),
    ("table", "speeds of a sphere that pushes a table's leg outwards (paper 0, A.2.2)"),
    ("torus", "speeds of a torus that prints itself into dough (paper 0, A.2.2)"),
    ("triplemove", "speeds of six spheres that move three boxes (paper 0, A.2.2)"),
    ("writer", "speeds of a pen that draws a letter in dough (paper 0, A.2.2)"),
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
    let plan = blueprint(&scene, size)?;
    let (system, actions) = (plan.system()?, actions.unwrap_or(plan.horizon));
    if name == "fluid" {
        let loss = ScoopLoss::new(&system)?;
        return Ok(Box::new(Segmented::<T, _>::new(system, actions, plan.substeps, loss)?));
    }
    let mpm = Arc::new(system.mpm().clone());
    let target = targets::target(&scene, &mpm)?;
    let weights = Weights { contact: CONTACT, ..Weights::default() };
    let loss = ShapeLoss::new(mpm, target)?.with_weights(weights);
    Ok(Box::new(Segmented::<T, _>::new(system, actions, plan.substeps, loss)?))
}

/// The loss of an episode as a function of the controls in each segment.
struct Segmented<T: Scalar, L> {
    rollout: Rollout<ActuatedMpm>,
    substeps: usize,
    loss: Framed<L>,
    base: Inputs<T>,
    memory: Mutex<Vec<Scratch<T>>>,
}

type Scratch<T> = RolloutWorkspace<T, <ActuatedMpm as System<T>>::Workspace>;

impl<T: Scalar, L: Loss<T>> Segmented<T, L> {
    fn new(system: ActuatedMpm, actions: usize, substeps: usize, loss: L) -> Result<Self, ConfigError> {
        let steps = actions * substeps;
        let mut rollout = Rollout::new(system, steps, Schedule::StoreAll)?;
        if rollout.predict_bytes::<T>() > MOST_BYTES {
            let schedule = Schedule::TwoLevel { frame: substeps, slots: actions };
            rollout = Rollout::new(rollout.system, steps, schedule)?;
        }
        let base = Inputs::defaults(&rollout.system, steps);
        Ok(Segmented {
            rollout,
            substeps,
            loss: Framed::new(loss, substeps)?,
            base,
            memory: Mutex::default(),
        })
    }

    fn control_count(&self) -> usize {
        self.rollout.system.layout().control.len()
    }

    /// Variable that sets entry `i` of the controls.
    fn variable(&self, i: usize) -> usize {
        let (action, control) = (i / self.control_count() / self.substeps, i % self.control_count());
        action * SEGMENTS / (self.rollout.steps / self.substeps) * self.control_count() + control
    }

    /// Runs `work` with the controls of `x` and a workspace of its own.
    fn run<R>(&self, x: &[f64], work: impl FnOnce(&mut Scratch<T>, &[T]) -> R) -> R {
        let controls: Vec<T> = (0..self.base.controls.len()).map(|i| T::lit(x[self.variable(i)])).collect();
        let kept = self.memory.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut ws = kept.unwrap_or_else(|| self.rollout.workspace::<T>());
        let result = work(&mut ws, &controls);
        self.memory.lock().unwrap_or_else(|e| e.into_inner()).push(ws);
        result
    }
}

impl<T: Scalar, L: Loss<T>> Objective for Segmented<T, L> {
    fn names(&self) -> Vec<String> {
        let controls = self.rollout.system.layout().control.entry_names();
        (0..SEGMENTS).flat_map(|s| controls.iter().map(move |u| format!("{u}[segment {s}]"))).collect()
    }
    fn units(&self) -> Vec<String> {
        let control = &self.rollout.system.layout().control;
        (0..SEGMENTS * self.control_count())
            .map(|i| control.unit(i % self.control_count()).to_owned())
            .collect()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        let control = &self.rollout.system.layout().control;
        (0..self.control_count()).map(|i| control.bounds(i)).collect::<Vec<_>>().repeat(SEGMENTS)
    }
    fn start(&self) -> Vec<f64> {
        vec![0.0; SEGMENTS * self.control_count()]
    }
    /// Masses, distances and weights are none of them negative.
    fn floor(&self) -> Option<f64> {
        Some(0.0)
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        let Inputs { params, state, .. } = &self.base;
        let value =
            |ws: &mut Scratch<T>, controls: &[T]| self.rollout.value(ws, params, state, controls, &self.loss);
        self.run(x, value).map(|loss| loss.lane(0))
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        let Inputs { params, state, .. } = &self.base;
        self.run(x, |ws, controls| {
            self.rollout.gradient(ws, params, state, controls, &self.loss)?;
            grad.fill(0.0);
            for (i, bar) in ws.gradient.control.iter().enumerate() {
                grad[self.variable(i)] += bar.lane(0);
            }
            Ok(ws.gradient.loss.lane(0))
        })
    }
}

/// L = max(0, z_w − z) + 3 |p − p_ladle| + |p − c| at the end: p and z are the cube's level place and its height above the tank's
/// floor, c the middle of the tank, z_w the height of its walls. Paper 0 prints max(0, y − y_w), which would reward a cube
/// that stays down; its words ask for the highest cube.
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
    fn value(&self, at: Moment<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let (offsets, depth) = self.offsets(at.state);
        let weighted = offsets.into_iter().zip(DISTANCE_WEIGHTS);
        weighted.fold(depth.max(T::zero()), |sum, (d, weight)| sum + length(d) * T::lit(weight))
    }

    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
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
