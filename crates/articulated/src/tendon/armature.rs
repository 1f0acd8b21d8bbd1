//! Armature of tendons: inertia that a rate of change of a length meets.
//!
//! With J the row of a tendon and a its armature, M gains a JᵀJ and the bias force gains a J (J̇ v), where J̇ v is how the
//! length accelerates while no joint does: zero for a fixed tendon, a sum over straight pieces for a spatial one. As in MuJoCo,
//! M gains only the entries that it has: degrees of freedom of different branches are not coupled through M. The bias
//! force is whole. Paths around geoms have no armature.
//!
//! *Pullback.* With M̄ the cotangent of the entries, J̄ = a (M̄ + M̄ᵀ) J − a (J̇ v) λ, and that of J̇ v is −a J·λ.

use pullback_core::Block;
use pullback_math::{Force, Motion, Real};

use super::span::SpanOutputBars;
use super::{Measure, TendonInputs, TendonState, Tendons};
use crate::mass_matrix::MassMatrix;

/// Cotangents that the pullback of armature adds to.
pub(crate) struct ArmatureBars<'a, T> {
    pub params: &'a mut [T],
    /// Of the joints' axes.
    pub axes: &'a mut [Force<T>],
    /// Of the bodies' velocities, and of their accelerations when no joint accelerates.
    pub velocities: &'a mut [Force<T>],
    pub accelerations: &'a mut [Force<T>],
    /// Wrenches on displacements of the bodies.
    pub wrenches: &'a mut [Force<T>],
}

impl Tendons {
    /// Whether any tendon has armature.
    pub(crate) fn has_armature(&self) -> bool {
        !self.armature.is_empty()
    }

    /// J̇ v of a tendon; `accelerations` are those of the bodies when no joint accelerates.
    fn bending<T: Real>(&self, at: &TendonInputs<'_, T>, tendon: usize, accelerations: &[Motion<T>]) -> T {
        match &self.measures[tendon] {
            Measure::Fixed(_) => T::zero(),
            Measure::Span(span) => self.spans.bending(&at.spans(), *span, at.velocities, accelerations),
        }
    }

    /// Adds armature to the mass matrix.
    pub(crate) fn add_inertia<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        mass: &mut MassMatrix<T>,
    ) {
        for (t, block) in &self.armature {
            let armature = block.read(at.params)[0];
            state.row.fill(T::zero());
            self.add_row(at, &state.spans, *t, T::one(), &mut state.row);
            for &k in &self.columns[*t] {
                let entries = &mut mass.packed[at.tree.row[k]..];
                for (entry, j) in entries.iter_mut().zip(&at.tree.ancestors[k]) {
                    *entry += armature * state.row[k] * state.row[*j];
                }
            }
        }
    }

    /// Adds what armature does to the bias force.
    pub(crate) fn add_bias<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        accelerations: &[Motion<T>],
        bias: &mut [T],
    ) {
        for (t, block) in &self.armature {
            let scale = block.read(at.params)[0] * self.bending(at, *t, accelerations);
            self.add_row(at, &state.spans, *t, scale, bias);
        }
    }

    /// The pullback of [`Tendons::add_inertia`] and [`Tendons::add_bias`], with the cotangent of an entry (k, j) of the packed
    /// mass matrix, which stands for both of its places, and −λ that of the bias force.
    pub(crate) fn armature_vjp<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        state: &mut TendonState<T>,
        accelerations: &[Motion<T>],
        (mass_bar, lambda): (impl Fn(usize, usize, usize) -> T, &[T]),
        bars: &mut ArmatureBars<'_, T>,
    ) {
        let TendonState { spans, row, other_row: row_bar, bars: own, .. } = state;
        for (t, block) in &self.armature {
            let armature = block.read(at.params)[0];
            row.fill(T::zero());
            row_bar.fill(T::zero());
            self.add_row(at, spans, *t, T::one(), row);
            let mut armature_bar = T::zero();
            for &k in &self.columns[*t] {
                for (i, &j) in at.tree.ancestors[k].iter().enumerate() {
                    // M_kj += a J_k J_j
                    let bar = mass_bar(at.tree.row[k] + i, k, j);
                    armature_bar += bar * row[k] * row[j];
                    row_bar[k] += armature * bar * row[j];
                    row_bar[j] += armature * bar * row[k];
                }
            }
            // bias += a J (J̇ v)
            let bending = self.bending(at, *t, accelerations);
            let mut along = T::zero();
            for &k in &self.columns[*t] {
                along += row[k] * lambda[k];
                row_bar[k] -= armature * bending * lambda[k];
            }
            block.add([armature_bar - along * bending], bars.params);
            let to = (&mut own.spans.pulls[..], &mut *bars.axes, &mut *bars.params);
            self.row_vjp(at, spans, *t, |k| row_bar[k], to);
            if let Measure::Span(span) = &self.measures[*t] {
                let mut out = SpanOutputBars { wrenches: bars.wrenches, params: bars.params };
                let motions = (at.velocities, accelerations);
                let motion_bars = (&mut *bars.velocities, &mut *bars.accelerations);
                self.spans.bending_vjp(
                    &at.spans(),
                    *span,
                    motions,
                    -(armature * along),
                    motion_bars,
                    &mut out,
                );
            }
        }
    }
}

/// Where the armature of tendons lies, for those that have some.
pub(super) type ArmatureBlocks = Vec<(usize, Block<[f64; 1]>)>;
