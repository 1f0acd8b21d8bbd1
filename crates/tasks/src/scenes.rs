//! The built-in scenes by name.
//!
//! A family of scenes is a table of [`SceneEntry`]s beside the code that builds them; [`SCENES`] joins the
//! tables. To add a scene, add an entry to its table. Points and pendula are below.

use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController, StepControl};
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{DIFFMJX, GRADSIM};
use pullback_core::{ConfigError, Described, Erased, FieldShape, VectorField};
use pullback_math::Dual;
use pullback_physics::pendulum::{DoublePendulum, DoublePendulumByHand, SimplePendulum};
use pullback_physics::point_mass::{ContactDamping, ElasticPointMass, PenaltyPointMass};

use crate::depict::{Depiction, depict_height, depict_pendulum};
use crate::files::{self, FileOptions};
use crate::mpm::{self, MpmSpec};
use crate::recording::{HeightStage, PendulumStage, Recorder};
use crate::scene::{About, BuiltIn, Scene};
use crate::smoke::{self, SmokeSpec};
use crate::soft::{self, SoftSpec};
use crate::stability::StepLimitOf;

/// What the command line may change about a scene.
#[derive(Clone, Debug, Default)]
pub struct SceneOptions {
    /// Seconds per step.
    pub dt: Option<f64>,
    /// How a continuous scene is integrated.
    pub integrator: Option<Integrator>,
    /// How a model file is read.
    pub file: FileOptions,
    /// Length over which features of shapes in a model file are chosen softly, m; 0 for not at all.
    pub collision_softness: f64,
    /// Distance from which contacts of a model file act on the way back, m; 0 for not at all.
    pub from_distance: f64,
    /// Whether every body of a model file can be pushed: its controls then end with `BODY.force` and
    /// `BODY.torque` of each.
    pub pushes: bool,
}

/// What a builder of a scene returns.
pub(crate) type BuiltScene = Result<Box<dyn Scene>, ConfigError>;

/// A scene that can be asked for by name.
pub type SceneEntry = Entry<SceneSpec>;

/// How a scene is built, and what is known of it before.
#[derive(Clone, Copy, Debug)]
pub enum SceneSpec {
    /// Points and pendula: so few entries that gradients are checked in each of them.
    Plain(fn(About, SceneOptions) -> BuiltScene),
    /// Soft bodies.
    Soft(SoftSpec),
    /// Material points.
    Mpm(MpmSpec),
    /// Smoke.
    Smoke(SmokeSpec),
}

impl SceneSpec {
    /// Seconds after which there is nothing new to see.
    pub const fn horizon(&self) -> f64 {
        match self {
            SceneSpec::Plain(_) | SceneSpec::Soft(_) => HORIZON,
            SceneSpec::Mpm(spec) => spec.horizon(),
            SceneSpec::Smoke(spec) => spec.horizon,
        }
    }

    /// Whether there is a version with few entries, in which gradients are checked one by one.
    pub const fn has_small_version(&self) -> bool {
        !matches!(self, SceneSpec::Plain(_))
    }
}

/// Seconds that a scene without episodes is simulated for.
pub const HORIZON: f64 = 5.0;

/// All scenes, in the order `pullback list` shows them.
pub const SCENES: Registry<SceneSpec> = Registry::new(
    "scene",
    &[POINTS_AND_PENDULA, soft::SCENES, mpm::SCENES, mpm::PLASTICINE_SCENES, smoke::SCENES],
)
.or("the path of an .xml (MJCF) or .urdf file");

/// The scene called `name`, or that of a model file.
pub fn build(name: &str, options: SceneOptions) -> BuiltScene {
    if files::is_file_name(name) {
        return files::build(name, options);
    }
    files::check_urdf_options(name, &options.file)?;
    let entry = SCENES.find(name)?;
    if !options.file.allow_ignored.is_empty() {
        let why = "--allow-ignored is for model files; a built-in scene ignores nothing";
        return Err(ConfigError::new(format!("{name}: {why}")));
    }
    if options.file.confined {
        let why = "--confined is for model files; a built-in scene reads none";
        return Err(ConfigError::new(format!("{name}: {why}")));
    }
    if options.file.contact.is_some() {
        let why = "the contact model of a built-in scene is its own; that of a model file can be chosen";
        return Err(ConfigError::new(format!("{name}: {why}")));
    }
    if options.collision_softness != 0.0 || options.from_distance != 0.0 {
        let why = "soft collision and contacts from distance are choices for model files";
        return Err(ConfigError::new(format!("{name}: {why}")));
    }
    match entry.value {
        SceneSpec::Plain(build) => build(about(entry), options),
        SceneSpec::Soft(spec) => spec.build(about(entry), options),
        SceneSpec::Mpm(spec) => spec.build(about(entry), options),
        SceneSpec::Smoke(spec) => spec.build(about(entry), options),
    }
}

