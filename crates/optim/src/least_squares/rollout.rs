//! [`RolloutResiduals`]: simulated recordings compared with measured ones, as residuals.
//!
//! Each part is a rollout with its own start and controls; all share the parameters that an input map sets from the unknowns.
//! Chosen entries of a part's initial state may be variables of that part.
//!
//! The Jacobian of a part is computed by forward mode, as many columns at a time as the dual number `D` has lanes, or by
//! pullbacks, a row at a time, whichever needs fewer sweeps over the motion.

use std::sync::{Mutex, PoisonError};

use faer::Mat;
use pullback_core::input_map::{InputMap, Transform, Transformed};
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{Bars, ConfigError, Point, Rollout, Schedule, StepError, System};
use pullback_math::{Dual, Flat, Quat, Real};
use rayon::prelude::*;

use super::problem::{LeastSquares, Unknown};

/// What is compared with measurements at each step of a rollout.
pub trait Compare<T: Real>: Sync {
    /// Scratch memory.
    type Workspace: Send;
    /// Allocates it.
    fn workspace(&self) -> Self::Workspace;
    /// *Adds* what a step of a part contributes to the residuals of the part; the last control holds at the end.
    fn compare(&self, ws: &mut Self::Workspace, step: (usize, usize), at: Point<'_, T>, residuals: &mut [T]);
    /// The pullback of [`Compare::compare`]: *adds* to `bars`.
    fn compare_vjp(
        &self,
        ws: &mut Self::Workspace,
        step: (usize, usize),
        at: Point<'_, T>,
        residuals_bar: &[T],
        bars: Bars<'_, T>,
    );
    /// Heap bytes of the memory of comparing and its pullback, at a point such as this; 0 if they are not worth
    /// counting.
    fn predict_bytes(&self, _at: Point<'_, T>) -> usize {
        0
    }
}

/// Variables of a part in its initial state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Freed {
    /// x = x₀ + scale ξ.
    Entry {
        /// Entry of the state.
        entry: usize,
        /// Size of a change.
        scale: f64,
    },
    /// q = q₀ (1, scale ξ / 2), normalized: three variables.
    Rotation {
        /// First entry of the quaternion.
        first: usize,
        /// Size of a change, rad.
        scale: f64,
    },
}

impl Freed {
    /// Number of variables.
    pub fn len(&self) -> usize {
        match self {
            Freed::Entry { .. } => 1,
            Freed::Rotation { .. } => 3,
        }
    }

    /// Never: every kind has variables.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn apply<T: Real>(&self, x: &[T], state: &mut [T]) {
        match *self {
            Freed::Entry { entry, scale } => state[entry] += x[0] * T::lit(scale),
            Freed::Rotation { first, scale } => {
                let turned = Quat::read(&state[first..]) * small_turn(x, scale);
                turned.normalize().write(&mut state[first..]);
            }
        }
    }

    fn apply_vjp(&self, x: &[f64], state: &[f64], state_bar: &[f64], x_bar: &mut [f64]) {
        match *self {
            Freed::Entry { entry, scale } => x_bar[0] += state_bar[entry] * scale,
            Freed::Rotation { first, scale } => {
                let start = Quat::<f64>::read(&state[first..]);
                let turned = start * small_turn(x, scale);
                let bar = turned.normalize_vjp(Quat::read(&state_bar[first..]));
                // d(q₀ p) = q₀ dp, whose transpose is q₀* on the left.
                let small_bar = start.conjugate() * bar;
                x_bar[0] += 0.5 * scale * small_bar.x;
                x_bar[1] += 0.5 * scale * small_bar.y;
                x_bar[2] += 0.5 * scale * small_bar.z;
            }
        }
    }
}

/// (1, scale x / 2)
fn small_turn<T: Real>(x: &[T], scale: f64) -> Quat<T> {
    let half = T::lit(0.5 * scale);
    Quat::new(T::one(), x[0] * half, x[1] * half, x[2] * half)
}

/// What is simulated for one recording.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Initial state.
    pub state: Vec<f64>,
    /// Controls, step after step.
    pub controls: Vec<f64>,
    /// Steps.
    pub steps: usize,
    /// Residuals.
    pub residuals: usize,
    /// Variables in the initial state.
    pub freed: Vec<Freed>,
    /// The group it belongs to.
    pub cluster: usize,
}

/// How a Jacobian is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// By columns, on dual numbers.
    Forward,
    /// By rows, with pullbacks.
    Reverse,
}

