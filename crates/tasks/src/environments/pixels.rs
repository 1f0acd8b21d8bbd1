//! [`Pixels`]: a task of a robot whose policy sees pictures and nothing else.
//!
//! Observation: the picture now, and how it changed since the action before, I and I − I₋. Both pictures could be told
//! from that; changes have their own, smaller spread, which normalization by entry would not find in I₋. A pixel is the
//! part of it that is covered, by SoftRas, so cotangents of pixels go back to both states: through outlines, the poses
//! of bodies and the camera, which rides along. [`Remembering`] keeps the earlier state.
//!
//! Physics runs on lanes. A picture fills registers by itself, so each lane is drawn on its own. *Pictures take the
//! parameters of the task, not those that an episode may draw.*

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_core::{Bars, ConfigError, Described, Point};
use pullback_learn::env::{
    Lanes, Spaces, Start, Task, TaskSpec, Transition, TransitionBars, VecEnv, VecEnvOptions, View, ViewBars,
};
use pullback_math::{Dual, Scalar, f32x16, f64x8};
use pullback_render::{Image, RenderError};
use pullback_replay::Replay;
use pullback_video::look::Depict;
use pullback_video::{RobotView, Shot, Stage, VisibleRobot};

use super::remembering::Remembering;
use super::robots::Robot;
use super::{BuildEnvironment, Environment, Precision, cartpole, cartpole_pixels, robot_page, robot_picture};

/// Tasks that are seen in pictures.
pub const TASKS: &[Entry<BuildEnvironment>] =
    &[Entry::new("cartpole-pixels", "swing a pole up on a cart, seen in pictures alone", |_| {
        let task = cartpole::Cartpole::new()?;
        let eye = cartpole_pixels::eye(&task)?;
        pixel_env(task, |task| task.robot(), eye)
    })];

/// What is seen of a robot, and from where.
pub struct Eye {
    /// What is seen.
    pub visible: VisibleRobot,
    /// From where, while the followed entry of the state is 0.
    pub shot: Shot,
    /// Entry of the state that moves the camera along x, m.
    pub follows: usize,
}

impl Eye {
    /// Pixels of a picture.
    pub fn pixels(&self) -> usize {
        self.shot.settings.width * self.shot.settings.height
    }
    /// Sizes of two pictures and of the actions of a task.
    fn spaces(&self, task: &impl TaskSpec) -> Spaces {
        Spaces { points: 0, vector: 2 * self.pixels(), actions: task.spaces().actions }
    }
}

/// A task seen by an eye, in pictures of `F`.
pub struct Pixels<K, F: Scalar> {
    task: Arc<K>,
    system: Remembering<Robot>,
    eye: Arc<Eye>,
    /// Parameters of the robot.
    params: Vec<f64>,
    /// Memory that no thread draws with.
    idle: Mutex<Vec<Sight<F>>>,
}

/// Memory for one picture at a time.
struct Sight<F: Scalar> {
    stage: Stage<F, RobotView<F>>,
    image_bar: Image<F>,
    /// Pixels of the picture now, while the earlier one is drawn.
    now: Vec<F>,
    /// Where the robot is, and cotangents of that.
    params: Vec<F>,
    state: Vec<F>,
    control: Vec<F>,
    params_bar: Vec<F>,
    state_bar: Vec<F>,
    control_bar: Vec<F>,
}

impl<F: Scalar> Sight<F> {
    fn new(eye: &Eye, robot: &Remembering<Robot>, params: &[f64]) -> Self {
        let stage = Stage::new(&eye.visible, &eye.shot);
        let (layout, zeros) = (robot.layout(), |n: usize| vec![F::zero(); n]);
        Sight {
            image_bar: stage.image.zero_like(),
            now: zeros(eye.pixels()),
            params: params.iter().map(|x| F::lit(*x)).collect(),
            state: zeros(robot.own()),
            control: zeros(layout.control.len()),
            params_bar: zeros(layout.params.len()),
            state_bar: zeros(robot.own()),
            control_bar: zeros(layout.control.len()),
            stage,
        }
    }

    /// Takes the state of a lane.
    fn place<T: Lanes<F>>(&mut self, state: &[T], lane: usize) {
        self.state.iter_mut().zip(state).for_each(|(to, x)| *to = x.number(lane));
    }

    /// The picture of the state, left on the stage.
    fn draw(&mut self, eye: &Eye) -> Result<(), RenderError> {
        self.stage.camera.position.x = F::lit(eye.shot.camera.position.x) + self.state[eye.follows];
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        self.stage.draw(&eye.visible, at)
    }

