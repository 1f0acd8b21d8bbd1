//! [`Mpm`]: one substep of the material point method as a differentiable system.
//!
//! State: coordinates of the colliders' joints and, where they are coupled, their velocities; positions, velocities, affine
//! velocities C and deformations F of all particles. Control: speed of every joint, or what drives the actuators of a coupled
//! robot. A substep reads: place the colliders; flow and stress in the particles; scatter mass and momentum to the nodes;
//! velocities on the nodes; gather them; advance the colliders. The pullback walks the same list backwards and recomputes
//! what it needs from the state, so nothing is kept but states.
//!
//! Colliders are the geoms of an articulated model; see [`colliders`](super::colliders) for how it moves. Papers 0 and 2 take a
//! collider's velocity from the difference of its poses; ours is that of the body at the start of the substep, which differs by
//! O(Δt).

use pullback_core::layout::{Layout, Slice};
use pullback_core::{ConfigError, Described, Info, StepError, System, Workspace};
use pullback_math::{Flat, Force, Mask, Real, Scalar, Vec3};

use super::blocks::{BLOCK_NODES, Blocks, base_of};
use super::cloud::{Cloud, Grid, Part, Stuff};
use super::colliders::{Drive, Reaction};
use super::material::{FixedCorotated, Fluid, NeoHookean, Plasticine, Sand, VonMises};
use super::share::Approach;
use super::stencil::{Affine, Stencil, TILE_NODES, gather, position_bar, scatter};
use super::stress::{Scales, stress, stress_vjp};
use crate::articulated::wide_geom::WideGeomBar;
use crate::articulated::{Articulated, ArticulatedWorkspace, Model};

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
        let (robot, drive) = if coupled { pushed(robot, &geoms, dt)? } else { (robot, Drive::Speeds) };
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

    /// q, u, x, v, C, F of a state.
    pub fn split<'a, T>(&self, state: &'a [T]) -> View<'a, T> {
        let n = self.cloud.particles();
        let (q, rest) = state.split_at(self.robot.coordinates().nq);
        let (u, rest) = rest.split_at(self.joint_velocities());
        let (x, rest) = rest.split_at(3 * n);
        let (v, rest) = rest.split_at(3 * n);
        let (c, f) = rest.split_at(9 * n);
        View { q, u, x: x.as_chunks().0, v: v.as_chunks().0, c: c.as_chunks().0, f: f.as_chunks().0 }
    }

    /// Number of joint velocities in a state.
    fn joint_velocities(&self) -> usize {
        if self.is_coupled() { self.robot.coordinates().nv } else { 0 }
    }

    fn split_mut<'a, T>(&self, state: &'a mut [T]) -> ViewMut<'a, T> {
        let n = self.cloud.particles();
        let (q, rest) = state.split_at_mut(self.robot.coordinates().nq);
        let (u, rest) = rest.split_at_mut(self.joint_velocities());
        let (x, rest) = rest.split_at_mut(3 * n);
        let (v, rest) = rest.split_at_mut(3 * n);
        let (c, f) = rest.split_at_mut(9 * n);
        ViewMut {
            q,
            u,
            x: x.as_chunks_mut().0,
            v: v.as_chunks_mut().0,
            c: c.as_chunks_mut().0,
            f: f.as_chunks_mut().0,
        }
    }

    fn scales(&self, part: &Part) -> Scales {
        let push = self.dt * part.volume * 4.0 / (self.grid.spacing * self.grid.spacing);
        Scales { dt: self.dt, volume: part.volume, push }
    }

    fn masses<'a, T: Real>(&'a self, params: &'a [T]) -> impl Fn(usize) -> T + 'a {
        move |p: usize| {
            let part = self.cloud.parts.iter().position(|s| p < s.first + s.count).unwrap_or(0);
            let Part { first, volume, .. } = self.cloud.parts[part];
            params[self.parts[part] + p - first] * T::lit(volume)
        }
    }

    /// Everything up to the velocities of the nodes; F′ into `deformed`.
    fn forward<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        state: &[T],
        control: &[T],
        deformed: &mut [[T; 9]],
    ) {
        self.place_colliders(ws, params, state, control);
        let at = self.split(state);
        for (part, first) in self.cloud.parts.iter().zip(&self.parts) {
            let (of, scales) = (part.first..part.first + part.count, self.scales(part));
            let (c, f) = (&at.c[of.clone()], &at.f[of.clone()]);
            let (next, affine) = (&mut deformed[of.clone()], &mut ws.affine[of]);
            macro_rules! run {
                ($material:ident, $p:literal) => {
                    stress::<T, $material, $p>(&params[*first..], c, f, scales, next, affine)
                };
            }
            with_material!(part.stuff, run);
        }

        let top = self.grid.nodes.map(|n| n as i32 - 3);
        ws.blocks.build(at.x.len(), |p| {
            let base = base_of(vector(at.x[p]), self.grid.spacing);
            std::array::from_fn(|a| base[a].clamp(0, top[a].max(0)))
        });
        self.to_grid(ws, params, &at);
        self.share_out(ws, params);
        self.on_grid(ws, params);
        self.push_robot(ws, control.len());
    }

    /// Scatters mass and momentum, and collects them at the nodes.
    fn to_grid<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T], at: &View<'_, T>) {
        let MpmWorkspace { blocks, tiles, momenta, affine, .. } = ws;
        let mass = self.masses(params);
        let count = blocks.tiles.len();
        tiles.resize(tiles.len().max(count * TILE_NODES), T::Quad::default());
        for tile in 0..count {
            let nodes = &mut tiles[tile * TILE_NODES..][..TILE_NODES];
            nodes.fill(T::Quad::default());
            for p in blocks.particles(tile) {
                let p = *p as usize;
                let stencil = self.stencil(at.x[p]);
                scatter::<T>(nodes, &stencil, handed_out(mass(p), at.v[p], affine[p]));
            }
        }
        let slots = blocks.nodes.len();
        momenta.resize(momenta.len().max(slots * BLOCK_NODES), T::Quad::default());
        for slot in 0..slots {
            blocks.collect::<T>(slot, tiles, &mut momenta[slot * BLOCK_NODES..][..BLOCK_NODES]);
        }
    }

    #[inline(always)]
    fn stencil<T: Scalar>(&self, x: [T; 3]) -> Stencil<T> {
        Stencil::new(vector(x), self.grid.spacing, self.grid.flat)
    }
}

