//! Several contacts where a face of a convex shape meets a face or an edge of another: cylinders, boxes,
//! meshes and capsules that rest on each other do so on a polygon, not on one wandering point.
//!
//! The method is MuJoCo's, and so are the contacts, four at most.
//!
//! 1. GJK and EPA give the normal and the features under it: a corner, an edge or a face of each shape.
//! 2. Of the faces on which the two features lie, the pair that is closest to parallel is matched, if its
//!    normals are opposite to within 0.0889 rad. The face of the first shape clips that of the second. Its
//!    corners are projected to the face of the first, and measured along the normal of the second.
//! 3. Else an edge on which a feature lies is matched with a face of the other shape, if it is parallel to it
//!    to within that angle, and clipped by that face.
//! 4. Corners farther above the face than the shapes' reach are left out; of more than four, four are kept.
//!    Where none is left, or nothing matches, the pair has the one contact of [`convex`](super::convex).
//!
//! A corner is a point of the other shape, moved by how far it is off the sides that hold it (none, one or
//! two), with the inverse of their equations held constant: one Newton step, so exact first derivatives, as
//! in [`box_box`](super::box_box). Edges of capsules and cylinders lie on the side of their axis to which the
//! normal of the one contact points; those of capsules are moved by half the reach of the pair in that
//! direction, and the distance is corrected by it, which shows where the axis is not parallel to the face.
//!
//! Limits: contacts come and go where features change or leave that angle. Faces of meshes have 96 corners at
//! most, corners of meshes 64 faces.

use pullback_math::{Cotangent, Real, Transform, Vec3, differentiable, select};

use super::collider::{Collider, Kind};
use super::contact::{Contact, INACTIVE};
use super::convex::{ConvexFeatures, convex_at, convex_at_vjp, features_at, packed};
use super::face_polygon::{FacePoint, FacePolygon, Feature, Matches, edges_at, faces_at, polygon};
use super::gjk::witness;
use super::lanes::{lane_of, of_all_lanes, pack};
use super::overlap::{Line, overlap, place};
use super::support::{Core, Witness};

/// Most contacts of a pair.
const MANIFOLD_SLOTS: usize = 4;
/// Angle up to which faces and edges are parallel, rad.
const ANGLE: f64 = 0.0889;
/// Angle up to which a face is square to the normal of EPA, rad.
const FLUSH: f64 = 1e-9;

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
    /// On the other shape, in units of its extents, with its radius square to the axis, all of it (`rim`) or
    /// in part (`ball`).
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
    /// Inward normal of the face on the other shape, or zero for an edge.
    inward: Vec3<T>,
    /// By how much edges of capsules are moved to the other shape, m: half the reach of the pair.
    moved: T,
    corners: [Corner<T>; MANIFOLD_SLOTS],
}

fn single(a: &Core, b: &Core, convex: ConvexFeatures<f64>) -> ManifoldFeatures<f64> {
    let (o, up) = (Vec3::zero(), Vec3::new(0.0, 0.0, 1.0));
    let corner =
        Corner { unit: o, rim: 0.0, ball: 0.0, normals: [o; 2], units: [o; 2], moves: [o; 2], off: INACTIVE };
    ManifoldFeatures {
        single: 1.0,
        convex,
        reference: 1.0,
        normal: up,
        top: o,
        inward: o,
        moved: 0.5 * (a.collider.reach + b.collider.reach),
        corners: [corner; MANIFOLD_SLOTS],
    }
}

/// A face of the reference, and the face or edge of the other shape that lies on it.
struct Match {
    /// 1 where the reference is the first shape, −1 where the second.
    reference: f64,
    face: usize,
    normal: Vec3<f64>,
    incident: FacePolygon,
    /// Outward normal of the incident face, local; zero for an edge.
    incident_normal: Vec3<f64>,
}

/// The edge on which a feature of `other` lies that is parallel to one of the faces, the first of those; `out`
/// is the direction out of the reference.
fn matching_edge(
    fixed: &Core,
    faces: &Matches<usize>,
    other: &Core,
    feature: Feature,
    out: Vec3<f64>,
    reference: f64,
) -> Option<Match> {
    let (start, edges) = edges_at(other, feature, other.pose.inverse_direction(-out));
    for &(normal, face) in faces.all() {
        let n = fixed.pose.direction(normal);
        if n.dot(out) <= 1e-15 {
            continue;
        }
        for &(along, end) in edges.all() {
            if other.pose.direction(along).dot(n).abs() < ANGLE.sin() {
                let incident = FacePolygon::edge(start, end);
                return Some(Match { reference, face, normal, incident, incident_normal: Vec3::zero() });
            }
        }
    }
    None
}

