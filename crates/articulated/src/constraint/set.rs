//! [`ConstraintSet`]: the constraints of one evaluation, as blocks of rows with a sparse Jacobian.
//!
//! A block is an equality, the dry friction of one degree of freedom, a joint limit, or a contact. Its rows
//! share their columns, which are the degrees of freedom that move one side against the other; in a contact
//! those that carry both sides are left out. On lanes a block exists where any lane has it; in other lanes its weights
//! are zero.

use std::ops::Range;

use pullback_core::Workspace;
use pullback_math::{Mask, Real, select};

use super::cost::{Cost, MOST_ROWS, Weights};

/// Most blocks of a group.
pub(super) const MOST_BLOCKS: usize = 8;

/// Consecutive blocks that share their columns: their Jacobians are one matrix.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    first: usize,
    count: usize,
}

impl Group {
    /// Its blocks.
    pub fn blocks(self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// Where a block comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An equality constraint, by number.
    Equality(usize),
    /// Dry friction of a degree of freedom.
    Friction(usize),
    /// Dry friction of a tendon.
    TendonFriction(usize),
    /// A joint at the lower or, if `upper`, the upper end of its range; a ball joint at its largest angle.
    Limit {
        /// The joint.
        joint: usize,
        /// Which end.
        upper: bool,
    },
    /// A tendon at the lower or, if `upper`, the upper end of its range.
    TendonLimit {
        /// The tendon.
        tendon: usize,
        /// Which end.
        upper: bool,
    },
    /// A contact: its pair among those found, and its slot among all contacts.
    Contact {
        /// The pair.
        pair: usize,
        /// The slot.
        slot: usize,
    },
}

/// A block of rows.
#[derive(Clone, Copy, Debug)]
pub struct Constraint {
    /// Where it comes from.
    pub source: Source,
    /// Its cost.
    pub cost: Cost,
    /// Number of rows.
    pub dim: usize,
    /// First row.
    pub row: usize,
    /// First column in `dofs`, and how many.
    column: usize,
    pub(super) columns: usize,
    /// First entry of the Jacobian.
    entry: usize,
    /// First entry of the curvature.
    curve: usize,
    /// Whether its curvature is not zero.
    pub(super) stiff: bool,
}

impl Constraint {
    /// Its rows.
    #[inline(always)]
    pub fn rows(&self) -> Range<usize> {
        self.row..self.row + self.dim
    }
}

/// The constraints of one evaluation.
#[derive(Clone, Debug, Workspace)]
pub struct ConstraintSet<T> {
    /// The blocks, in MuJoCo's order: equalities, dry friction, limits, contacts.
    pub blocks: Vec<Constraint>,
    dofs: Vec<usize>,
    jacobian: Vec<T>,
    /// Weights of each block.
    pub weights: Vec<Weights<T>>,
    /// Violation of each row (`efc_pos`): distance of a contact or limit, residual of an equality.
    pub position: Vec<T>,
    /// Reference acceleration of each row.
    pub reference: Vec<T>,
    /// Residual J a − a_ref of each row.
    pub residual: Vec<T>,
    /// Force of each row.
    pub force: Vec<T>,
    curvature: Vec<T>,
    /// Memory for the curvature of one block.
    new_curvature: Vec<T>,
}

impl<T: Real> ConstraintSet<T> {
    /// Memory for so many blocks over `nv` degrees of freedom; more are allocated when first met.
    pub fn new(blocks: usize, nv: usize) -> Self {
        // Few contacts have more than three rows; vectors are short, the Jacobian is not.
        let rows = MOST_ROWS * blocks;
        ConstraintSet {
            blocks: Vec::with_capacity(blocks),
            dofs: Vec::with_capacity(blocks * nv),
            jacobian: Vec::with_capacity(3 * blocks * nv),
            weights: Vec::with_capacity(blocks),
            position: Vec::with_capacity(rows),
            reference: Vec::with_capacity(rows),
            residual: Vec::with_capacity(rows),
            force: Vec::with_capacity(rows),
            curvature: Vec::with_capacity(MOST_ROWS * rows),
            new_curvature: vec![T::zero(); MOST_ROWS * MOST_ROWS],
        }
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.dofs.clear();
        self.jacobian.clear();
        self.weights.clear();
        self.position.clear();
        self.reference.clear();
        self.residual.clear();
        self.force.clear();
        self.curvature.clear();
    }

    /// Appends a block of `dim` rows over `dofs`, its numbers zero, and returns its index. A block over the same
    /// degrees of freedom as the last one shares its columns.
    pub fn push(
        &mut self,
        source: Source,
        cost: Cost,
        dim: usize,
        dofs: impl IntoIterator<Item = usize>,
    ) -> usize {
        let mut column = self.dofs.len();
        self.dofs.extend(dofs);
        let columns = self.dofs.len() - column;
        let last = self.blocks.last().map_or(column, |b| b.column);
        if self.dofs[last..column] == self.dofs[column..] {
            self.dofs.truncate(column);
            column = last;
        }
        self.push_rows(source, cost, dim, (column, columns))
    }

