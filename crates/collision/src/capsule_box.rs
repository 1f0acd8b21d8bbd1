//! A capsule against a box: the nearest point of its segment, and a second one for resting.
//!
//! The signed distance to a box is convex along a line, so the nearest coordinate s₀ is found by bisection of
//! its slope, on primal values and lane by lane. Slot 1 is the end of the segment that is farther from s₀,
//! drawn back to where the segment leaves the face (or edge) region of s₀, so that a bar across a small box
//! rests on both edges. It is raised smoothly where it comes within a radius of s₀.
//!
//! Derivatives: coordinates at an end move with the length. An inner s₀ over an edge or a corner solves D′(s)
//! = 0; one Newton step s = s₀ − D′(s₀)/D″(s₀) with s₀ and D″ held constant has its exact derivative
//! (implicit function theorem). A drawn-back end, and an inner s₀ where two faces are equally near inside the
//! box, solve a linear equation, and take the same step on that. Limits: at that inner kink the normal jumps
//! between the two faces; an inner s₀ on a flat stretch is not unique and is held fixed on the capsule, which
//! leaves the distance exact by the envelope theorem.

use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::contact::{Contact, INACTIVE, from_center, from_center_vjp};
use super::lanes::{lane_of, pack};
use super::sphere_solid::{box_gap, box_gap_vjp};

/// Halvings of the segment: below round-off.
const BISECTIONS: usize = 54;

/// Where on the capsule's axis a slot is: s = end·half_length + inner − newton·D′ − (line·x +
/// line_half·half), with x the point in the frame of the box.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisPoint<T> {
    end: T,
    inner: T,
    newton: T,
    line: Vec3<T>,
    line_half: Vec3<T>,
}

impl AxisPoint<f64> {
    /// An end of the segment.
    fn end(end: f64) -> Self {
        Self { end, ..Self::inner(0.0) }
    }
    /// A fixed coordinate.
    fn inner(inner: f64) -> Self {
        AxisPoint { end: 0.0, inner, newton: 0.0, line: Vec3::zero(), line_half: Vec3::zero() }
    }
    /// A coordinate that solves line·x + line_half·half = 0.
    fn solving(inner: f64, line: Vec3<f64>, line_half: Vec3<f64>, u: Vec3<f64>) -> Self {
        let rate = line.dot(u);
        let scale = if rate.abs() > 1e-9 { 1.0 / rate } else { 0.0 };
        AxisPoint { line: line * scale, line_half: line_half * scale, ..Self::inner(inner) }
    }
}

/// The features of one pair, constants of the differentiation.
#[derive(Clone, Copy, Debug)]
struct CapsuleBoxFeatures<T> {
    nearest: AxisPoint<T>,
    other: AxisPoint<T>,
}

/// Slope of the signed distance along the axis u at c, in the frame of the box.
fn slope(c: Vec3<f64>, u: Vec3<f64>, half: Vec3<f64>) -> f64 {
    -box_gap(c, half).0.dot(u)
}

