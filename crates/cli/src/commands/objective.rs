//! What `optimize`, `landscape`, `doctor` and `gradcheck` look at: a task of the tables, or a scene or model
//! file with a loss.

use pullback_core::ConfigError;
use pullback_tasks::files::is_file_name;
use pullback_tasks::goal::Goal;
use pullback_tasks::motion::Shown;
use pullback_tasks::objectives;
use pullback_tasks::scenes::{SCENES, SceneOptions};

use crate::args::{LossOptions, ReadingOptions};
use crate::output::print_notes;

/// The objective called `task`.
pub fn build(
    task: &str,
    options: &LossOptions,
    reading: &ReadingOptions,
) -> Result<Box<dyn Shown>, ConfigError> {
    if options.loss.is_some() {
        return Ok(Box::new(goal(task, options, reading)?));
    }
    if is_file_name(task) || (objectives::TASKS.find(task).is_err() && SCENES.find(task).is_ok()) {
        let why = "say what is asked of it with --loss FILE";
        let how = format!("`pullback list {task} --loss-template` prints one to begin with");
        return Err(ConfigError::new(format!("{task}: {why}; {how}")));
    }
    if reading.given() {
        let why = "how a file is read belongs to a model file; a task has its own";
        return Err(ConfigError::new(format!("{task}: {why}")));
    }
    objectives::build(task)
}

/// The scene or model file called `task` with the loss that was given.
pub fn goal(task: &str, options: &LossOptions, reading: &ReadingOptions) -> Result<Goal, ConfigError> {
    let Some(loss) = &options.loss else {
        return Err(ConfigError::new(format!("{task}: give --loss FILE")));
    };
    if !is_file_name(task) && SCENES.find(task).is_err() && objectives::TASKS.find(task).is_ok() {
        let why = "a task has a loss of its own; --loss is for scenes and model files";
        return Err(ConfigError::new(format!("{task}: {why}")));
    }
    let options = SceneOptions { file: reading.file_options(), ..SceneOptions::default() };
    let goal = Goal::read(task, loss, options)?;
    print_notes(goal.scene().notes());
    Ok(goal)
}
