//! Several contacts where a flat face of a convex shape meets another: cylinders, boxes, meshes and capsules
//! that rest on each other do so on a polygon, not on one wandering point.
//!
//! 1. GJK and EPA give the normal. The face nearest to it, of the shape whose face separates the pair better,
//!    is the reference.
//! 2. The face of the other shape that looks at it is clipped to its sides (Sutherland and Hodgman 1974).
//!    Each corner of the result is a slot: gap along the reference normal. Of more corners than slots, evenly
//!    many are left out.
//! 3. It must separate the pair as the normal of EPA does or nearly be that normal, and the smallest gap must
//!    be that along the normal of EPA, to `CARRIES`; else no face carries the pair, and it has the one
//!    contact of [`convex`](super::convex).
//!
//! A corner is a point of the other shape, moved by how far it is off the sides that hold it (none, one or
//! two), with the inverse of their equations held constant: one Newton step, so exact first derivatives, as
//! in [`box_box`](super::box_box). The cap of a cylinder is an octagon fixed in the body while it leans less
//! than 0.01 rad; beyond that the lowest points of both rims stand for it, and they follow the normal.
//!
//! Limits: where the lean passes 0.01 rad, depths jump by up to 8·10⁻⁴ radii. Faces of meshes have 16 corners
//! at most.

use pullback_math::{Cotangent, Real, Transform, Vec3, differentiable, select};

use super::collider::{Collider, Kind};
use super::contact::{Contact, INACTIVE};
use super::convex::{ConvexFeatures, convex_at, convex_at_vjp, features_at, packed};
use super::face_polygon::{STANDING, face_near};
use super::gjk::witness;
use super::lanes::{lane_of, of_all_lanes, pack};
use super::overlap::{Line, Overlap, overlap};
use super::support::{Core, Witness, difference, extents};

/// Most contacts of a pair.
const MANIFOLD_SLOTS: usize = 8;
/// Gap, relative to the size of the shapes, by which a face of the second shape must beat one of the first.
const FACE_PREFERENCE: f64 = 1e-8;
/// Angle in rad up to which a face is parallel to the normal of EPA.
const PARALLEL: f64 = 3e-4;
/// Difference of depth, relative to the size of the shapes, up to which a face carries a pair.
const CARRIES: f64 = 1e-6;

/// Number of slots of a pair that the convex solver serves.
pub(super) fn manifold_slots(a: Kind, b: Kind) -> usize {
    let flat = |kind| matches!(kind, Kind::Cylinder | Kind::Box | Kind::Mesh);
    match (a, b) {
        (a, b) if flat(a) && flat(b) => MANIFOLD_SLOTS,
        (Kind::Capsule, b) if flat(b) => 2,
        _ => 1,
    }
}

/// One corner of the clipped face.
#[derive(Clone, Copy, Debug)]
struct Corner<T> {
    /// On the other shape, in units of its extents, with its radius square to the axis (`rim`) or all around
    /// (`ball`).
    unit: Vec3<T>,
    rim: T,
    ball: T,
    /// Sides that hold it: their normals and points on the reference, and how it moves per length off them.
    normals: [Vec3<T>; 2],
    units: [Vec3<T>; 2],
    moves: [Vec3<T>; 2],
    off: T,
}

/// The features of a pair, constants of the differentiation.
#[derive(Clone, Copy, Debug)]
struct ManifoldFeatures<T> {
    /// 1 where the pair has one contact.
    single: T,
    convex: ConvexFeatures<T>,
    /// 1 where the reference face is on the first shape, −1 where on the second.
    reference: T,
    normal: Vec3<T>,
    top: Vec3<T>,
    corners: [Corner<T>; MANIFOLD_SLOTS],
}

fn single(a: &Core, b: &Core, nearest: Witness) -> ManifoldFeatures<f64> {
    let (o, up) = (Vec3::zero(), Vec3::new(0.0, 0.0, 1.0));
    let corner =
        Corner { unit: o, rim: 0.0, ball: 0.0, normals: [o; 2], units: [o; 2], moves: [o; 2], off: INACTIVE };
    ManifoldFeatures {
        single: 1.0,
        convex: features_at(a, b, nearest),
        reference: 1.0,
        normal: up,
        top: o,
        corners: [corner; MANIFOLD_SLOTS],
    }
}

/// Gap of two shapes between planes square to n.
fn gap(a: &Core, b: &Core, n: Vec3<f64>) -> f64 {
    let round = |c: &Core| if c.collider.kind == Kind::Capsule { c.collider.size.x } else { 0.0 };
    -difference(a, b, n).w.dot(n) - round(a) - round(b)
}

