//! A pan on three servos, and a pancake of springs in it.

use std::f64::consts::TAU;
use std::fmt::Write;

use pullback_core::drive::{Driven, Knots};
use pullback_core::{ConfigError, Described};
use pullback_physics::articulated::{ContactModel, Model};
use pullback_physics::soft::mesh::disk;
use pullback_physics::soft::{Placement, SoftBody, SoftContact, SpringMaterial};
use pullback_physics::world::World;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::{Size, mesh_error};

/// Height of the pan at the start, m.
const HEIGHT: f64 = 0.5;
/// Radius of the pan, m.
const PAN: f64 = 0.2;
/// Where the servos send x (m), height (m) and tilt (rad, nose up) at the end of each segment: down with the
/// nose, up with it, then level, back and down to catch.
const TOSS: [[f64; 3]; 5] =
    [[0.0, -0.2, -0.55], [0.0, 0.25, 0.55], [-0.08, 0.1, 0.0], [-0.2, 0.0, 0.0], [-0.33, -0.1, 0.0]];
/// Seconds per segment.
const SEGMENT: f64 = 0.2;

/// The pan tosses the pancake.
pub(super) fn pancake(size: Size) -> Result<Driven<World, Knots>, ConfigError> {
    let (rings, segments) = size.pick((4, 12), (1, 4));
    let mesh = disk(rings, segments, 0.12).map_err(mesh_error)?;
    let masses = mesh.masses(0.15 / mesh.area());
    let mut body = SoftBody::new();
    body.contact = SoftContact { stiffness: 300.0, damping: 300.0, friction_slope: 1.0, radius: 0.006 };
    let place = Placement::at(0.0, 0.0, HEIGHT + 0.02);
    let part = body.add_particles("pancake", &mesh.positions, &masses, place)?;
    body.add_springs(part, &mesh.edges(), SpringMaterial { stiffness: 200.0, damping: 0.05 })?;
    let across: Vec<[usize; 2]> = mesh.hinges().iter().map(|[a, b, ..]| [*a, *b]).collect();
    body.add_springs(part, &across, SpringMaterial { stiffness: 60.0, damping: 0.05 })?;
    body.parts[part].surface = mesh.triangles;
    let world = World::new(pan(size.pick(24, 3))?, body)?;
    let controls = 0..world.layout().control.len();
    Driven::new(world, Knots::new([0.0; 3], SEGMENT, &TOSS), controls)
}

/// The pan with a rim of `pieces` boxes.
fn pan(pieces: usize) -> Result<Model, ConfigError> {
    let mut rim = String::new();
    for k in 0..pieces {
        let angle = TAU * k as f64 / pieces as f64;
        let (sin, cos) = angle.sin_cos();
        let (x, y) = (PAN * cos, PAN * sin);
        let half = 1.03 * PAN * (std::f64::consts::PI / pieces as f64).tan();
        let _ = write!(
            rim,
            "<geom name='rim_{k}' type='box' pos='{x} {y} 0.016' euler='0 0 {angle}' size='0.006 {half} 0.024'/>"
        );
    }
    let text = format!(
        "<mujoco model='pancake'>
          <compiler angle='radian'/>
          <default><geom contype='1' conaffinity='0' friction='0.4 0 0' rgba='0.25 0.27 0.3 1' mass='0'/></default>
          <worldbody>
            <geom name='ground' type='plane' size='5 5 1' contype='0' conaffinity='1' rgba='0.5 0.5 0.5 1'/>
            <body name='pan' pos='0 0 {HEIGHT}'>
              <inertial pos='0 0 0' mass='1' diaginertia='0.015 0.02 0.03'/>
              <joint name='x' type='slide' axis='1 0 0'/>
              <joint name='height' type='slide' axis='0 0 1'/>
              <joint name='tilt' type='hinge' axis='0 -1 0'/>
              <geom name='bottom' type='cylinder' size='{PAN} 0.008'/>
              {rim}
              <geom name='handle' type='capsule' fromto='-0.22 0 0.02 -0.45 0 0.06' size='0.014' contype='0'/>
            </body>
          </worldbody>
          <actuator>
            <position name='x' joint='x' kp='3000' kv='80'/>
            <position name='height' joint='height' kp='3000' kv='80'/>
            <position name='tilt' joint='tilt' kp='60' kv='1.5'/>
          </actuator>
        </mujoco>"
    );
    let model = parse_mjcf(&text, None, &ImportOptions::default());
    let mut model = model.map_err(|e| ConfigError::new(e.to_string()))?;
    model.options.contact_model = ContactModel::Penalty;
    Ok(model)
}
