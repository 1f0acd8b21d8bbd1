//! Every pullback of the analytic pairs, at random configurations: apart, touching, deep, parallel, aligned.

use pullback_collision::box_box::{box_box, box_box_vjp};
use pullback_collision::capsule_box::{capsule_box, capsule_box_vjp};
use pullback_collision::convex::{convex_convex, convex_convex_vjp};
use pullback_collision::plane::*;
use pullback_collision::rounded::*;
use pullback_collision::sphere_solid::*;
use pullback_collision::torus::{sphere_torus, sphere_torus_vjp};
use pullback_collision::{Collider, Contact, Hull, Kind, ShapeBar, collide, collide_vjp};
use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_core::random::Random;
use pullback_math::{Quat, Real, Transform, Vec3};

/// Contacts as a loss sees them: the distance of an empty slot is nothing.
fn seen<T: Real, const N: usize>(contacts: [Contact<T>; N]) -> [Contact<T>; N] {
    contacts.map(|c| Contact { distance: T::select(far(c), T::zero(), c.distance), ..c })
}

fn far<T: Real>(c: Contact<T>) -> T::Mask {
    c.distance.gt(T::lit(1e8))
}

/// Pullback of [`seen`].
fn seen_vjp<T: Real, const N: usize>(contacts: [Contact<T>; N], bar: [Contact<T>; N]) -> [Contact<T>; N] {
    std::array::from_fn(|i| Contact {
        distance: T::select(far(contacts[i]), T::zero(), bar[i].distance),
        ..bar[i]
    })
}

/// The pose with this position and (unnormalized) quaternion.
fn pose<T: Real>(x: Vec3<T>, q: Quat<T>) -> Transform<T> {
    Transform::from_quat(q.normalize(), x)
}

fn pose_vjp<T: Real>(x: Vec3<T>, q: Quat<T>, bar: Transform<T>) -> (Vec3<T>, Quat<T>) {
    let (r_bar, x_bar) = Transform::from_quat_vjp(q.normalize(), x, bar);
    (x_bar, q.normalize_vjp(r_bar))
}

/// Position within `spread`, then a random orientation, or the identity.
fn draw(random: &mut Random, spread: f64, aligned: bool) -> Vec<f64> {
    let mut x: Vec<f64> = (0..3).map(|_| random.uniform(-spread, spread)).collect();
    if aligned {
        x.extend([1.0, 0.0, 0.0, 0.0]);
    } else {
        x.extend((0..4).map(|_| random.normal()));
    }
    x
}

fn sizes(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.uniform(0.2, 0.6)).collect()
}

/// Two poses and sizes: apart, near, deep, aligned in turn.
fn configurations(seed: u64, first: usize, second: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    (0..24)
        .map(|i| {
            let aligned = i % 6 == 5;
            let mut x = draw(&mut random, [0.05, 0.3, 0.7, 1.5][i % 4], aligned);
            x.extend(sizes(&mut random, first));
            x.extend(draw(&mut random, [0.05, 0.3, 0.7, 1.5][i % 4], aligned));
            x.extend(sizes(&mut random, second));
            x
        })
        .collect()
}

