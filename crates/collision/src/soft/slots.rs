//! Contacts of two solids: slot 0 where they balance, the others pushed aside along the surface.
//!
//! | pair | slots | pushes |
//! |---|---|---|
//! | capsule with capsule, cylinder, box or mesh | 3 | both ways along the first axis |
//! | cylinder, box or mesh with cylinder, box or mesh | 5 | four diagonals of tangents |
//! | all other | 1 | none |
//!
//! Tangents are fixed in the first solid for a given normal. A pushed point goes as far as both solids reach, so
//! that faces carry each other at their corners. All slots have the normal of slot 0.

use pullback_math::{Real, Transform, Vec3, differentiable};

use super::balance::{Minimum, Pair, Setup, contact_at, contact_at_vjp, normal, normal_vjp};
use super::mesh::{Vertices, deepest};
use super::solids::balance;
use crate::collider::Kind;
use crate::contact::{Contact, tangent_frame, tangent_frame_vjp};
use crate::dispatch::{PairBar, Placed};
use crate::lanes::{lane_of, of_all_lanes, pack};

/// Most slots of a pair.
const SLOTS: usize = 5;

/// Number of slots of two solids.
pub(super) fn balanced_slots(a: Kind, b: Kind) -> usize {
    let flat = |kind| matches!(kind, Kind::Cylinder | Kind::Box | Kind::Mesh);
    match (a, b) {
        (a, b) if flat(a) && flat(b) => SLOTS,
        (Kind::Capsule, b) if flat(b) || b == Kind::Capsule => 3,
        _ => 1,
    }
}

/// The push of a slot, for the normal n of the pair.
#[differentiable]
fn push_of<T: Real>(#[constant] setup: Setup, slot: usize, a: Transform<T>, n: Vec3<T>) -> Vec3<T> {
    let strength = T::lit(setup.push);
    if slot == 0 {
        Vec3::zero()
    } else if setup.kinds.0 == Kind::Capsule {
        a.rotation.c2 * (if slot == 1 { strength } else { -strength })
    } else {
        let (t1, t2) = tangent_frame(a.inverse_direction(n));
        let part = T::lit(setup.push * std::f64::consts::FRAC_1_SQRT_2);
        let first = if slot == 1 || slot == 3 { part } else { -part };
        let second = if slot <= 2 { part } else { -part };
        a.direction(t1 * first + t2 * second)
    }
}

/// The contact of a slot.
#[differentiable]
fn slot_contact<T: Real>(
    #[constant] setup: Setup,
    slot: usize,
    pair: Pair<T>,
    n: Vec3<T>,
    #[constant] at: Minimum<T>,
) -> Contact<T> {
    let push = push_of(setup, slot, pair.a, n);
    let blind = if slot == 0 { 0.0 } else { 2.0 * setup.push };
    contact_at(setup, pair, push, n, at, blind)
}

/// The minima of one environment, slot by slot.
fn minima_of_lane(setup: Setup, pair: &Pair<f64>, b: Vertices<'_>, slots: usize) -> [Minimum<f64>; SLOTS] {
    let search = |push: Vec3<f64>, from: Option<&Minimum<f64>>| match setup.kinds.1 {
        Kind::Mesh => deepest(setup, pair, b, push, from),
        _ => balance(setup, pair, push, from),
    };
    let center = search(Vec3::zero(), None);
    let n = normal(setup, *pair, center);
    std::array::from_fn(|slot| {
        if slot == 0 || slot >= slots {
            return center;
        }
        search(push_of(setup, slot, pair.a, n), Some(&center))
    })
}

/// The minima of all lanes.
fn minima<T: Real>(setup: Setup, pair: &Pair<T>, b: Vertices<'_>, slots: usize) -> [Minimum<T>; SLOTS] {
    let of_lane = |lane: usize| {
        let number = |v: Vec3<T>| v.map(|x| x.lane(lane));
        let pair = Pair {
            size_a: number(pair.size_a),
            a: lane_of(pair.a, lane),
            size_b: number(pair.size_b),
            b: lane_of(pair.b, lane),
        };
        minima_of_lane(setup, &pair, b, slots)
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| {
        std::array::from_fn(|slot| Minimum {
            x: pack(|i| lanes[i][slot].x),
            direction: pack(|i| lanes[i][slot].direction),
            inverse: std::array::from_fn(|column| pack(|i| lanes[i][slot].inverse[column])),
            highest: T::from_lanes(|i| lanes[i][slot].highest),
        })
    })
}

/// Two solids, where they balance, and the normal there.
struct Balanced<'m, T> {
    setup: Setup<'m>,
    pair: Pair<T>,
    found: [Minimum<T>; SLOTS],
    n: Vec3<T>,
}

impl<'m, T: Real> Balanced<'m, T> {
    fn new(
        (a, pose_a): Placed<'_, 'm, T>,
        (b, pose_b): Placed<'_, 'm, T>,
        softness: f64,
        slots: usize,
    ) -> Self {
        let setup = Setup::new(a, b, softness);
        let pair = Pair { size_a: a.size, a: pose_a, size_b: b.size, b: pose_b };
        let found = minima(setup, &pair, Vertices(b.vertices, b.hull), slots);
        Balanced { setup, pair, n: normal(setup, pair, found[0]), found }
    }
}

/// Fills the slots of two solids.
pub(super) fn balanced<T: Real>(
    a: Placed<'_, '_, T>,
    b: Placed<'_, '_, T>,
    softness: f64,
    out: &mut [Contact<T>],
) {
    let Balanced { setup, pair, found, n } = Balanced::new(a, b, softness, out.len());
    for (slot, out) in out.iter_mut().enumerate() {
        *out = slot_contact(setup, slot, pair, n, found[slot]);
    }
}

/// Pullback of [`balanced`]: adds to the cotangents of both.
pub(super) fn balanced_vjp<T: Real>(
    a: Placed<'_, '_, T>,
    b: Placed<'_, '_, T>,
    softness: f64,
    out_bar: &[Contact<T>],
    (a_bar, b_bar): PairBar<'_, T>,
) {
    let Balanced { setup, pair, found, n } = Balanced::new(a, b, softness, out_bar.len());
    let mut add = |bar: Pair<T>| {
        a_bar.add(bar.a, bar.size_a);
        b_bar.add(bar.b, bar.size_b);
    };
    let mut n_bar = Vec3::zero();
    for (slot, bar) in out_bar.iter().enumerate() {
        let ((), (), pair_bar, slot_n_bar, ()) = slot_contact_vjp(setup, slot, pair, n, found[slot], *bar);
        add(pair_bar);
        n_bar += slot_n_bar;
    }
    let ((), pair_bar, ()) = normal_vjp(setup, pair, found[0], n_bar);
    add(pair_bar);
}
