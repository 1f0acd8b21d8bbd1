//! A plane, the half space z ≤ 0 of its frame, against everything else.
//!
//! The normal is the plane's z axis, so the first shape is always the plane. Contacts are points of the other
//! shape:
//!
//! | shape | slots | points |
//! |---|---|---|
//! | sphere | 1 | the lowest |
//! | capsule | 2 | the lowest of each end, + then − |
//! | box | 4 | the corners not above its center, first to last as their signs (x, y, z) count in binary |
//! | cylinder | 4 | lowest rim point, its partner on the far rim, two more 120° along the near rim |
//! | ellipsoid | 1 | the lowest, −A²n/|A n| in the body |
//! | mesh | 4 | the lowest vertex and corners of its face: see `plane_mesh` |
//!
//! The cylinder's points turn with the direction in which the axis leans; where it leans less than 10⁻¹⁵
//! there is none, and the body's x axis takes its place. Up to 10⁻⁶ the points are held fixed in the body, so that
//! derivatives stay finite.
//!
//! These are MuJoCo's contacts in MuJoCo's order; it leaves out those farther than a limit. Its rule for
//! cylinders, that slots 2 and 3 count together and only beside slot 0, holds by itself: they have the same
//! distance and slot 0 has the smallest. Of a box with corners exactly level with its center, those below
//! come first to a slot.

use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::contact::{Contact, between, between_vjp, from_center, from_center_vjp};
use super::lanes::pack;

/// Squared sine of the lean up to which a cylinder stands on rim points held fixed in it.
const STANDING: f64 = 1e-12;
/// Squared sine of the lean up to which no way down its end is the steepest.
const UPRIGHT: f64 = 1e-30;

/// A ball of radius r around c.
#[differentiable]
fn plane_ball<T: Real>(plane: Transform<T>, c: Vec3<T>, radius: T) -> Contact<T> {
    let n = plane.rotation.c2;
    let down = from_center(c, radius, -n, n.dot(c - plane.translation));
    Contact { position: down.position, normal: n, distance: down.distance }
}

/// A point x of a body.
#[differentiable]
pub(super) fn plane_point<T: Real>(plane: Transform<T>, x: Vec3<T>) -> Contact<T> {
    let n = plane.rotation.c2;
    between(x - n * n.dot(x - plane.translation), x, n)
}

/// Plane against sphere.
#[differentiable]
pub fn plane_sphere<T: Real>(plane: Transform<T>, sphere: Transform<T>, radius: T) -> Contact<T> {
    plane_ball(plane, sphere.translation, radius)
}

/// Plane against capsule: its two ends.
#[differentiable]
pub fn plane_capsule<T: Real>(
    plane: Transform<T>,
    capsule: Transform<T>,
    radius: T,
    half_length: T,
) -> [Contact<T>; 2] {
    let reach = capsule.rotation.c2 * half_length;
    [
        plane_ball(plane, capsule.translation + reach, radius),
        plane_ball(plane, capsule.translation - reach, radius),
    ]
}

/// The corners of a box that are not above its center, at most four, lane by lane: signs in the order of
/// their bits x, y, z, the positive side set.
fn lower_corners<T: Real>(plane: Transform<T>, solid: Transform<T>, half: Vec3<T>) -> [Vec3<T>; 4] {
    let n = solid.inverse_direction(plane.rotation.c2);
    let rise = Vec3::new(n.x * half.x, n.y * half.y, n.z * half.z);
    let sign = |bits: u8, bit: u8| if bits >> bit & 1 == 1 { 1.0 } else { -1.0 };
    let mut chosen = [[0; 4]; 16];
    for (lane, chosen) in chosen.iter_mut().enumerate().take(T::LANES) {
        let rise = rise.map(|x| x.lane(lane));
        let height: [f64; 8] = std::array::from_fn(|i| {
            let bits = i as u8;
            rise.x * sign(bits, 0) + rise.y * sign(bits, 1) + rise.z * sign(bits, 2)
        });
        // Those level with the center fill what is left.
        let mut level = 4usize.saturating_sub(height.iter().filter(|h| **h < 0.0).count());
        let mut found = 0;
        for (bits, &height) in (0..).zip(&height) {
            if height < 0.0 || (height == 0.0 && level > 0) {
                level -= usize::from(height == 0.0);
                chosen[found] = bits;
                found += 1;
            }
        }
    }
    std::array::from_fn(|slot| {
        let axis = |bit: u8| T::from_lanes(|lane| sign(chosen[lane][slot], bit));
        Vec3::new(axis(0), axis(1), axis(2))
    })
}

