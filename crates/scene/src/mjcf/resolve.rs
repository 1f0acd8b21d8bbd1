//! Constants given as ratios, which need the inertia of the whole model in the reference configuration.

use pullback_articulated::{
    Actuator, Articulated, ArticulatedWorkspace, Bias, Gain, JointKind, Model, tree::Tree,
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
    let state = [model.reference_configuration(), vec![0.0; model.nv + model.activations()]].concat();
    let mut ws = VectorField::<f64>::workspace(&robot);
    let controls = [vec![0.0; model.actuators.len()], model.mocap_poses()].concat();
    let params = robot.layout().params.defaults();
    let at = Point { params: &params, state: &state, control: &controls };
    robot.accelerations(&mut ws, at);
    resolve_servos(model, &robot, &ws, at);
    resolve_springs(model, springs, &ws, robot.tree());
    Ok(())
}

/// Whether the velocity term of a servo stands for a damping ratio.
fn is_ratio(a: &Actuator) -> bool {
    let [_, by_length, by_velocity] = a.affine_bias();
    by_velocity > 0.0 && a.gain == Gain::Fixed(-by_length)
}

/// kv = 2 ζ √(kp m), m = 1 / (J M⁻¹ Jᵀ) the inertia along the moment J, for every servo whose velocity term is
/// positive, as in MuJoCo.
fn resolve_servos(
    model: &mut Model,
    robot: &Articulated,
    ws: &ArticulatedWorkspace<f64>,
    at: Point<'_, f64>,
) {
    for (a, actuator) in model.actuators.iter_mut().enumerate().filter(|(_, a)| is_ratio(a)) {
        let (Gain::Fixed(kp), [constant, by_length, ratio]) = (actuator.gain, actuator.affine_bias()) else {
            continue;
        };
        let moment = robot.actuator_moment(ws, at, a);
        let mut solved = moment.clone();
        ws.mass.solve(robot.tree(), &mut solved);
        let mobility: f64 = moment.iter().zip(&solved).map(|(m, x)| m * x).sum();
        let inertia = if mobility > 0.0 { 1.0 / mobility } else { 0.0 };
        let kv = -2.0 * ratio * (kp * inertia).max(0.0).sqrt();
        actuator.bias = Bias::Affine([constant, by_length, kv]);
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
