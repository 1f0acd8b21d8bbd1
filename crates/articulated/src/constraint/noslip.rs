//! Sweeps of friction after the solver (`noslip_iterations`), and their pullback by the same sweeps backwards.
//!
//! The optimum of the soft problem lets what rubs slip a little. From its forces, sweeps of Gauss-Seidel solve the rows of
//! friction again as hard ones, u = J a − a_ref = 0, at the normal forces that they have:
//!
//! | rows | update | bounds |
//! |---|---|---|
//! | dry friction | f ← clamp(f − u / A), A = J M⁻¹ Jᵀ | the loss |
//! | tangent k of a pyramid | the same | μₖ times the normal force of its pair of edges |
//! | tangents of an elliptic cone | min ½ x·A x + c·x, c = u − A f ([`super::ellipsoid_qp`]) | Σ (xₖ/μₖ)² ≤ f₀² |
//!
//! and a ← a + M⁻¹ Jᵀ δf. A sweep goes over dry friction of joints, of tendons, then contacts. Sweeps end as in MuJoCo: after
//! their number, or when one lowers the cost by less than `noslip_tolerance` tr M. To the first sweep's gain counts the
//! regularization ½ Σ R f² that is given up. Few sweeps need not reach the fixed point, so the implicit function
//! theorem does not hold; the number of sweeps is held constant under differentiation, and each is undone from the forces kept.
//!
//! *Limits.* As long as sweeps have not converged, the result depends on the order of the contacts. Pairs come as in MuJoCo; where a
//! pair has several contacts and the two find them in another order, results differ.

use pullback_core::Workspace;
use pullback_math::{Mask, Real, select};

