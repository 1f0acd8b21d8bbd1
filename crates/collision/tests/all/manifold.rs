//! Convex shapes that rest on faces: how many contacts, where, and their exact pullbacks.

use std::sync::OnceLock;

use pullback_collision::{
    Collider, Contact, Hull, Kind, MAX_CONTACTS, ShapeBar, collide, collide_vjp, max_contacts,
};
use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_core::random::Random;
use pullback_math::{Mat3, Quat, Real, Transform, Vec3};

/// The hull of [`frustum`].
fn hull() -> &'static Hull {
    static HULL: OnceLock<Hull> = OnceLock::new();
    HULL.get_or_init(|| Hull::around(&frustum()))
}

/// A five-sided frustum: its base, the larger face, has z = −0.2, its top z = 0.15.
fn frustum() -> [Vec3<f64>; 10] {
    std::array::from_fn(|i| {
        let angle = 0.3 + (i % 5) as f64 * std::f64::consts::TAU / 5.0;
        let (radius, z) = if i < 5 { (0.3, -0.2) } else { (0.22, 0.15) };
        Vec3::new(radius * angle.cos(), radius * angle.sin(), z)
    })
}

fn shape<T: Real>(kind: Kind, size: Vec3<T>, vertices: &[Vec3<f64>]) -> Collider<'_, T> {
    let shape = if kind == Kind::Mesh { Collider::mesh(vertices, hull()) } else { Collider::new(kind, size) };
    Collider { reach: 0.01, ..shape }
}

fn pose<T: Real>(x: Vec3<T>, q: Quat<T>) -> Transform<T> {
    Transform::from_quat(q.normalize(), x)
}

fn pose_vjp<T: Real>(x: Vec3<T>, q: Quat<T>, bar: Transform<T>) -> (Vec3<T>, Quat<T>) {
    let (r_bar, x_bar) = Transform::from_quat_vjp(q.normalize(), x, bar);
    (x_bar, q.normalize_vjp(r_bar))
}

fn slots<T: Real>(
    a: &Collider<T>,
    p: Transform<T>,
    b: &Collider<T>,
    q: Transform<T>,
) -> [Contact<T>; MAX_CONTACTS] {
    let mut out = [Contact::inactive(); MAX_CONTACTS];
    collide(a, p, b, q, &mut out);
    out
}

fn half_height(kind: Kind, size: Vec3<f64>, upper: bool) -> f64 {
    match kind {
        Kind::Cylinder => size.y,
        Kind::Box => size.z,
        // A capsule lies.
        Kind::Capsule => size.x,
        _ if upper => 0.2,
        _ => 0.15,
    }
}

/// The second shape stands on the first, leaning a little and turned; the pair is anywhere in the world.
fn stacked(seed: u64, ka: Kind, kb: Kind) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    (0..16)
        .map(|i| {
            let mut size =
                || Vec3::new(random.uniform(0.2, 0.4), random.uniform(0.2, 0.4), random.uniform(0.2, 0.4));
            let (mut sa, sb) = (size(), size());
            if ka == Kind::Capsule {
                sa.y *= 0.3;
            }
            let lean = [2e-3, 6e-3, 0.05, 0.2][i % 4];
            let base =
                Quat::new(random.normal(), random.normal(), random.normal(), random.normal()).normalize();
            let world =
                Transform::from_quat(base, Vec3::new(random.normal(), random.normal(), random.normal()));
            let turn = Quat::from_axis_angle(Vec3::new(0.0, 0.0, 1.0), random.uniform(-3.0, 3.0));
            let axis = Vec3::new(random.normal(), random.normal(), 0.0).normalize();
            let lying = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), std::f64::consts::FRAC_PI_2);
            let up =
                if ka == Kind::Capsule { half_height(kb, sb, false) } else { half_height(ka, sa, false) };
            let on = if ka == Kind::Capsule { half_height(ka, sa, true) } else { half_height(kb, sb, true) };
            let stand = if ka == Kind::Capsule { lying } else { Quat::identity() };
            let q = Quat::from_axis_angle(axis, lean) * turn * stand;
            // Capsules lie within the face: over its edge they would lean on the edge.
            let spread = if ka == Kind::Capsule { 0.05 } else { 0.15 };
            let mut aside = || random.uniform(-spread, spread);
            let x = Vec3::new(aside(), aside(), up + on - 0.004);
            let (x, q) = (world.point(x), base * q);
            let lower = (world.translation, base, if ka == Kind::Capsule { sb } else { sa });
            let upper = (x, q, if ka == Kind::Capsule { sa } else { sb });
            let (first, second) = if ka == Kind::Capsule { (upper, lower) } else { (lower, upper) };
            [first, second]
                .iter()
                .flat_map(|(x, q, s)| [x.x, x.y, x.z, q.w, q.x, q.y, q.z, s.x, s.y, s.z])
                .collect()
        })
        .collect()
}

