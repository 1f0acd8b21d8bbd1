//! A capsule against a box: balls at two points of its segment, chosen as MuJoCo does.
//!
//! The first point is the nearest of the two ends, as far as they are inside the box or over a face, and of
//! the closest points to the twelve edges. For a segment outside the box it is the point nearest to the box.
//! The second is where the capsule may rest as well, by what the first is nearest to:
//!
//! | nearest to | second point, at most as far as the end of the segment |
//! |---|---|
//! | face | from the end along the segment to where it leaves the face |
//! | edge | into the face with which the segment has the smaller angle, to where it leaves that |
//! | corner | along an edge, by its length, if the angle is below 45°; else over a face, by its sides |
//!
//! There is none where the end is inside the box, where the segment points into a corner or away from it, and
//! where it leans against an edge like the bar of a T.
//!
//! Features (which end, edge or corner, what ends the second stretch) are chosen on primal values, lane by
//! lane; coordinates at given features are closed formulas. Limits: of a capsule whose axis pierces the box,
//! the depth is that at these points, not at the deepest one. Contacts jump where features change.

use pullback_math::{Mask, Real, Transform, Vec3, differentiable, select};

use super::contact::{Contact, INACTIVE, from_center, from_center_vjp};
use super::lanes::{of_all_lanes, pack};
use super::sphere_solid::{box_gap, box_gap_vjp};

/// Difference of squared distances, m², and squared area between directions, m⁴, that is round-off.
const ROUND_OFF: f64 = 1e-15;

/// Where on the capsule's axis the first slot is: an end of the segment, or the point nearest to an edge or a
/// corner of the box.
#[derive(Clone, Copy, Debug)]
struct NearestPoint<T> {
    /// 1 or −1 at an end, else 0.
    end: T,
    /// 1 where an edge or a corner is nearest, else 0.
    inner: T,
    /// The corner, or the middle of the edge, in units of the half sizes.
    corner: Vec3<T>,
    /// Direction of the edge; zero for a corner.
    edge: Vec3<T>,
}

/// Where the second slot is: an end of the segment, where a coordinate reaches a plane of the box, or a
/// length of the box away from the first.
#[derive(Clone, Copy, Debug)]
struct OtherPoint<T> {
    /// 1 or −1 at an end, else 0.
    end: T,
    /// The axis of the box that ends it; zero at an end.
    axis: Vec3<T>,
    /// 1 where `axis` is zero, else 0.
    no_axis: T,
    /// Half sizes along `axis`, signed: to the plane, or from the first point on.
    halves: T,
    /// 1 where it starts from the first point, 0 where from the center of the box.
    onwards: T,
    /// Added to the distance.
    off: T,
}

/// The features of one pair, constants of the differentiation.
#[derive(Clone, Copy, Debug)]
struct CapsuleBoxFeatures<T> {
    nearest: NearestPoint<T>,
    other: OtherPoint<T>,
}

/// What the segment is nearest to.
#[derive(Clone, Copy)]
enum Feature {
    /// The end ±1 inside the box, or over the face square to an axis.
    Face { end: f64, axis: Option<usize> },
    /// A point along an edge; the coordinate along it is zero in `corner`.
    Edge { axis: usize, corner: Vec3<f64> },
    /// A corner.
    Corner { corner: Vec3<f64> },
}

fn unit(i: usize) -> Vec3<f64> {
    let mut e = Vec3::zero();
    e[i] = 1.0;
    e
}

/// The feature of the box that a segment is nearest to, over all lanes.
struct Nearest<T> {
    /// Squared distance, m².
    distance: T,
    /// Coordinate along the segment.
    s: T,
    /// 1 or −1 where that is an end of the segment, else 0.
    end: T,
    /// The corner in units of the half sizes; zero along an edge, and all zero for a face.
    corner: Vec3<T>,
    /// The axis of a face that an end is beyond, if one, in units; zero for other features.
    face: Vec3<T>,
    /// 1 where an edge or a corner is nearest.
    inner: T,
}

impl<T: Real> Nearest<T> {
    /// Takes another feature where `better`.
    #[inline(always)]
    fn take(&mut self, better: T::Mask, other: Nearest<T>) {
        self.distance = select(better, other.distance, self.distance);
        self.s = select(better, other.s, self.s);
        self.end = select(better, other.end, self.end);
        self.corner = select(better, other.corner, self.corner);
        self.face = select(better, other.face, self.face);
        self.inner = select(better, other.inner, self.inner);
    }