/// Checks `f(a, sizes of a, b, sizes of b)`, written with the sizes in arrays; `turned` leaves out aligned
/// poses.
macro_rules! pair_is_differentiable {
    (turned $name:ident, $($rest:tt)*) => {
        pair_is_differentiable!(@ $name, |i: usize| i % 6 != 5, $($rest)*);
    };
    (@ $name:ident, $tried:expr, $n:literal, $na:literal, $nb:literal,
     |$a:ident, $sa:ident, $b:ident, $sb:ident| $f:expr, |$bar:ident| $f_vjp:expr) => {
        #[test]
        fn $name() {
            for (_, at) in configurations(17, $na, $nb).into_iter().enumerate().filter(|(i, _)| $tried(*i)) {
                check_vjp!(
                    |xa: Vec3<T>, qa: Quat<T>, $sa: [T; $na], xb: Vec3<T>, qb: Quat<T>, $sb: [T; $nb]| -> [Contact<T>; $n] {
                        let ($a, $b) = (pose(xa, qa), pose(xb, qb));
                        let _ = ($a, $sa, $b, $sb);
                        seen($f)
                    },
                    |bar| {
                        let ($a, $b) = (pose(xa, qa), pose(xb, qb));
                        let $bar = seen_vjp($f, bar);
                        let (a_bar, sa_bar, b_bar, sb_bar): (_, [T; $na], _, [T; $nb]) = $f_vjp;
                        let ((xa, qa), (xb, qb)) = (pose_vjp(xa, qa, a_bar), pose_vjp(xb, qb, b_bar));
                        (xa, qa, sa_bar, xb, qb, sb_bar)
                    },
                    at at,
                    Options { forward_tolerance: 1e-9, ..Options::default() }
                )
                .assert_passed();
            }
        }
    };
    ($name:ident, $($rest:tt)*) => {
        pair_is_differentiable!(@ $name, |_| true, $($rest)*);
    };
}

fn vec<T: Real>(x: [T; 3]) -> Vec3<T> {
    Vec3::new(x[0], x[1], x[2])
}

fn array<T: Real>(x: Vec3<T>) -> [T; 3] {
    [x.x, x.y, x.z]
}

pair_is_differentiable!(plane_against_sphere, 1, 0, 1, |a, sa, b, sb| [plane_sphere(a, b, sb[0])], |bar| {
    let (a, b, r) = plane_sphere_vjp(a, b, sb[0], bar[0]);
    (a, [], b, [r])
});
pair_is_differentiable!(
    plane_against_capsule,
    2,
    0,
    2,
    |a, sa, b, sb| plane_capsule(a, b, sb[0], sb[1]),
    |bar| {
        let (a, b, r, h) = plane_capsule_vjp(a, b, sb[0], sb[1], bar);
        (a, [], b, [r, h])
    }
);
pair_is_differentiable!(plane_against_box, 4, 0, 3, |a, sa, b, sb| plane_box(a, b, vec(sb)), |bar| {
    let (a, b, h) = plane_box_vjp(a, b, vec(sb), bar);
    (a, [], b, array(h))
});
pair_is_differentiable!(
    plane_against_cylinder,
    4,
    0,
    2,
    |a, sa, b, sb| plane_cylinder(a, b, sb[0], sb[1]),
    |bar| {
        let (a, b, r, h) = plane_cylinder_vjp(a, b, sb[0], sb[1], bar);
        (a, [], b, [r, h])
    }
);
pair_is_differentiable!(
    plane_against_ellipsoid,
    1,
    0,
    3,
    |a, sa, b, sb| [plane_ellipsoid(a, b, vec(sb))],
    |bar| {
        let (a, b, h) = plane_ellipsoid_vjp(a, b, vec(sb), bar[0]);
        (a, [], b, array(h))
    }
);
pair_is_differentiable!(
    sphere_against_sphere,
    1,
    1,
    1,
    |a, sa, b, sb| [sphere_sphere(a, sa[0], b, sb[0])],
    |bar| {
        let (a, r, b, s) = sphere_sphere_vjp(a, sa[0], b, sb[0], bar[0]);
        (a, [r], b, [s])
    }
);
pair_is_differentiable!(
    sphere_against_capsule,
    1,
    1,
    2,
    |a, sa, b, sb| [sphere_capsule(a, sa[0], b, sb[0], sb[1])],
    |bar| {
        let (a, r, b, s, h) = sphere_capsule_vjp(a, sa[0], b, sb[0], sb[1], bar[0]);
        (a, [r], b, [s, h])
    }
);
pair_is_differentiable!(
    turned capsule_against_capsule,
    2,
    2,
    2,
    |a, sa, b, sb| capsule_capsule(a, sa[0], sa[1], b, sb[0], sb[1]),
    |bar| {
        let (a, r, g, b, s, h) = capsule_capsule_vjp(a, sa[0], sa[1], b, sb[0], sb[1], bar);
        (a, [r, g], b, [s, h])
    }
);

