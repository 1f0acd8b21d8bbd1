//! The built-in scenes by name.

use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController};
use pullback_core::{ConfigError, Described, FieldShape, System, VectorField};
use pullback_math::Dual;
use pullback_physics::pendulum::{DoublePendulum, DoublePendulumByHand, SimplePendulum};
use pullback_physics::point_mass::{ContactDamping, ElasticPointMass, PenaltyPointMass};

use crate::files;
use crate::mpm;
use crate::scene::{BuiltIn, Scene};
use crate::soft;

/// What the command line may change about a scene.
#[derive(Clone, Copy, Debug, Default)]
pub struct SceneOptions {
    /// Seconds per step.
    pub dt: Option<f64>,
    /// How a continuous scene is integrated.
    pub integrator: Option<Integrator>,
}

/// Names of all scenes, in the order `pullback list` shows them.
pub fn names() -> Vec<&'static str> {
    RIGID.into_iter().chain(soft::NAMES).chain(mpm::names()).collect()
}

const RIGID: [&str; 9] = [
    "point-mass-penalty",
    "point-mass-penalty-jump",
    "point-mass-penalty-adaptive",
    "point-mass-elastic",
    "point-mass-elastic-toi",
    "pendulum",
    "double-pendulum",
    "double-pendulum-adaptive",
    "double-pendulum-by-hand",
];

/// The scene called `name`.
pub fn build(name: &str, options: SceneOptions) -> Result<Box<dyn Scene>, ConfigError> {
    if let Some(scene) = soft::build(name, options).or_else(|| mpm::build(name, options)) {
        return scene;
    }
    let contact_probes = || {
        vec![
            ("in free flight", vec![0.8, -1.0]),
            ("inside the contact", vec![-0.07, -0.4]),
            ("leaving the contact", vec![-0.03, 0.6]),
        ]
    };
    let bounce_probes =
        || vec![("in free flight", vec![0.8, -1.0]), ("hitting the surface", vec![0.02, -1.0])];
    let adaptive = Integrator::adaptive(Method::Tsit5, PidController::new(1e-8).gains(0.2, 0.4, 0.0));
    match name {
        "point-mass-penalty" => field(
            (
                "point-mass-penalty",
                "a point falls on a damped spring; damping grows with depth (paper 4, Fig. 4)",
            ),
            PenaltyPointMass::new(ContactDamping::ByDepth),
            (0.01, Integrator::fixed(Method::SemiImplicitEuler)),
            contact_probes(),
            options,
        ),
        "point-mass-penalty-jump" => field(
            (
                "point-mass-penalty-jump",
                "the same with the damping that jumps at touch (paper 4, Fig. S4 as printed)",
            ),
            PenaltyPointMass::new(ContactDamping::Plain),
            (0.01, Integrator::fixed(Method::SemiImplicitEuler)),
            contact_probes(),
            options,
        ),
        "point-mass-penalty-adaptive" => field(
            ("point-mass-penalty-adaptive", "point-mass-penalty with adaptive Tsit5 inside each step"),
            PenaltyPointMass::new(ContactDamping::ByDepth),
            (0.1, adaptive),
            contact_probes(),
            options,
        ),
        "point-mass-elastic" | "point-mass-elastic-toi" => {
            let time_of_impact = name.ends_with("toi");
            let dt = options.dt.unwrap_or(0.1);
            if options.integrator.is_some() {
                return Err(ConfigError::new(format!("{name} bounces by itself: --method does not apply")));
            }
            let system = ElasticPointMass::new(dt, time_of_impact)?;
            Ok(Box::new(BuiltIn {
                rollout_from: default_start(&system),
                name: name.to_owned(),
                summary: if time_of_impact {
                    "the velocity flips at the surface, the step split at the time of impact (paper 4)"
                } else {
                    "the velocity flips at the surface (paper 4, Fig. 4)"
                }
                .to_owned(),
                system,
                dt,
                probes: named(bounce_probes()),
                keyframes: Vec::new(),
                recorder: None,
                settle: 0,
                small: None,
                difference_tolerance: 1e-6,
            }))
        }
        "pendulum" => field(
            ("pendulum", "simple pendulum with length, mass, damping and gravity (paper 1, C.3)"),
            SimplePendulum::default(),
            (0.01, Integrator::fixed(Method::Rk4)),
            vec![
                ("swinging", vec![1.0, -0.5]),
                ("upside down", vec![3.0, 0.2]),
                ("hanging at rest", vec![0.0, 0.0]),
            ],
            options,
        ),
        "double-pendulum" => field(
            (
                "double-pendulum",
                "chaotic double pendulum with lengths, masses, damping and gravity (paper 1, C.3)",
            ),
            DoublePendulum::default(),
            (0.01, Integrator::fixed(Method::Rk4)),
            double_pendulum_probes(),
            options,
        ),
        "double-pendulum-adaptive" => field(
            ("double-pendulum-adaptive", "double-pendulum with adaptive Tsit5 inside each step"),
            DoublePendulum::default(),
            (0.1, adaptive),
            double_pendulum_probes(),
            options,
        ),
        "double-pendulum-by-hand" => field(
            (
                "double-pendulum-by-hand",
                "double-pendulum with its adjoint written by hand: the macro's yardstick",
            ),
            DoublePendulumByHand::default(),
            (0.01, Integrator::fixed(Method::Rk4)),
            double_pendulum_probes(),
            options,
        ),
        file if files::is_file_name(file) => files::build(file, options),
        other => Err(ConfigError::new(format!(
            "no scene is called `{other}`; there is {}, or the path of an .xml (MJCF) or .urdf file",
            names().join(", ")
        ))),
    }
}