    /// The feature of one lane, with the coordinate of the segment there and the end of it if that is one.
    fn of_lane(&self, lane: usize) -> (Feature, f64, f64) {
        let number = |v: Vec3<T>| v.map(|x| x.lane(lane));
        let (corner, face) = (number(self.corner), number(self.face));
        let (s, end) = (self.s.lane(lane), self.end.lane(lane));
        let feature = match (0..3).find(|i| corner[*i] == 0.0) {
            _ if self.inner.lane(lane) == 0.0 => {
                Feature::Face { end, axis: (0..3).rfind(|i| face[*i] != 0.0) }
            }
            Some(axis) => Feature::Edge { axis, corner },
            None => Feature::Corner { corner },
        };
        (feature, s, end)
    }
}

fn sign<T: Real>(x: T) -> T {
    select(x.lt(T::zero()), -T::one(), T::one())
}

/// The feature that a segment, with center c and direction u in the frame of the box, is nearest to.
fn nearest_feature<T: Real>(c: Vec3<T>, u: Vec3<T>, length: T, half: Vec3<T>) -> Nearest<T> {
    let (zero, one, round_off) = (T::zero(), T::one(), T::lit(ROUND_OFF));
    let mut best = Nearest {
        distance: T::lit(f64::INFINITY),
        s: -length,
        end: -one,
        corner: Vec3::zero(),
        face: Vec3::zero(),
        inner: zero,
    };
    for end in [-1.0, 1.0] {
        let s = length * T::lit(end);
        let beyond = (c + u * s).zip(half, |x, h| (x.abs() - h).max(zero));
        let face = beyond.map(|x| select(x.gt(zero), one, zero));
        let (distance, end) = (beyond.norm_squared(), T::lit(end));
        let over_face = (face.x + face.y + face.z).le(one);
        let better = over_face & distance.lt(best.distance);
        best.take(better, Nearest { distance, s, end, corner: Vec3::zero(), face, inner: zero });
    }
    for axis in 0..3 {
        let (h, along) = (half[axis], u[axis]);
        let sine_squared = one - along * along;
        let parallel = (h * h * length * length * sine_squared).abs().lt(round_off);
        if parallel.all() {
            continue;
        }
        let sine_squared = select(parallel, one, sine_squared);
        let (low, high) = ((axis == 0) as usize, 2 - (axis == 2) as usize);
        for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let mut corner = Vec3::zero();
            (corner[low], corner[high]) = (T::lit(x), T::lit(y));
            // s − uⱼ t = u·r, t − uⱼ s = −rⱼ; t is clipped first, then s.
            let r = corner.zip(half, |k, h| k * h) - c;
            let over = |t: T| select(t.abs().gt(h), sign(t), zero);
            let t = (along * u.dot(r) - r[axis]) / sine_squared;
            let (clipped, t) = (over(t), t.max(-h).min(h));
            let s = u.dot(r) + along * t;
            let ends = s.abs().gt(length);
            let end = select(ends, sign(s), zero);
            let s = select(ends, end * length, s);
            let again = along * s - r[axis];
            let over_again = over(again);
            let moved = ends & over_again.abs().gt(zero);
            let clipped = select(moved, over_again, clipped);
            let t = select(ends, again.max(-h).min(h), t);
            let mut between = r - u * s;
            between[axis] += t;
            let distance = between.norm_squared();
            corner[axis] = clipped;
            let better = !parallel & distance.lt(best.distance - round_off);
            best.take(better, Nearest { distance, s, end, corner, face: Vec3::zero(), inner: one });
        }
    }
    best
}

/// The stretch to the second point: its direction along the segment and what may end it.
struct Stretch {
    direction: f64,
    reach: f64,
    other: OtherPoint<f64>,
}