use super::cost::{Cost, MOST_ROWS, Weights};
use super::ellipsoid_qp::{EllipsoidQp, MOST, Minimum};
use super::newton::Problem;
use super::set::{ConstraintSet, Source};
use super::softness::LEAST;
use crate::mass_matrix::{MassMatrix, add_symmetric};
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

    /// The pullback of the sweeps. `acceleration_bar` comes in as the cotangent of the acceleration after them and goes out as
    /// that of the optimum; so does `force_bars` of the forces of all rows. *Adds* to the cotangent of the packed mass matrix.
    /// The forces in `set` are those of the optimum.
    pub(super) fn solve_vjp(
        &mut self,
        problem: &Problem<'_, T>,
        set: &ConstraintSet<T>,
        acceleration_bar: &mut [T],
        force_bars: &mut [T],
        mass_bar: &mut [T],
    ) {
        let rows = self.normals.len();
        self.acceleration.copy_from_slice(&self.end);
        for (bars, length) in [
            (&mut self.force_bars, rows),
            (&mut self.normal_bars, rows),
            (&mut self.friction_bars, rows),
            (&mut self.reference_bars, rows),
            (&mut self.response_bars, self.response.len()),
            (&mut self.square_bars, self.squares.len()),
        ] {
            bars.clear();
            bars.resize(length, T::zero());
        }
        let entries = self.members.iter().map(|m| m.dim * set.dofs(m.block).len()).sum();
        self.jacobian_bars.clear();
        self.jacobian_bars.resize(entries, T::zero());
        for member in &self.members {
            let own = &mut force_bars[member.row..member.row + member.dim];
            self.force_bars[member.number..member.number + member.dim].copy_from_slice(own);
        }
        let elliptic = self.members.iter().filter(|m| m.elliptic).count();
        for sweep in (0..self.sweeps).rev() {
            let mut multiplier = (sweep + 1) * elliptic;
            for place in (0..self.members.len()).rev() {
                if self.members[place].elliptic {
                    multiplier -= 1;
                    self.elliptic_back(set, (place, sweep, multiplier), acceleration_bar);
                } else {
                    self.boxed_back(set, (place, sweep), acceleration_bar);
                }
            }
        }
        for place in 0..self.members.len() {
            self.response_vjp(problem, set, place, mass_bar);
        }
        for member in &self.members {
            let numbers = member.number..member.number + member.dim;
            force_bars[member.row..member.row + member.dim]
                .copy_from_slice(&self.force_bars[numbers.clone()]);
            if member.elliptic {
                // All rows have the normal force of the contact.
                for bar in &self.normal_bars[numbers] {
                    force_bars[member.row - 1] += *bar;
                }
            }
        }
    }

    /// Which lanes a sweep ran in.
    fn ran(&self, sweep: usize) -> T::Mask {
        T::lit(sweep as f64).lt(self.count)
    }

    /// a ← a + Y δf of a row backwards: undoes it and returns Y·ā, where the sweep ran.
    fn undo(&mut self, member: &Member, i: usize, (step, ran): (T, T::Mask), bar: &[T]) -> T {
        let places = member.response(i);
        let mut along = T::zero();
        let response = self.response[places.clone()].iter().zip(&mut self.response_bars[places]);
        for ((y, y_bar), k) in response.zip(&self.support[member.support()]) {
            along += *y * bar[*k];
            *y_bar += bar[*k] * step;
            self.acceleration[*k] -= *y * step;
        }
        select(ran, along, T::zero())
    }

    /// u = J a − a_ref of a row backwards.
    fn residual_vjp(&mut self, set: &ConstraintSet<T>, member: &Member, i: usize, u_bar: T, bar: &mut [T]) {
        let dofs = set.dofs(member.block);
        let jacobian = set.jacobian(member.block);
        let jacobian = &jacobian[jacobian.len() - (member.dim - i) * dofs.len()..];
        self.reference_bars[member.number + i] -= u_bar;
        let first = member.entry + i * dofs.len();
        let own = &mut self.jacobian_bars[first..first + dofs.len()];
        for ((entry, own), k) in jacobian.iter().zip(own).zip(dofs) {
            *own += self.acceleration[*k] * u_bar;
            bar[*k] += *entry * u_bar;
        }
    }

    /// The updates of a block's rows, each with its own bounds, backwards.
    fn boxed_back(&mut self, set: &ConstraintSet<T>, (place, sweep): (usize, usize), bar: &mut [T]) {
        let (member, rows, ran) = (self.members[place], self.normals.len(), self.ran(sweep));
        for i in (0..member.dim).rev() {
            let number = member.number + i;
            let (before, after) =
                (self.history[sweep * rows + number], self.history[(sweep + 1) * rows + number]);
            let step = after - before;
            let along = self.undo(&member, i, (step, ran), bar);
            let after_bar = self.force_bars[number] + along;

            // f ← clamp(f − u / A)
            let diagonal = self.squares[member.square + i * (member.dim + 1)];
            let (mu, normal) = (set.weights[member.block].friction[i], self.normals[number]);
            let (bound, regular) = bound(set, &member, mu, normal, diagonal);
            let moved = ran & regular;
            let inside = after.gt(-bound) & after.lt(bound);
            let inner_bar = select(moved & inside, after_bar, T::zero());
            let signed = select(after.gt(T::zero()), after_bar, -after_bar);
            let bound_bar = select(moved & !inside, signed, T::zero());
            if set.blocks[member.block].cost == Cost::Pyramid {
                self.friction_bars[number] += bound_bar * normal;
                self.normal_bars[number] += bound_bar * mu;
            } else {
                self.friction_bars[number] += bound_bar;
            }
            let u_bar = select(moved, -(inner_bar / diagonal), T::zero());
            self.square_bars[member.square + i * (member.dim + 1)] += u_bar * step;
            self.force_bars[number] = select(ran, inner_bar, after_bar) - along;
            self.residual_vjp(set, &member, i, u_bar, bar);
        }
    }

    /// The update of a block's rows with an elliptic bound backwards.
    fn elliptic_back(
        &mut self,
        set: &ConstraintSet<T>,
        (place, sweep, multiplier): (usize, usize, usize),
        bar: &mut [T],
    ) {
        let (member, rows, ran) = (self.members[place], self.normals.len(), self.ran(sweep));
        let (dim, zero) = (member.dim, T::zero());
        let (before, after) = (sweep * rows + member.number, (sweep + 1) * rows + member.number);
        let mut minimum = Minimum { x: [zero; MOST], multiplier: self.multipliers[multiplier] };
        let (mut start, mut along, mut x_bar) = ([zero; MOST], [zero; MOST], [zero; MOST]);
        for i in 0..dim {
            (start[i], minimum.x[i]) = (self.history[before + i], self.history[after + i]);
        }
        for i in 0..dim {
            along[i] = self.undo(&member, i, (minimum.x[i] - start[i], ran), bar);
            x_bar[i] = select(ran, self.force_bars[member.number + i] + along[i], zero);
        }
        // c = u − A f
        let (dofs, jacobian) = (set.dofs(member.block), set.jacobian(member.block));
        let jacobian = &jacobian[jacobian.len() - dim * dofs.len()..];
        let mut c = [zero; MOST];
        for i in 0..dim {
            c[i] = -set.reference[member.row + i];
            for (entry, k) in jacobian[i * dofs.len()..].iter().zip(dofs) {
                c[i] += *entry * self.acceleration[*k];
            }
            for j in 0..dim {
                c[i] -= self.squares[member.square + i * dim + j] * start[j];
            }
        }
        let mu = &set.weights[member.block].friction;
        let problem = EllipsoidQp {
            a: &self.squares[member.square()],
            c: &c[..dim],
            mu,
            r: self.normals[member.number],
        };
        let bars = problem.solve_vjp(&minimum, &x_bar);
        self.normal_bars[member.number] += select(ran, bars.r, zero);
        for i in 0..dim {
            let number = member.number + i;
            self.friction_bars[number] += select(ran, bars.mu[i], zero);
            let mut start_bar = select(ran, zero, self.force_bars[number]) - along[i];
            for j in 0..dim {
                let place = member.square + i * dim + j;
                self.square_bars[place] += select(ran, bars.a[i * dim + j] - bars.c[i] * start[j], zero);
                start_bar -= select(ran, self.squares[member.square + j * dim + i] * bars.c[j], zero);
            }
            self.force_bars[number] = start_bar;
        }
        for i in 0..dim {
            self.residual_vjp(set, &member, i, select(ran, bars.c[i], zero), bar);
        }
    }

    /// The pullback of Y = M⁻¹ Jᵀ and A = J Y of a block: *adds* to the cotangents of the Jacobian and of the packed mass
    /// matrix.
    fn response_vjp(
        &mut self,
        problem: &Problem<'_, T>,
        set: &ConstraintSet<T>,
        place: usize,
        mass_bar: &mut [T],
    ) {
        let NoSlip { members, support, response, response_bars, square_bars, jacobian_bars, scratch, .. } =
            self;
        let member = &members[place];
        let [x, y] = scratch;
        let (dofs, dim) = (set.dofs(member.block), member.dim);
        let jacobian = set.jacobian(member.block);
        let jacobian = &jacobian[jacobian.len() - dim * dofs.len()..];
        let support = &support[member.support()];
        let square_bars = &square_bars[member.square()];
        for i in 0..dim {
            for (k, bar) in support.iter().zip(&response_bars[member.response(i)]) {
                x[*k] = *bar;
            }
            // A_ji = J_j Y_i
            for j in 0..dim {
                for (entry, k) in jacobian[j * dofs.len()..].iter().zip(dofs) {
                    x[*k] += *entry * square_bars[j * dim + i];
                }
            }
            // z = M⁻¹ Ȳ,  J̄ += z,  M̄ −= z Yᵀ
            problem.mass.solve_rows(problem.tree, support, x);
            for (k, own) in support.iter().zip(&response[member.response(i)]) {
                y[*k] = *own;
            }
            add_symmetric(problem.tree, support, (x, y), -T::one(), mass_bar);
            for (n, k) in dofs.iter().enumerate() {
                jacobian_bars[member.entry + i * dofs.len() + n] += x[*k];
                // A_ji = J_j Y_i
                for j in 0..dim {
                    jacobian_bars[member.entry + j * dofs.len() + n] += square_bars[j * dim + i] * y[*k];
                }
            }
        }
    }

    /// Adds to the cotangent of the optimum what the normal forces of pyramids give: ā += Jᵀ (∂N/∂u)ᵀ N̄.
    pub(super) fn add_normal_bars(&self, set: &ConstraintSet<T>, acceleration_bar: &mut [T]) {
        for member in &self.members {
            let (u_bar, _) = self.normals_vjp(set, member.block);
            let dofs = set.dofs(member.block);
            for (bar, row) in u_bar.iter().zip(set.jacobian(member.block).chunks(dofs.len())) {
                for (entry, k) in row.iter().zip(dofs) {
                    acceleration_bar[*k] += *entry * *bar;
                }
            }
        }
    }

    /// The rows of friction of a block, if it has any.
    fn member(&self, block: usize) -> Option<&Member> {
        self.members.get(*self.places.get(block)?)
    }

    /// Cotangents of a block that the sweeps gave.
    pub(super) fn block_bars(&self, set: &ConstraintSet<T>, block: usize) -> Option<SweptBars<'_, T>> {
        let member = self.member(block)?;
        let numbers = member.number..member.number + member.dim;
        let last = &self.history[self.sweeps * self.normals.len()..];
        let mut change = [T::zero(); MOST];
        for i in 0..member.dim {
            change[i] = last[member.number + i] - self.first_forces[member.row + i];
        }
        Some(SweptBars {
            jacobian: &self.jacobian_bars[member.entry..member.entry + member.dim * set.dofs(block).len()],
            dim: member.dim,
            reference: &self.reference_bars[numbers.clone()],
            friction: &self.friction_bars[numbers],
            change,
        })
    }

    /// The pullback of the normal forces of a pyramid's pairs of edges: cotangents of its residual, and of its weights.
    pub(super) fn normals_vjp(&self, set: &ConstraintSet<T>, block: usize) -> ([T; MOST_ROWS], Weights<T>) {
        let (mut u_bar, mut w_bar) = ([T::zero(); MOST_ROWS], Weights::default());
        let b = &set.blocks[block];
        let (Some(member), Cost::Pyramid) = (self.member(block), b.cost) else { return (u_bar, w_bar) };
        let (u, w) = (&set.residual[b.row..b.row + b.dim], &set.weights[block]);
        for k in 1..b.dim {
            let bar = self.normal_bars[member.number + k - 1];
            for sign in [T::one(), -T::one()] {
                // N = −D min(u₀ ± μ uₖ, 0)
                let mu = sign * w.friction[k - 1];
                let edge = u[0] + mu * u[k];
                let acts = edge.lt(T::zero());
                let edge_bar = select(acts, -(bar * w.rows[0]), T::zero());
                w_bar.rows[0] -= select(acts, bar * edge, T::zero());
                w_bar.friction[k - 1] += edge_bar * sign * u[k];
                u_bar[0] += edge_bar;
                u_bar[k] += edge_bar * mu;
            }
        }
        (u_bar, w_bar)
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
