//! Robots with a free base that are to run along x: the observation and reward of DFlex's ant and its kin.
//!
//! z is up here, y in the source; orientations and velocities are those of the base in our axes.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::{Cotangent, Flat, Quat, Real, Vec3, differentiable};

use super::robots::{Dflex, Robot, jitter, jitter_rotation};
use super::warp::Warp;

/// What tells one running robot from another.
#[derive(Clone, Debug)]
pub struct Running {
    /// The model file.
    pub model: &'static str,
    /// Law and constants of contact and limits.
    pub physics: Physics,
    /// Position of the base and joint coordinates where episodes start.
    pub start: ([f64; 3], Vec<f64>),
    /// Bound of the noise on joint coordinates at the start, rad.
    pub joint_noise: f64,
    /// How far ahead the target lies that the robot should face, m.
    pub target: f64,
    /// Height of the base below which an episode ends, m.
    pub fallen: f64,
    /// What height is worth.
    pub height: HeightReward,
    /// What actions cost.
    pub effort: Effort,
    /// Whether the last action is observed.
    pub sees_action: bool,
}

/// Whose law contact and limits follow.
#[derive(Clone, Copy, Debug)]
pub enum Physics {
    /// DFlex's.
    Dflex(Dflex),
    /// Warp's.
    Warp(Warp),
}

impl Physics {
    fn robot(&self, xml: &str) -> Result<(Robot, Vec<f64>), ConfigError> {
        match self {
            Physics::Dflex(dflex) => dflex.robot(xml),
            Physics::Warp(warp) => warp.robot(xml),
        }
    }
    fn substeps(&self) -> usize {
        match self {
            Physics::Dflex(Dflex { substeps, .. }) | Physics::Warp(Warp { substeps, .. }) => *substeps,
        }
    }
}

/// What the height of the base is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeightReward {
    /// Nothing.
    None,
    /// z − z₀.
    Above(f64),
    /// d = z − z₀ in [−1, cap]: −200 d² below z₀, slope · d above.
    Shaped {
        /// z₀, m.
        from: f64,
        /// Largest d, m.
        cap: f64,
        /// Worth of a meter above z₀.
        slope: f64,
    },
}

/// What actions cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// A factor times Σ a².
    Squares(f64),
    /// Muscles, driven by (a + 1)/2 in [0, 1]: a factor times its sum.
    Muscles(f64),
}

/// A robot that runs.
pub struct Runner {
    running: Running,
    robot: Robot,
    params: Vec<f64>,
    nq: usize,
    nv: usize,
    actions: usize,
}

/// The base of a robot, as the state has it.
#[derive(Clone, Copy, Debug, Cotangent)]
struct Base<T> {
    position: Vec3<T>,
    orientation: Quat<T>,
    velocity: Vec3<T>,
    /// Angular velocity in the frame of the base.
    spin: Vec3<T>,
}

/// What is seen of the base and worth something.
#[derive(Clone, Copy, Debug, Cotangent)]
struct Posture<T> {
    height: T,
    velocity: Vec3<T>,
    /// Angular velocity in world axes.
    spin: Vec3<T>,
    /// z component of the base's z axis.
    up: T,
    /// Cosine of the angle between the base's x axis and the way to the target.
    heading: T,
}

/// Where the base is, where it turns and how well it stands.
#[differentiable]
#[inline(always)]
fn posture<T: Real>(base: Base<T>, #[constant] target: T) -> Posture<T> {
    let zero = T::zero();
    let way = Vec3::new(target - base.position.x, -base.position.y, zero);
    let ahead = base.orientation.rotate(Vec3::new(T::one(), zero, zero));
    let upward = base.orientation.rotate(Vec3::new(zero, zero, T::one()));
    let direction = way.normalize();
    Posture {
        height: base.position.z,
        velocity: base.velocity,
        spin: base.orientation.rotate(base.spin),
        up: upward.z,
        heading: ahead.dot(direction),
    }
}