    /// Appends a block like the last one, its numbers zero.
    pub fn push_like_last(&mut self, source: Source) -> Option<usize> {
        let b = *self.blocks.last()?;
        Some(self.push_rows(source, b.cost, b.dim, (b.column, b.columns)))
    }

    fn push_rows(
        &mut self,
        source: Source,
        cost: Cost,
        dim: usize,
        (column, columns): (usize, usize),
    ) -> usize {
        let (row, entry, curve) = (self.reference.len(), self.jacobian.len(), self.curvature.len());
        self.jacobian.resize(entry + dim * columns, T::zero());
        for rows in [&mut self.position, &mut self.reference, &mut self.residual, &mut self.force] {
            rows.resize(row + dim, T::zero());
        }
        self.curvature.resize(curve + dim * dim, T::zero());
        self.weights.push(Weights::default());
        self.blocks.push(Constraint { source, cost, dim, row, column, columns, entry, curve, stiff: false });
        self.blocks.len() - 1
    }

    /// Keeps which columns the blocks have; says whether they are those kept before.
    pub(super) fn same_columns(&self, kept: &mut Vec<usize>) -> bool {
        let starts = || self.blocks.iter().map(|b| b.column);
        let columns = || self.dofs.iter().copied().chain(starts());
        let same = kept.len() == self.dofs.len() + self.blocks.len() && columns().eq(kept.iter().copied());
        if !same {
            kept.clear();
            kept.reserve(self.dofs.capacity() + self.blocks.capacity());
            kept.extend(columns());
        }
        same
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.reference.len()
    }

    /// The degrees of freedom that a block's columns belong to.
    #[inline(always)]
    pub fn dofs(&self, block: usize) -> &[usize] {
        let b = &self.blocks[block];
        &self.dofs[b.column..b.column + b.columns]
    }

    /// The Jacobian of a block, row by row.
    #[inline(always)]
    pub fn jacobian(&self, block: usize) -> &[T] {
        let b = &self.blocks[block];
        &self.jacobian[b.entry..b.entry + b.dim * b.columns]
    }

    /// The Jacobian of a block and the degrees of freedom of its columns.
    #[inline(always)]
    pub fn jacobian_mut(&mut self, block: usize) -> (&mut [T], &[usize]) {
        let b = &self.blocks[block];
        (&mut self.jacobian[b.entry..b.entry + b.dim * b.columns], &self.dofs[b.column..b.column + b.columns])
    }

    /// The curvature of a block, row by row.
    #[inline(always)]
    pub fn curvature(&self, block: usize) -> &[T] {
        let b = &self.blocks[block];
        &self.curvature[b.curve..b.curve + b.dim * b.dim]
    }

    /// Whether a block exerts no force and would not if it moved a little, in any lane.
    pub(super) fn is_idle(&self, block: usize) -> bool {
        let b = &self.blocks[block];
        let zero = |f: &T| pullback_math::Mask::all(f.le(T::zero()) & f.ge(T::zero()));
        !b.stiff && self.force[b.row..b.row + b.dim].iter().all(zero)
    }

    /// Appends the groups of consecutive blocks.
    pub(super) fn push_groups(&self, blocks: &[usize], groups: &mut Vec<Group>) {
        let shared = |a: &usize, b: &usize| self.blocks[*a].column == self.blocks[*b].column;
        for group in blocks.chunk_by(shared).flat_map(|run| run.chunks(MOST_BLOCKS)) {
            groups.push(Group { first: group[0], count: group.len() });
        }
    }

    /// Rows, degrees of freedom and Jacobian of a group.
    #[inline(always)]
    pub(super) fn group(&self, group: Group) -> (Range<usize>, &[usize], &[T]) {
        let (first, last) = (&self.blocks[group.first], &self.blocks[group.first + group.count - 1]);
        let rows = first.row..last.row + last.dim;
        let jacobian = &self.jacobian[first.entry..first.entry + rows.len() * first.columns];
        (rows, &self.dofs[first.column..first.column + first.columns], jacobian)
    }

    /// J x of some groups, into their rows of `out`. `scratch` is per degree of freedom.
    pub fn multiply_all(&self, groups: &[Group], x: &[T], scratch: &mut [T], out: &mut [T]) {
        for &group in groups {
            let (rows, dofs, jacobian) = self.group(group);
            let x = gathered(x, dofs, scratch);
            for (out, row) in out[rows].iter_mut().zip(jacobian.chunks_exact(dofs.len())) {
                let mut sum = T::zero();
                for (entry, x) in row.iter().zip(x) {
                    sum += *entry * *x;
                }
                *out = sum;
            }
        }
    }

