//! Robots under the compliant contact of Warp 1.3, as Rewarped's tasks of rigid bodies have it.
//!
//! - Damping and friction act from the instant of touch ([`ContactDamping::Plain`]). Limits of joints damp
//!   beyond the range alone, and plainly too.
//! - Every geom has a [`Material`]; a contact has the mean of its two.
//! - Joints are driven by torques, and no damping of theirs acts besides.
//! - *The mass matrix is that of each step; the source's is that of the first step of an action.*

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{ConfigError, Described};
use pullback_physics::articulated::{
    Articulated, ContactDamping, ContactMaterials, MaterialMixing, Model, Shape,
};

use super::robots::{Robot, model, set_limits};

/// What a geom adds to its contacts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Stiffness, N/m.
    pub stiffness: f64,
    /// Damping, N s/m.
    pub damping: f64,
    /// Slope of friction at rest, N s/m.
    pub friction_slope: f64,
    /// Coefficient of friction.
    pub friction: f64,
}

/// The ground, unless a task says otherwise.
pub const GROUND: Material = Material { stiffness: 1e5, damping: 1e3, friction_slope: 1e3, friction: 0.5 };

/// Constants of a task that a model file does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Warp {
    /// Seconds per action.
    pub action: f64,
    /// Steps per action.
    pub substeps: usize,
    /// Material of all geoms but the ground.
    pub material: Material,
    /// Stiffness and damping beyond a joint's range, N m/rad and N m s/rad.
    pub limit: [f64; 2],
}

impl Warp {
    /// The robot of one of our model files, and its parameters.
    pub fn robot(&self, xml: &str) -> Result<(Robot, Vec<f64>), ConfigError> {
        let mut model = model(xml)?;
        model.options.contact_damping = ContactDamping::Plain;
        model.options.limit_damping = ContactDamping::Plain;
        model.options.contact_materials = ContactMaterials::PerGeom;
        model.options.material_mixing = MaterialMixing::Average;
        let dt = self.action / self.substeps as f64;
        let robot = Articulated::new(model)?.with_time_step(dt);
        let robot = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
        let mut params = robot.layout().params.defaults();
        self.set_materials(&robot, &mut params)?;
        set_limits(&robot, self.limit, &mut params);
        Ok((robot, params))
    }

    fn set_materials(&self, robot: &Robot, params: &mut [f64]) -> Result<(), ConfigError> {
        let (model, layout): (&Model, _) = (robot.field().model(), &robot.layout().params);
        for geom in &model.geoms {
            let is_ground = matches!(geom.shape, Shape::Plane);
            let Material { stiffness, damping, friction_slope, friction } =
                if is_ground { GROUND } else { self.material };
            let values = [
                ("stiffness", stiffness),
                ("damping", damping),
                ("friction_slope", friction_slope),
                ("friction", friction),
            ];
            for (what, value) in values {
                params[layout.index_of(&format!("{}.{what}", geom.name))?] = value;
            }
        }
        Ok(())
    }
}
