//! Box against box: the separating axis of least overlap, then a clipped face or a pair of edges.
//!
//! 1. Of the 15 axes (Gottschalk, Lin, Manocha 1996), six face normals and nine cross products of edges, the
//!    one with the largest gap is the normal; of faces with the same gap, that of the first box. An edge pair
//!    must beat the best face by `EDGE_PREFERENCE`, and by `FACE_PREFERENCE` where it is nearly parallel to
//!    that, so that aligned boxes have faces.
//! 2. Face: the face of the other box that looks most against it is clipped to its sides (Sutherland and
//!    Hodgman 1974); each corner of the result is a slot, eight at most, midway between the two faces.
//!    Edges: one slot, midway between the closest points.
//!
//! Choices and their order are MuJoCo's.
//!
//! Both steps run on primal values, lane by lane, and give features: which box, which axes, which lines meet
//! at a corner. At fixed features, the geometry is evaluated differentiably: a corner of the clipped face
//! solves a linear system in the face's coordinates (α, β), and one Newton step with the inverse matrix held
//! constant gives its exact derivative. Where features switch, the depth has a kink, or jumps by up to
//! `FACE_PREFERENCE` of itself; slots may exchange places.
//!
//! Limits: apart, the distance is the gap along the best of the 15 axes, at most the Euclidean distance,
//! which it equals where faces or edges are nearest. If no part of the face is above the other, all slots
//! are empty, as in MuJoCo.

use pullback_math::{Mask, Real, Transform, Vec3, differentiable, select};

use super::contact::{Contact, INACTIVE, between, between_vjp, clamp, clamp_vjp};
use super::lanes::{lane_of, of_all_lanes, pack};

/// Largest number of contacts.
pub(crate) const BOX_SLOTS: usize = 8;

/// sin² of the angle between edges up to which they have no cross product.
const NO_CROSS: f64 = 1e-16;
/// Part of its own gap by which an edge pair must beat the best axis so far.
const EDGE_PREFERENCE: f64 = 1e-6;
/// Gap, m, below which differences of gaps are round-off.
const ROUND_OFF: f64 = 1e-14;
/// Cosine of the angle above which an edge axis is nearly the axis of a face.
const NEARLY_FACE: f64 = 0.99;
/// Part of the gap of the face by which such an edge pair must beat it.
const FACE_PREFERENCE: f64 = 0.05;
/// Distance, in half diagonals of the reference face, up to which corners are the same.
const NEAR_DUPLICATE: f64 = 1e-7;

/// One corner of the clipped face: α = α₀ − A·residuals, β = β₀ − B·residuals.
#[derive(Clone, Copy, Debug, Default)]
struct Corner<T> {
    at: [T; 2],
    alpha: [T; 2],
    beta: [T; 2],
    side: [T; 2],
    off: T,
}

/// The features of a pair, constants of the differentiation. Vectors are signed unit axes in the frames of
/// the boxes.
#[derive(Clone, Copy, Debug)]
struct BoxFeatures<T> {
    /// 1 where the reference face is on the first box, −1 where on the second.
    reference: T,
    /// 1 where edges meet.
    edges: T,
    normal: Vec3<T>,
    sides: [Vec3<T>; 2],
    facing: Vec3<T>,
    spans: [Vec3<T>; 2],
    corners: [Corner<T>; BOX_SLOTS],
    edge_a: Vec3<T>,
    edge_b: Vec3<T>,
    corner_a: Vec3<T>,
    corner_b: Vec3<T>,
    edge_sign: T,
}

/// A line a α + b β = c in the incident face; `side` says which side of the reference face it is, if one.
#[derive(Clone, Copy, Default)]
struct Line {
    a: f64,
    b: f64,
    c: f64,
    side: Option<(usize, f64)>,
}

/// The lines that may bound a polygon: four edges of the incident face, then four sides of the reference face.
type Lines = [Line; 8];

/// A polygon corner, and the numbers of the lines from the last one and to the next.
#[derive(Clone, Copy, Default)]
struct Vertex {
    at: [f64; 2],
    before: u8,
    after: u8,
}

fn sign<T: Real>(x: T) -> T {
    select(x.lt(T::zero()), -T::one(), T::one())
}

