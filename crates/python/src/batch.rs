//! [`Batch`]: rollouts of many environments and their pullbacks, on lanes and threads, without the interpreter.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray3, PyArrayMethods};
use pullback::core::batch::{Batch as CoreBatch, BatchGradients, BatchInputs};
use pullback::core::layout::Layout;
use pullback::core::{Rollout, Schedule, StepError, System as CoreSystem};
use pullback::math::{Real, f64x8};
use pyo3::prelude::*;

use crate::arrays::{Flat, Numbers, array, finite, numbers};
use crate::error::{Error, detached, refuse};
use crate::losses::Loss;
use crate::system::{Loaded, System};
use crate::trajectories::{Bars, Cotangents, Recorder, Shape};

/// Rollouts of many environments, whatever the type of the system and of its numbers.
pub trait Run: Send {
    /// All states at which controls change, and the last, into `out`.
    fn trajectories(
        &mut self,
        inputs: BatchInputs<'_>,
        shape: Shape,
        out: &mut [f64],
    ) -> Result<(), StepError>;
    /// The pullback of that.
    fn pullback(
        &mut self,
        inputs: BatchInputs<'_>,
        shape: Shape,
        bars: Bars<'_>,
        out: &mut BatchGradients,
    ) -> Result<(), StepError>;
    /// Losses and gradients.
    fn gradients(
        &mut self,
        inputs: BatchInputs<'_>,
        loss: &Loss,
        out: &mut BatchGradients,
    ) -> Result<(), StepError>;
    /// Losses alone.
    fn values(&mut self, inputs: BatchInputs<'_>, loss: &Loss, out: &mut Vec<f64>) -> Result<(), StepError>;
    /// Environments that failed in the last call, and why.
    fn failures(&self) -> &[(usize, StepError)];
}

impl<S: CoreSystem<T>, T: Real> Run for CoreBatch<S, T> {
    fn trajectories(
        &mut self,
        inputs: BatchInputs<'_>,
        shape: Shape,
        out: &mut [f64],
    ) -> Result<(), StepError> {
        let rows: Vec<Mutex<&mut [f64]>> =
            out.chunks_mut((T::LANES * shape.row()).max(1)).map(Mutex::new).collect();
        let recorder = |first: usize| Recorder { shape, rows: &rows[first / T::LANES] };
        CoreBatch::values(self, inputs, recorder, &mut Vec::new())?;
        let failed = CoreBatch::failures(self).len();
        match CoreBatch::failures(self).first().cloned() {
            None => Ok(()),
            Some((env, error)) if shape.envs > 1 => {
                Err(StepError::Environment { env, envs: shape.envs, failed, error: Box::new(error) })
            }
            Some((_, error)) => Err(error),
        }
    }
    fn pullback(
        &mut self,
        inputs: BatchInputs<'_>,
        shape: Shape,
        bars: Bars<'_>,
        out: &mut BatchGradients,
    ) -> Result<(), StepError> {
        CoreBatch::gradients(self, inputs, |first| Cotangents { shape, first, bars }, out)
    }
    fn gradients(
        &mut self,
        inputs: BatchInputs<'_>,
        loss: &Loss,
        out: &mut BatchGradients,
    ) -> Result<(), StepError> {
        CoreBatch::gradients(self, inputs, |_| loss, out)
    }
    fn values(&mut self, inputs: BatchInputs<'_>, loss: &Loss, out: &mut Vec<f64>) -> Result<(), StepError> {
        CoreBatch::values(self, inputs, |_| loss, out)
    }
    fn failures(&self) -> &[(usize, StepError)] {
        CoreBatch::failures(self)
    }
}

/// Sizes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Environments.
    pub envs: usize,
    /// Controls of each.
    pub steps: usize,
    /// Steps of the system per control.
    pub substeps: usize,
    /// Threads.
    pub threads: usize,
    /// Whether environments lie side by side in the lanes of registers.
    pub lanes: bool,
}

impl Loaded {
    /// Shapes of the arrays of a batch of these sizes.
    pub fn shape(&self, sizes: Sizes) -> Shape {
        let (Sizes { envs, steps, .. }, layout) = (sizes, self.scene.layout());
        Shape { envs, steps, state: layout.state.len(), control: layout.control.len() }
    }

