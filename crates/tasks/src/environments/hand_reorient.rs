//! `hand-reorient`: an Allegro hand that is to turn a cube to random orientations, by 16 torques (Rewarped).
//!
//! The palm faces up and the cube falls onto the fingers, which give way unless torques hold them. Contact is
//! Warp's; hand and cube have one material, and the hand touches itself too, parents and children apart. Limits
//! of joints are as Warp's reader of URDF files makes them unless told. An action lasts two frames of 1/240 s,
//! 64 steps. The paper says 32 ([`Options::as_paper`]); *the damping of limits, 10 N m s/rad on an armature of
//! 0.001 kg m², is unstable at these, and fast fingers leave the finite numbers.*
//!
//! Observation: joints scaled to [−1, 1] by their ranges, a fifth of their velocities; position, orientation,
//! velocity and a fifth of the spin of the cube; position and orientation of the goal; the turn from it,
//! q q*⁻¹; the last action. Orientations are (x, y, z, w), spins in world axes.
//!
//! Reward, with θ the angle of that turn: −10 |p − p*| + 1/(θ + 0.1) − 0.0002 Σ a² + bonus. The bonus is
//! smooth: s = σ((θ − 0.1)/10⁻³), 250 σ(−s/10⁻³), so 125 at the goal. A turn below 0.1 rad is a success, after
//! which the goal has another orientation. An episode ends where the cube is 0.24 m from the goal.

use std::f64::consts::PI;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::{Cotangent, Flat, Quat, Real, Vec3, differentiable};

use super::planar::{effort, effort_vjp};
use super::robots::{Robot, jitter};
use super::warp::{Material, Warp};

/// Hand and cube.
const MATERIAL: Material =
    Material { stiffness: 500.0, damping: 100.0, friction_slope: 100.0, friction: 0.5 };
/// Where the cube starts, m.
const CUBE: [f64; 3] = [0.0, -0.1, 0.6];
/// Where it is to be, m.
const GOAL: [f64; 3] = [0.0, -0.1, 0.56];
/// Distance from the goal at which an episode ends, m.
const FALLEN: f64 = 0.24;
/// Turn from the goal that counts as a success, rad.
const SUCCESS: f64 = 0.1;
/// Width of the steps of the smooth bonus.
const SOFTNESS: f64 = 1e-3;
/// Twice the bonus at the goal.
const BONUS: f64 = 250.0;
/// Cost of Σ a².
const EFFORT: f64 = 2e-4;
/// Part of velocities that is seen.
const VELOCITY: f64 = 0.2;
/// Joints of the hand, and actions.
const JOINTS: usize = 16;
/// Coordinates: joints, position and orientation of the cube.
const NQ: usize = JOINTS + 7;

/// What paper and code disagree about.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Steps per action.
    pub substeps: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { substeps: 64 }
    }
}

impl Options {
    /// As the paper prints it.
    pub fn as_paper() -> Self {
        Options { substeps: 32 }
    }
}

/// The task.
pub struct HandReorient {
    robot: Robot,
    params: Vec<f64>,
    substeps: usize,
    /// Ranges of the joints, rad.
    ranges: [(f64, f64); JOINTS],
}