macro_rules! manifold_is_differentiable {
    ($name:ident, $ka:expr, $kb:expr) => {
        #[test]
        fn $name() {
            let mut several = 0;
            for at in stacked(5, $ka, $kb) {
                let v = |i: usize| Vec3::new(at[i], at[i + 1], at[i + 2]);
                let turn = |i: usize| Quat::new(at[i], at[i + 1], at[i + 2], at[i + 3]);
                let vertices = frustum();
                let (a, b) = (shape($ka, v(7), &vertices), shape($kb, v(17), &vertices));
                let found = slots(&a, pose(v(0), turn(3)), &b, pose(v(10), turn(13)));
                if found.iter().filter(|c| c.distance < 1e8).count() < 2 {
                    continue;
                }
                several += 1;
                check_vjp!(
                    |xa: Vec3<T>, qa: Quat<T>, sa: Vec3<T>, xb: Vec3<T>, qb: Quat<T>, sb: Vec3<T>| -> [Contact<T>; MAX_CONTACTS] {
                        let vertices = frustum();
                        let (a, b) = (shape($ka, sa, &vertices), shape($kb, sb, &vertices));
                        slots(&a, pose(xa, qa), &b, pose(xb, qb)).map(|c| Contact {
                            distance: T::select(c.distance.gt(T::lit(1e8)), T::zero(), c.distance),
                            ..c
                        })
                    },
                    |bar| {
                        let vertices = frustum();
                        let (a, b) = (shape($ka, sa, &vertices), shape($kb, sb, &vertices));
                        let (p, q) = (pose(xa, qa), pose(xb, qb));
                        let found = slots(&a, p, &b, q);
                        let bar: [Contact<T>; MAX_CONTACTS] = std::array::from_fn(|i| Contact {
                            distance: T::select(found[i].distance.gt(T::lit(1e8)), T::zero(), bar[i].distance),
                            ..bar[i]
                        });
                        let (mut a_bar, mut b_bar) = (ShapeBar::default(), ShapeBar::default());
                        collide_vjp(&a, p, &b, q, &bar, &mut a_bar, &mut b_bar);
                        let ((xa, qa), (xb, qb)) = (pose_vjp(xa, qa, a_bar.pose), pose_vjp(xb, qb, b_bar.pose));
                        (xa, qa, a_bar.size, xb, qb, b_bar.size)
                    },
                    at at.clone(),
                    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, ..Options::default() }
                )
                .assert_passed();
            }
            assert!(several >= 6, "only {several} of 16 stacks rest on several points");
        }
    };
}

manifold_is_differentiable!(cylinder_on_cylinder, Kind::Cylinder, Kind::Cylinder);
manifold_is_differentiable!(box_on_cylinder, Kind::Cylinder, Kind::Box);
manifold_is_differentiable!(mesh_on_cylinder, Kind::Cylinder, Kind::Mesh);
manifold_is_differentiable!(mesh_on_box, Kind::Box, Kind::Mesh);
manifold_is_differentiable!(mesh_on_mesh, Kind::Mesh, Kind::Mesh);
manifold_is_differentiable!(capsule_lying_on_cylinder, Kind::Capsule, Kind::Cylinder);
manifold_is_differentiable!(capsule_lying_on_mesh, Kind::Capsule, Kind::Mesh);

/// Touching contacts of `b` standing at (x, y) on `a`, 4 mm deep.
fn touching(a: &Collider<f64>, b: &Collider<f64>, turn: Mat3<f64>, x: Vec3<f64>) -> Vec<Contact<f64>> {
    let count = max_contacts(a.kind, b.kind);
    let found = slots(a, Transform::identity(), b, Transform::new(turn, x));
    let touching: Vec<_> = found[..count].iter().copied().filter(|c| c.distance < 0.0).collect();
    for c in &touching {
        assert!((c.distance + 0.004).abs() < 1e-9, "{c:?}");
        assert!((c.normal.z - 1.0).abs() < 1e-9, "{c:?}");
    }
    touching
}

#[test]
fn flat_stacks_rest_on_the_overlap() {
    let (flat, vertices) = (Mat3::identity(), frustum());
    let table = Collider::cuboid(Vec3::new(0.5, 0.5, 0.1));
    let (can, rock) = (Collider::cylinder(0.2, 0.15), Collider::mesh(&vertices, hull()));
    // Four corners of a can and of a frustum with five.
    assert_eq!(touching(&table, &can, flat, Vec3::new(0.1, 0.0, 0.246)).len(), 4);
    assert_eq!(touching(&table, &rock, flat, Vec3::new(0.1, 0.0, 0.296)).len(), 4);
    assert_eq!(touching(&can, &can, flat, Vec3::new(0.0, 0.0, 0.296)).len(), 4);
    assert_eq!(touching(&rock, &rock, flat, Vec3::new(0.05, 0.02, 0.346)).len(), 4);
    // A can on its side: two ends.
    let lying = Mat3::new(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0);
    let ends = touching(&table, &can, lying, Vec3::new(0.1, 0.0, 0.296));
    assert_eq!(ends.len(), 2);
    for x in [0.25, -0.05] {
        assert!(ends.iter().any(|end| (end.position.x - x).abs() < 1e-9), "{ends:?}");
    }
    // Over the edge, only what is above the table.
    for c in touching(&table, &can, flat, Vec3::new(0.45, 0.0, 0.246)) {
        assert!(c.position.x < 0.5 + 1e-9, "{c:?}");
    }
}