/// The unit vector along the axis with this number, which may differ between lanes.
fn unit<T: Real>(number: T) -> Vec3<T> {
    let along = |i: f64| select((number - T::lit(i)).abs().lt(T::lit(0.5)), T::one(), T::zero());
    Vec3::new(along(0.0), along(1.0), along(2.0))
}

/// The unit vectors along the two axes after one.
fn next_two<T: Real>(unit: Vec3<T>) -> [Vec3<T>; 2] {
    [Vec3::new(unit.z, unit.x, unit.y), Vec3::new(unit.y, unit.z, unit.x)]
}

/// Cuts away what lies beyond the line; lines keep their names through the cut.
fn clip(polygon: &mut [Vertex; 12], count: usize, lines: &Lines, number: u8) -> usize {
    let line = lines[number as usize];
    let mut beyond = [0.0; 12];
    let mut outside = false;
    for (beyond, v) in beyond.iter_mut().zip(&polygon[..count]) {
        *beyond = line.a * v.at[0] + line.b * v.at[1] - line.c;
        outside |= *beyond > 0.0;
    }
    if !outside {
        return count;
    }
    let source = *polygon;
    let mut kept = 0;
    for i in 0..count {
        let after = if i + 1 < count { i + 1 } else { 0 };
        let (v, next, here, there) = (source[i], source[after], beyond[i], beyond[after]);
        if here <= 0.0 {
            polygon[kept] = v;
            kept += 1;
        }
        if (here <= 0.0) != (there <= 0.0) {
            let t = here / (here - there);
            let at = [v.at[0] + t * (next.at[0] - v.at[0]), v.at[1] + t * (next.at[1] - v.at[1])];
            let (before, after) = if here <= 0.0 { (v.after, number) } else { (number, v.after) };
            polygon[kept] = Vertex { at, before, after };
            kept += 1;
        }
    }
    kept
}

/// The corner with the derivative of its coordinates: the inverse of the two lines through it, as far as they
/// move.
fn corner(v: &Vertex, lines: &Lines) -> Corner<f64> {
    let (p, q) = (lines[v.before as usize], lines[v.after as usize]);
    let det = p.a * q.b - p.b * q.a;
    let mut corner = Corner { at: v.at, ..Corner::default() };
    if det.abs() < 1e-12 {
        return corner;
    }
    let scale = 1.0 / det;
    for (line, alpha, beta) in [(p, q.b * scale, -q.a * scale), (q, -p.b * scale, p.a * scale)] {
        if let Some((j, side)) = line.side {
            // The line of the negative side is written with the opposite sign.
            corner.alpha[j] = alpha * side;
            corner.beta[j] = beta * side;
            corner.side[j] = side;
        }
    }
    corner
}

/// What separates two boxes best, numbers of axes and answers as numbers.
struct Separation<T> {
    /// 1 where the best face is on the first box, and its axis.
    first: T,
    face: T,
    /// 1 where edges meet, and their axes.
    edges: T,
    edge_a: T,
    edge_b: T,
}

