//! Material point scenes as a [`Scene`].

use pullback_core::gradcheck::Report;
use pullback_core::layout::Layout;
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Moment};
use pullback_core::{ConfigError, Described, Info, Repeated, StepError};
use pullback_physics::articulated::Keyframe;
use pullback_physics::mpm::ActuatedMpm;
use pullback_replay::Replay;

use super::blueprint::{Blueprint, Size};
use crate::recording;
use crate::scene::{BuiltIn, Scene};
use crate::scenes::SceneOptions;

/// A scene, and the version of it whose gradients are checked.
struct MpmScene {
    shown: BuiltIn<Repeated<ActuatedMpm>>,
    /// Coarse, and a step of one substep: to check the full size takes minutes.
    checked: BuiltIn<Repeated<ActuatedMpm>>,
    blueprint: Blueprint,
}

/// The scene called `name`.
pub(super) fn build(name: &str, summary: &str, options: SceneOptions) -> Result<Box<dyn Scene>, ConfigError> {
    if options.dt.is_some() || options.integrator.is_some() {
        return Err(ConfigError::new(format!(
            "{name} steps by actions of its own: --dt, --method and --tolerance do not apply"
        )));
    }
    let small = super::blueprint(name, Size::Small)?;
    let small = built_in(name, summary, &small, small.substeps, None)?;
    let blueprint = super::blueprint(name, Size::Full)?;
    let shown = built_in(name, summary, &blueprint, blueprint.substeps, None)?;
    let coarse = super::blueprint(name, Size::Coarse)?;
    let checked = built_in(name, summary, &coarse, 1, Some(Box::new(small)))?;
    Ok(Box::new(MpmScene { shown, checked, blueprint }))
}

/// The scene at one size.
pub(super) fn sized(name: &str, summary: &str, size: Size) -> Result<Box<dyn Scene>, ConfigError> {
    let blueprint = super::blueprint(name, size)?;
    let [shown, checked] = [0; 2].map(|_| built_in(name, summary, &blueprint, blueprint.substeps, None));
    Ok(Box::new(MpmScene { shown: shown?, checked: checked?, blueprint }))
}

fn built_in(
    name: &str,
    summary: &str,
    blueprint: &Blueprint,
    substeps: usize,
    small: Option<Box<dyn Scene>>,
) -> Result<BuiltIn<Repeated<ActuatedMpm>>, ConfigError> {
    let system = blueprint.frames(substeps)?;
    let shaken = perturbed(system.layout());
    let (mpm, title) = (system.system.mpm().clone(), name.to_owned());
    Ok(BuiltIn {
        name: name.to_owned(),
        summary: summary.to_owned(),
        dt: substeps as f64 * blueprint.dt,
        probes: vec![("shaken".to_owned(), shaken.clone())],
        rollout_from: ("the shaken state".to_owned(), shaken),
        keyframes: Vec::new(),
        settle: 0,
        recorder: Some(Box::new(move |rows| recording::mpm_replay(&mpm, &title, rows))),
        // Forward mode is the strict check. Differences step over the kinks of particles that begin to flow
        // and of nodes that begin to touch.
        difference_tolerance: 0.3,
        system,
        small,
    })
}

/// A state with positions, velocities, affine velocities and deformations off all symmetries.
fn perturbed(layout: &Layout) -> Vec<f64> {
    let mut random = Random::new(11);
    let mut state = layout.state.defaults();
    for slice in layout.state.slices() {
        let by = match slice.name.rsplit('.').next() {
            Some("affine") => 0.5,
            Some("deformation") => 0.02,
            Some("velocity") => 0.2,
            _ => 0.001,
        };
        state[slice.range.clone()].iter_mut().for_each(|x| *x += by * random.uniform(-1.0, 1.0));
    }
    state
}

impl Scene for MpmScene {
    fn name(&self) -> &str {
        &self.shown.name
    }
    fn summary(&self) -> &str {
        &self.shown.summary
    }
    fn layout(&self) -> &Layout {
        self.shown.layout()
    }
    fn dt(&self) -> f64 {
        self.shown.dt
    }
    fn keyframes(&self) -> &[Keyframe] {
        &[]
    }
    fn horizon(&self) -> f64 {
        self.blueprint.horizon as f64 * self.shown.dt
    }
    fn controls(&self, steps: usize) -> Vec<f64> {
        self.blueprint.controls(steps)
    }
    fn simulate(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Moment<'_, f64>),
    ) -> Result<Info, StepError> {
        self.shown.simulate(inputs, steps, visit)
    }
    fn replay(&self, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        self.shown.replay(rows)
    }
    fn gradcheck(&self, seed: u64, tolerance: f64) -> Result<Vec<(String, Report)>, ConfigError> {
        self.checked.gradcheck(seed, tolerance)
    }
}
