//! [`ToolTask`]: material points under tools that actions displace (Rewarped).
//!
//! What the three tasks of material points share: actions are displacements of the tools' joints, clipped to
//! their ranges and spread evenly over the substeps; every tenth particle is seen, and particles start moved
//! and scaled. A [`Goal`] is what differs: noise, reward and the task's own numbers.
//!
//! Observation: 250 points, their mean, the joints, and what the goal shows of its own numbers. The sources
//! have y up; heights and the point about which particles are scaled are those of their frame.

use pullback_core::random::Random;
use pullback_core::{ConfigError, Described};
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::{Real, Scalar, differentiable};
use pullback_physics::mpm::{ActuatedMpm, Mpm};

use crate::mpm::{SceneParts, Size, parts};

/// Points of an observation.
const POINTS: usize = 250;
/// One particle in so many is seen.
const STRIDE: usize = 10;
/// Actions per episode.
const EPISODE: usize = 300;

/// Particles and tools of a scene, and how actions move the tools.
pub struct ToolScene {
    system: ActuatedMpm,
    substeps: usize,
    /// Seconds per action.
    pub seconds: f64,
    /// Height of the source's origin, m.
    pub lift: f64,
    /// Of every joint.
    pub joints: Vec<Joint>,
    /// One particle in so many is seen, and how many are.
    pub stride: usize,
    pub points: usize,
}

/// A joint of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    /// Largest displacement per action, m or rad.
    pub reach: f64,
    /// Range, m or rad.
    pub range: (f64, f64),
}

/// Noise of particles at the start, in the source's frame: x ↦ s (x + d).
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// d ~ U(−level, level) along both level axes, m.
    pub level: f64,
    /// d ~ U(0, up) upwards, m.
    pub up: f64,
    /// s ~ U(1 − scale, 1 + scale), about the corner of the domain.
    pub scale: f64,
}

/// u = (clamp(q + r a) − q)/t: the rate that takes a joint to where an action sends it, within its range.
#[differentiable]
#[inline(always)]
fn rate<T: Real>(q: T, action: T, #[constant] joint: Joint, #[constant] seconds: f64) -> T {
    let (low, high) = joint.range;
    let target = (q + action * T::lit(joint.reach)).max(T::lit(low)).min(T::lit(high));
    (target - q) * T::lit(1.0 / seconds)
}

impl ToolScene {
    /// A scene by name, with few particles for checks where `small` says so. Its controls are the rates of its
    /// joints, in their order.
    pub fn new(name: &str, small: bool) -> Result<Self, ConfigError> {
        let size = if small { Size::Small } else { Size::Full };
        let SceneParts { system, substeps, lift } = parts(name, size)?;
        let seconds = substeps as f64 * system.mpm().dt();
        let (controls, model) = (&system.layout().control, system.mpm().robot().model());
        if controls.len() != model.joints.len() {
            return Err(ConfigError::new(format!("{name} needs one control per joint of its tools")));
        }
        let joint = |(i, joint): (usize, &pullback_physics::articulated::Joint)| {
            let free = (f64::NEG_INFINITY, f64::INFINITY);
            Joint { reach: controls.bounds(i).1 * seconds, range: joint.range.unwrap_or(free) }
        };
        let joints = model.joints.iter().enumerate().map(joint).collect();
        let stride = if small { 1 } else { STRIDE };
        let points = system.mpm().particles().len().div_ceil(stride).min(POINTS);
        Ok(ToolScene { substeps, seconds, lift, joints, stride, points, system })
    }

    /// Particles and colliders.
    pub fn mpm(&self) -> &Mpm {
        self.system.mpm()
    }

    /// Coordinates of the joints in a state.
    pub fn coordinates<'a, T>(&self, state: &'a [T]) -> &'a [T] {
        self.mpm().split(state).q
    }
    /// Positions of all particles in a state.
    pub fn positions<'a, T>(&self, state: &'a [T]) -> &'a [[T; 3]] {
        self.mpm().split(state).x
    }
    /// Positions of the particles that are seen.
    pub fn seen<'a, T>(&self, state: &'a [T]) -> impl Iterator<Item = &'a [T; 3]> {
        self.positions(state).iter().step_by(self.stride).take(self.points)
    }
    /// Cotangents of the positions of the particles that are seen.
    pub fn seen_mut<'a, T>(&self, state_bar: &'a mut [T]) -> impl Iterator<Item = &'a mut [T; 3]> {
        self.mpm().split_mut(state_bar).x.iter_mut().step_by(self.stride).take(self.points)
    }

    /// Moves and scales all particles.
    pub fn jitter(&self, noise: Noise, random: &mut Random, state: &mut [f64]) {
        let Noise { level, up, scale } = noise;
        let [x, y] = [0; 2].map(|_| random.uniform(-level, level));
        let up = random.uniform(0.0, up);
        let s = random.uniform(1.0 - scale, 1.0 + scale);
        for at in self.mpm().split_mut(state).x {
            // Our (x, y, z) is the source's (x, z − lift, 1 − y).
            *at = [s * (at[0] + x), 1.0 - s * (1.0 - at[1] + y), s * (at[2] - self.lift + up) + self.lift];
        }
    }
}