/// r = v_x + 0.1 up + heading + height term.
#[differentiable]
#[inline(always)]
fn running_reward<T: Real>(at: Posture<T>, #[constant] height: HeightReward) -> T {
    let worth = height_reward(at.height, height);
    at.velocity.x + at.up * T::lit(0.1) + at.heading + worth
}

#[inline(always)]
fn height_reward<T: Real>(z: T, reward: HeightReward) -> T {
    match reward {
        HeightReward::None => T::zero(),
        HeightReward::Above(from) => z - T::lit(from),
        HeightReward::Shaped { from, cap, slope } => shaped_height(z, from, cap, slope),
    }
}

#[inline(always)]
fn height_reward_vjp<T: Real>(z: T, reward: HeightReward, out_bar: T) -> (T, ()) {
    match reward {
        HeightReward::None => (T::zero(), ()),
        HeightReward::Above(_) => (out_bar, ()),
        HeightReward::Shaped { from, cap, slope } => (shaped_height_vjp(z, from, cap, slope, out_bar).0, ()),
    }
}

/// d = z − z₀ in [−1, cap]; −200 d² below 0, slope · d above.
#[differentiable]
#[inline(always)]
pub(super) fn shaped_height<T: Real>(
    z: T,
    #[constant] from: f64,
    #[constant] cap: f64,
    #[constant] slope: f64,
) -> T {
    let d = (z - T::lit(from)).max(-T::one()).min(T::lit(cap));
    let below = d.min(T::zero());
    let above = d.max(T::zero());
    above * T::lit(slope) - below * below * T::lit(200.0)
}

impl Runner {
    /// Reads the model.
    pub fn new(running: Running) -> Result<Self, ConfigError> {
        let (robot, params) = running.physics.robot(running.model)?;
        let (nq, nv) = (robot.field().coordinates().nq, robot.field().coordinates().nv);
        let actions = robot.field().model().actuators.len();
        if running.start.1.len() != nq - 7 {
            return Err(ConfigError::new(format!("a start needs {} joint coordinates", nq - 7)));
        }
        Ok(Runner { running, robot, params, nq, nv, actions })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    fn base<T: Real>(&self, state: &[T]) -> Base<T> {
        Base {
            position: Vec3::read(state),
            orientation: Quat::read(&state[3..]),
            velocity: Vec3::read(&state[self.nq..]),
            spin: Vec3::read(&state[self.nq + 3..]),
        }
    }

    fn add_base<T: Real>(&self, bar: Base<T>, state_bar: &mut [T]) {
        bar.position.add_to(state_bar);
        bar.orientation.add_to(&mut state_bar[3..]);
        bar.velocity.add_to(&mut state_bar[self.nq..]);
        bar.spin.add_to(&mut state_bar[self.nq + 3..]);
    }

    fn target<T: Real>(&self) -> T {
        T::lit(self.running.target)
    }

    /// Joint coordinates, and joint velocities.
    fn joints(&self) -> [std::ops::Range<usize>; 2] {
        [7..self.nq, self.nq + 6..self.nq + self.nv]
    }
}

/// Scale of joint velocities in observations.
const JOINT_VELOCITY: f64 = 0.1;

impl TaskSpec for Runner {
    fn spaces(&self) -> Spaces {
        // height, orientation, velocity, spin; joints; up, heading; last action
        let seen = if self.running.sees_action { self.actions } else { 0 };
        Spaces { points: 0, vector: 11 + (self.nq - 7) + (self.nv - 6) + 2 + seen, actions: self.actions }
    }
    fn substeps(&self) -> usize {
        self.running.physics.substeps()
    }
    fn episode_length(&self) -> usize {
        1000
    }
    fn params(&self) -> Option<Vec<f64>> {
        Some(self.params.clone())
    }

    fn start(&self, random: &mut Random, start: Start<'_>) {
        let (position, joints) = &self.running.start;
        start.state[..3].copy_from_slice(position);
        start.state[3..7].copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
        start.state[7..self.nq].copy_from_slice(joints);
        jitter(random, 0.1, &mut start.state[..3]);
        jitter_rotation(random, std::f64::consts::PI / 24.0, &mut start.state[3..7]);
        jitter(random, self.running.joint_noise, &mut start.state[7..self.nq]);
        start.state[self.nq..].fill(0.0);
        jitter(random, 0.25, &mut start.state[self.nq..self.nq + self.nv]);
    }
}

impl<T: Real> Task<T> for Runner {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }

