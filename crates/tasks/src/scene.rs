//! [`Scene`]: a built-in system behind one object-safe face, for the program.

use std::ops::{ControlFlow, Range};

use pullback_core::gradcheck::{Options, Report};
use pullback_core::layout::Layout;
use pullback_core::picture::Picture;
use pullback_core::random::Random;
use pullback_core::rollout::{FinalState, Inputs, Rollout, Sample};
use pullback_core::step_check::{check_rollout, check_rollout_along, check_step, check_step_along};
use pullback_core::{ConfigError, Described, Erased, Info, Point, Schedule, StepError};
use pullback_math::{Dual, Real};
use pullback_optim::least_squares::{LeastSquares, RolloutResiduals};
use pullback_physics::articulated::sensor::Sensing;
use pullback_physics::articulated::{Articulated, Keyframe};
use pullback_replay::Replay;
use pullback_video::look::Depict;

use crate::depict::Depiction;
use crate::identify::RecordedMotion;
use crate::recording::{Recorder, Stage};
use crate::stability::{Energy, EnergyOf, StepLimit, StepLimitOf};

/// How gradients of a scene are checked.
#[derive(Clone, Copy, Debug)]
pub struct Checking {
    /// Seed of states and directions.
    pub seed: u64,
    /// Largest accepted error against forward mode.
    pub tolerance: f64,
    /// Steps of the rollout, in place of the scene's own choice.
    pub steps: Option<usize>,
}

/// A system with a name, a time step and states worth looking at.
pub trait Scene: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &str;
    /// One line on what it is.
    fn summary(&self) -> &str;
    /// The system itself.
    fn system(&self) -> &Erased;
    /// Steps of the system per step of the scene, all under one control.
    fn substeps(&self) -> usize;
    /// Names, units, bounds and defaults.
    fn layout(&self) -> &Layout {
        self.system().layout()
    }
    /// Seconds per step.
    fn dt(&self) -> f64;
    /// Named starts that the scene's file gives.
    fn keyframes(&self) -> &[Keyframe];
    /// What the scene's file says that is not used.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// Seconds after which there is nothing new to see.
    fn horizon(&self) -> f64;
    /// A version with few entries, in which gradients are checked one by one.
    fn small_version(&self) -> Option<&dyn Scene>;
    /// Controls of `steps` steps when nothing else is said.
    fn controls(&self, steps: usize) -> Vec<f64> {
        self.layout().control.defaults().repeat(steps)
    }
    /// Runs `steps` steps and hands every sample to `visit`.
    fn simulate(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Sample<'_, f64>),
    ) -> Result<Info, StepError> {
        self.simulate_while(inputs, steps, &mut |sample| {
            visit(sample);
            ControlFlow::Continue(())
        })
    }
    /// Runs at most `steps` steps, for as long as `visit` wants more.
    fn simulate_while(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Sample<'_, f64>) -> ControlFlow<()>,
    ) -> Result<Info, StepError>;
    /// The motion as a page that plays in a browser, for scenes that have bodies to show; `rows` are times
    /// and states of the motion under `inputs`.
    fn replay(&self, inputs: &Inputs<f64>, rows: &[(f64, Vec<f64>)]) -> Option<Replay>;
    /// What a browser shows of the states, for scenes that have bodies to show.
    fn stage(&self) -> Option<Box<dyn Stage>>;
    /// What draws the states as pictures, for scenes that can be seen.
    fn depict(&self) -> Option<Box<dyn Depict>> {
        None
    }
    /// Fields along the motion worth drawing, for scenes that have them; `rows` are times and states.
    fn pictures(&self, _rows: &[(f64, Vec<f64>)]) -> Vec<Picture> {
        Vec::new()
    }
    /// The sensors of a robot.
    fn sensing(&self) -> Option<&Sensing> {
        None
    }
    /// The robot in it.
    fn robot(&self) -> Option<&RobotPart> {
        None
    }
    /// What bounds the step at a point, for scenes whose step can be too large.
    fn step_limit(&self, _at: Point<'_, f64>) -> Option<Result<StepLimit, ConfigError>> {
        None
    }
    /// Whether the step is too large at a point: quicker than to find what would not be.
    fn unstable(&self, _at: Point<'_, f64>) -> bool {
        false
    }
    /// The energy at a point of scenes that nothing adds energy to.
    fn energy(&self, _at: Point<'_, f64>) -> Option<Energy> {
        None
    }
    /// Recordings of this scene beside their simulation, as residuals.
    fn residuals(&self, motion: RecordedMotion) -> Result<Box<dyn LeastSquares + '_>, ConfigError>;
    /// Checks the gradients of one step at each state worth looking at, and of a rollout.
    fn gradcheck(&self, checking: Checking) -> Result<Vec<(String, Report)>, ConfigError>;
}

