//! [`System`]: a scene or the robot of a file, with what Python may ask of it.

use std::sync::Arc;

use pullback::core::integrator::{
    Adjoint, Integrated, Integrator, METHODS, Method, PidController, StepControl,
};
use pullback::core::layout::Layout;
use pullback::core::rollout::{FinalState, Inputs};
use pullback::core::{self, Point, Rollout, Schedule};
use pullback::math::Dual;
use pullback::physics::articulated::{Articulated, CONTACT_MODELS};
use pullback::scene::mjcf::{ImportOptions, parse_mjcf};
use pullback::tasks::files::{self, FileOptions, find_keyframe, is_file_name};
use pullback::tasks::scenes::{self, SCENES, SceneOptions};
use pullback::tasks::{Checking, Scene};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Flat, Numbers, array, finite, numbers};
use crate::error::{Error, detached, refuse};
use crate::layout::{describe, section};

/// A system, as it is held by batches and operators.
pub struct Loaded {
    /// Its face towards the program.
    pub scene: Box<dyn Scene>,
    /// The robot of a file, whose environments can be stepped side by side in the lanes of registers.
    pub robot: Option<Arc<Integrated<Articulated>>>,
}

/// A scene or the robot of a file.
#[pyclass(frozen, module = "pullback._pullback")]
pub struct System(pub Arc<Loaded>);

/// What was compared, whether it passed, the worst errors against forward mode and differences, and a table.
type Compared = (String, bool, f64, f64, String);

impl System {
    /// Names and sizes.
    pub fn layout(&self) -> &Layout {
        self.0.scene.layout()
    }
}

/// How a system is read and stepped, by the names of `pullback.load`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct LoadOptions {
    dt: Option<f64>,
    method: Option<String>,
    tolerance: Option<f64>,
    contact: Option<String>,
    allow_ignored: Vec<String>,
    floating_base: bool,
    fix_inertia: bool,
    packages: Vec<String>,
    collision_softness: f64,
    from_distance: f64,
}

impl LoadOptions {
    fn scene_options(self) -> Result<SceneOptions, Error> {
        let integrator = match (&self.method, self.tolerance) {
            (None, None) => None,
            (name, tolerance) => {
                let named = name.as_deref().map(|name| METHODS.find(name).map_err(core::ConfigError::from));
                let method = named.transpose()?.map_or(Method::Tsit5, |entry| entry.value);
                let control = match tolerance {
                    None => StepControl::Fixed,
                    Some(tolerance) => StepControl::Adaptive(PidController::new(tolerance)),
                };
                Some(Integrator { method, control, adjoint: Adjoint::Discrete { checkpoints: 4096 } })
            }
        };
        let contact = self.contact.as_deref().map(|name| CONTACT_MODELS.find(name));
        let contact = contact.transpose().map_err(core::ConfigError::from)?.map(|entry| entry.value);
        let package = |text: &String| text.parse().unwrap_or_else(|never| match never {});
        Ok(SceneOptions {
            dt: self.dt,
            integrator,
            file: FileOptions {
                allow_ignored: self.allow_ignored,
                floating_base: self.floating_base,
                fix_inertia: self.fix_inertia,
                packages: self.packages.iter().map(package).collect(),
                contact,
                ..FileOptions::default()
            },
            collision_softness: self.collision_softness,
            from_distance: self.from_distance,
            pushes: false,
        })
    }
}

/// The robot of a file or of a carried model, or a scene by its name.
fn load(name: &str, options: SceneOptions) -> Result<Loaded, Error> {
    let carried = pullback::models::find(name);
    if !is_file_name(name) && (carried.is_none() || SCENES.find(name).is_ok()) {
        if SCENES.find(name).is_err() {
            let models: Vec<&str> = pullback::models::MODELS.iter().map(|model| model.name).collect();
            let told = SCENES.unknown(name).to_string();
            return Err(refuse(format!("{told}, or the name of a carried model: {}", models.join(", "))));
        }
        return Ok(Loaded { scene: scenes::build(name, options)?, robot: None });
    }
    let model = match carried.filter(|_| !is_file_name(name)) {
        Some(text) => {
            files::check_urdf_options(name, &options.file)?;
            let read = parse_mjcf(text, None, &ImportOptions::default());
            let mut model = read.map_err(|e| refuse(format!("{name}: {e}")))?;
            if let Some(contact) = options.file.contact {
                files::set_contact_model(name, &mut model, contact)?;
            }
            model
        }
        None => files::read_model_with(name, options.file.clone())?,
    };
    let robot = Arc::new(files::robot(model, &options)?);
    Ok(Loaded {
        scene: files::robot_in_motion(files::stem(name), robot.clone(), &options)?,
        robot: Some(robot),
    })
}