/// Finds the best face, then a pair of edges that beats it.
fn separation<T: Real>(
    (a, half_a): (Transform<T>, Vec3<T>),
    (b, half_b): (Transform<T>, Vec3<T>),
) -> Separation<T> {
    let (zero, one) = (T::zero(), T::one());
    let t = b.translation - a.translation;
    let extent = |pose: Transform<T>, half: Vec3<T>, n: Vec3<T>| {
        let n = pose.inverse_direction(n);
        half.x * n.x.abs() + half.y * n.y.abs() + half.z * n.z.abs()
    };
    let (mut first, mut face, mut best) = (one, zero, T::lit(f64::NEG_INFINITY));
    for (own_first, own, half, other, other_half) in
        [(one, a, half_a, b, half_b), (zero, b, half_b, a, half_a)]
    {
        for i in 0..3 {
            let n = own.rotation.col(i);
            // In this order, boxes with parallel faces fall to the same box as in MuJoCo.
            let separation = t.dot(n).abs() - half[i] - extent(other, other_half, n);
            let better = separation.gt(best);
            first = select(better, own_first, first);
            face = select(better, T::lit(i as f64), face);
            best = select(better, separation, best);
        }
    }
    let on_first = first.gt(zero);
    let is_face = |i: usize| (face - T::lit(i as f64)).abs().lt(T::lit(0.5));

    let t = a.inverse_direction(t);
    // r[i][j] = aᵢ·bⱼ
    let columns: [Vec3<T>; 3] = std::array::from_fn(|j| a.inverse_direction(b.rotation.col(j)));
    let r: [[T; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i]));
    let face_gap = best;
    let (mut edges, mut edge_a, mut edge_b, mut nearly_face) = (zero, zero, zero, zero);
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            // n = aᵢ × bⱼ = r[i1][j] a_{i2} − r[i2][j] a_{i1}
            let (x, y) = (r[i1][j], r[i2][j]);
            let across = (t[i2] * x - t[i1] * y).abs();
            let extent_a = half_a[i1] * y.abs() + half_a[i2] * x.abs();
            let extent_b = half_b[j1] * r[i][j2].abs() + half_b[j2] * r[i][j1].abs();
            let gap = across - extent_a - extent_b;
            let squared = x * x + y * y;
            // |n| ≤ 1, so that a negative gap only falls when it is divided by it.
            let may_beat = gap.gt(best.min(zero)) & squared.gt(T::lit(NO_CROSS));
            if !may_beat.any() {
                continue;
            }
            let norm = squared.sqrt();
            let separation = gap / norm;
            let preferred = separation - T::lit(EDGE_PREFERENCE) * separation.abs();
            let beats = may_beat & preferred.gt(best + T::lit(ROUND_OFF));
            // n·b_{j1} = −r[i][j2], n·b_{j2} = r[i][j1]
            let along_a = select(is_face(i1), y, select(is_face(i2), x, zero));
            let along_b = select(is_face(j1), r[i][j2], select(is_face(j2), r[i][j1], zero));
            let nearly = select(on_first, along_a, along_b).abs().gt(T::lit(NEARLY_FACE) * norm);
            nearly_face = select(beats, select(nearly, one, zero), nearly_face);
            edges = select(beats, one, edges);
            edge_a = select(beats, T::lit(i as f64), edge_a);
            edge_b = select(beats, T::lit(j as f64), edge_b);
            best = select(beats, separation, best);
        }
    }
    let least = face_gap + T::lit(FACE_PREFERENCE) * face_gap.abs();
    let refused = nearly_face.gt(zero) & !best.ge(least);
    let keep = |x: T| select(refused, zero, x);
    Separation { first, face, edges: keep(edges), edge_a: keep(edge_a), edge_b: keep(edge_b) }
}

/// The incident face against the sides of the reference face: y·(center + α e₁ + β e₂) ≤ ± half size.
#[derive(Clone, Copy)]
struct Sides<T> {
    /// y·e₁, y·e₂ and y·center for both sides.
    spans: [[T; 2]; 2],
    center: [T; 2],
    half: [T; 2],
    /// Half sizes of the incident face.
    lengths: [T; 2],
    edges: T,
}

/// The corners of the clipped face of one environment.
fn clipped(sides: Sides<f64>) -> [Corner<f64>; BOX_SLOTS] {
    // The incident face as a square in (α, β), counter-clockwise, clipped by the four sides.
    let edge_line = |a: f64, b: f64| Line { a, b, c: 1.0, side: None };
    let around = [edge_line(0.0, 1.0), edge_line(-1.0, 0.0), edge_line(0.0, -1.0), edge_line(1.0, 0.0)];
    let mut lines = [Line::default(); 8];
    lines[..4].copy_from_slice(&around);
    let mut polygon = [Vertex::default(); 12];
    for (m, at) in [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]].into_iter().enumerate() {
        polygon[m] = Vertex { at, before: (m as u8 + 3) % 4, after: m as u8 };
    }
    let mut count = 4;
    for j in 0..2 {
        for side in [1.0, -1.0] {
            let [a, b] = sides.spans[j].map(|x| side * x);
            let c = sides.half[j] - side * sides.center[j];
            let number = 4 + 2 * j + usize::from(side < 0.0);
            lines[number] = Line { a, b, c, side: Some((j, side)) };
            if count > 0 {
                count = clip(&mut polygon, count, &lines, number as u8);
            }
        }
    }
    let mut corners = [Corner { off: INACTIVE, ..Corner::default() }; BOX_SLOTS];
    let [x, y] = sides.half;
    let close = NEAR_DUPLICATE * NEAR_DUPLICATE * (x * x + y * y);
    let off = if sides.edges > 0.0 { INACTIVE } else { 0.0 };
    let mut kept = 0;
    for vertex in &polygon[..count] {
        let apart = |c: &Corner<f64>| {
            let moved = |j: usize| sides.lengths[j] * (vertex.at[j] - c.at[j]);
            moved(0) * moved(0) + moved(1) * moved(1) > close
        };
        if kept < BOX_SLOTS && corners[..kept].iter().all(apart) {
            corners[kept] = Corner { off, ..corner(vertex, &lines) };
            kept += 1;
        }
    }
    corners
}

