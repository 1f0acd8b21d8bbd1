//! Terrain: pullbacks of every pair, flat ground as a plane, ridges that hold, lanes as scalars, MuJoCo's
//! contacts.

use pullback_collision::{
    Collider, Contact, HeightGrid, Hull, Kind, MAX_CONTACTS, ShapeBar, collide, collide_vjp,
};
use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_core::random::Random;
use pullback_math::{Mat3, Quat, Real, Transform, Vec3, f64x4};

const ROWS: usize = 6;
const COLUMNS: usize = 7;
const HULL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const SOLIDS: [Kind; 6] =
    [Kind::Sphere, Kind::Capsule, Kind::Ellipsoid, Kind::Cylinder, Kind::Box, Kind::Mesh];

/// Hills.
fn hills() -> [f64; ROWS * COLUMNS] {
    let mut random = Random::new(41);
    std::array::from_fn(|_| random.uniform(0.0, 1.0))
}

fn rock() -> [Vec3<f64>; 8] {
    let mut random = Random::new(7);
    std::array::from_fn(|_| Vec3::new(random.normal(), random.normal(), random.normal()).normalize() * 0.25)
}

fn terrain<T: Real>(size: Vec3<T>, values: &[f64]) -> Collider<'_, T> {
    Collider::heightfield(size, HeightGrid { rows: ROWS, columns: COLUMNS, values, base: 0.3 })
}

fn solid<T: Real>(kind: Kind, size: Vec3<T>, rock: &[Vec3<f64>]) -> Collider<'_, T> {
    if kind == Kind::Mesh { Collider::points(rock, &HULL) } else { Collider::new(kind, size) }
}

fn pose<T: Real>(x: Vec3<T>, q: Quat<T>) -> Transform<T> {
    Transform::from_quat(q.normalize(), x)
}

fn pose_vjp<T: Real>(x: Vec3<T>, q: Quat<T>, bar: Transform<T>) -> (Vec3<T>, Quat<T>) {
    let (r_bar, x_bar) = Transform::from_quat_vjp(q.normalize(), x, bar);
    (x_bar, q.normalize_vjp(r_bar))
}