impl Stretch {
    /// To the end of a segment of half length `length`, from s on.
    fn new(direction: f64, s: f64, length: f64) -> Self {
        let other = OtherPoint {
            end: direction,
            axis: Vec3::zero(),
            no_axis: 1.0,
            halves: 0.0,
            onwards: 0.0,
            off: 0.0,
        };
        Stretch { direction, reach: length - direction * s, other }
    }
    /// Ends at a whole size of the box along an axis.
    fn by_size(&mut self, axis: usize, u: Vec3<f64>, half: Vec3<f64>) {
        let reach = 2.0 * half[axis] / u[axis].abs();
        if reach < self.reach {
            self.reach = reach;
            let halves = 2.0 * self.direction * u[axis].signum();
            self.other =
                OtherPoint { end: 0.0, axis: unit(axis), no_axis: 0.0, halves, onwards: 1.0, off: 0.0 };
        }
    }
    /// Ends where the segment, now at x, leaves the slab of an axis.
    fn by_plane(&mut self, axis: usize, x: Vec3<f64>, u: Vec3<f64>, half: Vec3<f64>) {
        let rate = self.direction * u[axis];
        let reach = (half[axis] * rate.signum() - x[axis]) / rate;
        if reach > 0.0 && reach < self.reach {
            self.reach = reach;
            let halves = rate.signum();
            self.other =
                OtherPoint { end: 0.0, axis: unit(axis), no_axis: 0.0, halves, onwards: 0.0, off: 0.0 };
        }
    }
}

/// The second point, if there is one; `s` is the first.
fn second(
    feature: Feature,
    s: f64,
    c: Vec3<f64>,
    u: Vec3<f64>,
    length: f64,
    half: Vec3<f64>,
) -> Option<Stretch> {
    // Axes along which the segment, in its own direction, comes towards the middle of the box.
    let inwards = |corner: Vec3<f64>, i: usize| (u[i] > 0.0) != (corner[i] > 0.0);
    let x = c + u * s;
    match feature {
        Feature::Face { axis: None, .. } => None,
        Feature::Face { end, axis: Some(face) } => {
            let mut stretch = Stretch::new(-end, s, length);
            for i in (0..3).filter(|&i| i != face) {
                stretch.by_plane(i, x, u, half);
            }
            Some(stretch)
        }
        Feature::Edge { axis, corner } => {
            let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
            if inwards(corner, i) == inwards(corner, j) {
                return None;
            }
            let across = if u[i].abs() > u[j].abs() { i } else { j };
            let direction = if inwards(corner, across) { 1.0 } else { -1.0 };
            let mut stretch = Stretch::new(direction, s, length);
            stretch.by_size(across, u, half);
            stretch.by_plane(axis, x, u, half);
            Some(stretch)
        }
        Feature::Corner { corner } => {
            let count = (0..3).filter(|&i| inwards(corner, i)).count();
            if count == 0 || count == 3 {
                return None;
            }
            // The axis along which it goes the other way than along the two others.
            let odd = (0..3).find(|&i| inwards(corner, i) == (count == 1)).unwrap_or(0);
            let direction = if count == 1 { 1.0 } else { -1.0 };
            if u[odd] * u[odd] > 0.5 {
                let mut stretch = Stretch::new(direction, s, length);
                stretch.by_size(odd, u, half);
                return Some(stretch);
            }
            let mut stretch = Stretch::new(-direction, s, length);
            stretch.by_size((odd + 1) % 3, u, half);
            stretch.by_size((odd + 2) % 3, u, half);
            Some(stretch)
        }
    }
}

/// Both points for one environment, given what the segment is nearest to.
fn features_of_lane(
    (feature, s, end): (Feature, f64, f64),
    c: Vec3<f64>,
    u: Vec3<f64>,
    length: f64,
    half: Vec3<f64>,
) -> CapsuleBoxFeatures<f64> {
    let (corner, edge) = match feature {
        Feature::Edge { axis, corner } => (corner, unit(axis)),
        Feature::Corner { corner } => (corner, Vec3::zero()),
        Feature::Face { .. } => (Vec3::zero(), Vec3::zero()),
    };
    let inner = if end == 0.0 { 1.0 } else { 0.0 };
    let other = second(feature, s, c, u, length, half).map(|stretch| stretch.other);
    let none = OtherPoint { off: INACTIVE, ..Stretch::new(1.0, 0.0, length).other };
    CapsuleBoxFeatures { nearest: NearestPoint { end, inner, corner, edge }, other: other.unwrap_or(none) }
}