/// Residuals of recordings simulated by `S`, compared by `C`, with unknowns of the map `M` and dual numbers `D`.
pub struct RolloutResiduals<S, C, M, D = Dual<f64>> {
    system: S,
    compare: C,
    map: Transformed<M>,
    unknowns: Vec<Unknown>,
    params: Vec<f64>,
    parts: Vec<Part>,
    substeps: usize,
    schedule: Schedule,
    sweep: Option<Sweep>,
    noise_is_known: bool,
    duals: std::marker::PhantomData<D>,
}

/// Sweeps over a motion that one pass of forward mode, and one pullback, are worth.
const FORWARD_COST: usize = 3;
const REVERSE_COST: usize = 4;

impl<S: System<f64>, C: Compare<f64>, M: InputMap, D: Real> RolloutResiduals<S, C, M, D> {
    /// Parts simulated by `system` with these parameters where `map` does not set them, and compared by `compare`.
    pub fn new(
        system: S,
        compare: C,
        (map, transforms): (M, Vec<Transform>),
        params: Vec<f64>,
        parts: Vec<Part>,
    ) -> Result<Self, ConfigError> {
        let layout = system.layout();
        for part in &parts {
            let (x, u) = (layout.state.len(), layout.control.len() * part.steps);
            if (part.state.len(), part.controls.len()) != (x, u) || part.steps == 0 {
                let (found, controls) = (part.state.len(), part.controls.len());
                let why = format!("a part has {found} states and {controls} controls for {x} and {u}");
                return Err(ConfigError::new(why));
            }
        }
        let pair = |(quantity, transform): (_, &Transform)| Unknown { quantity, transform: *transform };
        let unknowns = map.variables().iter().cloned().zip(&transforms).map(pair).collect();
        let map = Transformed::new(map, transforms)?;
        let duals = std::marker::PhantomData;
        Ok(RolloutResiduals {
            system,
            compare,
            map,
            unknowns,
            params,
            parts,
            substeps: 1,
            schedule: Schedule::StoreAll,
            sweep: None,
            noise_is_known: false,
            duals,
        })
    }

    /// Says that residuals are divided by the whole of their noise ([`LeastSquares::noise_is_known`]).
    pub fn with_known_noise(self) -> Self {
        RolloutResiduals { noise_is_known: true, ..self }
    }

    /// Holds each control for so many steps of the system.
    pub fn with_substeps(self, substeps: usize) -> Self {
        RolloutResiduals { substeps, ..self }
    }

    /// Keeps states for pullbacks by another schedule, in place of all of them. A schedule counts substeps.
    pub fn with_schedule(self, schedule: Schedule) -> Result<Self, ConfigError> {
        for part in &self.parts {
            Rollout::new(&self.system, part.steps, schedule)?.with_substeps(self.substeps)?;
        }
        Ok(RolloutResiduals { schedule, ..self })
    }

    /// Peak heap bytes of a pullback of a part, known before it runs: states that are kept, the memory of a step, and that
    /// of comparing at the start of the part.
    pub fn predict_bytes(&self, part: usize) -> usize {
        let Part { state, controls, residuals, .. } = &self.parts[part];
        let control = &controls[..self.system.layout().control.len()];
        let start = Point { params: &self.params, state, control };
        let rollout = self.rollout(part, self.schedule);
        let inputs = state.len() + controls.len() + 2 * self.params.len() + control.len();
        rollout.map_or(0, |r| r.predict_bytes::<f64>())
            + (2 * inputs + residuals) * size_of::<f64>()
            + self.compare.predict_bytes(start)
    }

    /// Computes Jacobians one way, in place of the cheaper one.
    pub fn with_sweep(self, sweep: Sweep) -> Self {
        RolloutResiduals { sweep: Some(sweep), ..self }
    }

    /// How the Jacobian of a part is computed.
    pub fn sweep(&self, part: usize) -> Sweep {
        let forward = (self.unknowns.len() + self.locals(part)).div_ceil(D::LANES) * FORWARD_COST;
        let reverse = self.parts[part].residuals * REVERSE_COST;
        self.sweep.unwrap_or(if forward <= reverse { Sweep::Forward } else { Sweep::Reverse })
    }

    /// Number of variables of a part in its initial state.
    fn locals(&self, part: usize) -> usize {
        self.parts[part].freed.iter().map(Freed::len).sum()
    }

