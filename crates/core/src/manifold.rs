//! [`Manifold`]: the space in which small changes of a system's state live.
//!
//! States with unit quaternions have more entries than ways to change. A *tangent* has one entry per way; E(x)
//! turns it into a change of the state. Second-order planners work on tangents.

use crate::field::{FieldShape, VectorField};
use crate::integrator::Integrated;
use crate::system::Described;

/// A system whose states have tangents; in a flat space they are changes of the state.
pub trait Manifold: Described {
    /// Length of a tangent.
    fn tangent_len(&self) -> usize {
        self.layout().state.len()
    }

    /// Whether E(x) is the identity.
    fn flat(&self) -> bool {
        true
    }

    /// out = E(x) tangent.
    fn embed(&self, _state: &[f64], tangent: &[f64], out: &mut [f64]) {
        out.copy_from_slice(tangent);
    }
}

impl<F: FieldShape + VectorField<f64>> Manifold for Integrated<F> {
    fn tangent_len(&self) -> usize {
        self.field().rate_len() + usize::from(self.field().time_dependent())
    }

    fn flat(&self) -> bool {
        self.field().flat()
    }

    fn embed(&self, state: &[f64], tangent: &[f64], out: &mut [f64]) {
        let (n, m) = (self.field().layout().state.len(), self.field().rate_len());
        self.field().embed(&state[..n], &tangent[..m], &mut out[..n]);
        // The time, where the state carries it.
        out[n..].copy_from_slice(&tangent[m..]);
    }
}

impl<S: Manifold> Manifold for &S {
    fn tangent_len(&self) -> usize {
        (**self).tangent_len()
    }
    fn flat(&self) -> bool {
        (**self).flat()
    }
    fn embed(&self, state: &[f64], tangent: &[f64], out: &mut [f64]) {
        (**self).embed(state, tangent, out);
    }
}