    /// out ← out − Jᵀ f of some groups, with the forces at hand. `scratch` is per degree of freedom.
    pub fn subtract_forces(&self, groups: &[Group], scratch: &mut [T], out: &mut [T]) {
        for &group in groups {
            let (rows, dofs, jacobian) = self.group(group);
            let sum = &mut scratch[..dofs.len()];
            sum.fill(T::zero());
            for (f, row) in self.force[rows].iter().zip(jacobian.chunks_exact(dofs.len())) {
                for (sum, entry) in sum.iter_mut().zip(row) {
                    *sum += *entry * *f;
                }
            }
            for (sum, k) in sum.iter().zip(dofs) {
                out[*k] -= *sum;
            }
        }
    }

    /// Sets residual, force and curvature of some groups at acceleration `a`. `scratch` is per degree of freedom.
    pub fn evaluate_all(&mut self, groups: &[Group], a: &[T], scratch: &mut [T]) {
        let mut residual = std::mem::take(&mut self.residual);
        self.multiply_all(groups, a, scratch, &mut residual);
        self.residual = residual;
        for block in groups.iter().flat_map(|group| group.blocks()) {
            let b = &self.blocks[block];
            for i in b.row..b.row + b.dim {
                self.residual[i] -= self.reference[i];
            }
            self.evaluate_cost(block);
        }
    }

    /// J x of a block, into its rows of `out`.
    #[inline(always)]
    pub fn multiply(&self, block: usize, x: &[T], out: &mut [T]) {
        let b = &self.blocks[block];
        let (jacobian, dofs) = (self.jacobian(block), self.dofs(block));
        for i in 0..b.dim {
            let mut sum = T::zero();
            for (entry, k) in jacobian[i * b.columns..(i + 1) * b.columns].iter().zip(dofs) {
                sum += *entry * x[*k];
            }
            out[i] = sum;
        }
    }

    /// How far Jᵀ f of some blocks may be off because residuals u = J a − a_ref are rounded by a `relative` part
    /// of their terms: | |J|ᵀ |C| δu |, with C on the stiffer side of a kink that is that near. `scratch` is per
    /// degree of freedom.
    pub fn force_round_off(
        &self,
        dofs: &[usize],
        blocks: &[usize],
        a: &[T],
        relative: T,
        scratch: &mut [T],
    ) -> T {
        for &k in dofs {
            scratch[k] = T::zero();
        }
        for &block in blocks {
            let b = &self.blocks[block];
            let (jacobian, columns) = (self.jacobian(block), self.dofs(block));
            let (mut u, mut error) = ([T::zero(); MOST_ROWS], [T::zero(); MOST_ROWS]);
            for (i, row) in jacobian.chunks(b.columns).enumerate() {
                let mut sum = self.reference[b.row + i].abs();
                for (entry, k) in row.iter().zip(columns) {
                    sum += (*entry * a[*k]).abs();
                }
                (u[i], error[i]) = (self.residual[b.row + i], relative * sum);
            }
            u[0] -= select(u[0].lt(T::zero()) & T::Mask::splat(b.cost == Cost::Huber), -error[0], error[0]);
            let (mut force, mut curvature) = ([T::zero(); MOST_ROWS], [T::zero(); MOST_ROWS * MOST_ROWS]);
            let curvature = &mut curvature[..b.dim * b.dim];
            b.cost.evaluate(&u[..b.dim], &self.weights[block], &mut force[..b.dim], curvature);
            for (row, curvature) in jacobian.chunks(b.columns).zip(curvature.chunks(b.dim)) {
                let mut force = T::zero();
                for (c, error) in curvature.iter().zip(&error) {
                    force += c.abs() * *error;
                }
                for (entry, k) in row.iter().zip(columns) {
                    scratch[*k] += entry.abs() * force;
                }
            }
        }
        let mut squared = T::zero();
        for &k in dofs {
            squared += scratch[k] * scratch[k];
        }
        squared.sqrt()
    }

    /// Sets force and curvature of a block at its residual. Returns whether its curvature is another than
    /// before.
    #[inline]
    pub fn evaluate_cost(&mut self, block: usize) -> bool {
        let b = self.blocks[block];
        let curvature = &mut self.new_curvature[..b.dim * b.dim];
        let rows = b.row..b.row + b.dim;
        b.cost.evaluate(&self.residual[rows.clone()], &self.weights[block], &mut self.force[rows], curvature);
        let before = &mut self.curvature[b.curve..b.curve + b.dim * b.dim];
        let (mut changed, mut stiff) = (false, false);
        for (before, now) in before.iter_mut().zip(curvature.iter()) {
            let equal = |x: T, y: T| x.le(y) & y.le(x);
            changed |= !pullback_math::Mask::all(equal(*before, *now));
            stiff |= !pullback_math::Mask::all(equal(*now, T::zero()));
            *before = *now;
        }
        self.blocks[block].stiff = stiff;
        changed
    }
}

/// The entries of `x` at `dofs`, in `scratch`.
#[inline(always)]
fn gathered<'s, T: Real>(x: &[T], dofs: &[usize], scratch: &'s mut [T]) -> &'s [T] {
    for (to, k) in scratch.iter_mut().zip(dofs) {
        *to = x[*k];
    }
    &scratch[..dofs.len()]
}
