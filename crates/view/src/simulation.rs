//! A scene stepped one step at a time, under commands.

use pullback_core::erased::ErasedWorkspace;
use pullback_core::layout::Section;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Erased, Point, System};
use pullback_tasks::Scene;
use pullback_tasks::files::find_keyframe;
use pullback_tasks::recording::{Instant, Stage};
use serde::Serialize;

use crate::command::{Command, Vector};
use crate::drag::Drag;
use crate::gradient::{GradientRequest, Job, MOST_STEPS, pushes};

/// Numbers of controls that are made ahead, at most.
const MOST_SCRIPT: f64 = 1e6;
/// Steps of one command, at most.
const MOST_AT_ONCE: usize = 100_000;

/// A scene in motion.
pub struct Simulation<'s> {
    scene: &'s dyn Scene,
    stage: Box<dyn Stage>,
    bodies: Vec<String>,
    ws: ErasedWorkspace,
    params: Vec<f64>,
    state: Vec<f64>,
    /// The state after the step being taken, and before it.
    next: Vec<f64>,
    before: Vec<f64>,
    /// The control of the last step, pushes included.
    control: Vec<f64>,
    /// Controls of the scene, row after row; the last one holds on.
    script: Vec<f64>,
    /// Values that replace those of the scene.
    chosen: Vec<Option<f64>>,
    /// Where the push on each body begins in the control.
    pushes: Vec<Option<usize>>,
    drag: Option<Drag>,
    step: u64,
    /// Grows with everything that changes what is seen.
    version: u64,
    playing: bool,
    speed: f64,
    gradient: Option<GradientRequest>,
    halted: Option<String>,
}

/// Where a simulation is, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Seconds simulated.
    pub time: f64,
    /// Steps taken.
    pub step: u64,
    /// Whether it runs at the rate of the clock.
    pub playing: bool,
    /// Simulated seconds per second.
    pub speed: f64,
    /// Why it stands still, where a step failed.
    pub halted: Option<String>,
    /// The state.
    pub state: Vec<f64>,
    /// The control of the last step, pushes included.
    pub control: Vec<f64>,
    /// The parameters.
    pub params: Vec<f64>,
}

impl<'s> Simulation<'s> {
    /// A scene at its start, or at a keyframe; an error if there is nothing to see of it.
    pub fn new(scene: &'s dyn Scene, keyframe: Option<&str>) -> Result<Self, ConfigError> {
        let stage = scene.stage().ok_or_else(|| {
            let why = "it has no bodies to show live; `pullback simulate` draws its pictures";
            ConfigError::new(format!("{}: {why}", scene.name()))
        })?;
        let layout = scene.layout();
        let params = layout.params.defaults();
        let bodies = stage.shapes(&params).bodies;
        let state = layout.state.defaults();
        let mut simulation = Simulation {
            scene,
            stage,
            ws: System::<f64>::workspace(scene.system()),
            next: state.clone(),
            before: state.clone(),
            state,
            params,
            control: layout.control.defaults(),
            script: Vec::new(),
            chosen: vec![None; layout.control.len()],
            pushes: pushes(&layout.control, &bodies),
            bodies,
            drag: None,
            step: 0,
            version: 0,
            playing: false,
            speed: 1.0,
            gradient: None,
            halted: None,
        };
        simulation.reset(keyframe)?;
        Ok(simulation)
    }

