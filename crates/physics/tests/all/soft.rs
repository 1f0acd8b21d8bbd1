//! Small soft worlds that several tests use.

use pullback_core::random::Random;
use pullback_core::{Described, FieldShape};
use pullback_math::{Quat, SymMat3, Vec3};
use pullback_physics::articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::soft::mesh::{Diagonals, Split, TetMesh, TriangleMesh, box_grid, cloth_grid};
use pullback_physics::soft::{Cloth, Placement, SoftBody, Solid, SolidLaw};
use pullback_physics::world::World;

pub fn geom(name: &str, body: usize, shape: Shape, position: Vec3<f64>) -> Geom {
    Geom { position, friction: [0.5, 0.0, 0.0], ..Geom::new(name, body, shape) }
}

/// A ground plane.
pub fn ground() -> Model {
    let mut model = Model::new("ground");
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::zero()));
    model.compile().unwrap()
}

/// A ground plane and a body that slides up and down and turns about y, with the shape given.
pub fn paddle(shape: Shape) -> Model {
    let mut model = Model::new("paddle");
    model.bodies.push(Body {
        name: "paddle".into(),
        parent: 0,
        position: Vec3::new(0.0, 0.0, 0.5),
        orientation: Quat::identity(),
        mass: 0.7,
        com: Vec3::new(0.02, 0.0, 0.01),
        inertia: SymMat3::identity() * 0.01,
        ..Body::default()
    });
    let joint = |name: &str, kind, axis| Joint { damping: 0.1, ..Joint::new(name, 1, kind, axis) };
    model.joints.push(joint("lift", JointKind::Slide, Vec3::new(0.0, 0.0, 1.0)));
    model.joints.push(joint("turn", JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0)));
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::zero()));
    model.geoms.push(geom("paddle", 1, shape, Vec3::new(0.01, 0.0, 0.0)));
    model.compile().unwrap()
}

pub fn small_box() -> TetMesh {
    box_grid(2, 1, 1, Vec3::new(0.2, 0.1, 0.1), Split::Five).unwrap()
}

pub fn small_cloth() -> TriangleMesh {
    cloth_grid(3, 2, 0.3, 0.2, Diagonals::Alternating).unwrap()
}

/// A solid of every law, each of two cells.
pub fn solid(law: SolidLaw, placement: Placement) -> SoftBody {
    let mut body = SoftBody::new();
    let part = body
        .add_solid("block", &small_box(), Solid { law, density: 100.0, ..Solid::default() }, placement)
        .unwrap();
    body.actuate(part, |k| k / 2);
    body
}

/// A cloth with everything cloth has.
pub fn cloth(placement: Placement) -> SoftBody {
    let mut body = SoftBody::new();
    let material = Cloth {
        mu: 100.0,
        lambda: 80.0,
        damping: 0.1,
        bending: 0.03,
        bending_damping: 1e-4,
        lift: 1.0,
        drag: 0.7,
        ..Cloth::default()
    };
    let part = body.add_cloth("cloth", &small_cloth(), material, placement).unwrap();
    body.actuate(part, |k| k % 3);
    body
}

/// Default state, controls and parameters, each shaken a little.
pub fn shaken(world: &World, seed: u64, by: f64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let layout = world.layout();
    let mut state = layout.state.defaults();
    let velocities = state.len() - world.velocities().unwrap();
    for (i, x) in state.iter_mut().enumerate() {
        *x += random.normal() * if i < velocities { by } else { 0.3 };
    }
    // Streams of their own, so that a new parameter does not move the state onto a kink.
    let mut random = Random::new(seed + 1000);
    let control = layout.control.defaults().iter().map(|_| 0.05 * random.normal()).collect();
    let params = layout.params.defaults();
    let params = params.iter().map(|p| {
        if *p == 0.0 { 0.03 * random.normal() } else { p * (1.0 + 0.1 * random.uniform(-1.0, 1.0)) }
    });
    (state, control, params.collect())
}
