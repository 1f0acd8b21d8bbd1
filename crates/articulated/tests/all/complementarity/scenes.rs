//! Robots and free bodies under the complementarity model.

use crate::robots::{geom, touching};
use pullback_articulated::constraint::set::Source;
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{
    Articulated, Body, ContactModel, Equality, EqualityKind, FrictionDirections, ImpulseScheme, Joint,
    JointKind, Model, Shape, Softness,
};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Inputs, Point, Rollout, Schedule, VectorField};
use pullback_math::{Quat, SymMat3, Vec3};

/// The touching robot under the complementarity model, with every kind of row.
pub fn constrained(seed: u64, scheme: ImpulseScheme, friction: FrictionDirections) -> Model {
    let mut model = touching(seed);
    model.options.contact_model = ContactModel::Complementarity;
    let options = &mut model.options.complementarity;
    (options.scheme, options.friction) = (scheme, friction);
    (options.erp, options.cfm, options.restitution) = (0.1, 1e-3, 0.3);
    for (i, geom) in model.geoms.iter_mut().enumerate() {
        geom.friction = [0.2 + 0.1 * i as f64, 0.0, 0.0];
        geom.margin = 0.01;
    }
    for joint in &mut model.joints {
        joint.frictionloss = 0.3;
        joint.margin = 0.05;
    }
    // The ball joint at its largest angle.
    model.joints[1].range = Some((0.0, 0.4));
    let kind = EqualityKind::Joint { joint: 5, other: Some(6), polycoef: [0.1, 0.5, -0.2, 0.3, 0.1] };
    model.equalities = vec![Equality { name: "follow".into(), kind, softness: Softness::default() }];
    model.compile().unwrap()
}

/// Free bodies under the complementarity model, without Baumgarte's push and without cfm.
pub fn world(gravity: f64) -> Model {
    let mut model = Model::new("world");
    model.options.contact_model = ContactModel::Complementarity;
    model.options.gravity = Vec3::new(0.0, 0.0, -gravity);
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm) = (0.0, 0.0);
    model
}

pub fn add_ground(model: &mut Model) {
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::zero(), Quat::identity()));
}

