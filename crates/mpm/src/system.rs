//! [`Mpm`]: one substep of the material point method as a differentiable system.
//!
//! State: coordinates of the colliders' joints and, where they are coupled, their velocities; positions, velocities, affine
//! velocities C and deformations F of all particles. Control: speed of every joint, or what drives the actuators of a coupled
//! robot. A substep reads: place the colliders; flow and stress in the particles; scatter mass and momentum to the nodes;
//! velocities on the nodes; gather them; advance the colliders. The pullback walks the same list backwards and recomputes
//! what it needs from the state, so nothing is kept but states.
//!
//! Colliders are the geoms of an articulated model; see [`colliders`](super::colliders) for how it moves.
//! BO-Leap and Rewarped take a collider's velocity from the difference of its poses; ours is that of the body
//! at the start of the substep, which differs by O(Δt).

use pullback_articulated::{Articulated, Model};
use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, ConfigError, Described, Info, Point, StepError, System};
use pullback_math::{Scalar, Vec3};

use super::cloud::{Cloud, Grid, Part, Stuff};
use super::colliders::Drive;
use super::material::{FixedCorotated, Fluid, NeoHookean, Plasticine, Sand, VonMises};
use super::stress::{Scales, decompositions, stress, stress_keeping, stress_kept_vjp};
use super::transfer::limits;
use super::view::{View, ViewMut};
use super::workspace::MpmWorkspace;

/// Particles and moving colliders.
#[derive(Clone, Debug)]
pub struct Mpm {
    pub(super) grid: Grid,
    cloud: Cloud,
    pub(super) robot: Articulated,
    pub(super) drive: Drive,
    pub(super) dt: f64,
    layout: Layout,
    /// Geoms that deflect.
    pub(super) geoms: Vec<usize>,
    /// First parameter of each part, then the floor's friction.
    parts: Vec<usize>,
    pub(super) floor: usize,
}

/// Runs `$call!(Material, count of parameters)` for the material of a part.
macro_rules! with_material {
    ($stuff:expr, $call:ident) => {
        match $stuff {
            Stuff::FixedCorotated(..) => $call!(FixedCorotated, 2),
            Stuff::NeoHookean(..) => $call!(NeoHookean, 2),
            Stuff::VonMises(..) => $call!(VonMises, 3),
            Stuff::Plasticine(..) => $call!(Plasticine, 3),
            Stuff::Fluid(..) => $call!(Fluid, 2),
            Stuff::Sand(..) => $call!(Sand, 3),
        }
    };
}

/// Name, unit and value of a part's parameters beyond its density.
fn described(stuff: Stuff) -> Vec<(&'static str, &'static str, f64)> {
    let elastic = |e, nu| vec![("young", "Pa", e), ("poisson", "1", nu)];
    match stuff {
        Stuff::FixedCorotated(e, nu) | Stuff::NeoHookean(e, nu) | Stuff::Fluid(e, nu) => elastic(e, nu),
        Stuff::VonMises(e, nu, y) | Stuff::Plasticine(e, nu, y) => {
            [elastic(e, nu), vec![("yield", "Pa", y)]].concat()
        }
        Stuff::Sand(e, nu, angle) => [elastic(e, nu), vec![("friction_angle", "rad", angle)]].concat(),
    }
}

impl Mpm {
    /// Particles in a grid among the geoms of a model whose joints the controls move, with substeps of `dt` seconds.
    pub fn new(grid: Grid, cloud: Cloud, model: Model, dt: f64) -> Result<Self, ConfigError> {
        Self::build(grid, cloud, model, dt, false)
    }

    /// Particles in a grid with a robot that pushes them and is pushed by them: gravity, springs, limits and actuators move it
    /// as they do [`Articulated`].
    pub fn coupled(grid: Grid, cloud: Cloud, model: Model, dt: f64) -> Result<Self, ConfigError> {
        Self::build(grid, cloud, model, dt, true)
    }