/// Plane against the corners of a box with these signs.
#[differentiable]
fn plane_corners<T: Real>(
    plane: Transform<T>,
    solid: Transform<T>,
    half: Vec3<T>,
    #[constant] signs: [Vec3<T>; 4],
) -> [Contact<T>; 4] {
    let (c, x, y, z) = (
        solid.translation,
        solid.rotation.c0 * half.x,
        solid.rotation.c1 * half.y,
        solid.rotation.c2 * half.z,
    );
    [
        plane_point(plane, c + x * signs[0].x + y * signs[0].y + z * signs[0].z),
        plane_point(plane, c + x * signs[1].x + y * signs[1].y + z * signs[1].z),
        plane_point(plane, c + x * signs[2].x + y * signs[2].y + z * signs[2].z),
        plane_point(plane, c + x * signs[3].x + y * signs[3].y + z * signs[3].z),
    ]
}

/// Plane against box: the four lower corners.
pub fn plane_box<T: Real>(plane: Transform<T>, solid: Transform<T>, half: Vec3<T>) -> [Contact<T>; 4] {
    plane_corners(plane, solid, half, lower_corners(plane, solid, half))
}

/// Pullback of [`plane_box`], the choice of corners held constant.
pub fn plane_box_vjp<T: Real>(
    plane: Transform<T>,
    solid: Transform<T>,
    half: Vec3<T>,
    out_bar: [Contact<T>; 4],
) -> (Transform<T>, Transform<T>, Vec3<T>) {
    let signs = lower_corners(plane, solid, half);
    let (plane_bar, solid_bar, half_bar, ()) = plane_corners_vjp(plane, solid, half, signs, out_bar);
    (plane_bar, solid_bar, half_bar)
}

/// Where a cylinder touches while it stands upright, a direction in its frame: the steepest way down by
/// primal values, and its x axis where there is none.
fn standing_rim<T: Real>(plane: Transform<T>, cylinder: Transform<T>) -> Vec3<T> {
    let n = cylinder.inverse_direction(plane.rotation.c2);
    pack(|lane| {
        let n = n.map(|x| x.lane(lane));
        let fall = Vec3::new(-n.x, -n.y, 0.0);
        if fall.norm_squared() > UPRIGHT { fall.normalize() } else { Vec3::new(1.0, 0.0, 0.0) }
    })
}

/// Plane against cylinder, the direction of a standing one given.
#[differentiable]
fn plane_rims<T: Real>(
    plane: Transform<T>,
    cylinder: Transform<T>,
    radius: T,
    half_length: T,
    #[constant] standing: Vec3<T>,
) -> [Contact<T>; 4] {
    let n = plane.rotation.c2;
    // The end of the axis that points into the plane.
    let lean = n.dot(cylinder.rotation.c2);
    let towards = select(lean.gt(T::zero()), -T::one(), T::one());
    let axis = cylinder.rotation.c2 * towards;
    // The steepest way down the end disc.
    let fall = axis * (lean * towards) - n;
    let leans = fall.norm_squared().gt(T::lit(STANDING));
    let down = select(leans, fall.normalize(), cylinder.direction(standing)) * radius;
    let along = axis * half_length;
    let across = down.cross(axis) * T::lit(0.75f64.sqrt());
    let near = cylinder.translation + along;
    let back = near - down * T::lit(0.5);
    [
        plane_point(plane, near + down),
        plane_point(plane, cylinder.translation - along + down),
        plane_point(plane, back + across),
        plane_point(plane, back - across),
    ]
}

/// Plane against cylinder: four points of its rims.
pub fn plane_cylinder<T: Real>(
    plane: Transform<T>,
    cylinder: Transform<T>,
    radius: T,
    half_length: T,
) -> [Contact<T>; 4] {
    plane_rims(plane, cylinder, radius, half_length, standing_rim(plane, cylinder))
}

/// Pullback of [`plane_cylinder`], the rim of a standing one held constant.
pub fn plane_cylinder_vjp<T: Real>(
    plane: Transform<T>,
    cylinder: Transform<T>,
    radius: T,
    half_length: T,
    out_bar: [Contact<T>; 4],
) -> (Transform<T>, Transform<T>, T, T) {
    let standing = standing_rim(plane, cylinder);
    let (plane_bar, cylinder_bar, radius_bar, half_length_bar, ()) =
        plane_rims_vjp(plane, cylinder, radius, half_length, standing, out_bar);
    (plane_bar, cylinder_bar, radius_bar, half_length_bar)
}

/// Plane against ellipsoid.
#[differentiable]
pub fn plane_ellipsoid<T: Real>(plane: Transform<T>, ellipsoid: Transform<T>, radii: Vec3<T>) -> Contact<T> {
    // Support point of the body in direction −n: −A (A n / |A n|).
    let n = ellipsoid.inverse_direction(plane.rotation.c2);
    let u = Vec3::new(radii.x * n.x, radii.y * n.y, radii.z * n.z).normalize();
    let lowest = Vec3::new(radii.x * u.x, radii.y * u.y, radii.z * u.z);
    plane_point(plane, ellipsoid.point(-lowest))
}

/// Plane against one vertex of a mesh, at `vertex` in the body.
#[differentiable]
pub(crate) fn plane_vertex<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    #[constant] vertex: Vec3<T>,
) -> Contact<T> {
    plane_point(plane, mesh.point(vertex))
}
