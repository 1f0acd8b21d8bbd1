//! The arm of nine freedoms with a cloth at its fingertips, which it lifts off a table and carries aside.

use pullback_core::drive::{Driven, Knots};
use pullback_core::{ConfigError, Described, VectorField};
use pullback_math::Vec3;
use pullback_physics::articulated::{Articulated, Bias, ContactModel, Gain, Geom, Model, Shape};
use pullback_physics::soft::mesh::{Diagonals, cloth_grid};
use pullback_physics::soft::{Attachment, Cloth, Placement, SoftBody, SoftContact};
use pullback_physics::world::World;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::{Size, mesh_error};

const ARM: &str = pullback_models::ARM9;
/// Joint angles (rad) and finger openings (m) at the start.
const START: [f64; 9] = [0.0, 0.0, 0.0, -2.4, 0.0, 2.4, 0.785, 0.02, 0.02];
/// Where the servos send the joints at the end of each segment: up, further up, aside, and hold.
const LIFT: [[f64; 9]; 4] = [
    [0.0, -0.25, 0.0, -2.3, 0.0, 2.1, 0.785, 0.02, 0.02],
    [0.0, -0.45, 0.0, -2.1, 0.0, 1.75, 0.785, 0.02, 0.02],
    [0.9, -0.45, 0.0, -2.1, 0.0, 1.75, 0.785, 0.02, 0.02],
    [0.9, -0.45, 0.0, -2.1, 0.0, 1.75, 0.785, 0.02, 0.02],
];
/// Seconds per segment.
const SEGMENT: f64 = 0.6;
/// Stiffness and damping of the servos of the strong joints, the wrist and the fingers.
const SERVOS: [(f64, f64); 3] = [(2500.0, 120.0), (600.0, 30.0), (500.0, 20.0)];
/// Just below the fingertips, in the frame of the last link, m.
const GRIP: Vec3<f64> = Vec3 { x: 0.0, y: 0.0, z: -0.23 };
/// Radius of the cloth's particles, m.
const RADIUS: f64 = 0.006;

/// Arm, table and cloth.
pub(super) fn robot_cloth(size: Size) -> Result<Driven<World, Knots>, ConfigError> {
    let mut model =
        parse_mjcf(ARM, None, &ImportOptions::default()).map_err(|e| ConfigError::new(e.to_string()))?;
    model.options.contact_model = ContactModel::Penalty;
    for (k, actuator) in model.actuators.iter_mut().enumerate() {
        let (stiffness, damping) = SERVOS[if k < 4 { 0 } else { k / 7 + 1 }];
        actuator.gain = Gain::Fixed(stiffness);
        actuator.bias = Bias::Affine([0.0, -stiffness, -damping]);
        actuator.control_range = None;
    }
    let grip = grip_at_start(&model)?;

    // A table whose top is just below the cloth; the arm passes through it, the cloth does not.
    let half = 0.5 * (grip.z - RADIUS);
    model.geoms.push(Geom {
        position: Vec3::new(grip.x, grip.y, half),
        collision_bits: 0,
        collides_with: 2,
        friction: [0.3, 0.0, 0.0],
        rgba: [0.55, 0.43, 0.32, 1.0],
        ..Geom::new("table", 0, Shape::Box { half: Vec3::new(0.15, 0.15, half) })
    });

    let cells = size.pick(12, 2);
    let mesh = cloth_grid(cells, cells, 0.4, 0.4, Diagonals::Alternating).map_err(mesh_error)?;
    let mut body = SoftBody::new();
    body.contact = SoftContact { stiffness: 100.0, damping: 100.0, friction_slope: 0.5, radius: RADIUS };
    let material = Cloth {
        density: 0.3,
        mu: 150.0,
        lambda: 150.0,
        damping: 0.1,
        bending: 1e-4,
        bending_damping: 1e-6,
        lift: 0.0,
        drag: 0.5,
    };
    body.add_cloth("cloth", &mesh, material, Placement { position: grip, ..Placement::default() })?;
    body.attachments.push(Attachment {
        particle: cells / 2 * (cells + 2),
        body: "link_7".into(),
        point: GRIP,
        stiffness: 300.0,
        damping: 0.1,
    });
    let world = World::new(model, body)?;
    let controls = 0..world.layout().control.len();
    Driven::new(world, Knots::new(START, SEGMENT, &LIFT), controls)?.with_start(&START)
}

/// Where the fingertips are at the start.
fn grip_at_start(model: &Model) -> Result<Vec3<f64>, ConfigError> {
    let arm = Articulated::new(model.clone())?;
    let mut ws = VectorField::<f64>::workspace(&arm);
    ws.kinematics.update(model, arm.tree(), arm.index(), &arm.layout().params.defaults(), (&START, &[]));
    let hand = model.bodies.iter().position(|b| b.name == "link_7");
    let hand = hand.ok_or_else(|| ConfigError::new("the arm has no body `link_7`"))?;
    Ok(ws.kinematics.world_from_body[hand].point(GRIP))
}
