//! Full Newton steps where line searches creep.
//!
//! The cost of a stiff elliptic cone is a steep valley along the boundary of the cone, which is curved. An exact
//! line search ends where the straight step leaves the valley, so that the solver follows it by short steps (the
//! Maratos effect). A full step goes up the wall, and the next one returns to the bottom, farther along.
//!
//! The watchdog technique makes use of this (Chamberlain, Powell, Lemarechal & Pedersen 1982). A full step may
//! raise the cost if the one after it lowers the cost below that of the point they started from. Otherwise the
//! solver returns to this point, where the line search takes over. Attempts that fail double the number of line
//! searches until the next one, so that problems which these suit better lose few iterations.

use pullback_core::Workspace;
use pullback_math::{Mask, Real, select};

use super::newton::ROUND_OFF;
use super::set::ConstraintSet;

/// Newton steps before the first attempt. Ordinary problems are solved by then.
const PATIENCE: usize = 20;
/// Part of −g·p by which two full steps must lower the cost (1e-4, the usual constant of sufficient decrease).
const SUFFICIENT: f64 = 1e-4;

/// Points to return to.
#[derive(Clone, Debug, Workspace)]
pub(super) struct Watchdog<T> {
    acceleration: Vec<T>,
    /// M (a − a₀).
    momentum: Vec<T>,
    residual: Vec<T>,
}

/// Where the attempts of an island stand.
pub(super) struct Attempts<T: Real> {
    /// Whether the step at hand is a full one.
    pub full: T::Mask,
    /// Whether a full step has been taken that did not lower the cost.
    pub ahead: T::Mask,
    /// |g| and −g·p at the point kept.
    size: T,
    descent: T,
    /// The Newton step that the next attempt starts with, and the line searches after a failure.
    next: T,
    wait: T,
}

impl<T: Real> Attempts<T> {
    pub fn new() -> Self {
        let never = T::Mask::splat(false);
        Attempts {
            full: never,
            ahead: never,
            size: T::zero(),
            descent: T::zero(),
            next: T::zero(),
            wait: T::one(),
        }
    }
}

/// The iterate of an island: degrees of freedom and blocks, a and M (a − a₀).
pub(super) struct Iterate<'a, T> {
    pub dofs: &'a [usize],
    pub blocks: &'a [usize],
    pub acceleration: &'a mut [T],
    pub momentum: &'a mut [T],
}

impl<T: Real> Watchdog<T> {
    /// Memory for so many degrees of freedom and rows; more rows are allocated when first met.
    pub fn new(dofs: usize, rows: usize) -> Self {
        let zeros = || vec![T::zero(); dofs];
        Watchdog { acceleration: zeros(), momentum: zeros(), residual: Vec::with_capacity(rows) }
    }

    /// Makes room for so many rows.
    pub fn resize(&mut self, rows: usize) {
        self.residual.resize(rows, T::zero());
    }

    /// Decides which lanes take a full step in Newton step number `iteration`; keeps the iterate of those that
    /// start an attempt, with |g| and −g·p.
    pub fn begin(
        &mut self,
        attempts: &mut Attempts<T>,
        iteration: usize,
        (size, descent): (T, T),
        at: &Iterate<'_, T>,
        constraints: &ConstraintSet<T>,
    ) {
        if iteration <= PATIENCE {
            return;
        }
        let start = attempts.next.le(T::lit(iteration as f64)) & !attempts.ahead;
        attempts.full = start | attempts.ahead;
        if !start.any() {
            return;
        }
        attempts.size = select(start, size, attempts.size);
        attempts.descent = select(start, descent, attempts.descent);
        for &k in at.dofs {
            self.acceleration[k] = select(start, at.acceleration[k], self.acceleration[k]);
            self.momentum[k] = select(start, at.momentum[k], self.momentum[k]);
        }
        for i in at.blocks.iter().flat_map(|block| constraints.blocks[*block].rows()) {
            self.residual[i] = select(start, constraints.residual[i], self.residual[i]);
        }
    }

    /// Judges the full steps of Newton step number `iteration`, which have led to |g| = `size`. Lanes where the second
    /// one has not lowered the cost return to the point kept, and `before` to its |g|. Where the difference of the
    /// costs drowns in round-off, |g| must have halved instead, or steps could go round in circles. Returns whether
    /// any lane returned. Lanes of `done` stay.
    pub fn end(
        &self,
        attempts: &mut Attempts<T>,
        iteration: usize,
        (done, size, before): (T::Mask, T, &mut T),
        at: &mut Iterate<'_, T>,
        constraints: &mut ConstraintSet<T>,
    ) -> bool {
        if !attempts.full.any() {
            return false;
        }
        let (rise, noise) = self.rise(at, constraints);
        let fall = rise + T::lit(SUFFICIENT) * attempts.descent;
        let nearer = size.le(attempts.size * T::lit(0.5));
        let lowered = fall.le(-noise) | (fall.le(noise) & nearer) | done;
        let failed = attempts.ahead & !lowered;
        attempts.ahead = attempts.full & !attempts.ahead & !lowered;
        attempts.full = T::Mask::splat(false);
        if !failed.any() {
            return false;
        }
        *before = select(failed, attempts.size, *before);
        attempts.next = select(failed, T::lit((iteration + 1) as f64) + attempts.wait, attempts.next);
        attempts.wait = select(failed, attempts.wait + attempts.wait, attempts.wait);
        for &k in at.dofs {
            at.acceleration[k] = select(failed, self.acceleration[k], at.acceleration[k]);
            at.momentum[k] = select(failed, self.momentum[k], at.momentum[k]);
        }
        for &block in at.blocks {
            for i in constraints.blocks[block].rows() {
                constraints.residual[i] = select(failed, self.residual[i], constraints.residual[i]);
            }
            constraints.evaluate_cost(block);
        }
        true
    }

    /// How much higher the cost is than at the point kept, and the round-off of that.
    fn rise(&self, at: &Iterate<'_, T>, constraints: &ConstraintSet<T>) -> (T, T) {
        let (mut rise, mut terms) = (T::zero(), T::zero());
        let mut add = |term: T| {
            rise += term;
            terms += term.abs();
        };
        // ½ |b − a₀|²_M − ½ |a − a₀|²_M = ½ (b − a)·(M (b − a₀) + M (a − a₀))
        for &k in at.dofs {
            let moved = at.acceleration[k] - self.acceleration[k];
            add(T::lit(0.5) * moved * (at.momentum[k] + self.momentum[k]));
        }
        for &block in at.blocks {
            let (b, weights) = (&constraints.blocks[block], &constraints.weights[block]);
            add(b.cost.value(&constraints.residual[b.rows()], weights));
            add(-b.cost.value(&self.residual[b.rows()], weights));
        }
        (rise, terms * T::lit(ROUND_OFF * T::EPSILON))
    }
}