#[pymethods]
impl System {
    #[new]
    fn new(py: Python<'_>, name: String, options: LoadOptions) -> PyResult<Self> {
        let options = options.scene_options()?;
        detached(py, || load(&name, options)).map(|loaded| System(Arc::new(loaded)))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.scene.name()
    }
    #[getter]
    fn summary(&self) -> &str {
        self.0.scene.summary()
    }
    /// Seconds per step.
    #[getter]
    fn dt(&self) -> f64 {
        self.0.scene.dt()
    }
    /// Steps of the physics per step.
    #[getter]
    fn substeps(&self) -> usize {
        self.0.scene.substeps()
    }
    /// Seconds after which there is nothing new to see.
    #[getter]
    fn horizon(&self) -> f64 {
        self.0.scene.horizon()
    }
    /// What the file says that is not used.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.scene.notes().to_vec()
    }
    /// Whether environments can be stepped side by side in the lanes of registers, independently of each other.
    #[getter]
    fn lanes(&self) -> bool {
        let fixed = |robot: &Arc<Integrated<Articulated>>| robot.integrator().control == StepControl::Fixed;
        self.0.robot.as_ref().is_some_and(fixed)
    }

    /// Whether it is the robot of a file.
    #[getter]
    fn robot(&self) -> bool {
        self.0.robot.is_some()
    }

    /// Names, units, bounds and defaults of one vector.
    fn section<'py>(&self, py: Python<'py>, vector: &str) -> PyResult<Bound<'py, PyDict>> {
        describe(py, section(self.layout(), vector)?)
    }

    /// Indices of the entries of a vector that a pattern selects.
    fn select(&self, vector: &str, pattern: &str) -> PyResult<Vec<usize>> {
        Ok(section(self.layout(), vector)?.select(pattern).map_err(Error::from)?)
    }

    /// The controls of `steps` steps when nothing else is said.
    fn controls<'py>(&self, py: Python<'py>, steps: usize) -> Flat<'py> {
        array(py, self.0.scene.controls(steps))
    }

    /// Names of the starts that a file gives.
    #[getter]
    fn keyframes(&self) -> Vec<String> {
        self.0.scene.keyframes().iter().map(|key| key.name.clone()).collect()
    }

    /// State and control of a start that a file gives, by name or number.
    fn keyframe<'py>(&self, py: Python<'py>, wanted: &str) -> PyResult<(Flat<'py>, Flat<'py>)> {
        let key = find_keyframe(self.0.scene.keyframes(), wanted).map_err(Error::from)?;
        Ok((array(py, key.state()), array(py, key.controls())))
    }

    /// The next state and the Jacobians of a step with respect to state, control and parameters.
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        state: Numbers<'_>,
        control: Numbers<'_>,
        params: Numbers<'_>,
    ) -> PyResult<[Flat<'py>; 4]> {
        let layout = self.layout();
        let state = finite("state", &state, &layout.state)?;
        let control = finite("control", &control, &layout.control)?;
        let params = finite("params", &params, &layout.params)?;
        let at = Inputs { state: state.to_vec(), controls: control.to_vec(), params: params.to_vec() };
        at.check(layout, 1).map_err(Error::from)?;
        let found = detached(py, || self.0.linearize(&at))?;
        Ok([found.next, found.a, found.b, found.c].map(|values| array(py, values)))
    }

    /// A trajectory and its derivative along tangents of the inputs, by forward mode.
    fn jvp<'py>(
        &self,
        py: Python<'py>,
        inputs: (Numbers<'_>, Numbers<'_>, Numbers<'_>),
        tangents: (Numbers<'_>, Numbers<'_>, Numbers<'_>),
        sizes: (usize, usize),
    ) -> PyResult<[Flat<'py>; 2]> {
        let (steps, substeps) = sizes;
        let layout = self.layout();
        let duals = |what: &str, x: &Numbers<'_>, dx: &Numbers<'_>, section| -> Result<_, Error> {
            let (x, dx) = (finite(what, x, section)?, numbers("a tangent", dx)?);
            match x.len() == dx.len() {
                true => Ok(x.iter().zip(dx).map(|(x, dx)| Dual::new(*x, *dx)).collect()),
                false => Err(refuse(format!("{what} has {} entries and its tangent {}", x.len(), dx.len()))),
            }
        };
        let inputs = Inputs {
            state: duals("state", &inputs.0, &tangents.0, &layout.state)?,
            controls: duals("controls", &inputs.1, &tangents.1, &layout.control)?,
            params: duals("params", &inputs.2, &tangents.2, &layout.params)?,
        };
        let found = detached(py, || -> Result<_, Error> {
            let rollout = self.0.rollout(steps, substeps, Schedule::Revolve { slots: 1 })?;
            let mut ws = rollout.workspace::<Dual<f64>>();
            let mut found = [Vec::new(), Vec::new()];
            rollout.simulate(&mut ws, &inputs, |sample| {
                found[0].extend(sample.state.iter().map(|x| x.value));
                found[1].extend(sample.state.iter().map(|x| x.tangent));
            })?;
            Ok(found)
        })?;
        Ok(found.map(|values| array(py, values)))
    }

    /// Whether pullbacks agree with forward mode and with differences.
    fn gradcheck(
        &self,
        py: Python<'_>,
        seed: u64,
        tolerance: f64,
        steps: Option<usize>,
    ) -> PyResult<Vec<Compared>> {
        let reports = detached(py, || {
            self.0.scene.gradcheck(Checking { seed, tolerance, steps }).map_err(Error::from)
        })?;
        let row = |(what, report): (String, core::gradcheck::Report)| {
            let worst = (report.worst_forward(), report.worst_difference());
            (what, report.passed(), worst.0, worst.1, report.to_string())
        };
        Ok(reports.into_iter().map(row).collect())
    }

    fn __repr__(&self) -> String {
        let layout = self.layout();
        format!(
            "<pullback.System {}: {}; {} states, {} controls, {} parameters, dt = {} s>",
            self.name(),
            self.summary(),
            layout.state.len(),
            layout.control.len(),
            layout.params.len(),
            self.dt()
        )
    }
}