/// What a table says of a scene.
pub(crate) fn about(entry: &SceneEntry) -> About {
    About {
        name: entry.name.into(),
        summary: entry.summary.into(),
        horizon: entry.value.horizon(),
        notes: Vec::new(),
    }
}

/// Scenes of few coordinates.
const POINTS_AND_PENDULA: &[SceneEntry] = &[
    Entry::cited(
        "point-mass-penalty",
        "a point falls on a damped spring; damping grows with depth",
        DIFFMJX.at("Fig. 4"),
        SceneSpec::Plain(|about, options| {
            let field = PenaltyPointMass::new(ContactDamping::ByDepth);
            from_field(about, field, (0.01, Integrator::fixed(Method::SemiImplicitEuler)), CONTACT, options)
        }),
    ),
    Entry::cited(
        "point-mass-penalty-jump",
        "the same with the damping that jumps at touch",
        DIFFMJX.at("Fig. S4 as printed"),
        SceneSpec::Plain(|about, options| {
            let field = PenaltyPointMass::new(ContactDamping::Plain);
            from_field(about, field, (0.01, Integrator::fixed(Method::SemiImplicitEuler)), CONTACT, options)
        }),
    ),
    Entry::new(
        "point-mass-penalty-adaptive",
        "point-mass-penalty with adaptive Tsit5 inside each step",
        SceneSpec::Plain(|about, options| {
            let field = PenaltyPointMass::new(ContactDamping::ByDepth);
            from_field(about, field, (0.1, adaptive()), CONTACT, options)
        }),
    ),
    Entry::cited(
        "point-mass-elastic",
        "the velocity flips at the surface",
        DIFFMJX.at("Fig. 4"),
        SceneSpec::Plain(|about, options| elastic(about, false, options)),
    ),
    Entry::cited(
        "point-mass-elastic-toi",
        "the velocity flips at the surface, the step split at the time of impact",
        DIFFMJX.whole(),
        SceneSpec::Plain(|about, options| elastic(about, true, options)),
    ),
    Entry::cited(
        "pendulum",
        "simple pendulum with length, mass, damping and gravity",
        GRADSIM.at("C.3"),
        SceneSpec::Plain(|about, options| {
            from_field(
                about,
                SimplePendulum::default(),
                (0.01, Integrator::fixed(Method::Rk4)),
                SWING,
                options,
            )
        }),
    ),
    Entry::cited(
        "double-pendulum",
        "chaotic double pendulum with lengths, masses, damping and gravity",
        GRADSIM.at("C.3"),
        SceneSpec::Plain(|about, options| {
            let field = DoublePendulum::default();
            from_field(about, field, (0.01, Integrator::fixed(Method::Rk4)), DOUBLE_SWING, options)
        }),
    ),
    Entry::new(
        "double-pendulum-adaptive",
        "double-pendulum with adaptive Tsit5 inside each step",
        SceneSpec::Plain(|about, options| {
            from_field(about, DoublePendulum::default(), (0.1, adaptive()), DOUBLE_SWING, options)
        }),
    ),
    Entry::new(
        "double-pendulum-by-hand",
        "double-pendulum with its adjoint written by hand: the macro's yardstick",
        SceneSpec::Plain(|about, options| {
            let field = DoublePendulumByHand::default();
            from_field(about, field, (0.01, Integrator::fixed(Method::Rk4)), DOUBLE_SWING, options)
        }),
    ),
];

/// States at which gradients are checked, with what is special about each.
type Probes = &'static [(&'static str, &'static [f64])];

const CONTACT: Probes = &[
    ("in free flight", &[0.8, -1.0]),
    ("inside the contact", &[-0.07, -0.4]),
    ("leaving the contact", &[-0.03, 0.6]),
];
const BOUNCE: Probes = &[("in free flight", &[0.8, -1.0]), ("hitting the surface", &[0.02, -1.0])];
const SWING: Probes =
    &[("swinging", &[1.0, -0.5]), ("upside down", &[3.0, 0.2]), ("hanging at rest", &[0.0, 0.0])];
