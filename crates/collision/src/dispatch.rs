//! One door to the narrow phase: [`collide`] fills the slots of any pair, [`collide_vjp`] pulls their
//! cotangents back.
//!
//! Kinds decide the code path, so a batch of lanes walks one path. Pairs are sorted as [`Kind`] is; in the
//! other order the normals are flipped. Poses are [`Transform`]s, matrix and position, not quaternions:
//! kinematics hands matrices out, no pair reads a quaternion, and [`Transform::from_quat_vjp`] closes the
//! chain once per body, not once per pair.

use pullback_math::{Real, Transform, Vec3};

use super::box_box::{BOX_SLOTS, box_box, box_box_vjp};
use super::capsule_box::{capsule_box, capsule_box_vjp};
use super::collider::{Collider, Kind};
use super::contact::Contact;
use super::convex::{convex_convex, convex_convex_vjp};
use super::heightfield::{heightfield_contacts, heightfield_contacts_vjp, heightfield_slots};
use super::manifold::{manifold, manifold_slots, manifold_vjp};
use super::plane::*;
use super::plane_mesh::{MESH_SLOTS, touching_vertices};
use super::rounded::*;
use super::sphere_solid::*;
use super::torus::{sphere_torus, sphere_torus_vjp};

/// Largest number of slots of any pair.
pub const MAX_CONTACTS: usize = 12;

/// Cotangent of one shape of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, pullback_math::Cotangent)]
pub struct ShapeBar<T> {
    /// Of its pose.
    pub pose: Transform<T>,
    /// Of its sizes.
    pub size: Vec3<T>,
}

impl<T: Real> ShapeBar<T> {
    pub(super) fn add(&mut self, pose: Transform<T>, size: Vec3<T>) {
        self.pose += pose;
        self.size += size;
    }
}

/// Number of slots that [`collide`] fills for a pair of kinds, in either order.
pub fn max_contacts(a: Kind, b: Kind) -> usize {
    match (a.min(b), a.max(b)) {
        (Kind::Plane | Kind::Heightfield, Kind::Plane | Kind::Heightfield) => 0,
        (Kind::Sphere, Kind::Torus) => 1,
        (_, Kind::Torus) => 0,
        (Kind::Heightfield, other) => heightfield_slots(other),
        (Kind::Plane, Kind::Capsule) => 2,
        (Kind::Plane, Kind::Box) => 4,
        (Kind::Plane, Kind::Cylinder) => 4,
        (Kind::Plane, Kind::Mesh) => MESH_SLOTS,
        (Kind::Capsule, Kind::Capsule) | (Kind::Capsule, Kind::Box) => 2,
        (Kind::Box, Kind::Box) => BOX_SLOTS,
        (a, b) if a >= Kind::Capsule => manifold_slots(a, b),
        _ => 1,
    }
}

/// Whether the contacts of a pair of kinds come from GJK and EPA, in either order.
pub fn is_iterated(a: Kind, b: Kind) -> bool {
    let closed_form = matches!(
        (a.min(b), a.max(b)),
        (Kind::Capsule, Kind::Capsule | Kind::Box) | (Kind::Box, Kind::Box) | (_, Kind::Torus)
    );
    a.min(b) >= Kind::Capsule && !closed_form
}

/// Whether a pair of kinds whose distance is exactly the limit has no contact, in either order: one that
/// MuJoCo's convex solver serves, which asks for an overlap. Others have one.
pub fn excludes_limit(a: Kind, b: Kind) -> bool {
    is_iterated(a, b) || matches!((a.min(b), a.max(b)), (Kind::Sphere, Kind::Ellipsoid | Kind::Mesh))
}

/// Fills the first slots of `out` with the contacts of a pair, normals from `a` to `b`; returns how many
/// slots. Where `out` has one slot, pairs that are iterated ([`is_iterated`]) have one contact.
///
/// ```
/// use pullback_math::{Mat3, Transform, Vec3};
/// use pullback_collision::{Collider, Contact, collide};
/// let ground = Transform::identity();
/// let ball = Transform::new(Mat3::identity(), Vec3::new(0.0, 0.0, 0.9));
/// let mut out = [Contact::<f64>::inactive(); 12];
/// let slots = collide(&Collider::plane(), ground, &Collider::sphere(1.0), ball, &mut out);
/// assert_eq!(slots, 1);
/// assert!((out[0].distance + 0.1).abs() < 1e-12);
/// ```
pub fn collide<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    out: &mut [Contact<T>],
) -> usize {
    let slots = max_contacts(a.kind, b.kind).min(out.len());
    in_order((a, pose_a), (b, pose_b), &mut out[..slots], |(a, p), (b, q), out| sorted(a, p, b, q, out));
    slots
}