/// Chooses the features on primal values: the nearest for all lanes at once, the other lane by lane.
fn capsule_box_features<T: Real>(
    capsule: Transform<T>,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
) -> CapsuleBoxFeatures<T> {
    let c = solid.inverse_point(capsule.translation);
    let u = solid.inverse_direction(capsule.rotation.c2);
    let nearest = nearest_feature(c, u, half_length, half);
    let of_lane = |lane: usize| {
        let number = |v: Vec3<T>| v.map(|x| x.lane(lane));
        let (c, u, half) = (number(c), number(u), number(half));
        features_of_lane(nearest.of_lane(lane), c, u, half_length.lane(lane), half)
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| CapsuleBoxFeatures {
        nearest: NearestPoint {
            end: T::from_lanes(|i| lanes[i].nearest.end),
            inner: T::from_lanes(|i| lanes[i].nearest.inner),
            corner: pack(|i| lanes[i].nearest.corner),
            edge: pack(|i| lanes[i].nearest.edge),
        },
        other: OtherPoint {
            end: T::from_lanes(|i| lanes[i].other.end),
            axis: pack(|i| lanes[i].other.axis),
            no_axis: T::from_lanes(|i| lanes[i].other.no_axis),
            halves: T::from_lanes(|i| lanes[i].other.halves),
            onwards: T::from_lanes(|i| lanes[i].other.onwards),
            off: T::from_lanes(|i| lanes[i].other.off),
        },
    })
}

/// The coordinates of both points.
#[differentiable]
fn coordinates<T: Real>(
    capsule: Transform<T>,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
    #[constant] f: CapsuleBoxFeatures<T>,
) -> (T, T) {
    let c = solid.inverse_point(capsule.translation);
    let u = solid.inverse_direction(capsule.rotation.c2);
    // Nearest to the line through the corner: s (1 − uⱼ²) = u·r − uⱼ rⱼ.
    let k = f.nearest.corner;
    let r = Vec3::new(k.x * half.x, k.y * half.y, k.z * half.z) - c;
    let along = f.nearest.edge.dot(u);
    let sine_squared = (T::one() - along * along).max(T::lit(ROUND_OFF));
    let inner = (u.dot(r) - along * f.nearest.edge.dot(r)) / sine_squared;
    let s0 = half_length * f.nearest.end + inner * f.nearest.inner;
    let from_center = f.other.axis.dot(c) * (T::one() - f.other.onwards);
    let stretch =
        (f.other.axis.dot(half) * f.other.halves - from_center) / (f.other.axis.dot(u) + f.other.no_axis);
    (s0, half_length * f.other.end + s0 * f.other.onwards + stretch)
}

/// The ball around coordinate s against the box.
#[differentiable]
fn ball_at<T: Real>(
    capsule: Transform<T>,
    radius: T,
    s: T,
    solid: Transform<T>,
    half: Vec3<T>,
) -> Contact<T> {
    let c = capsule.translation + capsule.rotation.c2 * s;
    let (n, gap) = box_gap(solid.inverse_point(c), half);
    from_center(c, radius, solid.direction(n), gap)
}

/// Capsule against box, at given features.
#[differentiable]
fn capsule_box_at<T: Real>(
    capsule: Transform<T>,
    radius: T,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
    #[constant] features: CapsuleBoxFeatures<T>,
) -> [Contact<T>; 2] {
    let (s0, s1) = coordinates(capsule, half_length, solid, half, features);
    let first = ball_at(capsule, radius, s0, solid, half);
    let second = ball_at(capsule, radius, s1, solid, half);
    let distance = second.distance + features.other.off;
    [first, Contact { position: second.position, normal: second.normal, distance }]
}

/// Capsule against box.
pub fn capsule_box<T: Real>(
    capsule: Transform<T>,
    radius: T,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
) -> [Contact<T>; 2] {
    let features = capsule_box_features(capsule, half_length, solid, half);
    capsule_box_at(capsule, radius, half_length, solid, half, features)
}

/// Pullback of [`capsule_box`], the features held constant.
pub fn capsule_box_vjp<T: Real>(
    capsule: Transform<T>,
    radius: T,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
    out_bar: [Contact<T>; 2],
) -> (Transform<T>, T, T, Transform<T>, Vec3<T>) {
    let features = capsule_box_features(capsule, half_length, solid, half);
    let (capsule_bar, radius_bar, half_length_bar, solid_bar, half_bar, ()) =
        capsule_box_at_vjp(capsule, radius, half_length, solid, half, features, out_bar);
    (capsule_bar, radius_bar, half_length_bar, solid_bar, half_bar)
}