/// The corners of the clipped faces of all environments.
fn clipped_lanes<T: Real>(sides: Sides<T>) -> [Corner<T>; BOX_SLOTS] {
    let of_lane = |lane: usize| {
        let pair = |x: [T; 2]| x.map(|x| x.lane(lane));
        clipped(Sides {
            spans: sides.spans.map(pair),
            center: pair(sides.center),
            half: pair(sides.half),
            lengths: pair(sides.lengths),
            edges: sides.edges.lane(lane),
        })
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| std::array::from_fn(|c| packed_corner(|lane| &lanes[lane][c])))
}

/// A corner whose lane i is `lane(i)`.
#[inline(always)]
fn packed_corner<'a, T: Real>(lane: impl Fn(usize) -> &'a Corner<f64>) -> Corner<T> {
    Corner {
        at: std::array::from_fn(|j| T::from_lanes(|i| lane(i).at[j])),
        alpha: std::array::from_fn(|j| T::from_lanes(|i| lane(i).alpha[j])),
        beta: std::array::from_fn(|j| T::from_lanes(|i| lane(i).beta[j])),
        side: std::array::from_fn(|j| T::from_lanes(|i| lane(i).side[j])),
        off: T::from_lanes(|i| lane(i).off),
    }
}

/// The features at poses and sizes in double precision; corners are clipped lane by lane.
#[inline]
fn features<T: Real>(a: Transform<T>, half_a: Vec3<T>, b: Transform<T>, half_b: Vec3<T>) -> BoxFeatures<T> {
    let (zero, one) = (T::zero(), T::one());
    let found = separation((a, half_a), (b, half_b));
    // The faces, also computed where edges meet, so that every lane holds something finite.
    let first = found.first.gt(zero);
    let (reference, half_r) = (select(first, a, b), select(first, half_a, half_b));
    let (incident, half_i) = (select(first, b, a), select(first, half_b, half_a));
    let between = incident.translation - reference.translation;
    let top = unit(found.face);
    let outward = sign(between.dot(reference.direction(top)));
    let normal = top * outward;
    let seen = incident.inverse_direction(reference.direction(normal));
    let (x, y, z) = (seen.x.abs(), seen.y.abs(), seen.z.abs());
    let facing = select(z.gt(x.max(y)), T::lit(2.0), select(y.gt(x), one, zero));
    let facing = unit(facing);
    let (spans, sides) = (next_two(facing), next_two(top));
    let facing = facing * -sign(facing.dot(seen));
    let center = between + incident.direction(scaled(facing, half_i));
    let e = spans.map(|span| incident.direction(scaled(span, half_i)));
    let y = sides.map(|side| reference.direction(side));
    let corners = clipped_lanes(Sides {
        spans: y.map(|y| [y.dot(e[0]), y.dot(e[1])]),
        center: y.map(|y| y.dot(center)),
        half: sides.map(|side| side.dot(half_r)),
        lengths: spans.map(|span| span.dot(half_i)),
        edges: found.edges,
    });
    // The edges that support n, as points with a zero along the edge.
    let (edge_a, edge_b) = (unit(found.edge_a), unit(found.edge_b));
    let cross = a.direction(edge_a).cross(b.direction(edge_b));
    let edge_sign = sign(cross.dot(b.translation - a.translation));
    let (na, nb) = (a.inverse_direction(cross * edge_sign), b.inverse_direction(cross * -edge_sign));
    let support = |n: Vec3<T>, along: Vec3<T>| n.zip(along, |n, along| sign(n) * (one - along));
    BoxFeatures {
        reference: select(first, one, -one),
        edges: found.edges,
        normal,
        sides,
        facing,
        spans,
        corners,
        edge_a,
        edge_b,
        corner_a: support(na, edge_a),
        corner_b: support(nb, edge_b),
        edge_sign,
    }
}