/// The robot in a scene: where its state is in that of the scene. Its parameters come first.
#[derive(Clone)]
pub struct RobotPart {
    /// The robot.
    pub robot: Articulated,
    /// Its coordinates, then its velocities where the state has them.
    parts: Vec<Range<usize>>,
    whole: bool,
}

impl RobotPart {
    /// A robot that is all there is.
    pub fn whole(robot: Articulated) -> Self {
        let all = 0..pullback_core::Described::layout(&robot).state.len();
        RobotPart { robot, parts: vec![all], whole: true }
    }

    /// A robot beside other things.
    pub fn beside(robot: Articulated, coordinates: Range<usize>, velocities: Range<usize>) -> Self {
        RobotPart { robot, parts: vec![coordinates, velocities], whole: false }
    }

    /// Whether state and control are those of the scene.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The state of the robot from that of the scene; what the scene does not have stays as it is.
    pub fn state_of<T: Real>(&self, scene: &[T], robot: &mut [T]) {
        let from = self.parts.iter().flat_map(|part| &scene[part.clone()]);
        robot.iter_mut().zip(from).for_each(|(x, from)| *x = *from);
    }

    /// The pullback of [`RobotPart::state_of`]: *adds* to the cotangent of the scene's state.
    pub fn add_state<T: Real>(&self, robot_bar: &[T], scene_bar: &mut [T]) {
        let entries = self.parts.iter().flat_map(|part| part.clone());
        entries.zip(robot_bar).for_each(|(i, bar)| scene_bar[i] += *bar);
    }
}

/// What is known of a scene before it is built.
#[derive(Clone, Debug)]
pub struct About {
    /// Name on the command line.
    pub name: String,
    /// One line on what it is.
    pub summary: String,
    /// Seconds after which there is nothing new to see.
    pub horizon: f64,
    /// What its file says that is not used.
    pub notes: Vec<String>,
}

/// A [`Scene`] made of any system.
pub struct BuiltIn {
    /// Name, summary and horizon.
    pub about: About,
    /// The system.
    pub system: Erased,
    /// Seconds per step of the scene.
    pub dt: f64,
    /// Steps of the system per step of the scene, all under one control.
    pub substeps: usize,
    /// States at which gradients are checked, with what is special about each.
    pub probes: Vec<(String, Vec<f64>)>,
    /// Where the rollout whose gradient is checked starts, with what is special about it.
    pub rollout_from: (String, Vec<f64>),
    /// Named starts that a file gives.
    pub keyframes: Vec<Keyframe>,
    /// Steps taken from there before the rollout is checked.
    pub settle: usize,
    /// A version with few entries from the same builder. Where there is one, it is checked entry by entry and
    /// the scene itself along random directions.
    pub small: Option<Box<dyn Scene>>,
    /// Shows states in a browser, where there are bodies to show.
    pub recorder: Option<Recorder>,
    /// Makes what draws states as pictures, where there is something to see.
    pub depiction: Option<Depiction>,
    /// What the sensors of a robot read.
    pub sensing: Option<Sensing>,
    /// The robot in it.
    pub robot: Option<RobotPart>,
    /// What bounds its step, where it can be too large.
    pub step_limit: Option<StepLimitOf>,
    /// Its energy, where nothing adds to it.
    pub energy: Option<EnergyOf>,
    /// Largest accepted error against finite differences: an adaptive solve changes its steps with its
    /// inputs, and differences see that to within its tolerance.
    pub difference_tolerance: f64,
}

