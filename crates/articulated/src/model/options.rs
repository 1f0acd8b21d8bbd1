//! Settings of a whole model.

use pullback_collision::ContactDamping;
use pullback_math::Vec3;

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
    /// Whether contacts act.
    pub contact: bool,
    /// Whether joint limits act.
    pub limits: bool,
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
            contact: true,
            limits: true,
            implicit_damping: true,
            integrator: ModelIntegrator::Euler,
            cone: FrictionCone::Pyramidal,
            impedance_ratio: 1.0,
            filter_parent: true,
            reference_safety: true,
            contact_damping: ContactDamping::default(),
            contact_materials: ContactMaterials::default(),
            material_mixing: MaterialMixing::default(),
        }
    }
}
