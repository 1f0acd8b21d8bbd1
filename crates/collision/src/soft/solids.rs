//! Contacts of two solids: slot 0 where they balance, the others pushed aside along the surface.
//!
//! | pair | slots | pushes |
//! |---|---|---|
//! | capsule with capsule, cylinder or box | 3 | both ways along the first axis |
//! | cylinder or box, or a plane, with cylinder or box | 5 | four diagonals of tangents |
//! | all other | 1 | none |
//!
//! Tangents are fixed in the first solid for a given normal. A pushed point goes as far as both solids reach, so that faces carry each other at their corners. All
//! slots have the normal of slot 0.

use pullback_math::{Real, Transform, Vec3, differentiable};

use super::balance::{Minimum, Pair, Setup, contact_at, contact_at_vjp, normal, normal_vjp};
use super::solve::solve;
use super::walls::mean_size;
use crate::collider::{Collider, Kind};
use crate::contact::{Contact, tangent_frame, tangent_frame_vjp};
use crate::dispatch::ShapeBar;
use crate::lanes::{lane_of, of_all_lanes, pack};

/// Most slots of a pair.
const SLOTS: usize = 5;

/// Number of slots of two solids.
pub(super) fn solid_slots(a: Kind, b: Kind) -> usize {
    let flat = |kind| matches!(kind, Kind::Plane | Kind::Cylinder | Kind::Box);
    match (a, b) {
        (a, b) if flat(a) && flat(b) => SLOTS,
        (Kind::Capsule, b) if flat(b) || b == Kind::Capsule => 3,
        _ => 1,
    }
}

/// The push of a slot, for the normal n of the pair.
#[differentiable]
pub(super) fn push_of<T: Real>(
    #[constant] setup: Setup,
    slot: usize,
    a: Transform<T>,
    n: Vec3<T>,
) -> Vec3<T> {
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
fn minima_of_lane(setup: Setup, pair: &Pair<f64>, slots: usize) -> [Minimum<f64>; SLOTS] {
    let size_a = mean_size(setup.kinds.0, pair.size_a);
    let size_b = mean_size(setup.kinds.1, pair.size_b);
    let (ca, cb) = (pair.a.translation, pair.b.translation);
    let plane = setup.kinds.0 == Kind::Plane;
    let size = if plane { size_b } else { size_a.min(size_b) };
    let start = if plane { cb } else { (ca * size_b + cb * size_a) * (1.0 / (size_a + size_b)) };
    let center = solve(setup, pair, Vec3::zero(), start, size);
    let n = normal(setup, *pair, center);
    std::array::from_fn(|slot| {
        if slot == 0 || slot >= slots {
            return center;
        }
        solve(setup, pair, push_of(setup, slot, pair.a, n), center.x, size)
    })
}

/// The minima of all lanes.
fn minima<T: Real>(setup: Setup, pair: &Pair<T>, slots: usize) -> [Minimum<T>; SLOTS] {
    let of_lane = |lane: usize| {
        let number = |v: Vec3<T>| v.map(|x| x.lane(lane));
        let pair = Pair {
            size_a: number(pair.size_a),
            a: lane_of(pair.a, lane),
            size_b: number(pair.size_b),
            b: lane_of(pair.b, lane),
        };
        minima_of_lane(setup, &pair, slots)
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| {
        std::array::from_fn(|slot| Minimum {
            x: pack(|i| lanes[i][slot].x),
            inverse: std::array::from_fn(|column| pack(|i| lanes[i][slot].inverse[column])),
            highest: T::from_lanes(|i| lanes[i][slot].highest),
        })
    })
}

/// Fills the slots of two solids.
pub(super) fn solids<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    softness: f64,
    out: &mut [Contact<T>],
) {
    let setup = Setup::new((a.kind, b.kind), softness);
    let pair = Pair { size_a: a.size, a: pose_a, size_b: b.size, b: pose_b };
    let found = minima(setup, &pair, out.len());
    let n = normal(setup, pair, found[0]);
    for (slot, out) in out.iter_mut().enumerate() {
        *out = slot_contact(setup, slot, pair, n, found[slot]);
    }
}

/// Pullback of [`solids`]: adds to the cotangents of both.
pub(super) fn solids_vjp<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    softness: f64,
    out_bar: &[Contact<T>],
    a_bar: &mut ShapeBar<T>,
    b_bar: &mut ShapeBar<T>,
) {
    let setup = Setup::new((a.kind, b.kind), softness);
    let pair = Pair { size_a: a.size, a: pose_a, size_b: b.size, b: pose_b };
    let found = minima(setup, &pair, out_bar.len());
    let n = normal(setup, pair, found[0]);
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
