//! `pendulum-N`: raise the end of a chain of N links from level to upright (articulated adjoint, 6.2).
//!
//! Links of 0.5 m turn about x; the first weighs 1 kg and the others 2.16 kg, at their far ends. Episodes start
//! level and at rest, and last 100 steps of 1/60 s. The target is (0, 0, N/2). With d the distance of the end
//! from it, a step is worth d²ₜ₋₁ − d²ₜ, and the last one −d²_T besides. The sum is d₀² − 2 d²_T, so the best
//! possible return is d₀² = N²/2, the paper's maximum.
//!
//! Observation: velocities of the joints, ends of all links (x, y, z), and the part of the episode that is
//! over. Since the time is seen, the last step is an end for good and not a limit of time: rewards are not
//! discounted, and a value beyond the end would have no bound.
//!
//! Steps of 1/60 s, the paper's, are too long for fast chains: from five links on, velocities may grow without
//! bound. *Episodes therefore end where a joint is faster than 100 rad/s; that step is then the last one.*
//!
//! Eq. 15 of the paper has no term at the end and the opposite sign; its text and its maximum have ours, so
//! [`Options::as_paper`] leaves out the term alone. *Generated models equal `models/pendulum5.xml` for N = 5.*

use std::fmt::Write;

use pullback_core::ConfigError;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::Real;
use pullback_physics::articulated::Articulated;

use super::robots::{Robot, model};

/// Actions per episode.
const EPISODE: usize = 100;
/// Length of a link, m.
const LINK: f64 = 0.5;
/// Speed of a joint at which an episode ends, rad/s: more than 1.6 rad in a step.
const FASTEST: f64 = 100.0;
/// Most links.
const MOST_LINKS: usize = 7;

/// What paper and code disagree about.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether the last step of an episode is worth −d² besides.
    pub final_cost: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { final_cost: true }
    }
}

impl Options {
    /// As the paper prints it.
    pub fn as_paper() -> Self {
        Options { final_cost: false }
    }
}

/// The task.
pub struct Pendulum {
    robot: Robot,
    links: usize,
    options: Options,
}

