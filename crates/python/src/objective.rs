//! [`Objective`]: what searches minimize; a task by name, a loss over rollouts of a system, or a function of Python.

use std::sync::{Arc, Mutex, PoisonError};

use pullback::core::rollout::Inputs;
use pullback::core::{Schedule, StepError};
use pullback::search::doctor::DoctorConfig;
use pullback::search::search::Search;
use pullback::search::{self, Landscape, LandscapeConfig, RolloutObjective, examine, methods};
use pullback::tasks::objectives;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::{Flat, Numbers, array, finite, numbers};
use crate::batch::schedule;
use crate::error::{Error, detached, refuse};
use crate::losses::{Loss, Term};
use crate::system::{Loaded, System};

/// What searches minimize.
#[pyclass(frozen, module = "pullback._pullback")]
pub struct Objective(Source);

/// Where an objective is from.
enum Source {
    /// A built-in task.
    Task(String),
    /// A loss over rollouts, as a function of entries of states, controls and parameters.
    Rollouts(Rollouts),
    /// A function of Python.
    Function(Function),
}

/// Name, unit, lower and upper bound and start of a variable.
type Variable = (String, String, f64, f64, f64);

struct Rollouts {
    system: Arc<Loaded>,
    loss: Vec<Term>,
    base: Inputs<f64>,
    variables: String,
    bounds: Option<Vec<(f64, f64)>>,
    steps: usize,
    substeps: usize,
    kept: Schedule,
}

struct Function {
    /// From an array of variables to the loss and its gradient.
    function: Py<PyAny>,
    names: Vec<String>,
    bounds: Vec<(f64, f64)>,
    start: Vec<f64>,
    floor: Option<f64>,
    /// What the function raised first; it is not called again.
    raised: Mutex<Option<PyErr>>,
}

impl search::Objective for Function {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.bounds.clone()
    }
    fn start(&self) -> Vec<f64> {
        self.start.clone()
    }
    fn floor(&self) -> Option<f64> {
        self.floor
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        self.value_grad(x, &mut vec![0.0; x.len()])
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        let raised = || self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped = StepError::LossNotFinite { value: f64::NAN };
        if raised().is_some() {
            return Err(stopped);
        }
        let called = Python::attach(|py| -> PyResult<f64> {
            let found = self.function.bind(py).call1((array(py, x.to_vec()),))?;
            let (loss, slope): (f64, Numbers<'_>) = found.extract()?;
            let slope = numbers("the gradient of the loss", &slope)?;
            if slope.len() != grad.len() {
                let (found, wanted) = (slope.len(), grad.len());
                return Err(refuse(format!("the gradient has {found} entries for {wanted} variables")).into());
            }
            grad.copy_from_slice(slope);
            Ok(loss)
        });
        match called {
            Ok(loss) if loss.is_finite() => Ok(loss),
            Ok(value) => Err(StepError::LossNotFinite { value }),
            // A simulation that fails is an episode of the search; everything else is a mistake in the function.
            Err(error) if Python::attach(|py| error.is_instance_of::<crate::error::StepError>(py)) => {
                Err(stopped)
            }
            Err(error) => {
                raised().get_or_insert(error);
                Err(stopped)
            }
        }
    }
}

impl Objective {
    /// Runs `work` on the objective without the interpreter; what a function of Python raised comes first.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn search::Objective) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        match &self.0 {
            Source::Task(name) => detached(py, || work(objectives::build(name)?.as_ref())),
            Source::Rollouts(rollouts) => detached(py, || work(&rollouts.objective()?)),
            Source::Function(function) => {
                let found = detached(py, || work(function));
                let raised = function.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
                raised.map_or(found, Err)
            }
        }
    }

    fn task(&self) -> &str {
        match &self.0 {
            Source::Task(name) => name,
            Source::Rollouts(rollouts) => rollouts.system.scene.name(),
            Source::Function(_) => "objective",
        }
    }
}

impl Rollouts {
    fn objective(&self) -> Result<RolloutObjective<&pullback::core::Erased, &Vec<Term>>, Error> {
        let rollout = self.system.rollout(self.steps, self.substeps, self.kept)?;
        let objective = RolloutObjective::select(rollout, &self.loss, self.base.clone(), &self.variables)?;
        Ok(match &self.bounds {
            Some(bounds) => objective.with_bounds(bounds)?,
            None => objective,
        })
    }
}

#[pymethods]
impl Objective {
    /// A built-in task by its name.
    #[staticmethod]
    fn of_task(py: Python<'_>, name: String) -> PyResult<Self> {
        detached(py, || objectives::build(&name).map(|_| ()).map_err(Error::from))?;
        Ok(Objective(Source::Task(name)))
    }

