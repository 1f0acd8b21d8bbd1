//! MuJoCo's soft constraints by convex optimization over accelerations, and their pullback.
//!
//! *Forward.* Equalities, dry friction, joint limits and contacts become blocks of rows ([`set`]), each with a
//! Jacobian J, a reference acceleration a_ref ([`softness`]) and a cost s ([`cost`]). The acceleration is
//! a = argmin ½ ‖a − a₀‖²_M + s(J a − a_ref), by Newton's method ([`newton`]). It depends on the state alone.
//!
//! *Pullback.* By the implicit function theorem at the optimum, with the last factorization: λ = H⁻¹ ā,
//! H = M + Jᵀ C J. With f = −∇s, y = J λ and z = C y, a perturbation of anything else changes the loss by
//! f·(dJ λ) − z·(dJ a) + z·da_ref + y·(∂f/∂w) dw − λ·(dM a + dbias − dτ). The smooth force gets λ. The mass
//! matrix goes through inverse dynamics at a; J through the motion of the bodies along λ, a and v.
//!
//! *Sweeps.* Where a model asks for them, friction is solved again without slip ([`noslip`]), from the optimum. Their
//! pullback gives cotangents of the optimum and of its forces, and goes on as above.
//!
//! *One-sided derivatives.* A contact at exactly its margin and a row at exactly zero force do not act, so
//! the derivative is that of the side where they do not.

pub(crate) mod between;
pub mod contact;
pub mod contact_law;
pub mod cost;
mod ellipsoid_qp;
pub mod equality;
mod external;
pub mod hessian;
pub mod inverse_weight;
pub mod islands;
pub mod joints;
pub mod newton;
pub mod noslip;
pub mod params;
pub mod set;
pub mod softness;
pub mod tendon;
mod watchdog;

use pullback_core::Workspace;
use pullback_math::{Force, Motion, Real};

use crate::contact::{ConstraintBars, ContactSet, GeomView, Resolve, Smooth, TendonView};
use crate::guards::Held;
use crate::model::Model;
use crate::rnea::body_motions;
use crate::tree::Tree;
use between::{Between, chains, trees};
use contact::PairBars;
use cost::{MOST_ROWS, Weights};
use newton::{Newton, Problem};
use noslip::{NoSlip, SweptBars};
use params::ConstraintIndex;
use set::{ConstraintSet, Source};

pub use pullback_core::SolverInfo;

/// The convex model of constraints.
#[derive(Clone, Debug)]
pub struct Convex {
    /// Degrees of freedom that move each body, falling.
    chains: Vec<Vec<usize>>,
    /// Degrees of freedom, rising, of the tree of each root.
    trees: Vec<Vec<usize>>,
    /// Most sweeps of friction after the solver.
    sweeps: usize,
    /// Equalities, dry friction and limits.
    fixed_blocks: usize,
}

/// Memory of [`Convex`].
#[derive(Clone, Debug, Workspace)]
pub struct ConvexWorkspace<T> {
    /// The constraints of the last evaluation.
    pub set: ConstraintSet<T>,
    /// The solver.
    pub newton: Newton<T>,
    /// Sweeps of friction after the solver.
    noslip: NoSlip<T>,
    /// The optimum of the last solve.
    acceleration: Vec<T>,
    /// Cotangents of the rows' forces, and motions of bodies along which their forces count, for the next
    /// pullback; empty if there are none.
    force_bars: Vec<T>,
    external: Vec<Motion<T>>,
    /// Motion of each body along λ and along the acceleration.
    virtuals: Vec<Motion<T>>,
    accelerations: Vec<Motion<T>>,
}

impl<T> ConvexWorkspace<T> {
    /// The acceleration before sweeps of friction, if there were any.
    pub(crate) fn optimum(&self) -> Option<&[T]> {
        self.noslip.swept().then_some(&self.acceleration[..])
    }
}

/// Where constraints are evaluated.
pub(crate) struct Constrained<'a, T> {
    geoms: &'a GeomView<'a, T>,
    index: &'a ConstraintIndex,
    tree: &'a Tree,
    between: Between<'a, T>,
    q: &'a [T],
    v: &'a [T],
    /// Velocities of the bodies, and their accelerations when no joint accelerates.
    velocities: &'a [Motion<T>],
    bias_accelerations: &'a [Motion<T>],
    /// Shortest time constant, s.
    shortest: T,
    /// Which contacts and limits are held to act, or not to.
    held: Option<Held<'a, T>>,
    /// Tendons.
    tendons: TendonView<'a, T>,
    /// On the way back: λ and the acceleration.
    lambda: &'a [T],
    acceleration: &'a [T],
}

/// Motions of the bodies along λ (0), the acceleration (1) and the velocity (2).
pub(crate) struct Fields<'a, T> {
    virtuals: &'a [Motion<T>],
    accelerations: &'a [Motion<T>],
    /// Motions along which forces of rows on bodies count; may be empty.
    external: &'a [Motion<T>],
}