/// Chooses the features on primal values: all lanes at once, or in double precision lane by lane.
#[inline]
fn box_box_features<T: Real>(
    a: Transform<T>,
    half_a: Vec3<T>,
    b: Transform<T>,
    half_b: Vec3<T>,
) -> BoxFeatures<T> {
    if T::EPSILON <= f64::EPSILON {
        return features(a, half_a, b, half_b);
    }
    let of_lane = |lane: usize| {
        let half = |h: Vec3<T>| h.map(|x| x.lane(lane));
        features::<f64>(lane_of(a, lane), half(half_a), lane_of(b, lane), half(half_b))
    };
    of_all_lanes::<T, _, _>(of_lane, packed_features)
}

/// The features of all lanes as one.
#[inline]
fn packed_features<T: Real>(lanes: &[BoxFeatures<f64>]) -> BoxFeatures<T> {
    let scalar = |f: &dyn Fn(&BoxFeatures<f64>) -> f64| T::from_lanes(|i| f(&lanes[i]));
    let vector = |f: &dyn Fn(&BoxFeatures<f64>) -> Vec3<f64>| pack(|i| f(&lanes[i]));
    BoxFeatures {
        reference: scalar(&|f| f.reference),
        edges: scalar(&|f| f.edges),
        normal: vector(&|f| f.normal),
        sides: std::array::from_fn(|j| vector(&|f| f.sides[j])),
        facing: vector(&|f| f.facing),
        spans: std::array::from_fn(|j| vector(&|f| f.spans[j])),
        corners: std::array::from_fn(|c| packed_corner(|i| &lanes[i].corners[c])),
        edge_a: vector(&|f| f.edge_a),
        edge_b: vector(&|f| f.edge_b),
        corner_a: vector(&|f| f.corner_a),
        corner_b: vector(&|f| f.corner_b),
        edge_sign: scalar(&|f| f.edge_sign),
    }
}

/// Component by component.
#[differentiable]
fn scaled<T: Real>(#[constant] unit: Vec3<T>, size: Vec3<T>) -> Vec3<T> {
    Vec3::new(unit.x * size.x, unit.y * size.y, unit.z * size.z)
}

/// What the corners of one clipped face share, in the world.
#[derive(Clone, Copy, pullback_math::Cotangent)]
struct Faces<T> {
    normal: Vec3<T>,
    /// From the reference box to the center of the incident face.
    center: Vec3<T>,
    spans: [Vec3<T>; 2],
    sides: [Vec3<T>; 2],
    halves: [T; 2],
    height: T,
    origin: Vec3<T>,
}

#[differentiable]
fn faces<T: Real>(
    a: Transform<T>,
    half_a: Vec3<T>,
    b: Transform<T>,
    half_b: Vec3<T>,
    #[constant] f: BoxFeatures<T>,
) -> Faces<T> {
    let first = f.reference.gt(T::zero());
    let (reference, half_r) = (select(first, a, b), select(first, half_a, half_b));
    let (incident, half_i) = (select(first, b, a), select(first, half_b, half_a));
    let normal = reference.direction(f.normal);
    let top = scaled(f.normal, half_r);
    Faces {
        normal,
        center: incident.point(scaled(f.facing, half_i)) - reference.translation,
        spans: [
            incident.direction(scaled(f.spans[0], half_i)),
            incident.direction(scaled(f.spans[1], half_i)),
        ],
        sides: [reference.direction(f.sides[0]), reference.direction(f.sides[1])],
        halves: [f.sides[0].dot(half_r), f.sides[1].dot(half_r)],
        height: top.dot(f.normal),
        origin: reference.translation,
    }
}

