//! Contacts of the convex solver, and of planes with meshes, against MuJoCo; `reference/convex.py` made the
//! golden file.
//!
//! Our slots within the margin must be MuJoCo's contacts: as many, each at one of its places. Where both
//! shapes are polyhedra, or rounded ones, contacts are exact. Elsewhere MuJoCo stops at an iterate: a
//! distance found to ε leaves a curved normal, and points on a rim, to √ε.

use pullback_collision::{Collider, Contact, Hull, Kind, MAX_CONTACTS, collide};
use pullback_math::{Mat3, Transform, Vec3};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn vector(value: &Value) -> Vec3<f64> {
    let x = numbers(value);
    Vec3::new(x[0], x[1], x[2])
}

fn kind(name: &str) -> Kind {
    match name {
        "plane" => Kind::Plane,
        "sphere" => Kind::Sphere,
        "capsule" => Kind::Capsule,
        "ellipsoid" => Kind::Ellipsoid,
        "cylinder" => Kind::Cylinder,
        "box" => Kind::Box,
        "mesh" => Kind::Mesh,
        other => panic!("no kind {other}"),
    }
}

/// Vertices, and the hull with its triangles in MuJoCo's order.
fn mesh(value: &Value) -> (Vec<Vec3<f64>>, Hull) {
    let vertices: Vec<_> = value["vertices"].as_array().unwrap().iter().map(vector).collect();
    let triangle = |t: &Value| [0, 1, 2].map(|i| t[i].as_u64().unwrap() as usize);
    let triangles: Vec<_> = value["triangles"].as_array().unwrap().iter().map(triangle).collect();
    let hull = Hull::new(&vertices, &triangles);
    (vertices, hull)
}

/// Largest errors of distance (m), normal and position (m).
fn limits(a: Kind, b: Kind, margin: f64) -> [f64; 3] {
    let curved = |kind| matches!(kind, Kind::Ellipsoid | Kind::Cylinder);
    match (curved(a) || curved(b), margin > 0.0) {
        (true, _) => [1e-6, 2e-5, 1e-5],
        // A margin rounds the shapes that MuJoCo's solver sees where they overlap.
        (false, true) => [1e-8, 1e-8, 1e-6],
        (false, false) => [1e-12; 3],
    }
}

#[test]
fn contacts_of_convex_pairs_are_those_of_mujoco() {
    let golden: Value = serde_json::from_str(include_str!("../golden/convex.json")).unwrap();
    assert!(golden["source"].as_str().unwrap().starts_with("mujoco "));
    let meshes: Vec<_> = golden["meshes"].as_array().unwrap().iter().map(mesh).collect();
    let mut pairs = std::collections::BTreeMap::<_, (usize, usize, [f64; 3])>::new();
    let mut failures = Vec::new();
    for case in golden["cases"].as_array().unwrap() {
        let margin = case["margin"].as_f64().unwrap();
        let side = |i: usize| {
            let size = numbers(&case["sizes"][i]);
            let at = |j: usize| size.get(j).copied().unwrap_or(0.0);
            let shape = match kind(case["kinds"][i].as_str().unwrap()) {
                Kind::Mesh => {
                    let (vertices, hull) = &meshes[case["meshes"][i].as_u64().unwrap() as usize];
                    Collider::mesh(vertices, hull)
                }
                kind => Collider::new(kind, Vec3::new(at(0), at(1), at(2))),
            };
            let r = numbers(&case["rotations"][i]);
            let rotation = Mat3::new(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]);
            let pose = Transform::new(rotation, vector(&case["positions"][i]));
            (Collider { reach: 0.5 * margin, ..shape }, pose)
        };
        let ((a, pose_a), (b, pose_b)) = (side(0), side(1));
        let mut slots = [Contact::inactive(); MAX_CONTACTS];
        let count = collide(&a, pose_a, &b, pose_b, &mut slots);
        let mut ours: Vec<_> = slots[..count].iter().filter(|c| c.distance <= margin).collect();
        let theirs = case["contacts"].as_array().unwrap();
        let (cases, contacts, worst) = pairs.entry((a.kind, b.kind, margin > 0.0)).or_default();
        *cases += 1;
        *contacts += theirs.len();
        if ours.len() != theirs.len() {
            failures.push(format!("{:?}-{:?}: {} for {} contacts", a.kind, b.kind, ours.len(), theirs.len()));
            continue;
        }
        for their in theirs {
            let position = vector(&their["position"]);
            let away = |c: &Contact<f64>| (c.position - position).norm();
            let nearest = (0..ours.len()).min_by(|i, j| away(ours[*i]).total_cmp(&away(ours[*j]))).unwrap();
            let our = ours.swap_remove(nearest);
            let errors = [
                (our.distance - their["distance"].as_f64().unwrap()).abs(),
                (our.normal - vector(&their["normal"])).norm(),
                away(our),
            ];
            for ((worst, error), limit) in worst.iter_mut().zip(errors).zip(limits(a.kind, b.kind, margin)) {
                *worst = worst.max(error);
                if error > limit {
                    failures.push(format!("{:?}-{:?}, margin {margin}: {errors:?}", a.kind, b.kind));
                }
            }
        }
    }
    for ((a, b, margin), (cases, contacts, worst)) in &pairs {
        println!(
            "{a:?}-{b:?}{}: {contacts} contacts of {cases} poses, distance {:.1e}, normal {:.1e}, position {:.1e}",
            if *margin { " with margin" } else { "" },
            worst[0],
            worst[1],
            worst[2]
        );
        assert!(*cases >= 16);
    }
    assert!(pairs.len() == 30 && failures.is_empty(), "{failures:#?}");
}