/// Adds a free body of 2 kg.
pub fn add_free(model: &mut Model, name: &str, shape: Shape, position: Vec3<f64>) {
    let body = model.bodies.len();
    model.bodies.push(Body {
        name: name.into(),
        parent: 0,
        position,
        mass: 2.0,
        inertia: SymMat3::identity() * 0.02,
        ..Body::default()
    });
    model.joints.push(Joint::new(format!("{name}.free"), body, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    model.geoms.push(geom(&format!("{name}.shape"), body, shape, Vec3::zero(), Quat::identity()));
}

pub const BALL: Shape = Shape::Sphere { radius: 0.1 };
pub const BRICK: Shape = Shape::Box { half: Vec3 { x: 0.2, y: 0.15, z: 0.1 } };

/// A robot that moves, with its last evaluation at hand.
pub struct Moving {
    pub system: Integrated<Articulated>,
    pub params: Vec<f64>,
    pub state: Vec<f64>,
}

impl Moving {
    pub fn new(model: Model, dt: f64) -> Self {
        let robot = Articulated::new(model.compile().unwrap()).unwrap().with_time_step(dt);
        let (params, state) = (robot.layout().params.defaults(), robot.layout().state.defaults());
        let system = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        Moving { system, params, state }
    }

    pub fn set_param(&mut self, name: &str, value: f64) {
        let place = self.system.layout().params.index_of(name).unwrap();
        self.params[place] = value;
    }

    pub fn set_state(&mut self, name: &str, values: &[f64]) {
        let places = self.system.layout().state.select(name).unwrap();
        assert_eq!(places.len(), values.len());
        places.iter().zip(values).for_each(|(place, value)| self.state[*place] = *value);
    }

    pub fn inputs(&self, steps: usize) -> Inputs<f64> {
        let controls = vec![0.0; steps * self.system.layout().control.len()];
        Inputs { state: self.state.clone(), controls, params: self.params.clone() }
    }

    /// The state at the start and after each of so many steps.
    pub fn run(&self, steps: usize) -> Vec<Vec<f64>> {
        let rollout = Rollout::new(&self.system, steps, Schedule::StoreAll).unwrap();
        let mut states = Vec::new();
        rollout
            .simulate(&mut rollout.workspace::<f64>(), &self.inputs(steps), |at| {
                states.push(at.state.to_vec());
            })
            .unwrap();
        states
    }

    /// Impulse of every row at a state, block by block, with friction of the block.
    pub fn impulses(&self, state: &[f64]) -> Vec<(Source, Vec<f64>, f64)> {
        let robot = self.system.field();
        let mut ws = VectorField::<f64>::workspace(robot);
        robot.accelerations(&mut ws, Point { params: &self.params, state, control: &[] });
        let ContactSolverWorkspace::Complementarity(found) = &ws.resolve else { panic!("another model") };
        let all = if found.set.blocks.is_empty() { &[][..] } else { found.pgs.impulses() };
        let blocks = found.set.blocks.iter().zip(&found.set.weights);
        blocks.map(|(b, w)| (b.source, all[b.row..b.row + b.dim].to_vec(), w.friction[0])).collect()
    }

    /// Momentum and energy of free bodies of 2 kg.
    pub fn momentum_and_energy(&self, state: &[f64]) -> (Vec3<f64>, f64) {
        let model = self.system.field().model();
        let (mut momentum, mut energy) = (Vec3::zero(), 0.0);
        for joint in &model.joints {
            let (q, v) = (&state[joint.q..], &state[model.nq + joint.v..]);
            let (velocity, spin) = (Vec3::new(v[0], v[1], v[2]), Vec3::new(v[3], v[4], v[5]));
            momentum += velocity * 2.0;
            energy += velocity.norm_squared() + 0.01 * spin.norm_squared();
            energy -= 2.0 * model.options.gravity.z * q[2];
        }
        (momentum, energy)
    }
}

/// Two balls, the first of which flies at the second.
pub fn two_balls(restitution: f64, aside: f64) -> Moving {
    let mut model = world(0.0);
    model.options.complementarity.restitution = restitution;
    add_free(&mut model, "first", BALL, Vec3::zero());
    add_free(&mut model, "second", BALL, Vec3::new(0.25, aside, 0.0));
    let mut moving = Moving::new(model, 1e-2);
    moving.set_state("first.free.velocity", &[1.0, 0.0, 0.0]);
    moving
}

/// A tower of bricks that are not quite straight, on the ground.
pub fn tower(bricks: usize) -> Moving {
    let mut model = world(9.81);
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm) = (0.1, 1e-4);
    add_ground(&mut model);
    for i in 0..bricks {
        let place = Vec3::new(0.013 * i as f64, -0.007 * i as f64, 0.0997 + 0.1995 * i as f64);
        add_free(&mut model, &format!("brick{i}"), BRICK, place);
    }
    for (i, geom) in model.geoms.iter_mut().enumerate() {
        geom.friction[0] = 0.5 - 0.07 * i as f64;
    }
    Moving::new(model, 5e-3)
}

/// A leg of two hinges above the ground, each with a range.
pub fn leg() -> Moving {
    let mut model = world(9.81);
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm) = (0.1, 1e-4);
    add_ground(&mut model);
    for (i, name) in ["thigh", "shank"].into_iter().enumerate() {
        model.bodies.push(Body {
            name: name.into(),
            parent: i,
            position: if i == 0 { Vec3::new(0.0, 0.0, 0.7) } else { Vec3::new(0.0, 0.0, -0.4) },
            com: Vec3::new(0.01, 0.0, -0.2),
            mass: 1.5,
            inertia: SymMat3::identity() * 0.02,
            ..Body::default()
        });
        model.joints.push(Joint {
            range: Some(if i == 0 { (-0.5, 0.6) } else { (-1.2, -0.4) }),
            damping: 0.1,
            frictionloss: 0.05,
            ..Joint::new(format!("{name}.hinge"), i + 1, JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0))
        });
    }
    let foot = Shape::Sphere { radius: 0.06 };
    model.geoms.push(geom("foot", 2, foot, Vec3::new(0.0, 0.0, -0.4), Quat::identity()));
    let mut moving = Moving::new(model, 5e-3);
    moving.set_state("thigh.hinge.q", &[0.55]);
    moving.set_state("shank.hinge.q", &[-0.5]);
    moving.set_state("thigh.hinge.v", &[2.0]);
    moving
}

/// Balls and bricks that fall on each other, with spin.
pub fn heap(gravity: f64, scheme: ImpulseScheme) -> Moving {
    let mut model = world(gravity);
    model.options.complementarity.scheme = scheme;
    if gravity > 0.0 {
        add_ground(&mut model);
    }
    for i in 0..6 {
        let place = Vec3::new(0.07 * (i % 2) as f64, 0.05 * (i % 3) as f64, 0.15 + 0.16 * i as f64);
        add_free(&mut model, &format!("body{i}"), if i % 2 == 0 { BALL } else { BRICK }, place);
    }
    let mut moving = Moving::new(model, 5e-3);
    for i in 0..6 {
        let x = i as f64;
        let fall = if gravity > 0.0 { 0.0 } else { 1.5 - 0.6 * x };
        moving.set_state(&format!("body{i}.free.velocity"), &[0.3 * x.sin(), 0.2 * x.cos(), fall]);
        moving.set_state(&format!("body{i}.free.spin"), &[x.cos(), x.sin(), 0.5 - 0.2 * x]);
    }
    moving
}