/// Makes the face of a polyhedron whose normal is n, if there is one, the feature.
fn flush(core: &Core, feature: &mut Feature, faces: &mut Matches<usize>, n: Vec3<f64>) {
    let square = |(normal, _): &&(Vec3<f64>, usize)| (*normal - n).norm_squared() < FLUSH * FLUSH;
    if let (true, Some(&(normal, face))) =
        (core.collider.kind != Kind::Cylinder, faces.all().iter().find(square))
    {
        feature.dimension = 3;
        *faces = Matches::one(normal, face);
    }
}

/// The faces that are closest to opposite, else an edge and a face; n is the direction from a to b.
fn matching(a: &Core, b: &Core, nearest: &Witness, n: Vec3<f64>) -> Option<Match> {
    let (local_a, local_b) = (a.pose.inverse_direction(n), b.pose.inverse_direction(-n));
    let [mut fa, mut fb] = nearest.corners.map(Feature::new);
    let (mut faces_a, mut faces_b) =
        (faces_at(a, fa, local_a, ANGLE.cos()), faces_at(b, fb, local_b, ANGLE.cos()));
    // A face that is square to the normal is the feature, even if not all of it was seen.
    flush(a, &mut fa, &mut faces_a, local_a);
    flush(b, &mut fb, &mut faces_b, local_b);
    let mut best = (-ANGLE.cos(), None);
    for &(local_a, face_a) in faces_a.all() {
        let na = a.pose.direction(local_a);
        for &(local_b, face_b) in faces_b.all() {
            let nb = b.pose.direction(local_b);
            let facing = na.dot(n) > ANGLE.sin() && nb.dot(n) < -ANGLE.sin();
            if facing && na.dot(nb) < best.0 {
                best = (na.dot(nb), Some(((local_a, face_a), (local_b, face_b))));
            }
        }
    }
    if let Some(((normal, face), (incident_normal, incident))) = best.1 {
        let incident = polygon(b, incident);
        return Some(Match { reference: 1.0, face, normal, incident, incident_normal });
    }
    let (none_a, none_b) = (faces_a.all().is_empty(), faces_b.all().is_empty());
    if fa.dimension < 3 && !none_b && (fa.dimension <= fb.dimension || none_a) {
        matching_edge(b, &faces_b, a, fa, -n, -1.0)
    } else if fb.dimension < 3 {
        matching_edge(a, &faces_a, b, fb, n, 1.0)
    } else {
        None
    }
}

