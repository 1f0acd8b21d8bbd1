//! Laws of the narrow phase: duality, symmetry, rigid motions, lanes, and finiteness on degenerate input.

use pullback_collision::convex::convex_convex;
use pullback_collision::{
    Collider, Contact, Hull, INACTIVE, Kind, MAX_CONTACTS, ShapeBar, collide, collide_vjp, max_contacts,
    tangent_frame,
};
use pullback_core::random::Random;
use pullback_math::{Cotangent, Mat3, Quat, Real, Transform, Vec3, f64x4};

const KINDS: [Kind; 7] =
    [Kind::Plane, Kind::Sphere, Kind::Capsule, Kind::Ellipsoid, Kind::Cylinder, Kind::Box, Kind::Mesh];

/// A random polytope and its hull.
fn rock() -> (Vec<Vec3<f64>>, Hull) {
    let mut random = Random::new(3);
    let vertices: Vec<_> = (0..14).map(|_| direction(&mut random) * 0.35).collect();
    let hull = Hull::around(&vertices);
    (vertices, hull)
}

fn direction(random: &mut Random) -> Vec3<f64> {
    Vec3::new(random.normal(), random.normal(), random.normal()).normalize()
}

fn rotation(random: &mut Random) -> Mat3<f64> {
    Quat::new(random.normal(), random.normal(), random.normal(), random.normal()).normalize().to_mat3()
}

fn pose(random: &mut Random, spread: f64) -> Transform<f64> {
    let r = rotation(random);
    Transform::new(r, Vec3::zero().map(|_: f64| 0.0) + direction(random) * random.uniform(0.0, spread))
}

fn collider<'m>(
    random: &mut Random,
    kind: Kind,
    (vertices, hull): &'m (Vec<Vec3<f64>>, Hull),
) -> Collider<'m, f64> {
    if kind == Kind::Mesh {
        return Collider::mesh(vertices, hull);
    }
    let mut size = || random.uniform(0.2, 0.5);
    let (x, y, z) = (size(), size(), size());
    match kind {
        Kind::Plane => Collider::plane(),
        Kind::Sphere => Collider::sphere(x),
        Kind::Capsule => Collider::capsule(x, y),
        Kind::Cylinder => Collider::cylinder(x, y),
        Kind::Ellipsoid => Collider::ellipsoid(Vec3::new(x, y, z)),
        _ => Collider::cuboid(Vec3::new(x, y, z)),
    }
}

type Slots = ([Contact<f64>; MAX_CONTACTS], usize);

fn contacts(a: &Collider<f64>, pose_a: Transform<f64>, b: &Collider<f64>, pose_b: Transform<f64>) -> Slots {
    let mut out = [Contact::inactive(); MAX_CONTACTS];
    let count = collide(a, pose_a, b, pose_b, &mut out);
    assert_eq!(count, max_contacts(a.kind, b.kind));
    (out, count)
}

/// The deepest contact; of pairs with manifolds the one beneath, since those follow faces that are only nearly
/// square to its normal.
fn signed_distance(
    a: &Collider<f64>,
    pose_a: Transform<f64>,
    b: &Collider<f64>,
    pose_b: Transform<f64>,
) -> Contact<f64> {
    let flat = |kind| matches!(kind, Kind::Cylinder | Kind::Mesh);
    let boxes = |kind| kind == Kind::Box || flat(kind) || kind == Kind::Capsule;
    if boxes(a.kind) && boxes(b.kind) && (flat(a.kind) || flat(b.kind)) {
        convex_convex(*a, pose_a, *b, pose_b)
    } else {
        deepest(contacts(a, pose_a, b, pose_b))
    }
}

fn deepest((slots, count): Slots) -> Contact<f64> {
    *slots[..count].iter().min_by(|x, y| x.distance.total_cmp(&y.distance)).unwrap()
}

/// Lowest coordinate of a shape along n.
fn lowest(shape: &Collider<f64>, at: Transform<f64>, n: Vec3<f64>) -> f64 {
    let (t1, t2) = tangent_frame(n);
    let plane = Transform::new(Mat3::from_cols(t1, t2, n), Vec3::zero());
    deepest(contacts(&Collider::plane(), plane, shape, at)).distance
}

