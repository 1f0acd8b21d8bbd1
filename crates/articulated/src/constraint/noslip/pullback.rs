//! The pullback of the sweeps: each undone from the forces kept, then Y = M⁻¹ Jᵀ and A = J Y.

use pullback_math::{Real, select};

use super::super::cost::{Cost, MOST_ROWS, Weights};
use super::super::ellipsoid_qp::{EllipsoidQp, MOST, Minimum};
use super::super::newton::Problem;
use super::super::set::ConstraintSet;
use super::{Member, NoSlip, SweptBars, bound};
use crate::mass_matrix::add_symmetric;

impl<T: Real> NoSlip<T> {
    /// The pullback of the sweeps. `acceleration_bar` comes in as the cotangent of the acceleration after them and goes out as
    /// that of the optimum; so does `force_bars` of the forces of all rows. *Adds* to the cotangent of the packed mass matrix.
    /// The forces in `set` are those of the optimum.
    pub(in crate::constraint) fn solve_vjp(
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
    pub(in crate::constraint) fn add_normal_bars(&self, set: &ConstraintSet<T>, acceleration_bar: &mut [T]) {
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
    pub(in crate::constraint) fn block_bars(
        &self,
        set: &ConstraintSet<T>,
        block: usize,
    ) -> Option<SweptBars<'_, T>> {
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
    pub(in crate::constraint) fn normals_vjp(
        &self,
        set: &ConstraintSet<T>,
        block: usize,
    ) -> ([T; MOST_ROWS], Weights<T>) {
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