    /// Memory for rollouts of these sizes.
    pub fn batch(&self, sizes: Sizes, schedule: Schedule) -> Result<Box<dyn Run>, Error> {
        let Sizes { lanes, .. } = sizes;
        let substeps = sizes.substeps * self.scene.substeps();
        match &self.robot {
            Some(robot) if lanes => run::<_, f64x8>(robot.clone(), sizes, substeps, schedule),
            Some(robot) => run::<_, f64>(robot.clone(), sizes, substeps, schedule),
            None if lanes => {
                let name = self.scene.name();
                let why = "environments of built-in scenes are stepped one by one: leave out lanes=True";
                Err(refuse(format!("{name}: {why}")))
            }
            None => run::<_, f64>(self.scene.system().clone(), sizes, substeps, schedule),
        }
    }

    /// Peak bytes of gradients in a batch of these sizes.
    pub fn predict_bytes(&self, sizes: Sizes, schedule: Schedule) -> Result<usize, Error> {
        let substeps = sizes.substeps * self.scene.substeps();
        match &self.robot {
            Some(robot) if sizes.lanes => predict::<_, f64x8>(robot.clone(), sizes, substeps, schedule),
            Some(robot) => predict::<_, f64>(robot.clone(), sizes, substeps, schedule),
            None => predict::<_, f64>(self.scene.system().clone(), sizes, substeps, schedule),
        }
    }
}

fn run<S: CoreSystem<T> + 'static, T: Real>(
    system: S,
    sizes: Sizes,
    substeps: usize,
    schedule: Schedule,
) -> Result<Box<dyn Run>, Error>
where
    S::Workspace: 'static,
{
    let rollout = Rollout::new(system, sizes.steps, schedule)?.with_substeps(substeps)?;
    Ok(Box::new(CoreBatch::<S, T>::new(rollout, sizes.envs, sizes.threads)?))
}

fn predict<S: CoreSystem<T>, T: Real>(
    system: S,
    sizes: Sizes,
    substeps: usize,
    schedule: Schedule,
) -> Result<usize, Error> {
    let rollout = Rollout::new(system, sizes.steps, schedule)?.with_substeps(substeps)?;
    Ok(sizes.envs.div_ceil(T::LANES) * rollout.predict_bytes::<T>())
}

/// A schedule of checkpoints by its name and numbers.
pub fn schedule((name, frame, slots): (&str, usize, usize)) -> Result<Schedule, Error> {
    match name {
        "all" => Ok(Schedule::StoreAll),
        "every" => Ok(Schedule::Every(frame)),
        "revolve" => Ok(Schedule::Revolve { slots }),
        "two-level" => Ok(Schedule::TwoLevel { frame, slots }),
        other => Err(refuse(format!("schedule `{other}` is not one of all, every, revolve, two-level"))),
    }
}

/// Memory of many rollouts, allocated once.
#[pyclass(frozen, module = "pullback._pullback")]
pub struct Batch {
    system: Arc<Loaded>,
    sizes: Sizes,
    run: Mutex<Box<dyn Run>>,
}

/// Arrays of a gradient: losses, and cotangents of states, controls and parameters.
type GradientArrays<'py> = [Flat<'py>; 4];

/// States, controls and parameters, each of one environment for all or of each.
type InputArrays<'py> = (Numbers<'py>, Numbers<'py>, Numbers<'py>);

impl Batch {
    fn layout(&self) -> &Layout {
        self.system.scene.layout()
    }

    fn shape(&self) -> Shape {
        self.system.shape(self.sizes)
    }

    fn inputs<'a>(&self, arrays: &'a InputArrays<'_>) -> Result<BatchInputs<'a>, Error> {
        let layout = self.layout();
        Ok(BatchInputs {
            states: finite("state", &arrays.0, &layout.state)?,
            controls: finite("controls", &arrays.1, &layout.control)?,
            params: finite("params", &arrays.2, &layout.params)?,
        })
    }

    /// Runs `work` on the memory without the interpreter. A panic leaves the memory usable: a run depends on its
    /// arguments alone.
    fn with_run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Run) -> Result<R, StepError> + Send,
    ) -> PyResult<R> {
        detached(py, || {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            work(run.as_mut()).map_err(Error::from)
        })
    }
}

