//! `rolling-flat`: a pin on three joints flattens dough (Rewarped, RollingFlat).
//!
//! The mean height counts from the bottom of the domain, of which the floor takes 0.0625 m, so d ≥ 0.5 and the
//! doubled reward is out of reach, as in the source. *Var divides by the number of particles.* The paper
//! prints a yield surface of twice the code's radius: [`Options::as_paper`].

use pullback_core::random::Random;
use pullback_core::{ConfigError, Described};
use pullback_learn::env::Start;
use pullback_math::{Real, Scalar, differentiable, select};

use super::tool_task::{Goal, Noise, ToolScene, ToolTask};

/// Height to which dough is to be rolled, m.
const FLAT: f64 = 0.125;
/// Relative height from which on the reward is doubled.
const FLAT_ENOUGH: f64 = 0.33;
const NOISE: Noise = Noise { level: 0.1, up: 0.05, scale: 0.1 };

/// Where paper and code differ.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Radius of the yield surface over σ/2μ.
    pub yield_radius: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { yield_radius: 1.0 }
    }
}

impl Options {
    /// As the paper prints them.
    pub fn as_paper() -> Self {
        Options { yield_radius: 2.0 }
    }
}

/// Flat dough.
pub struct Flat(Options);

/// The task.
pub fn task(options: Options, small: bool) -> Result<ToolTask<Flat>, ConfigError> {
    Ok(ToolTask { scene: ToolScene::new("rolling-flat", small)?, goal: Flat(options) })
}

/// R = (1/(1 + d))² − Var z with d = z̄/0.125, the first term twice where d ≤ 0.33.
#[differentiable]
#[inline(always)]
fn flatness<T: Real>(height: T, variance: T) -> T {
    let d = height * T::lit(1.0 / FLAT);
    let near = (d + T::one()).recip();
    let times = select(d.le(T::lit(FLAT_ENOUGH)), T::lit(2.0), T::one());
    near * near * times - variance
}

/// Multiplies the yield stress of dough, in effect the radius of its yield surface.
pub(super) fn scale_yield(scene: &ToolScene, factor: f64, params: &mut [f64]) {
    if let Ok(slice) = scene.mpm().layout().params.slice("dough.yield") {
        params[slice.range.clone()].iter_mut().for_each(|x| *x *= factor);
    }
}

/// Mean and variance of the heights of the particles that are seen, in the source's frame.
fn heights<T: Scalar>(scene: &ToolScene, state: &[T]) -> (T, T) {
    let share = T::lit(1.0 / scene.points as f64);
    let mean = scene.seen(state).fold(T::zero(), |sum, x| sum + x[2]) * share;
    let squares = scene.seen(state).fold(T::zero(), |sum, x| sum + (x[2] - mean) * (x[2] - mean));
    (mean - T::lit(scene.lift), squares * share)
}

impl Goal for Flat {
    fn start(&self, scene: &ToolScene, random: &mut Random, start: Start<'_>) {
        scene.jitter(NOISE, random, start.state);
        scale_yield(scene, self.0.yield_radius, start.params);
    }
    fn reward<T: Scalar>(&self, scene: &ToolScene, state: &[T], _: &[T]) -> T {
        let (height, variance) = heights(scene, state);
        flatness(height, variance)
    }
    fn reward_vjp<T: Scalar>(
        &self,
        scene: &ToolScene,
        state: &[T],
        _: &[T],
        reward_bar: T,
        state_bar: &mut [T],
    ) {
        let (height, variance) = heights(scene, state);
        let (mean_bar, variance_bar) = flatness_vjp(height, variance, reward_bar);
        let (mean, share) = (height + T::lit(scene.lift), T::lit(1.0 / scene.points as f64));
        for (bar, x) in scene.seen_mut(state_bar).zip(scene.seen(state)) {
            // ∂z̄/∂zᵢ = 1/n, ∂Var/∂zᵢ = 2 (zᵢ − z̄)/n
            bar[2] += (mean_bar + variance_bar * (x[2] - mean) * T::lit(2.0)) * share;
        }
    }
}

#[cfg(test)]
mod tests {
    use pullback_learn::env::{Task, View};

    use super::*;

    /// Dough that is as low as the floor: d = 0.5, so R = 4/9.
    #[test]
    fn dough_on_the_floor_earns_four_ninths() {
        let task = task(Options::default(), false).unwrap();
        let scene = &task.scene;
        let mut state = scene.mpm().layout().state.defaults();
        scene.mpm().split_mut(&mut state).x.iter_mut().for_each(|x| x[2] = 0.0625 + scene.lift);
        let reward = task.goal.reward(scene, &state, &[]);
        assert!((reward - 4.0 / 9.0).abs() < 1e-12, "{reward}");
        // Half of it 1 cm higher: Var = 0.005² of the rest.
        let spread = scene.mpm().split_mut(&mut state).x;
        spread.iter_mut().skip(scene.stride).step_by(2 * scene.stride).for_each(|x| x[2] += 0.01);
        let reward = task.goal.reward(scene, &state, &[]);
        let expected = (1.0f64 + 0.0675 / 0.125).powi(-2) - 0.005 * 0.005;
        assert!((reward - expected).abs() < 1e-12, "{reward} {expected}");
    }

    #[test]
    fn dough_weighs_as_much_as_its_box() {
        let task = task(Options::default(), false).unwrap();
        let group = &task.scene.mpm().particles().groups[0];
        assert_eq!(group.count, 2592);
        let mass = group.count as f64 * group.volume * group.density;
        assert!((mass - 0.3 * 0.3 * 0.125).abs() < 1e-12, "{mass}");
    }

    /// 1 cm, 1 cm and 3° per action, and no further than the range.
    #[test]
    fn actions_displace_the_pin_within_its_range() {
        let task = task(Options::default(), false).unwrap();
        let mut state = task.scene.mpm().layout().state.defaults();
        let moved = |state: &[f64], action: [f64; 3]| {
            let mut control = [0.0; 3];
            let at = View { state, action: &action, context: &[] };
            Task::<f64>::control(&task, at, &action, &mut control);
            let q = task.scene.coordinates(state);
            [0, 1, 2].map(|i| q[i] + control[i] * task.scene.seconds)
        };
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        let turn = std::f64::consts::PI / 60.0;
        assert!(near(moved(&state, [1.0, -1.0, 1.0]), [0.51, 0.2775, turn]));
        state[..3].copy_from_slice(&[0.875, 0.125, 0.0]);
        assert!(near(moved(&state, [1.0, -1.0, -0.5]), [0.88, 0.1225, -0.5 * turn]));
    }

    #[test]
    fn papers_yield_later() {
        let task = task(Options::as_paper(), false).unwrap();
        let layout = task.scene.mpm().layout();
        let (mut state, mut params) = (layout.state.defaults(), layout.params.defaults());
        let start = Start { state: &mut state, context: &mut [], params: &mut params };
        task.goal.start(&task.scene, &mut Random::new(1), start);
        assert_eq!(params[layout.params.slice("dough.yield").unwrap().range.start], 100.0);
    }
}
