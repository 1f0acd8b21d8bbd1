//! [`Smoke`]: one step of stable fluids (Stam 1999) as a differentiable system.
//!
//! State: velocities at the lower faces of all cells, axis by axis, and the density of smoke at their centers.
//! Velocities are staggered because then the divergence that the projection removes is the one that moves
//! smoke, and no checkerboard of pressures goes unseen. The lower face at a wall and faces of solid cells are
//! closed: what the state says there is not read, and comes out as zero.
//!
//! Stages of a step: source; advection of density and velocities; buoyancy, vorticity confinement, viscosity
//! and damping; projection. The projection comes last, so a pullback needs none of its results: it takes one
//! solve, as the step does.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, ConfigError, Described, Info, Point, SolverInfo, StepError, System};
use pullback_math::Scalar;

use super::advection::Mover;
use super::buoyancy::{add_buoyancy, add_buoyancy_vjp, rise_vjp};
use super::conjugate_gradients::{SolveTolerance, Solved, Solver};
use super::grid::Grid;
use super::padded::{Padded, Place};
use super::pressure::{clear, project};
use super::settings::Settings;
use super::trace::Tracer;
use super::viscosity::{add_viscosity, add_viscosity_vjp, kept_vjp, scale, scale_vjp};
use super::vorticity::{add_confinement, add_confinement_vjp};
use super::workspace::SmokeWorkspace;

/// Smoke in a grid.
#[derive(Clone, Debug)]
pub struct Smoke<const D: usize> {
    grid: Grid<D>,
    settings: Settings,
    dt: f64,
    /// Share of the source's rate in each cell; empty without a source.
    source: Vec<f64>,
    layout: Layout,
    index: ParamIndex,
    pub(crate) padded: Padded<D>,
    /// Padded entries of closed faces, axis by axis, and of solid cells.
    closed: [Vec<u32>; D],
    solid: Vec<u32>,
}

/// Where the parameters of effects are.
#[derive(Clone, Copy, Debug, Default)]
struct ParamIndex {
    buoyancy: Option<usize>,
    viscosity: Option<usize>,
    damping: Option<usize>,
    dissipation: Option<usize>,
    confinement: Option<usize>,
    source: Option<usize>,
}

/// Name of the density in the state.
pub const DENSITY: &str = "density";

impl<const D: usize> Smoke<D> {
    /// Smoke at rest in a grid, with steps of `dt` seconds.
    pub fn new(grid: Grid<D>, settings: Settings, dt: f64) -> Result<Self, ConfigError> {
        Self::with_source(grid, settings, dt, Vec::new(), 0.0)
    }

    /// The same with a source: smoke appears in every cell at its share of a rate, 1/s.
    pub fn with_source(
        grid: Grid<D>,
        settings: Settings,
        dt: f64,
        source: Vec<f64>,
        rate: f64,
    ) -> Result<Self, ConfigError> {
        grid.check()?;
        if !(dt.is_finite() && dt > 0.0) {
            return Err(ConfigError::new(format!("a step must take a positive time, got {dt} s")));
        }
        if !source.is_empty() && source.len() != grid.len() {
            let (given, cells) = (source.len(), grid.len());
            return Err(ConfigError::new(format!("a source needs a share per cell: {cells}, not {given}")));
        }
        let SolveTolerance { relative, iterations } = settings.pressure;
        if !(relative > 0.0 && relative < 1.0) || iterations == 0 {
            return Err(ConfigError::new(format!(
                "a solve needs a tolerance between 0 and 1 and iterations, got {relative} and {iterations}"
            )));
        }
        let padded = Padded::of(&grid);
        let (layout, index) = layout(&grid, &settings, dt, (!source.is_empty()).then_some(rate))?;
        let closed = std::array::from_fn(|a| closed_faces(&grid, &padded, a));
        let solid = (0..grid.len()).filter(|i| grid.is_solid(*i)).map(|i| padded.index(i) as u32).collect();
        Ok(Smoke { grid, settings, dt, source, layout, index, padded, closed, solid })
    }

