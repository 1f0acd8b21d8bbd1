//! Contacts and limits by linear complementarity over impulses (Qiao et al., ICML 2021), and their pullback.
//!
//! *Forward.* With h the step, a₀ the smooth acceleration and v* = v + h a₀, find impulses λ so that
//! v⁺ = v* + M⁻¹ Jᵀ λ has, row by row,
//!
//! | row | bounds | complementary to |
//! |---|---|---|
//! | normal of a contact, limit | 0 ≤ λ ≤ max_impulse | J v⁺ + cfm λ − target ≥ 0 |
//! | friction of a contact | −μ λ_n ≤ λ ≤ μ λ_n | J v⁺ + cfm λ |
//! | dry friction of a joint | −h loss ≤ λ ≤ h loss | J v⁺ + cfm λ |
//! | coordinate that follows another | none | J v⁺ + cfm λ + erp r / h = 0 |
//!
//! The target of an overlap is restitution of the velocity before the step, plus Baumgarte's push: −e v⁻ +
//! erp depth / h. Within the margin of a contact or limit the row is speculative: it keeps a gap from being
//! overrun, −gap / h, or bounces if v⁻ would close the gap. Projected Gauss-Seidel ([`pgs`]) sweeps a fixed
//! number of times, from zero, so that a step is a function of its arguments. The constrained acceleration is
//! a = a₀ + M⁻¹ Jᵀ λ / h; only semi-implicit Euler with this step makes v⁺ of it.
//!
//! *Schemes.* All rows are one problem, or each pair of trees has one of its own from the same v*
//! ([`ImpulseScheme`]), as in the paper's code. That code gives the first body the normal impulse in place of
//! the one of friction; here both bodies get the same impulses.
//!
//! *Pullback.* The sweeps backwards give the cotangents of J, M⁻¹ Jᵀ, the targets and the bounds. That of the
//! mass matrix is packed and goes through composite bodies; that of J to axes and contacts.
//!
//! *Memory.* Impulses of every sweep: rows × iterations, reserved beforehand like the rest for as many contacts
//! as there can be, at most 64; more are allocated when first met.
//!
//! *Limits.* Points and frames that are held, torsional and rolling friction are refused
//! ([`Complementarity::check`]). Where an impulse is exactly on a bound, the derivative is that of the bound.
//! What rests without a margin overlaps by cfm λ h / erp, 10⁻⁸ m by default: gradients hold for motions
//! smaller than that.

pub mod params;
pub mod pgs;
pub(crate) mod rows;

use pullback_core::{ConfigError, SolverInfo, Workspace};
use pullback_math::{Mask, Real};

use crate::constraint::RESERVED_CONTACTS;
use crate::constraint::between::{Between, chains, trees};
use crate::constraint::set::{ConstraintSet, Source};
use crate::contact::{ConstraintBars, ContactSet, Resolve, Smooth};
use crate::mass_matrix::add_symmetric;
use crate::model::{Equality, EqualityKind, ImpulseScheme, Model};
use crate::tree::Tree;
use params::{ComplementarityIndex, ImpulseLaw};
use pgs::{Pgs, Sweeping};
use rows::{At, BlockBars};

/// The complementarity model of contacts and limits.
#[derive(Clone, Debug)]
pub struct Complementarity {
    /// Degrees of freedom that move each body, falling.
    chains: Vec<Vec<usize>>,
    /// Degrees of freedom, rising, of the tree of each root.
    trees: Vec<Vec<usize>>,
    /// Rows of ties, limits and dry friction, each a block of its own.
    fixed_rows: usize,
    /// Number of sweeps.
    iterations: usize,
}

/// Memory of [`Complementarity`].
#[derive(Clone, Debug, Workspace)]
pub struct ComplementarityWorkspace<T> {
    /// The rows of the last evaluation: `reference` is the target, `residual` the free velocity against it,
    /// `force` the impulse over the step, per second of it.
    pub set: ConstraintSet<T>,
    /// The solver.
    pub pgs: Pgs<T>,
    /// v*, and its cotangent.
    free: Vec<T>,
    free_bar: Vec<T>,
    /// M⁻¹ Jᵀ λ, and its cotangent.
    added: Vec<T>,
    added_bar: Vec<T>,
}

/// Change of an impulse in the last sweep, relative to the largest impulse, below which a solve counts as
/// converged.
const CONVERGED: f64 = 1e-6;

