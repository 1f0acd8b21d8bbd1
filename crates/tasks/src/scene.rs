//! [`Scene`]: a built-in system behind one object-safe face, for the program.

use pullback_core::gradcheck::{Options, Report};
use pullback_core::layout::Layout;
use pullback_core::random::Random;
use pullback_core::rollout::{FinalState, Inputs, Moment, Rollout};
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{ConfigError, Described, Info, Schedule, StepError, System};
use pullback_math::Dual;
use pullback_physics::articulated::Keyframe;
use pullback_replay::Replay;

/// A system with a name, a time step and states worth looking at.
pub trait Scene: Sync {
    /// Name on the command line.
    fn name(&self) -> &str;
    /// One line on what it is.
    fn summary(&self) -> &str;
    /// Names, units, bounds and defaults.
    fn layout(&self) -> &Layout;
    /// Seconds per step.
    fn dt(&self) -> f64;
    /// Named starts that the scene's file gives.
    fn keyframes(&self) -> &[Keyframe];
    /// Runs `steps` steps and hands every moment to `visit`.
    fn simulate(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Moment<'_, f64>),
    ) -> Result<Info, StepError>;
    /// The motion as a page that plays in a browser, for scenes that have bodies to show; `rows` are times and states.
    fn replay(&self, rows: &[(f64, Vec<f64>)]) -> Option<Replay>;
    /// Checks the gradients of one step at each state worth looking at, and of a rollout.
    fn gradcheck(&self, seed: u64, tolerance: f64) -> Result<Vec<(String, Report)>, ConfigError>;
}

/// Makes a page of recorded times and states.
pub type Recorder = Box<dyn Fn(&[(f64, Vec<f64>)]) -> Replay + Send + Sync>;

/// A [`Scene`] made of any system.
pub struct BuiltIn<S> {
    /// Name on the command line.
    pub name: String,
    /// One line on what it is.
    pub summary: String,
    /// The system.
    pub system: S,
    /// Seconds per step.
    pub dt: f64,
    /// States at which gradients are checked, with what is special about each.
    pub probes: Vec<(String, Vec<f64>)>,
    /// Where the rollout whose gradient is checked starts, with what is special about it.
    pub rollout_from: (String, Vec<f64>),
    /// Named starts that a file gives.
    pub keyframes: Vec<Keyframe>,
    /// Turns recorded states into a page, where there are bodies to show.
    pub recorder: Option<Recorder>,
    /// Largest accepted error against finite differences: an adaptive solve changes its steps with its inputs, and
    /// differences see that to within its tolerance.
    pub difference_tolerance: f64,
}

impl<S> BuiltIn<S> {
    /// Inputs at `state` with controls and parameters moved off their defaults by up to a tenth.
    fn perturbed(&self, state: &[f64], steps: usize, random: &mut Random) -> Inputs<f64>
    where
        S: Described,
    {
        let mut inputs = Inputs::<f64>::defaults(&self.system, steps);
        inputs.state.copy_from_slice(state);
        for u in &mut inputs.controls {
            *u += random.uniform(-0.5, 0.5);
        }
        let layout = &self.system.layout().params;
        for (i, p) in inputs.params.iter_mut().enumerate() {
            let (lower, upper) = layout.bounds(i);
            *p = (*p * random.uniform(0.9, 1.1)).clamp(lower, upper);
        }
        inputs
    }
}

impl<S: System<f64> + System<Dual<f64>>> Scene for BuiltIn<S> {
    fn name(&self) -> &str {
        &self.name
    }
    fn summary(&self) -> &str {
        &self.summary
    }
    fn layout(&self) -> &Layout {
        self.system.layout()
    }
    fn dt(&self) -> f64 {
        self.dt
    }
    fn keyframes(&self) -> &[Keyframe] {
        &self.keyframes
    }

    fn simulate(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Moment<'_, f64>),
    ) -> Result<Info, StepError> {
        // Nothing is kept for a way back: one slot is always enough.
        let rollout = Rollout::new(&self.system, steps, Schedule::Revolve { slots: 1 })
            .unwrap_or_else(|_| unreachable!("one slot"));
        let mut ws = rollout.workspace::<f64>();
        rollout.simulate(&mut ws, &inputs.params, &inputs.state, &inputs.controls, visit)?;
        Ok(ws.info)
    }

    fn replay(&self, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        self.recorder.as_ref().map(|record| record(rows))
    }

    fn gradcheck(&self, seed: u64, tolerance: f64) -> Result<Vec<(String, Report)>, ConfigError> {
        let mut random = Random::new(seed);
        let options = Options {
            forward_tolerance: tolerance,
            difference_tolerance: self.difference_tolerance,
            seed,
            ..Options::default()
        };
        let mut reports = Vec::new();
        for (what, state) in &self.probes {
            let at = self.perturbed(state, 1, &mut random);
            let report = check_step(&self.system, &at.state, &at.controls, &at.params, &options);
            reports.push((format!("one step, {what}"), report));
        }
        // A loss that sees every entry of the final state.
        let steps = 8;
        let at = self.perturbed(&self.rollout_from.1, steps, &mut random);
        let weights = (0..at.state.len()).map(|_| random.uniform(0.5, 1.5)).collect();
        let rollout = Rollout::new(&self.system, steps, Schedule::Revolve { slots: 3 })?;
        let loss = FinalState { weights };
        let report = check_rollout(&rollout, &at.state, &at.controls, &at.params, &loss, &options);
        reports.push((format!("{steps} steps, from {}", self.rollout_from.0), report));
        Ok(reports)
    }
}