/// The features of one environment.
fn features_of_pair(a: &Core, b: &Core, slots: usize) -> ManifoldFeatures<f64> {
    let nearest = witness(a, b);
    let mut found = single(a, b, nearest);
    if slots == 1 {
        return found;
    }
    let scale = a.collider.bounding_radius() + b.collider.bounding_radius();
    let n = nearest.normal;
    let best = gap(a, b, n);
    // Octagons reach 1 − cos(π/8) short of the rim.
    let round = |c: &Core| if c.collider.kind == Kind::Cylinder { 0.08 * c.collider.size.x } else { 0.0 };
    // The reference: the face that separates best, of the first shape if both do, if it carries the pair.
    let mut chosen: Option<(f64, Vec3<f64>, f64, Overlap)> = None;
    for (fixed, other, sign) in [(a, b, 1.0), (b, a, -1.0)] {
        let Some(face) = face_near(fixed, fixed.pose.inverse_direction(n * sign)) else { continue };
        let separation = gap(a, b, fixed.pose.direction(face) * sign);
        if chosen.as_ref().is_some_and(|c| separation <= c.2 + FACE_PREFERENCE * scale) {
            continue;
        }
        // It separates them as EPA's normal does, or nearly is that normal: what hangs over leans against an
        // edge.
        let separates = separation >= best - FACE_PREFERENCE * scale;
        let parallel = (fixed.pose.direction(face) * sign - n).norm() < PARALLEL;
        if !separates && !parallel {
            continue;
        }
        let part = overlap(fixed, face, other, scale);
        let short = if part.lean < STANDING { part.lean * (round(a) + round(b)) } else { 0.0 };
        let error = part.lowest - best;
        if error > -CARRIES * scale && error < CARRIES * scale + short {
            chosen = Some((sign, face, separation, part));
        }
    }
    let Some((sign, face, _, part)) = chosen else { return found };
    let fixed = if sign > 0.0 { a } else { b };
    let kept = part.count.min(slots);
    for slot in 0..kept {
        let v = part.polygon[slot * part.count / kept];
        let corner = &mut found.corners[slot];
        (corner.unit, corner.rim, corner.ball, corner.off) = (v.point.unit, v.point.rim, v.point.ball, 0.0);
        let normal = |l: Line| l.side.map(|s| fixed.pose.direction(part.sides[s].normal));
        for (i, (line, partner)) in [(v.before, v.after), (v.after, v.before)].into_iter().enumerate() {
            let (Some(side), Some(s)) = (line.side, normal(line)) else { continue };
            // Along the other line: an edge of the other shape, or its face in the other side.
            let along = normal(partner).map_or(partner.along, |p| p.cross(part.across)).normalize();
            let rate = s.dot(along);
            if rate.abs() > 1e-6 {
                corner.normals[i] = part.sides[side].normal;
                corner.units[i] = part.sides[side].unit;
                corner.moves[i] = along * (-1.0 / rate);
            }
        }
    }
    let extent = extents(fixed.collider.kind, fixed.collider.size);
    found.single = 0.0;
    found.reference = sign;
    found.normal = face;
    found.top = fixed.local_support(face).zip(extent, |x, e| if e > 0.0 { x / e } else { 0.0 });
    found
}

/// Chooses the features, lane by lane, on primal values.
fn manifold_features<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
) -> ManifoldFeatures<T> {
    let slots = manifold_slots(a.kind, b.kind);
    let of_lane = |lane: usize| {
        let a = Core { collider: a.lane(lane), pose: lane_of(pose_a, lane) };
        let b = Core { collider: b.lane(lane), pose: lane_of(pose_b, lane) };
        features_of_pair(&a, &b, slots)
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| ManifoldFeatures {
        single: T::from_lanes(|i| lanes[i].single),
        convex: packed(|i| lanes[i].convex),
        reference: T::from_lanes(|i| lanes[i].reference),
        normal: pack(|i| lanes[i].normal),
        top: pack(|i| lanes[i].top),
        corners: std::array::from_fn(|c| Corner {
            unit: pack(|i| lanes[i].corners[c].unit),
            rim: T::from_lanes(|i| lanes[i].corners[c].rim),
            ball: T::from_lanes(|i| lanes[i].corners[c].ball),
            normals: std::array::from_fn(|j| pack(|i| lanes[i].corners[c].normals[j])),
            units: std::array::from_fn(|j| pack(|i| lanes[i].corners[c].units[j])),
            moves: std::array::from_fn(|j| pack(|i| lanes[i].corners[c].moves[j])),
            off: T::from_lanes(|i| lanes[i].corners[c].off),
        }),
    })
}

/// Half extents along the axes of the body.
#[differentiable]
fn reach<T: Real>(#[constant] kind: Kind, size: Vec3<T>) -> Vec3<T> {
    let zero = T::zero();
    if kind == Kind::Cylinder {
        Vec3::new(size.x, size.x, size.y)
    } else if kind == Kind::Box {
        size
    } else if kind == Kind::Capsule {
        Vec3::new(zero, zero, size.y)
    } else {
        Vec3::new(T::one(), T::one(), T::one())
    }
}