impl Loaded {
    /// A rollout of one environment whose controls hold for `substeps` steps each.
    pub fn rollout(
        &self,
        steps: usize,
        substeps: usize,
        schedule: Schedule,
    ) -> Result<Rollout<&core::Erased>, Error> {
        let rollout = Rollout::new(self.scene.system(), steps, schedule)?;
        Ok(rollout.with_substeps(substeps * self.scene.substeps())?)
    }

    /// A step and its Jacobians.
    fn linearize(&self, at: &Inputs<f64>) -> Result<core::Linearization, Error> {
        if self.scene.substeps() == 1 {
            let point = Point { params: &at.params, state: &at.state, control: &at.controls };
            return Ok(core::linearize(self.scene.system(), point)?);
        }
        // A pullback for each row, through all substeps.
        let rollout = self.rollout(1, 1, Schedule::StoreAll)?;
        let mut ws = rollout.workspace::<f64>();
        let mut found = core::Linearization::default();
        let n = at.state.len();
        for row in 0..n {
            let mut weights = vec![0.0; n];
            weights[row] = 1.0;
            rollout.gradient(&mut ws, at, &FinalState { weights })?;
            found.next.push(ws.gradient.loss);
            found.a.extend(&ws.gradient.state);
            found.b.extend(&ws.gradient.control);
            found.c.extend(&ws.gradient.params);
        }
        Ok(found)
    }
}

/// Names and summaries of all scenes and carried models.
#[pyfunction]
pub fn names() -> Vec<(String, String)> {
    let scenes = SCENES.entries().map(|entry| (entry.name.to_owned(), entry.summary.to_owned()));
    let models = pullback::models::MODELS.iter().map(|m| (m.name.to_owned(), "a carried model".to_owned()));
    scenes.chain(models).collect()
}
