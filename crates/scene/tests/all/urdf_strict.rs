//! URDF by hand: what is read, what is refused and at which line, and files meant to do harm.

use std::path::Path;

use proptest::prelude::*;
use pullback_articulated::model::{ContactModel, JointKind, Model, Shape};
use pullback_math::Vec3;
use pullback_scene::ImportError;
use pullback_scene::urdf::{UrdfOptions, load, parse};

const INERTIAL: &str = r#"<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>"#;

fn read(text: &str) -> Result<Model, ImportError> {
    parse(text, "r.urdf", Path::new("."), &UrdfOptions::default())
}

/// A robot of links with masses and the given further elements.
fn robot(links: &[&str], more: &str) -> String {
    let links: String = links.iter().map(|l| format!("<link name=\"{l}\">{INERTIAL}</link>\n")).collect();
    format!("<robot name=\"r\">\n{links}{more}\n</robot>")
}

fn joint(name: &str, kind: &str, parent: &str, child: &str, more: &str) -> String {
    format!(
        "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/>{more}</joint>\n"
    )
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn joints_become_what_they_are() {
    let limit = "<limit lower=\"-1\" upper=\"2\" effort=\"3\" velocity=\"4\"/>";
    let more =
        joint("h", "revolute", "a", "b", &format!("{limit}<axis xyz=\"0 0 2\"/><dynamics damping=\"0.5\"/>"))
            + &joint("s", "prismatic", "b", "c", limit)
            + &joint("p", "planar", "c", "d", "<axis xyz=\"0 0 1\"/>")
            + &joint("m", "continuous", "d", "e", "<mimic joint=\"h\" multiplier=\"-2\"/>");
    let options = UrdfOptions { effort_motors: true, ..UrdfOptions::default() };
    let model = parse(&robot(&["a", "b", "c", "d", "e"], &more), "r.urdf", Path::new("."), &options).unwrap();
    let kinds: Vec<_> = model.joints.iter().map(|j| (j.name.as_str(), j.kind)).collect();
    use JointKind::{Hinge, Slide};
    assert_eq!(
        kinds,
        [("h", Hinge), ("s", Slide), ("p_x", Slide), ("p_y", Slide), ("p", Hinge), ("m", Hinge)]
    );
    assert_eq!((model.joints[0].axis, model.joints[0].damping), (Vec3::new(0.0, 0.0, 1.0), 0.5));
    assert_eq!((model.joints[0].range, model.joints[5].range), (Some((-1.0, 2.0)), None));
    let efforts: Vec<_> = model.joints.iter().map(|j| j.actuator_force_range).collect();
    assert_eq!(efforts, [Some((-3.0, 3.0)), Some((-3.0, 3.0)), None, None, None, None]);
    assert_eq!(model.options.contact_model, ContactModel::Convex);
    assert_eq!(model.joints[1].axis, Vec3::new(1.0, 0.0, 0.0));
    assert_eq!(
        (model.joints[2].axis, model.joints[3].axis),
        (Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0))
    );
    let mimic = model.mimics[0];
    assert_eq!((mimic.joint, mimic.of, mimic.multiplier, mimic.offset), (5, 0, -2.0, 0.0));
    let motors: Vec<_> = model.actuators.iter().map(|a| (a.name.as_str(), a.force_range)).collect();
    assert_eq!(motors, [("h", Some((-3.0, 3.0))), ("s", Some((-3.0, 3.0)))]);
}

#[test]
fn shapes_have_half_their_written_sizes() {
    let collision = |shape: &str| format!("<collision><geometry>{shape}</geometry></collision>");
    let shapes = collision("<box size=\"2 4 6\"/>")
        + &collision("<sphere radius=\"2\"/>")
        + &collision("<cylinder radius=\"1\" length=\"4\"/>")
        + &collision("<capsule radius=\"1\" length=\"4\"/>");
    let model = read(&format!("<robot><link name=\"a\">{shapes}</link></robot>")).unwrap();
    let shapes: Vec<_> = model.geoms.iter().map(|g| g.shape).collect();
    let expected = [
        Shape::Box { half: Vec3::new(1.0, 2.0, 3.0) },
        Shape::Sphere { radius: 2.0 },
        Shape::Cylinder { radius: 1.0, half_length: 2.0 },
        Shape::Capsule { radius: 1.0, half_length: 2.0 },
    ];
    assert_eq!(shapes, expected);
    assert_eq!(model.geoms[3].name, "a/collision3");
}

#[test]
fn fusing_adds_by_the_parallel_axes() {
    let more =
        joint("f", "fixed", "a", "b", "<origin xyz=\"2 0 0\"/>") + &joint("h", "continuous", "b", "c", "");
    let options = UrdfOptions { fuse_fixed: true, ..UrdfOptions::default() };
    let model = parse(&robot(&["a", "b", "c"], &more), "r.urdf", Path::new("."), &options).unwrap();
    let body = &model.bodies[1];
    // Two unit spheres of inertia 1 at x = 0 and 2: about the middle, 1 + 1 and 1 + 1 + 2·1².
    assert_eq!((body.mass, body.com), (2.0, Vec3::new(1.0, 0.0, 0.0)));
    assert_eq!((body.inertia.xx, body.inertia.yy, body.inertia.zz), (2.0, 4.0, 4.0));
    assert_eq!((model.sites[0].name.as_str(), model.sites[0].position), ("b", Vec3::new(2.0, 0.0, 0.0)));
    assert_eq!((model.bodies[2].parent, model.bodies[2].position), (1, Vec3::new(2.0, 0.0, 0.0)));
}