    /// The pullback of the picture of the state, whose cotangent is in `image_bar`, into `state_bar`.
    fn draw_vjp(&mut self, eye: &Eye) -> Result<(), RenderError> {
        self.draw(eye)?;
        self.state_bar.fill(F::zero());
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        let bars =
            Bars { params: &mut self.params_bar, state: &mut self.state_bar, control: &mut self.control_bar };
        self.stage.draw_vjp(&eye.visible, at, &self.image_bar, bars)?;
        self.state_bar[eye.follows] += self.stage.camera_bar.position.x;
        Ok(())
    }

    /// (I, I − I₋) of a lane. Where a state has no picture they are no numbers, and the environment fails.
    fn observe<T: Lanes<F>>(&mut self, eye: &Eye, states: [&[T]; 2], lane: usize, out: &mut [T]) {
        let [now, earlier] = states;
        let (seen, changes) = out.split_at_mut(eye.pixels());
        self.place(now, lane);
        let mut drawn = self.draw(eye);
        self.now.copy_from_slice(&self.stage.image.alpha);
        if drawn.is_ok() {
            self.place(earlier, lane);
            drawn = self.draw(eye);
        }
        let nothing = drawn.is_err().then(|| F::lit(f64::NAN));
        let pictures = self.now.iter().zip(&self.stage.image.alpha);
        for ((seen, change), (now, earlier)) in seen.iter_mut().zip(changes).zip(pictures) {
            *seen = seen.replace(lane, nothing.unwrap_or(*now));
            *change = change.replace(lane, nothing.unwrap_or(*now - *earlier));
        }
    }

    /// The pullback of [`Sight::observe`]: *adds* to a lane of the cotangents of both states.
    fn observe_vjp<T: Lanes<F>>(
        &mut self,
        eye: &Eye,
        states: [&[T]; 2],
        lane: usize,
        out_bar: &[T],
        state_bars: [&mut [T]; 2],
    ) {
        let (seen_bar, changes_bar) = out_bar.split_at(eye.pixels());
        for (i, (state, state_bar)) in states.into_iter().zip(state_bars).enumerate() {
            // Ī = ō + c̄, Ī₋ = −c̄
            let bars = seen_bar.iter().zip(changes_bar).map(|(o, c)| (o.number(lane), c.number(lane)));
            for (to, (o, c)) in self.image_bar.alpha.iter_mut().zip(bars) {
                *to = if i == 0 { o + c } else { -c };
            }
            self.place(state, lane);
            if self.draw_vjp(eye).is_err() {
                // The environment leaves out lanes whose cotangents are not finite.
                self.state_bar.fill(F::lit(f64::NAN));
            }
            for (to, bar) in state_bar.iter_mut().zip(&self.state_bar) {
                *to = to.replace(lane, to.number(lane) + *bar);
            }
        }
    }
}

impl<K: TaskSpec, F: Scalar> Pixels<K, F> {
    fn new(task: Arc<K>, robot: &Robot, eye: Arc<Eye>) -> Result<Self, ConfigError> {
        let system = Remembering::new(robot.clone(), task.substeps())?;
        let params = task.params().unwrap_or_else(|| robot.layout().params.defaults());
        Ok(Pixels { task, system, eye, params, idle: Mutex::new(Vec::new()) })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Sight<F>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends memory for pictures; as many are made as threads draw at once.
    fn with_sight(&self, draw: impl FnOnce(&mut Sight<F>)) {
        let found = self.idle().pop();
        let mut sight = found.unwrap_or_else(|| Sight::new(&self.eye, &self.system, &self.params));
        draw(&mut sight);
        self.idle().push(sight);
    }

    /// What the task sees of a state: that of its own robot.
    fn own<'a, T>(&self, state: &'a [T]) -> &'a [T] {
        &state[..self.system.own()]
    }
    fn own_mut<'a, T>(&self, state: &'a mut [T]) -> &'a mut [T] {
        &mut state[..self.system.own()]
    }
    fn own_view<'a, T>(&self, at: View<'a, T>) -> View<'a, T> {
        View { state: self.own(at.state), ..at }
    }
    fn own_step<'a, T>(&self, step: Transition<'a, T>) -> Transition<'a, T> {
        Transition { before: self.own(step.before), after: self.own(step.after), ..step }
    }
}

