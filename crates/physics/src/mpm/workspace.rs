//! [`MpmWorkspace`]: scratch of a substep, all of it there from the start.
//!
//! Nodes take the most memory. Their number is bounded by that of the grid and by what particles can reach: eight blocks of
//! 64 each. Substeps allocate nothing, however far the material spreads.

use pullback_core::Workspace;
use pullback_math::{Force, Scalar, Vec3};

use super::blocks::{BLOCK_NODES, Blocks, node};
use super::stencil::{Kernel, TILE_LENGTH};
use super::stress::Handed;
use super::system::Mpm;
use crate::articulated::ArticulatedWorkspace;
use crate::articulated::wide_geom::WideGeomBar;

/// Scratch of [`Mpm`].
#[derive(Clone, Debug)]
pub struct MpmWorkspace<T: Scalar> {
    pub(super) robot: ArticulatedWorkspace<T>,
    pub(super) robot_state: Vec<T>,
    pub(super) robot_bar: Vec<T>,
    pub(super) kernel: Kernel<T>,
    pub(super) blocks: Blocks,
    /// What particles hand out; in the pullback, then its cotangent.
    pub(super) handed: Vec<Handed<T>>,
    pub(super) tile: Box<[T::Quad; TILE_LENGTH]>,
    pub(super) tile_bar: Box<[T::Quad; TILE_LENGTH]>,
    pub(super) momenta: Vec<T::Quad>,
    pub(super) velocities: Vec<T::Quad>,
    /// Cotangents of velocities, then of momenta.
    pub(super) bars: Vec<T::Quad>,
    /// Where the nodes of a block are in it, pack by pack.
    pub(super) places: Vec<Vec3<T::Pack>>,
    /// Geoms near a block.
    pub(super) near: Vec<usize>,
    pub(super) geom_bars: Vec<WideGeomBar<T::Pack>>,
    pub(super) velocity_bars: Vec<Force<T>>,
    pub(super) wrenches: Vec<Force<T>>,
}

impl<T: Scalar> MpmWorkspace<T> {
    pub(super) fn new(mpm: &Mpm) -> Self {
        let (particles, bodies) = (mpm.cloud().particles(), mpm.robot().model().bodies.len());
        let (c, grid) = (mpm.robot().coordinates(), mpm.grid());
        let nodes = vec![T::Quad::default(); BLOCK_NODES * Blocks::most_slots(grid.nodes, particles)];
        let place = |first: usize| {
            T::pack_vectors(|i| {
                let [x, y, z] = node(first + i).map(|n| T::lit(n as f64));
                Vec3 { x, y, z }
            })
        };
        MpmWorkspace {
            robot: pullback_core::VectorField::workspace(mpm.robot()),
            robot_state: vec![T::zero(); c.nq + c.nv],
            robot_bar: vec![T::zero(); c.nq + c.nv],
            kernel: Kernel::new(grid.spacing, grid.flat),
            blocks: Blocks::new(grid.nodes, particles),
            handed: vec![Default::default(); particles],
            tile: Box::new([T::Quad::default(); TILE_LENGTH]),
            tile_bar: Box::new([T::Quad::default(); TILE_LENGTH]),
            momenta: nodes.clone(),
            velocities: nodes.clone(),
            bars: nodes,
            places: (0..BLOCK_NODES).step_by(T::WIDTH).map(place).collect(),
            near: Vec::with_capacity(mpm.geoms.len()),
            geom_bars: vec![WideGeomBar::zero(); mpm.geoms.len()],
            velocity_bars: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
        }
    }
}

impl<T: Scalar> Workspace for MpmWorkspace<T> {
    fn heap_bytes(&self) -> usize {
        let nodes = self.momenta.capacity() + self.velocities.capacity() + self.bars.capacity();
        (nodes + 2 * TILE_LENGTH) * size_of::<T::Quad>()
            + self.handed.capacity() * size_of::<Handed<T>>()
            + (self.robot_state.capacity() + self.robot_bar.capacity()) * size_of::<T>()
            + self.places.capacity() * size_of::<Vec3<T::Pack>>()
            + self.near.capacity() * size_of::<usize>()
            + self.geom_bars.capacity() * size_of::<WideGeomBar<T::Pack>>()
            + (self.velocity_bars.capacity() + self.wrenches.capacity()) * size_of::<Force<T>>()
            + self.blocks.heap_bytes()
            + self.robot.heap_bytes()
    }
}