/// The features of one environment.
fn features_of_pair(a: &Core, b: &Core, slots: usize) -> ManifoldFeatures<f64> {
    let Some(nearest) = witness(a, b) else { return single(a, b, ConvexFeatures::apart()) };
    let mut found = single(a, b, features_at(a, b, nearest));
    if slots == 1 {
        return found;
    }
    let (size_a, size_b) = (a.collider.size, b.collider.size);
    let one = convex_at(a.collider.kind, size_a, a.pose, b.collider.kind, size_b, b.pose, found.convex);
    let Some(matched) = matching(a, b, &nearest, one.normal) else { return found };
    let (fixed, other) = if matched.reference > 0.0 { (a, b) } else { (b, a) };
    let Match { reference, face, normal, incident, incident_normal } = matched;
    let polygon = polygon(fixed, face);
    let out = one.normal * -reference;
    let reach = a.collider.reach + b.collider.reach;
    let place = |p: &FacePoint| place(other, p, out, found.moved);
    let (corners, count) = overlap(fixed, &polygon, normal, &incident, place, reach);
    if count == 0 {
        return found;
    }
    let across = other.pose.direction(incident_normal);
    for (corner, v) in found.corners.iter_mut().zip(corners.iter().flatten()).take(slots) {
        (corner.unit, corner.rim, corner.ball, corner.off) = (v.point.unit, v.point.rim, v.point.ball, 0.0);
        for i in 0..2 {
            let Line::Side(side) = v.lines[i] else { continue };
            // Along the other line: an edge of the other shape, or its face in the other side.
            let along = match v.lines[1 - i] {
                Line::Side(partner) => fixed.pose.direction(partner.normal).cross(across),
                Line::Along(edge) => edge,
            };
            let along = along.normalize();
            let rate = fixed.pose.direction(side.normal).dot(along);
            if rate.abs() > 1e-6 {
                (corner.normals[i], corner.units[i]) = (side.normal, side.unit);
                corner.moves[i] = along * (-1.0 / rate);
            }
        }
    }
    found.single = 0.0;
    found.reference = reference;
    found.normal = normal;
    found.top = polygon.points[0].unit;
    found.inward = -incident_normal;
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
        inward: pack(|i| lanes[i].inward),
        moved: T::from_lanes(|i| lanes[i].moved),
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

/// The two faces, or a face and an edge, in the world.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
struct Faces<T> {
    reference: Transform<T>,
    reference_reach: Vec3<T>,
    other: Transform<T>,
    other_reach: Vec3<T>,
    /// Radius of the other shape, and the local direction square to its axis in which it points.
    radius: T,
    across: Vec3<T>,
    /// Outward normal of the reference face, and a point on it.
    normal: Vec3<T>,
    top: Vec3<T>,
    /// Direction out of the reference along which gaps are measured.
    measure: Vec3<T>,
}

#[differentiable]
#[allow(clippy::too_many_arguments)]
fn faces<T: Real>(
    #[constant] kind_a: Kind,
    size_a: Vec3<T>,
    a: Transform<T>,
    #[constant] kind_b: Kind,
    size_b: Vec3<T>,
    b: Transform<T>,
    normal: Vec3<T>,
    #[constant] f: ManifoldFeatures<T>,
) -> Faces<T> {
    let first = f.reference.gt(T::zero());
    let (reach_a, reach_b) = (reach(kind_a, size_a), reach(kind_b, size_b));
    let reference = select(first, a, b);
    let reference_reach = select(first, reach_a, reach_b);
    let other = select(first, b, a);
    // Out of the other shape.
    let out = other.inverse_direction(normal * (-f.reference));
    let face = reference.direction(f.normal);
    let inward = other.direction(f.inward);
    let is_face = f.inward.norm_squared().gt(T::zero());
    Faces {
        reference,
        reference_reach,
        other,
        other_reach: select(first, reach_b, reach_a),
        radius: select(first, size_b.x, size_a.x),
        across: Vec3::new(out.x, out.y, T::zero()),
        normal: face,
        top: reference.point(scaled(f.top, reference_reach)),
        measure: select(is_face, inward, face),
    }
}

/// One corner of the clipped face.
#[differentiable]
fn corner_contact<T: Real>(
    faces: Faces<T>,
    #[constant] c: Corner<T>,
    #[constant] reference: T,
    #[constant] moved: T,
) -> Contact<T> {
    let round =
        faces.across.normalize() * (faces.radius * c.rim) + faces.across * ((faces.radius + moved) * c.ball);
    let x = faces.other.point(scaled(c.unit, faces.other_reach) + round);
    // Back onto the sides that hold it.
    let y = faces.reference.inverse_point(x);
    let off0 = c.normals[0].dot(y - scaled(c.units[0], faces.reference_reach));
    let off1 = c.normals[1].dot(y - scaled(c.units[1], faces.reference_reach));
    let x = x + c.moves[0] * off0 + c.moves[1] * off1;
    // On the reference face, and from there along the direction of measure.
    let gap = faces.normal.dot(x - faces.top);
    let on = x - faces.normal * gap;
    let distance = gap * faces.normal.dot(faces.measure) + moved * c.ball;
    Contact {
        position: on + faces.measure * (distance * T::lit(0.5)),
        normal: faces.measure * reference,
        distance: distance + c.off,
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
) -> [Contact<T>; 4] {
    let one = convex_at(kind_a, size_a, a, kind_b, size_b, b, f.convex);
    let faces = faces(kind_a, size_a, a, kind_b, size_b, b, one.normal, f);
    let first = corner_contact(faces, f.corners[0], f.reference, f.moved);
    [
        select(f.single.gt(T::zero()), one, first),
        corner_contact(faces, f.corners[1], f.reference, f.moved),
        corner_contact(faces, f.corners[2], f.reference, f.moved),
        corner_contact(faces, f.corners[3], f.reference, f.moved),
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
    if f.convex.all_apart() {
        return out.fill(Contact::inactive());
    }
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