impl<K: TaskSpec, F: Scalar> TaskSpec for Pixels<K, F> {
    fn spaces(&self) -> Spaces {
        self.eye.spaces(&*self.task)
    }
    fn substeps(&self) -> usize {
        1
    }
    fn episode_length(&self) -> usize {
        self.task.episode_length()
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        let (now, earlier) = start.state.split_at_mut(self.system.own());
        self.task.start(random, Start { state: &mut *now, context: start.context, params: start.params });
        earlier.copy_from_slice(now);
    }
    fn context_len(&self) -> usize {
        self.task.context_len()
    }
    fn params(&self) -> Option<Vec<f64>> {
        Some(self.params.clone())
    }
    fn changes_params(&self) -> bool {
        self.task.changes_params()
    }
    fn changes_context(&self) -> bool {
        self.task.changes_context()
    }
    fn change_context(
        &self,
        step: Transition<'_, f64>,
        age: usize,
        random: &mut Random,
        context: &mut [f64],
    ) {
        self.task.change_context(self.own_step(step), age, random, context);
    }
}

impl<K, T, F> Task<T> for Pixels<K, F>
where
    K: Task<T, System = Robot>,
    T: Lanes<F>,
    F: Scalar,
{
    type System = Remembering<Robot>;

    fn system(&self) -> &Remembering<Robot> {
        &self.system
    }

    fn control(&self, at: View<'_, T>, action: &[T], control: &mut [T]) {
        self.task.control(self.own_view(at), action, control);
    }
    fn control_vjp(
        &self,
        at: View<'_, T>,
        action: &[T],
        control_bar: &[T],
        action_bar: &mut [T],
        state_bar: &mut [T],
    ) {
        self.task.control_vjp(self.own_view(at), action, control_bar, action_bar, self.own_mut(state_bar));
    }

    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        let states = at.state.split_at(self.system.own()).into();
        self.with_sight(|sight| {
            for lane in 0..T::LANES {
                sight.observe(&self.eye, states, lane, out);
            }
        });
    }
    fn observe_vjp(&self, at: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        let states = at.state.split_at(self.system.own()).into();
        let (now_bar, earlier_bar) = bars.state.split_at_mut(self.system.own());
        self.with_sight(|sight| {
            for lane in 0..T::LANES {
                sight.observe_vjp(&self.eye, states, lane, out_bar, [&mut *now_bar, &mut *earlier_bar]);
            }
        });
    }

    fn reward(&self, step: Transition<'_, T>) -> T {
        self.task.reward(self.own_step(step))
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let TransitionBars { before, action, after } = bars;
        let bars = TransitionBars { before: self.own_mut(before), action, after: self.own_mut(after) };
        self.task.reward_vjp(self.own_step(step), reward_bar, bars);
    }
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        self.task.terminated(self.own_view(at))
    }
}

/// Environments of a robot that is seen in pictures.
struct PixelEnvironment<K> {
    task: Arc<K>,
    robot: fn(&K) -> &Robot,
    eye: Arc<Eye>,
}

fn pixel_env<K>(task: K, robot: fn(&K) -> &Robot, eye: Eye) -> Result<Box<dyn Environment>, ConfigError>
where
    K: Task<f64, System = Robot>
        + Task<f32x16, System = Robot>
        + Task<f64x8, System = Robot>
        + Task<Dual<f64>, System = Robot>
        + 'static,
{
    Ok(Box::new(PixelEnvironment { task: Arc::new(task), robot, eye: Arc::new(eye) }))
}

impl<K: TaskSpec> PixelEnvironment<K> {
    /// The task in pictures of `F`.
    fn pixels<F: Scalar>(&self) -> Result<Arc<Pixels<K, F>>, ConfigError> {
        Ok(Arc::new(Pixels::new(self.task.clone(), (self.robot)(&self.task), self.eye.clone())?))
    }
}

