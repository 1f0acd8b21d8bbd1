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

use pullback_math::{Real, Transform, Vec3, differentiable};

use super::contact::{Contact, INACTIVE, from_center, from_center_vjp};
use super::lanes::{lane_of, of_all_lanes, pack};
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

/// The nearest feature with the coordinate of the segment there, and the end of it if that is one.
fn nearest_feature(c: Vec3<f64>, u: Vec3<f64>, length: f64, half: Vec3<f64>) -> (Feature, f64, f64) {
    let mut best = (Feature::Face { end: -1.0, axis: None }, -length, -1.0);
    let mut nearest = f64::INFINITY;
    for end in [-1.0, 1.0] {
        let x = c + u * (end * length);
        let beyond = x.zip(half, |x, h| (x.abs() - h).max(0.0));
        let axis = (0..3).rfind(|&i| beyond[i] > 0.0);
        let distance = beyond.norm_squared();
        if (0..3).filter(|&i| beyond[i] > 0.0).count() <= 1 && distance < nearest {
            (best, nearest) = ((Feature::Face { end, axis }, end * length, end), distance);
        }
    }
    for axis in 0..3 {
        let (h, along) = (half[axis], u[axis]);
        let area = h * h * length * length - (h * length * along) * (h * length * along);
        if area.abs() < ROUND_OFF {
            continue;
        }
        for bits in 0..8 {
            if bits >> axis & 1 == 1 {
                continue;
            }
            let mut corner = Vec3::zero();
            for i in (0..3).filter(|&i| i != axis) {
                corner[i] = if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
            }
            // s − uⱼ t = u·r, t − uⱼ s = −rⱼ; t is clipped first, then s.
            let r = corner.zip(half, |k, h| k * h) - c;
            let t = (along * u.dot(r) - r[axis]) / (1.0 - along * along);
            let mut clipped = if t.abs() > h { t.signum() } else { 0.0 };
            let mut t = t.clamp(-h, h);
            let mut s = u.dot(r) + along * t;
            let end = if s.abs() > length { s.signum() } else { 0.0 };
            if end != 0.0 {
                s = end * length;
                t = along * s - r[axis];
                clipped = if t.abs() > h { t.signum() } else { clipped };
                t = t.clamp(-h, h);
            }
            let distance = (r + unit(axis) * t - u * s).norm_squared();
            if distance < nearest - ROUND_OFF {
                let feature = if clipped == 0.0 {
                    Feature::Edge { axis, corner }
                } else {
                    corner[axis] = clipped;
                    Feature::Corner { corner }
                };
                (best, nearest) = ((feature, s, end), distance);
            }
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

/// Both points for one environment.
fn features_of_lane(
    capsule: Transform<f64>,
    length: f64,
    solid: Transform<f64>,
    half: Vec3<f64>,
) -> CapsuleBoxFeatures<f64> {
    let c = solid.inverse_point(capsule.translation);
    let u = solid.inverse_direction(capsule.rotation.c2);
    let (feature, s, end) = nearest_feature(c, u, length, half);
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

/// Chooses the features, lane by lane, on primal values.
fn capsule_box_features<T: Real>(
    capsule: Transform<T>,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
) -> CapsuleBoxFeatures<T> {
    let of_lane = |lane: usize| {
        features_of_lane(
            lane_of(capsule, lane),
            half_length.lane(lane),
            lane_of(solid, lane),
            half.map(|x| x.lane(lane)),
        )
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