/// What a task of material points wants.
pub trait Goal: Send + Sync {
    /// Numbers of its own.
    fn context_len(&self) -> usize {
        0
    }
    /// Whether its own numbers are seen.
    fn shows_context(&self) -> bool {
        false
    }
    /// Whether [`Goal::change_context`] is to be called.
    fn changes_context(&self) -> bool {
        false
    }
    /// Changes its own numbers after the `age`th step of an episode.
    fn change_context(&self, scene: &ToolScene, after: &[f64], age: usize, context: &mut [f64]) {
        let _ = (scene, after, age, context);
    }
    /// Draws where an episode starts.
    fn start(&self, scene: &ToolScene, random: &mut Random, start: Start<'_>);
    /// What a state is worth to the step that led there.
    fn reward<T: Scalar>(&self, scene: &ToolScene, state: &[T], context: &[T]) -> T;
    /// The pullback of [`Goal::reward`]: *adds* to the cotangent of the state.
    fn reward_vjp<T: Scalar>(
        &self,
        scene: &ToolScene,
        state: &[T],
        context: &[T],
        reward_bar: T,
        state_bar: &mut [T],
    );
}

/// A goal on a scene.
pub struct ToolTask<G> {
    /// Particles and tools.
    pub scene: ToolScene,
    /// What is wanted.
    pub goal: G,
}

impl<G: Goal> TaskSpec for ToolTask<G> {
    fn spaces(&self) -> Spaces {
        let shown = if self.goal.shows_context() { self.goal.context_len() } else { 0 };
        let joints = self.scene.joints.len();
        Spaces { points: self.scene.points, vector: 3 + joints + shown, actions: joints }
    }
    fn substeps(&self) -> usize {
        self.scene.substeps
    }
    fn episode_length(&self) -> usize {
        EPISODE
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        self.goal.start(&self.scene, random, start);
    }
    fn context_len(&self) -> usize {
        self.goal.context_len()
    }
    fn change_context(&self, step: Transition<'_, f64>, age: usize, _: &mut Random, context: &mut [f64]) {
        self.goal.change_context(&self.scene, step.after, age, context);
    }
    fn changes_context(&self) -> bool {
        self.goal.changes_context()
    }
}

impl<T: Scalar, G: Goal> Task<T> for ToolTask<G> {
    type System = ActuatedMpm;

    fn system(&self) -> &ActuatedMpm {
        &self.scene.system
    }

    fn control(&self, at: View<'_, T>, action: &[T], control: &mut [T]) {
        let ToolScene { joints, seconds, .. } = &self.scene;
        let q = self.scene.coordinates(at.state);
        for (i, joint) in joints.iter().enumerate() {
            control[i] = rate(q[i], action[i], *joint, *seconds);
        }
    }
    fn control_vjp(
        &self,
        at: View<'_, T>,
        action: &[T],
        control_bar: &[T],
        action_bar: &mut [T],
        state_bar: &mut [T],
    ) {
        let ToolScene { joints, seconds, .. } = &self.scene;
        let q = self.scene.coordinates(at.state);
        let q_bar = self.scene.mpm().split_mut(state_bar).q;
        for (i, joint) in joints.iter().enumerate() {
            let (q, a, (), ()) = rate_vjp(q[i], action[i], *joint, *seconds, control_bar[i]);
            q_bar[i] += q;
            action_bar[i] += a;
        }
    }

    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        let q = self.scene.coordinates(at.state);
        let (points, vector) = out.split_at_mut(3 * self.scene.points);
        let mut sum = [T::zero(); 3];
        for (to, x) in points.as_chunks_mut::<3>().0.iter_mut().zip(self.scene.seen(at.state)) {
            *to = *x;
            sum = std::array::from_fn(|k| sum[k] + x[k]);
        }
        let (mean, rest) = vector.split_at_mut(3);
        let share = T::lit(1.0 / self.scene.points as f64);
        mean.copy_from_slice(&sum.map(|sum| sum * share));
        let (joints, shown) = rest.split_at_mut(q.len());
        joints.copy_from_slice(q);
        let n = shown.len();
        shown.copy_from_slice(&at.context[..n]);
    }
    fn observe_vjp(&self, _: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        let (points, vector) = out_bar.split_at(3 * self.scene.points);
        let share = T::lit(1.0 / self.scene.points as f64);
        for (bar, out) in self.scene.seen_mut(bars.state).zip(points.as_chunks::<3>().0) {
            *bar = std::array::from_fn(|k| bar[k] + out[k] + vector[k] * share);
        }
        let q_bar = self.scene.mpm().split_mut(bars.state).q;
        q_bar.iter_mut().zip(&vector[3..]).for_each(|(bar, x)| *bar += *x);
    }

    fn reward(&self, step: Transition<'_, T>) -> T {
        self.goal.reward(&self.scene, step.after, step.context)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        self.goal.reward_vjp(&self.scene, step.after, step.context, reward_bar, bars.after);
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::check_vjp;
    use pullback_core::gradcheck::Options;

    use super::*;

    /// Inside the range, and where it ends an action's way.
    #[test]
    fn rates_pull_back_through_the_range() {
        const JOINT: Joint = Joint { reach: 0.01, range: (0.1, 0.5) };
        for at in [[0.3, 0.6], [0.495, 0.8], [0.104, -0.7]] {
            check_vjp!(
                |q: T, a: T| -> T { rate(q, a, JOINT, 0.02) },
                |out_bar| {
                    let (q, a, (), ()) = rate_vjp(q, a, JOINT, 0.02, out_bar);
                    (q, a)
                },
                at at, Options::default()
            )
            .assert_passed();
        }
    }
}