impl<K> Environment for PixelEnvironment<K>
where
    K: Task<f64, System = Robot>
        + Task<f32x16, System = Robot>
        + Task<f64x8, System = Robot>
        + Task<Dual<f64>, System = Robot>
        + 'static,
{
    fn spaces(&self) -> Spaces {
        self.eye.spaces(&*self.task)
    }
    fn episode_length(&self) -> usize {
        self.task.episode_length()
    }
    fn action_seconds(&self) -> f64 {
        (self.robot)(&self.task).dt() * self.task.substeps() as f64
    }
    fn vec_env(&self, options: VecEnvOptions, precision: Precision) -> Result<VecEnv<f32>, ConfigError> {
        match precision {
            Precision::F32 => VecEnv::new::<f32x16, Pixels<K, f32>>(self.pixels()?, options),
            Precision::F64 => VecEnv::new::<f64x8, Pixels<K, f64>>(self.pixels()?, options),
        }
    }
    #[cfg(test)]
    fn exact_env(&self, options: VecEnvOptions) -> Result<VecEnv<f64>, ConfigError> {
        VecEnv::new::<f64, Pixels<K, f64>>(self.pixels()?, options)
    }
    #[cfg(test)]
    fn dual_env(&self, options: VecEnvOptions) -> Result<VecEnv<Dual<f64>>, ConfigError> {
        VecEnv::new::<Dual<f64>, Pixels<K, Dual<f64>>>(self.pixels()?, options)
    }
    fn replay(&self, states: &[Vec<f64>]) -> Replay {
        robot_page(&*self.task, (self.robot)(&self.task), self.action_seconds(), states)
    }
    fn depict(&self) -> (Box<dyn Depict>, Vec<f64>) {
        robot_picture(&*self.task, (self.robot)(&self.task))
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::Schedule;
    use pullback_core::rollout::{Inputs, Rollout};
    use pullback_learn::Number;
    use pullback_learn::env::{StepBars, StepOutput};
    use pullback_video::film;

    use super::*;
    use crate::environments::build;

    fn environment() -> Box<dyn Environment> {
        build("cartpole-pixels", &Default::default()).unwrap()
    }

    fn cartpole_eye() -> (cartpole::Cartpole, Eye) {
        let task = cartpole::Cartpole::new().unwrap();
        let eye = cartpole_pixels::eye(&task).unwrap();
        (task, eye)
    }

    fn sight() -> (Eye, Sight<f64>) {
        let (task, eye) = cartpole_eye();
        let robot = Remembering::new(task.robot().clone(), task.substeps()).unwrap();
        let sight = Sight::new(&eye, &robot, &task.params().unwrap());
        (eye, sight)
    }

    /// The film of the same motion, with the camera where the cart is at each of its frames.
    #[test]
    fn pictures_are_those_of_the_film_now_and_an_action_ago() {
        let (task, eye) = cartpole_eye();
        let mut env = environment().exact_env(VecEnvOptions { threads: 1, ..VecEnvOptions::new(1) }).unwrap();
        let mut out = StepOutput::new(1, env.spaces());
        let (start, actions) = (env.state(0)[..4].to_vec(), [0.8, -0.5, 0.3, 0.9]);
        let rollout = Rollout::new(task.robot(), actions.len(), Schedule::StoreAll).unwrap();
        let rollout = rollout.with_substeps(task.substeps()).unwrap();
        let inputs =
            Inputs { state: start.clone(), controls: actions.to_vec(), params: task.params().unwrap() };
        let frame = |step: usize, x: f64| {
            let mut shot = eye.shot;
            shot.camera.position.x += x;
            film(&rollout, &inputs, &eye.visible, &shot, &[step]).unwrap().remove(0).image.alpha
        };
        let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);

        let mut earlier = frame(0, start[0]);
        env.observe(&mut out.observations);
        let (seen, changes) = out.observations.split_at(eye.pixels());
        assert!(same(seen, &earlier) && changes.iter().all(|c| *c == 0.0), "an episode begins at rest");
        for (i, action) in actions.iter().enumerate() {
            env.step(&[*action], &mut out).unwrap();
            let now = frame(i + 1, env.state(0)[0]);
            let (seen, changes) = out.observations.split_at(eye.pixels());
            let before: Vec<f64> = seen.iter().zip(changes).map(|(seen, change)| seen - change).collect();
            assert!(same(seen, &now), "the picture after action {i}");
            assert!(same(&before, &earlier), "the picture before action {i}");
            assert!(!same(&now, &earlier), "action {i} moves nothing");
            earlier = now;
        }
    }

    /// What is seen over two steps, and the cotangents of the actions.
    fn two_steps<F: Number>(mut env: VecEnv<F>) -> (Vec<f64>, Vec<f64>) {
        let (n, spaces) = (env.envs(), env.spaces());
        let width = n * spaces.observation();
        let mut out = StepOutput::new(n, spaces);
        let (mut seen, mut random) = (Vec::new(), Random::new(3));
        env.run(|shard| shard.record(2));
        for _ in 0..2 {
            let actions: Vec<F> = (0..n).map(|_| F::from_f64(random.uniform(-0.9, 0.9))).collect();
            env.step(&actions, &mut out).unwrap();
            seen.extend(out.observations.iter().map(|x| x.to_f64()));
        }
        let weights: Vec<F> = (0..width).map(|_| F::from_f64(random.uniform(-1.0, 1.0))).collect();
        let parts = env.run(|shard| {
            let (n, rows) = (shard.envs(), shard.first_env() * spaces.observation()..);
            let (rewards, mut actions) = (vec![F::zero(); n], vec![F::zero(); 2 * n]);
            shard.begin_backward();
            for t in [1, 0] {
                let bars = StepBars {
                    rewards: &rewards,
                    final_observations: &vec![F::zero(); n * spaces.observation()],
                    observations: &weights[rows.clone()][..n * spaces.observation()],
                    actions: &mut actions[t * n..(t + 1) * n],
                };
                shard.step_vjp(t, bars, &mut vec![0.0; n]).unwrap();
            }
            actions
        });
        (seen, parts.into_iter().flatten().map(|x| x.to_f64()).collect())
    }

    /// Eight and sixteen lanes, not all of them filled, on two threads.
    #[test]
    fn lanes_see_and_pull_back_what_single_environments_do() {
        let environment = environment();
        let options = VecEnvOptions { threads: 2, seed: 5, shard: 11, ..VecEnvOptions::new(22) };
        let (seen, bars) = two_steps(environment.exact_env(options).unwrap());
        let size = bars.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(size > 1e-3, "{size}");
        // Starts and actions are single precision in both; a pixel changes by 12 per meter at an outline.
        for (precision, pixel, cotangent) in [(Precision::F64, 2e-5, 1e-3), (Precision::F32, 2e-3, 2e-2)] {
            let (seen_too, bars_too) = two_steps(environment.vec_env(options, precision).unwrap());
            let largest = |a: &[f64], b: &[f64]| {
                a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |most: f64, x| most.max(x))
            };
            let (pixels, bars_apart) = (largest(&seen, &seen_too), largest(&bars, &bars_too) / size);
            assert!(pixels < pixel && bars_apart < cotangent, "{precision:?}: {pixels} {bars_apart}");
        }
    }

    /// Cart and pole look the same everywhere; the strip below tells the side beyond its end.
    #[test]
    fn the_camera_rides_beside_the_cart() {
        let (eye, mut sight) = sight();
        let mut picture = |x: f64| {
            sight.state.copy_from_slice(&[x, 0.4, 0.0, 0.0]);
            sight.draw(&eye).unwrap();
            sight.stage.image.alpha.clone()
        };
        let [far_left, left, right, far_right] = [-60.0, -30.0, 30.0, 60.0].map(&mut picture);
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        // The strip grows by half a pixel of its end: 0.3 m · 0.1 m in pixels of 2.65/16 m.
        let area = |x: &mut dyn FnMut(f64) -> Vec<f64>, at: f64| x(at).iter().sum::<f64>();
        let grown = area(&mut picture, 0.1) - area(&mut picture, 0.0);
        assert!(grown > 0.5 && grown < 2.0, "{grown}");
        let above = 12 * eye.shot.settings.width;
        assert!(near(&far_left, &left) && near(&left[..above], &right[..above]));
        assert!(left[above..].iter().all(|a| *a < 1e-3));
        // One sample in the middle of the strip.
        assert!(right[above + 2 * eye.shot.settings.width..].iter().all(|a| *a > 0.5));
        assert!(near(&right[..above], &far_right[..above]));
        assert!(left[..above].iter().sum::<f64>() > 5.0);
    }

    #[test]
    fn pictures_allocate_nothing_once_all_was_seen() {
        let (eye, mut sight) = sight();
        let mut random = Random::new(1);
        let mut bytes = |pictures: usize| {
            for _ in 0..pictures {
                let state = [random.uniform(-4.0, 4.0), random.uniform(-4.0, 4.0), 0.0, 0.0];
                sight.state.copy_from_slice(&state);
                sight.draw_vjp(&eye).unwrap();
            }
            sight.stage.heap_bytes()
        };
        let first = bytes(200);
        assert_eq!(bytes(200), first);
        assert!(first < 300_000, "{first}");
    }

    /// A state that is no number fails its environment alone.
    #[test]
    fn states_without_a_picture_are_no_numbers() {
        let (eye, mut sight) = sight();
        let (lost, found) = (vec![f64::NAN; 4], vec![0.1; 4]);
        let mut out = vec![0.0; 2 * eye.pixels()];
        sight.observe(&eye, [&found, &lost], 0, &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
        sight.observe(&eye, [&found, &found], 0, &mut out);
        assert!(out.iter().all(|x| x.is_finite()));
    }
}