fn double_pendulum_probes() -> Vec<(&'static str, Vec<f64>)> {
    vec![
        ("swinging", vec![2.0, 1.0, 0.3, -0.4]),
        ("stretched out", vec![0.5, 0.5, 1.0, 1.0]),
        ("folded", vec![0.3, 0.3 - std::f64::consts::PI, -2.0, 1.5]),
    ]
}

/// A scene from continuous dynamics; the options may change step and integrator.
fn field<F>(
    (name, summary): (&'static str, &'static str),
    field: F,
    (dt, integrator): (f64, Integrator),
    probes: Vec<(&'static str, Vec<f64>)>,
    options: SceneOptions,
) -> Result<Box<dyn Scene>, ConfigError>
where
    F: FieldShape + VectorField<f64> + VectorField<Dual<f64>> + 'static,
    Integrated<F>: System<f64> + System<Dual<f64>>,
{
    let dt = options.dt.unwrap_or(dt);
    let integrator = options.integrator.unwrap_or(integrator);
    let tolerance = match (integrator.control, integrator.adjoint) {
        (pullback_core::integrator::StepControl::Adaptive(pid), _) => pid.relative.max(pid.absolute),
        _ => 0.0,
    };
    if matches!(integrator.adjoint, Adjoint::Continuous(_)) {
        return Err(ConfigError::new(format!(
            "{name}: scenes use the discrete adjoint, exact for the steps taken"
        )));
    }
    let system = Integrated::new(field, dt, integrator)?;
    Ok(Box::new(BuiltIn {
        rollout_from: default_start(&system),
        name: name.to_owned(),
        summary: summary.to_owned(),
        system,
        dt,
        probes: named(probes),
        keyframes: Vec::new(),
        recorder: None,
        settle: 0,
        small: None,
        difference_tolerance: 1e-6 + 1e5 * tolerance,
    }))
}

fn named(probes: Vec<(&'static str, Vec<f64>)>) -> Vec<(String, Vec<f64>)> {
    probes.into_iter().map(|(what, state)| (what.to_owned(), state)).collect()
}

fn default_start(system: &impl Described) -> (String, Vec<f64>) {
    ("the default state".to_owned(), system.layout().state.defaults())
}