    /// The grid.
    pub fn grid(&self) -> &Grid<D> {
        &self.grid
    }
    /// The effects.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// Seconds per step.
    pub fn dt(&self) -> f64 {
        self.dt
    }
    /// The densities of all cells in a state.
    pub fn density<'a, T>(&self, state: &'a [T]) -> &'a [T] {
        &state[D * self.grid.len()..]
    }
    /// The velocities in a state, axis by axis.
    pub fn velocity<'a, T>(&self, state: &'a [T]) -> [&'a [T]; D] {
        let n = self.grid.len();
        std::array::from_fn(|a| &state[a * n..(a + 1) * n])
    }
    /// Whether the lower face of cell `i` along an axis is open.
    pub fn is_open(&self, axis: usize, i: usize) -> bool {
        self.closed[axis].binary_search(&(self.padded.index(i) as u32)).is_err()
    }

    /// Padded entries of closed faces, axis by axis.
    pub(crate) fn closed(&self) -> &[Vec<u32>; D] {
        &self.closed
    }
    /// Which cells are fluid.
    pub(crate) fn fluid(&self) -> Vec<bool> {
        (0..self.grid.len()).map(|i| !self.grid.is_solid(i)).collect()
    }

    /// How the field at a place is moved.
    fn mover<'a, T>(&'a self, place: Place, velocity: &'a [Vec<T>; D]) -> Mover<'a, T, D> {
        let closed = match place {
            Place::Cell => &self.solid,
            Place::Face(a) => &self.closed[a],
        };
        let (padded, scheme, scale) = (&self.padded, self.settings.scheme, self.dt / self.grid.spacing);
        Mover { padded, scheme, place, closed, scale, velocity }
    }

    /// Reads a state, with the source's smoke in it.
    fn load<T: Scalar>(&self, ws: &mut SmokeWorkspace<T, D>, params: &[T], state: &[T]) {
        for (a, u) in self.velocity(state).into_iter().enumerate() {
            self.padded.load(u, &mut ws.velocity[a]);
            clear(&self.closed[a], &mut ws.velocity[a]);
            self.padded.fill_halo(Place::Face(a), &mut ws.velocity[a]);
        }
        self.padded.load(self.density(state), &mut ws.density);
        if let Some(rate) = self.index.source {
            // ρ += Δt r s
            let amount = params[rate] * T::lit(self.dt);
            self.padded.for_rows(self.padded.part(&mut ws.density), |at, row| {
                let shares = &self.source[at.index * row.len()..];
                row.iter_mut().zip(shares).for_each(|(x, share)| *x += amount * T::lit(*share));
            });
        }
        clear(&self.solid, &mut ws.density);
        self.padded.fill_halo(Place::Cell, &mut ws.density);
    }

    /// Moves the density.
    fn advect_density<T: Scalar>(&self, ws: &mut SmokeWorkspace<T, D>) {
        let SmokeWorkspace { velocity, density, moved_density, movers, .. } = ws;
        self.mover(Place::Cell, velocity).advect(density, &mut movers[D], moved_density);
    }

    /// Moves the velocities.
    fn advect_velocities<T: Scalar>(&self, ws: &mut SmokeWorkspace<T, D>) {
        let SmokeWorkspace { velocity, moved, movers, .. } = ws;
        for a in 0..D {
            self.mover(Place::Face(a), velocity).advect(&velocity[a], &mut movers[a], &mut moved[a]);
        }
    }

    /// Velocities after all forces, before the projection; those before them are lost unless forces see neighbors.
    fn push<T: Scalar>(&self, ws: &mut SmokeWorkspace<T, D>, params: &[T]) {
        let SmokeWorkspace { moved, moved_density, pushed, vorticity, .. } = ws;
        if self.forces_see_neighbors() {
            (0..D).for_each(|a| pushed[a].copy_from_slice(&moved[a]));
        } else {
            std::mem::swap(moved, pushed);
        }
        if let Some(rise) = self.rise(params) {
            add_buoyancy(&self.padded, moved_density, rise, &mut pushed[D - 1]);
        }
        if let (Some(strength), Some(scratch)) = (self.strength(params), vorticity) {
            add_confinement(&self.padded, self.grid.spacing, moved, strength, scratch, pushed);
        }
        if let Some(amount) = self.viscosity(params) {
            for a in 0..D {
                add_viscosity(&self.padded, &moved[a], amount, &mut pushed[a]);
            }
        }
        if let Some(kept) = self.kept(params, self.index.damping) {
            pushed.iter_mut().for_each(|u| scale(u, kept));
        }
        for a in 0..D {
            clear(&self.closed[a], &mut pushed[a]);
            self.padded.fill_halo(Place::Face(a), &mut pushed[a]);
        }
    }

    /// The pullback of [`Smoke::push`], from cotangents with halos in `pushed_bar`: writes those of moved velocities
    /// and density, halos folded in, overwrites its own, and adds to those of parameters.
    fn push_vjp<T: Scalar>(&self, ws: &mut SmokeWorkspace<T, D>, params: &[T], params_bar: &mut [T]) {
        let SmokeWorkspace { moved, pushed, pushed_bar, moved_bar, .. } = ws;
        let SmokeWorkspace { moved_density_bar, vorticity, sums, .. } = ws;
        let (padded, dt, h) = (&self.padded, self.dt, self.grid.spacing);
        if let (Some(kept), Some(i)) = (self.kept(params, self.index.damping), self.index.damping) {
            // d(1/(1 + Δt γ)) = −Δt/(1 + Δt γ)² dγ
            for a in 0..D {
                let kept_bar = scale_vjp(padded, &pushed[a], kept, &pushed_bar[a], sums);
                params_bar[i] -= kept_bar * T::lit(dt) * kept * kept;
                scale(&mut pushed_bar[a], kept);
            }
        }
        if let Some(rise) = self.rise(params) {
            add_buoyancy_vjp(padded, rise, &pushed_bar[D - 1], moved_density_bar);
        }
        if !self.forces_see_neighbors() {
            std::mem::swap(moved_bar, pushed_bar);
            (0..D).for_each(|a| clear(&self.closed[a], &mut moved_bar[a]));
            return;
        }
        for a in 0..D {
            moved_bar[a].copy_from_slice(&pushed_bar[a]);
            clear_halo(padded, &mut moved_bar[a]);
        }
        if let (Some(strength), Some(i)) = (self.strength(params), self.index.confinement)
            && let Some(scratch) = vorticity
        {
            let bar = add_confinement_vjp(padded, h, moved, strength, scratch, pushed_bar, moved_bar, sums);
            params_bar[i] += bar * T::lit(dt * h);
        }
        for a in 0..D {
            if let (Some(amount), Some(i)) = (self.viscosity(params), self.index.viscosity) {
                let bar = &pushed_bar[a];
                let bar = add_viscosity_vjp(padded, &moved[a], amount, bar, &mut moved_bar[a], sums);
                params_bar[i] += bar * T::lit(dt / (h * h));
            }
            padded.fill_halo_vjp(Place::Face(a), &mut moved_bar[a]);
            clear(&self.closed[a], &mut moved_bar[a]);
        }
    }

    /// The pullback of [`Smoke::advect_velocities`] and [`Smoke::advect_density`]: the fields side by side on threads,
    /// then their cotangents in order. Finds the moved density too.
    fn advect_vjp<T: Scalar>(
        &self,
        ws: &mut SmokeWorkspace<T, D>,
        params_bar: &mut [T],
        state_bar: &mut [T],
    ) {
        let SmokeWorkspace { velocity, density, moved_bar, moved_density_bar, moved_density, movers, .. } =
            ws;
        let (velocity, moved_bar) = (&*velocity, &*moved_bar);
        let (of_velocities, of_density) = movers.split_at_mut(D);
        let pull = |a: usize, scratch: &mut _| {
            let mover = self.mover(Place::Face(a), velocity);
            mover.advect_vjp(&velocity[a], &moved_bar[a], scratch, None);
        };
        rayon::join(
            || side_by_side(0, of_velocities, &pull),
            || {
                let mover = self.mover(Place::Cell, velocity);
                of_density.iter_mut().for_each(|scratch| {
                    mover.advect_vjp(density, moved_density_bar, scratch, Some(&mut *moved_density));
                });
            },
        );
        let n = self.grid.len();
        let (velocity_bar, density_bar) = state_bar.split_at_mut(D * n);
        for (a, out) in velocity_bar.chunks_exact_mut(n).enumerate() {
            // Those of the velocity as a field, and of the velocity that moved every other field.
            let mut bar = std::mem::take(&mut movers[a].field_bar);
            let tracers: [_; 4] = std::array::from_fn(|field| {
                Tracer::<T, D>::new(&self.padded, Place::of_field(field.min(D), D), 1.0)
            });
            self.padded.for_blocks_of(self.padded.around_faces(a), self.padded.part(&mut bar), |at, bar| {
                for (field, mover) in movers.iter().enumerate().filter(|(field, _)| *field != a) {
                    tracers[field].mean_vjp(a, &mover.flow_bars[a], at, bar);
                }
            });
            self.padded.fill_halo_vjp(Place::Face(a), &mut bar);
            clear(&self.closed[a], &mut bar);
            self.padded.add_to(&bar, out);
            movers[a].field_bar = bar;
        }
        let bar = &mut movers[D].field_bar;
        self.padded.fill_halo_vjp(Place::Cell, bar);
        clear(&self.solid, bar);
        self.padded.add_to(bar, density_bar);
        if let Some(rate) = self.index.source {
            let shares = self.source.iter().enumerate().filter(|(_, share)| **share != 0.0);
            let sum =
                shares.fold(T::zero(), |sum, (i, share)| sum + bar[self.padded.index(i)] * T::lit(*share));
            params_bar[rate] += sum * T::lit(self.dt);
        }
    }

    /// Adds to the cotangents of the parameters that act on the moved density, which [`Smoke::advect_vjp`] found.
    fn moved_density_params_vjp<T: Scalar>(
        &self,
        ws: &mut SmokeWorkspace<T, D>,
        params: &[T],
        next_bar: &[T],
        params_bar: &mut [T],
    ) {
        let SmokeWorkspace { moved_density, pushed_bar, moved_bar, sums, .. } = ws;
        if let Some(i) = self.index.buoyancy {
            // Where forces see no neighbors, `push_vjp` passed them on as those of moved velocities.
            let pushed_bar = if self.forces_see_neighbors() { &pushed_bar } else { &moved_bar };
            let bar = rise_vjp(&self.padded, moved_density, &pushed_bar[D - 1], sums);
            params_bar[i] += bar * T::lit(self.dt);
        }
        if let (Some(kept), Some(i)) = (self.kept(params, self.index.dissipation), self.index.dissipation) {
            // d(1/(1 + Δt δ)) = −Δt/(1 + Δt δ)² dδ, ρ̄′ as it was given
            let kept_bar = kept_vjp(&self.padded, moved_density, self.density(next_bar), sums);
            params_bar[i] -= kept_bar * T::lit(self.dt) * kept * kept;
        }
    }

    /// Δt β
    fn rise<T: Scalar>(&self, params: &[T]) -> Option<T> {
        self.index.buoyancy.map(|i| params[i] * T::lit(self.dt))
    }
    /// ε h Δt
    fn strength<T: Scalar>(&self, params: &[T]) -> Option<T> {
        self.index.confinement.map(|i| params[i] * T::lit(self.dt * self.grid.spacing))
    }
    /// Δt ν/h²
    fn viscosity<T: Scalar>(&self, params: &[T]) -> Option<T> {
        self.index.viscosity.map(|i| params[i] * T::lit(self.dt / (self.grid.spacing * self.grid.spacing)))
    }
    /// 1/(1 + Δt γ)
    fn kept<T: Scalar>(&self, params: &[T], rate: Option<usize>) -> Option<T> {
        rate.map(|i| (T::one() + params[i] * T::lit(self.dt)).recip())
    }
    /// Whether forces at a face depend on the moved velocities at others.
    fn forces_see_neighbors(&self) -> bool {
        self.index.viscosity.is_some() || self.index.confinement.is_some()
    }
    /// Whether forces depend on the moved velocities.
    fn forces_see_velocities(&self) -> bool {
        let ParamIndex { viscosity, damping, confinement, .. } = self.index;
        viscosity.is_some() || damping.is_some() || confinement.is_some()
    }

    fn project<T: Scalar>(
        &self,
        solver: &mut Solver<D>,
        velocity: &mut [Vec<T>; D],
    ) -> Result<Solved, StepError> {
        let tolerance = self.settings.pressure;
        let solved = project(&self.padded, &self.closed, solver, tolerance, velocity);
        if solved.converged || !solved.residual.is_finite() {
            return Ok(solved);
        }
        Err(StepError::NotSolved {
            what: "the pressure",
            residual: solved.residual,
            iterations: solved.iterations,
        })
    }
}

