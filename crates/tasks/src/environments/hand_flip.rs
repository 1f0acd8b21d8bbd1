//! `hand-flip`: a hand of 24 joints folds a disc of dough (Rewarped, HandFlip).
//!
//! D is the mean distance between particles of one half of the disc and their mirror images in the other; the
//! reward is the relative improvement on D₀, which is D after the first step and constant from then on. The
//! reward of that step is 0. The paper prints a yield surface of twice the code's radius:
//! [`Options::as_paper`].

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::Start;
use pullback_math::{Real, Scalar, Vec3, differentiable, select};

pub use super::rolling_flat::Options;
use super::rolling_flat::scale_yield;
use super::tool_task::{Goal, Noise, ToolScene, ToolTask};

const NOISE: Noise = Noise { level: 0.1, up: 0.1, scale: 0.05 };

/// A disc folded in half.
pub struct Folded(Options);

/// The task.
pub fn task(options: Options, small: bool) -> Result<ToolTask<Folded>, ConfigError> {
    Ok(ToolTask { scene: ToolScene::new("hand-flip", small)?, goal: Folded(options) })
}

/// R = clamp((D₀ − D)/D₀, −1, 1), and 0 while D₀ is 0: not known yet.
#[differentiable]
#[inline(always)]
fn improvement<T: Real>(distance: T, #[constant] first: T) -> T {
    let known = first.gt(T::zero());
    let relative = T::one() - distance / select(known, first, T::one());
    select(known, relative.max(-T::one()).min(T::one()), T::zero())
}

/// Distance of two particles.
#[differentiable]
#[inline(always)]
fn apart<T: Real>(a: [T; 3], b: [T; 3]) -> T {
    let between = Vec3::new(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    between.norm()
}

/// Pairs of particles that mirror each other at the start: every one seen in the first half, and its image.
fn pairs(scene: &ToolScene) -> impl ExactSizeIterator<Item = (usize, usize)> {
    let half = scene.mpm().particles().len() / 2;
    (0..half).step_by(scene.stride).map(move |i| (i, i + half))
}

/// D: the mean distance between the particles of each pair.
fn distance<T: Scalar>(scene: &ToolScene, state: &[T]) -> T {
    let (x, n) = (scene.positions(state), pairs(scene).len());
    pairs(scene).fold(T::zero(), |sum, (i, j)| sum + apart(x[i], x[j])) * T::lit(1.0 / n as f64)
}

impl Goal for Folded {
    fn context_len(&self) -> usize {
        1
    }
    fn changes_context(&self) -> bool {
        true
    }
    fn change_context(&self, scene: &ToolScene, after: &[f64], age: usize, context: &mut [f64]) {
        if age == 1 {
            context[0] = distance(scene, after);
        }
    }
    fn start(&self, scene: &ToolScene, random: &mut Random, start: Start<'_>) {
        scene.jitter(NOISE, random, start.state);
        scale_yield(scene, self.0.yield_radius, start.params);
    }
    fn reward<T: Scalar>(&self, scene: &ToolScene, state: &[T], context: &[T]) -> T {
        improvement(distance(scene, state), context[0])
    }
    fn reward_vjp<T: Scalar>(
        &self,
        scene: &ToolScene,
        state: &[T],
        context: &[T],
        reward_bar: T,
        state_bar: &mut [T],
    ) {
        let (distance_bar, ()) = improvement_vjp(distance(scene, state), context[0], reward_bar);
        let pair_bar = distance_bar * T::lit(1.0 / pairs(scene).len() as f64);
        let (x, x_bar) = (scene.positions(state), scene.mpm().split_mut(state_bar).x);
        for (i, j) in pairs(scene) {
            let (a, b) = apart_vjp(x[i], x[j], pair_bar);
            for k in 0..3 {
                x_bar[i][k] += a[k];
                x_bar[j][k] += b[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::Described;

    use super::*;

    /// Partners in the same place: D = 0, and the reward is all of it.
    #[test]
    fn a_folded_disc_earns_one() {
        let task = task(Options::default(), false).unwrap();
        let scene = &task.scene;
        assert_eq!((scene.mpm().particles().len(), pairs(scene).len()), (2500, 125));
        let mut state = scene.mpm().layout().state.defaults();
        let mut context = [0.0];
        // Nothing to improve on yet.
        assert_eq!(task.goal.reward(scene, &state, &context), 0.0);
        task.goal.change_context(scene, &state, 1, &mut context);
        assert!(task.goal.reward(scene, &state, &context).abs() < 1e-12);
        // Mirror images are 8/3π radii apart in the mean of a disc.
        let expected = 8.0 / (3.0 * std::f64::consts::PI) * 0.1;
        assert!((context[0] - expected).abs() < 0.1 * expected, "{} {expected}", context[0]);
        let x = scene.mpm().split_mut(&mut state).x;
        let (first, second) = x.split_at_mut(1250);
        second.copy_from_slice(first);
        assert_eq!(task.goal.reward(scene, &state, &context), 1.0);
        // Later steps change nothing.
        task.goal.change_context(scene, &state, 2, &mut context);
        assert!(context[0] > 0.0);
    }

    #[test]
    fn every_joint_starts_in_its_range_and_turns_by_the_same_angle() {
        let task = task(Options::default(), false).unwrap();
        let state = Described::layout(pullback_learn::env::Task::<f64>::system(&task)).state.defaults();
        for (q, joint) in task.scene.coordinates(&state).iter().zip(&task.scene.joints) {
            assert!((joint.reach - 0.0264).abs() < 1e-12);
            assert!((joint.range.0..=joint.range.1).contains(q), "{q} {joint:?}");
        }
    }
}
