//! Between lanes and environments: feature searches run on `f64`, one environment at a time.

use pullback_math::{Mat3, Real, Transform, Vec3};

/// The pose of one environment.
pub(super) fn lane_of<T: Real>(pose: Transform<T>, lane: usize) -> Transform<f64> {
    let vector = |v: Vec3<T>| v.map(|x| x.lane(lane));
    let Mat3 { c0, c1, c2 } = pose.rotation;
    Transform::new(Mat3::from_cols(vector(c0), vector(c1), vector(c2)), vector(pose.translation))
}

/// What `pack` makes of the features of all lanes, each found alone; no more memory than there are lanes.
#[inline(always)]
pub(super) fn of_all_lanes<T: Real, F, R>(of_lane: impl Fn(usize) -> F, pack: impl Fn(&[F]) -> R) -> R {
    let last = T::LANES - 1;
    match T::LANES {
        1 => pack(&[of_lane(0)]),
        2..=4 => pack(&std::array::from_fn::<F, 4, _>(|lane| of_lane(lane.min(last)))),
        5..=8 => pack(&std::array::from_fn::<F, 8, _>(|lane| of_lane(lane.min(last)))),
        _ => pack(&std::array::from_fn::<F, 16, _>(|lane| of_lane(lane.min(last)))),
    }
}

/// A vector whose lane i is `lane(i)`.
pub(super) fn pack<T: Real>(lane: impl Fn(usize) -> Vec3<f64>) -> Vec3<T> {
    Vec3::new(T::from_lanes(|i| lane(i).x), T::from_lanes(|i| lane(i).y), T::from_lanes(|i| lane(i).z))
}