impl<const D: usize> Described for Smoke<D> {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Scalar, const D: usize> System<T> for Smoke<D> {
    type Workspace = SmokeWorkspace<T, D>;

    fn workspace(&self) -> Self::Workspace {
        SmokeWorkspace::new(self)
    }

    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        self.load(ws, at.params, at.state);
        self.advect_density(ws);
        self.advect_velocities(ws);
        self.push(ws, at.params);
        let solved = self.project(&mut ws.solver, &mut ws.pushed)?;

        let n = self.grid.len();
        let (velocity, density) = next.split_at_mut(D * n);
        for (a, out) in velocity.chunks_exact_mut(n).enumerate() {
            self.padded.store(&ws.pushed[a], out);
        }
        if let Some(kept) = self.kept(at.params, self.index.dissipation) {
            scale(&mut ws.moved_density, kept);
        }
        self.padded.store(&ws.moved_density, density);
        let Solved { iterations, residual, converged } = solved;
        let solver = SolverInfo { iterations, residual, converged, rows: n, ..SolverInfo::default() };
        Ok(Info { solver, ..Info::one() })
    }

    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        // Forward to where the forces are, as far as they depend on it.
        self.load(ws, at.params, at.state);
        if self.forces_see_velocities() {
            self.advect_velocities(ws);
        }
        if self.index.damping.is_some() {
            self.advect_density(ws);
            self.push(ws, at.params);
        }