impl Pendulum {
    /// A pendulum of 1 to 7 links.
    pub fn new(links: usize, options: Options) -> Result<Self, ConfigError> {
        if !(1..=MOST_LINKS).contains(&links) {
            return Err(ConfigError::new(format!("a pendulum of {links} links; it has 1 to {MOST_LINKS}")));
        }
        let model = model(&mjcf(links))?;
        let dt = model.options.timestep;
        let robot = Articulated::new(model)?.with_time_step(dt);
        let robot = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
        Ok(Pendulum { robot, links, options })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    /// d² of a state.
    fn squared_distance<T: Real>(&self, state: &[T]) -> T {
        let [y, z] = self.offset(state);
        y * y + z * z
    }

    /// The end of the last link, from the target.
    fn offset<T: Real>(&self, state: &[T]) -> [T; 2] {
        let [y, z] = ends(&state[..self.links])[self.links - 1];
        [y, z - T::lit(LINK * self.links as f64)]
    }

    /// The pullback of [`Pendulum::squared_distance`]: *adds* to the cotangent of the state.
    fn squared_distance_vjp<T: Real>(&self, state: &[T], bar: T, state_bar: &mut [T]) {
        let mut bars = [[T::zero(); 2]; MOST_LINKS];
        // ∂d²/∂p = 2 (p − target)
        bars[self.links - 1] = self.offset(state).map(|x| x * T::lit(2.0) * bar);
        ends_vjp(&state[..self.links], bars, state_bar);
    }

    /// Weight of −d² after a step: 1, and 2 in the last one.
    fn weight<T: Real>(&self, step: &Transition<'_, T>) -> T {
        let (one, two) = (T::one(), T::lit(2.0));
        let last = self.is_last(step.after, step.context);
        if self.options.final_cost { T::select(last, two, one) } else { one }
    }

    /// Whether a step that led to `state` is the last one. Context: actions before it.
    fn is_last<T: Real>(&self, state: &[T], context: &[T]) -> T::Mask {
        let over = context[0].gt(T::lit(EPISODE as f64 - 1.5));
        state[self.links..].iter().fold(over, |last, v| last | v.abs().gt(T::lit(FASTEST)))
    }
}

/// Far ends (y, z) of the links: pᵢ = pᵢ₋₁ + ½ (cos θᵢ, sin θᵢ) with θᵢ = θᵢ₋₁ + qᵢ.
fn ends<T: Real>(q: &[T]) -> [[T; 2]; MOST_LINKS] {
    let mut ends = [[T::zero(); 2]; MOST_LINKS];
    let (mut angle, mut end) = (T::zero(), [T::zero(); 2]);
    for (q, to) in q.iter().zip(&mut ends) {
        angle += *q;
        let (sin, cos) = angle.sin_cos();
        end = [end[0] + cos * T::lit(LINK), end[1] + sin * T::lit(LINK)];
        *to = end;
    }
    ends
}

/// The pullback of [`ends`]: *adds* to the cotangent of the joints.
fn ends_vjp<T: Real>(q: &[T], bars: [[T; 2]; MOST_LINKS], q_bar: &mut [T]) {
    let ends = ends(q);
    let (mut beyond, mut turn) = ([T::zero(); 2], T::zero());
    for i in (0..q.len()).rev() {
        let start = if i == 0 { [T::zero(); 2] } else { ends[i - 1] };
        let link = [ends[i][0] - start[0], ends[i][1] - start[1]];
        // θ̄ᵢ = (−link_z, link_y) · Σ_{k ≥ i} p̄ₖ, q̄ᵢ = Σ_{k ≥ i} θ̄ₖ
        beyond = [beyond[0] + bars[i][0], beyond[1] + bars[i][1]];
        turn += link[0] * beyond[1] - link[1] * beyond[0];
        q_bar[i] += turn;
    }
}

/// The model of a chain of links, level along y where all joints are 0.
fn mjcf(links: usize) -> String {
    let mut bodies = String::new();
    let mut motors = String::new();
    for i in 1..=links {
        let (start, mass, inertia) = match i {
            1 => (0.0, 1.0, "0.00495 0.00494 0.00222"),
            _ => (LINK, 2.16, "0.00539 0.0049 0.00312"),
        };
        let _ = write!(
            bodies,
            r#"<body name="link_{i}" pos="0 {start} 0"><joint name="hinge_{i}"/>
            <inertial pos="0 {LINK} 0" mass="{mass}" diaginertia="{inertia}"/>
            <geom name="link_{i}" pos="0 {LINK} 0"/>
            <geom name="rod_{i}" type="capsule" size="0.015" fromto="0 0 0 0 {LINK} 0"/>"#,
        );
        let _ = write!(motors, r#"<motor name="hinge_{i}" joint="hinge_{i}"/>"#);
    }
    let ends = "</body>".repeat(links);
    format!(
        r#"<mujoco model="pendulum{links}"><compiler angle="radian" autolimits="true"/>
        <option timestep="{}" gravity="0 0 -9.8" integrator="Euler"/>
        <default><geom type="sphere" size="0.05" contype="0" conaffinity="0"/>
        <joint type="hinge" axis="1 0 0"/><motor gear="10" ctrlrange="-1 1"/></default>
        <worldbody>{bodies}{ends}</worldbody><actuator>{motors}</actuator></mujoco>"#,
        1.0 / 60.0
    )
}

impl TaskSpec for Pendulum {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: 4 * self.links + 1, actions: self.links }
    }
    fn substeps(&self) -> usize {
        1
    }
    fn episode_length(&self) -> usize {
        EPISODE
    }
    fn start(&self, _: &mut Random, start: Start<'_>) {
        start.state.fill(0.0);
        start.context[0] = 0.0;
    }
    fn context_len(&self) -> usize {
        1
    }
    fn changes_context(&self) -> bool {
        true
    }
    fn ends_where(&self, seen: &[f32]) -> Option<bool> {
        let over = seen[4 * self.links] > 1.0 - 0.5 / EPISODE as f32;
        Some(over || seen[..self.links].iter().any(|v| v.abs() > FASTEST as f32))
    }
    fn change_context(&self, _: Transition<'_, f64>, age: usize, _: &mut Random, context: &mut [f64]) {
        context[0] = age as f64;
    }
}

