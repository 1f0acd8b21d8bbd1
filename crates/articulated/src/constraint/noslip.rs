//! Sweeps of friction after the solver (`noslip_iterations`), and their pullback by the same sweeps backwards.
//!
//! The optimum of the soft problem lets what rubs slip a little. From its forces, sweeps of Gauss-Seidel solve the rows of
//! friction again as hard ones, u = J a − a_ref = 0, at the normal forces that they have:
//!
//! | rows | update | bounds |
//! |---|---|---|
//! | dry friction | f ← clamp(f − u / A), A = J M⁻¹ Jᵀ | the loss |
//! | tangent k of a pyramid | the same | μₖ times the normal force of its pair of edges |
//! | tangents of an elliptic cone | min ½ x·A x + c·x, c = u − A f (`ellipsoid_qp.rs`) | Σ (xₖ/μₖ)² ≤ f₀² |
//!
//! and a ← a + M⁻¹ Jᵀ δf. A sweep goes over dry friction of joints, of tendons, then contacts. Sweeps end as in MuJoCo: after
//! their number, or when one lowers the cost by less than `noslip_tolerance` tr M. To the first sweep's gain counts the
//! regularization ½ Σ R f² that is given up. Few sweeps need not reach the fixed point, so the implicit function
//! theorem does not hold; the number of sweeps is held constant under differentiation, and each is undone from the forces kept.
//!
//! *Limits.* As long as sweeps have not converged, the result depends on the order of the contacts. Pairs come as in MuJoCo; where a
//! pair has several contacts and the two find them in another order, results differ.

mod pullback;

use pullback_core::Workspace;
use pullback_math::{Mask, Real, select};

use super::cost::{Cost, MOST_ROWS, Weights};
use super::ellipsoid_qp::{EllipsoidQp, MOST};
use super::newton::Problem;
use super::set::{ConstraintSet, Source};
use super::softness::LEAST;
use crate::mass_matrix::MassMatrix;
use crate::tree::Tree;

/// The rows of friction of a block.
#[derive(Clone, Copy, Debug)]
struct Member {
    block: usize,
    /// First row in the set and among the rows of friction, and how many.
    row: usize,
    number: usize,
    dim: usize,
    /// Whether the rows share an elliptic bound.
    elliptic: bool,
    /// First of its degrees of freedom in `support`, and how many.
    first: usize,
    count: usize,
    /// First entries of its rows of Y, of its Jacobian and of its block of A.
    response: usize,
    entry: usize,
    square: usize,
}

impl Member {
    fn support(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// A row of Y.
    fn response(&self, i: usize) -> std::ops::Range<usize> {
        let start = self.response + i * self.count;
        start..start + self.count
    }

    fn square(&self) -> std::ops::Range<usize> {
        self.square..self.square + self.dim * self.dim
    }
}

/// Memory of the sweeps.
#[derive(Clone, Debug, Workspace)]
pub struct NoSlip<T> {
    /// In the order of the sweeps.
    members: Vec<Member>,
    /// Place of each block among them, or one past their end.
    places: Vec<usize>,
    /// Degrees of freedom that each block moves, rising.
    support: Vec<usize>,
    /// Y = M⁻¹ Jᵀ, row by row, and A = J Y, block by block.
    response: Vec<T>,
    squares: Vec<T>,
    /// Normal force, row by row: that of the pair of edges of a pyramid, or of the contact.
    normals: Vec<T>,
    /// Forces before the first sweep and after each, and multipliers of elliptic bounds after each.
    history: Vec<T>,
    multipliers: Vec<T>,
    /// Forces of all rows of the set before the sweeps.
    pub(super) first_forces: Vec<T>,
    /// Number of sweeps of each lane, and most of them.
    #[workspace(plain)]
    count: T,
    #[workspace(plain)]
    sweeps: usize,
    /// The acceleration after the sweeps, and as they are undone.
    end: Vec<T>,
    acceleration: Vec<T>,
    scratch: [Vec<T>; 2],
    force_bars: Vec<T>,
    normal_bars: Vec<T>,
    friction_bars: Vec<T>,
    reference_bars: Vec<T>,
    response_bars: Vec<T>,
    square_bars: Vec<T>,
    jacobian_bars: Vec<T>,
}

/// Cotangents of a block that the sweeps give beside those of the solver.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweptBars<'a, T> {
    /// Of the Jacobian of the rows of friction, of which there are `dim`.
    pub jacobian: &'a [T],
    pub dim: usize,
    /// Of the reference acceleration of these rows.
    pub reference: &'a [T],
    /// Of their friction coefficients, or of the loss.
    pub friction: &'a [T],
    /// What the sweeps add to the forces of these rows.
    pub change: [T; MOST],
}

