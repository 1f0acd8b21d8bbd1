//! URDF against Pinocchio: masses, placements, inertias and mass matrices of six robots.

use crate::kinematics::{Placement, mass_matrix, moves, placements};
use pullback_articulated::model::Model;
use pullback_math::{Mat3, SymMat3, Vec3};
use pullback_scene::urdf::{UrdfOptions, load};
use serde_json::Value;

const MODELS: [&str; 6] = ["arm", "cart_pole", "gripper", "quadruped", "floating", "carrier"];

fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/urdf_{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn read(name: &str, golden: &Value, fuse_fixed: bool) -> Model {
    let floating_base = golden["floating_base"].as_bool().unwrap();
    let options = UrdfOptions { floating_base, fuse_fixed, ..UrdfOptions::default() };
    load(format!("{}/tests/models/{name}.urdf", env!("CARGO_MANIFEST_DIR")), &options).unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn vector(v: &Value) -> Vec3<f64> {
    let n = numbers(v);
    Vec3::new(n[0], n[1], n[2])
}

fn matrix(v: &Value) -> Mat3<f64> {
    Mat3::from_rows(vector(&v[0]), vector(&v[1]), vector(&v[2]))
}

/// Coordinates in our order from those stored per joint.
fn coordinates(model: &Model, stored: &Value) -> Vec<f64> {
    let mut q = vec![0.0; model.nq];
    for joint in &model.joints {
        let values = numbers(&stored[&joint.name]);
        q[joint.q..joint.q + values.len()].copy_from_slice(&values);
    }
    q
}

/// For each velocity of ours, the row of the golden mass matrix.
fn rows(model: &Model, golden: &Value) -> Vec<usize> {
    let names: Vec<&str> =
        golden["velocities"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let mut rows = vec![0; model.nv];
    for joint in &model.joints {
        let first = names.iter().position(|n| *n == joint.name).unwrap();
        (0..joint.kind.velocities()).for_each(|k| rows[joint.v + k] = first + k);
    }
    rows
}

#[test]
fn fused_bodies_weigh_what_pinocchio_says() {
    let mut worst = 0.0f64;
    for name in MODELS {
        let golden = golden(name);
        let model = read(name, &golden, true);
        let total: f64 = model.bodies.iter().map(|b| b.mass).sum();
        worst = worst.max((total / golden["total_mass"].as_f64().unwrap() - 1.0).abs());
        for (joint, group) in golden["groups"].as_object().unwrap() {
            let body = &model.bodies[model.joints.iter().find(|j| j.name == *joint).unwrap().body];
            let inertia = SymMat3::from_mat3(matrix(&group["inertia"]));
            worst = worst.max((body.mass - group["mass"].as_f64().unwrap()).abs());
            worst = worst.max((body.com - vector(&group["com"])).norm());
            worst =
                worst.max((body.inertia - inertia).to_mat3().frobenius_squared().sqrt() / inertia.trace());
        }
    }
    println!("worst error of mass, center and inertia: {worst:e}");
    assert!(worst < 1e-14, "{worst:e}");
}

#[test]
fn links_stand_where_pinocchio_says() {
    let mut worst = 0.0f64;
    for name in MODELS {
        let golden = golden(name);
        for fuse in [false, true] {
            let model = read(name, &golden, fuse);
            for configuration in golden["configurations"].as_array().unwrap() {
                let bodies = placements(&model, &coordinates(&model, &configuration["q"]));
                for (link, expected) in configuration["links"].as_object().unwrap() {
                    let body = model.bodies.iter().position(|b| b.name == *link).map(|b| bodies[b]);
                    let site = || {
                        let site = model.sites.iter().find(|s| s.name == *link).unwrap();
                        bodies[site.body]
                            .then(Placement { position: site.position, orientation: site.orientation })
                    };
                    let here = body.unwrap_or_else(site);
                    worst = worst.max((here.position - vector(&expected["position"])).norm());
                    let turn = here.orientation.to_mat3() - matrix(&expected["rotation"]);
                    worst = worst.max(turn.frobenius_squared().sqrt());
                }
            }
        }
    }
    println!("worst error of a placement: {worst:e}");
    assert!(worst < 1e-14, "{worst:e}");
}

#[test]
fn centers_and_mass_matrices_are_pinocchios() {
    let (mut worst_com, mut worst_mass) = (0.0f64, 0.0f64);
    for name in MODELS {
        let golden = golden(name);
        for fuse in [false, true] {
            let model = read(name, &golden, fuse);
            let rows = rows(&model, &golden);
            for configuration in golden["configurations"].as_array().unwrap() {
                let q = coordinates(&model, &configuration["q"]);
                let moving: Vec<bool> = (0..model.bodies.len()).map(|b| moves(&model, b)).collect();
                let (mut mass, mut first) = (0.0, Vec3::zero());
                for (b, placed) in placements(&model, &q).iter().enumerate().filter(|(b, _)| moving[*b]) {
                    mass += model.bodies[b].mass;
                    first += placed.point(model.bodies[b].com) * model.bodies[b].mass;
                }
                worst_com = worst_com.max((first * (1.0 / mass) - vector(&configuration["com"])).norm());
                let ours = mass_matrix(&model, &q);
                let expected: Vec<Vec<f64>> =
                    configuration["mass_matrix"].as_array().unwrap().iter().map(numbers).collect();
                let size = (0..model.nv).map(|i| expected[i][i]).fold(0.0, f64::max);
                for i in 0..model.nv {
                    for j in 0..model.nv {
                        worst_mass = worst_mass.max((ours[i][j] - expected[rows[i]][rows[j]]).abs() / size);
                    }
                }
            }
        }
    }
    println!("worst error of the center of mass {worst_com:e}, of a mass matrix {worst_mass:e}");
    assert!(worst_com < 1e-14 && worst_mass < 1e-14);
}
