//! Tasks for planners: robots, where they start, what is asked of them.
//!
//! A task is a page: a model, a [`Planning`], terms of a loss and a measure of success, put together by [`RobotTask`]. To
//! add one, add an entry to [`CONTROL_TASKS`] and a file beside these.

mod acrobot;
mod ant;
mod cartpole;
pub mod file;
mod pusher;
mod quadruped;
mod reacher;
pub mod swap;
pub mod tennis;

use pullback_control::mpc::{Episode, Progress};
use pullback_control::task::{Judgment, Planning, Success};
use pullback_control::{PlanError, PlannerConfig, RunOptions, Task};
use pullback_core::layout::Layout;
use pullback_core::losses::{Effort, Norm, StateTarget, Weights};
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::DIFFMJX;
use pullback_core::{ConfigError, Described, Inputs, Integrated};
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::losses::PointTarget;
use pullback_physics::articulated::{Articulated, Chain, Keyframe, Model};
use pullback_replay::Replay;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use crate::scenes::SceneOptions;
use crate::{files, recording};

/// A robot in motion.
pub type Robot = Integrated<Articulated>;

/// Targets of states and of points, and effort.
pub type RobotCost = (Vec<StateTarget>, Vec<PointTarget>, Effort);

/// What the program asks of a task.
pub trait ControlTask: Sync {
    /// Its name, with all that changes it.
    fn name(&self) -> &str;
    /// Names of states and controls.
    fn layout(&self) -> &Layout;
    /// Seconds per control.
    fn dt(&self) -> f64;
    /// How it is planned unless told otherwise.
    fn planning(&self) -> Planning;
    /// Runs an episode, or what an interrupted run left of it.
    fn run(
        &self,
        planner: &PlannerConfig,
        options: &RunOptions,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Episode, PlanError>;
    /// Whether the states of an episode are a success.
    fn judge(&self, states: &[Vec<f64>]) -> Judgment;
    /// A page that plays an episode.
    fn replay(&self, episode: &Episode) -> Replay;
}

/// What a builder of a task returns.
pub type BuiltTask = Result<RobotTask, ConfigError>;

/// How a task is made of what it was told.
pub type BuildTask = fn(&TaskOptions) -> BuiltTask;

/// What a task may be told.
#[derive(Clone, Debug, Default)]
pub struct TaskOptions {
    /// A model file in place of our own.
    pub model: Option<String>,
    /// Distance from which contacts act on the way back, m, 0 for not at all; the task's if none.
    pub from_distance: Option<f64>,
}

impl TaskOptions {
    /// What was told, to tell runs apart; nothing if nothing was.
    fn label(&self) -> String {
        let model = self.model.as_ref().map_or(String::new(), |file| format!(", {file}"));
        self.from_distance.map_or(model.clone(), |width| format!("{model}, from {width} m"))
    }

    /// Refuses a model of the user's for a task that knows its own by heart.
    fn own_model(&self, task: &str) -> Result<(), ConfigError> {
        match &self.model {
            None => Ok(()),
            Some(file) => Err(ConfigError::new(format!(
                "{task} has a model of its own; give `{file}` as the task, with --target"
            ))),
        }
    }

    /// Refuses distances for a task in which nothing is to be touched.
    fn no_distance(&self, task: &str) -> Result<(), ConfigError> {
        match self.from_distance {
            None => Ok(()),
            Some(_) => Err(ConfigError::new(format!("{task}: contacts do not act from distance here"))),
        }
    }
}

/// Every task by name.
pub const CONTROL_TASKS: Registry<BuildTask> =
    Registry::new("control task", &[TABLE]).or("the path of an .xml (MJCF) or .urdf file, with --target");

const TABLE: &[Entry<BuildTask>] = &[
    Entry::new("cartpole-swing-up", "swing a pole on a cart up and hold it", cartpole::task),
    Entry::new("acrobot", "swing up two links with a motor between them alone", acrobot::task),
    Entry::new("reacher", "bring the grip of an arm of 7 hinges to a point, by torques", reacher::task),
    Entry::new("pusher", "push a puck to a place, with contacts from distance", pusher::task),
    Entry::new("quadruped-rise", "rise from a crouch to a level stand, by servos", quadruped::task),
    Entry::cited(
        "in-hand-swap",
        "swap two balls in a hand of 39 muscles; --model for MyoSuite's hand",
        DIFFMJX.at("Fig. 10"),
        swap::task,
    ),
    Entry::cited(
        "bionic-tennis",
        "hit a ball that would fly past to a place, by muscles; --model for MyoSuite's arm, which catches it",
        DIFFMJX.at("Figs. 1, 10"),
        tennis::task,
    ),
    Entry::new("ant-goal", "carry the torso of an ant 1 m ahead, by torques", ant::task),
];

/// A task of a robot.
pub struct RobotTask(pub Task<Robot, RobotCost>);

impl RobotTask {
    /// A task of `robot` from a keyframe, or the pose in its file, with nothing asked of it yet: bounds are those of
    /// the model, controls are held for `substeps` steps.
    pub fn new(
        name: impl Into<String>,
        robot: Robot,
        keyframe: Option<&Keyframe>,
        substeps: usize,
        planning: Planning,
        success: Success,
    ) -> Self {
        let layout = robot.layout();
        let (mut start, mut nominal) = (layout.state.defaults(), layout.control.defaults());
        if let Some(key) = keyframe {
            (start, nominal) = (key.state(), key.controls());
        }
        RobotTask(Task {
            name: name.into(),
            params: layout.params.defaults(),
            start,
            nominal,
            bounds: (0..layout.control.len()).map(|i| layout.control.bounds(i)).collect(),
            loss: (Vec::new(), Vec::new(), Effort::new(layout, 0.0)),
            substeps,
            dt: robot.dt() * substeps as f64,
            planning,
            success,
            system: robot,
        })
    }

