//! Settings of a whole model.

use pullback_collision::ContactDamping;
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::ARTICULATED_ADJOINT;
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
    /// Linear complementarity over impulses by projected Gauss-Seidel (Qiao et al., ICML 2021).
    Complementarity,
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
        Entry::cited(
            "complementarity",
            "impulses by projected Gauss-Seidel with boxed friction; for semi-implicit Euler",
            ARTICULATED_ADJOINT.whole(),
            ContactModel::Complementarity,
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
    /// Largest number of sweeps of friction after the solver; 0 lets friction be as soft as the solver leaves it.
    pub noslip_iterations: usize,
    /// Improvement, in units of the mean inertia, below which these sweeps stop.
    pub noslip_tolerance: f64,
}

impl Default for SolverOptions {
    fn default() -> Self {
        SolverOptions {
            iterations: 100,
            tolerance: 1e-8,
            ls_iterations: 50,
            ls_tolerance: 0.01,
            noslip_iterations: 0,
            noslip_tolerance: 1e-6,
        }
    }
}

/// Which rows of the complementarity model are one problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImpulseScheme {
    /// All rows.
    #[default]
    Global,
    /// Those of each pair of trees, all from the same free velocity (the paper's code). Limits and dry
    /// friction of a tree are one more.
    Pairwise,
}

/// Directions of friction under the complementarity model, each with bounds of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionDirections {
    /// The two tangents of the contact.
    #[default]
    Two,
    /// The direction of sliding at the end of the step without contacts (the paper's code).
    AlongSlip,
}

/// Settings of the complementarity model; the paper's unless told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComplementarityOptions {
    /// Part of a depth that one step takes back (Baumgarte); default of the parameter `contact.erp`.
    pub erp: f64,
    /// Velocity by which a row gives way per unit of impulse, 1/kg; default of `contact.cfm`.
    pub cfm: f64,
    /// Restitution of all geoms; default of `GEOM.restitution`. Two geoms mix theirs as they mix friction.
    pub restitution: f64,
    /// Number of sweeps.
    pub iterations: usize,
    /// Largest impulse of a contact or limit, N s.
    pub max_impulse: f64,
    /// Which rows are one problem.
    pub scheme: ImpulseScheme,
    /// Directions of friction.
    pub friction: FrictionDirections,
}

impl Default for ComplementarityOptions {
    fn default() -> Self {
        ComplementarityOptions {
            erp: 0.01,
            cfm: 1e-5,
            restitution: 0.0,
            iterations: 50,
            max_impulse: 1000.0,
            scheme: ImpulseScheme::Global,
            friction: FrictionDirections::Two,
        }
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
    /// Density of the medium around bodies, kg/m³.
    pub density: f64,
    /// Viscosity of the medium, Pa s.
    pub viscosity: f64,
    /// Velocity of the medium, m/s.
    pub wind: Vec3<f64>,
    /// Magnetic field, which magnetometers see.
    pub magnetic: Vec3<f64>,
    /// Time step, s.
    pub timestep: f64,
    /// How contacts and other constraints act.
    pub contact_model: ContactModel,
    /// Whether contacts act.
    pub contact: bool,
    /// Whether shapes that rest on each other by faces or edges have several contacts, where these come from GJK
    /// and EPA (`multiccd`).
    pub several_contacts: bool,
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
    /// Settings of the complementarity model.
    pub complementarity: ComplementarityOptions,
    /// How the damping of compliant contact sets in.
    pub contact_damping: ContactDamping,
    /// How the damping of joint limits sets in under the penalty model.
    pub limit_damping: ContactDamping,
    /// Who owns the constants of compliant contact.
    pub contact_materials: ContactMaterials,
    /// How two geoms in compliant contact mix friction and what else is theirs.
    pub material_mixing: MaterialMixing,
    /// Length over which the features of contacts are chosen softly, m; 0 chooses them as MuJoCo does (see
    /// [`pullback_collision::soft`]).
    pub collision_softness: f64,
}

impl Default for ModelOptions {
    fn default() -> Self {
        ModelOptions {
            gravity: Vec3::new(0.0, 0.0, -9.81),
            density: 0.0,
            viscosity: 0.0,
            wind: Vec3::zero(),
            magnetic: Vec3::new(0.0, -0.5, 0.0),
            timestep: 0.002,
            contact_model: ContactModel::default(),
            contact: true,
            several_contacts: true,
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
            complementarity: ComplementarityOptions::default(),
            contact_damping: ContactDamping::default(),
            limit_damping: ContactDamping::default(),
            contact_materials: ContactMaterials::default(),
            material_mixing: MaterialMixing::default(),
            collision_softness: 0.0,
        }
    }
}