/// Rows of friction of a block: how many rows of it come before, and whether they share an elliptic bound.
fn friction_rows<T: Real>(set: &ConstraintSet<T>, block: usize) -> Option<(usize, bool)> {
    let b = &set.blocks[block];
    match b.source {
        Source::Friction(_) | Source::TendonFriction(_) => Some((0, false)),
        Source::Contact { .. } if b.dim > 1 => Some((1, b.cost == Cost::Elliptic)),
        _ => None,
    }
}

/// An impulse between its bounds; on a bound where it would lie there exactly.
#[inline(always)]
fn clamp<T: Real>(x: T, bound: T) -> T {
    select(x.gt(-bound) & x.lt(bound), x, select(x.ge(bound), bound, -bound))
}

impl<T> NoSlip<T> {
    /// Whether the last solve was swept.
    pub(super) fn swept(&self) -> bool {
        !self.members.is_empty()
    }
}

impl<T: Real> NoSlip<T> {
    /// Memory for so many blocks over `nv` degrees of freedom and so many sweeps; more is allocated when first met.
    pub fn new(blocks: usize, nv: usize, sweeps: usize) -> Self {
        let (blocks, sweeps) = if sweeps == 0 { (0, 0) } else { (blocks, sweeps) };
        let rows = blocks * (MOST_ROWS - 1);
        let room = |n: usize| Vec::with_capacity(n);
        // Few contacts have more than two rows of friction; vectors are short, matrices are not.
        let matrix = 2 * blocks * nv;
        NoSlip {
            members: Vec::with_capacity(blocks),
            places: Vec::with_capacity(blocks),
            support: Vec::with_capacity(blocks * nv),
            response: room(matrix),
            squares: room(rows * MOST),
            normals: room(rows),
            history: room(rows * (sweeps + 1)),
            multipliers: room(blocks * sweeps),
            first_forces: room(blocks * MOST_ROWS),
            count: T::zero(),
            sweeps: 0,
            end: vec![T::zero(); nv],
            acceleration: vec![T::zero(); nv],
            scratch: [vec![T::zero(); nv], vec![T::zero(); nv]],
            force_bars: room(rows),
            normal_bars: room(rows),
            friction_bars: room(rows),
            reference_bars: room(rows),
            response_bars: room(matrix),
            square_bars: room(rows * MOST),
            jacobian_bars: room(matrix),
        }
    }

    /// Forgets the last solve.
    pub(super) fn clear(&mut self) {
        self.members.clear();
    }

