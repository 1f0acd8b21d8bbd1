//! Tendons: scalar lengths of a configuration, with springs, dampers and the forces of actuators along them.
//!
//! A fixed tendon is a sum of joint coordinates; a spatial one is a path through sites and around geoms (`path.rs`,
//! [`wrap`]), one kind of [`span`]. A force f along a tendon pushes the joints by J f with J = ∂length/∂q. Limits, dry friction and
//! equalities are rows of the constraint model (`constraint/tendon.rs`).

pub(crate) mod armature;
mod path;
pub mod rows;
pub mod span;
pub mod wrap;

use std::ops::Range;

use pullback_core::{Block, Workspace};
use pullback_math::{Cotangent, Force, Motion, Real, differentiable};

use crate::kinematics::Kinematics;
use crate::model::{Model, TendonPath};
use crate::params::ParamIndex;
use crate::rnea::{body_motions, carry};
use crate::tree::Tree;
use span::{SpanBars, SpanBuilder, SpanInputs, SpanOutputBars, SpanState, Spans};

/// Spring and damper of a tendon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct TendonSpring<T> {
    /// Stiffness, N/m.
    pub stiffness: T,
    /// Damping, N s/m.
    pub damping: T,
    /// Lengths between which the spring is slack, m.
    pub springlength: [T; 2],
}

/// Force of a tendon's spring and damper, along its length.
#[differentiable]
#[inline(always)]
pub fn spring_force<T: Real>(length: T, velocity: T, p: TendonSpring<T>) -> T {
    let [lower, upper] = p.springlength;
    let stretch = (length - upper).max(T::zero()) + (length - lower).min(T::zero());
    -(p.stiffness * stretch) - p.damping * velocity
}

/// Where the parameters of a tendon lie.
#[derive(Clone, Debug)]
pub struct TendonBlocks {
    /// Coefficients of a fixed tendon.
    pub coefficients: Range<usize>,
    /// Its spring and damper, if any.
    pub spring: Option<Block<TendonSpring<f64>>>,
    /// Its armature, if any.
    pub armature: Option<Block<[f64; 1]>>,
    /// Range of its length, if limited.
    pub range: Option<Block<crate::params::JointRange<f64>>>,
}

/// What a tendon's length is measured by.
#[derive(Clone, Debug)]
pub(crate) enum Measure {
    /// Coordinates and degrees of freedom of joints.
    Fixed(Vec<(usize, usize)>),
    /// A span.
    Span(usize),
}

/// The tendons of a model, and all else that acts along spans.
#[derive(Clone, Debug, Default)]
pub struct Tendons {
    /// Spans: paths of spatial tendons, then transmissions of actuators.
    pub spans: Spans,
    pub(crate) measures: Vec<Measure>,
    /// Span of each actuator that has one of its own.
    pub(crate) actuator_spans: Vec<Option<usize>>,
    /// Degrees of freedom that may move each tendon, falling.
    pub(crate) columns: Vec<Vec<usize>>,
    /// Lengths in the reference configuration.
    pub(crate) reference_lengths: Vec<f64>,
    /// Whether any has a spring or damper.
    passive: bool,
    /// Those with armature.
    armature: armature::ArmatureBlocks,
}

/// Forces along fixed tendons and along spans.
#[derive(Clone, Debug, Default, Workspace)]
pub struct LineForces<T> {
    /// Along each tendon; unused for spatial ones.
    pub tendon: Vec<T>,
    /// Along each span.
    pub span: Vec<T>,
}

impl<T: Real> LineForces<T> {
    fn new(tendons: &Tendons) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        LineForces { tendon: zeros(tendons.measures.len()), span: zeros(tendons.spans.len()) }
    }

    fn clear(&mut self) {
        self.tendon.fill(T::zero());
        self.span.fill(T::zero());
    }
}

/// Memory of tendons.
#[derive(Clone, Debug, Default, Workspace)]
pub struct TendonState<T> {
    /// Lengths and pulls of spans.
    pub spans: SpanState<T>,
    /// Length of each tendon (`ten_length`).
    pub length: Vec<T>,
    /// Rate of change of each length (`ten_velocity`).
    pub velocity: Vec<T>,
    /// Forces of springs and dampers.
    passive: LineForces<T>,
    /// Forces of actuators.
    pub(crate) active: LineForces<T>,
    wrenches: Vec<Force<T>>,
    motions: Vec<Motion<T>>,
    /// Scratch, one entry per degree of freedom.
    pub(crate) row: Vec<T>,
    pub(crate) other_row: Vec<T>,
    /// Slopes of actuators' forces over velocity.
    pub(crate) slopes: Vec<T>,
    /// Cotangents.
    pub(crate) bars: TendonBars<T>,
    force_bars: LineForces<T>,
}

