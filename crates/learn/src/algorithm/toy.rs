//! A point on a line that is pushed and should come to rest at 0: what every algorithm is tried on.

use std::sync::Arc;

use pullback_core::layout::{Layout, Slice};
use pullback_core::random::Random;
use pullback_core::{Bars, Described, Info, Point, StepError, System};
use pullback_math::{Real, f32x16};

use super::Algorithm;
use crate::env::{
    Spaces, Start, Task, TaskSpec, Transition, TransitionBars, VecEnv, VecEnvOptions, View, ViewBars,
};
use crate::evaluate::evaluate;
use crate::run::Checkpoint;

/// Observation (x, v), action a.
pub const SPACES: Spaces = Spaces { points: 0, vector: 2, actions: 1 };

const DT: f64 = 0.2;
const DRAG: f64 = 0.5;

/// v′ = v + (2 a − v/2) dt, x′ = x + v′ dt.
pub struct Push {
    layout: Layout,
}

impl Described for Push {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Real> System<T> for Push {
    type Workspace = ();
    fn workspace(&self) {}
    fn step(&self, (): &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let (x, v, a) = (at.state[0], at.state[1], at.control[0]);
        next[1] = v + (a * T::lit(2.0) - v * T::lit(DRAG)) * T::lit(DT);
        next[0] = x + next[1] * T::lit(DT);
        Ok(Info::one())
    }
    fn step_vjp(
        &self,
        (): &mut (),
        _at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let v_bar = next_bar[1] + next_bar[0] * T::lit(DT);
        bars.state[0] += next_bar[0];
        bars.state[1] += v_bar * T::lit(1.0 - DRAG * DT);
        bars.control[0] += v_bar * T::lit(2.0 * DT);
        Ok(())
    }
}

/// The task; r = 2 − x² − v²/10 − a²/100.
pub struct Toy {
    system: Push,
    /// Whether episodes end for good beyond |x| = 2.5.
    pub ends: bool,
}

impl TaskSpec for Toy {
    fn spaces(&self) -> Spaces {
        SPACES
    }
    fn substeps(&self) -> usize {
        1
    }
    fn episode_length(&self) -> usize {
        25
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        // All on one side, so that a single sequence of actions improves on none.
        start.state.copy_from_slice(&[random.uniform(0.5, 1.5), 0.0]);
    }
}

impl<T: Real> Task<T> for Toy {
    type System = Push;
    fn system(&self) -> &Push {
        &self.system
    }
    fn observe(&self, at: View<'_, T>, observation: &mut [T]) {
        observation.copy_from_slice(at.state);
    }
    fn observe_vjp(&self, _at: View<'_, T>, bar: &[T], bars: ViewBars<'_, T>) {
        bars.state.iter_mut().zip(bar).for_each(|(to, x)| *to += *x);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        let (x, v, a) = (step.after[0], step.after[1], step.action[0]);
        T::lit(2.0) - x * x - v * v * T::lit(0.1) - a * a * T::lit(0.01)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, bar: T, bars: TransitionBars<'_, T>) {
        bars.after[0] -= bar * step.after[0] * T::lit(2.0);
        bars.after[1] -= bar * step.after[1] * T::lit(0.2);
        bars.action[0] -= bar * step.action[0] * T::lit(0.02);
    }
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        at.state[0].abs().gt(T::lit(if self.ends { 2.5 } else { 1e9 }))
    }
}

/// Environments for an algorithm.
pub fn env(envs: usize, threads: usize, seed: u64) -> VecEnv<f32> {
    let layout = Layout::builder()
        .state(Slice::new("x", 1, "m"))
        .state(Slice::new("v", 1, "m/s"))
        .control(Slice::new("push", 1, "1"))
        .build()
        .unwrap();
    let task = Arc::new(Toy { system: Push { layout }, ends: true });
    VecEnv::new::<f32x16, Toy>(task, VecEnvOptions { envs, shard: 16, threads, ..VecEnvOptions::new(envs) })
        .map(|mut env| {
            env.reset(seed);
            env
        })
        .unwrap()
}

/// Mean return of 32 episodes.
pub fn score(algorithm: &dyn Algorithm) -> f64 {
    evaluate(algorithm.actor(), &mut env(32, 1, 0), 99, false, None).unwrap().mean().0
}

/// Learns for all epochs; the mean returns before and after.
pub fn improvement(algorithm: &mut dyn Algorithm) -> (f64, f64) {
    let before = score(algorithm);
    let mut env = env(algorithm.envs(), 2, 1);
    while algorithm.epoch() < algorithm.epochs() {
        algorithm.learn(&mut env).unwrap();
    }
    (before, score(algorithm))
}

/// Bits of everything after `epochs` epochs, on some threads, with a pause after each `pause`th epoch.
pub fn bits(
    new: &dyn Fn() -> Box<dyn Algorithm>,
    epochs: usize,
    threads: usize,
    pause: Option<usize>,
) -> Checkpoint {
    let mut algorithm = new();
    let mut all = env(algorithm.envs(), threads, 1);
    for epoch in 0..epochs {
        if pause.is_some_and(|pause| epoch > 0 && epoch % pause == 0) {
            let mut saved = Checkpoint::new(0);
            algorithm.save(&mut saved);
            let saved = Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap();
            let (snapshot, seed) = (all.snapshot(), all.seed());
            algorithm = new();
            algorithm.load(&saved).unwrap();
            all = env(algorithm.envs(), threads, 1);
            all.restore(seed, &snapshot);
        }
        algorithm.learn(&mut all).unwrap();
    }
    let mut saved = Checkpoint::new(0);
    algorithm.save(&mut saved);
    saved
}

/// The same bits on one and three threads, and after pauses.
#[track_caller]
pub fn check_bits(new: &dyn Fn() -> Box<dyn Algorithm>, epochs: usize) {
    let reference = bits(new, epochs, 1, None);
    assert!(reference == bits(new, epochs, 3, None), "bits depend on threads");
    assert!(reference == bits(new, epochs, 2, Some(2)), "bits depend on resumption");
}