#[pymethods]
impl Batch {
    #[new]
    fn new(
        py: Python<'_>,
        system: &System,
        sizes: (usize, usize, usize),
        threads: usize,
        lanes: bool,
        kept: (String, usize, usize),
    ) -> PyResult<Self> {
        let (envs, steps, substeps) = sizes;
        if substeps == 0 {
            return Err(refuse("substeps must be at least 1").into());
        }
        let sizes = Sizes { envs, steps, substeps, threads, lanes };
        let schedule = schedule((&kept.0, kept.1, kept.2))?;
        let loaded = system.0.clone();
        let run = detached(py, || loaded.batch(sizes, schedule))?;
        Ok(Batch { system: loaded, sizes, run: Mutex::new(run) })
    }

    /// All states at which controls change, and the last: environment × (steps + 1) × state.
    fn rollout<'py>(&self, py: Python<'py>, inputs: InputArrays<'_>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let given = self.inputs(&inputs)?;
        let Sizes { envs, steps, .. } = self.sizes;
        let states = PyArray3::zeros(py, [envs, steps + 1, self.layout().state.len()], false);
        let mut out = states.readwrite();
        let out = out.as_slice_mut().map_err(|e| refuse(e.to_string()))?;
        let shape = self.shape();
        self.with_run(py, |run| run.trajectories(given, shape, out))?;
        Ok(states)
    }

    /// The pullback of a rollout: cotangents of initial states, controls and parameters of each environment.
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        inputs: InputArrays<'_>,
        states_bar: Numbers<'_>,
        controls_bar: Option<Numbers<'_>>,
    ) -> PyResult<[Flat<'py>; 3]> {
        let (given, shape) = (self.inputs(&inputs)?, self.shape());
        let controls_bar = controls_bar.as_ref().map(|bar| numbers("controls_bar", bar)).transpose()?;
        let bars =
            Bars { states: numbers("states_bar", &states_bar)?, controls: controls_bar.unwrap_or(&[]) };
        let wanted = (shape.envs * shape.row(), shape.envs * shape.steps * shape.control);
        if bars.states.len() != wanted.0 || (controls_bar.is_some() && bars.controls.len() != wanted.1) {
            let found = (bars.states.len(), bars.controls.len());
            return Err(refuse(format!("cotangents need {wanted:?} entries, got {found:?}")).into());
        }
        let mut out = BatchGradients::default();
        self.with_run(py, |run| run.pullback(given, shape, bars, &mut out))?;
        Ok([out.states, out.controls, out.params].map(|values| array(py, values)))
    }

    /// Losses of all environments and their gradients, of a loss that needs no Python.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        inputs: InputArrays<'_>,
        loss: &Loss,
    ) -> PyResult<GradientArrays<'py>> {
        self.check_loss(loss)?;
        let given = self.inputs(&inputs)?;
        let mut out = BatchGradients::default();
        self.with_run(py, |run| run.gradients(given, loss, &mut out))?;
        Ok([out.loss, out.states, out.controls, out.params].map(|values| array(py, values)))
    }

    /// Losses of all environments; those of environments that fail are infinite.
    fn values<'py>(&self, py: Python<'py>, inputs: InputArrays<'_>, loss: &Loss) -> PyResult<Flat<'py>> {
        self.check_loss(loss)?;
        let given = self.inputs(&inputs)?;
        let mut out = Vec::new();
        self.with_run(py, |run| run.values(given, loss, &mut out))?;
        Ok(array(py, out))
    }

    /// Environments that failed in the last call, and why.
    #[getter]
    fn failures(&self) -> Vec<(usize, String)> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        run.failures().iter().map(|(env, error)| (*env, error.to_string())).collect()
    }
}

impl Batch {
    fn check_loss(&self, loss: &Loss) -> Result<(), Error> {
        let layout = self.layout();
        match loss.sizes == (layout.state.len(), layout.control.len()) {
            true => Ok(()),
            false => {
                Err(refuse(format!("the loss was made for another system than {}", self.system.scene.name())))
            }
        }
    }
}

/// Peak bytes of gradients in a batch of these sizes, known before it runs.
#[pyfunction]
pub fn predict_bytes(
    system: &System,
    sizes: (usize, usize, usize),
    lanes: bool,
    kept: (String, usize, usize),
) -> PyResult<usize> {
    let (envs, steps, substeps) = sizes;
    let sizes = Sizes { envs, steps, substeps, threads: 1, lanes };
    Ok(system.0.predict_bytes(sizes, schedule((&kept.0, kept.1, kept.2))?)?)
}