/// Cotangents of lengths, velocities and pulls.
#[derive(Clone, Debug, Default, Workspace)]
pub struct TendonBars<T> {
    /// Of spans' lengths and pulls.
    pub spans: SpanBars<T>,
    /// Of spans' velocities.
    pub span_velocity: Vec<T>,
    /// Of tendons' lengths.
    pub length: Vec<T>,
    /// Of tendons' velocities.
    pub velocity: Vec<T>,
}

impl<T: Real> TendonBars<T> {
    fn new(tendons: &Tendons) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        TendonBars {
            spans: SpanBars::new(&tendons.spans),
            span_velocity: zeros(tendons.spans.len()),
            length: zeros(tendons.measures.len()),
            velocity: zeros(tendons.measures.len()),
        }
    }

    /// Sets all to zero.
    pub fn clear(&mut self) {
        self.spans.clear();
        for bars in [&mut self.span_velocity, &mut self.length, &mut self.velocity] {
            bars.fill(T::zero());
        }
    }
}

impl<T: Real> TendonState<T> {
    /// Memory for the tendons of a model.
    pub fn new(tendons: &Tendons, tree: &Tree) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        let bodies = if tendons.spans.is_empty() { 0 } else { tree.bodies() };
        TendonState {
            spans: SpanState::new(&tendons.spans),
            length: zeros(tendons.measures.len()),
            velocity: zeros(tendons.measures.len()),
            passive: LineForces::new(tendons),
            active: LineForces::new(tendons),
            wrenches: vec![Force::zero(); bodies],
            motions: vec![Motion::zero(); bodies],
            row: zeros(tree.dof_body.len()),
            other_row: zeros(tree.dof_body.len()),
            slopes: zeros(tendons.actuator_spans.len()),
            bars: TendonBars::new(tendons),
            force_bars: LineForces::new(tendons),
        }
    }
}

/// Where tendons are evaluated.
pub(crate) struct TendonInputs<'a, T> {
    pub model: &'a Model,
    pub tree: &'a Tree,
    pub index: &'a ParamIndex,
    pub params: &'a [T],
    pub kinematics: &'a Kinematics<T>,
    pub q: &'a [T],
    pub v: &'a [T],
    /// Velocities of the bodies.
    pub velocities: &'a [Motion<T>],
}

impl<T: Real> TendonInputs<'_, T> {
    fn spans(&self) -> SpanInputs<'_, T> {
        let TendonInputs { model, index, params, kinematics, .. } = *self;
        SpanInputs { model, index, params, kinematics }
    }

    fn coefficients(&self, tendon: usize) -> &[T] {
        &self.params[self.index.tendons[tendon].coefficients.clone()]
    }
}

/// Cotangents that the pullback of tendons adds to.
pub(crate) struct TendonOutputBars<'a, T> {
    pub q: &'a mut [T],
    pub v: &'a mut [T],
    pub params: &'a mut [T],
    /// Of the bodies' velocities.
    pub velocities: &'a mut [Force<T>],
    /// Wrenches on displacements of the bodies.
    pub wrenches: &'a mut [Force<T>],
}

impl Tendons {
    /// The tendons of a compiled model whose parameters lie where `index` says.
    pub fn new(model: &Model, tree: &Tree, index: &ParamIndex) -> Self {
        let mut builder = SpanBuilder::default();
        let measure = |path: &TendonPath, builder: &mut SpanBuilder| match path {
            TendonPath::Fixed(terms) => {
                let place = |(j, _): &(usize, f64)| (model.joints[*j].q, model.joints[*j].v);
                Measure::Fixed(terms.iter().map(place).collect())
            }
            TendonPath::Spatial(items) => Measure::Span(builder.path(model, items)),
        };
        let measures = model.tendons.iter().map(|t| measure(&t.path, &mut builder)).collect();
        let actuators = model.actuators.iter().zip(&index.actuators);
        let actuator_spans = actuators
            .map(|(actuator, blocks)| crate::actuator::span_of(model, actuator, blocks, &mut builder))
            .collect();
        let mut tendons = Tendons {
            spans: builder.build(),
            measures,
            actuator_spans,
            columns: Vec::new(),
            reference_lengths: Vec::new(),
            passive: index.tendons.iter().any(|t| t.spring.is_some()),
            armature: (index.tendons.iter().enumerate())
                .filter_map(|(t, blocks)| blocks.armature.map(|block| (t, block)))
                .collect(),
        };
        tendons.columns = (0..model.tendons.len()).map(|t| tendons.columns_of(tree, t)).collect();
        tendons
    }