/// Cotangents with which the pullback of a block begins.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a, T> {
    /// y = J λ and z = C y.
    y: &'a [T],
    z: &'a [T],
    /// Of the reference acceleration: z, and what sweeps of friction add.
    reference: &'a [T],
    /// Of the weights, beside those that y gives.
    weights: Weights<T>,
    /// What else sweeps of friction give.
    swept: Option<SweptBars<'a, T>>,
}

impl<T: Real> Fields<'_, T> {
    /// A motion, and the cotangents of the bodies' velocities along it.
    fn get<'s>(
        &'s self,
        field: usize,
        at: &'s Constrained<'_, T>,
        bars: &'s mut ConstraintBars<'_, T>,
    ) -> (&'s [Motion<T>], &'s mut [Force<T>]) {
        match field {
            0 => (self.virtuals, bars.virtuals),
            1 => (self.accelerations, bars.accelerations),
            _ => (at.velocities, bars.velocities),
        }
    }
}

impl<'a, T: Real> Constrained<'a, T> {
    fn new(
        convex: &'a Convex,
        index: &'a ConstraintIndex,
        smooth: &'a Smooth<'a, T>,
        (lambda, acceleration): (&'a [T], &'a [T]),
    ) -> Self {
        Constrained {
            geoms: smooth.geoms,
            index,
            tree: smooth.tree,
            between: Between { kinematics: smooth.geoms.kinematics, chains: &convex.chains },
            q: smooth.q,
            v: smooth.v,
            velocities: smooth.velocities,
            bias_accelerations: smooth.bias_accelerations,
            shortest: T::lit(if smooth.geoms.model.options.reference_safety { 2.0 * smooth.dt } else { 0.0 }),
            held: smooth.held,
            tendons: smooth.tendons,
            lambda,
            acceleration,
        }
    }
}

impl Convex {
    /// The model of constraints whose parameters lie where `index` says.
    pub(crate) fn new(model: &Model, tree: &Tree, index: &ConstraintIndex) -> Self {
        let joints = index.joints.iter();
        let fixed =
            joints.map(|j| 2 * usize::from(j.limit.is_some()) + 6 * usize::from(j.friction.is_some()));
        let tendons = index.tendons.iter();
        let lines = tendons.map(|t| 2 * usize::from(t.limit.is_some()) + usize::from(t.friction.is_some()));
        let fixed_blocks = fixed.sum::<usize>() + lines.sum::<usize>() + index.equalities.len();
        let sweeps = model.options.solver.noslip_iterations;
        Convex { chains: chains(tree), trees: trees(tree), sweeps, fixed_blocks }
    }

    /// Whether friction is swept after the solver.
    pub(crate) fn sweeps(&self) -> bool {
        self.sweeps > 0
    }
}

/// Contacts that memory is reserved for beforehand.
pub(crate) const RESERVED_CONTACTS: usize = 64;

impl<T: Real> Resolve<T> for Convex {
    type Workspace = ConvexWorkspace<T>;

    fn workspace(&self, tree: &Tree, contacts: usize) -> ConvexWorkspace<T> {
        let nv = tree.dof_body.len();
        let blocks = self.fixed_blocks + contacts.min(RESERVED_CONTACTS);
        ConvexWorkspace {
            set: ConstraintSet::new(blocks, nv),
            newton: Newton::new(tree, MOST_ROWS * blocks),
            noslip: NoSlip::new(blocks, nv, self.sweeps),
            acceleration: vec![T::zero(); nv],
            force_bars: Vec::new(),
            external: Vec::new(),
            virtuals: vec![Motion::zero(); tree.bodies()],
            accelerations: vec![Motion::zero(); tree.bodies()],
        }
    }

    fn constrain(
        &self,
        ws: &mut ConvexWorkspace<T>,
        smooth: &Smooth<'_, T>,
        contacts: &ContactSet<T>,
        acceleration: &mut [T],
    ) {
        let ConvexWorkspace { set, newton, noslip, .. } = ws;
        set.clear();
        noslip.clear();
        let Some(index) = &smooth.geoms.index.constraints else { return };
        let at = Constrained::new(self, index, smooth, (&[], &[]));
        equality::push_equalities(&at, set);
        joints::push_friction(&at, set);
        tendon::push_friction(&at, set);
        joints::push_limits(&at, set);
        tendon::push_limits(&at, set);
        contact::push_contacts(&at, contacts, set);
        let problem =
            Problem { tree: smooth.tree, mass: smooth.mass, options: smooth.geoms.model.options.solver };
        newton.solve(&problem, set, acceleration);
        ws.acceleration.copy_from_slice(acceleration);
        if self.sweeps() {
            // MuJoCo's order: dry friction, then contacts by their bodies and by their geoms.
            let order = |source: Source| match source {
                Source::Contact { pair, .. } => {
                    let (a, b) = contacts.pairs()[pair].geoms;
                    let (x, y) = (smooth.geoms.model.geoms[a].body, smooth.geoms.model.geoms[b].body);
                    [x.min(y), x.max(y), a, b]
                }
                _ => [0; 4],
            };
            noslip.solve(&problem, (&self.trees, order), set, acceleration);
        }
    }