#[test]
fn mesh_files_are_found_scaled_and_read_once() {
    let package =
        std::env::temp_dir().join(format!("pullback-urdf-{}", std::process::id())).join("robot_parts");
    std::fs::create_dir_all(package.join("meshes")).unwrap();
    std::fs::create_dir_all(package.join("urdf")).unwrap();
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.1 0.1 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    std::fs::write(package.join("meshes/tip.obj"), obj).unwrap();
    let mesh = |name: &str, scale: &str| {
        format!("<collision><geometry><mesh filename=\"{name}\" {scale}/></geometry></collision>\n")
    };
    let found = mesh("package://robot_parts/meshes/tip.obj", "")
        + &mesh("../meshes/tip.obj", "scale=\"2 2 2\"")
        + &mesh("package://robot_parts/meshes/tip.obj", "scale=\"1 1 1\"");
    let file = package.join("urdf/r.urdf");
    std::fs::write(&file, format!("<robot name=\"r\"><link name=\"a\">{found}</link></robot>")).unwrap();
    let model = load(&file, &UrdfOptions::default()).unwrap();
    assert_eq!((model.geoms.len(), model.meshes.len()), (3, 2));
    assert_eq!(model.meshes[0].hull.corners, [0, 1, 2, 3]);
    assert_eq!(model.meshes[1].vertices[1], Vec3::new(2.0, 0.0, 0.0));
    assert_eq!(model.geoms[2].shape, Shape::Mesh { mesh: 0 });

    let lost =
        format!("<robot name=\"r\">\n<link name=\"a\">\n{}</link></robot>", mesh("package://none/x.stl", ""));
    let message = parse(&lost, "r.urdf", &package, &UrdfOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("r.urdf:3:1: mesh `package://none/x.stl` is not found"), "{message}");
    assert!(
        message.contains("--package none=DIR") && message.contains("--allow-ignored collision"),
        "{message}"
    );
    let blind = UrdfOptions { collisions: false, ..UrdfOptions::default() };
    let overlooking = UrdfOptions { allow: vec!["collision".into()], ..UrdfOptions::default() };
    for options in [blind, overlooking] {
        assert!(parse(&lost, "r.urdf", &package, &options).unwrap().geoms.is_empty());
    }
    std::fs::remove_dir_all(package.parent().unwrap()).unwrap();
}

