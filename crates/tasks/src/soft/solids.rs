//! Elastic solids: a beam, a ball and a wheel.

use std::f64::consts::FRAC_1_SQRT_2;

use pullback_core::drive::{Drive, Driven, SineNetwork};
use pullback_core::{ConfigError, Described};
use pullback_math::{Quat, Vec3};
use pullback_physics::soft::mesh::{
    Gear, Split, TetMesh, beam as beam_mesh, gear as gear_mesh, solid_icosphere,
};
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
    let mesh = wheel(size)?;
    let mut body = SoftBody::new();
    body.contact = SoftContact { radius: 0.01, ..SoftContact::default() };
    // The axis, z in the mesh, becomes −y.
    let upright = Quat::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0, 0.0);
    let placement = Placement::at(-4.0, 0.0, 2.0).turned(upright).moving(1.5, 0.0, 0.0);
    let part = body.add_solid("gear", &mesh, Solid::default(), placement)?;
    body.actuate(part, |k| k);
    let network = around(&mesh, size, 2.0, 0.0);
    let world = World::new(ground(0.5)?, body)?;
    let driven = world.layout().control.slice("activation")?.range.clone();
    Driven::new(world, network, driven)
}

/// Weights of the gear's network by which a wave of so many crests runs around it, the other way if negative: a
/// tetrahedron at angle θ has activation 0.3 tanh(gain · sin(ω t + crests · θ + phase)).
pub fn gear_wave(size: Size, crests: f64, phase: f64, gain: f64) -> Result<Vec<f64>, ConfigError> {
    let network = around(&wheel(size)?, size, crests, phase);
    Ok(network.slice().default.iter().map(|weight| gain * weight).collect())
}

fn wheel(size: Size) -> Result<TetMesh, ConfigError> {
    let full = Gear { hole_radius: 0.35, root_radius: 0.95, thickness: 0.9, ..Gear::default() };
    let small = Gear { teeth: 4, tooth_cells: 1, gap_cells: 1, depth_cells: 1, layers: 1, ..full };
    gear_mesh(&size.pick(full, small)).map_err(mesh_error)
}

/// A wave of so many crests around a wheel.
fn around(mesh: &TetMesh, size: Size, crests: f64, phase: f64) -> SineNetwork {
    let middle = |tet: &[usize; 4]| tet.iter().fold(Vec3::zero(), |sum, v| sum + mesh.positions[*v]);
    let lag = |middle: Vec3<f64>| crests * middle.y.atan2(middle.x) + phase;
    let lags: Vec<f64> = mesh.tets.iter().map(middle).map(lag).collect();
    SineNetwork::wave(0.3, 2.5, size.pick(8, 3), &lags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gear_starts_with_a_wave_of_two_crests() {
        let network = gear(Size::Small).unwrap();
        let slice = network.layout().params.slice("network.weight").unwrap();
        assert_eq!(slice.default, gear_wave(Size::Small, 2.0, 0.0, 1.0).unwrap());
        let twice = gear_wave(Size::Small, 2.0, 0.0, 2.0).unwrap();
        assert!(slice.default.iter().zip(&twice).all(|(one, two)| 2.0 * one == *two));
        assert_ne!(slice.default, gear_wave(Size::Small, -1.0, 0.0, 1.0).unwrap());
    }
}