impl HandReorient {
    /// Reads the model.
    pub fn new(options: Options) -> Result<Self, ConfigError> {
        let Options { substeps } = options;
        let warp = Warp { action: 1.0 / 120.0, substeps, material: MATERIAL, limit: [100.0, 10.0] };
        let (robot, params) = warp.robot(pullback_models::ALLEGRO)?;
        let mut ranges = [(0.0, 0.0); JOINTS];
        for (to, joint) in ranges.iter_mut().zip(&robot.field().model().joints) {
            let missing = || ConfigError::new(format!("joint `{}` of the hand needs a range", joint.name));
            *to = joint.range.ok_or_else(missing)?;
        }
        Ok(HandReorient { robot, params, substeps, ranges })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    fn cube<T: Real>(state: &[T]) -> Cube<T> {
        Cube {
            position: Vec3::read(&state[JOINTS..]),
            orientation: Quat::read(&state[JOINTS + 3..]),
            velocity: Vec3::read(&state[NQ + JOINTS..]),
            spin: Vec3::read(&state[NQ + JOINTS + 3..]),
        }
    }

    fn add_cube<T: Real>(bar: Cube<T>, state_bar: &mut [T]) {
        bar.position.add_to(&mut state_bar[JOINTS..]);
        bar.orientation.add_to(&mut state_bar[JOINTS + 3..]);
        bar.velocity.add_to(&mut state_bar[NQ + JOINTS..]);
        bar.spin.add_to(&mut state_bar[NQ + JOINTS + 3..]);
    }
}

/// The cube, as the state has it.
#[derive(Clone, Copy, Debug, Cotangent)]
struct Cube<T> {
    position: Vec3<T>,
    orientation: Quat<T>,
    velocity: Vec3<T>,
    /// Angular velocity in the frame of the cube.
    spin: Vec3<T>,
}

/// What is seen of the cube, in order; vectors of quaternions come first.
#[differentiable]
#[inline(always)]
fn seen_cube<T: Real>(cube: Cube<T>, #[constant] goal: Quat<T>) -> [T; 17] {
    let (p, q, v) = (cube.position, cube.orientation, cube.velocity);
    let spin = q.rotate(cube.spin) * T::lit(VELOCITY);
    let turn = q * goal.conjugate();
    [p.x, p.y, p.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, spin.x, spin.y, spin.z, turn.x, turn.y, turn.z, turn.w]
}

/// The angle of the turn from the goal, 2 arcsin(min(|vec(q q*⁻¹)|, 0.999)), rad.
#[differentiable]
#[inline(always)]
fn turn_from_goal<T: Real>(orientation: Quat<T>, #[constant] goal: Quat<T>) -> T {
    let turn = orientation * goal.conjugate();
    let sine = turn.vector().norm().min(T::lit(0.999));
    sine.asin() * T::lit(2.0)
}

/// σ(x) = ½ (1 + tanh ½x), which overflows nowhere.
#[differentiable]
#[inline(always)]
fn sigmoid<T: Real>(x: T) -> T {
    let half = (x * T::lit(0.5)).tanh();
    (half + T::one()) * T::lit(0.5)
}

/// The reward but for the cost of actions.
#[differentiable]
#[inline(always)]
fn cube_reward<T: Real>(position: Vec3<T>, orientation: Quat<T>, #[constant] goal: Quat<T>) -> T {
    let place = Vec3::new(T::lit(GOAL[0]), T::lit(GOAL[1]), T::lit(GOAL[2]));
    let distance = (position - place).norm();
    let angle = turn_from_goal(orientation, goal);
    let miss = sigmoid((angle - T::lit(SUCCESS)) * T::lit(1.0 / SOFTNESS));
    let bonus = sigmoid(-(miss * T::lit(1.0 / SOFTNESS))) * T::lit(BONUS);
    T::one() / (angle + T::lit(0.1)) - distance * T::lit(10.0) + bonus
}

/// Rx(π u₁) Ry(π u₂), u ~ U(−1, 1).
fn random_orientation(random: &mut Random) -> Quat<f64> {
    let mut turn = |axis| Quat::from_axis_angle(axis, PI * random.uniform(-1.0, 1.0));
    turn(Vec3::new(1.0, 0.0, 0.0)) * turn(Vec3::new(0.0, 1.0, 0.0))
}

impl TaskSpec for HandReorient {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: 3 * JOINTS + 13 + 7 + 4, actions: JOINTS }
    }
    fn substeps(&self) -> usize {
        self.substeps
    }
    fn episode_length(&self) -> usize {
        600
    }
    fn params(&self) -> Option<Vec<f64>> {
        Some(self.params.clone())
    }
    fn context_len(&self) -> usize {
        4
    }

    fn start(&self, random: &mut Random, start: Start<'_>) {
        for (q, (low, high)) in start.state.iter_mut().zip(&self.ranges) {
            *q = 0.2 * random.uniform(*low, *high);
        }
        let cube = &mut start.state[JOINTS..];
        cube[..3].copy_from_slice(&CUBE);
        jitter(random, 0.01, &mut cube[..3]);
        random_orientation(random).write(&mut cube[3..]);
        start.state[NQ..].fill(0.0);
        random_orientation(random).write(start.context);
    }

    fn changes_context(&self) -> bool {
        true
    }
    fn change_context(&self, step: Transition<'_, f64>, _: usize, random: &mut Random, context: &mut [f64]) {
        let turn = turn_from_goal(Self::cube(step.after).orientation, Quat::read(context));
        if turn <= SUCCESS {
            random_orientation(random).write(context);
        }
    }
}

