//! Projected Gauss-Seidel over the rows of a set, and its pullback by the same sweeps backwards.
//!
//! Rows are J, free velocities b = J v* − target, and bounds of the impulses λ. With Y = M⁻¹ Jᵀ and w = Y λ,
//! an update of row r is
//!
//! u = J_r·w + cfm λ_r + b_r,  λ_r ← clamp(λ_r − u / D_r),  w ← w + Y_r δλ_r,  D_r = J_r·Y_r + cfm.
//!
//! A = J Y is never formed: an update costs as much as the trees of its bodies have degrees of freedom.
//!
//! *Pullback.* The impulses after every sweep are kept. They tell which bound held, δλ, and by undoing the
//! updates w. With w̄ and λ̄ the cotangents after an update and s̄ that of an impulse inside its bounds:
//! ū = −s̄ / D, b̄ += ū, J̄_r += w ū, D̄ += ū δλ, Ȳ_r += w̄ δλ.

use pullback_core::Workspace;
use pullback_math::{Mask, Real, select};

use crate::constraint::set::{ConstraintSet, Source};
use crate::mass_matrix::{MassMatrix, add_symmetric};
use crate::tree::Tree;

/// A block with the problem that it belongs to and the degrees of freedom that it moves.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The problem: blocks of one are swept together.
    problem: (usize, usize),
    block: usize,
    /// Whether it exerts an impulse, or would if anything moved a little, in any sweep and lane.
    busy: bool,
    /// First of its degrees of freedom in `support`, and how many.
    first: usize,
    count: usize,
    /// First entry of its rows of Y, and of its Jacobian.
    response: usize,
    entry: usize,
}

impl Member {
    fn support(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// A row of Y.
    fn response(&self, row: usize) -> std::ops::Range<usize> {
        let start = self.response + row * self.count;
        start..start + self.count
    }
}

/// What the sweeps run on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweeping<T> {
    /// Number of sweeps.
    pub iterations: usize,
    /// Largest impulse of a contact or limit, N s.
    pub max_impulse: T,
    /// Velocity per unit of impulse, 1/kg.
    pub cfm: T,
    /// The time step, s.
    pub dt: T,
}

/// Memory of the sweeps.
#[derive(Clone, Debug, Workspace)]
pub struct Pgs<T> {
    members: Vec<Member>,
    /// Degrees of freedom that each block moves, rising.
    support: Vec<usize>,
    /// Y, block by block and row by row.
    response: Vec<T>,
    /// 1 / D; zero where a row does not act.
    inverse_diagonal: Vec<T>,
    /// Impulses after each sweep, N s.
    history: Vec<T>,
    /// Largest change of an impulse in the last sweep, N s.
    #[workspace(plain)]
    pub change: f64,
    /// Velocity that the impulses of a problem add.
    added: Vec<T>,
    added_bar: Vec<T>,
    impulse_bars: Vec<T>,
    diagonal_bars: Vec<T>,
    response_bars: Vec<T>,
    scratch: [Vec<T>; 2],
    /// Cotangents of the rows' free velocities, of their coefficients of friction or their dry friction, and
    /// of the Jacobian.
    residual_bars: Vec<T>,
    bound_bars: Vec<T>,
    jacobian_bars: Vec<T>,
}

/// Whether all lanes are zero.
fn is_zero<T: Real>(x: T) -> bool {
    (x.le(T::zero()) & x.ge(T::zero())).all()
}

/// An impulse between its bounds; on a bound where it would lie there exactly.
#[inline(always)]
fn clamp<T: Real>(x: T, (low, high): (T, T)) -> T {
    select(x.gt(low) & x.lt(high), x, select(x.ge(high), high, low))
}

/// Bounds of an impulse, and what the upper one is a multiple of if the lower one is its negative: the normal
/// impulse of sliding, the time step of dry friction.
#[inline(always)]
fn bounds<T: Real>(
    set: &ConstraintSet<T>,
    (block, i): (usize, usize),
    normal: T,
    at: &Sweeping<T>,
) -> ((T, T), Option<T>) {
    let base = match set.blocks[block].source {
        Source::Equality(_) => {
            let unbounded = T::lit(f64::INFINITY);
            return ((-unbounded, unbounded), None);
        }
        Source::Friction(_) | Source::TendonFriction(_) => Some(at.dt),
        _ if i > 0 => Some(normal),
        _ => None,
    };
    match base {
        None => ((T::zero(), at.max_impulse), None),
        Some(base) => {
            let bound = set.weights[block].friction[0] * base;
            ((-bound, bound), Some(base))
        }
    }
}

