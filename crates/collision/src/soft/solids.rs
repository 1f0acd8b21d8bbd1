//! Two solids with walls: the search for the point where these balance.

use pullback_math::{Mat3, Vec3};

use super::balance::{Minimum, Pair, Setup, attraction, attraction_rate};
use super::peak::Peak;
use super::search::{Stages, Trial, search};
use super::walls::mean_size;

const STAGES: Stages = Stages { shrink: 0.2, steps: (6, 100) };

/// The minimum of F with the push κ t, from that without push where there is one.
pub(super) fn balance(
    setup: Setup,
    pair: &Pair<f64>,
    push: Vec3<f64>,
    from: Option<&Minimum<f64>>,
) -> Minimum<f64> {
    let Pair { size_a, a, size_b, b } = *pair;
    let (kind_a, kind_b) = setup.kinds;
    let (mean_a, mean_b) = (mean_size(kind_a, size_a), mean_size(kind_b, size_b));
    let between = (a.translation * mean_b + b.translation * mean_a) * (1.0 / (mean_a + mean_b));
    let solids = [(kind_a, size_a, a), (kind_b, size_b, b)];
    let trial = |x: Vec3<f64>, softness: f64| {
        let peak = Peak::of_solids(solids, x, softness);
        let mut at = Trial {
            variable: x,
            x,
            value: peak.value - push.dot(x),
            highest: peak.highest,
            residual: peak.slope - push,
            hessian: peak.hessian,
            spread: None,
        };
        for (kind, size, pose) in solids {
            let pull = attraction(setup, kind, size, pose, x);
            at.value += 0.5 * pull.dot(x - pose.translation);
            at.residual += pull;
            at.hessian += Mat3::identity() * attraction_rate(setup, kind, size);
        }
        at
    };
    let start = from.map_or(between, |center| center.x);
    search(trial, start, (setup.softness, mean_a.min(mean_b)), STAGES)
}
