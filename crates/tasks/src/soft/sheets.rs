//! Cloths, and the flat walker.

use pullback_core::drive::{Driven, SineNetwork};
use pullback_core::{ConfigError, Described};
use pullback_math::{Quat, Vec3};
use pullback_physics::soft::mesh::{Diagonals, TriangleMesh, cloth_grid, walker_2d};
use pullback_physics::soft::{Cloth, Placement, SoftBody, SoftContact, SpringMaterial};
use pullback_physics::world::World;

use super::{Size, ground, mesh_error};

/// A cloth of `nx` × `ny` cells thrown through the air.
pub fn thrown((nx, ny): (usize, usize)) -> Result<World, ConfigError> {
    const CELL: f64 = 0.125;
    let mesh =
        cloth_grid(nx, ny, CELL * nx as f64, CELL * ny as f64, Diagonals::Parallel).map_err(mesh_error)?;
    let material =
        Cloth { mu: 100.0, lambda: 1e4, damping: 100.0, lift: 10.0, drag: 5.0, ..Cloth::default() };
    let mut body = SoftBody::new();
    // In the source a quarter turn about (1, 0.5, 0); here z is up, so a quarter turn about x follows.
    let (s, axis) = (std::f64::consts::FRAC_1_SQRT_2, Vec3::new(1.0, 0.5, 0.0).normalize());
    let source = Quat::new(s, s * axis.x, s * axis.y, 0.0);
    let upright = Quat::new(s, s, 0.0, 0.0);
    let placement = Placement::at(-5.0, 0.0, 2.5).turned(upright * source).moving(1.0, 0.0, 0.0);
    body.add_cloth("cloth", &mesh, material, placement)?;
    body.masses.fill(2.0);
    World::empty(body)
}

/// A cloth of springs, level at first, that hangs on two corners.
pub(super) fn swing(size: Size) -> Result<World, ConfigError> {
    let (cells, edge) = (size.pick(12, 3), 0.2);
    let mesh = cloth_grid(cells, cells, edge, edge, Diagonals::Alternating).map_err(mesh_error)?;
    let mut body = SoftBody::new();
    let masses = vec![0.02 / mesh.positions.len() as f64; mesh.positions.len()];
    let part = body.add_particles("cloth", &mesh.positions, &masses, Placement::at(0.0, 0.0, 0.5))?;
    let at = |i: usize, j: usize| i + (cells + 1) * j;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (i, j) in (0..=cells).flat_map(|j| (0..=cells).map(move |i| (i, j))) {
        let join = |springs: &mut Vec<[usize; 2]>, k: usize, l: usize| {
            if k <= cells && l <= cells {
                springs.push([at(i, j), at(k, l)]);
            }
        };
        join(&mut near, i + 1, j);
        join(&mut near, i, j + 1);
        join(&mut near, i + 1, j + 1);
        if i > 0 {
            join(&mut near, i - 1, j + 1);
        }
        join(&mut far, i + 2, j);
        join(&mut far, i, j + 2);
    }
    body.add_springs(part, &near, SpringMaterial { stiffness: 60.0, damping: 0.01 })?;
    body.add_springs(part, &far, SpringMaterial { stiffness: 10.0, damping: 0.01 })?;
    body.fix(part, |x| x.y > 0.5 * edge - 1e-6 && x.x.abs() > 0.5 * edge - 1e-6);
    body.parts[part].surface = mesh.triangles;
    World::empty(body)
}

/// The walker in the plane y = 0, exactly, so that nothing buckles out of it.
pub fn walker(size: Size) -> Result<Driven<World, SineNetwork>, ConfigError> {
    let mut mesh = walker_2d();
    if size == Size::Small {
        // The left foot and what is above it.
        mesh.triangles
            .retain(|t| t.iter().all(|v| mesh.positions[*v].x < -0.7 && mesh.positions[*v].y < 0.6));
        mesh = mesh.compacted();
    }
    let middle = mesh.positions.iter().map(|x| x.x).sum::<f64>() / mesh.positions.len() as f64;
    let positions = mesh.positions.iter().map(|x| Vec3::new(x.x - middle, 0.0, x.y)).collect();
    let mesh = TriangleMesh { positions, triangles: mesh.triangles };
    let mut body = SoftBody::new();
    body.contact = SoftContact { stiffness: 1e4, damping: 3e4, friction_slope: 1e3, radius: 0.01 };
    let material = Cloth { mu: 1e4, lambda: 1e4, damping: 100.0, ..Cloth::default() };
    let part = body.add_cloth("walker", &mesh, material, Placement::at(0.0, 0.0, 0.02))?;
    body.masses.fill(1.0);
    body.actuate(part, |k| k);
    // A wave of one length runs along the body.
    let middle = |t: &[usize; 3]| t.iter().map(|v| mesh.positions[*v].x).sum::<f64>() / 3.0;
    let lags: Vec<f64> = mesh.triangles.iter().map(|t| -2.5 * middle(t)).collect();
    let network = SineNetwork::wave(0.2, 20.0, 4, &lags);
    let world = World::new(ground(0.5)?, body)?;
    let driven = world.layout().control.slice("activation")?.range.clone();
    Driven::new(world, network, driven)
}