impl Complementarity {
    /// The model of a robot.
    pub(crate) fn new(model: &Model, tree: &Tree, index: &ComplementarityIndex) -> Self {
        let joints = model.joints.iter().zip(&index.joints);
        let rows = joints.map(|(joint, blocks)| {
            let dry = if blocks.friction.is_some() { joint.kind.velocities() } else { 0 };
            dry + if joint.range.is_some() { 2 } else { 0 }
        });
        let (fixed_rows, iterations) =
            (index.ties.len() + rows.sum::<usize>(), model.options.complementarity.iterations);
        Complementarity { chains: chains(tree), trees: trees(tree), fixed_rows, iterations }
    }

    /// Refuses what the model does not act on, by name.
    pub fn check(model: &Model) -> Result<(), ConfigError> {
        let options = &model.options;
        let tied = |e: &&Equality| options.equality && !matches!(e.kind, EqualityKind::Joint { .. });
        let equality = model.equalities.iter().find(tied);
        let twisting = |condim: u32| options.contact && condim > 3;
        let collides = |bits: u32, with: u32| bits != 0 || with != 0;
        let twisted = model
            .geoms
            .iter()
            .find(|g| twisting(g.contact.condim) && collides(g.collision_bits, g.collides_with));
        let pair = model.pairs.iter().find(|p| twisting(p.condim)).map(|p| &model.geoms[p.geoms.0]);
        let left_out = equality
            .map(|e| format!("equality `{}`", e.name))
            .or_else(|| twisted.or(pair).map(|g| format!("torsional friction of geom `{}`", g.name)))
            .or_else(|| options.contact_override.map(|_| "one law that overrides all contacts".into()));
        match left_out {
            None => Ok(()),
            Some(what) => Err(ConfigError::new(format!(
                "the complementarity model does not act on {what}; use --contact convex"
            ))),
        }
    }

    fn at<'a, T: Real>(
        &'a self,
        smooth: &'a Smooth<'a, T>,
        index: &'a ComplementarityIndex,
        free: &'a [T],
    ) -> At<'a, T> {
        let between = Between { kinematics: smooth.geoms.kinematics, chains: &self.chains };
        At { smooth, index, between, law: index.law.read(smooth.geoms.params), free }
    }

    fn sweeping<T: Real>(&self, smooth: &Smooth<'_, T>, law: ImpulseLaw<T>) -> Sweeping<T> {
        let max_impulse = T::lit(smooth.geoms.model.options.complementarity.max_impulse);
        Sweeping { iterations: self.iterations, max_impulse, cfm: law.cfm, dt: T::lit(smooth.dt) }
    }
}

/// The problem that a block belongs to: one for all, or one for each pair of trees.
fn problem<T: Real>(
    smooth: &Smooth<'_, T>,
    contacts: &ContactSet<T>,
    set: &ConstraintSet<T>,
    block: usize,
) -> (usize, usize) {
    if smooth.geoms.model.options.complementarity.scheme == ImpulseScheme::Global {
        return (0, 0);
    }
    match set.blocks[block].source {
        Source::Contact { pair, .. } => {
            let (a, b) = contacts.pairs()[pair].geoms;
            let root = |geom: usize| smooth.tree.root[smooth.geoms.model.geoms[geom].body];
            (root(a).min(root(b)), root(a).max(root(b)))
        }
        _ => {
            let root = smooth.tree.root[smooth.tree.dof_body[set.dofs(block)[0]]];
            (root, root)
        }
    }
}

impl<T: Real> ComplementarityWorkspace<T> {
    /// How the last solve went.
    pub fn info(&self) -> SolverInfo {
        let impulses = if self.set.blocks.is_empty() { &[] } else { self.pgs.impulses() };
        let largest = impulses.iter().fold(0.0f64, |m, x| m.max(x.abs().max_lane()));
        let change = if impulses.is_empty() { 0.0 } else { self.pgs.change };
        SolverInfo {
            iterations: if impulses.is_empty() { 0 } else { self.pgs.sweeps(impulses.len()) },
            residual: change,
            constraints: self.set.blocks.len(),
            rows: impulses.len(),
            active: impulses.iter().filter(|x| x.abs().gt(T::zero()).any()).count(),
            islands: if impulses.is_empty() { 0 } else { self.pgs.problems() },
            converged: change <= CONVERGED * largest,
        }
    }
}

impl<T: Real> Resolve<T> for Complementarity {
    type Workspace = ComplementarityWorkspace<T>;

    fn workspace(&self, tree: &Tree, contacts: usize) -> ComplementarityWorkspace<T> {
        let (nv, contacts) = (tree.dof_body.len(), contacts.min(RESERVED_CONTACTS));
        let (blocks, rows) = (self.fixed_rows + contacts, self.fixed_rows + 3 * contacts);
        let zeros = || vec![T::zero(); nv];
        ComplementarityWorkspace {
            set: ConstraintSet::new(blocks, nv),
            pgs: Pgs::new(blocks, rows, nv, self.iterations),
            free: zeros(),
            free_bar: zeros(),
            added: zeros(),
            added_bar: zeros(),
        }
    }

