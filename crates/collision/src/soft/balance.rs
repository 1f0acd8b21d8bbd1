//! The point at which the walls of two solids balance, and what it says of their contact.
//!
//! With all walls g of both solids, x minimizes
//!
//! ```text
//! F(x) = ε log Σ exp(g(x) / ε) + η Σₛ |x − cₛ|² / (2 Rₛ) − κ t·x
//! ```
//!
//! a smooth maximum, an attraction to both centers that makes x unique, and a push in direction t. F is
//! convex, so x is a smooth function of poses and sizes. With weights q ∝ exp(g / ε) and the pressures pₛ = Σ
//! q ∇g over the walls of one solid, the pressures oppose each other:
//!
//! ```text
//! n = (p_a − p_b) / |p_a − p_b|    h_a = Σₐ q g / p_a·n    h_b = Σ_b q g / −p_b·n    distance = h_a + h_b
//! ```
//!
//! A push leans on walls square to n, which say nothing of the distance: with a push, q is multiplied by φ =
//! c² / (c² + c₀²), c the cosine between wall and normal, c₀ = 2 κ.
//!
//! Σₐ q g ≤ 0 is a half space that holds the solid, so that without attraction and push the distance is the
//! gap between two planes along n that hold a solid each, never more than the true one. It is less by at most
//! ε log 12 / |p|.

use pullback_math::{Cotangent, Real, Transform, Vec3, differentiable};

use super::walls::{WALLS, Walls, mean_size, mean_size_vjp, walls, walls_vjp};
use crate::collider::Kind;
use crate::contact::Contact;

/// Softness, m, at which the push is half its limit.
const PUSH_SCALE: f64 = 0.05;
/// Attraction to the centers in units of the push.
const ATTRACTION: f64 = 0.1;
/// Pressure below which a solid has no direction.
const NO_PRESSURE: f64 = 1e-5;
/// Squared slope below which a wall is level.
const NO_SLOPE: f64 = 1e-20;
/// Exponents below this are round-off; they exceed the other only off a minimum.
const FAINT: f64 = -300.0;
const STRONG: f64 = 30.0;

/// What is fixed for a pair of solids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub kinds: (Kind, Kind),
    /// ε, m.
    pub softness: f64,
    /// κ, the strength of a push; it vanishes with the softness.
    pub push: f64,
}

impl Setup {
    pub fn new(kinds: (Kind, Kind), softness: f64) -> Self {
        Setup { kinds, softness, push: softness / (softness + PUSH_SCALE) }
    }
}

/// Two solids.
#[derive(Clone, Copy, Debug, Cotangent)]
pub(super) struct Pair<T> {
    pub size_a: Vec3<T>,
    pub a: Transform<T>,
    pub size_b: Vec3<T>,
    pub b: Transform<T>,
}

/// A minimum of F, found on primal values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Minimum<T> {
    pub x: Vec3<T>,
    /// Columns of the inverse Hessian.
    pub inverse: [Vec3<T>; 3],
    /// The largest wall, m.
    pub highest: T,
}

/// Pressure of the walls of each solid, p = Σ q ∇g.
#[derive(Clone, Copy, Debug, Cotangent)]
pub(super) struct Pressure<T> {
    pub a: Vec3<T>,
    pub b: Vec3<T>,
}

/// exp(g / ε) up to a common factor.
#[differentiable]
fn weight<T: Real>(#[constant] setup: Setup, height: T, #[constant] highest: T) -> T {
    ((height - highest) * T::lit(1.0 / setup.softness)).max(T::lit(FAINT)).min(T::lit(STRONG)).exp()
}

/// The pressures at the point x; `highest` only scales the weights.
#[differentiable]
pub(super) fn pressure<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    x: Vec3<T>,
    #[constant] highest: T,
) -> Pressure<T> {
    let softness = T::lit(setup.softness);
    let of_a = walls(setup.kinds.0, pair.size_a, pair.a, x, softness);
    let of_b = walls(setup.kinds.1, pair.size_b, pair.b, x, softness);
    let mut total = T::zero();
    let (mut a, mut b) = (Vec3::zero(), Vec3::zero());
    for i in 0..WALLS {
        let qa = weight(setup, of_a.height[i], highest);
        let qb = weight(setup, of_b.height[i], highest);
        total += qa + qb;
        a += of_a.slope[i] * qa;
        b += of_b.slope[i] * qb;
    }
    Pressure { a: a * total.recip(), b: b * total.recip() }
}