    /// Asks for states that `pattern` selects to be at `target`; all at zero if it is empty.
    pub fn state(
        mut self,
        pattern: &str,
        target: &[f64],
        norm: Norm,
        weights: Weights,
    ) -> Result<Self, ConfigError> {
        let term = StateTarget::new(self.0.system.layout(), pattern, norm, weights)?;
        self.0.loss.0.push(if target.is_empty() { term } else { term.at(target)? });
        Ok(self)
    }

    /// Asks for a point to be somewhere.
    pub fn point(mut self, term: PointTarget) -> Self {
        self.0.loss.1.push(term);
        self
    }

    /// Asks for controls near the nominal ones: `weight` for a change over half of their range.
    pub fn effort(mut self, weight: f64) -> Self {
        let half = |(low, high): &(f64, f64)| 0.5 * (high - low);
        let weights = self.0.bounds.iter().map(|b| weight / half(b).powi(2)).collect();
        self.0.loss.2 = Effort { weights, reference: self.0.nominal.clone() };
        self
    }

    /// The site or body called `name`.
    pub fn chain(&self, name: &str) -> Result<Chain, ConfigError> {
        Chain::named(self.0.system.field(), name)
    }
}

impl ControlTask for RobotTask {
    fn name(&self) -> &str {
        &self.0.name
    }
    fn layout(&self) -> &Layout {
        self.0.system.layout()
    }
    fn dt(&self) -> f64 {
        self.0.dt
    }
    fn planning(&self) -> Planning {
        self.0.planning
    }
    fn run(
        &self,
        planner: &PlannerConfig,
        options: &RunOptions,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Episode, PlanError> {
        self.0.run(planner, options, watch)
    }
    fn judge(&self, states: &[Vec<f64>]) -> Judgment {
        self.0.success.judge(states)
    }
    fn replay(&self, episode: &Episode) -> Replay {
        let Task { system, start, params, dt, .. } = &self.0;
        let rows = episode.states.iter().enumerate().map(|(i, state)| (i as f64 * dt, state.clone()));
        let (state, controls, params) = (start.clone(), episode.controls.clone(), params.clone());
        let inputs = Inputs { state, controls, params };
        recording::replay(system.field(), (&inputs, *dt), &rows.collect::<Vec<_>>())
    }
}

/// One of our own models in motion, stepped as its file asks; contacts act from `distance` on the way back, if at all.
fn robot(mjcf: &str, distance: Option<f64>) -> Result<Robot, ConfigError> {
    let model =
        parse_mjcf(mjcf, None, &ImportOptions::default()).map_err(|e| ConfigError::new(e.to_string()))?;
    moving(model, distance)
}

/// The model that was told, or our own.
fn model_of(options: &TaskOptions, own: &str) -> Result<Model, ConfigError> {
    match &options.model {
        Some(file) => files::read_model(file),
        None => parse_mjcf(own, None, &ImportOptions::default()).map_err(|e| ConfigError::new(e.to_string())),
    }
}

/// Sets the angle or place of a hinge or slide.
fn set_joint(robot: &Robot, state: &mut [f64], name: &str, value: f64) -> Result<(), ConfigError> {
    let field = robot.field();
    let joint = field.model().joints.iter().position(|joint| joint.name == name);
    let (q, _) = joint.and_then(|joint| field.coordinates().joints[joint]).ok_or_else(|| {
        ConfigError::new(format!("the model `{}` has no joint `{name}`", field.model().name))
    })?;
    state[q] = value;
    Ok(())
}

/// A model in motion.
fn moving(model: Model, distance: Option<f64>) -> Result<Robot, ConfigError> {
    let mut robot = Articulated::new(model)?;
    if let Some(distance) = distance {
        robot = robot.with_contacts_from_distance(ContactsFromDistance::new(distance))?;
    }
    files::system(robot, SceneOptions::default())
}

/// The keyframe called `home`.
fn home(robot: &Robot) -> Result<Keyframe, ConfigError> {
    files::find_keyframe(&robot.field().model().keyframes, "home").cloned()
}

/// Where a named point is, m.
fn place(
    robot: &Robot,
    name: &str,
) -> Result<impl Fn(&[f64]) -> [f64; 3] + Send + Sync + 'static, ConfigError> {
    let chain = Chain::named(robot.field(), name)?;
    Ok(move |state: &[f64]| {
        let p = chain.position(state);
        [p.x, p.y, p.z]
    })
}

/// The distance between two points, m.
fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}