/// Turned together, so that they stay parallel.
#[test]
fn parallel_capsules() {
    for mut at in configurations(31, 2, 2) {
        at.drain(12..16);
        check_vjp!(
            |xa: Vec3<T>, q: Quat<T>, sa: [T; 2], xb: Vec3<T>, sb: [T; 2]| -> [Contact<T>; 2] {
                capsule_capsule(pose(xa, q), sa[0], sa[1], pose(xb, q), sb[0], sb[1])
            },
            |bar| {
                let (a, b) = (pose(xa, q), pose(xb, q));
                let (a, r, g, b, s, h) = capsule_capsule_vjp(a, sa[0], sa[1], b, sb[0], sb[1], bar);
                let ((xa, qa), (xb, qb)) = (pose_vjp(xa, q, a), pose_vjp(xb, q, b));
                (xa, qa + qb, [r, g], xb, [s, h])
            },
            at at,
            Options { forward_tolerance: 1e-9, ..Options::default() }
        )
        .assert_passed();
    }
}
pair_is_differentiable!(
    sphere_against_box,
    1,
    1,
    3,
    |a, sa, b, sb| [sphere_box(a, sa[0], b, vec(sb))],
    |bar| {
        let (a, r, b, h) = sphere_box_vjp(a, sa[0], b, vec(sb), bar[0]);
        (a, [r], b, array(h))
    }
);
pair_is_differentiable!(
    sphere_against_cylinder,
    1,
    1,
    2,
    |a, sa, b, sb| [sphere_cylinder(a, sa[0], b, sb[0], sb[1])],
    |bar| {
        let (a, r, b, s, h) = sphere_cylinder_vjp(a, sa[0], b, sb[0], sb[1], bar[0]);
        (a, [r], b, [s, h])
    }
);
pair_is_differentiable!(
    sphere_against_torus,
    1,
    1,
    2,
    |a, sa, b, sb| [sphere_torus(a, sa[0], b, sb[0], sb[1])],
    |bar| {
        let (a, r, b, ring, tube) = sphere_torus_vjp(a, sa[0], b, sb[0], sb[1], bar[0]);
        (a, [r], b, [ring, tube])
    }
);
pair_is_differentiable!(
    capsule_against_box,
    2,
    2,
    3,
    |a, sa, b, sb| capsule_box(a, sa[0], sa[1], b, vec(sb)),
    |bar| {
        let (a, r, g, b, h) = capsule_box_vjp(a, sa[0], sa[1], b, vec(sb), bar);
        (a, [r, g], b, array(h))
    }
);
pair_is_differentiable!(box_against_box, 8, 3, 3, |a, sa, b, sb| box_box(a, vec(sa), b, vec(sb)), |bar| {
    let (a, g, b, h) = box_box_vjp(a, vec(sa), b, vec(sb), bar);
    (a, array(g), b, array(h))
});

/// Only what is exact for every feature: the distance.
fn distance_bar<T: Real>(bar: T) -> Contact<T> {
    Contact { position: Vec3::zero(), normal: Vec3::zero(), distance: bar }
}

/// Pairs of the convex solver: the distance for all features, the normal and position too for ellipsoids and
/// spheres.
macro_rules! convex_pair_is_differentiable {
    ($name:ident, $ka:expr, $kb:expr, $out:ty, |$contact:ident| $see:expr, |$bar:ident| $seen_vjp:expr) => {
        #[test]
        fn $name() {
            for at in configurations(23, 3, 3) {
                check_vjp!(
                    |xa: Vec3<T>, qa: Quat<T>, sa: Vec3<T>, xb: Vec3<T>, qb: Quat<T>, sb: Vec3<T>| -> $out {
                        let (a, b) = (Collider::new($ka, sa), Collider::new($kb, sb));
                        let $contact = convex_convex(a, pose(xa, qa), b, pose(xb, qb));
                        $see
                    },
                    |$bar| {
                        let (a, b) = (Collider::new($ka, sa), Collider::new($kb, sb));
                        let (pa, pb) = (pose(xa, qa), pose(xb, qb));
                        let (sa, a, sb, b) = convex_convex_vjp(a, pa, b, pb, $seen_vjp);
                        let ((xa, qa), (xb, qb)) = (pose_vjp(xa, qa, a), pose_vjp(xb, qb, b));
                        (xa, qa, sa, xb, qb, sb)
                    },
                    at at,
                    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, ..Options::default() }
                )
                .assert_passed();
            }
        }
    };
}

