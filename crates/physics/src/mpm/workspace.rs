//! [`MpmWorkspace`]: scratch of a substep, all of it there from the start.
//!
//! Nodes take the most memory. Their number is bounded by that of the grid and by what particles can reach: eight blocks of
//! 64 each. Substeps allocate nothing, however far the material spreads.

use pullback_core::{Described, Workspace};
use pullback_math::{Force, Real, Scalar, Vec3};

use super::blocks::{BLOCK_NODES, Blocks, node};
use super::colliders::Reaction;
use super::nodes::Bound;
use super::share::Approach;
use super::stencil::{Kernel, TILE_LENGTH};
use super::stress::{Decomposed, Handed, decompositions};
use super::system::Mpm;
use crate::articulated::ArticulatedWorkspace;
use crate::articulated::wide_geom::{WideGeom, WideGeomBar};

/// Particles whose singular values the pullback of a substep keeps: a third of a megabyte in single precision. Large clouds have
/// the rest computed twice.
const KEPT: usize = 4096;

/// Scratch of [`Mpm`].
#[derive(Clone, Debug)]
pub struct MpmWorkspace<T: Scalar> {
    pub(super) robot: ArticulatedWorkspace<T>,
    pub(super) robot_state: Vec<T>,
    pub(super) robot_bar: Vec<T>,
    /// Of coupled colliders; empty for driven ones.
    pub(super) robot_rate: Vec<T>,
    pub(super) rate_bar: Vec<T>,
    pub(super) u_next: Vec<T>,
    pub(super) robot_control: Vec<T>,
    pub(super) robot_control_bar: Vec<T>,
    pub(super) reactions: Vec<Reaction<T::Pack>>,
    pub(super) approaches: Vec<Approach<T::Pack>>,
    pub(super) approach_bars: Vec<Approach<T::Pack>>,
    /// Of all colliders; 1 for driven ones.
    pub(super) shares: Vec<T::Pack>,
    pub(super) share_bars: Vec<T::Pack>,
    pub(super) kernel: Kernel<T>,
    pub(super) blocks: Blocks,
    /// What particles hand out; in the pullback, then its cotangent.
    pub(super) handed: Vec<Handed<T>>,
    /// Singular values of the trial deformations, part after part, of the first [`KEPT`] particles; in the pullback only.
    pub(super) decomposed: Vec<Decomposed<T>>,
    pub(super) tile: Box<[T::Quad; TILE_LENGTH]>,
    pub(super) tile_bar: Box<[T::Quad; TILE_LENGTH]>,
    pub(super) momenta: Vec<T::Quad>,
    pub(super) velocities: Vec<T::Quad>,
    /// Cotangents of velocities, then of momenta.
    pub(super) bars: Vec<T::Quad>,
    /// Where the nodes of a block are in it, pack by pack.
    pub(super) places: Vec<Vec3<T::Pack>>,
    /// The geoms that deflect, placed once per substep.
    pub(super) colliders: Vec<WideGeom<T::Pack>>,
    /// Balls around them.
    pub(super) bounds: Vec<Bound>,
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
        let coupled = usize::from(mpm.is_coupled());
        let (controls, geoms) = (mpm.robot().layout().control.len() * coupled, mpm.geoms.len());
        let packs = mpm.cloud().parts.iter().map(|part| decompositions::<T>(part.count));
        let zeros = |n: usize| vec![T::zero(); n];
        let nodes = vec![T::Quad::default(); BLOCK_NODES * Blocks::most_slots(grid.nodes, particles)];
        let place = |first: usize| {
            T::pack_vectors(|i| {
                let [x, y, z] = node(first + i).map(|n| T::lit(n as f64));
                Vec3 { x, y, z }
            })
        };
        MpmWorkspace {
            robot: pullback_core::VectorField::workspace(mpm.robot()),
            robot_state: zeros(c.nq + c.nv),
            robot_bar: zeros(c.nq + c.nv),
            robot_rate: zeros(2 * c.nv * coupled),
            rate_bar: zeros(2 * c.nv * coupled),
            u_next: zeros(c.nv * coupled),
            robot_control: zeros(controls),
            robot_control_bar: zeros(controls),
            reactions: vec![Reaction::zero(); geoms * coupled],
            approaches: vec![Approach::zero(); geoms * coupled],
            approach_bars: vec![Approach::zero(); geoms * coupled],
            shares: vec![T::Pack::one(); geoms],
            share_bars: vec![T::Pack::zero(); geoms],
            kernel: Kernel::new(grid.spacing, grid.flat),
            blocks: Blocks::new(grid.nodes, particles),
            handed: vec![Default::default(); particles],
            decomposed: vec![Default::default(); packs.sum::<usize>().min(decompositions::<T>(KEPT))],
            tile: Box::new([T::Quad::default(); TILE_LENGTH]),
            tile_bar: Box::new([T::Quad::default(); TILE_LENGTH]),
            momenta: nodes.clone(),
            velocities: nodes.clone(),
            bars: nodes,
            places: (0..BLOCK_NODES).step_by(T::WIDTH).map(place).collect(),
            colliders: vec![WideGeom::default(); geoms],
            bounds: vec![Bound::zero(); geoms],
            near: Vec::with_capacity(mpm.geoms.len()),
            geom_bars: vec![WideGeomBar::default(); mpm.geoms.len()],
            velocity_bars: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
        }
    }
}

impl<T: Scalar> Workspace for MpmWorkspace<T> {
    fn heap_bytes(&self) -> usize {
        let scalars = [
            &self.robot_state,
            &self.robot_bar,
            &self.robot_rate,
            &self.rate_bar,
            &self.u_next,
            &self.robot_control,
            &self.robot_control_bar,
        ];
        let nodes = self.momenta.capacity() + self.velocities.capacity() + self.bars.capacity();
        (nodes + 2 * TILE_LENGTH) * size_of::<T::Quad>()
            + self.handed.capacity() * size_of::<Handed<T>>()
            + self.decomposed.capacity() * size_of::<Decomposed<T>>()
            + scalars.iter().map(|v| v.capacity()).sum::<usize>() * size_of::<T>()
            + self.reactions.capacity() * size_of::<Reaction<T::Pack>>()
            + (self.approaches.capacity() + self.approach_bars.capacity()) * size_of::<Approach<T::Pack>>()
            + (self.shares.capacity() + self.share_bars.capacity()) * size_of::<T::Pack>()
            + self.places.capacity() * size_of::<Vec3<T::Pack>>()
            + self.colliders.capacity() * size_of::<WideGeom<T::Pack>>()
            + self.bounds.capacity() * size_of::<Bound>()
            + self.near.capacity() * size_of::<usize>()
            + self.geom_bars.capacity() * size_of::<WideGeomBar<T::Pack>>()
            + (self.velocity_bars.capacity() + self.wrenches.capacity()) * size_of::<Force<T>>()
            + self.blocks.heap_bytes()
            + self.robot.heap_bytes()
    }
}
