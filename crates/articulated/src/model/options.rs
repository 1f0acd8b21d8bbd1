//! Settings of a whole model.

use pullback_collision::ContactDamping;
use pullback_core::registry::{Entry, Registry};
use pullback_math::Vec3;

use super::constraint::Softness;

/// How a model asks to be stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelIntegrator {
    /// Semi-implicit Euler.
    #[default]
    Euler,
    /// Runge-Kutta of order four.
    Rk4,
    /// Implicit in velocity, with Coriolis terms.
    Implicit,
    /// Implicit in velocity, without Coriolis terms.
    ImplicitFast,
}

/// The shape of the set of admissible friction forces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionCone {
    /// A pyramid.
    #[default]
    Pyramidal,
    /// A cone.
    Elliptic,
}

/// How contacts and other constraints act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactModel {
    /// Compliant forces that depend on positions and velocities (gradSim, Rewarped). Joint limits are
    /// springs; dry friction and equalities are not acted on.
    #[default]
    Penalty,
    /// Soft constraints by convex optimization over accelerations (MuJoCo).
    Convex,
}

/// Every contact model by name.
pub const CONTACT_MODELS: Registry<ContactModel> = Registry::new(
    "contact model",
    &[&[
        Entry::new(
            "convex",
            "soft constraints by convex optimization, as MuJoCo has them; the default of model files",
            ContactModel::Convex,
        ),
        Entry::new("penalty", "compliant forces; joint limits are springs", ContactModel::Penalty),
    ]],
);

/// When the solver of the convex model stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverOptions {
    /// Largest number of Newton steps.
    pub iterations: usize,
    /// Improvement and gradient, in units of the mean inertia, below which it stops.
    pub tolerance: f64,
    /// Largest number of evaluations in a line search.
    pub ls_iterations: usize,
    /// Slope, relative to that at the start, below which a line search stops.
    pub ls_tolerance: f64,
}

impl Default for SolverOptions {
    fn default() -> Self {
        SolverOptions { iterations: 100, tolerance: 1e-8, ls_iterations: 50, ls_tolerance: 0.01 }
    }
}

/// One law for all contacts, in place of those of geoms and pairs (`override`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactOverride {
    /// Distance below which contacts act, m.
    pub margin: f64,
    /// Reference and impedance.
    pub softness: Softness,
    /// Friction: two of sliding, torsional, two of rolling.
    pub friction: [f64; 5],
}

/// Who owns stiffness, damping and friction slope of compliant contact. Friction coefficients are the geoms'
/// in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactMaterials {
    /// All contacts share them: `contact.stiffness` and so on.
    #[default]
    Shared,
    /// Every geom has its own, `GEOM.stiffness` and so on, and two geoms that touch mix theirs.
    PerGeom,
}

/// A constant of a contact, from those of its two geoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaterialMixing {
    /// The larger one.
    #[default]
    Larger,
    /// Their average (Warp).
    Average,
}

/// Settings of the whole model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOptions {
    /// Gravity, m/s².
    pub gravity: Vec3<f64>,
    /// Time step, s.
    pub timestep: f64,
    /// How contacts and other constraints act.
    pub contact_model: ContactModel,
    /// Whether contacts act.
    pub contact: bool,
    /// Whether joint limits act.
    pub limits: bool,
    /// Whether dry friction of joints acts.
    pub frictionloss: bool,
    /// Whether equality constraints act.
    pub equality: bool,
    /// Whether Euler steps treat joint damping implicitly.
    pub implicit_damping: bool,
    /// How the model asks to be stepped.
    pub integrator: ModelIntegrator,
    /// Shape of the friction cone.
    pub cone: FrictionCone,
    /// Ratio of frictional to normal impedance of contacts (`impratio`).
    pub impedance_ratio: f64,
    /// Whether contacts between a body and its parent are left out.
    pub filter_parent: bool,
    /// Whether the time constant of a soft contact is kept at two time steps or more.
    pub reference_safety: bool,
    /// One law for all contacts.
    pub contact_override: Option<ContactOverride>,
    /// When the solver of the convex model stops.
    pub solver: SolverOptions,
    /// How the damping of compliant contact sets in.
    pub contact_damping: ContactDamping,
    /// Who owns the constants of compliant contact.
    pub contact_materials: ContactMaterials,
    /// How two geoms in compliant contact mix friction and what else is theirs.
    pub material_mixing: MaterialMixing,
}

impl Default for ModelOptions {
    fn default() -> Self {
        ModelOptions {
            gravity: Vec3::new(0.0, 0.0, -9.81),
            timestep: 0.002,
            contact_model: ContactModel::default(),
            contact: true,
            limits: true,
            frictionloss: true,
            equality: true,
            implicit_damping: true,
            integrator: ModelIntegrator::Euler,
            cone: FrictionCone::Pyramidal,
            impedance_ratio: 1.0,
            filter_parent: true,
            reference_safety: true,
            contact_override: None,
            solver: SolverOptions::default(),
            contact_damping: ContactDamping::default(),
            contact_materials: ContactMaterials::default(),
            material_mixing: MaterialMixing::default(),
        }
    }
}