/// q, u, x, v, C, F of a state.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// Coordinates of the colliders' joints.
    pub q: &'a [T],
    /// Velocities of the joints of coupled colliders; empty for driven ones.
    pub u: &'a [T],
    /// Positions, m.
    pub x: &'a [[T; 3]],
    /// Velocities, m/s.
    pub v: &'a [[T; 3]],
    /// Affine velocities column by column, 1/s.
    pub c: &'a [[T; 9]],
    /// Deformations column by column.
    pub f: &'a [[T; 9]],
}

struct ViewMut<'a, T> {
    q: &'a mut [T],
    u: &'a mut [T],
    x: &'a mut [[T; 3]],
    v: &'a mut [[T; 3]],
    c: &'a mut [[T; 9]],
    f: &'a mut [[T; 9]],
}

/// A robot whose bodies with geoms that deflect are pushed by the material.
fn pushed(robot: Articulated, geoms: &[usize], dt: f64) -> Result<(Articulated, Drive), ConfigError> {
    let model = robot.model();
    let mut bodies: Vec<usize> = geoms.iter().map(|g| model.geoms[*g].body).filter(|b| *b != 0).collect();
    bodies.sort_unstable();
    bodies.dedup();
    let pushes = geoms.iter().map(|g| bodies.iter().position(|b| *b == model.geoms[*g].body)).collect();
    let names: Vec<String> = bodies.iter().map(|b| model.bodies[*b].name.clone()).collect();
    let implicit = model.options.implicit_damping;
    let robot = robot.with_pushes(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let robot = if implicit { robot.with_implicit_damping(dt) } else { robot };
    Ok((robot, Drive::Forces { pushes }))
}

/// Smallest and largest place that a particle may take along each axis, m.
fn limits(grid: &Grid) -> ([f64; 3], [f64; 3]) {
    ([grid.spacing; 3], grid.nodes.map(|n| (n as f64 - 2.0) * grid.spacing))
}

#[inline(always)]
fn vector<T: Real>([x, y, z]: [T; 3]) -> Vec3<T> {
    Vec3 { x, y, z }
}

/// (m v, m) and its gradient A: what a particle hands out.
#[inline(always)]
fn handed_out<T: Scalar>(m: T, v: [T; 3], a: [T; 9]) -> Affine<T::Quad> {
    let column = |c: usize| T::quad([a[c], a[c + 1], a[c + 2], T::zero()]);
    Affine { value: T::quad([m * v[0], m * v[1], m * v[2], m]), columns: [column(0), column(3), column(6)] }
}

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
    pub(super) blocks: Blocks,
    affine: Vec<[T; 9]>,
    affine_bar: Vec<[T; 9]>,
    deformed: Vec<[T; 9]>,
    pub(super) tiles: Vec<T::Quad>,
    tile: Vec<T::Quad>,
    pub(super) momenta: Vec<T::Quad>,
    pub(super) velocities: Vec<T::Quad>,
    pub(super) bars: Vec<T::Quad>,
    pub(super) geom_bars: Vec<WideGeomBar<T::Pack>>,
    pub(super) velocity_bars: Vec<Force<T>>,
    pub(super) wrenches: Vec<Force<T>>,
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
        let quads = [&self.tiles, &self.tile, &self.momenta, &self.velocities, &self.bars];
        quads.iter().map(|q| q.capacity()).sum::<usize>() * size_of::<T::Quad>()
            + (self.affine.capacity() + self.affine_bar.capacity() + self.deformed.capacity())
                * size_of::<[T; 9]>()
            + scalars.iter().map(|v| v.capacity()).sum::<usize>() * size_of::<T>()
            + self.reactions.capacity() * size_of::<Reaction<T::Pack>>()
            + (self.approaches.capacity() + self.approach_bars.capacity()) * size_of::<Approach<T::Pack>>()
            + (self.shares.capacity() + self.share_bars.capacity()) * size_of::<T::Pack>()
            + self.geom_bars.capacity() * size_of::<WideGeomBar<T::Pack>>()
            + (self.velocity_bars.capacity() + self.wrenches.capacity()) * size_of::<Force<T>>()
            + self.blocks.heap_bytes()
            + self.robot.heap_bytes()
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
        let (n, bodies) = (self.cloud.particles(), self.robot.model().bodies.len());
        let c = self.robot.coordinates();
        let (coupled, controls) = (usize::from(self.is_coupled()), self.robot.layout().control.len());
        let zeros = |n: usize| vec![T::zero(); n];
        MpmWorkspace {
            robot: pullback_core::VectorField::workspace(&self.robot),
            robot_state: zeros(c.nq + c.nv),
            robot_bar: zeros(c.nq + c.nv),
            robot_rate: zeros(2 * c.nv * coupled),
            rate_bar: zeros(2 * c.nv * coupled),
            u_next: zeros(c.nv * coupled),
            robot_control: zeros(controls * coupled),
            robot_control_bar: zeros(controls * coupled),
            reactions: vec![Reaction::zero(); self.geoms.len() * coupled],
            approaches: vec![Approach::zero(); self.geoms.len() * coupled],
            approach_bars: vec![Approach::zero(); self.geoms.len() * coupled],
            shares: vec![T::Pack::one(); self.geoms.len()],
            share_bars: vec![T::Pack::zero(); self.geoms.len()],
            blocks: Blocks::new(self.grid.nodes, n),
            affine: vec![[T::zero(); 9]; n],
            affine_bar: vec![[T::zero(); 9]; n],
            deformed: vec![[T::zero(); 9]; n],
            tiles: Vec::new(),
            tile: vec![T::Quad::default(); TILE_NODES],
            momenta: Vec::new(),
            velocities: Vec::new(),
            bars: Vec::new(),
            geom_bars: vec![WideGeomBar::zero(); self.geoms.len()],
            velocity_bars: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
        }
    }

    fn step(
        &self,
        ws: &mut Self::Workspace,
        params: &[T],
        state: &[T],
        control: &[T],
        next: &mut [T],
    ) -> Result<Info, StepError> {
        let out = self.split_mut(next);
        self.forward(ws, params, state, control, out.f);
        let at = self.split(state);
        let (dt, four) = (T::lit(self.dt), T::lit(4.0 / (self.grid.spacing * self.grid.spacing)));
        self.advance_colliders(ws, params, control, (out.q, out.u));
        let (low, high) = limits(&self.grid);
        for tile in 0..ws.blocks.tiles.len() {
            ws.blocks.spread::<T>(tile, &ws.velocities, &mut ws.tile);
            for p in ws.blocks.particles(tile) {
                let p = *p as usize;
                let got = gather::<T>(&ws.tile, &self.stencil(at.x[p]));
                let v = T::quad_vector(got.value);
                out.v[p] = [v.x, v.y, v.z];
                for (a, column) in got.columns.iter().enumerate() {
                    let c = T::quad_vector(*column) * four;
                    out.c[p][3 * a..3 * a + 3].copy_from_slice(&[c.x, c.y, c.z]);
                    let moved = at.x[p][a] + dt * out.v[p][a];
                    out.x[p][a] = moved.max(T::lit(low[a])).min(T::lit(high[a]));
                }
                if self.grid.flat {
                    out.x[p][2] = at.x[p][2];
                }
            }
        }
        Ok(Info::ONE)
    }

    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        params: &[T],
        state: &[T],
        control: &[T],
        next_bar: &[T],
        state_bar: &mut [T],
        control_bar: &mut [T],
        params_bar: &mut [T],
    ) -> Result<(), StepError> {
        let mut deformed = std::mem::take(&mut ws.deformed);
        self.forward(ws, params, state, control, &mut deformed);
        ws.deformed = deformed;
        let (at, next_bar) = (self.split(state), self.split(next_bar));
        let out = self.split_mut(state_bar);
        let (dt, four) = (T::lit(self.dt), T::lit(4.0 / (self.grid.spacing * self.grid.spacing)));
        let (low, high) = limits(&self.grid);
        let mass = self.masses(params);

        // Gather: v̄ of nodes from v̄′, C̄′ and x̄′ of particles.
        for tile in 0..ws.blocks.tiles.len() {
            ws.blocks.spread::<T>(tile, &ws.velocities, &mut ws.tile);
            let nodes_bar = &mut ws.tiles[tile * TILE_NODES..][..TILE_NODES];
            nodes_bar.fill(T::Quad::default());
            for p in ws.blocks.particles(tile) {
                let p = *p as usize;
                let stencil = self.stencil(at.x[p]);
                let got = gather::<T>(&ws.tile, &stencil);
                let v = T::entries(got.value);
                let mut v_bar = vector(next_bar.v[p]);
                let mut moved_bar = vector(next_bar.x[p]);
                for (a, bar) in [&mut moved_bar.x, &mut moved_bar.y, &mut moved_bar.z].into_iter().enumerate()
                {
                    let moved = at.x[p][a] + dt * v[a];
                    let held = moved.lt(T::lit(low[a])).any() || moved.gt(T::lit(high[a])).any();
                    if held && !(self.grid.flat && a == 2) {
                        *bar = T::zero();
                    }
                }
                moved_bar.add_to(&mut out.x[p]);
                if self.grid.flat {
                    moved_bar.z = T::zero();
                }
                v_bar += moved_bar * dt;
                let c = next_bar.c[p];
                let column = |a: usize| T::vector_quad(Vec3::new(c[a], c[a + 1], c[a + 2]) * four);
                let what =
                    Affine { value: T::vector_quad(v_bar), columns: [column(0), column(3), column(6)] };
                scatter::<T>(nodes_bar, &stencil, what);
                position_bar::<T>(&ws.tile, &stencil, what, got.value).add_to(&mut out.x[p]);
            }
        }

        let joints_bar = (next_bar.q, next_bar.u);
        self.advance_colliders_vjp(ws, params, control, joints_bar, control_bar, params_bar);
        self.on_grid_vjp(ws, params, params_bar);
        self.share_out_vjp(ws, params, params_bar);
        self.geoms_vjp(ws, params, params_bar);

        // Scatter: cotangents of m v, m and A from those of the nodes.
        for tile in 0..ws.blocks.tiles.len() {
            ws.blocks.spread::<T>(tile, &ws.bars, &mut ws.tile);
            for p in ws.blocks.particles(tile) {
                let p = *p as usize;
                let stencil = self.stencil(at.x[p]);
                let got = gather::<T>(&ws.tile, &stencil);
                let m = mass(p);
                let what = handed_out(m, at.v[p], ws.affine[p]);
                position_bar::<T>(&ws.tile, &stencil, what, got.value).add_to(&mut out.x[p]);
                let [x, y, z, m_bar] = T::entries(got.value);
                let p_bar = Vec3::new(x, y, z);
                (p_bar * m).add_to(&mut out.v[p]);
                let part = self.cloud.parts.iter().position(|s| p < s.first + s.count).unwrap_or(0);
                let Part { first, volume, .. } = self.cloud.parts[part];
                params_bar[self.parts[part] + p - first] +=
                    (vector(at.v[p]).dot(p_bar) + m_bar) * T::lit(volume);
                for (a, column) in got.columns.iter().enumerate() {
                    let c = T::quad_vector(*column);
                    ws.affine_bar[p][3 * a..3 * a + 3].copy_from_slice(&[c.x, c.y, c.z]);
                }
            }
        }

        // Flow and stress.
        for (part, first) in self.cloud.parts.iter().zip(&self.parts) {
            let (of, scales) = (part.first..part.first + part.count, self.scales(part));
            let (c, f) = (&at.c[of.clone()], &at.f[of.clone()]);
            let (f_bar, a_bar) = (&next_bar.f[of.clone()], &ws.affine_bar[of.clone()]);
            let (c_out, f_out) = (&mut out.c[of.clone()], &mut out.f[of]);
            macro_rules! run {
                ($material:ident, $p:literal) => {
                    stress_vjp::<T, $material, $p>(
                        &params[*first..],
                        c,
                        f,
                        scales,
                        f_bar,
                        a_bar,
                        &mut params_bar[*first..],
                        c_out,
                        f_out,
                    )
                };
            }
            with_material!(part.stuff, run);
        }

        let joints_out = (out.q, out.u);
        self.place_colliders_vjp(ws, params, state, control, joints_out, control_bar, params_bar);
        Ok(())
    }
}
