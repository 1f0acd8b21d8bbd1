//! [`Mpm`]: one substep of the material point method as a differentiable system.
//!
//! State: coordinates of the colliders' joints and, where they are coupled, their velocities; positions,
//! velocities, affine velocities C and deformations F of all particles. Control: velocity of every joint, or
//! the controls of the actuators of a coupled robot. Stages of a substep: place the colliders; flow and
//! stress of the particles; scatter mass and momentum to the nodes (P2G); velocities on the nodes; gather
//! them (G2P); advance the colliders. The pullback runs the stages in reverse and recomputes what it needs
//! from the state, so that nothing is kept but states.
//!
//! Colliders are the geoms of an articulated model; [`colliders`](super::colliders) says how it moves.
//! BO-Leap and Rewarped take a collider's velocity from the difference of its poses; ours is that of the body
//! at the start of the substep, which differs by O(Δt).

use std::ops::Range;

use pullback_articulated::{Articulated, Model};
use pullback_core::layout::{Layout, LayoutBuilder, Section, Slice};
use pullback_core::{Bars, ConfigError, Described, Info, Point, StepError, System};
use pullback_math::{Scalar, Vec3};

use super::colliders::ColliderMotion;
use super::grid::Grid;
use super::halves::MIN_PARTICLES;
use super::material::{FixedCorotated, Fluid, Material, NeoHookean, Plasticine, Sand, VonMises};
use super::particles::{ParticleGroup, Particles};
use super::stress::{Group, Scales, Sorted, pack_pairs, stress, stress_storing_svd, stress_vjp};
use super::transfer::position_limits;
use super::view::{PARTICLE_FIELDS, View, ViewMut};
use super::workspace::MpmWorkspace;

/// Particles and moving colliders.
///
/// ```
/// use pullback_articulated::Model;
/// use pullback_core::{Described, Inputs, Rollout, Schedule};
/// use pullback_math::Vec3;
/// use pullback_mpm::particles::random_box;
/// use pullback_mpm::{Elastic, Grid, Material, Mpm, Particles};
/// // A cube of jelly falls in a unit box.
/// let mut particles = Particles::default();
/// let places = random_box(200, Vec3::new(0.5, 0.5, 0.6), Vec3::new(0.2, 0.2, 0.2), 0);
/// let jelly = Material::FixedCorotated(Elastic { young: 1e4, poisson: 0.3 });
/// particles.add("jelly", jelly, 1000.0, 0.2f64.powi(3) / 200.0, &places, Vec3::zero())?;
/// let mpm = Mpm::new(Grid::cube(16), particles, Model::new("box").compile()?, 2e-4)?;
/// let inputs = Inputs::<f64>::defaults(&mpm, 50);
/// assert!(mpm.stable_substep(&inputs.params, &inputs.state).seconds > mpm.dt());
/// let rollout = Rollout::new(&mpm, 50, Schedule::StoreAll)?;
/// let mut speed = 0.0;
/// rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| speed = mpm.split(at.state).v[0][2])?;
/// assert!((speed + 9.81 * 0.01).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mpm {
    pub(super) grid: Grid,
    particles: Particles,
    pub(super) robot: Articulated,
    pub(super) motion: ColliderMotion,
    pub(super) dt: f64,
    layout: Layout,
    /// Geoms that deflect, by their index in the model.
    pub(super) geoms: Vec<usize>,
    pub(super) index: ParamIndex,
    /// Whether a substep uses all threads of the pool that it is called from.
    pub(super) threads: bool,
}

/// Where parameters of the material and the grid are; those of the robot come first, at the places that it
/// knows.
#[derive(Clone, Debug)]
pub(super) struct ParamIndex {
    /// Of each group: one run with a number per particle for its density and for each parameter of its
    /// material.
    pub groups: Vec<Range<usize>>,
    /// Friction of the floor.
    pub floor_friction: usize,
}

const DENSITY: &str = "density";
const FLOOR_FRICTION: &str = "floor.friction";

