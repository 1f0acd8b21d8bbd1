//! [`Task`]: what policies are learned for, by name or of a robot of a file; [`Environments`]: many of them, stepped
//! side by side on lanes and threads.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pullback::core::{ConfigError, Point};
use pullback::learn::env::{EnvSnapshot, Kept, StepOutput, VecEnv, VecEnvOptions};
use pullback::tasks::depict::{PictureOptions, draw};
use pullback::tasks::environments::{self, ENVIRONMENTS, Environment, EnvironmentOptions, Precision};
use pullback::video::look::PictureSize;
use pyo3::prelude::*;

use crate::arrays::{Flat, Numbers, array, finite, numbers};
use crate::error::{Error, detached, refuse};
use crate::losses::Loss;
use crate::model_task::{ModelEnvironment, ModelTask, Wishes};
use crate::pictures::Camera;
use crate::system::System;

/// A task, as it is held by environments and by training.
pub struct Built {
    /// Its name.
    pub name: String,
    /// What distinguishes it from others of its name; nothing of a built-in task.
    pub description: Option<String>,
    /// Makes environments.
    pub environment: Box<dyn Environment>,
}

/// A task that policies are learned for.
#[pyclass(frozen, module = "pullback._pullback")]
pub struct Task(pub Arc<Built>);

/// A task as Python names it: by its name, or as a [`Task`].
#[derive(FromPyObject)]
pub enum AnyTask {
    /// A built-in task.
    Name(String),
    /// A task.
    Task(Py<Task>),
}

impl AnyTask {
    /// The task itself.
    pub fn built(&self) -> Result<Arc<Built>, Error> {
        match self {
            AnyTask::Name(name) => Ok(Arc::new(named(name, &EnvironmentOptions::default())?)),
            AnyTask::Task(task) => Ok(task.get().0.clone()),
        }
    }
}

fn named(name: &str, options: &EnvironmentOptions) -> Result<Built, Error> {
    let name = ENVIRONMENTS.find(name).map_err(ConfigError::from)?.name;
    let environment = environments::build(name, options)?;
    Ok(Built { name: name.to_owned(), description: None, environment })
}

/// What a robot of a file is asked to do, by the names of `pullback.Task.of_model`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Asking<'py> {
    name: String,
    start: Numbers<'py>,
    params: Numbers<'py>,
    seen: Vec<usize>,
    loss: Option<Py<Loss>>,
    bonus: f64,
    alive: Vec<(usize, f64, f64)>,
    noise: f64,
    substeps: usize,
    episode_length: usize,
}

#[pymethods]
impl Task {
    /// A built-in task.
    #[staticmethod]
    fn named(py: Python<'_>, name: String, small: bool, paper_values: bool) -> PyResult<Self> {
        let options = EnvironmentOptions { small, paper_values };
        detached(py, || named(&name, &options)).map(|built| Task(Arc::new(built)))
    }

    /// The robot of a file as a task.
    #[staticmethod]
    fn of_model(system: &System, asking: Asking<'_>) -> PyResult<Self> {
        let layout = system.layout();
        let wishes = Wishes {
            start: finite("start", &asking.start, &layout.state)?.to_vec(),
            params: finite("params", &asking.params, &layout.params)?.to_vec(),
            seen: asking.seen,
            loss: asking.loss.map(|loss| loss.get().clone()),
            bonus: asking.bonus,
            alive: asking.alive,
            noise: asking.noise,
            substeps: asking.substeps,
            episode_length: asking.episode_length,
        };
        let task = Arc::new(ModelTask::new(system, wishes)?);
        let description = Some(task.description());
        let environment = Box::new(ModelEnvironment(task));
        Ok(Task(Arc::new(Built { name: asking.name, description, environment })))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }
    /// Numbers of an observation.
    #[getter]
    fn observation(&self) -> usize {
        self.0.environment.spaces().observation()
    }
    /// Numbers of an action, each in [−1, 1].
    #[getter]
    fn actions(&self) -> usize {
        self.0.environment.spaces().actions
    }
    /// Actions per episode.
    #[getter]
    fn episode_length(&self) -> usize {
        self.0.environment.episode_length()
    }
    /// Seconds per action.
    #[getter]
    fn action_seconds(&self) -> f64 {
        self.0.environment.action_seconds()
    }

    /// A page that plays states, one for each action and the last.
    fn replay(&self, py: Python<'_>, states: Vec<Vec<f64>>) -> PyResult<String> {
        detached(py, || self.0.environment.replay(&states).to_html().map_err(|e| refuse(e.to_string())))
    }

    /// A picture of a state: height × width × 3 bytes.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        state: Numbers<'_>,
        camera: Camera,
        size: Option<(usize, usize)>,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let state = numbers("state", &state)?;
        let size = size.map(|(width, height)| PictureSize { width, height });
        let options = PictureOptions { camera: camera.choice()?, size };
        let bitmap = detached(py, || {
            let (mut depict, params) = self.0.environment.depict();
            let at = Point { params: &params, state, control: &[] };
            draw(&mut *depict, at, &options).map_err(Error::from)
        })?;
        PyArray1::from_vec(py, bitmap.rgb).reshape([bitmap.height, bitmap.width, 3])
    }
}