        // ρ′ = moved ρ / (1 + Δt δ)
        self.padded.load(self.density(next_bar), &mut ws.moved_density_bar);
        if let Some(kept) = self.kept(at.params, self.index.dissipation) {
            scale(&mut ws.moved_density_bar, kept);
        }
        for (a, bar) in self.velocity(next_bar).into_iter().enumerate() {
            self.padded.load(bar, &mut ws.pushed_bar[a]);
            clear(&self.closed[a], &mut ws.pushed_bar[a]);
            self.padded.fill_halo(Place::Face(a), &mut ws.pushed_bar[a]);
        }
        self.project(&mut ws.solver, &mut ws.pushed_bar)?;
        self.push_vjp(ws, at.params, bars.params);
        clear(&self.solid, &mut ws.moved_density_bar);
        self.advect_vjp(ws, bars.params, bars.state);
        self.moved_density_params_vjp(ws, at.params, next_bar, bars.params);
        Ok(())
    }
}

/// Hands each element and its number to `work`, on as many threads as there are.
fn side_by_side<S: Send>(first: usize, of: &mut [S], work: &(impl Fn(usize, &mut S) + Sync)) {
    match of {
        [] => {}
        [one] => work(first, one),
        _ => {
            let middle = of.len() / 2;
            let (low, high) = of.split_at_mut(middle);
            rayon::join(|| side_by_side(first, low, work), || side_by_side(first + middle, high, work));
        }
    }
}