    /// What a part starts from at x.
    fn inputs<T: Real>(&self, part: usize, x: &[T]) -> Inputs<T> {
        let lit = |from: &[f64]| from.iter().map(|x| T::lit(*x)).collect::<Vec<T>>();
        let Part { state, controls, freed, .. } = &self.parts[part];
        let (state, controls, params) = (lit(state), lit(controls), lit(&self.params));
        let mut inputs = Inputs { state, controls, params };
        let (shared, mut own) = x.split_at(self.unknowns.len());
        self.map.apply(shared, &mut inputs);
        for free in freed {
            free.apply(own, &mut inputs.state);
            own = &own[free.len()..];
        }
        inputs
    }

    fn rollout(&self, part: usize, schedule: Schedule) -> Result<Rollout<&S>, StepError> {
        let steps = self.parts[part].steps;
        let rollout =
            Rollout::new(&self.system, steps, schedule).and_then(|r| r.with_substeps(self.substeps));
        Ok(rollout.unwrap_or_else(|_| unreachable!("at least one step, checked when the parts were given")))
    }

    /// Residuals of a part on any scalars.
    fn run<T: Real>(&self, part: usize, x: &[T], out: &mut [T]) -> Result<(), StepError>
    where
        S: System<T>,
        C: Compare<T>,
    {
        let inputs = self.inputs(part, x);
        let rollout = self.rollout(part, Schedule::Revolve { slots: 1 })?;
        let (mut ws, mut own) = (rollout.workspace::<T>(), Compare::<T>::workspace(&self.compare));
        out.fill(T::zero());
        let last = last_control(&inputs, self.parts[part].steps);
        rollout.simulate(&mut ws, &inputs, |at| {
            let control = if at.last() { last } else { at.control };
            let point = Point { params: &inputs.params, state: at.state, control };
            self.compare.compare(&mut own, (part, at.step), point, out);
        })
    }

    /// J ẋ for as many directions as `D` has lanes, with the residuals.
    fn forward(
        &self,
        part: usize,
        x: &[f64],
        direction: impl Fn(usize, usize) -> f64,
    ) -> Result<Vec<D>, StepError>
    where
        S: System<D>,
        C: Compare<D>,
    {
        type P<D> = <D as Real>::Primal;
        let seed = |i: usize| P::<D>::from_lanes(|lane| direction(i, lane));
        let x: Vec<D> = x.iter().enumerate().map(|(i, x)| D::from_parts(P::<D>::lit(*x), seed(i))).collect();
        let mut out = vec![D::zero(); self.parts[part].residuals];
        self.run(part, &x, &mut out)?;
        Ok(out)
    }
}

/// The control that holds at the end.
fn last_control<T>(inputs: &Inputs<T>, steps: usize) -> &[T] {
    &inputs.controls[inputs.controls.len() / steps * (steps - 1)..]
}

