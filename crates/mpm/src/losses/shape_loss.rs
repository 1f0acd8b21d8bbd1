//! [`ShapeLoss`]: weighted terms that bring particles to a target, as a loss over a rollout.
//!
//! ℓ = w_d Σ|m − m*| + w_s Σ d·m + w_c Σ D² + w_g |c − c*|², after every frame or at the end. PlasticineLab
//! has weights 10, 10, 1 and 0, and sums over the frames of an episode without the initial state.
//!
//! Masses and sizes are those of the system's default parameters: a loss over a rollout sees states only.
//! Where they are to be identified, the terms themselves ([`mass_grid`](super::mass_grid),
//! [`contact`](super::contact)) have cotangents for them.

use std::sync::Arc;

use pullback_core::rollout::{Loss, Sample};
use pullback_core::{ConfigError, Described};
use pullback_math::Scalar;

use super::center::{center_distance, center_distance_vjp};
use super::contact::{
    ContactDistance, ContactInputBars, ContactInputs, ContactScratch, Tools, contact_distance,
    contact_distance_vjp,
};
use super::density::{density_distance, density_distance_vjp};
use super::distance::{target_distance, target_distance_vjp};
use super::iou::{best_iou, incremental_iou, soft_iou};
use super::mass_grid::MassGrid;
use super::pool::Pool;
use super::target::Target;
use crate::Mpm;
use crate::view::ViewMut;

/// When a loss counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After every step of the rollout.
    EveryFrame,
    /// After the last one.
    End,
}

/// Weights of the terms; a term of weight 0 is not computed by the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of Σ|m − m*|, 1/kg.
    pub density: f64,
    /// Of Σ d·m, 1/(kg·m).
    pub distance: f64,
    /// Of Σ D² over tools, 1/m².
    pub contact: f64,
    /// Of |c − c*|², 1/m².
    pub center: f64,
}

impl Default for Weights {
    /// PlasticineLab's.
    fn default() -> Self {
        Weights { density: 10.0, distance: 10.0, contact: 1.0, center: 0.0 }
    }
}

/// The terms at one state, unweighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms<T> {
    /// Σ|m − m*|, kg.
    pub density: T,
    /// Σ d·m, kg·m.
    pub distance: T,
    /// Σ D² over tools, m².
    pub contact: T,
    /// |c − c*|², m².
    pub center: T,
}

/// Particles should become the target, and tools should come near them.
#[derive(Clone, Debug)]
pub struct ShapeLoss {
    /// Weights of the terms.
    pub weights: Weights,
    /// When they count.
    pub when: When,
    /// What should come near the particles: by default every movable body, softly.
    pub tools: Tools,
    mpm: Arc<Mpm>,
    target: Target,
    params: Vec<f64>,
    masses: Vec<f64>,
    pool: Pool,
}

/// Everything one evaluation needs.
struct Scratch<T: Scalar> {
    grid: MassGrid<T>,
    contact: ContactScratch<T>,
    params: Vec<T>,
    params_bar: Vec<T>,
    masses: Vec<T>,
    masses_bar: Vec<T>,
}

impl ShapeLoss {
    /// PlasticineLab's loss of a system and a target: soft contact, summed over frames.
    pub fn new(mpm: Arc<Mpm>, target: Target) -> Result<Self, ConfigError> {
        let cells = target.cells();
        if cells.flat != mpm.grid().flat {
            return Err(ConfigError::new(
                "target and particles differ in dimension: make both flat or neither",
            ));
        }
        let reach = |nodes: [usize; 3], spacing: f64| nodes.map(|n| n as f64 * spacing);
        let (wide, needed) = (reach(cells.nodes, cells.spacing), reach(mpm.grid().nodes, mpm.grid().spacing));
        let axes = if cells.flat { 2 } else { 3 };
        if (0..axes).any(|a| wide[a] < needed[a] * (1.0 - 1e-9)) {
            return Err(ConfigError::new(format!(
                "the target's grid of {wide:?} m is smaller than the particles' of {needed:?} m; enlarge it"
            )));
        }
        let groups = mpm.particles().groups.iter();
        let masses = groups.flat_map(|g| std::iter::repeat_n(g.density * g.volume, g.count)).collect();
        Ok(ShapeLoss {
            weights: Weights::default(),
            when: When::EveryFrame,
            tools: Tools::movable(&mpm, ContactDistance::Soft),
            params: mpm.layout().params.defaults(),
            masses,
            mpm,
            target,
            pool: Pool::default(),
        })
    }

    /// The same with other weights.
    pub fn with_weights(self, weights: Weights) -> Self {
        ShapeLoss { weights, ..self }
    }
    /// The same at other times.
    pub fn with_when(self, when: When) -> Self {
        ShapeLoss { when, ..self }
    }
    /// The same with other tools.
    pub fn with_tools(self, tools: Tools) -> Self {
        ShapeLoss { tools, ..self }
    }
    /// Where the particles should be.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// All terms at a state, whatever their weights.
    pub fn terms<T: Scalar>(&self, state: &[T]) -> Terms<T> {
        self.with_scratch(|scratch| self.some_terms(scratch, state, |_| true))
    }