    /// The scene.
    pub fn scene(&self) -> &'s dyn Scene {
        self.scene
    }

    /// Names of the bodies.
    pub fn bodies(&self) -> &[String] {
        &self.bodies
    }

    /// What is seen.
    pub(crate) fn stage(&mut self) -> &mut dyn Stage {
        self.stage.as_mut()
    }

    /// Whether the body can be pulled.
    pub fn can_be_pulled(&self, body: usize) -> bool {
        self.pushes[body].is_some() && self.stage.felt_mass(body).is_some()
    }

    /// Whether an entry of the control is a push on a body.
    pub(crate) fn is_push(&self, entry: usize) -> bool {
        self.pushes.iter().flatten().any(|first| (*first..first + 6).contains(&entry))
    }

    /// Values of a vector; of the control those of the next step.
    pub fn values(&self, vector: Vector) -> Vec<f64> {
        match vector {
            Vector::State => self.state.clone(),
            Vector::Params => self.params.clone(),
            Vector::Control => self.control_at(self.step),
        }
    }

    /// Whether it runs at the rate of the clock.
    pub fn playing(&self) -> bool {
        self.playing
    }

    /// Simulated seconds per second.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Seconds simulated.
    pub fn time(&self) -> f64 {
        self.step as f64 * self.scene.dt()
    }

    /// Grows with everything that changes what is seen.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What pulls, if anything.
    pub fn drag(&self) -> Option<&Drag> {
        self.drag.as_ref()
    }

    /// Where it is, in numbers.
    pub fn report(&self) -> Report {
        Report {
            time: self.time(),
            step: self.step,
            playing: self.playing,
            speed: self.speed,
            halted: self.halted.clone(),
            state: self.state.clone(),
            control: self.control.clone(),
            params: self.params.clone(),
        }
    }

    /// Why it stands still, where a step failed.
    pub fn halted(&self) -> Option<&str> {
        self.halted.as_deref()
    }

    /// Does what a command says; an error says why not, and then nothing is done.
    pub fn obey(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Play => match &self.halted {
                None => self.playing = true,
                Some(why) => return Err(format!("{why}; start anew")),
            },
            Command::Pause => self.playing = false,
            Command::Step { steps } => {
                if !(1..=MOST_AT_ONCE).contains(steps) {
                    return Err(format!("a command takes 1 to {MOST_AT_ONCE} steps, not {steps}"));
                }
                self.playing = false;
                (0..*steps).try_for_each(|_| self.advance())?;
            }
            Command::Reset { keyframe } => {
                self.reset(keyframe.as_deref()).map_err(|e| e.to_string())?;
            }
            Command::Speed { value } => {
                if !(0.001..=100.0).contains(value) {
                    return Err(format!("speed {value} is not within 0.001 and 100"));
                }
                self.speed = *value;
            }
            Command::Set { vector, name, value } => self.set(*vector, name, *value)?,
            Command::FreeControls => self.chosen.fill(None),
            Command::Drag { body, point, target } => self.pull(body, *point, *target)?,
            Command::Release => self.drag = None,
            Command::Gradient { of } => {
                if let Some(request) = of {
                    if !(1..=MOST_STEPS).contains(&request.steps) {
                        return Err(format!("a gradient looks 1 to {MOST_STEPS} steps ahead"));
                    }
                    request.quantity.resolve(self.scene.layout(), &self.bodies)?;
                }
                self.gradient.clone_from(of);
            }
        }
        self.version += 1;
        Ok(())
    }

    /// Takes one step; if it fails the last good state remains and the motion stands still.
    pub fn advance(&mut self) -> Result<(), String> {
        if let Some(why) = &self.halted {
            return Err(why.clone());
        }
        self.control = self.control_at(self.step);
        self.push();
        self.before.copy_from_slice(&self.state);
        if let Err(why) = self.take_step() {
            self.state.copy_from_slice(&self.before);
            self.playing = false;
            self.version += 1;
            let why = format!("step {} failed: {why}", self.step);
            self.halted = Some(why.clone());
            return Err(why);
        }
        self.step += 1;
        self.version += 1;
        Ok(())
    }

    fn take_step(&mut self) -> Result<(), String> {
        let system: &Erased = self.scene.system();
        for _ in 0..self.scene.substeps() {
            let at = Point { params: &self.params, state: &self.state, control: &self.control };
            System::<f64>::step(system, &mut self.ws, at, &mut self.next).map_err(|e| e.to_string())?;
            std::mem::swap(&mut self.state, &mut self.next);
        }
        match self.state.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(entry) => {
                let (name, value) = (self.scene.layout().state.entry_name(entry), self.state[entry]);
                Err(format!("{name} is {value}"))
            }
        }
    }

    /// Adds the pull to the control about to act.
    fn push(&mut self) {
        let Some(drag) = &mut self.drag else { return };
        let Some(first) = self.pushes[drag.body] else { return };
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        let poses = self.stage.instant(at).poses;
        let wrench = drag.wrench(&poses[drag.body], self.scene.dt());
        for (control, push) in self.control[first..].iter_mut().zip(wrench) {
            *control += push;
        }
    }

    /// Where everything is.
    pub fn instant(&mut self) -> Instant {
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        self.stage.instant(at)
    }

    /// What a gradient is to be computed of now, if anything.
    pub(crate) fn gradient_job(&self) -> Option<Job> {
        let request = self.gradient.clone()?;
        let ahead = self.step..self.step + request.steps as u64;
        let controls = ahead.flat_map(|step| self.control_at(step)).collect();
        let (state, params) = (self.state.clone(), self.params.clone());
        Some(Job { request, step: self.step, inputs: Inputs { state, controls, params } })
    }

    /// The control of a step, without what is pulled.
    fn control_at(&self, step: u64) -> Vec<f64> {
        let len = self.chosen.len();
        let rows = (self.script.len() / len.max(1)) as u64;
        let first = step.min(rows.saturating_sub(1)) as usize * len;
        let row = &self.script[first..first + len];
        row.iter().zip(&self.chosen).map(|(scene, chosen)| chosen.unwrap_or(*scene)).collect()
    }

    fn reset(&mut self, keyframe: Option<&str>) -> Result<(), ConfigError> {
        let layout = self.scene.layout();
        let len = layout.control.len();
        (self.state, self.script) = match keyframe {
            Some(wanted) => {
                let key = find_keyframe(self.scene.keyframes(), wanted)?;
                // Pushes come last.
                let mut control = key.controls();
                control.resize(len, 0.0);
                (key.state(), control)
            }
            None => {
                let most = MOST_SCRIPT / len.max(1) as f64;
                let steps = (self.scene.horizon() / self.scene.dt()).ceil().clamp(1.0, most) as usize;
                let mut script = self.scene.controls(steps);
                if script.chunks(len.max(1)).all(|row| *row == script[..len]) {
                    script.truncate(len);
                }
                (layout.state.defaults(), script)
            }
        };
        self.control = self.control_at(0);
        (self.drag, self.halted, self.step) = (None, None, 0);
        self.version += 1;
        Ok(())
    }

    fn set(&mut self, vector: Vector, name: &str, value: f64) -> Result<(), String> {
        let layout = self.scene.layout();
        let section: &Section = match vector {
            Vector::State => &layout.state,
            Vector::Control => &layout.control,
            Vector::Params => &layout.params,
        };
        let entries = section.select(name).map_err(|e| e.to_string())?;
        for entry in &entries {
            let (low, high) = section.bounds(*entry);
            if !(value.is_finite() && low <= value && value <= high) {
                let name = section.entry_name(*entry);
                return Err(format!("{name} = {value} is outside [{low}, {high}]"));
            }
        }
        for entry in entries {
            match vector {
                Vector::State => self.state[entry] = value,
                Vector::Params => self.params[entry] = value,
                Vector::Control => {
                    self.chosen[entry] = Some(value);
                    self.control[entry] = value;
                }
            }
        }
        Ok(())
    }

    fn pull(&mut self, name: &str, point: [f64; 3], target: [f64; 3]) -> Result<(), String> {
        if !point.iter().chain(&target).all(|x| x.is_finite() && x.abs() < 1e6) {
            return Err("a pull goes from a point to a point".into());
        }
        let body = self.bodies.iter().position(|body| body == name);
        let body = body.ok_or_else(|| format!("no body is called `{name}`"))?;
        let mass = self.stage.felt_mass(body).filter(|_| self.pushes[body].is_some());
        let mass = mass.ok_or_else(|| format!("`{name}` cannot be pulled"))?;
        match &mut self.drag {
            Some(drag) if drag.body == body && drag.point == point => drag.target = target,
            drag => *drag = Some(Drag::new(body, point, target, mass)),
        }
        Ok(())
    }
}