    fn constrain(
        &self,
        ws: &mut ComplementarityWorkspace<T>,
        smooth: &Smooth<'_, T>,
        contacts: &ContactSet<T>,
        acceleration: &mut [T],
    ) {
        let ComplementarityWorkspace { set, pgs, free, added, .. } = ws;
        set.clear();
        let Some(index) = &smooth.geoms.index.complementarity else { return };
        // v* = v + h a₀
        let h = T::lit(smooth.dt);
        for (k, free) in free.iter_mut().enumerate() {
            *free = smooth.v[k] + h * acceleration[k];
        }
        let at = self.at(smooth, index, free);
        rows::push_ties(&at, set);
        rows::push_friction(&at, set);
        rows::push_limits(&at, set);
        rows::push_contacts(&at, contacts, set);
        if set.blocks.is_empty() {
            return;
        }
        let sweeping = self.sweeping(smooth, at.law);
        pgs.prepare(set, (smooth.tree, smooth.mass), &self.trees, at.law.cfm, |block| {
            problem(smooth, contacts, set, block)
        });
        added.fill(T::zero());
        pgs.solve(set, &sweeping, added);
        // a = a₀ + M⁻¹ Jᵀ λ / h
        let rate = h.recip();
        acceleration.iter_mut().zip(added.iter()).for_each(|(a, w)| *a += *w * rate);
        set.force.iter_mut().zip(pgs.impulses()).for_each(|(force, impulse)| *force = *impulse * rate);
    }

    fn constrain_vjp(
        &self,
        ws: &mut ComplementarityWorkspace<T>,
        smooth: &Smooth<'_, T>,
        contacts: &mut ContactSet<T>,
        lambda: &mut [T],
        bars: &mut ConstraintBars<'_, T>,
    ) {
        let ComplementarityWorkspace { set, pgs, free, free_bar, added, added_bar } = ws;
        let Some(index) = smooth.geoms.index.complementarity.as_ref().filter(|_| !set.blocks.is_empty())
        else {
            return smooth.mass.solve(smooth.tree, lambda);
        };
        let at = self.at(smooth, index, free);
        let (h, rate) = (T::lit(smooth.dt), T::lit(1.0 / smooth.dt));
        // a = a₀ + w / h
        added_bar.iter_mut().zip(lambda.iter()).for_each(|(w, a)| *w = *a * rate);
        free_bar.fill(T::zero());
        let sweeping = self.sweeping(smooth, at.law);
        let cfm = pgs.solve_vjp(set, (smooth.tree, smooth.mass), &sweeping, added_bar, bars.mass);
        let mut law = ImpulseLaw { erp: T::zero(), cfm };
        for member in 0..set.blocks.len() {
            let Some((block, jacobian, residual, bound)) = pgs.block_bars(set, member) else { continue };
            // b = J v* − target
            let dofs = set.dofs(block);
            for (i, bar) in residual.iter().enumerate() {
                let row = i * dofs.len()..(i + 1) * dofs.len();
                for (n, k) in row.zip(dofs) {
                    free_bar[*k] += set.jacobian(block)[n] * *bar;
                    jacobian[n] += free[*k] * *bar;
                }
            }
            let mut own = BlockBars { jacobian, residual, bound, free: free_bar, law: &mut law };
            match set.blocks[block].source {
                Source::Friction(k) => rows::friction_vjp(&at, k, &own, bars.params),
                Source::Limit { .. } => rows::limit_vjp(&at, set, block, &mut own, bars),
                Source::Contact { .. } => rows::contact_vjp(&at, contacts, set, block, &mut own, bars),
                Source::Equality(number) => rows::tie_vjp(&at, (set, block, number), &mut own, bars),
                // Refused when the robot is made.
                Source::TendonFriction(_) | Source::TendonLimit { .. } => {}
            }
        }
        index.law.add(law, bars.params);
        // v* = v + h a₀,  λ = M⁻¹ a₀_bar
        for (k, bar) in free_bar.iter().enumerate() {
            bars.v[k] += *bar;
            lambda[k] += h * *bar;
        }
        smooth.mass.solve(smooth.tree, lambda);
        // Inverse dynamics is pulled back at a, where a₀ is meant: M̄ += λ (a − a₀)ᵀ
        for dofs in self.trees.iter().filter(|dofs| !dofs.is_empty()) {
            add_symmetric(smooth.tree, dofs, (lambda, added), rate, bars.mass);
        }
    }
}