convex_pair_is_differentiable!(
    ellipsoid_against_ellipsoid,
    Kind::Ellipsoid,
    Kind::Ellipsoid,
    Contact<T>,
    |contact| contact,
    |bar| bar
);
convex_pair_is_differentiable!(
    sphere_against_ellipsoid,
    Kind::Sphere,
    Kind::Ellipsoid,
    Contact<T>,
    |contact| contact,
    |bar| bar
);
convex_pair_is_differentiable!(
    capsule_against_ellipsoid,
    Kind::Capsule,
    Kind::Ellipsoid,
    T,
    |contact| contact.distance,
    |bar| distance_bar(bar)
);
convex_pair_is_differentiable!(
    capsule_against_cylinder,
    Kind::Capsule,
    Kind::Cylinder,
    T,
    |contact| contact.distance,
    |bar| distance_bar(bar)
);
convex_pair_is_differentiable!(
    ellipsoid_against_cylinder,
    Kind::Ellipsoid,
    Kind::Cylinder,
    T,
    |contact| contact.distance,
    |bar| distance_bar(bar)
);
convex_pair_is_differentiable!(
    ellipsoid_against_box,
    Kind::Ellipsoid,
    Kind::Box,
    T,
    |contact| contact.distance,
    |bar| distance_bar(bar)
);
convex_pair_is_differentiable!(
    cylinder_against_cylinder,
    Kind::Cylinder,
    Kind::Cylinder,
    T,
    |contact| contact.distance,
    |bar| distance_bar(bar)
);
convex_pair_is_differentiable!(
    cylinder_against_box,
    Kind::Cylinder,
    Kind::Box,
    T,
    |contact| contact.distance,
    |bar| distance_bar(bar)
);

/// Through the dispatcher, mesh first, so that the swap is pulled back too.
#[test]
fn mesh_against_plane() {
    fn vertices() -> [Vec3<f64>; 6] {
        let mut random = Random::new(7);
        std::array::from_fn(|_| Vec3::new(random.normal(), random.normal(), random.normal()))
    }
    for at in configurations(29, 0, 0) {
        check_vjp!(
            |xa: Vec3<T>, qa: Quat<T>, xb: Vec3<T>, qb: Quat<T>| -> [Contact<T>; 4] {
                let vertices = vertices();
                let mut out = [Contact::inactive(); 4];
                let hull = Hull::around(&vertices);
                let mesh = Collider::mesh(&vertices, &hull);
                collide(&mesh, pose(xa, qa), &Collider::plane(), pose(xb, qb), &mut out);
                seen(out)
            },
            |bar| {
                let vertices = vertices();
                let hull = Hull::around(&vertices);
                let mesh = Collider::mesh(&vertices, &hull);
                let mut out = [Contact::inactive(); 4];
                collide(&mesh, pose(xa, qa), &Collider::plane(), pose(xb, qb), &mut out);
                let bar = seen_vjp(out, bar);
                let (mut a, mut b) = (ShapeBar::default(), ShapeBar::default());
                collide_vjp(&mesh, pose(xa, qa), &Collider::plane(), pose(xb, qb), &bar, &mut a, &mut b);
                let ((xa, qa), (xb, qb)) = (pose_vjp(xa, qa, a.pose), pose_vjp(xb, qb, b.pose));
                (xa, qa, xb, qb)
            },
            at at,
            Options::default()
        )
        .assert_passed();
    }
}
