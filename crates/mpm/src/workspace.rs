//! [`MpmWorkspace`]: scratch of a substep, allocated once.
//!
//! Nodes take the most memory. Their number is bounded by that of the grid, and by eight blocks of 64 nodes
//! per particle. Substeps allocate nothing, however far the material spreads.

use pullback_articulated::ArticulatedWorkspace;
use pullback_articulated::geom_lanes::{GeomLanes, GeomLanesBar};
use pullback_core::{Described, Workspace};
use pullback_math::{Force, Real, Scalar, Vec3};

use super::blocks::{BLOCK_LINES, BLOCK_NODES, Blocks, node_offset};
use super::colliders::Reaction;
use super::impact::Impact;
use super::nodes::BoundingVolume;
use super::record::Record;
use super::stencil::Kernel;
use super::stress::{PairSvd, pack_pairs};
use super::system::Mpm;

/// Up to this number of particles the pullback of a substep stores their singular values: a third of a
/// megabyte in single precision. Those of more particles are computed twice.
const MAX_STORED_SVDS: usize = 4096;

/// Scratch of [`Mpm`].
#[derive(Clone, Debug, Workspace)]
pub struct MpmWorkspace<T: Scalar> {
    pub(super) robot: ArticulatedWorkspace<T>,
    /// (q, v) of the robot at the start of the substep.
    pub(super) robot_state: Vec<T>,
    pub(super) robot_state_bar: Vec<T>,
    /// (v, q̈) of a coupled robot; empty for a kinematic one, as are the next four.
    pub(super) robot_rate: Vec<T>,
    pub(super) robot_rate_bar: Vec<T>,
    /// v′ of the joints.
    pub(super) next_joint_velocities: Vec<T>,
    /// Controls of the actuators, then pushes of the material on bodies.
    pub(super) robot_control: Vec<T>,
    pub(super) robot_control_bar: Vec<T>,
    /// Of every collider of a coupled robot; empty for a kinematic one, as are the next three.
    pub(super) reactions: Vec<Reaction<T::Pack>>,
    pub(super) reaction_bars: Vec<Reaction<T::Pack>>,
    pub(super) impacts: Vec<Impact<T::Pack>>,
    pub(super) impact_bars: Vec<Impact<T::Pack>>,
    /// β of every collider; 1 for kinematic ones.
    pub(super) impulse_fractions: Vec<T::Pack>,
    pub(super) impulse_fraction_bars: Vec<T::Pack>,
    #[workspace(plain)]
    pub(super) kernel: Kernel<T>,
    pub(super) blocks: Blocks,
    /// What particles scatter and gather, in the order of the blocks; in the pullback, momenta and then their
    /// cotangents.
    pub(super) particles: Vec<Record<T>>,
    /// Singular values of the trial deformations of at most [`MAX_STORED_SVDS`] particles, group after group; in
    /// the pullback only.
    pub(super) svds: Vec<PairSvd<T>>,
    /// Momentum and mass of every node, four to a line.
    pub(super) node_momenta: Vec<Record<T>>,
    /// Velocities of the nodes, then their cotangents, as long as `node_momenta` each. The pullback of the
    /// grid operation replaces the latter by the cotangents of momentum and mass. Before there are velocities,
    /// momenta of the particles in their own order: a buffer of their own would be a quarter of the workspace.
    pub(super) node_rest: Vec<Record<T>>,
    /// What the first half of the particles adds to nodes of the second.
    pub(super) shared_nodes: Vec<Record<T>>,
    /// Offsets of the nodes of a block from its lowest node, pack by pack, in units of the grid.
    pub(super) node_offsets: Vec<Vec3<T::Pack>>,
    /// The geoms that deflect, placed once per substep.
    pub(super) colliders: Vec<GeomLanes<T::Pack>>,
    pub(super) collider_bars: Vec<GeomLanesBar<T::Pack>>,
    /// Bounding volumes of the colliders.
    pub(super) bounds: Vec<BoundingVolume>,
    /// Colliders near the current block.
    pub(super) nearby: Vec<usize>,
    /// Cotangents of the velocities of all bodies.
    pub(super) body_velocity_bars: Vec<Force<T>>,
    /// Cotangents of displacements of all bodies.
    pub(super) wrenches: Vec<Force<T>>,
}

impl<T: Scalar> MpmWorkspace<T> {
    pub(super) fn new(mpm: &Mpm) -> Self {
        let (particles, bodies) = (mpm.particles().len(), mpm.robot().model().bodies.len());
        let (c, grid) = (mpm.robot().coordinates(), mpm.grid());
        let coupled = usize::from(mpm.is_coupled());
        let (controls, geoms) = (mpm.robot().layout().control.len() * coupled, mpm.geoms.len());
        let svds = mpm.particles().groups.iter().map(|group| pack_pairs::<T>(group.count)).sum::<usize>();
        let zeros = |n: usize| vec![T::zero(); n];
        let lines = BLOCK_LINES * Blocks::max_slots(grid.nodes, particles);
        let offsets = |first: usize| {
            T::pack_vectors(|i| {
                let [x, y, z] = node_offset(first + i).map(|n| T::lit(n as f64));
                Vec3 { x, y, z }
            })
        };
        MpmWorkspace {
            robot: pullback_core::VectorField::workspace(mpm.robot()),
            robot_state: zeros(c.nq + c.nv),
            robot_state_bar: zeros(c.nq + c.nv),
            robot_rate: zeros(2 * c.nv * coupled),
            robot_rate_bar: zeros(2 * c.nv * coupled),
            next_joint_velocities: zeros(c.nv * coupled),
            robot_control: zeros(controls),
            robot_control_bar: zeros(controls),
            reactions: vec![Reaction::default(); geoms * coupled],
            reaction_bars: vec![Reaction::default(); geoms * coupled],
            impacts: vec![Impact::default(); geoms * coupled],
            impact_bars: vec![Impact::default(); geoms * coupled],
            impulse_fractions: vec![T::Pack::one(); geoms],
            impulse_fraction_bars: vec![T::Pack::zero(); geoms],
            kernel: Kernel::new(grid.spacing, grid.flat),
            blocks: Blocks::new(grid.nodes, particles),
            particles: vec![Record::default(); particles],
            svds: vec![Default::default(); if particles <= MAX_STORED_SVDS { svds } else { 0 }],
            node_momenta: vec![Record::default(); lines],
            node_rest: vec![Record::default(); particles.max(2 * lines)],
            shared_nodes: vec![Record::default(); Blocks::max_shared(grid.nodes, particles)],
            node_offsets: (0..BLOCK_NODES).step_by(T::WIDTH).map(offsets).collect(),
            colliders: vec![GeomLanes::default(); geoms],
            collider_bars: vec![GeomLanesBar::default(); geoms],
            bounds: vec![BoundingVolume::default(); geoms],
            nearby: Vec::with_capacity(geoms),
            body_velocity_bars: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
        }
    }
}
