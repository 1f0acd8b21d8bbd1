//! Material point scenes as a [`Scene`].

use std::ops::ControlFlow;

use pullback_core::gradcheck::Report;
use pullback_core::layout::Layout;
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Sample};
use pullback_core::{ConfigError, Described, Erased, Info, Point, StepError};
use pullback_optim::least_squares::LeastSquares;
use pullback_physics::articulated::Keyframe;
use pullback_replay::Replay;
use pullback_video::look::Depict;

use super::MpmSpec;
use super::blueprint::{Blueprint, Size};
use crate::depict::depict_mpm;
use crate::identify::RecordedMotion;
use crate::recording::{MpmStage, Recorder, Stage};
use crate::scene::{About, BuiltIn, Checking, RobotPart, Scene};
use crate::scenes::{BuiltScene, SceneOptions};
use crate::stability::{StepLimit, StepLimitOf};

/// A scene, and the version of it whose gradients are checked.
struct MpmScene {
    shown: BuiltIn,
    /// Coarse, and a step of one substep: to check the full size takes minutes.
    checked: BuiltIn,
    blueprint: Blueprint,
    /// Actions per episode.
    actions: usize,
}

/// The scene in all sizes.
pub(super) fn build(about: About, spec: MpmSpec, options: SceneOptions) -> BuiltScene {
    if options.dt.is_some() || options.integrator.is_some() {
        return Err(ConfigError::new(format!(
            "{} steps by actions of its own: --dt, --method and --tolerance do not apply",
            about.name
        )));
    }
    let blueprint = |size| (spec.blueprint)(&about.name, size);
    let small = blueprint(Size::Small)?;
    let small = built_in(&about, &small, small.substeps, None)?;
    let full = blueprint(Size::Full)?;
    let shown = built_in(&about, &full, full.substeps, None)?;
    let checked = built_in(&about, &blueprint(Size::Coarse)?, 1, Some(Box::new(small)))?;
    Ok(Box::new(MpmScene { shown, checked, blueprint: full, actions: spec.actions }))
}

/// The scene at one size.
pub(super) fn sized(about: About, spec: MpmSpec, size: Size) -> BuiltScene {
    let blueprint = (spec.blueprint)(&about.name, size)?;
    let [shown, checked] = [0; 2].map(|_| built_in(&about, &blueprint, blueprint.substeps, None));
    Ok(Box::new(MpmScene { shown: shown?, checked: checked?, blueprint, actions: spec.actions }))
}

fn built_in(
    about: &About,
    blueprint: &Blueprint,
    substeps: usize,
    small: Option<Box<dyn Scene>>,
) -> Result<BuiltIn, ConfigError> {
    let system = blueprint.system()?;
    let shaken = perturbed(system.layout());
    let (mpm, title, dt) = (system.mpm().clone(), about.name.clone(), substeps as f64 * blueprint.dt);
    let seen = mpm.clone();
    Ok(BuiltIn {
        about: about.clone(),
        dt,
        substeps,
        probes: vec![("shaken".to_owned(), shaken.clone())],
        rollout_from: ("the shaken state".to_owned(), shaken),
        keyframes: Vec::new(),
        sensing: None,
        robot: Some(RobotPart::beside(mpm.robot().clone(), 0..mpm.robot().coordinates().nq, 0..0)),
        step_limit: Some(StepLimitOf::of_particles(mpm.clone())),
        energy: None,
        settle: 0,
        recorder: Some(Recorder::new(title, dt, move || MpmStage::new(mpm.clone()))),
        depiction: Some(Box::new(move || depict_mpm(&seen))),
        // Forward mode is the strict check. Differences step over the kinks of particles that begin to flow
        // and of nodes that begin to touch.
        difference_tolerance: 0.3,
        system: Erased::new(system),
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
        self.shown.name()
    }
    fn summary(&self) -> &str {
        self.shown.summary()
    }
    fn horizon(&self) -> f64 {
        self.shown.horizon()
    }
    fn small_version(&self) -> Option<&dyn Scene> {
        self.checked.small_version()
    }
    fn system(&self) -> &Erased {
        self.shown.system()
    }
    fn substeps(&self) -> usize {
        self.shown.substeps()
    }
    fn dt(&self) -> f64 {
        self.shown.dt
    }
    fn keyframes(&self) -> &[Keyframe] {
        &[]
    }
    fn controls(&self, steps: usize) -> Vec<f64> {
        self.blueprint.controls(steps, self.actions)
    }
    fn simulate_while(
        &self,
        inputs: &Inputs<f64>,
        steps: usize,
        visit: &mut dyn FnMut(Sample<'_, f64>) -> ControlFlow<()>,
    ) -> Result<Info, StepError> {
        self.shown.simulate_while(inputs, steps, visit)
    }
    fn replay(&self, inputs: &Inputs<f64>, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        self.shown.replay(inputs, rows)
    }
    fn stage(&self) -> Option<Box<dyn Stage>> {
        self.shown.stage()
    }
    fn depict(&self) -> Option<Box<dyn Depict>> {
        self.shown.depict()
    }
    fn robot(&self) -> Option<&RobotPart> {
        self.shown.robot()
    }
    fn step_limit(&self, at: Point<'_, f64>) -> Option<Result<StepLimit, ConfigError>> {
        self.shown.step_limit(at)
    }
    fn unstable(&self, at: Point<'_, f64>) -> bool {
        self.shown.unstable(at)
    }
    fn residuals(&self, motion: RecordedMotion) -> Result<Box<dyn LeastSquares + '_>, ConfigError> {
        self.shown.residuals(motion)
    }
    fn gradcheck(&self, checking: Checking) -> Result<Vec<(String, Report)>, ConfigError> {
        self.checked.gradcheck(checking)
    }
}