impl<S, C, M, D> LeastSquares for RolloutResiduals<S, C, M, D>
where
    S: System<f64> + System<D>,
    C: Compare<f64> + Compare<D>,
    M: InputMap,
    D: Real,
{
    fn unknowns(&self) -> &[Unknown] {
        &self.unknowns
    }
    fn parts(&self) -> usize {
        self.parts.len()
    }
    fn residual_count(&self, part: usize) -> usize {
        self.parts[part].residuals
    }
    fn locals(&self, part: usize) -> usize {
        self.locals(part)
    }
    fn cluster(&self, part: usize) -> usize {
        self.parts[part].cluster
    }
    fn noise_is_known(&self) -> bool {
        self.noise_is_known
    }

    fn residuals(&self, part: usize, x: &[f64], out: &mut [f64]) -> Result<(), StepError> {
        self.run(part, x, out)
    }

    fn jvp(&self, part: usize, x: &[f64], x_dot: &[f64], out_dot: &mut [f64]) -> Result<(), StepError> {
        let moved = self.forward(part, x, |i, lane| if lane == 0 { x_dot[i] } else { 0.0 })?;
        out_dot.iter_mut().zip(moved).for_each(|(out, r)| *out = r.tangent().lane(0));
        Ok(())
    }

    fn vjp(&self, part: usize, x: &[f64], out_bar: &[f64], x_bar: &mut [f64]) -> Result<(), StepError> {
        let inputs = self.inputs(part, x);
        let rollout = self.rollout(part, self.schedule)?;
        let mut ws = rollout.workspace::<f64>();
        let own = Own {
            workspace: Compare::<f64>::workspace(&self.compare),
            params_bar: vec![0.0; inputs.params.len()],
            last_bar: vec![0.0; inputs.controls.len() / self.parts[part].steps],
        };
        let last = last_control(&inputs, self.parts[part].steps);
        let (params, compare) = (&inputs.params[..], &self.compare);
        let functional = Functional { compare, part, bar: out_bar, params, last, own: Mutex::new(own) };
        rollout.gradient(&mut ws, &inputs, &functional)?;
        let own = functional.own.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What residuals owe to parameters directly, and to the control that holds at the end.
        let mut gradient = ws.gradient;
        gradient.params.iter_mut().zip(&own.params_bar).for_each(|(g, bar)| *g += bar);
        let end = gradient.control.len() - own.last_bar.len();
        gradient.control[end..].iter_mut().zip(&own.last_bar).for_each(|(g, bar)| *g += bar);

        let (shared, mut local) = x.split_at(self.unknowns.len());
        let (shared_bar, mut local_bar) = x_bar.split_at_mut(self.unknowns.len());
        self.map.apply_vjp(shared, &gradient, shared_bar);
        // The state before it was freed: that of the part, or what the map made of it.
        let mut before = Inputs {
            state: self.parts[part].state.clone(),
            controls: inputs.controls.clone(),
            params: inputs.params.clone(),
        };
        self.map.apply(shared, &mut before);
        for free in &self.parts[part].freed {
            let (bar, rest) = local_bar.split_at_mut(free.len());
            free.apply_vjp(local, &before.state, &gradient.state, bar);
            (local, local_bar) = (&local[free.len()..], rest);
        }
        Ok(())
    }

    fn linearize(&self, part: usize, x: &[f64]) -> Result<Mat<f64>, StepError> {
        let (m, n) = (self.parts[part].residuals, x.len());
        let mut all = Mat::zeros(m, n + 1);
        match self.sweep(part) {
            Sweep::Forward => {
                let packs: Result<Vec<Vec<D>>, StepError> = (0..n.div_ceil(D::LANES).max(1))
                    .into_par_iter()
                    .map(|pack| {
                        let seed = |i: usize, lane: usize| f64::from(u8::from(i == pack * D::LANES + lane));
                        self.forward(part, x, seed)
                    })
                    .collect();
                for (pack, residuals) in packs?.iter().enumerate() {
                    for (i, r) in residuals.iter().enumerate() {
                        for lane in 0..D::LANES.min(n - (pack * D::LANES).min(n)) {
                            all[(i, pack * D::LANES + lane)] = r.tangent().lane(lane);
                        }
                        all[(i, n)] = r.lane(0);
                    }
                }
            }
            Sweep::Reverse => {
                let row = |i: usize| {
                    let (mut bar, mut x_bar) = (vec![0.0; m], vec![0.0; n]);
                    bar[i] = 1.0;
                    self.vjp(part, x, &bar, &mut x_bar)?;
                    Ok(x_bar)
                };
                let rows: Result<Vec<Vec<f64>>, StepError> = (0..m).into_par_iter().map(row).collect();
                for (i, row) in rows?.iter().enumerate() {
                    row.iter().enumerate().for_each(|(j, x)| all[(i, j)] = *x);
                }
                let mut residuals = vec![0.0; m];
                self.run(part, x, &mut residuals)?;
                residuals.iter().enumerate().for_each(|(i, r)| all[(i, n)] = *r);
            }
        }
        Ok(all)
    }
}

/// r̄ᵀ r as a loss; its value is not asked for.
struct Functional<'a, C: Compare<f64>> {
    compare: &'a C,
    part: usize,
    bar: &'a [f64],
    params: &'a [f64],
    last: &'a [f64],
    own: Mutex<Own<C::Workspace>>,
}

/// What a loss has no place for.
struct Own<W> {
    workspace: W,
    params_bar: Vec<f64>,
    last_bar: Vec<f64>,
}

impl<C: Compare<f64>> Loss<f64> for Functional<'_, C> {
    fn value(&self, _at: Sample<'_, f64>) -> f64 {
        0.0
    }
    fn vjp(&self, at: Sample<'_, f64>, state_bar: &mut [f64], control_bar: &mut [f64]) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let Own { workspace, params_bar, last_bar } = &mut *own;
        let (control, control_bar) =
            if at.last() { (self.last, &mut last_bar[..]) } else { (at.control, control_bar) };
        let point = Point { params: self.params, state: at.state, control };
        let bars = Bars { params: params_bar, state: state_bar, control: control_bar };
        self.compare.compare_vjp(workspace, (self.part, at.step), point, self.bar, bars);
    }
}