impl<T: Real> Pgs<T> {
    /// Memory for so many blocks of so many rows in all over `nv` degrees of freedom; more are allocated when
    /// first met.
    pub fn new(blocks: usize, rows: usize, nv: usize, iterations: usize) -> Self {
        let rows_of = |n: usize| Vec::with_capacity(n);
        Pgs {
            members: Vec::with_capacity(blocks),
            support: Vec::with_capacity(blocks * nv),
            response: rows_of(rows * nv),
            inverse_diagonal: rows_of(rows),
            history: rows_of(rows * iterations),
            change: 0.0,
            added: vec![T::zero(); nv],
            added_bar: vec![T::zero(); nv],
            impulse_bars: rows_of(rows),
            diagonal_bars: rows_of(rows),
            response_bars: rows_of(rows * nv),
            scratch: [vec![T::zero(); nv], vec![T::zero(); nv]],
            residual_bars: rows_of(rows),
            bound_bars: rows_of(blocks),
            jacobian_bars: rows_of(rows * nv),
        }
    }

    /// Y, D and the order of the blocks. `problem` says which blocks are swept together; `trees` are the
    /// degrees of freedom, rising, of the tree of each root.
    pub(super) fn prepare(
        &mut self,
        set: &ConstraintSet<T>,
        (tree, mass): (&Tree, &MassMatrix<T>),
        trees: &[Vec<usize>],
        cfm: T,
        problem: impl Fn(usize) -> (usize, usize),
    ) {
        self.members.clear();
        self.support.clear();
        self.response.clear();
        self.inverse_diagonal.clear();
        let mut entry = 0;
        for (block, b) in set.blocks.iter().enumerate() {
            let (first, response, dofs) = (self.support.len(), self.response.len(), set.dofs(block));
            let root = |k: &usize| tree.root[tree.dof_body[*k]];
            let one = dofs.first().map_or(0, root);
            let other = dofs.iter().map(root).find(|r| *r != one);
            self.support.extend_from_slice(&trees[one]);
            if let Some(other) = other {
                self.support.extend_from_slice(&trees[other]);
                self.support[first..].sort_unstable();
            }
            let support = &self.support[first..];
            let acts = set.weights[block].rows[0].gt(T::zero());
            for row in set.jacobian(block).chunks(dofs.len()) {
                // Y = M⁻¹ Jᵀ,  D = J Y + cfm
                let x = &mut self.scratch[0];
                support.iter().for_each(|k| x[*k] = T::zero());
                dofs.iter().zip(row).for_each(|(k, entry)| x[*k] = *entry);
                mass.solve_rows(tree, support, x);
                self.response.extend(support.iter().map(|k| x[*k]));
                let mut diagonal = cfm;
                dofs.iter().zip(row).for_each(|(k, entry)| diagonal += *entry * x[*k]);
                let regular = acts & diagonal.gt(T::zero());
                let safe = select(regular, diagonal, T::one());
                self.inverse_diagonal.push(select(regular, safe.recip(), T::zero()));
            }
            let count = support.len();
            let problem = problem(block);
            self.members.push(Member { problem, block, busy: false, first, count, response, entry });
            entry += b.dim * dofs.len();
        }
        // Blocks of one problem keep their order.
        self.members.sort_unstable_by_key(|m| (m.problem, m.block));
    }

    /// Solves: leaves the impulses of every sweep and adds the velocity that they cause to `velocity`.
    pub(super) fn solve(&mut self, set: &ConstraintSet<T>, at: &Sweeping<T>, velocity: &mut [T]) {
        let Pgs { members, support, response, inverse_diagonal, history, added, change, .. } = self;
        let rows = set.rows();
        history.clear();
        history.resize(at.iterations * rows, T::zero());
        *change = 0.0;
        for problem in members.chunk_by_mut(|a, b| a.problem == b.problem) {
            added.fill(T::zero());
            for sweep in 0..at.iterations {
                for member in problem.iter_mut() {
                    let b = set.blocks[member.block];
                    let (jacobian, dofs) = (set.jacobian(member.block), set.dofs(member.block));
                    for i in 0..b.dim {
                        let (row, here) = (b.row + i, sweep * rows + b.row + i);
                        let before = if sweep == 0 { T::zero() } else { history[here - rows] };
                        // u = J w + cfm λ + b
                        let mut u = set.residual[row] + at.cfm * before;
                        for (entry, k) in jacobian[i * dofs.len()..].iter().zip(dofs) {
                            u += *entry * added[*k];
                        }
                        let (bounds, _) = bounds(set, (member.block, i), history[here - i], at);
                        let after = clamp(before - u * inverse_diagonal[row], bounds);
                        history[here] = after;
                        let step = after - before;
                        let inside = after.gt(bounds.0) & after.lt(bounds.1);
                        member.busy |= inside.any() || !is_zero(step);
                        if !member.busy {
                            continue;
                        }
                        for (y, k) in response[member.response(i)].iter().zip(&support[member.support()]) {
                            added[*k] += *y * step;
                        }
                        if sweep + 1 == at.iterations {
                            *change = change.max(step.abs().max_lane());
                        }
                    }
                }
            }
            velocity.iter_mut().zip(added.iter()).for_each(|(v, w)| *v += *w);
        }
    }