impl BuiltIn {
    /// Inputs over `steps` steps that hold the controls of the first keyframe, or the defaults.
    fn held(&self, steps: usize) -> Inputs<f64> {
        let mut inputs = Inputs::<f64>::defaults(&self.system, steps);
        if let Some(key) = self.keyframes.first() {
            inputs.controls = key.controls().repeat(steps);
        }
        inputs
    }

    /// Inputs at `state` with controls and parameters moved off those that are held by up to a tenth.
    fn perturbed(&self, state: &[f64], steps: usize, random: &mut Random) -> Inputs<f64> {
        let mut inputs = self.held(steps);
        inputs.state.copy_from_slice(state);
        for u in &mut inputs.controls {
            *u += random.uniform(-0.5, 0.5);
        }
        let layout = &self.system.layout().params;
        let mut first = 0;
        for slice in layout.slices() {
            // The ends of a range are moved alike: they may be closer to each other than a tenth.
            let together = slice.name.ends_with("range").then(|| random.uniform(0.9, 1.1));
            for i in first..first + slice.len() {
                let (lower, upper) = layout.bounds(i);
                let factor = together.unwrap_or_else(|| random.uniform(0.9, 1.1));
                inputs.params[i] = (inputs.params[i] * factor).clamp(lower, upper);
            }
            first += slice.len();
        }
        inputs
    }
}

impl Scene for BuiltIn {
    fn name(&self) -> &str {
        &self.about.name
    }
    fn summary(&self) -> &str {
        &self.about.summary
    }
    fn horizon(&self) -> f64 {
        self.about.horizon
    }
    fn system(&self) -> &Erased {
        &self.system
    }
    fn substeps(&self) -> usize {
        self.substeps
    }
    fn dt(&self) -> f64 {
        self.dt
    }
    fn keyframes(&self) -> &[Keyframe] {
        &self.keyframes
    }
    fn notes(&self) -> &[String] {
        &self.about.notes
    }
    fn small_version(&self) -> Option<&dyn Scene> {
        self.small.as_deref()
    }

    fn simulate_while(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Sample<'_, f64>) -> ControlFlow<()>,
    ) -> Result<Info, StepError> {
        // Nothing is kept for a way back: one slot is always enough.
        let rollout = Rollout::new(&self.system, steps, Schedule::Revolve { slots: 1 })
            .and_then(|rollout| rollout.with_substeps(self.substeps))
            .unwrap_or_else(|_| unreachable!("one slot, and at least one substep"));
        let mut ws = rollout.workspace::<f64>();
        rollout.simulate_while(&mut ws, inputs, visit)?;
        Ok(ws.info)
    }

    fn replay(&self, inputs: &Inputs<f64>, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        let controls = self.layout().control.len();
        self.recorder.as_ref().map(|recorder| recorder.replay(inputs, controls, rows))
    }

    fn stage(&self) -> Option<Box<dyn Stage>> {
        self.recorder.as_ref().map(Recorder::stage)
    }

    fn depict(&self) -> Option<Box<dyn Depict>> {
        self.depiction.as_ref().map(|make| make())
    }

    fn sensing(&self) -> Option<&Sensing> {
        self.sensing.as_ref()
    }
    fn robot(&self) -> Option<&RobotPart> {
        self.robot.as_ref()
    }
    fn step_limit(&self, at: Point<'_, f64>) -> Option<Result<StepLimit, ConfigError>> {
        self.step_limit.as_ref().map(|limit| limit.find(at))
    }
    fn unstable(&self, at: Point<'_, f64>) -> bool {
        self.step_limit.as_ref().is_some_and(|limit| limit.exceeded(at))
    }
    fn energy(&self, at: Point<'_, f64>) -> Option<Energy> {
        self.energy.as_ref().map(|energy| energy(at))
    }