impl ParamIndex {
    /// Looks up the slices that [`add_params`] made.
    fn new(params: &Section, particles: &Particles) -> Result<Self, ConfigError> {
        let groups = particles.groups.iter().map(|group| {
            let first = params.slice(&format!("{}.{DENSITY}", group.name))?.range.start;
            Ok(first..first + (1 + group.material.params().len()) * group.count)
        });
        let floor_friction = params.slice(FLOOR_FRICTION)?.range.start;
        Ok(ParamIndex { groups: groups.collect::<Result<_, ConfigError>>()?, floor_friction })
    }
}

/// Runs `$call!(Model)` with the constitutive model of a material.
macro_rules! with_model {
    ($material:expr, $call:ident) => {
        match $material {
            Material::FixedCorotated(_) => $call!(FixedCorotated),
            Material::NeoHookean(_) => $call!(NeoHookean),
            Material::VonMises(_) => $call!(VonMises),
            Material::Plasticine(_) => $call!(Plasticine),
            Material::Fluid(_) => $call!(Fluid),
            Material::Sand(_) => $call!(Sand),
        }
    };
}

/// Joint coordinates, and joint velocities of a coupled robot; then the particles.
fn add_state(
    mut builder: LayoutBuilder,
    robot: &Articulated,
    particles: &Particles,
    coupled: bool,
) -> LayoutBuilder {
    let nq = robot.coordinates().nq;
    for slice in robot.layout().state.slices().iter().filter(|s| coupled || s.range.start < nq) {
        builder = builder.state(slice.clone());
    }
    for field in PARTICLE_FIELDS {
        for group in &particles.groups {
            let slice =
                Slice::new(format!("{}.{}", group.name, field.name), field.len * group.count, field.unit);
            builder = builder.state(slice.default(&(field.initial)(particles, group)));
        }
    }
    builder
}

/// The actuators of a coupled robot, or the velocity of every joint.
fn add_controls(mut builder: LayoutBuilder, robot: &Articulated, coupled: bool) -> LayoutBuilder {
    if coupled {
        return robot.layout().control.slices().iter().cloned().fold(builder, LayoutBuilder::control);
    }
    for (joint, place) in robot.model().joints.iter().zip(&robot.coordinates().joints) {
        if place.is_some() {
            let name = format!("{}.rate", joint.name);
            builder = builder.control(Slice::new(name, joint.kind.velocities(), "1/s or m/s"));
        }
    }
    builder
}

/// The robot's own, then density and material of every particle, then the floor.
fn add_params(
    builder: LayoutBuilder,
    robot: &Articulated,
    particles: &Particles,
    floor_friction: f64,
) -> LayoutBuilder {
    let mut builder = robot.layout().params.slices().iter().cloned().fold(builder, LayoutBuilder::param);
    let positive = |slice: Slice, value: f64| slice.default(&[value]).bounds(0.0, f64::INFINITY);
    for group in &particles.groups {
        let density = (DENSITY, "kg/m^3", group.density);
        for (name, unit, value) in std::iter::once(density).chain(group.material.params()) {
            let slice = Slice::new(format!("{}.{name}", group.name), group.count, unit);
            builder = builder.param(positive(slice, value));
        }
    }
    builder.param(positive(Slice::new(FLOOR_FRICTION, 1, "1"), floor_friction))
}

/// Cells that the fastest wave may cross in a substep; explicit steps are stable below about one.
const MOST_CELLS_PER_STEP: f64 = 2.0;

