//! `fluid-move`: a container of water is carried to a target without spilling (Rewarped, FluidMove).
//!
//! R = w R_d − s (share of particles outside), R_d = (1/(1 + D²))² with D the distance of the container from
//! the target; R_d counts twice where D is small. A particle is outside where its distance from the
//! container's center exceeds the outer half extent along some axis, by a sigmoid of width 10⁻⁵ m.
//!
//! The container starts 1 cm below the lowest height that actions lead to, so the first one raises it, as in
//! the source. The paper has no weight on R_d, doubles it where D² ≤ 0.02 m² and takes the cost of spilling
//! from SoftGym, ten times the share spilled: [`Options::as_paper`].

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::Start;
use pullback_math::{Real, Scalar, Vec3, differentiable, select};

use super::tool_task::{Goal, ToolScene, ToolTask};

/// Outer half extents of the container, m.
const HALF: [f64; 3] = [0.14, 0.16, 0.105];
/// Width of the edge between inside and outside, m.
const EDGE: f64 = 1e-5;
/// Lowest height of the container in the source's frame, m.
const LOWEST: f64 = 0.16;
/// The target is drawn from the start: bound of level offsets, and of the offset upwards, m.
const TARGET: (f64, f64) = (0.2, 0.3);

/// Where paper and code differ.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Weight w of R_d.
    pub distance_weight: f64,
    /// Distance within which R_d counts twice, m.
    pub near: f64,
    /// Weight s of the share of particles outside.
    pub spill_weight: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { distance_weight: 0.1, near: 0.02, spill_weight: 1.0 }
    }
}

impl Options {
    /// As the paper prints them.
    pub fn as_paper() -> Self {
        Options { distance_weight: 1.0, near: 0.02f64.sqrt(), spill_weight: 10.0 }
    }
}

/// Water at a target, in its container.
pub struct Carried(Options);

/// The task.
pub fn task(options: Options, small: bool) -> Result<ToolTask<Carried>, ConfigError> {
    let mut scene = ToolScene::new("fluid-move", small)?;
    let lowest = LOWEST + scene.lift;
    scene.joints.last_mut().into_iter().for_each(|height| height.range.0 = lowest);
    Ok(ToolTask { scene, goal: Carried(options) })
}

/// R_d = (1/(1 + D²))², twice where D ≤ near.
#[differentiable]
#[inline(always)]
fn closeness<T: Real>(p: Vec3<T>, #[constant] target: Vec3<T>, #[constant] near: f64) -> T {
    let squared = (p - target).norm_squared();
    let close = (squared + T::one()).recip();
    let times = select(squared.le(T::lit(near * near)), T::lit(2.0), T::one());
    close * close * times
}

/// σ(maxₖ (|xₖ − pₖ| − hₖ)/w): 1 outside the container, 0 inside.
#[differentiable]
#[inline(always)]
fn outside<T: Real>(x: Vec3<T>, p: Vec3<T>) -> T {
    let d = x - p;
    let beyond_x = d.x.abs() - T::lit(HALF[0]);
    let beyond_y = d.y.abs() - T::lit(HALF[1]);
    let beyond_z = d.z.abs() - T::lit(HALF[2]);
    let beyond = beyond_x.max(beyond_y).max(beyond_z);
    // σ(y) = (1 + tanh(y/2))/2, which does not overflow
    ((beyond * T::lit(0.5 / EDGE)).tanh() + T::one()) * T::lit(0.5)
}

fn vector<T: Real>(x: &[T]) -> Vec3<T> {
    Vec3::new(x[0], x[1], x[2])
}