/// Component by component.
#[differentiable]
fn scaled<T: Real>(#[constant] unit: Vec3<T>, size: Vec3<T>) -> Vec3<T> {
    Vec3::new(unit.x * size.x, unit.y * size.y, unit.z * size.z)
}

/// What the corners of one clipped face share.
#[derive(Clone, Copy, Cotangent)]
struct Faces<T> {
    reference: Transform<T>,
    reference_reach: Vec3<T>,
    other: Transform<T>,
    other_reach: Vec3<T>,
    radius: T,
    normal: Vec3<T>,
    top: Vec3<T>,
}

#[differentiable]
fn faces<T: Real>(
    #[constant] kind_a: Kind,
    size_a: Vec3<T>,
    a: Transform<T>,
    #[constant] kind_b: Kind,
    size_b: Vec3<T>,
    b: Transform<T>,
    #[constant] f: ManifoldFeatures<T>,
) -> Faces<T> {
    let first = f.reference.gt(T::zero());
    let (reach_a, reach_b) = (reach(kind_a, size_a), reach(kind_b, size_b));
    let reference = select(first, a, b);
    let reference_reach = select(first, reach_a, reach_b);
    Faces {
        reference,
        reference_reach,
        other: select(first, b, a),
        other_reach: select(first, reach_b, reach_a),
        radius: select(first, size_b.x, size_a.x),
        normal: reference.direction(f.normal),
        top: reference.point(scaled(f.top, reference_reach)),
    }
}

/// One corner of the clipped face.
#[differentiable]
fn corner_contact<T: Real>(
    faces: Faces<T>,
    #[constant] c: Corner<T>,
    #[constant] reference: T,
) -> Contact<T> {
    // Towards the reference, in the other shape.
    let d = faces.other.inverse_direction(-faces.normal);
    let radial = Vec3::new(d.x, d.y, T::zero()).normalize();
    let round = radial * (faces.radius * c.rim) + d * (faces.radius * c.ball);
    let x = faces.other.point(scaled(c.unit, faces.other_reach) + round);
    // Back onto the sides that hold it.
    let y = faces.reference.inverse_point(x);
    let off0 = c.normals[0].dot(y - scaled(c.units[0], faces.reference_reach));
    let off1 = c.normals[1].dot(y - scaled(c.units[1], faces.reference_reach));
    let x = x + c.moves[0] * off0 + c.moves[1] * off1;
    let gap = faces.normal.dot(x - faces.top);
    Contact {
        position: x - faces.normal * (gap * T::lit(0.5)),
        normal: faces.normal * reference,
        distance: gap + c.off,
    }
}

/// Convex against convex with all contacts, at given features.
#[differentiable]
fn manifold_at<T: Real>(
    #[constant] kind_a: Kind,
    size_a: Vec3<T>,
    a: Transform<T>,
    #[constant] kind_b: Kind,
    size_b: Vec3<T>,
    b: Transform<T>,
    #[constant] f: ManifoldFeatures<T>,
) -> [Contact<T>; 8] {
    let one = convex_at(kind_a, size_a, a, kind_b, size_b, b, f.convex);
    let faces = faces(kind_a, size_a, a, kind_b, size_b, b, f);
    let first = corner_contact(faces, f.corners[0], f.reference);
    [
        select(f.single.gt(T::zero()), one, first),
        corner_contact(faces, f.corners[1], f.reference),
        corner_contact(faces, f.corners[2], f.reference),
        corner_contact(faces, f.corners[3], f.reference),
        corner_contact(faces, f.corners[4], f.reference),
        corner_contact(faces, f.corners[5], f.reference),
        corner_contact(faces, f.corners[6], f.reference),
        corner_contact(faces, f.corners[7], f.reference),
    ]
}

/// Convex against convex: fills the slots of the pair.
pub fn manifold<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    out: &mut [Contact<T>],
) {
    let f = manifold_features(a, pose_a, b, pose_b);
    let contacts = manifold_at(a.kind, a.size, pose_a, b.kind, b.size, pose_b, f);
    let slots = out.len();
    out.copy_from_slice(&contacts[..slots]);
}

/// Pullback of [`manifold`], the features held constant: cotangents of both sizes and poses, (size, pose)
/// each.
pub(crate) fn manifold_vjp<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    out_bar: &[Contact<T>],
) -> (Vec3<T>, Transform<T>, Vec3<T>, Transform<T>) {
    let f = manifold_features(a, pose_a, b, pose_b);
    let none = Contact { position: Vec3::zero(), normal: Vec3::zero(), distance: T::zero() };
    let bar = std::array::from_fn(|i| out_bar.get(i).copied().unwrap_or(none));
    let ((), size_a, a_bar, (), size_b, b_bar, ()) =
        manifold_at_vjp(a.kind, a.size, pose_a, b.kind, b.size, pose_b, f, bar);
    (size_a, a_bar, size_b, b_bar)
}
