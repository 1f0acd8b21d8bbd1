//! Terrain over a grid against every solid shape.
//!
//! MuJoCo makes each half cell a prism and collides it as a convex solid (`mjc_ConvexHField`). Neighbors
//! then report the same touch several times, which a penalty force adds up, and prisms deep in a shape push
//! it sideways. Here contacts are split by what touches instead:
//!
//! | slots | what touches | how |
//! |---|---|---|
//! | faces | a point of the shape and a triangle | as the shape against the plane of that triangle, upwards only |
//! | pokes | an edge or peak that bends outwards and the shape | the prism under it, by GJK and EPA |
//!
//! A poke counts if its normal lies between those of the triangles that meet there, so no touch is found
//! twice and flat ground behaves as a plane, wherever the grid lines run.
//!
//! | shape | faces | pokes |
//! |---|---|---|
//! | sphere, ellipsoid | 2: the nearest faces that it stands over | 2 |
//! | capsule | 2 for each end | 2 |
//! | cylinder | 4: the points of [`plane_cylinder`], each over its own triangle | 4 |
//! | box | 8: the corners | 4 |
//! | mesh | 8: the vertices with the least height over the ground | 4 |
//!
//! Of more pokes the deepest are kept. Triangles and pokes are chosen on primal values, one lane at a time;
//! the pullback is exact at fixed features and includes the sizes of the terrain (its widths and its
//! elevation).
//!
//! Limits: where a point passes from one triangle to the next at depth d, the distance jumps by d times the
//! change of the normal's z. Walls at the border hold nothing but their upper edge. A straight edge that lies
//! along a ridge is held at one point of it. Points below the base are free.

use pullback_math::{Mat3, Real, Transform, Vec3, differentiable};

use super::collider::{Collider, Kind};
use super::contact::Contact;
use super::convex::{convex_at, convex_at_vjp};
use super::dispatch::ShapeBar;
use super::height_features::{Facet, HeightFeatures, height_features, slots};
use super::plane::*;

/// Number of slots against a kind.
pub(super) fn heightfield_slots(kind: Kind) -> usize {
    let (faces, pokes) = slots(kind);
    faces + pokes
}

/// Normal and a point of the plane of a triangle, in the world.
#[differentiable]
fn facet_plane<T: Real>(
    field: Transform<T>,
    size: Vec3<T>,
    #[constant] facet: Facet<T>,
) -> (Vec3<T>, Vec3<T>) {
    // Normals stretch by the cofactors of the sizes.
    let (m, c) = (facet.normal, facet.corner);
    let n = Vec3::new(m.x * size.y * size.z, m.y * size.x * size.z, m.z * size.x * size.y).normalize();
    (field.direction(n), field.point(Vec3::new(c.x * size.x, c.y * size.y, c.z * size.z)))
}

/// A pose with this z axis; the contacts of a plane read no other.
fn plane_at<T: Real>(normal: Vec3<T>, point: Vec3<T>) -> Transform<T> {
    Transform::new(Mat3::from_cols(Vec3::zero(), Vec3::zero(), normal), point)
}

/// A corner of a box, in units of its size.
#[differentiable]
fn plane_corner<T: Real>(
    plane: Transform<T>,
    solid: Transform<T>,
    half: Vec3<T>,
    #[constant] unit: Vec3<T>,
) -> Contact<T> {
    plane_point(plane, solid.point(Vec3::new(unit.x * half.x, unit.y * half.y, unit.z * half.z)))
}

/// A point of the shape against the plane of its triangle.
fn face_contact<T: Real>(
    plane: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
    slot: usize,
    facet: &Facet<T>,
) -> Contact<T> {
    let t = b.size;
    match b.kind {
        Kind::Plane | Kind::Heightfield | Kind::Torus => Contact::inactive(),
        Kind::Sphere => plane_sphere(plane, q, t.x),
        Kind::Capsule => plane_capsule(plane, q, t.x, t.y)[slot / 2],
        Kind::Ellipsoid => plane_ellipsoid(plane, q, t),
        Kind::Cylinder => plane_cylinder(plane, q, t.x, t.y)[slot],
        Kind::Box => plane_corner(plane, q, t, facet.point),
        Kind::Mesh => plane_vertex(plane, q, facet.point),
    }
}

