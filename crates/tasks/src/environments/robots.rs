//! Robots under the compliant contact of DFlex, and what all tasks of robots share.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::{ConfigError, Described};
use pullback_math::{Quat, Vec3};
use pullback_physics::articulated::{Articulated, ContactModel, JointKind, Model};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

/// A robot in motion.
pub type Robot = Integrated<Articulated>;

/// Seconds per action of all tasks of DFlex.
pub const ACTION: f64 = 1.0 / 60.0;

/// Constants of DFlex that a model file does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Dflex {
    /// Steps per action.
    pub substeps: usize,
    /// Stiffness, damping by depth and friction slope of contacts.
    pub contact: [f64; 3],
    /// Stiffness beyond a joint's range, and damping. The damping acts everywhere, not beyond the range alone.
    pub limit: [f64; 2],
    /// Inertia that the joints of the root have besides that of the bodies; those of a free root have none.
    pub root_armature: f64,
}

impl Dflex {
    /// The robot of one of our model files, and its parameters.
    pub fn robot(&self, xml: &str) -> Result<(Robot, Vec<f64>), ConfigError> {
        let mut model = model(xml)?;
        let [stiffness, damping] = self.limit;
        for joint in &mut model.joints {
            if matches!(joint.kind, JointKind::Hinge | JointKind::Slide) {
                joint.damping += damping;
            }
            if joint.name.starts_with("root_") {
                joint.armature = self.root_armature;
            }
        }
        let dt = ACTION / self.substeps as f64;
        let robot = Articulated::new(model)?.with_time_step(dt);
        let robot = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
        let layout = &robot.layout().params;
        let mut params = layout.defaults();
        for (what, value) in ["stiffness", "damping", "friction_slope"].into_iter().zip(self.contact) {
            if let Ok(i) = layout.index_of(&format!("contact.{what}")) {
                params[i] = value;
            }
        }
        set_limits(&robot, [stiffness, 0.0], &mut params);
        Ok((robot, params))
    }
}

/// Gives all limits of joints the same stiffness and damping beyond the range.
pub fn set_limits(robot: &Robot, [stiffness, damping]: [f64; 2], params: &mut [f64]) {
    let layout = &robot.layout().params;
    for joint in robot.field().model().joints.iter().filter(|j| j.range.is_some()) {
        let at = |what: &str| layout.index_of(&format!("{}.{what}", joint.name));
        if let (Ok(k), Ok(c)) = (at("limit_stiffness"), at("limit_damping")) {
            (params[k], params[c]) = (stiffness, damping);
        }
    }
}

/// One of our model files, with compliant contact and explicit damping.
pub fn model(xml: &str) -> Result<Model, ConfigError> {
    let model = parse_mjcf(xml, None, &ImportOptions::default());
    let mut model = model.map_err(|e| ConfigError::new(e.to_string()))?;
    model.options.contact_model = ContactModel::Penalty;
    model.options.implicit_damping = false;
    Ok(model)
}

/// Adds u ~ U(−size, size) to every number.
pub fn jitter(random: &mut Random, size: f64, values: &mut [f64]) {
    values.iter_mut().for_each(|x| *x += random.uniform(-size, size));
}

/// Turns an orientation (w, x, y, z) by an angle ~ U(−size, size) about a random axis of its own frame.
pub fn jitter_rotation(random: &mut Random, size: f64, orientation: &mut [f64]) {
    let angle = random.uniform(-size, size);
    let mut draw = || random.uniform(-0.5, 0.5);
    let axis = Vec3::new(draw(), draw(), draw()).normalize();
    let [w, x, y, z] = [orientation[0], orientation[1], orientation[2], orientation[3]];
    let turned = Quat::new(w, x, y, z) * Quat::from_axis_angle(axis, angle);
    orientation.copy_from_slice(&[turned.w, turned.x, turned.y, turned.z]);
}