/// One corner of the clipped face.
#[differentiable]
fn face_contact<T: Real>(faces: Faces<T>, #[constant] c: Corner<T>, #[constant] reference: T) -> Contact<T> {
    let x = faces.center + faces.spans[0] * c.at[0] + faces.spans[1] * c.at[1];
    // How far the corner has moved off the sides that hold it.
    let r0 = faces.sides[0].dot(x) - faces.halves[0] * c.side[0];
    let r1 = faces.sides[1].dot(x) - faces.halves[1] * c.side[1];
    let alpha = r0 * c.alpha[0] + r1 * c.alpha[1];
    let beta = r0 * c.beta[0] + r1 * c.beta[1];
    let x = x - faces.spans[0] * alpha - faces.spans[1] * beta;
    let gap = faces.normal.dot(x) - faces.height;
    Contact {
        position: faces.origin + x - faces.normal * (gap * T::lit(0.5)),
        normal: faces.normal * reference,
        distance: gap + c.off,
    }
}

/// The closest points of two edges.
#[differentiable]
fn edge_contact<T: Real>(
    a: Transform<T>,
    half_a: Vec3<T>,
    b: Transform<T>,
    half_b: Vec3<T>,
    #[constant] f: BoxFeatures<T>,
) -> Contact<T> {
    let (u, v) = (a.direction(f.edge_a), b.direction(f.edge_b));
    let (p, q) = (a.point(scaled(f.corner_a, half_a)), b.point(scaled(f.corner_b, half_b)));
    let cross = u.cross(v);
    let r = q - p;
    // s − c t = u·r, t − c s = −v·r; there and back clips to both edges.
    let c = u.dot(v);
    let scale = cross.norm_squared().max(T::lit(NO_CROSS)).recip();
    let (half_u, half_v) = (f.edge_a.dot(half_a), f.edge_b.dot(half_b));
    let s = clamp((u.dot(r) - c * v.dot(r)) * scale, half_u);
    let t = clamp(c * s - v.dot(r), half_v);
    let s = clamp(c * t + u.dot(r), half_u);
    between(p + u * s, q + v * t, cross.normalize() * f.edge_sign)
}

/// Box against box, at given features.
#[differentiable]
fn box_box_at<T: Real>(
    a: Transform<T>,
    half_a: Vec3<T>,
    b: Transform<T>,
    half_b: Vec3<T>,
    #[constant] f: BoxFeatures<T>,
) -> [Contact<T>; 8] {
    let at_edges = f.edges.gt(T::zero());
    let edge = edge_contact(a, half_a, b, half_b, f);
    let faces = faces(a, half_a, b, half_b, f);
    let first = face_contact(faces, f.corners[0], f.reference);
    [
        select(at_edges, edge, first),
        face_contact(faces, f.corners[1], f.reference),
        face_contact(faces, f.corners[2], f.reference),
        face_contact(faces, f.corners[3], f.reference),
        face_contact(faces, f.corners[4], f.reference),
        face_contact(faces, f.corners[5], f.reference),
        face_contact(faces, f.corners[6], f.reference),
        face_contact(faces, f.corners[7], f.reference),
    ]
}

/// Box against box.
pub fn box_box<T: Real>(
    a: Transform<T>,
    half_a: Vec3<T>,
    b: Transform<T>,
    half_b: Vec3<T>,
) -> [Contact<T>; 8] {
    box_box_at(a, half_a, b, half_b, box_box_features(a, half_a, b, half_b))
}

/// Pullback of [`box_box`], the features held constant.
pub fn box_box_vjp<T: Real>(
    a: Transform<T>,
    half_a: Vec3<T>,
    b: Transform<T>,
    half_b: Vec3<T>,
    out_bar: [Contact<T>; 8],
) -> (Transform<T>, Vec3<T>, Transform<T>, Vec3<T>) {
    let features = box_box_features(a, half_a, b, half_b);
    let (a_bar, half_a_bar, b_bar, half_b_bar, ()) = box_box_at_vjp(a, half_a, b, half_b, features, out_bar);
    (a_bar, half_a_bar, b_bar, half_b_bar)
}
