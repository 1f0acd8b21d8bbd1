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

use super::faces::{
    Faces, center_of, center_of_vjp, face_height, face_height_vjp, face_pressure, face_pressure_vjp,
};
use super::walls::{WALLS, Walls, mean_size, mean_size_vjp, walls, walls_vjp};
use crate::collider::{Collider, Kind};
use crate::contact::Contact;

/// Softness, m, at which the push is half its limit.
const PUSH_SCALE: f64 = 0.05;
/// The push against a mesh is ε / (5 ε + 0.01 m).
const MESH_PUSH: (f64, f64) = (5.0, 0.01);
/// Attraction to the centers in units of the push.
const ATTRACTION: f64 = 0.1;
/// Pressure below which a solid has no direction.
const NO_PRESSURE: f64 = 1e-5;
/// Squared slope below which a wall is level.
pub(super) const NO_SLOPE: f64 = 1e-20;
/// Exponents below this are round-off; they exceed the other only off a minimum.
const FAINT: f64 = -300.0;
const STRONG: f64 = 30.0;

/// What is fixed for a pair of solids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup<'m> {
    pub kinds: (Kind, Kind),
    /// Faces of the first, if it is a mesh.
    pub faces: Faces<'m>,
    /// ε, m.
    pub softness: f64,
    /// κ, the strength of a push; it vanishes with the softness.
    pub push: f64,
}

impl<'m> Setup<'m> {
    pub fn new<T>(a: &Collider<'m, T>, b: &Collider<'m, T>, softness: f64) -> Self {
        // Vertices are harder to tell apart than walls.
        let push = match b.kind {
            Kind::Mesh => softness / (MESH_PUSH.0 * softness + MESH_PUSH.1),
            _ => softness / (softness + PUSH_SCALE),
        };
        Setup { kinds: (a.kind, b.kind), faces: Faces::of(a), softness, push }
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
    /// In the world, or in the frame of a mesh whose soft vertex it is.
    pub x: Vec3<T>,
    /// m, the direction of the soft vertex (`mesh`).
    pub direction: Vec3<T>,
    /// Columns of dx / d residual.
    pub inverse: [Vec3<T>; 3],
    /// The largest wall, m.
    pub highest: T,
}

/// Pressure of the walls of each solid, p = Σ q ∇g.
#[derive(Clone, Copy, Debug, Cotangent)]
struct Pressure<T> {
    a: Vec3<T>,
    b: Vec3<T>,
}

/// exp(g / ε) up to a common factor.
#[differentiable]
fn weight<T: Real>(#[constant] setup: Setup, height: T, #[constant] highest: T) -> T {
    ((height - highest) * T::lit(1.0 / setup.softness)).max(T::lit(FAINT)).min(T::lit(STRONG)).exp()
}

/// The pressures at the point x; `highest` only scales the weights.
#[differentiable]
fn pressure<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    x: Vec3<T>,
    #[constant] highest: T,
) -> Pressure<T> {
    if setup.kinds.0 == Kind::Mesh {
        let p = face_pressure(setup.faces, setup.softness, pair.a.inverse_point(x));
        Pressure { a: pair.a.direction(p), b: Vec3::zero() }
    } else {
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
}

/// Height of x above the surface of a solid along n, up to first order: Σ q φ g / Σ q φ c.
#[differentiable]
fn height_above<T: Real>(
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

/// η / R.
#[differentiable]
pub(super) fn attraction_rate<T: Real>(#[constant] setup: Setup, #[constant] kind: Kind, size: Vec3<T>) -> T {
    if kind == Kind::Mesh {
        T::lit(setup.push * ATTRACTION / setup.faces.size)
    } else {
        T::lit(setup.push * ATTRACTION) / mean_size(kind, size)
    }
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
    let c = if kind == Kind::Mesh { center_of(setup.faces, pose) } else { pose.translation };
    (x - c) * attraction_rate(setup, kind, size)
}

/// ∇F at x, the push κ t given; of a mesh, what its own vertices do not say.
#[differentiable]
fn gradient<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    push: Vec3<T>,
    x: Vec3<T>,
    #[constant] highest: T,
) -> Vec3<T> {
    let p = pressure(setup, pair, x, highest);
    let to_a = attraction(setup, setup.kinds.0, pair.size_a, pair.a, x);
    if setup.kinds.1 == Kind::Mesh {
        p.a + to_a - push
    } else {
        p.a + p.b + to_a + attraction(setup, setup.kinds.1, pair.size_b, pair.b, x) - push
    }
}

/// The minimum as a differentiable point of the world: one Newton step.
#[differentiable]
fn touching_point<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    push: Vec3<T>,
    #[constant] at: Minimum<T>,
) -> Vec3<T> {
    if setup.kinds.1 == Kind::Mesh {
        let g = gradient(setup, pair, push, pair.b.point(at.x), at.highest);
        let g = pair.b.inverse_direction(g) + at.direction;
        pair.b.point(at.x - (at.inverse[0] * g.x + at.inverse[1] * g.y + at.inverse[2] * g.z))
    } else {
        let g = gradient(setup, pair, push, at.x, at.highest);
        at.x - (at.inverse[0] * g.x + at.inverse[1] * g.y + at.inverse[2] * g.z)
    }
}

/// The normal of the pair, from the minimum without push.
#[differentiable]
pub(super) fn normal<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    #[constant] at: Minimum<T>,
) -> Vec3<T> {
    let x = touching_point(setup, pair, Vec3::zero(), at);
    let p = pressure(setup, pair, x, at.highest);
    let between = p.a - p.b;
    between * positive(between.norm()).recip()
}

/// c, kept off zero.
#[differentiable]
pub(super) fn positive<T: Real>(c: T) -> T {
    (c * c + T::lit(NO_PRESSURE * NO_PRESSURE)).sqrt()
}

/// Height of x above the first solid along n.
#[differentiable]
fn height_above_first<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    x: Vec3<T>,
    n: Vec3<T>,
    #[constant] highest: T,
    #[constant] blind: T,
) -> T {
    if setup.kinds.0 == Kind::Mesh {
        let (y, n) = (pair.a.inverse_point(x), pair.a.inverse_direction(n));
        face_height(setup.faces, setup.softness, y, n, blind)
    } else {
        let of_a = walls(setup.kinds.0, pair.size_a, pair.a, x, T::lit(setup.softness));
        height_above(setup, of_a, n, highest, blind)
    }
}

/// Height of x above the second solid along −n; a soft vertex is on its mesh.
#[differentiable]
fn height_above_second<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    x: Vec3<T>,
    n: Vec3<T>,
    #[constant] highest: T,
    #[constant] blind: T,
) -> T {
    if setup.kinds.1 == Kind::Mesh {
        T::zero()
    } else {
        let of_b = walls(setup.kinds.1, pair.size_b, pair.b, x, T::lit(setup.softness));
        height_above(setup, of_b, -n, highest, blind)
    }
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
    let x = touching_point(setup, pair, push, at);
    let above_a = height_above_first(setup, pair, x, n, at.highest, T::lit(blind));
    let above_b = height_above_second(setup, pair, x, n, at.highest, T::lit(blind));
    Contact { position: x + n * ((above_b - above_a) * T::lit(0.5)), normal: n, distance: above_a + above_b }
}