/// Whether the axis of a capsule pierces a box: its depth is then not that of its deepest point, and its
/// normal may jump.
fn pierced(a: &Collider<f64>, pose_a: Transform<f64>, b: &Collider<f64>, pose_b: Transform<f64>) -> bool {
    match (a.kind, b.kind) {
        (Kind::Capsule, Kind::Box) => (0..=400).any(|i| {
            let s = a.size.y * (f64::from(i) / 200.0 - 1.0);
            let x = pose_b.inverse_point(pose_a.translation + pose_a.rotation.c2 * s);
            (0..3).all(|j| x[j].abs() < b.size[j] + 0.01)
        }),
        (Kind::Box, Kind::Capsule) => pierced(b, pose_b, a, pose_a),
        _ => false,
    }
}

/// Every pair of kinds but plane with plane, `repeats` times.
fn each_pair(repeats: usize, mut check: impl FnMut(&mut Random, Kind, Kind)) {
    let mut random = Random::new(11);
    for a in KINDS {
        for b in KINDS {
            for _ in 0..repeats {
                if (a, b) != (Kind::Plane, Kind::Plane) {
                    check(&mut random, a, b);
                }
            }
        }
    }
}

/// The signed distance of convex shapes is the largest gap between parallel planes over all directions.
#[test]
fn no_direction_separates_further() {
    let rock = rock();
    let mut failures = std::collections::BTreeMap::<_, (usize, f64)>::new();
    each_pair(12, |random, ka, kb| {
        if ka == Kind::Plane || kb == Kind::Plane {
            return;
        }
        let (a, b) = (collider(random, ka, &rock), collider(random, kb, &rock));
        let (pa, pb) = (pose(random, 0.1), pose(random, 0.8));
        let contact = signed_distance(&a, pa, &b, pb);
        let gap = |n: Vec3<f64>| lowest(&b, pb, n) + lowest(&a, pa, -n);
        let mut worst = (gap(contact.normal) - contact.distance).abs();
        // Random directions, and a random ascent from the best.
        let mut best = contact.normal;
        for i in 0..400 {
            let n = if i < 200 {
                direction(random)
            } else {
                (best + direction(random) * 0.5f64.powi((i - 200) / 10)).normalize()
            };
            if gap(n) > gap(best) {
                best = n;
            }
        }
        worst = worst.max(gap(best) - contact.distance);
        // Boxes apart are measured along the 15 axes only; a face may be preferred to better edges.
        let boxes = (ka, kb) == (Kind::Box, Kind::Box);
        let excused = boxes && (contact.distance > 0.0 || worst < 0.053 * contact.distance.abs());
        if worst > 1e-7 && !excused && !pierced(&a, pa, &b, pb) {
            let entry = failures.entry((ka, kb)).or_insert((0, 0.0));
            *entry = (entry.0 + 1, entry.1.max(worst));
        }
    });
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn swapping_the_shapes_flips_the_normal() {
    let rock = rock();
    each_pair(10, |random, ka, kb| {
        let (a, b) = (collider(random, ka, &rock), collider(random, kb, &rock));
        let (pa, pb) = (pose(random, 0.1), pose(random, 1.0));
        let (x, y) = (signed_distance(&a, pa, &b, pb), signed_distance(&b, pb, &a, pa));
        assert!((x.distance - y.distance).abs() < 1e-9, "{ka:?} {kb:?} {x:?} {y:?}");
        let jumps = pierced(&a, pa, &b, pb);
        assert!(jumps || (x.normal + y.normal).norm() < 1e-5, "{ka:?} {kb:?} {x:?} {y:?}");
    });
}

#[test]
fn contacts_move_with_the_world() {
    let rock = rock();
    each_pair(10, |random, ka, kb| {
        let (a, b) = (collider(random, ka, &rock), collider(random, kb, &rock));
        let (pa, pb) = (pose(random, 0.1), pose(random, 1.0));
        let world = pose(random, 3.0);
        let here = deepest(contacts(&a, pa, &b, pb));
        let there = deepest(contacts(&a, world * pa, &b, world * pb));
        assert!((here.distance - there.distance).abs() < 1e-9, "{ka:?} {kb:?} {here:?} {there:?}");
        let jumps = pierced(&a, pa, &b, pb);
        assert!(jumps || (world.direction(here.normal) - there.normal).norm() < 1e-5, "{ka:?} {kb:?}");
    });
}

#[test]
fn lanes_agree_with_scalars() {
    let rock = rock();
    each_pair(4, |random, ka, kb| {
        let pairs: Vec<_> = (0..4)
            .map(|_| {
                let (a, b) = (collider(random, ka, &rock), collider(random, kb, &rock));
                (a, pose(random, 0.1), b, pose(random, 1.0))
            })
            .collect();
        let wide = |f: &dyn Fn(usize) -> f64| f64x4::from_lanes(f);
        let vector = |f: &dyn Fn(usize) -> Vec3<f64>| {
            Vec3::new(wide(&|i| f(i).x), wide(&|i| f(i).y), wide(&|i| f(i).z))
        };
        let transform = |f: &dyn Fn(usize) -> Transform<f64>| {
            let col = |j: usize| vector(&|i| f(i).rotation.col(j));
            Transform::new(Mat3::from_cols(col(0), col(1), col(2)), vector(&|i| f(i).translation))
        };
        let a = Collider {
            vertices: pairs[0].0.vertices,
            hull: pairs[0].0.hull,
            faces: pairs[0].0.faces,
            ..Collider::new(ka, vector(&|i| pairs[i].0.size))
        };
        let b = Collider {
            vertices: pairs[0].2.vertices,
            hull: pairs[0].2.hull,
            faces: pairs[0].2.faces,
            ..Collider::new(kb, vector(&|i| pairs[i].2.size))
        };
        let mut out = [Contact::inactive(); MAX_CONTACTS];
        let (pa, pb) = (transform(&|i| pairs[i].1), transform(&|i| pairs[i].3));
        let count = collide(&a, pa, &b, pb, &mut out);
        let mut bars = [ShapeBar::default(); 2];
        let [a_bar, b_bar] = &mut bars;
        collide_vjp(&a, pa, &b, pb, &out, a_bar, b_bar);
        for (lane, (a, pa, b, pb)) in pairs.iter().enumerate() {
            let (scalar, _) = contacts(a, *pa, b, *pb);
            for slot in 0..count {
                let error = out[slot].position.map(|x| x.lane(lane)) - scalar[slot].position;
                let gap = out[slot].distance.lane(lane) - scalar[slot].distance;
                assert!(error.norm() < 1e-11 && gap.abs() < 1e-11, "{ka:?} {kb:?} slot {slot}");
            }
            let mut single = [ShapeBar::default(); 2];
            let [a_bar, b_bar] = &mut single;
            collide_vjp(a, *pa, b, *pb, &scalar, a_bar, b_bar);
            for (wide, single) in bars.iter().zip(&single) {
                let error = wide.pose.translation.map(|x| x.lane(lane)) - single.pose.translation;
                let scale = 1.0 + single.pose.translation.norm();
                assert!(error.norm() < 1e-9 * scale, "{ka:?} {kb:?} cotangents");
            }
        }
    });
}

/// Coincident centers, aligned axes, zero sizes: contacts and cotangents stay finite.
#[test]
fn nothing_degenerate_makes_nan() {
    let rock = rock();
    let mut count = 0;
    each_pair(220, |random, ka, kb| {
        let (mut a, mut b) = (collider(random, ka, &rock), collider(random, kb, &rock));
        let (mut pa, mut pb) = (pose(random, 0.5), pose(random, 0.5));
        let dice = random.bits();
        if dice & 3 == 0 {
            pb.translation = pa.translation;
        }
        if dice & 12 == 0 {
            (pa.rotation, pb.rotation) = (Mat3::identity(), Mat3::identity());
        }
        if dice & 48 == 0 {
            pb.translation = pa.translation + pa.rotation.c2 * 0.25;
        }
        if dice & 192 == 0 {
            a.size = a.size.zip(Vec3::new(0.0, 1.0, 1.0), |x, y: f64| x * y);
        }
        if dice & 768 == 0 {
            b.size = Vec3::zero();
        }
        let (slots, n) = contacts(&a, pa, &b, pb);
        let bar =
            Contact { position: Vec3::new(1.0, -0.5, 0.3), normal: Vec3::new(0.2, 0.7, -1.0), distance: 1.0 };
        let (mut a_bar, mut b_bar) = (ShapeBar::default(), ShapeBar::default());
        collide_vjp(&a, pa, &b, pb, &[bar; MAX_CONTACTS], &mut a_bar, &mut b_bar);
        for slot in &slots[..n] {
            let sum = slot.position.norm() + slot.normal.norm() + slot.distance.abs();
            assert!(sum.is_finite() && sum < 2.0 * INACTIVE + 10.0, "{ka:?} {kb:?} {slot:?}");
            assert!((slot.normal.norm() - 1.0).abs() < 1e-9, "{ka:?} {kb:?} {slot:?}");
        }
        a_bar.accumulate(b_bar);
        let sum = a_bar.pose.translation.norm() + a_bar.pose.rotation.frobenius_squared() + a_bar.size.norm();
        assert!(sum.is_finite(), "{ka:?} {kb:?} {a_bar:?}");
        count += 1;
    });
    assert!(count > 10_000);
}

#[test]
fn parallel_capsules_rest_on_two_points() {
    let capsule = Collider::capsule(0.1, 0.5);
    let lying = Mat3::new(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0);
    let below = Transform::new(lying, Vec3::zero());
    let above = Transform::new(lying, Vec3::new(0.2, 0.0, 0.19));
    let (slots, _) = contacts(&capsule, below, &capsule, above);
    for (slot, x) in [(slots[0], -0.3), (slots[1], 0.5)] {
        assert!((slot.distance + 0.01).abs() < 1e-12 && (slot.position.x - x).abs() < 1e-12, "{slot:?}");
        assert!((slot.normal - Vec3::new(0.0, 0.0, 1.0)).norm() < 1e-12);
    }
}

#[test]
fn a_box_rests_on_a_box_by_four_corners() {
    let cube = Collider::cuboid(Vec3::new(0.5, 0.5, 0.5));
    let above = Transform::new(Mat3::identity(), Vec3::new(0.2, 0.1, 0.99));
    let (slots, _) = contacts(&cube, Transform::identity(), &cube, above);
    let touching: Vec<_> = slots.iter().filter(|c| c.distance < 0.0).collect();
    assert_eq!(touching.len(), 4);
    for contact in touching {
        assert!((contact.distance + 0.01).abs() < 1e-12);
        assert!((contact.normal - Vec3::new(0.0, 0.0, 1.0)).norm() < 1e-12);
        assert!((contact.position.z - 0.495).abs() < 1e-12);
    }
}

#[test]
fn a_cutoff_removes_what_is_beyond_it_and_nothing_else() {
    let (rock, cutoff) = (rock(), 0.05);
    let mut random = Random::new(17);
    let (mut kept, mut removed) = (0, 0);
    for i in 0..600 {
        let kinds = &KINDS[1..];
        let (ka, kb) = (kinds[i % kinds.len()], kinds[i / kinds.len() % kinds.len()]);
        let (a, b) = (collider(&mut random, ka, &rock), collider(&mut random, kb, &rock));
        let (pa, pb) = (pose(&mut random, 0.1), pose(&mut random, 1.5));
        let (all, count) = contacts(&a, pa, &b, pb);
        let (within, _) = contacts(&Collider { cutoff, ..a }, pa, &b, pb);
        let nearest = all[..count].iter().map(|c| c.distance).fold(f64::INFINITY, f64::min);
        for slot in 0..count {
            if within[slot].distance < 0.5 * INACTIVE {
                assert_eq!(within[slot], all[slot], "{ka:?} {kb:?}");
                kept += usize::from(nearest < cutoff);
            } else if all[slot].distance < 0.5 * INACTIVE {
                assert!(nearest > cutoff - 1e-12, "{ka:?} {kb:?} {nearest}");
                removed += 1;
            }
        }
    }
    assert!(kept > 200 && removed > 100, "{kept} {removed}");
}