    /// Y, A and the normal forces of all rows of friction. `trees` are the degrees of freedom, rising, of the tree of each root.
    fn prepare(
        &mut self,
        set: &ConstraintSet<T>,
        (tree, mass): (&Tree, &MassMatrix<T>),
        trees: &[Vec<usize>],
        order: impl Fn(Source) -> [usize; 4],
    ) {
        let NoSlip { members, places, support, response, squares, normals, scratch, history, .. } = self;
        members.clear();
        support.clear();
        response.clear();
        squares.clear();
        normals.clear();
        history.clear();
        let mut entry = 0;
        for (block, b) in set.blocks.iter().enumerate() {
            let Some((skipped, elliptic)) = friction_rows(set, block) else { continue };
            let (dofs, dim, first) = (set.dofs(block), b.dim - skipped, support.len());
            let mut last = None;
            for k in dofs.iter().rev() {
                let root = tree.root[tree.dof_body[*k]];
                if last != Some(root) {
                    support.extend_from_slice(&trees[root]);
                    last = Some(root);
                }
            }
            let member = Member {
                block,
                row: b.row + skipped,
                number: normals.len(),
                dim,
                elliptic,
                first,
                count: support.len() - first,
                response: response.len(),
                entry,
                square: squares.len(),
            };
            entry += dim * dofs.len();
            let rows = || set.jacobian(block).chunks(dofs.len()).skip(skipped);
            let x = &mut scratch[0];
            for row in rows() {
                support[first..].iter().for_each(|k| x[*k] = T::zero());
                dofs.iter().zip(row).for_each(|(k, entry)| x[*k] = *entry);
                mass.solve_rows(tree, &support[first..], x);
                response.extend(support[first..].iter().map(|k| x[*k]));
                // A_ij = J_i Y_j, column by column; it is symmetric
                for other in rows() {
                    let mut product = T::zero();
                    dofs.iter().zip(other).for_each(|(k, entry)| product += *entry * x[*k]);
                    squares.push(product);
                }
            }
            let (u, w) = (&set.residual[b.row..b.row + b.dim], &set.weights[block]);
            for i in 0..dim {
                normals.push(match b.cost {
                    Cost::Pyramid => pair_normal(u, w, i + 1),
                    _ => set.force[b.row],
                });
            }
            history.extend_from_slice(&set.force[member.row..member.row + dim]);
            members.push(member);
        }
        members.sort_unstable_by_key(|m| (order(set.blocks[m.block].source), m.block));
        places.clear();
        places.resize(set.blocks.len(), members.len());
        members.iter().enumerate().for_each(|(place, m)| places[m.block] = place);
    }

