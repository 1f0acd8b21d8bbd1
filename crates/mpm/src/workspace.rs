//! [`MpmWorkspace`]: scratch of a substep, allocated once.
//!
//! Nodes take the most memory. Their number is bounded by that of the grid, and by eight blocks of 64 nodes
//! per particle. Substeps allocate nothing, however far the material spreads.

use pullback_articulated::ArticulatedWorkspace;
use pullback_articulated::geom_lanes::{GeomLanes, GeomLanesBar};
use pullback_core::{Described, Workspace};
use pullback_math::{Force, Real, Scalar, Vec3};

use super::blocks::{BLOCK_NODES, Blocks, node_offset};
use super::colliders::Reaction;
use super::impact::Impact;
use super::nodes::BoundingVolume;
use super::stencil::{Kernel, TILE_LENGTH};
use super::stress::{AffineMomentum, PairSvd, pack_pairs};
use super::system::Mpm;

/// Particles whose singular values the pullback of a substep stores: a third of a megabyte in single
/// precision. Those of further particles are computed twice.
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
    /// Momenta of the particles. The pullback of P2G replaces each by its cotangent: a second buffer would be
    /// a quarter of the workspace.
    pub(super) particle_momenta: Vec<AffineMomentum<T>>,
    /// Singular values of the trial deformations of the first [`MAX_STORED_SVDS`] particles, group after
    /// group; in the pullback only.
    pub(super) svds: Vec<PairSvd<T>>,
    pub(super) tile: Box<[T::Quad; TILE_LENGTH]>,
    pub(super) tile_bar: Box<[T::Quad; TILE_LENGTH]>,
    /// Momentum and mass of every node.
    pub(super) node_momenta: Vec<T::Quad>,
    pub(super) node_velocities: Vec<T::Quad>,
    /// Cotangents of the nodes: of velocities up to the pullback of the grid operation, which replaces each
    /// by that of momentum and mass.
    pub(super) node_bars: Vec<T::Quad>,
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
        let nodes = vec![T::Quad::default(); BLOCK_NODES * Blocks::max_slots(grid.nodes, particles)];
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
            particle_momenta: vec![Default::default(); particles],
            svds: vec![Default::default(); svds.min(pack_pairs::<T>(MAX_STORED_SVDS))],
            tile: Box::new([T::Quad::default(); TILE_LENGTH]),
            tile_bar: Box::new([T::Quad::default(); TILE_LENGTH]),
            node_momenta: nodes.clone(),
            node_velocities: nodes.clone(),
            node_bars: nodes,
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