    /// A loss over rollouts of a system as a function of the entries that patterns select.
    #[staticmethod]
    fn of_rollouts(
        system: &System,
        loss: &Loss,
        inputs: (Numbers<'_>, Numbers<'_>, Numbers<'_>),
        variables: String,
        bounds: Option<Vec<(f64, f64)>>,
        steps: usize,
        substeps: usize,
        kept: (String, usize, usize),
    ) -> PyResult<Self> {
        let layout = system.layout();
        let base = Inputs {
            state: finite("state", &inputs.0, &layout.state)?.to_vec(),
            controls: finite("controls", &inputs.1, &layout.control)?.to_vec(),
            params: finite("params", &inputs.2, &layout.params)?.to_vec(),
        };
        base.check(layout, steps).map_err(Error::from)?;
        let kept = schedule((&kept.0, kept.1, kept.2))?;
        let (system, loss) = (system.0.clone(), loss.terms.clone());
        let rollouts = Rollouts { system, loss, base, variables, bounds, steps, substeps, kept };
        rollouts.objective()?;
        Ok(Objective(Source::Rollouts(rollouts)))
    }

    /// A function of Python, from an array of variables to the loss and its gradient.
    #[staticmethod]
    fn of_function(
        function: Py<PyAny>,
        names: Vec<String>,
        bounds: Vec<(f64, f64)>,
        start: Vec<f64>,
        floor: Option<f64>,
    ) -> PyResult<Self> {
        if names.len() != bounds.len() || names.len() != start.len() {
            let counts = format!("{} names, {} bounds and {} starts", names.len(), bounds.len(), start.len());
            return Err(refuse(format!("{counts}: give one of each for every variable")).into());
        }
        Ok(Objective(Source::Function(Function {
            function,
            names,
            bounds,
            start,
            floor,
            raised: Mutex::new(None),
        })))
    }

    /// Every variable.
    fn variables(&self, py: Python<'_>) -> PyResult<Vec<Variable>> {
        self.with(py, |objective| {
            let columns = objective.names().into_iter().zip(objective.units()).zip(objective.bounds());
            let rows = columns.zip(objective.start());
            Ok(rows.map(|(((name, unit), (low, high)), start)| (name, unit, low, high, start)).collect())
        })
    }

    /// The loss at a point, and its gradient.
    fn value_grad<'py>(&self, py: Python<'py>, x: Numbers<'_>) -> PyResult<(f64, Flat<'py>)> {
        let x = numbers("x", &x)?;
        let (loss, gradient) = self.with(py, |objective| {
            let wanted = objective.names().len();
            if x.len() != wanted {
                return Err(refuse(format!("x has {} entries for {wanted} variables", x.len())));
            }
            let mut gradient = vec![0.0; wanted];
            Ok((objective.value_grad(x, &mut gradient)?, gradient))
        })?;
        Ok((loss, array(py, gradient)))
    }

    /// A search, as JSON.
    fn optimize(
        &self,
        py: Python<'_>,
        method: &str,
        settings: &str,
        budget: usize,
        seed: u64,
        log: Option<std::path::PathBuf>,
    ) -> PyResult<String> {
        let entry =
            methods::METHODS.find(method).map_err(|e| Error::from(pullback::core::ConfigError::from(e)))?;
        let settings = parsed(settings)?;
        let found = self.with(py, |objective| {
            let method = (entry.value)(entry.name, &settings)?;
            let search =
                Search { objective, task: self.task(), inputs: &[], method: method.as_ref(), budget, seed };
            let found = search.run(log.as_deref(), |_, _| {}).map_err(|e| refuse(e.to_string()))?;
            let Some(best) = &found.best else {
                return Err(refuse("a budget of nothing finds nothing; give a budget"));
            };
            if let Some(why) = found.failures.words(found.losses.len()).filter(|_| !best.loss.is_finite()) {
                return Err(Error::Step(format!("{}: {why}", self.task())));
            }
            Ok(json!({
                "method": entry.name,
                "settings": found.settings,
                "seed": seed,
                "loss": best.loss,
                "x": best.x,
                "episode": best.episode,
                // Losses of failed simulations are infinite, which JSON does not know.
                "losses": found.losses.iter().map(|x| x.is_finite().then_some(*x)).collect::<Vec<_>>(),
                "failures": found.failures.count,
                "resumed": found.resumed,
                "names": objective.names(),
                "units": objective.units(),
            }))
        })?;
        Ok(found.to_string())
    }

    /// Whether gradients can be trusted, as JSON.
    fn doctor(&self, py: Python<'_>, points: usize, lines: usize, seed: u64) -> PyResult<String> {
        let config = DoctorConfig { points, lines, seed, ..DoctorConfig::default() };
        self.with(py, |objective| json_text(&examine(objective, &config, || {})?))
    }

    /// Losses and gradients over two variables, as JSON.
    fn landscape(&self, py: Python<'_>, dims: (usize, usize), points: (usize, usize)) -> PyResult<String> {
        let config = LandscapeConfig { dims, points, difference_step: 1e-4 };
        self.with(py, |objective| json_text(&Landscape::evaluate(objective, &config, || {})?))
    }
}

/// Settings as Python hands them on.
pub fn parsed(settings: &str) -> PyResult<Value> {
    serde_json::from_str(settings).map_err(|e| refuse(format!("settings: {e}")).into())
}

/// A value as JSON; numbers that are not finite are null.
pub fn json_text(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|e| refuse(format!("the result is no JSON: {e}")))
}

/// Names and summaries of tasks and methods by kind.
#[pyfunction]
pub fn catalog(kind: &str) -> PyResult<Vec<(String, String)>> {
    fn rows<V>(registry: pullback::core::registry::Registry<V>) -> Vec<(String, String)> {
        registry.entries().map(|entry| (entry.name.to_owned(), entry.summary.to_owned())).collect()
    }
    Ok(match kind {
        "tasks" => rows(objectives::TASKS),
        "methods" => rows(methods::METHODS),
        "control tasks" => rows(pullback::tasks::planning::CONTROL_TASKS),
        "planners" => rows(pullback::planning::planner::PLANNERS),
        "environments" => rows(pullback::tasks::environments::ENVIRONMENTS),
        "algorithms" => rows(pullback::learn::algorithm::ALGORITHMS),
        "identifications" => rows(pullback::tasks::identify::IDENTIFICATIONS),
        other => return Err(PyRuntimeError::new_err(format!("no catalog is called {other}"))),
    })
}