impl<T: Real> Task<T> for HandReorient {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }

    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        for ((to, q), (low, high)) in out.iter_mut().zip(at.state).zip(&self.ranges) {
            *to = (*q - T::lit(0.5 * (low + high))) * T::lit(2.0 / (high - low));
        }
        let goal = Quat::read(at.context);
        let cube = seen_cube(Self::cube(at.state), goal);
        let rates = at.state[NQ..NQ + JOINTS].iter().map(|v| *v * T::lit(VELOCITY));
        let place = GOAL.map(T::lit).into_iter().chain([goal.x, goal.y, goal.z, goal.w]);
        let (moving, turn) = cube.split_at(13);
        let rest = rates.chain(moving.iter().copied()).chain(place).chain(turn.iter().copied());
        let rest = rest.chain(at.action.iter().copied());
        out[JOINTS..].iter_mut().zip(rest).for_each(|(to, x)| *to = x);
    }

    fn observe_vjp(&self, at: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        for ((to, bar), (low, high)) in bars.state.iter_mut().zip(out_bar).zip(&self.ranges) {
            *to += *bar * T::lit(2.0 / (high - low));
        }
        let (rates, rest) = out_bar[JOINTS..].split_at(JOINTS);
        for (to, bar) in bars.state[NQ..NQ + JOINTS].iter_mut().zip(rates) {
            *to += *bar * T::lit(VELOCITY);
        }
        let (moving, rest) = rest.split_at(13);
        let (turn, action) = rest[7..].split_at(4);
        let mut cube_bar = [T::zero(); 17];
        cube_bar.iter_mut().zip(moving.iter().chain(turn)).for_each(|(to, bar)| *to = *bar);
        let (bar, ()) = seen_cube_vjp(Self::cube(at.state), Quat::read(at.context), cube_bar);
        Self::add_cube(bar, bars.state);
        bars.action.iter_mut().zip(action).for_each(|(to, bar)| *to += *bar);
    }

    fn reward(&self, step: Transition<'_, T>) -> T {
        let Cube { position, orientation, .. } = Self::cube(step.after);
        cube_reward(position, orientation, Quat::read(step.context)) - effort(EFFORT, step.action)
    }

    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let Cube { position, orientation, .. } = Self::cube(step.after);
        let (position_bar, orientation_bar, ()) =
            cube_reward_vjp(position, orientation, Quat::read(step.context), reward_bar);
        position_bar.add_to(&mut bars.after[JOINTS..]);
        orientation_bar.add_to(&mut bars.after[JOINTS + 3..]);
        effort_vjp(EFFORT, step.action, reward_bar, bars.action);
    }

    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        let place = Vec3::new(T::lit(GOAL[0]), T::lit(GOAL[1]), T::lit(GOAL[2]));
        let far = (Self::cube(at.state).position - place).norm() - T::lit(FALLEN);
        far.gt(T::zero())
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::Described;
    use pullback_math::Dual;

    use super::*;

    fn task() -> HandReorient {
        HandReorient::new(Options::default()).unwrap()
    }

    /// A state with the cube at the goal, turned by an angle about z, and the goal upright.
    fn turned(task: &HandReorient, angle: f64) -> Vec<f64> {
        let mut state = task.robot.layout().state.defaults();
        state[JOINTS..JOINTS + 3].copy_from_slice(&GOAL);
        Quat::from_axis_angle(Vec3::new(0.0, 0.0, 1.0), angle).write(&mut state[JOINTS + 3..]);
        state
    }

    const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

    fn reward(task: &HandReorient, state: &[f64], action: &[f64]) -> f64 {
        task.reward(Transition { before: state, action, after: state, context: &UPRIGHT })
    }

    #[test]
    fn rewards_are_those_of_the_source() {
        let task = task();
        let rest = [0.0; JOINTS];
        // The bonus at the goal is half of 250; beyond 0.1 rad there is none.
        assert!((reward(&task, &turned(&task, 0.0), &rest) - (10.0 + 125.0)).abs() < 1e-9);
        assert!((reward(&task, &turned(&task, 0.4), &rest) - 1.0 / 0.5).abs() < 1e-9);
        let mut aside = turned(&task, 0.4);
        aside[JOINTS] += 0.1;
        let cost = 1.0 + 2e-4 * 4.0;
        assert!((reward(&task, &aside, &[0.5; JOINTS]) - (1.0 / 0.5 - cost)).abs() < 1e-9);
        for (away, ends) in [(0.23, false), (0.25, true)] {
            aside[JOINTS] = GOAL[0] + away;
            let at = View { state: &aside[..], action: &rest[..], context: &UPRIGHT[..] };
            assert_eq!(Task::<f64>::terminated(&task, at), ends, "{away} m");
        }
    }

    /// Where the smooth bonus is steep, which random states miss.
    #[test]
    fn the_bonus_has_an_exact_slope() {
        for angle in [0.088, 0.093, 0.1, 0.2] {
            let goal = Quat::identity();
            let turn = |a: Dual<f64>| {
                let (sin, cos) = (a * Dual::lit(0.5)).sin_cos();
                Quat::new(cos, Dual::lit(0.0), Dual::lit(0.0), sin)
            };
            let q = turn(Dual { value: angle, tangent: 1.0 });
            let place = Vec3::new(0.01, -0.12, 0.57);
            let forward = cube_reward(place.map(Dual::lit), q, Quat::identity()).tangent;
            let value = Quat::new(q.w.value, q.x.value, q.y.value, q.z.value);
            let (_, bar, ()) = cube_reward_vjp(place, value, goal, 1.0);
            let back = bar.w * q.w.tangent + bar.z * q.z.tangent;
            assert!((forward - back).abs() < 1e-9 * forward.abs().max(1.0), "{angle}: {forward} {back}");
        }
    }

    #[test]
    fn a_success_draws_another_goal() {
        let task = task();
        let action = [0.0; JOINTS];
        for (angle, changes) in [(0.09, true), (0.11, false)] {
            let state = turned(&task, angle);
            let mut goal = UPRIGHT;
            let step = Transition { before: &state[..], action: &action, after: &state, context: &UPRIGHT };
            task.change_context(step, 1, &mut Random::new(1), &mut goal);
            assert_eq!(goal != UPRIGHT, changes, "{angle}");
        }
    }

    #[test]
    fn cube_and_observation_are_those_of_the_source() {
        let task = task();
        let cube = task.robot.field().model().bodies.last().unwrap();
        assert!((cube.mass - 0.5).abs() < 1e-6);
        // Turning is damped by 0.01 per second.
        let turn = task.robot.field().model().joints.last().unwrap();
        assert!((turn.damping / cube.inertia.xx - 0.01).abs() < 1e-6);
        assert!((task.robot.dt() - 1.0 / 7680.0).abs() < 1e-15);

        let mut state = turned(&task, 0.4);
        // The thumb in the middle of its range, the first finger at its end.
        (state[12], state[1]) = (0.5 * (0.263 + 1.396), 1.61);
        let mut seen = vec![f64::NAN; 72];
        let action = [0.25; JOINTS];
        task.observe(View { state: &state[..], action: &action, context: &UPRIGHT }, &mut seen);
        assert!(seen[12].abs() < 1e-12 && (seen[1] - 1.0).abs() < 1e-12);
        assert_eq!(seen[32..35], GOAL);
        assert_eq!(seen[45..52], [0.0, -0.1, 0.56, 0.0, 0.0, 0.0, 1.0]);
        assert!((seen[54] - 0.2f64.sin()).abs() < 1e-12 && (seen[55] - 0.2f64.cos()).abs() < 1e-12);
        assert_eq!(seen[56..], action);
    }
}