    fn residuals(&self, motion: RecordedMotion) -> Result<Box<dyn LeastSquares + '_>, ConfigError> {
        let RecordedMotion { map, transforms, params, parts, recorded } = motion;
        let residuals: RolloutResiduals<_, _, _, Dual<f64>> =
            RolloutResiduals::new(&self.system, recorded, (map, transforms), params, parts)?;
        Ok(Box::new(residuals.with_substeps(self.substeps)))
    }

    fn gradcheck(&self, checking: Checking) -> Result<Vec<(String, Report)>, ConfigError> {
        let Checking { seed, tolerance, steps } = checking;
        let mut random = Random::new(seed);
        let options = Options {
            forward_tolerance: tolerance,
            difference_tolerance: self.difference_tolerance,
            seed,
            ..Options::default()
        };
        let longer = |how: Thoroughness| Thoroughness { steps: steps.unwrap_or(how.steps), ..how };
        let Some(small) = &self.small else {
            return self.check(&mut random, &options, longer(EVERY_ENTRY));
        };
        let mut reports = small.gradcheck(checking)?;
        reports.iter_mut().for_each(|(what, _)| *what = format!("small version: {what}"));
        reports.extend(self.check(&mut random, &options, longer(ALONG))?);
        Ok(reports)
    }
}

/// How thoroughly gradients are checked.
#[derive(Clone, Copy)]
struct Thoroughness {
    /// Every entry, or along one random direction per named quantity.
    every_entry: bool,
    /// Steps of the rollout.
    steps: usize,
}

const EVERY_ENTRY: Thoroughness = Thoroughness { every_entry: true, steps: 8 };
const ALONG: Thoroughness = Thoroughness { every_entry: false, steps: 2 };

impl BuiltIn {
    /// One step of the system at each probe, and a rollout.
    fn check(
        &self,
        random: &mut Random,
        options: &Options,
        how: Thoroughness,
    ) -> Result<Vec<(String, Report)>, ConfigError> {
        let manner = if how.every_entry { "" } else { ", along random directions" };
        let mut reports = Vec::new();
        for (what, state) in &self.probes {
            let at = self.perturbed(state, 1, random);
            let check = if how.every_entry { check_step } else { check_step_along };
            let report = check(
                &self.system,
                Point { params: &at.params, state: &at.state, control: &at.controls },
                options,
            );
            reports.push((format!("one step, {what}{manner}"), report));
        }
        // A loss that sees every entry of the final state.
        let steps = how.steps;
        let start = self.settled()?;
        let at = self.perturbed(&start, steps, random);
        let weights = (0..at.state.len()).map(|_| random.uniform(0.5, 1.5)).collect();
        let rollout = Rollout::new(&self.system, steps, Schedule::Revolve { slots: 3 })?;
        let rollout = rollout.with_substeps(self.substeps)?;
        let loss = FinalState { weights };
        let check = if how.every_entry { check_rollout } else { check_rollout_along };
        let report = check(&rollout, &at, &loss, options);
        reports.push((format!("{steps} steps, from {}{manner}", self.rollout_from.0), report));
        Ok(reports)
    }

    /// Where the rollout starts.
    fn settled(&self) -> Result<Vec<f64>, ConfigError> {
        let mut inputs = self.held(self.settle);
        inputs.state.clone_from(&self.rollout_from.1);
        let mut state = inputs.state.clone();
        if self.settle > 0 {
            self.simulate(&inputs, self.settle, &mut |at| state.copy_from_slice(at.state))
                .map_err(|e| ConfigError::new(e.to_string()))?;
        }
        Ok(state)
    }
}