/// Pullback of [`collide`]: adds to the cotangents of both shapes.
pub fn collide_vjp<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    out_bar: &[Contact<T>],
    a_bar: &mut ShapeBar<T>,
    b_bar: &mut ShapeBar<T>,
) {
    let out_bar = &out_bar[..max_contacts(a.kind, b.kind).min(out_bar.len())];
    in_order_vjp((a, pose_a), (b, pose_b), out_bar, (a_bar, b_bar), |(a, p), (b, q), bar, (a_bar, b_bar)| {
        sorted_vjp(a, p, b, q, bar, a_bar, b_bar);
    });
}

/// A shape and its pose.
pub(super) type Placed<'a, 'm, T> = (&'a Collider<'m, T>, Transform<T>);

/// Cotangents of both shapes of a pair.
pub(super) type PairBar<'a, T> = (&'a mut ShapeBar<T>, &'a mut ShapeBar<T>);

/// Fills slots by a function of the pair in the order of [`Kind`].
pub(super) fn in_order<'a, 'm, T: Real>(
    a: Placed<'a, 'm, T>,
    b: Placed<'a, 'm, T>,
    out: &mut [Contact<T>],
    fill: impl FnOnce(Placed<'a, 'm, T>, Placed<'a, 'm, T>, &mut [Contact<T>]),
) {
    if a.0.kind <= b.0.kind {
        return fill(a, b, out);
    }
    fill(b, a, out);
    for contact in out {
        *contact = contact.swapped();
    }
}

