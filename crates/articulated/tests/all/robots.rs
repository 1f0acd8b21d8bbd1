//! Robots for tests: every kind of joint, several on a body, off-center anchors, random inertias.

use pullback_articulated::{Actuator, Bias, Body, Gain, Geom, Joint, JointKind, Model, Shape};
use pullback_core::random::Random;
use pullback_math::{Quat, SymMat3, Vec3};

pub fn vector(random: &mut Random, size: f64) -> Vec3<f64> {
    Vec3::new(random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size))
}

pub fn orientation(random: &mut Random) -> Quat<f64> {
    Quat::new(random.normal(), random.normal(), random.normal(), random.normal()).normalize()
}

/// A body of about 1 kg with a physically possible inertia.
pub fn body(name: &str, parent: usize, random: &mut Random) -> Body {
    let axes = orientation(random).to_mat3();
    let (a, b, c) = (random.uniform(0.01, 0.1), random.uniform(0.01, 0.1), random.uniform(0.01, 0.1));
    let inertia = SymMat3::diagonal(Vec3::new(b + c, a + c, a + b)).congruence(axes);
    Body {
        name: name.into(),
        parent,
        position: vector(random, 0.4),
        orientation: orientation(random),
        mass: random.uniform(0.5, 1.5),
        com: vector(random, 0.2),
        inertia,
        ..Body::default()
    }
}

pub fn joint(name: &str, body: usize, kind: JointKind, random: &mut Random) -> Joint {
    let (anchor, axis) = (vector(random, 0.1), vector(random, 1.0).normalize());
    Joint {
        anchor,
        reference: if kind == JointKind::Hinge { 0.2 } else { 0.0 },
        damping: random.uniform(0.05, 0.3),
        stiffness: random.uniform(0.2, 2.0),
        spring_reference: random.uniform(-0.2, 0.2),
        armature: random.uniform(0.0, 0.05),
        range: matches!(kind, JointKind::Hinge).then_some((-0.3, 0.4)),
        ..Joint::new(name, body, kind, axis)
    }
}

pub fn servo(name: &str, joint: usize, gear: f64) -> Actuator {
    Actuator {
        gear: [gear, 0.3, -0.4, 0.2, 0.7, 0.1],
        gain: Gain::Fixed(1.3),
        bias: Bias::Affine([0.1, -1.3, -0.2]),
        control_range: Some((-1.0, 1.0)),
        force_range: Some((-5.0, 5.0)),
        ..Actuator::motor(name, joint, gear)
    }
}

/// A floating base with two branches; `floating` decides whether the base is free or hangs on a ball joint.
pub fn branching(seed: u64, floating: bool) -> Model {
    let random = &mut Random::new(seed);
    let mut model = Model::new("branching");
    for (name, parent) in [("base", 0), ("arm", 1), ("hand", 2), ("leg", 1), ("foot", 4), ("mass", 0)] {
        model.bodies.push(body(name, parent, random));
    }
    let base = if floating { JointKind::Free } else { JointKind::Ball };
    model.joints = vec![
        joint("base", 1, base, random),
        joint("shoulder", 2, JointKind::Ball, random),
        joint("wrist_slide", 3, JointKind::Slide, random),
        joint("wrist_roll", 3, JointKind::Hinge, random),
        joint("wrist_pitch", 3, JointKind::Hinge, random),
        joint("hip", 4, JointKind::Hinge, random),
        joint("ankle", 5, JointKind::Hinge, random),
        joint("weight", 6, JointKind::Slide, random),
    ];
    model.actuators =
        vec![servo("hip_motor", 5, 2.0), servo("ball_motor", 1, 0.5), servo("slide_motor", 2, -1.5)];
    model.compile().unwrap()
}

/// A random state of a model: unit quaternions, moderate coordinates and velocities.
pub fn random_state(model: &Model, seed: u64) -> Vec<f64> {
    let random = &mut Random::new(seed);
    let mut q = vec![0.0; model.nq];
    for joint in &model.joints {
        let count = joint.kind.coordinates();
        for x in &mut q[joint.q..joint.q + count] {
            *x = random.uniform(-0.8, 0.8);
        }
        if count >= 4 {
            let o = orientation(random);
            q[joint.q + count - 4..joint.q + count].copy_from_slice(&[o.w, o.x, o.y, o.z]);
        }
    }
    let v = (0..model.nv).map(|_| random.uniform(-1.0, 1.0));
    q.iter().copied().chain(v.collect::<Vec<_>>()).collect()
}

/// A geom of a model.
pub fn geom(name: &str, body: usize, shape: Shape, position: Vec3<f64>, orientation: Quat<f64>) -> Geom {
    Geom { position, orientation, friction: [0.6, 0.0, 0.0], ..Geom::new(name, body, shape) }
}

/// The branching robot with a shape on every body, sunk into the ground and into each other.
pub fn touching(seed: u64) -> Model {
    let mut model = branching(seed, true);
    let shapes = [
        Shape::Box { half: Vec3::new(0.2, 0.15, 0.1) },
        Shape::Capsule { radius: 0.08, half_length: 0.15 },
        Shape::Sphere { radius: 0.12 },
        Shape::Cylinder { radius: 0.1, half_length: 0.12 },
        Shape::Capsule { radius: 0.1, half_length: 0.1 },
        Shape::Sphere { radius: 0.2 },
    ];
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::new(0.0, 0.0, -0.3), Quat::identity()));
    for (i, shape) in shapes.into_iter().enumerate() {
        let tilt = Quat::from_axis_angle(Vec3::new(0.6, 0.0, 0.8), 0.3 * i as f64);
        model.geoms.push(geom(&format!("shape{i}"), i + 1, shape, Vec3::new(0.02, -0.03, 0.01), tilt));
    }
    model.compile().unwrap()
}