/// The slots that hold something; the distance of an empty one is nothing to a loss.
fn seen<T: Real>(contacts: [Contact<T>; MAX_CONTACTS]) -> [Contact<T>; MAX_CONTACTS] {
    contacts.map(|c| Contact { distance: T::select(c.distance.gt(T::lit(1e8)), T::zero(), c.distance), ..c })
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

fn deepest(contacts: &[Contact<f64>]) -> Contact<f64> {
    *contacts.iter().min_by(|x, y| x.distance.total_cmp(&y.distance)).unwrap()
}

/// Pose and size of the terrain, pose and size of a shape that overlaps it a little.
fn configurations(seed: u64, kind: Kind) -> Vec<Vec<f64>> {
    let (mut random, values, rock) = (Random::new(seed), hills(), rock());
    let mut found = Vec::new();
    while found.len() < 24 {
        let mut x: Vec<f64> = (0..3).map(|_| random.uniform(-0.5, 0.5)).collect();
        x.extend((0..4).map(|_| random.normal()));
        x.extend([random.uniform(0.9, 1.4), random.uniform(0.9, 1.4), random.uniform(0.2, 0.5)]);
        let p = pose(Vec3::new(x[0], x[1], x[2]), Quat::new(x[3], x[4], x[5], x[6]));
        let above = Vec3::new(random.uniform(-0.6, 0.6), random.uniform(-0.6, 0.6), random.uniform(0.1, 0.9));
        let at = p.point(above);
        x.extend([at.x, at.y, at.z]);
        x.extend((0..4).map(|_| random.normal()));
        x.extend((0..3).map(|_| random.uniform(0.12, 0.3)));
        let q = pose(at, Quat::new(x[13], x[14], x[15], x[16]));
        let a = terrain(Vec3::new(x[7], x[8], x[9]), &values);
        let b = solid(kind, Vec3::new(x[17], x[18], x[19]), &rock);
        let depth = -deepest(&slots(&a, p, &b, q)).distance;
        if (0.0..0.08).contains(&depth) {
            found.push(x);
        }
    }
    found
}

/// Pokes are found by the convex solver, whose positions along edges are held: all of a face, the distance of
/// a poke.
fn exact<T: Real>(kind: Kind, contacts: [Contact<T>; MAX_CONTACTS]) -> [Contact<T>; MAX_CONTACTS] {
    let faces = match kind {
        Kind::Sphere | Kind::Ellipsoid => 2,
        Kind::Capsule | Kind::Cylinder => 4,
        _ => 8,
    };
    let (none, mut slot) = (Vec3::zero(), 0);
    contacts.map(|c| {
        slot += 1;
        if slot <= faces || matches!(kind, Kind::Sphere | Kind::Ellipsoid | Kind::Capsule) {
            c
        } else {
            Contact { position: none, normal: none, ..c }
        }
    })
}

macro_rules! pair_is_differentiable {
    ($name:ident, $kind:expr) => {
        #[test]
        fn $name() {
            let mut pokes = 0;
            for at in configurations(17, $kind) {
                check_vjp!(
                    |xa: Vec3<T>, qa: Quat<T>, sa: Vec3<T>, xb: Vec3<T>, qb: Quat<T>, sb: Vec3<T>| -> [Contact<T>; MAX_CONTACTS] {
                        let (values, rock) = (hills(), rock());
                        let (a, b) = (terrain(sa, &values), solid($kind, sb, &rock));
                        exact($kind, seen(slots(&a, pose(xa, qa), &b, pose(xb, qb))))
                    },
                    |bar| {
                        let (values, rock) = (hills(), rock());
                        let (a, b) = (terrain(sa, &values), solid($kind, sb, &rock));
                        let (p, q) = (pose(xa, qa), pose(xb, qb));
                        let contacts = slots(&a, p, &b, q);
                        let bar = exact($kind, bar);
                        let bar: [Contact<T>; MAX_CONTACTS] = std::array::from_fn(|i| Contact {
                            distance: T::select(contacts[i].distance.gt(T::lit(1e8)), T::zero(), bar[i].distance),
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
                let (values, rock) = (hills(), rock());
                let v = |i: usize| Vec3::new(at[i], at[i + 1], at[i + 2]);
                let turn = |i: usize| Quat::new(at[i], at[i + 1], at[i + 2], at[i + 3]);
                let (a, b) = (terrain(v(7), &values), solid($kind, v(17), &rock));
                let all = slots(&a, pose(v(0), turn(3)), &b, pose(v(10), turn(13)));
                let count = pullback_collision::max_contacts(Kind::Heightfield, $kind);
                let poke_slots = if matches!($kind, Kind::Sphere | Kind::Ellipsoid | Kind::Capsule) { 2 } else { 4 };
                pokes += all[count - poke_slots..count].iter().filter(|c| c.distance < 0.0).count();
            }
            assert!(pokes > 0, "no configuration has an edge or peak in the shape");
        }
    };
}

pair_is_differentiable!(sphere_on_terrain, Kind::Sphere);
pair_is_differentiable!(capsule_on_terrain, Kind::Capsule);
pair_is_differentiable!(ellipsoid_on_terrain, Kind::Ellipsoid);
pair_is_differentiable!(cylinder_on_terrain, Kind::Cylinder);
pair_is_differentiable!(box_on_terrain, Kind::Box);
pair_is_differentiable!(mesh_on_terrain, Kind::Mesh);

/// On a flat field contacts are those with a plane, wherever the grid lines run: the same total overlap. A
/// mesh has more slots on a field, so only its deepest contact is compared.
#[test]
fn flat_ground_is_a_plane() {
    let (values, rock, mut random) = ([0.0; ROWS * COLUMNS], rock(), Random::new(2));
    let a = terrain(Vec3::new(3.0, 3.0, 1.0), &values);
    for kind in SOLIDS {
        for i in 0..200 {
            let b = solid(kind, Vec3::new(0.2, 0.3, 0.25), &rock);
            let x =
                Vec3::new(random.uniform(-1.5, 1.5), random.uniform(-1.5, 1.5), random.uniform(0.15, 0.4));
            let mut q = Quat::new(random.normal(), random.normal(), random.normal(), random.normal());
            // Every fourth lies flat over a grid line or corner.
            let x = if i % 4 == 0 { Vec3::new(0.0, 0.6, 0.19) } else { x };
            if i % 4 == 0 {
                q = Quat::identity();
            }
            let at = pose(x, q);
            let overlap = |c: [Contact<f64>; MAX_CONTACTS]| -> f64 {
                assert!(c.iter().all(|c| c.distance > 0.0 || (c.normal.z - 1.0).abs() < 1e-12), "{kind:?}");
                let overlaps = c.iter().map(|c| (-c.distance).max(0.0));
                if kind == Kind::Mesh { overlaps.fold(0.0, f64::max) } else { overlaps.sum() }
            };
            let flat = overlap(slots(&a, Transform::identity(), &b, at));
            let plane = overlap(slots(&Collider::plane(), Transform::identity(), &b, at));
            assert!(
                (flat - plane).abs() < 1e-9,
                "{kind:?} at {x:?}: {flat} on the field, {plane} on a plane"
            );
        }
    }
}

/// A sphere carried over a ridge loses no depth on the way: distances change no faster than it moves.
#[test]
fn crossing_a_ridge_is_continuous() {
    let mut values = [0.0; ROWS * COLUMNS];
    for row in 0..ROWS {
        values[row * COLUMNS + 3] = 1.0;
    }
    let a = terrain(Vec3::new(1.5, 1.5, 0.2), &values);
    let ball = Collider::sphere(0.15);
    let mut last: Option<f64> = None;
    for i in 0..2000 {
        let x = -0.9 + 1.8 * i as f64 / 2000.0;
        let height = 0.2 * (1.0 - x.abs() / 0.5).max(0.0) + 0.14;
        let at = Transform::new(Mat3::identity(), Vec3::new(x, 0.123, height));
        let d = deepest(&slots(&a, Transform::identity(), &ball, at)).distance;
        assert!(d < 0.0, "nothing holds it at {x}");
        if let Some(last) = last {
            assert!((d - last).abs() < 2e-3, "jumps from {last} to {d} at {x}");
        }
        last = Some(d);
    }
}

/// Boxes, bars and rocks wider than a ridge rest on it, not in it.
#[test]
fn ridges_and_peaks_hold_what_is_wider() {
    let (mut ridge, mut peak) = ([0.0; ROWS * COLUMNS], [0.0; ROWS * COLUMNS]);
    for row in 0..ROWS {
        ridge[row * COLUMNS + 3] = 1.0;
    }
    peak[3 * COLUMNS + 3] = 1.0;
    for values in [&ridge, &peak] {
        let a = terrain(Vec3::new(0.6, 0.6, 0.4), values);
        let lying = Mat3::new(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0);
        for (b, turn, half) in [
            (Collider::cuboid(Vec3::new(0.3, 0.2, 0.1)), Mat3::identity(), 0.1),
            (Collider::cylinder(0.3, 0.1), Mat3::identity(), 0.1),
            (Collider::capsule(0.1, 0.3), lying, 0.1),
        ] {
            // The peak of row 3 is at y = 0.12.
            let at = Transform::new(turn, Vec3::new(0.03, 0.12, 0.4 + half - 0.01));
            let c = deepest(&slots(&a, Transform::identity(), &b, at));
            assert!((c.distance + 0.01).abs() < 1e-9, "{:?}: {c:?}", b.kind);
            assert!((c.normal.z - 1.0).abs() < 1e-9 && c.position.x.abs() < 1e-6, "{:?}: {c:?}", b.kind);
        }
    }
}

#[test]
fn lanes_agree_with_scalars() {
    let (values, rock) = (hills(), rock());
    for kind in SOLIDS {
        for four in configurations(3, kind).chunks_exact(4) {
            let at = |i: usize| f64x4::from_lanes(|lane| four[lane][i]);
            let v = |i: usize| Vec3::new(at(i), at(i + 1), at(i + 2));
            let turn = |i: usize| Quat::new(at(i), at(i + 1), at(i + 2), at(i + 3));
            let (a, b) = (terrain(v(7), &values), solid(kind, v(17), &rock));
            let wide = slots(&a, pose(v(0), turn(3)), &b, pose(v(10), turn(13)));
            for (lane, x) in four.iter().enumerate() {
                let v = |i: usize| Vec3::new(x[i], x[i + 1], x[i + 2]);
                let turn = |i: usize| Quat::new(x[i], x[i + 1], x[i + 2], x[i + 3]);
                let (a, b) = (terrain(v(7), &values), solid(kind, v(17), &rock));
                let single = slots(&a, pose(v(0), turn(3)), &b, pose(v(10), turn(13)));
                for (wide, single) in wide.iter().zip(&single) {
                    let error = wide.position.map(|x| x.lane(lane)) - single.position;
                    let gap = wide.distance.lane(lane) - single.distance;
                    assert!(error.norm() < 1e-11 && gap.abs() < 1e-11, "{kind:?} {wide:?} {single:?}");
                }
            }
        }
    }
}

/// The deepest contact against MuJoCo's, made by `reference/collision.py`.
///
/// Round shapes agree in every case. MuJoCo measures each prism alone: the corner of a box or mesh finds a
/// shorter way out of one prism into its neighbor or over an edge than out of the ground. There ours must be
/// the deeper; the test counts these.
#[test]
fn the_deepest_contact_is_that_of_mujoco() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../golden/heightfield.json")).unwrap();
    let numbers = |v: &serde_json::Value| -> Vec<f64> {
        v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let vector = |v: &serde_json::Value| {
        let x = numbers(v);
        Vec3::new(x[0], x[1], x[2])
    };
    let values = numbers(&golden["values"]);
    let size = numbers(&golden["size"]);
    let rock: Vec<Vec3<f64>> = golden["mesh"].as_array().unwrap().iter().map(vector).collect();
    let hull = Hull::around(&rock);
    let grid = HeightGrid {
        rows: golden["rows"].as_u64().unwrap() as usize,
        columns: golden["columns"].as_u64().unwrap() as usize,
        values: &values,
        base: size[3],
    };
    let a = Collider::heightfield(Vec3::new(size[0], size[1], size[2]), grid);
    let cases = golden["cases"].as_array().unwrap();
    let mut agreeing = std::collections::BTreeMap::<&str, (usize, usize, f64)>::new();
    for case in cases {
        let name = case["kind"].as_str().unwrap();
        let sizes = numbers(&case["size"]);
        let s = |i: usize| sizes.get(i).copied().unwrap_or(0.0);
        let b = match name {
            "sphere" => Collider::sphere(s(0)),
            "capsule" => Collider::capsule(s(0), s(1)),
            "ellipsoid" => Collider::ellipsoid(Vec3::new(s(0), s(1), s(2))),
            "cylinder" => Collider::cylinder(s(0), s(1)),
            "box" => Collider::cuboid(Vec3::new(s(0), s(1), s(2))),
            _ => Collider::mesh(&rock, &hull),
        };
        let at = |i: usize| {
            let r = numbers(&case["rotations"][i]);
            let rotation = Mat3::new(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]);
            Transform::new(rotation, vector(&case["positions"][i]))
        };
        let our = deepest(&slots(&a, at(0), &b, at(1)));
        let (distance, normal) = (case["distance"].as_f64().unwrap(), vector(&case["normal"]));
        let (error, turn) = ((our.distance - distance).abs(), (our.normal - normal).norm());
        let entry = agreeing.entry(name).or_default();
        entry.1 += 1;
        // Elevations are single precision in MuJoCo.
        if error < 1e-6 && turn < 1e-4 {
            *entry = (entry.0 + 1, entry.1, entry.2.max(error));
        } else {
            assert!(our.distance < distance, "{name}: {our:?}, MuJoCo {distance} along {normal:?}");
        }
    }
    println!("agreeing, of, worst distance: {agreeing:?}");
    for (name, (same, all, _)) in agreeing {
        let least = match name {
            "box" | "mesh" => all / 3,
            "cylinder" => 3 * all / 4,
            _ => all,
        };
        assert!(same >= least, "{name}: {same} of {all}");
    }
}