/// Environments of one task.
#[pyclass(frozen, module = "pullback._pullback")]
pub struct Environments(Mutex<Running>);

struct Running {
    env: VecEnv<f32>,
    out: StepOutput<f32>,
}

/// Observations, rewards, whether episodes ended, were cut or failed, and what was seen before new episodes began.
type Stepped<'py> = (
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<f32>>,
);

impl Environments {
    /// Runs `work` on the environments without the interpreter, which other threads may need to finish theirs.
    fn with_running<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Running) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        detached(py, || work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Environments {
    /// `envs` environments at the start of their first episodes.
    #[new]
    fn new(
        py: Python<'_>,
        task: &Task,
        envs: usize,
        threads: usize,
        seed: u64,
        double: bool,
    ) -> PyResult<Self> {
        let options = VecEnvOptions { threads, seed, kept: Kept::ControlSteps, ..VecEnvOptions::new(envs) };
        let precision = if double { Precision::F64 } else { Precision::F32 };
        let environment = &task.0.environment;
        let env = detached(py, || environment.vec_env(options, precision).map_err(Error::from))?;
        let out = StepOutput::new(envs, env.spaces());
        Ok(Environments(Mutex::new(Running { env, out })))
    }

    /// Begins the first episode of every environment; what is seen.
    fn reset<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let seen = self.with_running(py, |running| {
            running.env.reset(seed);
            Ok(observe(&mut running.env))
        })?;
        Ok(PyArray1::from_vec(py, seen))
    }

    /// Ends the episodes of some environments and begins the next ones; what is seen in all.
    fn restart<'py>(&self, py: Python<'py>, which: Vec<bool>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let seen = self.with_running(py, |running| {
            check_rows("which", which.len(), running.env.envs())?;
            running.env.run(|shard| {
                let first = shard.first_env();
                (0..shard.envs()).filter(|i| which[first + i]).for_each(|i| shard.restart(i));
            });
            Ok(observe(&mut running.env))
        })?;
        Ok(PyArray1::from_vec(py, seen))
    }

    /// Takes an action in every environment but those that are held where they are. Episodes that end begin anew.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: PyReadonlyArray1<'_, f32>,
        held: Option<Vec<bool>>,
    ) -> PyResult<Stepped<'py>> {
        let actions = actions.as_slice().map_err(|e| refuse(format!("actions: {e}")))?;
        let out = self.with_running(py, |Running { env, out }| {
            let (envs, width) = (env.envs(), env.spaces().actions);
            check_rows("actions", actions.len(), envs * width)?;
            if let Some(at) = actions.iter().position(|a| !a.is_finite()) {
                let (row, entry, action) = (at / width, at % width, actions[at]);
                return Err(refuse(format!("action {entry} of environment {row} is {action}")));
            }
            if let Some(held) = &held {
                check_rows("held", held.len(), envs)?;
            }
            let before = held.as_ref().map(|_| env.snapshot());
            env.step(actions, out)?;
            if let (Some(held), Some(before)) = (&held, before) {
                hold(env, out, held, &before);
            }
            Ok(out.clone())
        })?;
        Ok((
            PyArray1::from_vec(py, out.observations),
            PyArray1::from_vec(py, out.rewards),
            PyArray1::from_vec(py, out.terminated),
            PyArray1::from_vec(py, out.truncated),
            PyArray1::from_vec(py, out.failed),
            PyArray1::from_vec(py, out.final_observations),
        ))
    }

    /// The state of an environment.
    fn state<'py>(&self, py: Python<'py>, env: usize) -> PyResult<Flat<'py>> {
        let state = self.with_running(py, |running| match env < running.env.envs() {
            true => Ok(running.env.state(env)),
            false => Err(refuse(format!("there is no environment {env} of {}", running.env.envs()))),
        })?;
        Ok(array(py, state))
    }
}

/// Puts environments back to where they were before a step, as if they had not taken it.
fn hold(env: &mut VecEnv<f32>, out: &mut StepOutput<f32>, held: &[bool], before: &EnvSnapshot) {
    let (envs, after) = (env.envs(), env.snapshot());
    let mut mixed = EnvSnapshot::default();
    for (i, held) in held.iter().enumerate() {
        mixed.append(if *held { before } else { &after }.part(i, 1, envs));
    }
    env.restore(env.seed(), &mixed);
    out.observations = observe(env);
    let width = env.spaces().observation();
    for i in (0..envs).filter(|i| held[*i]) {
        out.rewards[i] = 0.0;
        (out.terminated[i], out.truncated[i], out.failed[i]) = (false, false, false);
        out.final_observations[i * width..][..width].copy_from_slice(&out.observations[i * width..][..width]);
    }
}

fn observe(env: &mut VecEnv<f32>) -> Vec<f32> {
    let mut seen = vec![0.0; env.envs() * env.spaces().observation()];
    env.observe(&mut seen);
    seen
}

fn check_rows(what: &str, found: usize, wanted: usize) -> Result<(), Error> {
    match found == wanted {
        true => Ok(()),
        false => Err(refuse(format!("{what} needs {wanted} entries, got {found}"))),
    }
}
