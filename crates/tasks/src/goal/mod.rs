//! Goals: a scene of any kind, a loss described in a file, and what may change.
//!
//! [`LossFile`] is the description as plain data, from TOML or JSON or made in Rust; [`Goal`] puts it on a
//! [`Scene`] and is an [`Objective`]: optimizers, landscapes, the doctor and the validator of gradients take
//! it.
//!
//! ```no_run
//! use pullback_optim::Objective;
//! use pullback_tasks::goal::Goal;
//! let goal = Goal::read("models/arm9.xml", "models/losses/reach.toml".as_ref(), Default::default())?;
//! let mut gradient = goal.start();
//! let loss = goal.value_grad(&goal.start(), &mut gradient)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fields;
mod file;
mod loss;
mod template;
mod variables;

use std::path::Path;

use pullback_core::layout::Section;
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{ConfigError, Erased, Schedule, StepError};
use pullback_optim::{Objective, RolloutObjective};

pub use file::{InputVector, LossFile, Quantity, Term, Tie, Vary};
pub use loss::SceneLoss;
pub use template::template;
pub use variables::{Clamped, GoalMap};

use crate::files::find_keyframe;
use crate::motion::{Motion, Shown};
use crate::scene::Scene;
use crate::scenes::{self, SceneOptions};

/// The loss of a scene's motion as a function of what may change.
pub type SceneObjective = RolloutObjective<Erased, SceneLoss, GoalMap>;

/// More controls than this are surely a slip.
const MOST_STEPS: f64 = 1e7;
/// States of all steps are kept for the way back up to this memory, bytes; beyond it some are computed again.
const MOST_BYTES: usize = 512 << 20;
/// States kept where not all are.
const SLOTS: usize = 200;

/// A scene and what is asked of it.
pub struct Goal {
    scene: Box<dyn Scene>,
    objective: SceneObjective,
    /// Steps of the scene per control.
    hold: usize,
}

impl Goal {
    /// The loss of `file` on the scene or model file called `scene`; `options` hold where the file says
    /// nothing.
    pub fn read(scene: &str, file: &Path, options: SceneOptions) -> Result<Self, ConfigError> {
        let file = LossFile::read(file)?;
        Goal::new(scenes::build(scene, file.scene_options(options))?, &file)
    }

    /// The loss of `file` on a scene that was built with its [options](LossFile::scene_options).
    pub fn new(scene: Box<dyn Scene>, file: &LossFile) -> Result<Self, ConfigError> {
        let wrong = |what: String| ConfigError::new(format!("{}: {what}", file.name));
        let layout = scene.layout();
        let whole = |seconds: f64, of: f64, what: &str| {
            let count = (seconds / of).round();
            match count >= 1.0 && (count * of / seconds - 1.0).abs() < 1e-6 && count <= MOST_STEPS {
                true => Ok(count as usize),
                false => Err(wrong(format!(
                    "{what} of {seconds} s must be a whole number of {of} s, at most {MOST_STEPS:e}"
                ))),
            }
        };
        let hold = whole(file.control_step.unwrap_or(scene.dt()), scene.dt(), "a control step")?;
        let control_step = hold as f64 * scene.dt();
        let seconds =
            file.seconds.unwrap_or((scene.horizon() / control_step).round().max(1.0) * control_step);
        let steps = whole(seconds, control_step, "a motion")?;

        let base = start(scene.as_ref(), file, steps, hold)?;
        let nominal = &base.controls[..layout.control.len()];
        let loss = SceneLoss::new(scene.as_ref(), file, nominal, control_step)?;
        let map = variables::variables(file, layout, &base, steps)?;
        let (system, substeps) = (scene.system(), scene.substeps());
        let rollout = |schedule| {
            Rollout::new(system.clone(), steps, schedule).and_then(|r| r.with_substeps(hold * substeps))
        };
        let mut all = rollout(Schedule::StoreAll)?;
        if all.predict_bytes::<f64>() > MOST_BYTES {
            all = rollout(Schedule::Revolve { slots: SLOTS })?;
        }
        let objective = RolloutObjective::new(all, loss, map).with_base(base).with_floor(0.0);
        Ok(Goal { scene, objective, hold })
    }

    /// The scene.
    pub fn scene(&self) -> &dyn Scene {
        self.scene.as_ref()
    }

    /// The objective with its types, for checks of its gradient and for batches of one's own.
    pub fn objective(&self) -> &SceneObjective {
        &self.objective
    }
}

/// What the motion starts from before anything changes.
fn start(scene: &dyn Scene, file: &LossFile, steps: usize, hold: usize) -> Result<Inputs<f64>, ConfigError> {
    let wrong = |e: ConfigError| ConfigError::new(format!("{}: {e}", file.name));
    let (layout, width) = (scene.layout(), scene.layout().control.len());
    let (mut state, mut params) = (layout.state.defaults(), layout.params.defaults());
    // Of each control step the scene's own control at its beginning.
    let own = scene.controls(steps * hold);
    let mut controls: Vec<f64> = (0..steps).flat_map(|k| own[k * hold * width..][..width].to_vec()).collect();
    if let Some(wanted) = &file.keyframe {
        let key = find_keyframe(scene.keyframes(), wanted).map_err(wrong)?;
        (state, controls) = (key.state(), key.controls().repeat(steps));
    }
    for (name, value) in &file.set {
        let (vector, pattern) = name.split_once('.').unwrap_or((name, "*"));
        let place = format!("set `{name}`");
        let set = |section: &Section, values: &mut [f64], times: usize| -> Result<(), ConfigError> {
            for i in loss::select(section, vector, pattern)? {
                values.iter_mut().skip(i).step_by(section.len()).take(times).for_each(|x| *x = *value);
            }
            section.check(&place, &values[..section.len()])
        };
        let done = match vector {
            "state" => set(&layout.state, &mut state, 1),
            "params" => set(&layout.params, &mut params, 1),
            "control" => set(&layout.control, &mut controls, steps),
            other => {
                Err(ConfigError::new(format!("{place}: `{other}` is not one of state, control, params")))
            }
        };
        done.map_err(wrong)?;
    }
    Ok(Inputs { state, controls, params })
}

impl Objective for Goal {
    fn names(&self) -> Vec<String> {
        self.objective.names()
    }
    fn units(&self) -> Vec<String> {
        self.objective.units()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.objective.bounds()
    }
    fn start(&self) -> Vec<f64> {
        self.objective.start()
    }
    fn floor(&self) -> Option<f64> {
        self.objective.floor()
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        self.objective.value(x)
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        self.objective.value_grad(x, grad)
    }
}

impl Shown for Goal {
    /// The motion with a control for every step of the scene, as `Scene::simulate` takes it.
    fn motion(&self, x: &[f64]) -> Result<Option<Motion>, StepError> {
        let Inputs { state, controls, params } = self.objective.inputs(x);
        let (layout, dt) = (self.scene.layout(), self.scene.dt());
        let steps = self.objective.rollout().steps() * self.hold;
        let width = layout.control.len();
        let controls = (0..steps).flat_map(|k| controls[k / self.hold * width..][..width].to_vec()).collect();
        let inputs = Inputs { state, controls, params };
        let mut rows = Vec::with_capacity(steps + 1);
        self.scene.simulate(&inputs, steps, &mut |at| rows.push((at.step as f64 * dt, at.state.to_vec())))?;
        let replay = self.scene.replay(&inputs, &rows);
        Ok(Some(Motion { layout: layout.clone(), dt, inputs, rows, replay }))
    }
}
