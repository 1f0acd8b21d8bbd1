//! Forces of contacts and held frames on bodies, as a sensor of force sees them, and their pullback.
//!
//! With F_b the force of all rows on body b, a loss that depends on Σ w_b·F_b for motions w of the bodies
//! depends on f·R(w), where R takes a motion of the bodies to the rows. R(w) is then a cotangent of f, and the
//! rest of the pullback is that of f·(J λ) with w beside the motions along λ. A cotangent f̄ of f adds −Jᵀ C f̄ to that of the
//! acceleration and f̄ to J λ.

use pullback_math::{Force, Motion, Real};

use super::contact::{ContactRows, contact_rows};
use super::cost::MOST_ROWS;
use super::equality::{held_rows, held_wrenches};
use super::set::{ConstraintSet, Source};
use super::{Constrained, Convex, ConvexWorkspace};
use crate::contact::{ContactSet, Smooth};

impl<T: Real> ConvexWorkspace<T> {
    /// Makes the next pullback add that of a loss with cotangents `rows` of the forces of rows and, where
    /// `motions` is not empty, of Σ motion·F over the forces of contacts and held frames on bodies.
    pub(crate) fn set_force_bars(&mut self, rows: &[T], motions: impl Iterator<Item = Motion<T>>) {
        self.force_bars.clear();
        self.force_bars.extend_from_slice(rows);
        self.external.clear();
        self.external.extend(motions);
    }
}

impl Convex {
    /// Adds the forces of contacts and held frames on each body, about the point of its tree.
    pub(crate) fn external_forces<T: Real>(
        &self,
        ws: &ConvexWorkspace<T>,
        smooth: &Smooth<'_, T>,
        contacts: &ContactSet<T>,
        forces: &mut [Force<T>],
    ) {
        let Some(index) = &smooth.geoms.index.constraints else { return };
        let at = Constrained::new(self, index, smooth, (&[], &[]));
        for b in &ws.set.blocks {
            let f = &ws.set.force[b.row..b.row + b.dim];
            match b.source {
                Source::Contact { pair, slot } => {
                    let ContactRows { bodies, arms, axes } = contact_rows(&at, contacts, (pair, slot));
                    let (mut push, mut twist) = (axes[0] * T::zero(), axes[0] * T::zero());
                    for (i, f) in f.iter().enumerate() {
                        if i < 3 { push += axes[i] * *f } else { twist += axes[i - 3] * *f }
                    }
                    forces[bodies.1] += Force::new(arms.1.cross(push) + twist, push);
                    forces[bodies.0] -= Force::new(arms.0.cross(push) + twist, push);
                }
                Source::Equality(number) => held_wrenches(&at, number, f, forces),
                _ => {}
            }
        }
    }

    /// Adds R(w) of the motions set to the cotangents of the forces of rows.
    pub(super) fn add_external_bars<T: Real>(
        &self,
        ws: &mut ConvexWorkspace<T>,
        at: &Constrained<'_, T>,
        contacts: &ContactSet<T>,
    ) {
        let ConvexWorkspace { set, force_bars, external, .. } = ws;
        if external.is_empty() {
            return;
        }
        force_bars.resize(set.rows(), T::zero());
        for b in &set.blocks {
            let rows: [T; MOST_ROWS] = match b.source {
                Source::Contact { pair, slot } => {
                    let ContactRows { bodies, arms, axes } = contact_rows(at, contacts, (pair, slot));
                    let (first, second) = (external[bodies.0], external[bodies.1]);
                    let linear = second.velocity_at(arms.1) - first.velocity_at(arms.0);
                    let angular = second.angular - first.angular;
                    std::array::from_fn(
                        |i| if i < 3 { axes[i].dot(linear) } else { axes[i - 3].dot(angular) },
                    )
                }
                Source::Equality(number) => held_rows(at, number, external),
                _ => [T::zero(); MOST_ROWS],
            };
            for (bar, row) in force_bars[b.row..b.row + b.dim].iter_mut().zip(rows) {
                *bar += row;
            }
        }
    }
}

/// ā −= Jᵀ C f̄.
pub(super) fn subtract_force_bars<T: Real>(
    set: &ConstraintSet<T>,
    force_bars: &[T],
    acceleration_bar: &mut [T],
) {
    if force_bars.is_empty() {
        return;
    }
    for (i, b) in set.blocks.iter().enumerate() {
        let (bars, columns) = (&force_bars[b.row..b.row + b.dim], set.dofs(i).len().max(1));
        for (curvature, row) in set.curvature(i).chunks(b.dim).zip(set.jacobian(i).chunks(columns)) {
            let mut z = T::zero();
            for (c, bar) in curvature.iter().zip(bars) {
                z += *c * *bar;
            }
            for (entry, k) in row.iter().zip(set.dofs(i)) {
                acceleration_bar[*k] -= *entry * z;
            }
        }
    }
}