    /// Whether there is neither a tendon nor a span.
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty() && self.spans.is_empty()
    }

    /// Lengths of all tendons and spans.
    pub(crate) fn update<T: Real>(&self, at: &TendonInputs<'_, T>, state: &mut TendonState<T>) {
        self.spans.update(&at.spans(), &mut state.spans);
        for (t, measure) in self.measures.iter().enumerate() {
            state.length[t] = match measure {
                Measure::Span(span) => state.spans.length[*span],
                Measure::Fixed(joints) => sum(joints.iter().map(|(q, _)| at.q[*q]), at.coefficients(t)),
            };
        }
    }

    /// Velocities of all tendons and spans.
    pub(crate) fn update_velocities<T: Real>(&self, at: &TendonInputs<'_, T>, state: &mut TendonState<T>) {
        self.spans.velocities(at.velocities, &mut state.spans);
        for (t, measure) in self.measures.iter().enumerate() {
            state.velocity[t] = match measure {
                Measure::Span(span) => state.spans.velocity[*span],
                Measure::Fixed(joints) => sum(joints.iter().map(|(_, k)| at.v[*k]), at.coefficients(t)),
            };
        }
    }

    /// Adds the forces of springs and dampers to `tau`.
    pub(crate) fn passive_forces<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        tau: &mut [T],
    ) {
        if !self.passive {
            return;
        }
        state.passive.clear();
        for (t, blocks) in at.index.tendons.iter().enumerate() {
            let Some(spring) = blocks.spring else { continue };
            let force = spring_force(state.length[t], state.velocity[t], spring.read(at.params));
            *self.line(t, &mut state.passive) += force;
        }
        let TendonState { spans, passive, wrenches, .. } = state;
        self.apply(at, spans, passive, wrenches, tau);
    }

    /// The pullback of [`Tendons::passive_forces`] with cotangent `tau_bar`: *adds* to the cotangents in `state`, of
    /// the joint axes and of the parameters.
    pub(crate) fn passive_forces_vjp<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        tau_bar: &[T],
        axis_bars: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        if !self.passive {
            return;
        }
        let forces = std::mem::take(&mut state.passive);
        self.apply_vjp(at, state, &forces, tau_bar, axis_bars, params_bar);
        state.passive = forces;
        for (t, blocks) in at.index.tendons.iter().enumerate() {
            let Some(spring) = blocks.spring else { continue };
            let bar = *self.line(t, &mut state.force_bars);
            let p = spring.read(at.params);
            let (length_bar, velocity_bar, p_bar) =
                spring_force_vjp(state.length[t], state.velocity[t], p, bar);
            state.bars.length[t] += length_bar;
            state.bars.velocity[t] += velocity_bar;
            spring.add(p_bar, params_bar);
        }
    }

    /// Adds the forces of actuators, which lie in `state.active`, to `tau`.
    pub(crate) fn active_forces<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        tau: &mut [T],
    ) {
        let TendonState { spans, active, wrenches, .. } = state;
        self.apply(at, spans, active, wrenches, tau);
    }

    /// The pullback of [`Tendons::active_forces`]: the cotangents of the forces are left for
    /// [`Tendons::force_bar`].
    pub(crate) fn active_forces_vjp<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        tau_bar: &[T],
        axis_bars: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let forces = std::mem::take(&mut state.active);
        self.apply_vjp(at, state, &forces, tau_bar, axis_bars, params_bar);
        state.active = forces;
    }

    /// The force along a tendon.
    pub(crate) fn line<'f, T>(&self, tendon: usize, forces: &'f mut LineForces<T>) -> &'f mut T {
        match &self.measures[tendon] {
            Measure::Fixed(_) => &mut forces.tendon[tendon],
            Measure::Span(span) => &mut forces.span[*span],
        }
    }

    /// Sets the forces of actuators to zero.
    pub(crate) fn clear_active<T: Real>(state: &mut TendonState<T>) {
        state.active.clear();
    }

    /// After a pullback of forces: the cotangent of the force along a tendon.
    pub(crate) fn tendon_force_bar<T: Real>(&self, tendon: usize, state: &mut TendonState<T>) -> T {
        *self.line(tendon, &mut state.force_bars)
    }

    /// After a pullback of forces: the cotangent of the force along a span.
    pub(crate) fn span_force_bar<T: Real>(&self, span: usize, state: &TendonState<T>) -> T {
        state.force_bars.span[span]
    }

    /// τ += Σ J f.
    fn apply<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        spans: &SpanState<T>,
        forces: &LineForces<T>,
        wrenches: &mut [Force<T>],
        tau: &mut [T],
    ) {
        for (t, measure) in self.measures.iter().enumerate() {
            let Measure::Fixed(joints) = measure else { continue };
            for ((_, k), c) in joints.iter().zip(at.coefficients(t)) {
                tau[*k] += *c * forces.tendon[t];
            }
        }
        if self.spans.is_empty() {
            return;
        }
        self.wrenches(spans, forces, wrenches);
        carry(at.tree, at.kinematics, wrenches, tau);
    }

    /// Wrenches on the bodies: Σ F f.
    fn wrenches<T: Real>(&self, spans: &SpanState<T>, forces: &LineForces<T>, wrenches: &mut [Force<T>]) {
        wrenches.fill(Force::zero());
        for (span, force) in forces.span.iter().enumerate() {
            for slot in self.spans.slots(span) {
                wrenches[self.spans.bodies[slot]] += spans.pulls[slot] * *force;
            }
        }
    }

    /// The pullback of [`Tendons::apply`] with cotangent `tau_bar`: sets the cotangents of the forces and *adds* to
    /// those of pulls, joint axes and parameters.
    fn apply_vjp<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        forces: &LineForces<T>,
        tau_bar: &[T],
        axis_bars: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let TendonState { spans, wrenches, motions, bars, force_bars, .. } = state;
        for (t, measure) in self.measures.iter().enumerate() {
            let Measure::Fixed(joints) = measure else { continue };
            let mut bar = T::zero();
            let places = at.index.tendons[t].coefficients.clone();
            for ((_, k), place) in joints.iter().zip(places) {
                bar += at.params[place] * tau_bar[*k];
                params_bar[place] += forces.tendon[t] * tau_bar[*k];
            }
            force_bars.tendon[t] = bar;
        }
        if self.spans.is_empty() {
            return;
        }
        // τ_k = S_k·W_k with W the wrench on all that k carries: W̄_b = Σ S_k τ̄_k
        body_motions(at.tree, at.kinematics, tau_bar, motions);
        self.wrenches(spans, forces, wrenches);
        for b in (1..at.tree.bodies()).rev() {
            let wrench = wrenches[b];
            for k in at.tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
                axis_bars[k] += wrench * tau_bar[k];
            }
            wrenches[at.tree.parent[b]] += wrench;
        }
        for (span, force) in forces.span.iter().enumerate() {
            let slots = self.spans.slots(span);
            force_bars.span[span] = self.spans.rate(&slots, motions, &spans.pulls);
            for slot in slots {
                bars.spans.pulls[slot] += motions[self.spans.bodies[slot]] * *force;
            }
        }
    }

    /// The pullback of [`Tendons::update`] and [`Tendons::update_velocities`], with the cotangents that lie in `state`.
    pub(crate) fn update_vjp<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        out: &mut TendonOutputBars<'_, T>,
    ) {
        let TendonState { spans, bars, .. } = state;
        for (t, measure) in self.measures.iter().enumerate() {
            let (length_bar, velocity_bar) = (bars.length[t], bars.velocity[t]);
            match measure {
                Measure::Span(span) => {
                    bars.spans.length[*span] += length_bar;
                    bars.span_velocity[*span] += velocity_bar;
                }
                Measure::Fixed(joints) => {
                    let places = at.index.tendons[t].coefficients.clone();
                    for ((q, k), place) in joints.iter().zip(places) {
                        out.q[*q] += at.params[place] * length_bar;
                        out.v[*k] += at.params[place] * velocity_bar;
                        out.params[place] += at.q[*q] * length_bar + at.v[*k] * velocity_bar;
                    }
                }
            }
        }
        if self.spans.is_empty() {
            return;
        }
        let pulls = &mut bars.spans.pulls;
        self.spans.velocities_vjp(at.velocities, spans, &bars.span_velocity, pulls, out.velocities);
        let mut to = SpanOutputBars { wrenches: out.wrenches, params: out.params };
        self.spans.update_vjp(&at.spans(), &bars.spans, &mut to);
    }
}

/// Σ c x.
fn sum<T: Real>(x: impl Iterator<Item = T>, coefficients: &[T]) -> T {
    let mut total = T::zero();
    for (x, c) in x.zip(coefficients) {
        total += *c * x;
    }
    total
}