    fn constrain_vjp(
        &self,
        ws: &mut ConvexWorkspace<T>,
        smooth: &Smooth<'_, T>,
        contacts: &mut ContactSet<T>,
        lambda: &mut [T],
        bars: &mut ConstraintBars<'_, T>,
    ) {
        let present = !ws.set.blocks.is_empty();
        let Some(index) = smooth.geoms.index.constraints.as_ref().filter(|_| present) else {
            ws.force_bars.clear();
            ws.external.clear();
            return smooth.mass.solve(smooth.tree, lambda);
        };
        self.add_external_bars(ws, &Constrained::new(self, index, smooth, (&[], &[])), contacts);
        let ConvexWorkspace { set, newton, noslip, acceleration, .. } = ws;
        let ConvexWorkspace { force_bars, external, virtuals, accelerations, .. } = ws;
        let problem =
            Problem { tree: smooth.tree, mass: smooth.mass, options: smooth.geoms.model.options.solver };
        if noslip.swept() {
            // The solver's pullback is at the forces of the optimum.
            std::mem::swap(&mut set.force, &mut noslip.first_forces);
            force_bars.resize(set.rows(), T::zero());
            noslip.solve_vjp(&problem, set, lambda, force_bars, bars.mass);
            noslip.add_normal_bars(set, lambda);
        }
        external::subtract_force_bars(set, force_bars, lambda);
        newton.solve_hessian(&problem, set, lambda);
        let kinematics = smooth.geoms.kinematics;
        body_motions(smooth.tree, kinematics, lambda, virtuals);
        virtuals.iter_mut().zip(external.iter()).for_each(|(motion, w)| *motion += *w);
        body_motions(smooth.tree, kinematics, acceleration, accelerations);
        let at = Constrained::new(self, index, smooth, (lambda, acceleration));
        let mut fields = Fields { virtuals, accelerations, external };
        let mut pair: Option<PairBars<T>> = None;
        for block in 0..set.blocks.len() {
            let b = set.blocks[block];
            if set.is_idle(block) {
                continue;
            }
            // y = J λ + f̄, z = C y
            let (mut y, mut z) = ([T::zero(); MOST_ROWS], [T::zero(); MOST_ROWS]);
            set.multiply(block, lambda, &mut y);
            for (y, bar) in y.iter_mut().zip(force_bars.get(b.row..b.row + b.dim).unwrap_or_default()) {
                *y += *bar;
            }
            for (z, row) in z[..b.dim].iter_mut().zip(set.curvature(block).chunks(b.dim)) {
                for (c, y) in row.iter().zip(&y) {
                    *z += *c * *y;
                }
            }
            let (mut reference, mut weights, mut swept) = (z, Weights::default(), None);
            if noslip.swept() {
                // N(u) of a pyramid: z = C y − (∂N/∂u)ᵀ N̄
                let (u_bar, weights_bar) = noslip.normals_vjp(set, block);
                z.iter_mut().zip(u_bar).for_each(|(z, bar)| *z -= bar);
                (reference, weights, swept) = (z, weights_bar, noslip.block_bars(set, block));
                if let Some(swept) = &swept {
                    let first = b.dim - swept.dim;
                    for (i, bar) in swept.reference.iter().enumerate() {
                        reference[first + i] += *bar;
                        weights.friction[i] += swept.friction[i];
                    }
                }
            }
            let seen = (&y[..b.dim], &z[..b.dim]);
            let all = Seen { y: seen.0, z: seen.1, reference: &reference[..b.dim], weights, swept };
            match b.source {
                Source::Equality(_) => equality::equality_vjp(&at, set, block, seen, &mut fields, bars),
                Source::Friction(_) => joints::friction_vjp(&at, set, block, all, bars),
                Source::TendonFriction(t) => tendon::friction_vjp(&at, set, (block, t), all, bars),
                Source::Limit { .. } => joints::limit_vjp(&at, set, block, seen, bars),
                Source::TendonLimit { tendon, upper } => {
                    tendon::limit_vjp(&at, set, (block, tendon, upper), seen, bars);
                }
                Source::Contact { pair: number, .. } => {
                    if let Some(other) = pair.take_if(|p| !p.is(number)) {
                        other.end(&at, contacts, bars.params);
                    }
                    let pair = pair.get_or_insert_with(|| PairBars::begin(&at, contacts, number));
                    contact::contact_vjp(&at, contacts, set, block, all, pair, (&mut fields, bars));
                }
            }
        }
        if let Some(last) = pair {
            last.end(&at, contacts, bars.params);
        }
        if noslip.swept() {
            std::mem::swap(&mut set.force, &mut noslip.first_forces);
        }
        force_bars.clear();
        external.clear();
    }
}