/// Pullback of [`face_contact`]: cotangents of the plane, the shape's pose and size. By hand: the kind is
/// matched.
fn face_contact_vjp<T: Real>(
    plane: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
    slot: usize,
    facet: &Facet<T>,
    bar: Contact<T>,
) -> (Transform<T>, Transform<T>, Vec3<T>) {
    let (t, o) = (b.size, T::zero());
    let none = Contact { position: Vec3::zero(), normal: Vec3::zero(), distance: o };
    match b.kind {
        Kind::Plane | Kind::Heightfield | Kind::Torus => {
            let zero = Transform::identity() - Transform::identity();
            (zero, zero, Vec3::zero())
        }
        Kind::Sphere => {
            let (p, q, r) = plane_sphere_vjp(plane, q, t.x, bar);
            (p, q, Vec3::new(r, o, o))
        }
        Kind::Capsule => {
            let mut bars = [none; 2];
            bars[slot / 2] = bar;
            let (p, q, r, h) = plane_capsule_vjp(plane, q, t.x, t.y, bars);
            (p, q, Vec3::new(r, h, o))
        }
        Kind::Ellipsoid => plane_ellipsoid_vjp(plane, q, t, bar),
        Kind::Cylinder => {
            let mut bars = [none; 4];
            bars[slot] = bar;
            let (p, q, r, h) = plane_cylinder_vjp(plane, q, t.x, t.y, bars);
            (p, q, Vec3::new(r, h, o))
        }
        Kind::Box => {
            let (p, q, t, ()) = plane_corner_vjp(plane, q, t, facet.point, bar);
            (p, q, t)
        }
        Kind::Mesh => {
            let (p, q, ()) = plane_vertex_vjp(plane, q, facet.point, bar);
            (p, q, Vec3::zero())
        }
    }
}

/// Terrain `a` against the shape `b`: fills `out`, faces first.
pub(crate) fn heightfield_contacts<T: Real>(
    a: &Collider<T>,
    p: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
    out: &mut [Contact<T>],
) {
    let f: HeightFeatures<T> = height_features(a, p, b, q);
    let (faces, pokes) = slots(b.kind);
    for slot in 0..faces {
        let facet = &f.facets[slot];
        let (n, x) = facet_plane(p, a.size, *facet);
        let contact = face_contact(plane_at(n, x), b, q, slot, facet);
        out[slot] = Contact { distance: contact.distance + facet.off, ..contact };
    }
    for slot in 0..pokes {
        let contact = convex_at(a.kind, a.size, p, b.kind, b.size, q, f.pokes[slot]);
        out[faces + slot] = Contact { distance: contact.distance + f.poke_off[slot], ..contact };
    }
}

/// Pullback of [`heightfield_contacts`], the features held constant: adds to the cotangents of both shapes.
pub(crate) fn heightfield_contacts_vjp<T: Real>(
    a: &Collider<T>,
    p: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
    bar: &[Contact<T>],
    a_bar: &mut ShapeBar<T>,
    b_bar: &mut ShapeBar<T>,
) {
    let f: HeightFeatures<T> = height_features(a, p, b, q);
    let (faces, pokes) = slots(b.kind);
    for slot in 0..faces {
        let facet = &f.facets[slot];
        let (n, x) = facet_plane(p, a.size, *facet);
        let (plane_bar, q_bar, t_bar) = face_contact_vjp(plane_at(n, x), b, q, slot, facet, bar[slot]);
        let plane_bar = (plane_bar.rotation.c2, plane_bar.translation);
        let (p_bar, s_bar, ()) = facet_plane_vjp(p, a.size, *facet, plane_bar);
        a_bar.add(p_bar, s_bar);
        b_bar.add(q_bar, t_bar);
    }
    for slot in 0..pokes {
        let ((), s_bar, p_bar, (), t_bar, q_bar, ()) =
            convex_at_vjp(a.kind, a.size, p, b.kind, b.size, q, f.pokes[slot], bar[faces + slot]);
        a_bar.add(p_bar, s_bar);
        b_bar.add(q_bar, t_bar);
    }
}