    /// Impulses after the last sweep, N s, row by row.
    pub fn impulses(&self) -> &[T] {
        &self.history[self.history.len() - self.inverse_diagonal.len()..]
    }

    /// The pullback of the sweeps with the cotangent of the velocity that they add: sets the cotangents of
    /// the rows' free velocities, bounds and Jacobian, *adds* to that of the packed mass matrix and returns
    /// that of cfm.
    pub(super) fn solve_vjp(
        &mut self,
        set: &ConstraintSet<T>,
        (tree, mass): (&Tree, &MassMatrix<T>),
        at: &Sweeping<T>,
        velocity_bar: &[T],
        mass_bar: &mut [T],
    ) -> T {
        let rows = set.rows();
        let entries = set.blocks.iter().zip(0..).map(|(b, i)| b.dim * set.dofs(i).len()).sum();
        for (bars, length) in [
            (&mut self.impulse_bars, rows),
            (&mut self.diagonal_bars, rows),
            (&mut self.residual_bars, rows),
            (&mut self.bound_bars, set.blocks.len()),
            (&mut self.response_bars, self.response.len()),
            (&mut self.jacobian_bars, entries),
        ] {
            bars.clear();
            bars.resize(length, T::zero());
        }
        let mut cfm_bar = T::zero();
        let mut start = 0;
        while start < self.members.len() {
            let problem = self.members[start].problem;
            let count = self.members[start..].iter().take_while(|m| m.problem == problem).count();
            cfm_bar += self.sweep_back(set, at, start..start + count, velocity_bar);
            start += count;
        }
        for member in 0..self.members.len() {
            cfm_bar += self.response_vjp(set, (tree, mass), member, mass_bar);
        }
        cfm_bar
    }

    /// The sweeps of one problem backwards. Returns the cotangent of cfm as far as updates see it.
    fn sweep_back(
        &mut self,
        set: &ConstraintSet<T>,
        at: &Sweeping<T>,
        problem: std::ops::Range<usize>,
        velocity_bar: &[T],
    ) -> T {
        let Pgs { members, support, response, inverse_diagonal, history, added, added_bar, .. } = self;
        let Pgs { impulse_bars, diagonal_bars, response_bars, residual_bars, .. } = self;
        let Pgs { bound_bars, jacobian_bars, .. } = self;
        let members = &members[problem];
        let rows = set.rows();
        let last = &history[history.len() - rows..];
        // w = Y λ
        added.fill(T::zero());
        added_bar.copy_from_slice(velocity_bar);
        for member in members.iter().filter(|m| m.busy) {
            let b = set.blocks[member.block];
            for (i, impulse) in last[b.row..b.row + b.dim].iter().enumerate() {
                for (y, k) in response[member.response(i)].iter().zip(&support[member.support()]) {
                    added[*k] += *y * *impulse;
                }
            }
        }
        let mut cfm_bar = T::zero();
        for sweep in (0..at.iterations).rev() {
            for member in members.iter().rev().filter(|m| m.busy) {
                let b = set.blocks[member.block];
                let (jacobian, dofs) = (set.jacobian(member.block), set.dofs(member.block));
                let support = &support[member.support()];
                for i in (0..b.dim).rev() {
                    let (row, here) = (b.row + i, sweep * rows + b.row + i);
                    let after = history[here];
                    let before = if sweep == 0 { T::zero() } else { history[here - rows] };
                    let step = after - before;

                    // w ← w + Y δλ
                    let places = member.response(i);
                    let mut along = T::zero();
                    for ((y, y_bar), k) in
                        response[places.clone()].iter().zip(&mut response_bars[places]).zip(support)
                    {
                        along += *y * added_bar[*k];
                        *y_bar += added_bar[*k] * step;
                        added[*k] -= *y * step;
                    }
                    let after_bar = impulse_bars[row] + along;

                    // λ ← clamp(λ − u / D)
                    let ((low, high), base) = bounds(set, (member.block, i), history[here - i], at);
                    let inside = after.gt(low) & after.lt(high);
                    let inner_bar = select(inside, after_bar, T::zero());
                    if let Some(base) = base {
                        let signed = select(after.gt(T::zero()), after_bar, -after_bar);
                        let bound_bar = select(inside, T::zero(), signed);
                        bound_bars[member.block] += bound_bar * base;
                        if i > 0 {
                            impulse_bars[b.row] += bound_bar * set.weights[member.block].friction[0];
                        }
                    }

                    // u = J w + cfm λ + b
                    let u_bar = -(inner_bar * inverse_diagonal[row]);
                    impulse_bars[row] = inner_bar + at.cfm * u_bar - along;
                    cfm_bar += before * u_bar;
                    diagonal_bars[row] += u_bar * step;
                    residual_bars[row] += u_bar;
                    let first = member.entry + i * dofs.len();
                    let bars = &mut jacobian_bars[first..first + dofs.len()];
                    for ((entry, bar), k) in jacobian[i * dofs.len()..].iter().zip(bars).zip(dofs) {
                        *bar += added[*k] * u_bar;
                        added_bar[*k] += *entry * u_bar;
                    }
                }
            }
        }
        cfm_bar
    }