    /// ℓ at a state: what PlasticineLab's reward is the difference of.
    pub fn at<T: Scalar>(&self, state: &[T]) -> T {
        self.with_scratch(|scratch| {
            let terms = self.some_terms(scratch, state, |weight| weight != 0.0);
            let w = self.weights;
            [
                (w.density, terms.density),
                (w.distance, terms.distance),
                (w.contact, terms.contact),
                (w.center, terms.center),
            ]
            .into_iter()
            .fold(T::zero(), |sum, (w, term)| sum + T::lit(w) * term)
        })
    }

    /// The pullback of [`ShapeLoss::at`]: *adds* to the cotangent of the state.
    pub fn at_vjp<T: Scalar>(&self, state: &[T], out_bar: T, state_bar: &mut [T]) {
        let (at, w) = (self.mpm.split(state), self.weights);
        let ViewMut { q: q_bar, x: x_bar, .. } = self.mpm.split_mut(state_bar);
        let scaled = |weight: f64| T::lit(weight) * out_bar;
        self.with_scratch(|s: &mut Scratch<T>| {
            if w.density != 0.0 || w.distance != 0.0 {
                s.grid.scatter(at.x, &s.masses);
                density_distance_vjp(&mut s.grid, &self.target, scaled(w.density));
                target_distance_vjp(&mut s.grid, &self.target, scaled(w.distance));
                s.grid.scatter_vjp(at.x, &s.masses, x_bar, &mut s.masses_bar);
            }
            if w.contact != 0.0 {
                let inputs = ContactInputs { params: &s.params, q: at.q, x: at.x };
                let bars = ContactInputBars { params: &mut s.params_bar, q: q_bar, x: x_bar };
                let out_bar = scaled(w.contact);
                contact_distance_vjp(&self.mpm, &self.tools, &mut s.contact, inputs, out_bar, bars);
            }
            if w.center != 0.0 {
                let center = self.target.center().map(T::lit);
                center_distance_vjp(at.x, &s.masses, center, scaled(w.center), x_bar, &mut s.masses_bar);
            }
        });
    }

    /// Soft IoU of a state with the target.
    pub fn iou<T: Scalar>(&self, state: &[T]) -> T {
        self.with_scratch(|s: &mut Scratch<T>| {
            s.grid.scatter(self.mpm.split(state).x, &s.masses);
            soft_iou(&s.grid, &self.target)
        })
    }

    /// PlasticineLab's score of a state against the initial one, from 0 to 1.
    pub fn score(&self, initial: &[f64], state: &[f64]) -> f64 {
        incremental_iou(self.iou(state), self.iou(initial), best_iou(&self.target))
    }

    /// The terms whose weight is `wanted`; zero elsewhere.
    fn some_terms<T: Scalar>(
        &self,
        s: &mut Scratch<T>,
        state: &[T],
        wanted: impl Fn(f64) -> bool,
    ) -> Terms<T> {
        let (at, w) = (self.mpm.split(state), self.weights);
        let mut terms = Terms::default();
        if wanted(w.density) || wanted(w.distance) {
            s.grid.scatter(at.x, &s.masses);
            terms.density = density_distance(&s.grid, &self.target);
            terms.distance = target_distance(&s.grid, &self.target);
        }
        if wanted(w.contact) {
            let inputs = ContactInputs { params: &s.params, q: at.q, x: at.x };
            terms.contact = contact_distance(&self.mpm, &self.tools, &mut s.contact, inputs);
        }
        if wanted(w.center) {
            terms.center = center_distance(at.x, &s.masses, self.target.center().map(T::lit));
        }
        terms
    }

    fn with_scratch<T: Scalar, R>(&self, work: impl FnOnce(&mut Scratch<T>) -> R) -> R {
        let lit = |v: &[f64]| v.iter().map(|x| T::lit(*x)).collect::<Vec<T>>();
        let make = || Scratch {
            grid: MassGrid::new(*self.target.cells()),
            contact: ContactScratch::new(&self.mpm),
            params: lit(&self.params),
            params_bar: vec![T::zero(); self.params.len()],
            masses: lit(&self.masses),
            masses_bar: vec![T::zero(); self.masses.len()],
        };
        self.pool.with(make, work)
    }

    fn counts<T>(&self, at: &Sample<'_, T>) -> bool {
        match self.when {
            When::EveryFrame => at.step > 0,
            When::End => at.last(),
        }
    }
}

impl<T: Scalar> Loss<T> for ShapeLoss {
    fn value(&self, at: Sample<'_, T>) -> T {
        if self.counts(&at) { self.at(at.state) } else { T::zero() }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if self.counts(&at) {
            self.at_vjp(at.state, T::one(), state_bar);
        }
    }
}