impl<T: Real> Task<T> for Pendulum {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        let (q, v) = at.state.split_at(self.links);
        out[..self.links].copy_from_slice(v);
        for (to, [y, z]) in out[self.links..].chunks_exact_mut(3).zip(ends(q)) {
            to.copy_from_slice(&[T::zero(), y, z]);
        }
        out[4 * self.links] = at.context[0] * T::lit(1.0 / EPISODE as f64);
    }
    fn observe_vjp(&self, at: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        let (q_bar, v_bar) = bars.state.split_at_mut(self.links);
        v_bar.iter_mut().zip(out_bar).for_each(|(to, x)| *to += *x);
        let mut end_bars = [[T::zero(); 2]; MOST_LINKS];
        for (to, from) in end_bars.iter_mut().zip(out_bar[self.links..].chunks_exact(3)) {
            *to = [from[1], from[2]];
        }
        ends_vjp(&at.state[..self.links], end_bars, q_bar);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        self.squared_distance(step.before) - self.squared_distance(step.after) * self.weight(&step)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        self.squared_distance_vjp(step.before, reward_bar, bars.before);
        self.squared_distance_vjp(step.after, -(reward_bar * self.weight(&step)), bars.after);
    }
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        self.is_last(at.state, at.context)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use pullback_core::{Described, Point, System};

    use super::*;

    fn reward(task: &Pendulum, before: &[f64], after: &[f64], age: usize) -> f64 {
        let action = vec![0.0; task.links];
        task.reward(Transition { before, action: &action, after, context: &[age as f64] })
    }

    #[test]
    fn the_best_return_is_half_the_square_of_the_links() {
        for links in 1..=MOST_LINKS {
            let task = Pendulum::new(links, Options::default()).unwrap();
            let level = vec![0.0; 2 * links];
            let mut upright = level.clone();
            upright[0] = FRAC_PI_2;
            // Up in the first step, and still there at the end.
            let best = reward(&task, &level, &upright, 0) + reward(&task, &upright, &upright, EPISODE - 1);
            assert!((best - 0.5 * (links * links) as f64).abs() < 1e-12, "{links}: {best}");
            // An end that is not reached is paid for twice.
            assert!(
                (reward(&task, &level, &level, EPISODE - 1) + 0.5 * (links * links) as f64).abs() < 1e-12
            );
            let paper = Pendulum::new(links, Options::as_paper()).unwrap();
            assert_eq!(reward(&paper, &level, &level, EPISODE - 1), 0.0);
        }
    }

    #[test]
    fn five_links_move_as_the_model_file_does() {
        let file = model(pullback_models::PENDULUM5).unwrap();
        let task = Pendulum::new(5, Options::default()).unwrap();
        let dt = task.robot.dt();
        let file = Integrated::new(
            Articulated::new(file).unwrap().with_time_step(dt),
            dt,
            Integrator::fixed(Method::SemiImplicitEuler),
        );
        let run = |robot: &Robot| {
            let params = robot.layout().params.defaults();
            let mut ws = System::<f64>::workspace(robot);
            let (mut state, mut next) = (vec![0.0; 10], vec![0.0; 10]);
            for t in 0..20 {
                let control: Vec<f64> = (0..5).map(|k| f64::from(t + k).sin()).collect();
                let at = Point { params: &params, state: &state, control: &control };
                robot.step(&mut ws, at, &mut next).unwrap();
                std::mem::swap(&mut state, &mut next);
            }
            state
        };
        assert_eq!(run(&task.robot), run(&file.unwrap()));
    }

    /// The last step, and one after which a joint is too fast; what is seen tells the same.
    #[test]
    fn ends_are_seen() {
        let task = Pendulum::new(3, Options::default()).unwrap();
        for (age, speed, ends) in [(1, 99.0, false), (1, -101.0, true), (98, 0.0, false), (99, 0.0, true)] {
            let state = [0.1, 0.2, 0.3, 0.0, speed, 0.0];
            // The time goes on between the end and what is seen after it.
            let mut seen = [0.0; 13];
            let (before, after) = ([f64::from(age)], [f64::from(age + 1)]);
            let at = |context| View { state: &state, action: &[0.0; 3], context };
            Task::<f64>::observe(&task, at(&after), &mut seen);
            let seen = seen.map(|x| x as f32);
            assert_eq!(Task::<f64>::terminated(&task, at(&before)), ends, "{age} {speed}");
            assert_eq!(task.ends_where(&seen), Some(ends), "{age} {speed}");
        }
    }

    #[test]
    fn seven_links_are_the_most() {
        assert!(Pendulum::new(0, Options::default()).is_err());
        assert!(Pendulum::new(8, Options::default()).is_err());
    }
}