/// Both coordinates for one environment.
fn features_of_lane(
    capsule: Transform<f64>,
    half_length: f64,
    solid: Transform<f64>,
    half: Vec3<f64>,
) -> [AxisPoint<f64>; 2] {
    let c = solid.inverse_point(capsule.translation);
    let u = solid.inverse_direction(capsule.rotation.c2);
    let slope_at = |s: f64| slope(c + u * s, u, half);
    let (mut low, mut high) = (-half_length, half_length);
    const FLAT: f64 = 1e-12;
    let end = if slope_at(low) >= -FLAT {
        -1.0
    } else if slope_at(high) < -FLAT {
        1.0
    } else {
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            (low, high) = if slope_at(middle) >= -FLAT { (low, middle) } else { (middle, high) };
        }
        0.0
    };
    let s0 = if end == 0.0 { high } else { end * half_length };
    let x = c + u * s0;
    let clamped = [x.x.abs() > half.x, x.y.abs() > half.y, x.z.abs() > half.z];
    // D″ = (|u⊥|² − (n·u)²) / D over edges and corners, u⊥ being the part of u along the clamped axes.
    let (n, gap) = box_gap(x, half);
    let mut across = 0.0;
    for i in 0..3 {
        across += if clamped[i] { u[i] * u[i] } else { 0.0 };
    }
    let curvature = if gap > 0.0 { (across - n.dot(u).powi(2)) / gap } else { 0.0 };
    let round = clamped.iter().filter(|c| **c).count() >= 2 && curvature * gap > 1e-9;
    let nearest = if end != 0.0 {
        AxisPoint::end(end)
    } else if round {
        AxisPoint { newton: 1.0 / curvature, ..AxisPoint::inner(s0) }
    } else if gap <= 0.0 {
        // Inside, the two nearest faces are equally near: σᵢ xᵢ − hᵢ = σⱼ xⱼ − hⱼ.
        let depth = |i: usize| half[i] - x[i].abs();
        let last = (0..3).fold(0, |k, i| if depth(i) > depth(k) { i } else { k });
        let (i, j) = ((last + 1) % 3, (last + 2) % 3);
        let (mut line, mut line_half) = (Vec3::zero(), Vec3::zero());
        (line[i], line[j]) = (x[i].signum(), -x[j].signum());
        (line_half[i], line_half[j]) = (-1.0, 1.0);
        AxisPoint::solving(s0, line, line_half, u)
    } else {
        AxisPoint::inner(s0)
    };
    // The farther end, drawn back into the slabs that hold s₀.
    let far = if s0 > 0.0 { -1.0 } else { 1.0 };
    let mut reach = half_length - far * s0;
    let mut other = AxisPoint::end(far);
    for i in 0..3 {
        let rate = far * u[i];
        let room = ((half[i] * rate.signum() - x[i]) / rate).max(0.0);
        if !clamped[i] && rate != 0.0 && room < reach {
            reach = room;
            let (mut line, mut line_half) = (Vec3::zero(), Vec3::zero());
            (line[i], line_half[i]) = (1.0, -rate.signum());
            other = AxisPoint::solving(s0 + far * reach, line, line_half, u);
        }
    }
    [nearest, other]
}

/// Chooses the features, lane by lane, on primal values.
fn capsule_box_features<T: Real>(
    capsule: Transform<T>,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
) -> CapsuleBoxFeatures<T> {
    let mut lanes = [[AxisPoint::inner(0.0); 2]; 16];
    for (lane, features) in lanes.iter_mut().enumerate().take(T::LANES) {
        *features = features_of_lane(
            lane_of(capsule, lane),
            half_length.lane(lane),
            lane_of(solid, lane),
            half.map(|x| x.lane(lane)),
        );
    }
    let point = |slot: usize| AxisPoint {
        end: T::from_lanes(|lane| lanes[lane][slot].end),
        inner: T::from_lanes(|lane| lanes[lane][slot].inner),
        newton: T::from_lanes(|lane| lanes[lane][slot].newton),
        line: pack(|lane| lanes[lane][slot].line),
        line_half: pack(|lane| lanes[lane][slot].line_half),
    };
    CapsuleBoxFeatures { nearest: point(0), other: point(1) }
}

/// The coordinate of a feature.
#[differentiable]
fn coordinate<T: Real>(
    capsule: Transform<T>,
    half_length: T,
    solid: Transform<T>,
    half: Vec3<T>,
    #[constant] point: AxisPoint<T>,
) -> T {
    let s = point.end * half_length + point.inner;
    let c = solid.inverse_point(capsule.translation + capsule.rotation.c2 * s);
    let (n, _gap) = box_gap(c, half);
    // s₀ − D′/D″ with D′ = −n·u, zero at s₀ but for round-off.
    let newton = solid.direction(n).dot(capsule.rotation.c2) * point.newton;
    s + newton - (point.line.dot(c) + point.line_half.dot(half))
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
    let s0 = coordinate(capsule, half_length, solid, half, features.nearest);
    let s1 = coordinate(capsule, half_length, solid, half, features.other);
    let nearest = ball_at(capsule, radius, s0, solid, half);
    let other = ball_at(capsule, radius, s1, solid, half);
    // Raised as the slots come together.
    let apart = (s1 - s0).abs();
    let width = apart / select(radius.gt(T::lit(1e-15)), radius, T::one());
    let narrow = (T::one() - width).max(T::zero());
    let gone = select(apart.gt(T::lit(1e-9)), T::zero(), T::lit(INACTIVE));
    let distance = other.distance + narrow * narrow * radius * T::lit(2.0) + gone;
    [nearest, Contact { position: other.position, normal: other.normal, distance }]
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
