//! A solid, or a mesh by its faces, against the hull of a mesh: the soft vertex that is deepest in the first.
//!
//! The hull's points are the means μ(m) of its vertices vᵢ with weights ∝ exp(m·vᵢ / ε), m any vector of its
//! frame; A(m) = ε log Σ exp(m·vᵢ / ε) has the gradient μ. With the smooth maximum W of the first solid's walls
//! and a push τ t, x = μ(m) minimizes W(x) + η |x − c|² / (2 R) − τ t·x + A*(x), a convex function of x, where
//!
//! ```text
//! m + ∇W(x) + η (x − c) / R − τ t = 0
//! ```
//!
//! in the frame of the mesh. So x is the soft support point of the mesh against the pressure of the walls.
//! That pressure is the normal, and the height of x above the walls is the distance, as in
//! [`balance`](super::balance). Slots are those of two solids; the push is stronger than between walls, since
//! it has to tell vertices apart.
//!
//! One Newton step, with its matrix held constant, makes x differentiable; no vertex is visited for that.

use pullback_math::{Mat3, Vec3};

use super::balance::{Minimum, Pair, Setup, attraction, attraction_rate};
use super::faces::center_of;
use super::peak::Peak;
use super::search::{Stages, Trial, search};
use crate::collider::Kind;

const STAGES: Stages = Stages { shrink: 0.4, steps: (60, 400) };

/// The vertices of a mesh and which of them are on its hull.
#[derive(Clone, Copy)]
pub(super) struct Vertices<'m>(pub &'m [Vec3<f64>], pub &'m [usize]);

impl Vertices<'_> {
    /// A(m), its gradient x and its Hessian.
    fn support(&self, m: Vec3<f64>, softness: f64) -> (f64, Vec3<f64>, Mat3<f64>) {
        let Vertices(vertices, hull) = *self;
        let peak = Peak::of_flat(hull.iter().map(|&i| (m.dot(vertices[i]), vertices[i])), softness);
        (peak.value, peak.slope, peak.hessian)
    }

    fn size(&self) -> f64 {
        self.1.iter().map(|&i| self.0[i].norm()).fold(0.0, f64::max)
    }
}

/// The soft vertex with the push τ t, from that without push where there is one.
pub(super) fn deepest(
    setup: Setup,
    pair: &Pair<f64>,
    vertices: Vertices<'_>,
    push: Vec3<f64>,
    from: Option<&Minimum<f64>>,
) -> Minimum<f64> {
    let Pair { size_a, a, b, .. } = *pair;
    let kind = setup.kinds.0;
    let center = if kind == Kind::Mesh { center_of(setup.faces, a) } else { a.translation };
    let peak_of_first = |x: Vec3<f64>, softness: f64| match kind {
        Kind::Mesh => setup.faces.peak(a.inverse_point(x), softness).in_frame(a.rotation),
        _ => Peak::of_solids([(kind, size_a, a)], x, softness),
    };
    let push = b.inverse_direction(push);
    let trial = |m: Vec3<f64>, softness: f64| {
        let (height, x, spread) = vertices.support(m, softness);
        let world = b.point(x);
        let pull = attraction(setup, kind, size_a, a, world);
        let mut peak = peak_of_first(world, softness);
        peak.value += 0.5 * pull.dot(world - center);
        peak.slope += pull;
        peak.hessian += Mat3::identity() * attraction_rate(setup, kind, size_a);
        let Peak { value, highest, slope, hessian } = peak.in_frame(b.rotation.transpose());
        Trial {
            variable: m,
            x,
            // A*(x) = m·x − A(m)
            value: value - push.dot(x) + m.dot(x) - height,
            highest,
            residual: m + slope - push,
            hessian,
            spread: Some(spread),
        }
    };
    let start = from.map_or(Vec3::zero(), |center| center.direction);
    search(trial, start, (setup.softness, vertices.size()), STAGES)
}
