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
use pullback_video::{RobotView, Shot, Stage, VisibleRobot};

use super::remembering::Remembering;
use super::robots::Robot;
use super::{BuildEnvironment, Environment, Precision, cartpole, cartpole_pixels, robot_page};

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
        Spaces { points: 0, vector: 2 * self.eye.pixels(), actions: self.task.spaces().actions }
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
        let actions = self.task.spaces().actions;
        Spaces { points: 0, vector: 2 * self.eye.pixels(), actions }
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
}