#[test]
fn trees_that_are_none_are_refused_with_their_line() {
    let fixed = |name: &str, a: &str, b: &str| joint(name, "fixed", a, b, "");
    let cases = [
        (robot(&["a", "b"], ""), "r.urdf:3:1: `a` and `b` are both roots"),
        (robot(&["a"], &fixed("j", "a", "x")), "r.urdf:3:1: joint `j` names the link `x`"),
        (robot(&["a"], &fixed("j", "x", "a")), "r.urdf:3:1: joint `j` names the link `x`"),
        (robot(&["a", "b"], &(fixed("j", "a", "b") + &fixed("k", "b", "a"))), "leave no root"),
        (robot(&["a"], &fixed("j", "a", "a")), "leave no root"),
        (
            robot(&["a", "b", "c"], &(fixed("j", "b", "c") + &fixed("k", "c", "b"))),
            "r.urdf:3:1: link `b` is part of a loop",
        ),
        (
            robot(&["a", "b", "c"], &(fixed("j", "a", "b") + &fixed("k", "c", "b"))),
            "r.urdf:6:1: link `b` is the child of two joints",
        ),
        (robot(&["a", "a"], ""), "r.urdf:3:1: two links are called `a`"),
        (
            robot(&["a", "b", "c"], &(fixed("j", "a", "b") + &fixed("j", "a", "c"))),
            "r.urdf:6:1: two joints are called `j`",
        ),
        (robot(&["a", "world"], &fixed("j", "a", "world")), "must be the root"),
        ("<robot name=\"r\"/>".into(), "no link"),
        ("<model/>".into(), "not a `robot`"),
        ("<robot name=\"r\">".into(), "r.urdf:1:"),
        (String::new(), "r.urdf:1:"),
    ];
    for (text, expected) in cases {
        assert!(message(&text).contains(expected), "{} is not {expected}", message(&text));
    }
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let between = |kind: &str, more: &str| robot(&["a", "b"], &joint("j", kind, "a", "b", more));
    let link = |inside: &str| format!("<robot name=\"r\"><link name=\"a\">{inside}</link></robot>");
    let inertial = |mass: &str, xx: &str| {
        link(&format!(
            "<inertial><mass value=\"{mass}\"/><inertia ixx=\"{xx}\" iyy=\"1\" izz=\"1\"/></inertial>"
        ))
    };
    let shape = |s: &str| link(&format!("<collision><geometry>{s}</geometry></collision>"));
    let cases = [
        (between("revolute", ""), "need a `limit`"),
        (between("twisty", ""), "type `twisty`"),
        (between("continuous", "<axis xyz=\"0 0 0\"/>"), "must not be zero"),
        (between("continuous", "<axis xyz=\"0 1\"/>"), "holds 2 numbers where 3 belong"),
        (between("continuous", "<axis xyz=\"0 1 nan\"/>"), "`xyz`: nan is not a number of size"),
        (between("continuous", "<dynamics damping=\"-1\"/>"), "negative"),
        (between("continuous", "<dynamics friction=\"-1\"/>"), "is negative"),
        (between("continuous", "<mimic joint=\"x\"/>"), "cannot mimic `x`"),
        (between("continuous", "<mimic joint=\"j\"/>"), "cannot mimic `j`"),
        (inertial("-1", "1"), "negative"),
        (inertial("one", "1"), "`one` is not a number"),
        (link("<inertial><mass value=\"1\"/></inertial>"), "needs a `inertia`"),
        (shape("<box size=\"1 1 0\"/>"), "positive"),
        (shape("<box/>"), "needs `size`"),
        (shape("<sphere radius=\"-1\"/>"), "positive"),
        (shape("<mesh filename=\"m.stl\" scale=\"1 0 1\"/>"), "must not be zero"),
        (shape(""), "exactly one shape"),
        (shape("<box size=\"1 1 1\"/><sphere radius=\"1\"/>"), "exactly one shape"),
    ];
    for (text, expected) in cases {
        assert!(message(&text).contains(expected), "{} is not {expected}", message(&text));
    }
    let loose = UrdfOptions { allow: vec!["mimic".into()], ..UrdfOptions::default() };
    let follower = between("continuous", "<mimic joint=\"x\"/>");
    assert!(parse(&follower, "r.urdf", Path::new("."), &loose).unwrap().mimics.is_empty());
    let circle = joint("j", "continuous", "a", "b", "<mimic joint=\"k\"/>")
        + &joint("k", "continuous", "b", "c", "<mimic joint=\"j\"/>");
    assert!(message(&robot(&["a", "b", "c"], &circle)).contains("mimics itself"));
    assert!(message(&inertial("1", "1e300")).contains("size up to"));
    let huge = robot(&["a", "b"], &joint("j", "fixed", "a", "b", "<origin xyz=\"1e200 0 0\"/>"));
    let fused = UrdfOptions { fuse_fixed: true, ..UrdfOptions::default() };
    assert!(parse(&huge, "r.urdf", Path::new("."), &fused).unwrap_err().to_string().contains("size up to"));
    let floating = UrdfOptions { floating_base: true, ..UrdfOptions::default() };
    let world = robot(&["world"], "");
    assert!(
        parse(&world, "r.urdf", Path::new("."), &floating).unwrap_err().to_string().contains("cannot float")
    );
}

#[test]
fn hostile_files_end_in_errors() {
    // Entities that would grow to gigabytes.
    let bomb = "<!DOCTYPE r [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;\">]><robot name=\"&b;\"/>";
    assert!(read(bomb).is_err());
    // A hundred thousand nested elements, closed and not, also where elements are ignored.
    let deep = "<x>".repeat(100_000);
    assert!(read(&deep).is_err());
    let nested = format!("<robot name=\"r\"><gazebo>{deep}{}</gazebo></robot>", "</x>".repeat(100_000));
    assert!(read(&nested).is_err());
    assert!(read(&"<x/>".repeat(1_000_000)).is_err());
    let many = format!("<robot>{}</robot>", "<gazebo/>".repeat(600_000));
    assert!(message(&many).contains("limit"), "{}", message(&many));
    // A chain of ten thousand links is long, not hostile.
    let names: Vec<String> = (0..10_000).map(|i| format!("l{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let chain: String =
        names.windows(2).map(|w| joint(&format!("j{}", w[1]), "fixed", w[0], w[1], "")).collect();
    assert_eq!(read(&robot(&names, &chain)).unwrap().bodies.len(), 10_001);
    assert!(load("missing.urdf", &UrdfOptions::default()).unwrap_err().to_string().contains("missing.urdf"));
}

#[test]
fn cut_files_never_panic() {
    for name in ["arm", "gripper", "floating"] {
        let path = format!("{}/tests/models/{name}.urdf", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for end in 0..text.trim_end().len() {
            assert!(read(&text[..end]).is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn mutated_files_never_panic(at in 0usize..4000, byte in 32u8..127, cut in 0usize..40) {
        let text = include_str!("../models/arm.urdf");
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        let broken = format!("{}{}{}", &text[..at], byte as char, &text[end..]);
        for fuse_fixed in [false, true] {
            let _ = parse(&broken, "r.urdf", Path::new("."), &UrdfOptions { fuse_fixed, ..UrdfOptions::default() });
        }
    }
}