    fn build(grid: Grid, cloud: Cloud, model: Model, dt: f64, coupled: bool) -> Result<Self, ConfigError> {
        if !(dt > 0.0 && grid.spacing > 0.0) || grid.nodes.iter().take(2).any(|n| *n < 2 * grid.margin + 4) {
            return Err(ConfigError::new(
                "a grid needs a positive step and spacing, and nodes between its margins",
            ));
        }
        let (low, high) = limits(&grid);
        let inside = |x: &Vec3<f64>| {
            let axes = if grid.flat { 2 } else { 3 };
            [x.x, x.y, x.z].iter().take(axes).enumerate().all(|(a, x)| (low[a]..=high[a]).contains(x))
        };
        if let Some(i) = cloud.positions.iter().position(|x| !inside(x)) {
            return Err(ConfigError::new(format!(
                "particle {i} is outside the grid; move it or enlarge the grid"
            )));
        }
        let robot = Articulated::new(model)?;
        let (model, own) = (robot.model(), robot.layout());
        let nq = robot.coordinates().nq;
        let mut builder = Layout::builder();
        for slice in own.state.slices().iter().filter(|s| coupled || s.range.start < nq) {
            builder = builder.state(slice.clone());
        }
        for slice in own.control.slices().iter().filter(|_| coupled) {
            builder = builder.control(slice.clone());
        }
        for (joint, place) in model.joints.iter().zip(&robot.coordinates().joints) {
            if place.is_some() && !coupled {
                let name = format!("{}.rate", joint.name);
                builder = builder.control(Slice::new(name, joint.kind.velocities(), "1/s or m/s"));
            }
        }
        for (what, unit, len) in
            [("position", "m", 3), ("velocity", "m/s", 3), ("affine", "1/s", 9), ("deformation", "1", 9)]
        {
            for part in &cloud.parts {
                let of = part.first..part.first + part.count;
                let flat = |v: &[Vec3<f64>]| v.iter().flat_map(|v| [v.x, v.y, v.z]).collect::<Vec<f64>>();
                let values = match what {
                    "position" => flat(&cloud.positions[of]),
                    "velocity" => flat(&cloud.velocities[of]),
                    "affine" => vec![0.0; 9 * part.count],
                    _ => [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].repeat(part.count),
                };
                let slice = Slice::new(format!("{}.{what}", part.name), len * part.count, unit);
                builder = builder.state(slice.default(&values));
            }
        }
        builder = own.params.slices().iter().cloned().fold(builder, |b, s| b.param(s));
        let mut next = own.params.len();
        let mut parts = Vec::new();
        for part in &cloud.parts {
            parts.push(next);
            let density = [("density", "kg/m^3", part.density)];
            for (name, unit, value) in density.into_iter().chain(described(part.stuff)) {
                let slice = Slice::new(format!("{}.{name}", part.name), part.count, unit);
                builder = builder.param(slice.default(&[value]).bounds(0.0, f64::INFINITY));
                next += part.count;
            }
        }
        let friction = Slice::new("floor.friction", 1, "1").default(&[grid.floor_friction]);
        builder = builder.param(friction.bounds(0.0, f64::INFINITY));
        let deflects = |g: &usize| {
            model.options.contact && (model.geoms[*g].collision_bits | model.geoms[*g].collides_with) != 0
        };
        let geoms: Vec<usize> = (0..model.geoms.len()).filter(deflects).collect();
        let (robot, drive) =
            if coupled { Drive::by_forces(robot, &geoms, dt)? } else { (robot, Drive::Speeds) };
        Ok(Mpm { layout: builder.build()?, grid, cloud, drive, dt, geoms, parts, floor: next, robot })
    }

    /// The particles as they were written down.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }
    /// The box they live in.
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

    fn scales(&self, part: &Part) -> Scales {
        let push = self.dt * part.volume * 4.0 / (self.grid.spacing * self.grid.spacing);
        Scales { dt: self.dt, volume: part.volume, push }
    }

    /// Everything up to the velocities of the nodes. F′ into `deformed`; without it, for the pullback, singular values into
    /// the workspace.
    fn forward<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        control: &[T],
        deformed: Option<&mut [[T; 9]]>,
    ) {
        self.place_colliders(ws, params, at, control);
        self.in_particles(ws, params, at, deformed);
        self.to_grid(ws, at);
        self.share_out(ws, params);
        self.on_grid(ws, params);
        self.push_robot(ws, control.len());
    }

    /// Flow and stress of all parts.
    fn in_particles<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        mut deformed: Option<&mut [[T; 9]]>,
    ) {
        let mut packs = 0;
        for (part, first) in self.cloud.parts.iter().zip(&self.parts) {
            let (of, scales) = (part.first..part.first + part.count, self.scales(part));
            let (at, handed) = (at.of(of.clone()), &mut ws.handed[of.clone()]);
            let (params, kept) = (&params[*first..], ws.decomposed.get_mut(packs..).unwrap_or_default());
            packs += decompositions::<T>(part.count);
            macro_rules! run {
                ($material:ident, $p:literal) => {
                    match &mut deformed {
                        Some(f) => stress::<T, $material, $p>(params, &at, scales, Some(&mut f[of]), handed),
                        None => stress_keeping::<T, $material, $p>(params, &at, scales, kept, handed),
                    }
                };
            }
            with_material!(part.stuff, run);
        }
    }

    /// The pullback of [`Mpm::in_particles`].
    fn in_particles_vjp<T: Scalar>(
        &self,
        ws: &MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        f_bar: &[[T; 9]],
        params_bar: &mut [T],
        out: &mut ViewMut<'_, T>,
    ) {
        let mut packs = 0;
        for (part, first) in self.cloud.parts.iter().zip(&self.parts) {
            let (of, scales) = (part.first..part.first + part.count, self.scales(part));
            let (at, f_bar, handed_bar) = (at.of(of.clone()), &f_bar[of.clone()], &ws.handed[of.clone()]);
            let (params, params_bar, mut out) = (&params[*first..], &mut params_bar[*first..], out.of(of));
            let decomposed = ws.decomposed.get(packs..).unwrap_or_default();
            packs += decompositions::<T>(part.count);
            macro_rules! run {
                ($material:ident, $p:literal) => {
                    stress_kept_vjp::<T, $material, $p>(
                        params, &at, scales, decomposed, f_bar, handed_bar, params_bar, &mut out,
                    )
                };
            }
            with_material!(part.stuff, run);
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
        self.to_particles(ws, &at, &mut out);
        self.advance_colliders(ws, params, control, &mut out);
        Ok(Info::ONE)
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
        self.to_particles_vjp(ws, &at, &next_bar, &mut out);
        self.advance_colliders_vjp(ws, params, control, &next_bar, control_bar, params_bar);
        self.on_grid_vjp(ws, params, params_bar);
        self.share_out_vjp(ws, params, params_bar);
        self.geoms_vjp(ws, params, params_bar);
        self.to_grid_vjp(ws, &at, &mut out);
        self.in_particles_vjp(ws, params, &at, next_bar.f, params_bar, &mut out);
        self.place_colliders_vjp(ws, params, &at, control, &mut out, control_bar, params_bar);
        Ok(())
    }
}