/// Refuses a step that no scene of these materials survives: waves, or particles that fall from rest, cross cells within it.
fn check_step(grid: &Grid, particles: &Particles, model: &Model, dt: f64) -> Result<(), ConfigError> {
    let h = grid.spacing;
    for group in &particles.groups {
        let speed = (group.material.wave_modulus() / group.density).sqrt();
        if dt * speed > MOST_CELLS_PER_STEP * h {
            return Err(ConfigError::new(format!(
                "a step of {dt} s cannot be stable: waves in `{}` cross {:.1} cells of {h} m in it; use {:.0e} s or less, \
                 softer material or a coarser grid",
                group.name,
                dt * speed / h,
                0.5 * h / speed
            )));
        }
    }
    let fallen = model.options.gravity.norm() * dt * dt;
    if fallen > h {
        return Err(ConfigError::new(format!(
            "a step of {dt} s cannot be stable: particles that fall from rest cross {:.1} cells of {h} m in it; use a \
             shorter step",
            fallen / h
        )));
    }
    Ok(())
}

impl Mpm {
    /// Particles in a grid among the geoms of a model whose joints follow the controls, with substeps of `dt`
    /// seconds.
    pub fn new(grid: Grid, particles: Particles, model: Model, dt: f64) -> Result<Self, ConfigError> {
        Self::build(grid, particles, model, dt, false)
    }

    /// Particles in a grid with a robot in two-way coupling: it pushes them and is pushed by them. Gravity,
    /// springs, limits and actuators move it as they do [`Articulated`].
    pub fn coupled(grid: Grid, particles: Particles, model: Model, dt: f64) -> Result<Self, ConfigError> {
        Self::build(grid, particles, model, dt, true)
    }

    fn build(
        grid: Grid,
        particles: Particles,
        model: Model,
        dt: f64,
        coupled: bool,
    ) -> Result<Self, ConfigError> {
        if !(dt > 0.0 && dt.is_finite() && grid.spacing > 0.0)
            || grid.nodes.iter().take(2).any(|n| *n < 2 * grid.margin + 4)
        {
            return Err(ConfigError::new(
                "a grid needs a positive step and spacing, and nodes between its margins",
            ));
        }
        let (low, high) = position_limits(&grid);
        let inside = |x: &Vec3<f64>| {
            let axes = if grid.flat { 2 } else { 3 };
            [x.x, x.y, x.z].iter().take(axes).enumerate().all(|(a, x)| (low[a]..=high[a]).contains(x))
        };
        if let Some(i) = particles.positions.iter().position(|x| !inside(x)) {
            return Err(ConfigError::new(format!(
                "particle {i} is outside the grid; move it or enlarge the grid"
            )));
        }
        check_step(&grid, &particles, &model, dt)?;
        let robot = Articulated::new(model)?.without_activations("material points")?;
        let builder = add_state(Layout::builder(), &robot, &particles, coupled);
        let builder = add_controls(builder, &robot, coupled);
        let layout = add_params(builder, &robot, &particles, grid.floor_friction).build()?;
        let index = ParamIndex::new(&layout.params, &particles)?;
        let model = robot.model();
        let deflects = |g: &usize| {
            model.options.contact && (model.geoms[*g].collision_bits | model.geoms[*g].collides_with) != 0
        };
        let geoms: Vec<usize> = (0..model.geoms.len()).filter(deflects).collect();
        let (robot, motion) = if coupled {
            ColliderMotion::dynamic(robot, &geoms, dt)?
        } else {
            (robot, ColliderMotion::Kinematic)
        };
        Ok(Mpm { grid, particles, robot, motion, dt, layout, geoms, index, threads: false })
    }

    /// Lets a substep use all threads of the pool that it is called from. Below a thousand particles it
    /// would not pay, and changes nothing; the results have the same bits.
    pub fn with_threads(mut self, threads: bool) -> Self {
        self.threads = threads && self.particles.len() >= MIN_PARTICLES;
        self
    }

    /// The particles as they were built.
    pub fn particles(&self) -> &Particles {
        &self.particles
    }
    /// The background grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }
    /// The colliders.
    pub fn robot(&self) -> &Articulated {
        &self.robot
    }
    /// Seconds per substep.
    pub fn dt(&self) -> f64 {
        self.dt
    }

    fn scales(&self, group: &ParticleGroup) -> Scales {
        let stress = self.dt * group.volume * 4.0 / (self.grid.spacing * self.grid.spacing);
        Scales { dt: self.dt, volume: group.volume, stress }
    }