const DOUBLE_SWING: Probes = &[
    ("swinging", &[2.0, 1.0, 0.3, -0.4]),
    ("stretched out", &[0.5, 0.5, 1.0, 1.0]),
    ("folded", &[0.3, 0.3 - std::f64::consts::PI, -2.0, 1.5]),
];

/// Adaptive steps of scenes that ask for them.
fn adaptive() -> Integrator {
    Integrator::adaptive(Method::Tsit5, PidController::new(1e-8).gains(0.2, 0.4, 0.0))
}

/// A point that bounces off a surface; with `time_of_impact` the step is split there.
fn elastic(about: About, time_of_impact: bool, options: SceneOptions) -> BuiltScene {
    let dt = options.dt.unwrap_or(0.1);
    if options.integrator.is_some() {
        return Err(ConfigError::new(format!("{} bounces by itself: --method does not apply", about.name)));
    }
    let (system, title) = (ElasticPointMass::new(dt, time_of_impact)?, about.name.clone());
    Ok(Box::new(BuiltIn {
        rollout_from: default_start(&system),
        about,
        system: Erased::new(system),
        dt,
        substeps: 1,
        probes: named(BOUNCE),
        keyframes: Vec::new(),
        sensing: None,
        robot: None,
        step_limit: None,
        energy: None,
        recorder: Some(Recorder::new(title, dt, || HeightStage)),
        depiction: Some(Box::new(depict_height)),
        settle: 0,
        small: None,
        difference_tolerance: 1e-6,
    }))
}

/// A scene from continuous dynamics; the options may change step and integrator.
fn from_field<F>(
    about: About,
    field: F,
    (dt, integrator): (f64, Integrator),
    probes: Probes,
    options: SceneOptions,
) -> BuiltScene
where
    F: FieldShape + VectorField<f64> + VectorField<Dual<f64>> + Clone + 'static,
{
    let dt = options.dt.unwrap_or(dt);
    let integrator = options.integrator.unwrap_or(integrator);
    let tolerance = match integrator.control {
        StepControl::Adaptive(pid) => pid.relative.max(pid.absolute),
        StepControl::Fixed => 0.0,
    };
    if matches!(integrator.adjoint, Adjoint::Continuous(_)) {
        return Err(ConfigError::new(format!(
            "{}: scenes use the discrete adjoint, exact for the steps taken",
            about.name
        )));
    }
    let step_limit = StepLimitOf::of_field(field.clone(), dt, integrator);
    let system = Integrated::new(field, dt, integrator)?;
    let (layout, title) = (system.layout().clone(), about.name.clone());
    let (depiction, recorder): (Depiction, _) = match PendulumStage::new(&layout) {
        Some(stage) => {
            (Box::new(move || depict_pendulum(&layout)), Recorder::new(title, dt, move || stage.clone()))
        }
        None => (Box::new(depict_height), Recorder::new(title, dt, || HeightStage)),
    };
    Ok(Box::new(BuiltIn {
        rollout_from: default_start(&system),
        about,
        system: Erased::new(system),
        dt,
        substeps: 1,
        probes: named(probes),
        keyframes: Vec::new(),
        sensing: None,
        robot: None,
        step_limit,
        energy: None,
        recorder: Some(recorder),
        depiction: Some(depiction),
        settle: 0,
        small: None,
        difference_tolerance: 1e-6 + 1e5 * tolerance,
    }))
}

fn named(probes: Probes) -> Vec<(String, Vec<f64>)> {
    probes.iter().map(|(what, state)| ((*what).to_owned(), state.to_vec())).collect()
}

fn default_start(system: &impl Described) -> (String, Vec<f64>) {
    ("the default state".to_owned(), system.layout().state.defaults())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `pullback list` says without building a scene is true of the scene.
    #[test]
    fn tables_tell_the_truth() {
        for entry in SCENES.entries() {
            let scene = build(entry.name, SceneOptions::default()).unwrap();
            assert_eq!((scene.name(), scene.summary()), (entry.name, entry.summary));
            assert_eq!(scene.horizon(), entry.value.horizon(), "{}", entry.name);
            assert_eq!(scene.small_version().is_some(), entry.value.has_small_version(), "{}", entry.name);
        }
    }

    #[test]
    fn errors_name_the_remedy() {
        let message = build("pendulm", SceneOptions::default()).err().unwrap().to_string();
        assert!(
            message.starts_with("no scene is called `pendulm` (did you mean `pendulum`?); there is point-")
        );
        assert!(
            message.ends_with("smoke-plume-3d, or the path of an .xml (MJCF) or .urdf file"),
            "{message}"
        );
    }
}