/// Height of x above the surface of a solid along n, up to first order: Σ q φ g / Σ q φ c.
#[differentiable]
pub(super) fn height_above<T: Real>(
    #[constant] setup: Setup,
    walls: Walls<T>,
    n: Vec3<T>,
    #[constant] highest: T,
    #[constant] blind: T,
) -> T {
    let (mut height, mut slope) = (T::zero(), T::zero());
    for i in 0..WALLS {
        let d = walls.slope[i];
        let c = d.dot(n);
        // φ = c² / (c² + c₀² |∇g|²)
        let facing = c * c + T::lit(NO_SLOPE);
        let seen = facing / (facing + d.norm_squared() * (blind * blind));
        let q = weight(setup, walls.height[i], highest) * seen;
        height += walls.height[i] * q;
        slope += c * q;
    }
    height / positive(slope)
}

/// Attraction towards the center of a solid: η (x − c) / R.
#[differentiable]
pub(super) fn attraction<T: Real>(
    #[constant] setup: Setup,
    #[constant] kind: Kind,
    size: Vec3<T>,
    pose: Transform<T>,
    x: Vec3<T>,
) -> Vec3<T> {
    if kind == Kind::Plane {
        Vec3::zero()
    } else {
        (x - pose.translation) * (T::lit(setup.push * ATTRACTION) / mean_size(kind, size))
    }
}

/// ∇F at x, the push κ t given.
#[differentiable]
pub(super) fn gradient<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    push: Vec3<T>,
    x: Vec3<T>,
    #[constant] highest: T,
) -> Vec3<T> {
    let p = pressure(setup, pair, x, highest);
    let to_a = attraction(setup, setup.kinds.0, pair.size_a, pair.a, x);
    let to_b = attraction(setup, setup.kinds.1, pair.size_b, pair.b, x);
    p.a + p.b + to_a + to_b - push
}

/// The minimum of F as a differentiable point: one Newton step.
#[differentiable]
pub(super) fn minimum<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    push: Vec3<T>,
    #[constant] at: Minimum<T>,
) -> Vec3<T> {
    let g = gradient(setup, pair, push, at.x, at.highest);
    at.x - (at.inverse[0] * g.x + at.inverse[1] * g.y + at.inverse[2] * g.z)
}

/// The normal of the pair, from the minimum without push.
#[differentiable]
pub(super) fn normal<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    #[constant] at: Minimum<T>,
) -> Vec3<T> {
    let x = minimum(setup, pair, Vec3::zero(), at);
    let p = pressure(setup, pair, x, at.highest);
    let between = p.a - p.b;
    between * positive(between.norm()).recip()
}

/// c, kept off zero.
#[differentiable]
pub(super) fn positive<T: Real>(c: T) -> T {
    (c * c + T::lit(NO_PRESSURE * NO_PRESSURE)).sqrt()
}

/// The contact at a minimum, along the normal of the pair.
#[differentiable]
pub(super) fn contact_at<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    push: Vec3<T>,
    n: Vec3<T>,
    #[constant] at: Minimum<T>,
    #[constant] blind: f64,
) -> Contact<T> {
    let x = minimum(setup, pair, push, at);
    let (softness, blind) = (T::lit(setup.softness), T::lit(blind));
    let of_a = walls(setup.kinds.0, pair.size_a, pair.a, x, softness);
    let of_b = walls(setup.kinds.1, pair.size_b, pair.b, x, softness);
    let above_a = height_above(setup, of_a, n, at.highest, blind);
    let above_b = height_above(setup, of_b, -n, at.highest, blind);
    Contact { position: x + n * ((above_b - above_a) * T::lit(0.5)), normal: n, distance: above_a + above_b }
}

/// F at x in one environment, without what does not depend on x.
pub(super) fn objective(setup: Setup, pair: &Pair<f64>, push: Vec3<f64>, x: Vec3<f64>) -> (f64, f64) {
    let of_a = walls(setup.kinds.0, pair.size_a, pair.a, x, setup.softness);
    let of_b = walls(setup.kinds.1, pair.size_b, pair.b, x, setup.softness);
    let heights = || of_a.height.iter().chain(&of_b.height);
    let highest = heights().fold(f64::NEG_INFINITY, |m, h| m.max(*h));
    let total: f64 = heights().map(|h| ((h - highest) / setup.softness).exp()).sum();
    let pull = |kind: Kind, size: Vec3<f64>, pose: Transform<f64>| {
        attraction(setup, kind, size, pose, x).dot(x - pose.translation) * 0.5
    };
    let (to_a, to_b) = (pull(setup.kinds.0, pair.size_a, pair.a), pull(setup.kinds.1, pair.size_b, pair.b));
    (highest + setup.softness * total.ln() + to_a + to_b - push.dot(x), highest)
}
