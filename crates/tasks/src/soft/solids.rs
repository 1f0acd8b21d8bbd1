//! Elastic solids: a beam, a ball and a wheel.

use std::f64::consts::FRAC_1_SQRT_2;

use pullback_core::drive::{Driven, SineNetwork};
use pullback_core::{ConfigError, Described};
use pullback_math::{Quat, Vec3};
use pullback_physics::soft::mesh::{Gear, Split, beam as beam_mesh, gear as gear_mesh, solid_icosphere};
use pullback_physics::soft::{Placement, SoftBody, SoftContact, Solid};
use pullback_physics::world::World;

use super::{Size, ground, mesh_error};

/// Edge of the beam's cells, m.
const CELL: f64 = 0.1;

/// A beam along x at a height of 1 m, both ends held.
pub fn beam(size: Size) -> Result<World, ConfigError> {
    let (nx, ny, nz) = size.pick((20, 2, 2), (3, 1, 1));
    let edges = Vec3::new(CELL * nx as f64, CELL * ny as f64, CELL * nz as f64);
    let mesh = beam_mesh(nx, ny, nz, edges, Split::Five).map_err(mesh_error)?;
    let mut body = SoftBody::new();
    let material = Solid { damping: 5.0, ..Solid::default() };
    let part = body.add_solid("beam", &mesh, material, Placement::at(-0.5 * edges.x, 0.0, 1.0))?;
    body.fix(part, |x| x.x.abs() > 0.5 * edges.x - 1e-6);
    World::empty(body)
}

/// A ball of radius 1 m thrown forward from a height of 2 m.
pub fn ball(size: Size) -> Result<World, ConfigError> {
    let mesh = solid_icosphere(size.pick(3, 1), 1.0).map_err(mesh_error)?;
    let mut body = SoftBody::new();
    body.add_solid("ball", &mesh, Solid::default(), Placement::at(-2.0, 0.0, 2.0).moving(2.0, 0.0, 0.0))?;
    World::new(ground(0.5)?, body)
}

/// A wheel on edge that rolls along x, a network over its tetrahedra.
pub fn gear(size: Size) -> Result<Driven<World, SineNetwork>, ConfigError> {
    let full = Gear { hole_radius: 0.35, root_radius: 0.95, thickness: 0.9, ..Gear::default() };
    let small = Gear { teeth: 4, tooth_cells: 1, gap_cells: 1, depth_cells: 1, layers: 1, ..full };
    let mesh = gear_mesh(&size.pick(full, small)).map_err(mesh_error)?;
    let mut body = SoftBody::new();
    body.contact = SoftContact { radius: 0.01, ..SoftContact::default() };
    // The axis, z in the mesh, becomes −y.
    let upright = Quat::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0, 0.0);
    let placement = Placement::at(-4.0, 0.0, 2.0).turned(upright).moving(1.5, 0.0, 0.0);
    let part = body.add_solid("gear", &mesh, Solid::default(), placement)?;
    body.actuate(part, |k| k);
    // A wave of two crests runs around the wheel.
    let middle = |tet: &[usize; 4]| tet.iter().fold(Vec3::zero(), |sum, v| sum + mesh.positions[*v]);
    let lags: Vec<f64> = mesh.tets.iter().map(middle).map(|m| 2.0 * m.y.atan2(m.x)).collect();
    let network = SineNetwork::wave(0.3, 2.5, size.pick(8, 3), &lags);
    let world = World::new(ground(0.5)?, body)?;
    let driven = world.layout().control.slice("activation")?.range.clone();
    Driven::new(world, network, driven)
}