/// Zero in the halo.
fn clear_halo<T: Scalar, const D: usize>(padded: &Padded<D>, data: &mut [T]) {
    // The pullback of a halo filled with zeros only.
    for a in 0..D {
        let (inner, n) = (padded.strides[a], padded.cells[a]);
        for first in (0..padded.len).step_by(inner * (n + 2)) {
            data[first..first + inner].fill(T::zero());
            data[first + (n + 1) * inner..first + (n + 2) * inner].fill(T::zero());
        }
    }
}

/// Lower faces along an axis that no smoke passes: at walls, and of solid cells.
fn closed_faces<const D: usize>(grid: &Grid<D>, padded: &Padded<D>, axis: usize) -> Vec<u32> {
    let stride: usize = grid.cells[..axis].iter().product();
    let closed = |i: usize| {
        let at = grid.place(i)[axis];
        let below = match (at, padded.periodic[axis]) {
            (0, false) => return true,
            (0, true) => i + (grid.cells[axis] - 1) * stride,
            _ => i - stride,
        };
        grid.is_solid(i) || grid.is_solid(below)
    };
    (0..grid.len()).filter(|i| closed(*i)).map(|i| padded.index(i) as u32).collect()
}

/// Names of state and parameters.
fn layout<const D: usize>(
    grid: &Grid<D>,
    settings: &Settings,
    dt: f64,
    rate: Option<f64>,
) -> Result<(Layout, ParamIndex), ConfigError> {
    let (n, h) = (grid.len(), grid.spacing);
    let mut builder = Layout::builder();
    for name in Grid::<D>::axis_names() {
        let doc = "at the lower faces of cells";
        builder = builder.state(Slice::new(format!("velocity.{name}"), n, "m/s").doc(doc));
    }
    builder = builder.state(Slice::new(DENSITY, n, "1").doc("of smoke, at centers of cells"));
    let most = h * h / (2.0 * D as f64 * dt);
    let effects = [
        ("buoyancy", "m/s^2", settings.buoyancy, (f64::NEG_INFINITY, f64::INFINITY)),
        ("viscosity", "m^2/s", settings.viscosity, (0.0, most)),
        ("damping", "1/s", settings.damping, (0.0, f64::INFINITY)),
        ("dissipation", "1/s", settings.dissipation, (0.0, f64::INFINITY)),
        ("confinement", "1", settings.confinement, (0.0, f64::INFINITY)),
        ("source.rate", "1/s", rate, (f64::NEG_INFINITY, f64::INFINITY)),
    ];
    let mut count = 0;
    let mut places = [None; 6];
    for (place, (name, unit, value, (low, high))) in places.iter_mut().zip(effects) {
        let Some(value) = value else { continue };
        if !(low..=high).contains(&value) {
            return Err(ConfigError::new(format!("{name} = {value} is outside [{low}, {high}]")));
        }
        builder = builder.param(Slice::new(name, 1, unit).default(&[value]).bounds(low, high));
        *place = Some(count);
        count += 1;
    }
    let [buoyancy, viscosity, damping, dissipation, confinement, source] = places;
    let index = ParamIndex { buoyancy, viscosity, damping, dissipation, confinement, source };
    Ok((builder.build()?, index))
}