/// Pullback of [`in_order`] by that of its function.
pub(super) fn in_order_vjp<'a, 'm, T: Real>(
    a: Placed<'a, 'm, T>,
    b: Placed<'a, 'm, T>,
    out_bar: &[Contact<T>],
    (a_bar, b_bar): PairBar<'_, T>,
    pull: impl FnOnce(Placed<'a, 'm, T>, Placed<'a, 'm, T>, &[Contact<T>], PairBar<'_, T>),
) {
    if a.0.kind <= b.0.kind {
        return pull(a, b, out_bar, (a_bar, b_bar));
    }
    let mut flipped = [Contact::default(); MAX_CONTACTS];
    for (flipped, bar) in flipped.iter_mut().zip(out_bar) {
        *flipped = bar.swapped();
    }
    pull(b, a, &flipped[..out_bar.len()], (b_bar, a_bar));
}

fn sorted<T: Real>(
    a: &Collider<T>,
    p: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
    out: &mut [Contact<T>],
) {
    let (s, t) = (a.size, b.size);
    match (a.kind, b.kind) {
        (Kind::Plane | Kind::Heightfield, Kind::Plane | Kind::Heightfield) => {}
        (Kind::Sphere, Kind::Torus) => out[0] = sphere_torus(p, s.x, q, t.x, t.y),
        (_, Kind::Torus) => {}
        (Kind::Heightfield, _) => heightfield_contacts(a, p, b, q, out),
        (Kind::Plane, Kind::Sphere) => out[0] = plane_sphere(p, q, t.x),
        (Kind::Plane, Kind::Capsule) => out.copy_from_slice(&plane_capsule(p, q, t.x, t.y)),
        (Kind::Plane, Kind::Ellipsoid) => out[0] = plane_ellipsoid(p, q, t),
        (Kind::Plane, Kind::Cylinder) => out.copy_from_slice(&plane_cylinder(p, q, t.x, t.y)),
        (Kind::Plane, Kind::Box) => out.copy_from_slice(&plane_box(p, q, t)),
        (Kind::Plane, Kind::Mesh) => {
            let (chosen, off) = touching_vertices(p, q, b);
            for ((out, vertex), off) in out.iter_mut().zip(chosen).zip(off) {
                *out = plane_vertex(p, q, vertex);
                out.distance += off;
            }
        }
        (Kind::Sphere, Kind::Sphere) => out[0] = sphere_sphere(p, s.x, q, t.x),
        (Kind::Sphere, Kind::Capsule) => out[0] = sphere_capsule(p, s.x, q, t.x, t.y),
        (Kind::Sphere, Kind::Cylinder) => out[0] = sphere_cylinder(p, s.x, q, t.x, t.y),
        (Kind::Sphere, Kind::Box) => out[0] = sphere_box(p, s.x, q, t),
        (Kind::Capsule, Kind::Capsule) => {
            out.copy_from_slice(&capsule_capsule(p, s.x, s.y, q, t.x, t.y));
        }
        (Kind::Capsule, Kind::Box) => out.copy_from_slice(&capsule_box(p, s.x, s.y, q, t)),
        (Kind::Box, Kind::Box) => out.copy_from_slice(&box_box(p, s, q, t)),
        _ if out.len() > 1 => manifold(a, p, b, q, out),
        _ => out[0] = convex_convex(*a, p, *b, q),
    }
}

/// The slots as an array.
fn slots<T: Real, const N: usize>(bar: &[Contact<T>]) -> [Contact<T>; N] {
    std::array::from_fn(|i| bar[i])
}

fn sorted_vjp<T: Real>(
    a: &Collider<T>,
    p: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
    bar: &[Contact<T>],
    a_bar: &mut ShapeBar<T>,
    b_bar: &mut ShapeBar<T>,
) {
    let (s, t) = (a.size, b.size);
    let (o, z) = (T::zero(), Vec3::zero());
    let (p_bar, s_bar, q_bar, t_bar) = match (a.kind, b.kind) {
        (Kind::Plane | Kind::Heightfield, Kind::Plane | Kind::Heightfield) => return,
        (Kind::Sphere, Kind::Torus) => {
            let (p, r, q, ring, tube) = sphere_torus_vjp(p, s.x, q, t.x, t.y, bar[0]);
            (p, Vec3::new(r, o, o), q, Vec3::new(ring, tube, o))
        }
        (_, Kind::Torus) => return,
        (Kind::Heightfield, _) => return heightfield_contacts_vjp(a, p, b, q, bar, a_bar, b_bar),
        (Kind::Plane, Kind::Sphere) => {
            let (p, q, r) = plane_sphere_vjp(p, q, t.x, bar[0]);
            (p, z, q, Vec3::new(r, o, o))
        }
        (Kind::Plane, Kind::Capsule) => {
            let (p, q, r, h) = plane_capsule_vjp(p, q, t.x, t.y, slots(bar));
            (p, z, q, Vec3::new(r, h, o))
        }
        (Kind::Plane, Kind::Ellipsoid) => {
            let (p, q, t) = plane_ellipsoid_vjp(p, q, t, bar[0]);
            (p, z, q, t)
        }
        (Kind::Plane, Kind::Cylinder) => {
            let (p, q, r, h) = plane_cylinder_vjp(p, q, t.x, t.y, slots(bar));
            (p, z, q, Vec3::new(r, h, o))
        }
        (Kind::Plane, Kind::Box) => {
            let (p, q, t) = plane_box_vjp(p, q, t, slots(bar));
            (p, z, q, t)
        }
        (Kind::Plane, Kind::Mesh) => {
            let (chosen, _) = touching_vertices(p, q, b);
            for (bar, vertex) in bar.iter().zip(chosen) {
                let (p_bar, q_bar, ()) = plane_vertex_vjp(p, q, vertex, *bar);
                a_bar.add(p_bar, z);
                b_bar.add(q_bar, z);
            }
            return;
        }
        (Kind::Sphere, Kind::Sphere) => {
            let (p, r, q, u) = sphere_sphere_vjp(p, s.x, q, t.x, bar[0]);
            (p, Vec3::new(r, o, o), q, Vec3::new(u, o, o))
        }
        (Kind::Sphere, Kind::Capsule) => {
            let (p, r, q, u, h) = sphere_capsule_vjp(p, s.x, q, t.x, t.y, bar[0]);
            (p, Vec3::new(r, o, o), q, Vec3::new(u, h, o))
        }
        (Kind::Sphere, Kind::Cylinder) => {
            let (p, r, q, u, h) = sphere_cylinder_vjp(p, s.x, q, t.x, t.y, bar[0]);
            (p, Vec3::new(r, o, o), q, Vec3::new(u, h, o))
        }
        (Kind::Sphere, Kind::Box) => {
            let (p, r, q, t) = sphere_box_vjp(p, s.x, q, t, bar[0]);
            (p, Vec3::new(r, o, o), q, t)
        }
        (Kind::Capsule, Kind::Capsule) => {
            let (p, r, g, q, u, h) = capsule_capsule_vjp(p, s.x, s.y, q, t.x, t.y, slots(bar));
            (p, Vec3::new(r, g, o), q, Vec3::new(u, h, o))
        }
        (Kind::Capsule, Kind::Box) => {
            let (p, r, g, q, t) = capsule_box_vjp(p, s.x, s.y, q, t, slots(bar));
            (p, Vec3::new(r, g, o), q, t)
        }
        (Kind::Box, Kind::Box) => box_box_vjp(p, s, q, t, slots(bar)),
        _ => {
            let (s, p, t, q) = if bar.len() > 1 {
                manifold_vjp(a, p, b, q, bar)
            } else {
                convex_convex_vjp(*a, p, *b, q, bar[0])
            };
            (p, s, q, t)
        }
    };
    a_bar.add(p_bar, s_bar);
    b_bar.add(q_bar, t_bar);
}