impl Goal for Carried {
    fn context_len(&self) -> usize {
        3
    }
    fn shows_context(&self) -> bool {
        true
    }
    fn start(&self, scene: &ToolScene, random: &mut Random, start: Start<'_>) {
        let ((level, up), p) = (TARGET, scene.coordinates(start.state));
        let offsets = [random.uniform(-level, level), random.uniform(-level, level), random.uniform(0.0, up)];
        start.context.copy_from_slice(&[p[0] + offsets[0], p[1] + offsets[1], p[2] + offsets[2]]);
    }
    fn reward<T: Scalar>(&self, scene: &ToolScene, state: &[T], context: &[T]) -> T {
        let Options { distance_weight, near, spill_weight } = self.0;
        let p = vector(scene.coordinates(state));
        let spilled = scene.seen(state).fold(T::zero(), |sum, x| sum + outside(vector(x), p));
        closeness(p, vector(context), near) * T::lit(distance_weight)
            - spilled * T::lit(spill_weight / scene.points as f64)
    }
    fn reward_vjp<T: Scalar>(
        &self,
        scene: &ToolScene,
        state: &[T],
        context: &[T],
        reward_bar: T,
        state_bar: &mut [T],
    ) {
        let Options { distance_weight, near, spill_weight } = self.0;
        let p = vector(scene.coordinates(state));
        let close_bar = reward_bar * T::lit(distance_weight);
        let (mut p_bar, (), ()) = closeness_vjp(p, vector(context), near, close_bar);
        let outside_bar = -reward_bar * T::lit(spill_weight / scene.points as f64);
        for (bar, x) in scene.seen_mut(state_bar).zip(scene.seen(state)) {
            let (x, p) = outside_vjp(vector(x), p, outside_bar);
            *bar = [bar[0] + x.x, bar[1] + x.y, bar[2] + x.z];
            p_bar += p;
        }
        let q_bar = scene.mpm().split_mut(state_bar).q;
        q_bar.iter_mut().zip([p_bar.x, p_bar.y, p_bar.z]).for_each(|(bar, x)| *bar += x);
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options as CheckOptions;
    use pullback_core::{Described, check_vjp};
    use pullback_learn::env::{Task, View};

    use super::*;

    #[test]
    fn water_at_its_target_earns_a_fifth_and_spilled_water_costs_one() {
        let task = task(Options::default(), false).unwrap();
        let scene = &task.scene;
        let mut state = scene.mpm().layout().state.defaults();
        let target = scene.coordinates(&state).to_vec();
        assert!((task.goal.reward(scene, &state, &target) - 0.2).abs() < 1e-12);
        // 0.5 m beside it: 0.1/(1 + 0.25)²
        let beside = [target[0] + 0.3, target[1] - 0.4, target[2]];
        assert!((task.goal.reward(scene, &state, &beside) - 0.064).abs() < 1e-12);
        let paper = Carried(Options::as_paper());
        assert!((paper.reward(scene, &state, &beside) - 0.64).abs() < 1e-12);
        scene.mpm().split_mut(&mut state).x.iter_mut().for_each(|x| x[2] = 0.5);
        assert!((task.goal.reward(scene, &state, &target) + 0.8).abs() < 1e-12);
    }

    #[test]
    fn the_first_action_raises_the_container() {
        let task = task(Options::default(), false).unwrap();
        let state = task.scene.mpm().layout().state.defaults();
        let (mut control, action) = ([0.0; 3], [0.5, 0.0, -1.0]);
        let at = View { state: &state, action: &action, context: &[0.0; 3] };
        Task::<f64>::control(&task, at, &action, &mut control);
        let moved = control.map(|u| u * task.scene.seconds);
        assert!((moved[0] - 0.005).abs() < 1e-12 && (moved[2] - 0.01).abs() < 1e-12, "{moved:?}");
    }

    #[test]
    fn targets_are_beside_and_above_the_start() {
        let task = task(Options::default(), false).unwrap();
        let (layout, mut random) = (task.scene.mpm().layout(), Random::new(4));
        let (mut state, mut params, mut target) =
            (layout.state.defaults(), layout.params.defaults(), [0.0; 3]);
        for _ in 0..50 {
            let start = Start { state: &mut state, context: &mut target, params: &mut params };
            task.goal.start(&task.scene, &mut random, start);
            assert!((target[0] - 0.5).abs() <= 0.2 && (target[1] - 0.5).abs() <= 0.2);
            assert!((0.15..0.45).contains(&target[2]), "{target:?}");
        }
    }

    /// At the edge, a hundredth of a millimeter wide, and far from it.
    #[test]
    fn spilling_pulls_back_at_the_edge() {
        for (x, flat) in [(0.639_996, false), (0.62, true)] {
            let options = CheckOptions { allow_all_zero: flat, ..CheckOptions::default() };
            let at = [x, 0.53, 0.2, 0.5, 0.5, 0.16];
            check_vjp!(
                |x: Vec3<T>, p: Vec3<T>| -> T { outside(x, p) },
                |out_bar| outside_vjp(x, p, out_bar),
                at at, options
            )
            .assert_passed();
        }
    }
}