    fn control(&self, _: View<'_, T>, action: &[T], control: &mut [T]) {
        let muscles = matches!(self.running.effort, Effort::Muscles(_));
        for (u, a) in control.iter_mut().zip(action) {
            *u = if muscles { (*a + T::one()) * T::lit(0.5) } else { *a };
        }
    }

    fn control_vjp(&self, _: View<'_, T>, _: &[T], control_bar: &[T], action_bar: &mut [T], _: &mut [T]) {
        let slope = if matches!(self.running.effort, Effort::Muscles(_)) { 0.5 } else { 1.0 };
        for (bar, u_bar) in action_bar.iter_mut().zip(control_bar) {
            *bar += *u_bar * T::lit(slope);
        }
    }

    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        let base = self.base(at.state);
        let Posture { height, velocity, spin, up, heading } = posture(base, self.target());
        out[0] = height;
        let q = base.orientation;
        out[1..5].copy_from_slice(&[q.x, q.y, q.z, q.w]);
        velocity.write(&mut out[5..]);
        spin.write(&mut out[8..]);
        let [positions, velocities] = self.joints();
        let joints = at.state[positions].iter().copied();
        let rates = at.state[velocities].iter().map(|v| *v * T::lit(JOINT_VELOCITY));
        let rest = joints.chain(rates).chain([up, heading]).chain(at.action.iter().copied());
        out[11..].iter_mut().zip(rest).for_each(|(to, x)| *to = x);
    }

    fn observe_vjp(&self, at: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        let [positions, velocities] = self.joints();
        let (joints_bar, rest) = out_bar[11..].split_at(positions.len());
        let (rates_bar, rest) = rest.split_at(velocities.len());
        let bar = Posture {
            height: out_bar[0],
            velocity: Vec3::read(&out_bar[5..]),
            spin: Vec3::read(&out_bar[8..]),
            up: rest[0],
            heading: rest[1],
        };
        let (mut base_bar, ()) = posture_vjp(self.base(at.state), self.target(), bar);
        base_bar.orientation += Quat::new(out_bar[4], out_bar[1], out_bar[2], out_bar[3]);
        self.add_base(base_bar, bars.state);
        bars.state[positions].iter_mut().zip(joints_bar).for_each(|(to, x)| *to += *x);
        let rates = bars.state[velocities].iter_mut().zip(rates_bar);
        rates.for_each(|(to, x)| *to += *x * T::lit(JOINT_VELOCITY));
        bars.action.iter_mut().zip(&rest[2..]).for_each(|(to, x)| *to += *x);
    }

    fn reward(&self, step: Transition<'_, T>) -> T {
        let at = posture(self.base(step.after), self.target());
        let sum = |value: fn(T) -> T| step.action.iter().fold(T::zero(), |sum, a| sum + value(*a));
        let cost = match self.running.effort {
            Effort::Squares(factor) => sum(|a| a * a) * T::lit(factor),
            Effort::Muscles(factor) => sum(|a| (a + T::one()) * T::lit(0.5)) * T::lit(factor),
        };
        running_reward(at, self.running.height) - cost
    }

    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let base = self.base(step.after);
        let at = posture(base, self.target());
        let (posture_bar, ()) = running_reward_vjp(at, self.running.height, reward_bar);
        let (base_bar, ()) = posture_vjp(base, self.target(), posture_bar);
        self.add_base(base_bar, bars.after);
        for (bar, a) in bars.action.iter_mut().zip(step.action) {
            *bar -= match self.running.effort {
                Effort::Squares(factor) => reward_bar * *a * T::lit(2.0 * factor),
                Effort::Muscles(factor) => reward_bar * T::lit(0.5 * factor),
            };
        }
    }

    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        at.state[2].lt(T::lit(self.running.fallen))
    }
}