    /// The pullback of Y = M⁻¹ Jᵀ and D = J Y + cfm of a block: *adds* to the cotangents of the Jacobian and
    /// of the packed mass matrix. Returns that of cfm.
    fn response_vjp(
        &mut self,
        set: &ConstraintSet<T>,
        (tree, mass): (&Tree, &MassMatrix<T>),
        member: usize,
        mass_bar: &mut [T],
    ) -> T {
        let Pgs { members, support, response, response_bars, diagonal_bars, jacobian_bars, scratch, .. } =
            self;
        let member = &members[member];
        let mut cfm_bar = T::zero();
        if !member.busy {
            return cfm_bar;
        }
        let [x, y] = scratch;
        let b = set.blocks[member.block];
        let (jacobian, dofs) = (set.jacobian(member.block), set.dofs(member.block));
        let support = &support[member.support()];
        for i in 0..b.dim {
            let (diagonal_bar, places) = (diagonal_bars[b.row + i], member.response(i));
            for ((k, own), bar) in support.iter().zip(&response[places.clone()]).zip(&response_bars[places]) {
                (x[*k], y[*k]) = (*bar, *own);
            }
            let row = i * dofs.len()..(i + 1) * dofs.len();
            for (entry, k) in jacobian[row.clone()].iter().zip(dofs) {
                x[*k] += *entry * diagonal_bar;
            }
            // z = M⁻¹ Ȳ,  J̄ += z + D̄ Y,  M̄ −= z Yᵀ
            mass.solve_rows(tree, support, x);
            let bars = &mut jacobian_bars[member.entry + row.start..member.entry + row.end];
            for (bar, k) in bars.iter_mut().zip(dofs) {
                *bar += x[*k] + y[*k] * diagonal_bar;
            }
            add_symmetric(tree, support, (x, y), -T::one(), mass_bar);
            cfm_bar += diagonal_bar;
        }
        cfm_bar
    }

    /// The block of a place in the order of sweeping, if it is busy, and its cotangents: of its
    /// Jacobian, of the free velocities of its rows, and of what bounds its friction.
    pub(super) fn block_bars(
        &mut self,
        set: &ConstraintSet<T>,
        place: usize,
    ) -> Option<(usize, &mut [T], &[T], T)> {
        let Member { entry, block, busy, .. } = self.members[place];
        let b = set.blocks[block];
        let jacobian = &mut self.jacobian_bars[entry..entry + b.dim * set.dofs(block).len()];
        let residual = &self.residual_bars[b.row..b.row + b.dim];
        busy.then_some((block, jacobian, residual, self.bound_bars[block]))
    }

    /// Number of sweeps over so many rows.
    pub(super) fn sweeps(&self, rows: usize) -> usize {
        self.history.len() / rows
    }

    /// Number of problems.
    pub fn problems(&self) -> usize {
        self.members.chunk_by(|a, b| a.problem == b.problem).count()
    }
}
