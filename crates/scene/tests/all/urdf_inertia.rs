//! Inertias that no body has: refused by name, corrected on request.

use std::path::Path;

use pullback_articulated::model::Model;
use pullback_math::{Quat, SymMat3, Vec3, symmetric_eigenvalues};
use pullback_scene::ImportError;
use pullback_scene::urdf::{UrdfOptions, parse};

const FLOATING: UrdfOptions = UrdfOptions {
    floating_base: true,
    fuse_fixed: false,
    collisions: true,
    effort_motors: false,
    fix_inertia: false,
    packages: Vec::new(),
    search: Vec::new(),
    allow: Vec::new(),
    confined_to: Vec::new(),
};

fn fixing(options: UrdfOptions) -> UrdfOptions {
    UrdfOptions { fix_inertia: true, ..options }
}

fn read(text: &str, options: &UrdfOptions) -> Result<Model, ImportError> {
    parse(text, "r.urdf", Path::new("."), options)
}

fn tensor(mass: f64, i: SymMat3<f64>) -> String {
    let SymMat3 { xx, xy, xz, yy, yz, zz } = i;
    format!(
        "<inertial><mass value=\"{mass}\"/><inertia ixx=\"{xx}\" ixy=\"{xy}\" ixz=\"{xz}\" iyy=\"{yy}\" \
         iyz=\"{yz}\" izz=\"{zz}\"/></inertial>"
    )
}

fn moments(x: f64, y: f64, z: f64) -> SymMat3<f64> {
    SymMat3::diagonal(Vec3::new(x, y, z))
}

fn alone(inertia: SymMat3<f64>) -> String {
    format!("<robot name=\"r\">\n<link name=\"a\">{}</link></robot>", tensor(2.0, inertia))
}

#[test]
fn an_impossible_inertia_is_refused_where_it_moves() {
    for (inertia, why) in [
        (moments(-1.0, 1.0, 1.0), "has the negative principal moment -1e0"),
        (moments(1.0, 1.0, 3.0), "has principal moments 3e0, 1e0, 1e0"),
        (moments(1e30, 1.0, 1.0), "above the sum of the others"),
    ] {
        let text = alone(inertia);
        let message = read(&text, &FLOATING).unwrap_err().to_string();
        assert!(message.starts_with("r.urdf:2:1: link `a` ") && message.contains(why), "{message}");
        assert!(message.contains("--fix-inertia"), "{message}");
        // Fixed to the world it acts on nothing.
        assert!(read(&text, &UrdfOptions::default()).unwrap().notes.is_empty());
    }
    // A violation in the last digits that a file is written with is none; a disk has it exactly.
    for z in [2.000001, 2.0] {
        assert!(read(&alone(moments(1.0, 1.0, z)), &FLOATING).is_ok());
    }
}

#[test]
fn the_correction_is_the_nearest_inertia_of_a_body() {
    let close = |a: SymMat3<f64>, b: SymMat3<f64>| (a - b).to_mat3().frobenius_squared().sqrt() < 1e-14;
    let turned = Quat::from_axis_angle(Vec3::new(0.6, 0.0, 0.8), 0.7).to_mat3();
    for (written, expected) in [
        // Σ = (1.5, 1.5, −0.5): the largest moment stays, the others rise by half of what is missing.
        (moments(1.0, 1.0, 3.0), moments(1.5, 1.5, 3.0)),
        (moments(0.0, 0.0, 1.0), moments(0.5, 0.5, 1.0)),
        // Σ = (−0.5, −0.5, 2.5): a rod along z.
        (moments(2.0, 2.0, -1.0), moments(2.5, 2.5, 0.0)),
        (moments(2.0, 3.0, 4.0), moments(2.0, 3.0, 4.0)),
    ] {
        let text = alone(written.congruence(turned)).replace(
            "<link",
            "<link name=\"world\"/><joint name=\"j\" \
            type=\"prismatic\"><parent link=\"world\"/><child link=\"a\"/><limit upper=\"1\"/></joint><link",
        );
        let model = read(&text, &fixing(UrdfOptions::default())).unwrap();
        assert!(close(model.bodies[1].inertia, expected.congruence(turned)), "{:?}", model.bodies[1].inertia);
        assert_eq!((model.bodies[1].mass, model.bodies[1].com), (2.0, Vec3::zero()));
        let changed = written != expected;
        assert_eq!(model.notes.len(), usize::from(changed));
        assert!(!changed || model.notes[0].contains("--fix-inertia") && model.notes[0].ends_with(": `a`"));
        // Once corrected it is accepted.
        let again = alone(model.bodies[1].inertia);
        if symmetric_eigenvalues(expected).z > 0.0 {
            assert!(read(&again, &FLOATING).is_ok());
        }
    }
}

#[test]
fn a_joint_needs_something_to_move() {
    let robot = |kind: &str, base: &str, moved: &str| {
        let limit = if kind == "prismatic" { "<limit upper=\"1\"/>" } else { "" };
        format!(
            "<robot name=\"r\"><link name=\"a\">{base}</link>\n<link name=\"b\">{moved}</link>\n<link name=\"tip\"/>\
             <joint name=\"j\" type=\"{kind}\"><parent link=\"a\"/><child link=\"b\"/>{limit}</joint>\
             <joint name=\"k\" type=\"fixed\"><parent link=\"b\"/><child link=\"tip\"/></joint></robot>"
        )
    };
    let point = |x: f64, y: f64| {
        let inertial = tensor(1.0, SymMat3::zero());
        inertial.replace("<mass", &format!("<origin xyz=\"{x} {y} 0\"/><mass"))
    };
    let fixed = UrdfOptions::default();
    let refused = [
        (robot("continuous", "", ""), &fixed, "which has no mass"),
        (robot("prismatic", "", ""), &fixed, "which has no mass"),
        // A point on the axis x of the hinge; one on a ball joint; one that floats.
        (robot("continuous", "", &point(0.3, 0.0)), &fixed, "which has no inertia about its axis"),
        (robot("spherical", "", &point(0.3, 0.0)), &fixed, "which has no inertia about its axis"),
        (robot("fixed", &point(0.0, 0.1), ""), &FLOATING, "which has no inertia about its axis"),
    ];
    for (text, options, why) in refused {
        let message = read(&text, options).unwrap_err().to_string();
        assert!(message.contains(why) && message.contains("--fix-inertia"), "{message}");
        let model = read(&text, &fixing(options.clone())).unwrap();
        let body = &model.bodies[model.joints[0].body];
        assert!(body.mass >= 1e-3 && body.inertia == SymMat3::identity() * 1e-6, "{body:?}");
        assert!(model.notes[0].contains("had no mass or no inertia"), "{:?}", model.notes);
    }
    // A point beside the axis, and massless links on fixed joints, are fine.
    let fine = read(&robot("continuous", "", &point(0.3, 0.2)), &fixed).unwrap();
    assert!(fine.notes.is_empty());
    assert_eq!(fine.bodies[3].mass, 0.0);
}
