//! Constants given as ratios, which need the inertia of the whole model in the reference configuration.

use pullback_articulated::{
    Actuator, ActuatorTarget, Articulated, ArticulatedWorkspace, JointKind, Model, tree::Tree,
};
use pullback_core::{ConfigError, Described, Point, VectorField};
use pullback_math::Vec3;

/// A spring given by a time constant and a damping ratio: index of the joint, then both.
pub(super) type SpringDamper = (usize, [f64; 2]);

/// Turns damping ratios of servos into damping, and time constants of springs into stiffness and damping.
pub(super) fn resolve_ratios(model: &mut Model, springs: &[SpringDamper]) -> Result<(), ConfigError> {
    if springs.is_empty() && !model.actuators.iter().any(is_ratio) {
        return Ok(());
    }
    let mut untouched = model.clone();
    let options = &mut untouched.options;
    (options.contact, options.limits, options.equality, options.frictionloss) = (false, false, false, false);
    let robot = Articulated::new(untouched)?;
    let state = [model.reference_configuration(), vec![0.0; model.nv]].concat();
    let mut ws = VectorField::<f64>::workspace(&robot);
    let controls = [vec![0.0; model.actuators.len()], model.mocap_poses()].concat();
    robot.accelerations(
        &mut ws,
        Point { params: &robot.layout().params.defaults(), state: &state, control: &controls },
    );
    resolve_servos(model, &ws, robot.tree());
    resolve_springs(model, springs, &ws, robot.tree());
    Ok(())
}

/// Whether the velocity term of a servo stands for a damping ratio.
fn is_ratio(a: &Actuator) -> bool {
    a.bias[2] > 0.0 && a.gain == -a.bias[1]
}

/// kv = 2 ζ √(kp m), m = 1 / (g M⁻¹ gᵀ) the inertia along the gear g, for every servo whose velocity term is
/// positive, as in MuJoCo.
fn resolve_servos(model: &mut Model, ws: &ArticulatedWorkspace<f64>, tree: &Tree) {
    let mut along = vec![0.0; model.nv];
    for actuator in model.actuators.iter_mut().filter(|a| is_ratio(a)) {
        let ActuatorTarget::Joint(joint) = actuator.target;
        let joint = &model.joints[joint];
        let dofs = joint.v..joint.v + joint.kind.velocities();
        along.fill(0.0);
        along[dofs.clone()].copy_from_slice(&actuator.gear[..dofs.len()]);
        ws.mass.solve(tree, &mut along);
        let mobility: f64 = actuator.gear.iter().zip(&along[dofs]).map(|(g, x)| g * x).sum();
        let inertia = if mobility > 0.0 { 1.0 / mobility } else { 0.0 };
        actuator.bias[2] = -2.0 * actuator.bias[2] * (actuator.gain * inertia).max(0.0).sqrt();
    }
}

/// Stiffness m / (T ζ)² and damping 2 m / T, m the inverse of the mean diagonal of M⁻¹ over the joint.
fn resolve_springs(model: &mut Model, springs: &[SpringDamper], ws: &ArticulatedWorkspace<f64>, tree: &Tree) {
    let mut unit = vec![0.0; model.nv];
    for (index, [time, ratio]) in springs {
        let joint = &model.joints[*index];
        let dofs = joint.v..joint.v + joint.kind.velocities();
        let count = dofs.len() as f64;
        let mut mobility = 0.0;
        for k in dofs {
            unit.fill(0.0);
            unit[k] = 1.0;
            ws.mass.solve(tree, &mut unit);
            mobility += unit[k] / count;
        }
        let inertia = if slides_alone(model, joint.body) {
            // MuJoCo leaves armature out of the inertia of such a body.
            model.bodies[joint.body].mass
        } else {
            1.0 / mobility
        };
        let joint = &mut model.joints[*index];
        joint.stiffness = inertia / (time * time * ratio * ratio).max(1e-15);
        joint.damping = 2.0 * inertia / time.max(1e-15);
    }
}

/// Whether a body without children only slides along axes of its inertial frame, which is its own.
fn slides_alone(model: &Model, body: usize) -> bool {
    let b = &model.bodies[body];
    let grounded = |i: usize| i == 0 || (model.bodies[i].parent == 0 && model.joints_of(i).next().is_none());
    let along_an_axis = |v: Vec3<f64>| [v.x, v.y, v.z].iter().filter(|x| **x != 0.0).count() == 1;
    grounded(b.parent)
        && !model.bodies.iter().skip(1).any(|other| other.parent == body)
        && b.com == Vec3::zero()
        && [b.inertia.xy, b.inertia.xz, b.inertia.yz] == [0.0; 3]
        && model
            .joints_of(body)
            .all(|j| j.kind == JointKind::Slide && j.anchor == Vec3::zero() && along_an_axis(j.axis))
}