    /// Sweeps from the optimum: changes its acceleration, and the forces in `set`. Blocks are swept by rising `order` of their
    /// sources.
    pub(super) fn solve(
        &mut self,
        problem: &Problem<'_, T>,
        (trees, order): (&[Vec<usize>], impl Fn(Source) -> [usize; 4]),
        set: &mut ConstraintSet<T>,
        acceleration: &mut [T],
    ) {
        let (tree, mass, options) = (problem.tree, problem.mass, &problem.options);
        self.prepare(set, (tree, mass), trees, order);
        let NoSlip { members, support, response, squares, normals, history, multipliers, .. } = self;
        self.first_forces.clear();
        self.first_forces.extend_from_slice(&set.force);
        multipliers.clear();
        (self.sweeps, self.count) = (0, T::zero());
        if members.is_empty() {
            return;
        }
        let rows = normals.len();
        let mut trace = T::zero();
        for start in &tree.row {
            trace += mass.packed[*start];
        }
        let least_gain = T::lit(options.noslip_tolerance) * trace;
        let mut running = T::Mask::splat(true);
        let mut gain = regularization(set);
        while self.sweeps < options.noslip_iterations && running.any() {
            let before = self.sweeps * rows;
            history.extend_from_within(before..before + rows);
            let here = before + rows;
            for member in members.iter() {
                let (dofs, dim) = (set.dofs(member.block), member.dim);
                let jacobian = set.jacobian(member.block);
                let jacobian = &jacobian[jacobian.len() - dim * dofs.len()..];
                let square = &squares[member.square()];
                let mu = &set.weights[member.block].friction;
                let forces = here + member.number;
                let residual = |i: usize, acceleration: &[T]| {
                    let mut u = -set.reference[member.row + i];
                    for (entry, k) in jacobian[i * dofs.len()..].iter().zip(dofs) {
                        u += *entry * acceleration[*k];
                    }
                    u
                };
                let add = |i: usize, step: T, acceleration: &mut [T]| {
                    for (y, k) in response[member.response(i)].iter().zip(&support[member.support()]) {
                        acceleration[*k] += *y * step;
                    }
                };
                if !member.elliptic {
                    for i in 0..dim {
                        let u = residual(i, acceleration);
                        let (force, diagonal) = (history[forces + i], square[i * dim + i]);
                        let (bound, regular) =
                            bound(set, member, mu[i], normals[member.number + i], diagonal);
                        let next = clamp(force - select(regular, u / diagonal, T::zero()), bound);
                        let next = select(regular, next, T::zero());
                        let step = select(running, next - force, T::zero());
                        history[forces + i] = select(running, next, force);
                        add(i, step, acceleration);
                        gain -= step * (T::lit(0.5) * step * diagonal + u);
                    }
                    continue;
                }
                let (mut u, mut c, mut step) = ([T::zero(); MOST], [T::zero(); MOST], [T::zero(); MOST]);
                for i in 0..dim {
                    u[i] = residual(i, acceleration);
                    c[i] = u[i];
                    for j in 0..dim {
                        c[i] -= square[i * dim + j] * history[forces + j];
                    }
                }
                let r = normals[member.number];
                let minimum = EllipsoidQp { a: square, c: &c[..dim], mu, r }.solve();
                for i in 0..dim {
                    let force = history[forces + i];
                    step[i] = select(running, minimum.x[i] - force, T::zero());
                    history[forces + i] = select(running, minimum.x[i], force);
                    add(i, step[i], acceleration);
                }
                for i in 0..dim {
                    let mut slope = u[i];
                    for j in 0..dim {
                        slope += T::lit(0.5) * square[i * dim + j] * step[j];
                    }
                    gain -= step[i] * slope;
                }
                multipliers.push(minimum.multiplier);
            }
            self.sweeps += 1;
            self.count = select(running, T::lit(self.sweeps as f64), self.count);
            running = running & !gain.lt(least_gain);
            gain = T::zero();
        }
        let last = &history[self.sweeps * rows..];
        for member in members.iter() {
            let own = &last[member.number..member.number + member.dim];
            set.force[member.row..member.row + member.dim].copy_from_slice(own);
        }
        self.end.copy_from_slice(acceleration);
    }
}

/// Largest force of a row, and whether the row moves anything.
fn bound<T: Real>(set: &ConstraintSet<T>, member: &Member, mu: T, normal: T, diagonal: T) -> (T, T::Mask) {
    if set.blocks[member.block].cost == Cost::Pyramid {
        (mu * normal, (T::lit(4.0) * mu * mu * diagonal).ge(T::lit(LEAST)))
    } else {
        (mu, diagonal.ge(T::lit(LEAST)))
    }
}

/// Normal force of the two edges of a pyramid along tangent k: −D Σ min(u₀ ± μ uₖ, 0).
fn pair_normal<T: Real>(u: &[T], w: &Weights<T>, k: usize) -> T {
    let along = w.friction[k - 1] * u[k];
    let edges = (u[0] + along).min(T::zero()) + (u[0] - along).min(T::zero());
    -(w.rows[0] * edges)
}

/// ½ Σ R f² over the rows as MuJoCo has them; a pyramid has its edges.
fn regularization<T: Real>(set: &ConstraintSet<T>) -> T {
    let mut sum = T::zero();
    for (block, b) in set.blocks.iter().enumerate() {
        let w = &set.weights[block];
        if b.cost == Cost::Pyramid {
            let u = &set.residual[b.row..b.row + b.dim];
            for k in 1..b.dim {
                for mu in [w.friction[k - 1], -w.friction[k - 1]] {
                    // R f² = D min(u, 0)²
                    let edge = (u[0] + mu * u[k]).min(T::zero());
                    sum += w.rows[0] * edge * edge;
                }
            }
            continue;
        }
        for i in 0..b.dim {
            let (f, d) = (set.force[b.row + i], w.rows[i]);
            sum += select(d.gt(T::zero()), f * f / select(d.gt(T::zero()), d, T::one()), T::zero());
        }
    }
    sum * T::lit(0.5)
}
