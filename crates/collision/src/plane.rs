//! A plane, the half space z ≤ 0 of its frame, against everything else.
//!
//! The normal is the plane's z axis, so the first shape is always the plane. Contacts are points of the other
//! shape:
//!
//! | shape | slots | points |
//! |---|---|---|
//! | sphere | 1 | the lowest |
//! | capsule | 2 | the lowest of each end, + then − |
//! | box | 8 | the corners: fixed on the body, so distances are smooth |
//! | cylinder | 4 | lowest rim point, its partner on the far rim, two more 120° along the near rim |
//! | ellipsoid | 1 | the lowest, −A²n/|A n| in the body |
//! | mesh | 8 | the lowest hull vertices, chosen on primal values and held fixed in the body |
//!
//! The cylinder's points are MuJoCo's (`mjc_PlaneCylinder`). They turn with the direction in which the axis
//! leans; where it stands upright within 10⁻⁶ there is none, and the body's x axis takes its place: finite,
//! not differentiable there.

use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::contact::{Contact, between, between_vjp, from_center, from_center_vjp};

/// Hull vertices that may touch a plane at once.
pub(crate) const MESH_SLOTS: usize = 8;

/// Squared sine below which a cylinder stands upright.
const UPRIGHT: f64 = 1e-12;

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

/// Plane against box: its eight corners; bit i of the slot is set where coordinate i is negative.
#[differentiable]
pub fn plane_box<T: Real>(plane: Transform<T>, solid: Transform<T>, half: Vec3<T>) -> [Contact<T>; 8] {
    let (c, x, y, z) = (
        solid.translation,
        solid.rotation.c0 * half.x,
        solid.rotation.c1 * half.y,
        solid.rotation.c2 * half.z,
    );
    let (top, bottom) = (c + z, c - z);
    [
        plane_point(plane, top + x + y),
        plane_point(plane, top - x + y),
        plane_point(plane, top + x - y),
        plane_point(plane, top - x - y),
        plane_point(plane, bottom + x + y),
        plane_point(plane, bottom - x + y),
        plane_point(plane, bottom + x - y),
        plane_point(plane, bottom - x - y),
    ]
}

/// Plane against cylinder: four points of its rims.
#[differentiable]
pub fn plane_cylinder<T: Real>(
    plane: Transform<T>,
    cylinder: Transform<T>,
    radius: T,
    half_length: T,
) -> [Contact<T>; 4] {
    let n = plane.rotation.c2;
    // The end of the axis that points into the plane.
    let lean = n.dot(cylinder.rotation.c2);
    let towards = select(lean.gt(T::zero()), -T::one(), T::one());
    let axis = cylinder.rotation.c2 * towards;
    // The steepest way down the end disc.
    let fall = axis * (lean * towards) - n;
    let leans = fall.norm_squared().gt(T::lit(UPRIGHT));
    let down = select(leans, fall.normalize(), cylinder.rotation.c0) * radius;
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

/// Plane against ellipsoid.
#[differentiable]
pub fn plane_ellipsoid<T: Real>(plane: Transform<T>, ellipsoid: Transform<T>, radii: Vec3<T>) -> Contact<T> {
    // Support point of the body in direction −n: −A (A n / |A n|).
    let n = ellipsoid.inverse_direction(plane.rotation.c2);
    let u = Vec3::new(radii.x * n.x, radii.y * n.y, radii.z * n.z).normalize();
    let lowest = Vec3::new(radii.x * u.x, radii.y * u.y, radii.z * u.z);
    plane_point(plane, ellipsoid.point(-lowest))
}

/// The hull vertices nearest to the plane, lowest first, lane by lane; the second value is how many there
/// are.
pub(super) fn lowest_vertices<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    vertices: &[Vec3<f64>],
    hull: &[usize],
) -> ([Vec3<T>; MESH_SLOTS], usize) {
    let down = mesh.inverse_direction(plane.rotation.c2);
    let slots = hull.len().min(MESH_SLOTS);
    let mut chosen = [Vec3::zero(); MESH_SLOTS];
    let mut order = [[0usize; MESH_SLOTS]; 16];
    for lane in 0..T::LANES {
        let n = down.map(|x| x.lane(lane));
        let (mut filled, mut heights) = (0, [f64::INFINITY; MESH_SLOTS]);
        for &vertex in hull {
            let height = n.dot(vertices[vertex]);
            // Insertion into the sorted few; equal heights keep the order of the hull.
            let mut at = filled;
            while at > 0 && height < heights[at - 1] {
                if at < slots {
                    heights[at] = heights[at - 1];
                    order[lane][at] = order[lane][at - 1];
                }
                at -= 1;
            }
            if at < slots {
                heights[at] = height;
                order[lane][at] = vertex;
                filled = (filled + 1).min(slots);
            }
        }
    }
    for (slot, chosen) in chosen.iter_mut().enumerate().take(slots) {
        let at = |lane: usize| vertices[order[lane][slot]];
        *chosen = Vec3::new(
            T::from_lanes(|lane| at(lane).x),
            T::from_lanes(|lane| at(lane).y),
            T::from_lanes(|lane| at(lane).z),
        );
    }
    (chosen, slots)
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