    /// All stages up to the velocities of the nodes. F′ into `deformed`; without it, for the pullback,
    /// singular values into the workspace.
    fn forward<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        control: &[T],
        deformed: Option<&mut [[T; 9]]>,
    ) {
        self.place_colliders(ws, params, at, control);
        self.sort_particles(ws, at);
        self.particle_stress(ws, params, at, deformed);
        self.p2g(ws, at);
        self.find_impulse_fractions(ws, params);
        self.grid_op(ws, params);
        self.push_robot(ws, control.len());
    }

    /// Flow and stress of all groups.
    fn particle_stress<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        mut deformed: Option<&mut [[T; 9]]>,
    ) {
        let mut first_svd = 0;
        for (group, block) in self.particles.groups.iter().zip(&self.index.groups) {
            let (range, scales) = (group.range(), self.scales(group));
            let (params, at) = (&params[block.clone()], at.particles(range.clone()));
            let group_at = Group { params, at, scales, threads: self.threads };
            let svds = ws.svds.get_mut(first_svd..).unwrap_or_default();
            first_svd += pack_pairs::<T>(group.count);
            let momenta = &mut ws.node_rest[range.clone()];
            macro_rules! run {
                ($model:ident) => {
                    match &mut deformed {
                        Some(f) => stress::<T, $model>(group_at, &mut f[range], momenta),
                        None => stress_storing_svd::<T, $model>(group_at, svds, momenta),
                    }
                };
            }
            with_model!(group.material, run);
        }
    }

    /// The pullback of [`Mpm::particle_stress`].
    fn particle_stress_vjp<T: Scalar>(
        &self,
        ws: &MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        f_bar: &[[T; 9]],
        params_bar: &mut [T],
        out: &mut ViewMut<'_, T>,
    ) {
        let mut first_svd = 0;
        for (group, block) in self.particles.groups.iter().zip(&self.index.groups) {
            let (range, scales) = (group.range(), self.scales(group));
            let (at, f_bar) = (at.particles(range.clone()), &f_bar[range.clone()]);
            let (params, params_bar) = (&params[block.clone()], &mut params_bar[block.clone()]);
            let group_at = Group { params, at, scales, threads: self.threads };
            let bars = Sorted { records: &ws.particles, places: &ws.blocks.places()[range.clone()] };
            let svds = ws.svds.get(first_svd..).unwrap_or_default();
            first_svd += pack_pairs::<T>(group.count);
            let out = out.particles(range);
            macro_rules! run {
                ($model:ident) => {
                    stress_vjp::<T, $model>(group_at, svds, f_bar, bars, params_bar, out)
                };
            }
            with_model!(group.material, run);
        }
    }
}

impl Described for Mpm {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Scalar> System<T> for Mpm {
    type Workspace = MpmWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        MpmWorkspace::new(self)
    }

    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, control } = at;
        let (at, mut out) = (self.split(state), self.split_mut(next));
        self.forward(ws, params, &at, control, Some(out.f));
        self.g2p(ws, &at, &mut out);
        self.advance_colliders(ws, params, control, &mut out);
        Ok(Info::one())
    }

    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (at, next_bar, mut out) = (self.split(state), self.split(next_bar), self.split_mut(state_bar));
        self.forward(ws, params, &at, control, None);
        self.g2p_vjp(ws, &next_bar);
        self.advance_colliders_vjp(ws, params, control, &next_bar, control_bar, params_bar);
        self.grid_op_vjp(ws, params, params_bar);
        self.find_impulse_fractions_vjp(ws, params, params_bar);
        self.place_geoms_vjp(ws, params, params_bar);
        self.p2g_vjp(ws, &at);
        self.particle_stress_vjp(ws, params, &at, next_bar.f, params_bar, &mut out);
        self.place_colliders_vjp(ws, params, &at, control, &mut out, control_bar, params_bar);
        Ok(())
    }
}
