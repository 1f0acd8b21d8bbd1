//! URDF as simulators and exporters write it: what is honored, what is noted, where files are found.

use std::path::{Path, PathBuf};

use pullback_articulated::model::{JointKind, Model, Shape};
use pullback_math::Vec3;
use pullback_scene::ImportError;
use pullback_scene::urdf::{UrdfOptions, load, parse};

use crate::kinematics::placements;

const INERTIAL: &str = r#"<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>"#;
const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\nf 1 2\n";

fn read_with(text: &str, options: &UrdfOptions) -> Result<Model, ImportError> {
    parse(text, "r.urdf", Path::new("."), options)
}

fn read(text: &str) -> Model {
    read_with(text, &UrdfOptions::default()).unwrap()
}

fn allowing(names: &[&str]) -> UrdfOptions {
    UrdfOptions { allow: names.iter().map(|n| n.to_string()).collect(), ..UrdfOptions::default() }
}

/// Links `a`, `b`, ... of 1 kg, each on the one before it, by joints of these types with these contents; the
/// joint of `b` is called `jb`.
fn chain(joints: &[(&str, &str)]) -> String {
    let name = |i: usize| char::from(b'a' + i as u8);
    let mut text = format!("<robot name=\"r\">\n<link name=\"a\">{INERTIAL}</link>\n");
    for (i, (kind, more)) in joints.iter().enumerate() {
        let (parent, child) = (name(i), name(i + 1));
        text += &format!(
            "<link name=\"{child}\">{INERTIAL}</link>\n<joint name=\"j{child}\" type=\"{kind}\">\
             <parent link=\"{parent}\"/><child link=\"{child}\"/>{more}</joint>\n"
        );
    }
    text + "</robot>"
}

fn link(inside: &str) -> String {
    format!("<robot name=\"r\"><link name=\"a\">{inside}</link></robot>")
}

#[test]
fn what_belongs_to_other_programs_is_noted_once_with_its_place() {
    let text = chain(&[
        ("continuous", "<dynamics friction=\"1\" K=\"7000\"/><self_filter/>"),
        ("continuous", "<axis xyz=\"0 1 0\"/><axis xyz=\"0 0 1\"/><self_filter/>words"),
    ]);
    let model = read(&text);
    let expected = [
        (4, "<self_filter> in <joint> is no part of URDF and is not used (2 times)"),
        (4, "<dynamics> `K` is no part of URDF and is not used"),
        (6, "text in <joint> is not used"),
        (6, "<axis> stands here a second time; the first is used"),
    ];
    assert_eq!(model.notes.len(), expected.len(), "{:#?}", model.notes);
    for (line, sentence) in expected {
        let noted =
            |n: &&String| n.starts_with(&format!("r.urdf:{line}:")) && n.ends_with(&format!(": {sentence}"));
        assert_eq!(model.notes.iter().filter(noted).count(), 1, "{sentence} in {:#?}", model.notes);
    }
    assert_eq!(model.joints[0].frictionloss, 1.0);
    assert_eq!(model.joints[1].axis, Vec3::new(0.0, 1.0, 0.0));
    let told = read_with(&text, &allowing(&["self_filter", "dynamics.K"])).unwrap();
    assert_eq!(told.notes.len(), 2, "{:#?}", told.notes);
    // More kinds than anyone would read.
    let kinds: String = (0..100).map(|i| format!("<x{i}/>")).collect();
    let notes = read(&link(&kinds)).notes;
    assert_eq!((notes.len(), notes[40].as_str()), (41, "and 60 more notes"));
}

#[test]
fn what_says_nothing_about_motion_is_not_even_noted() {
    let safety = "<safety_controller k_velocity=\"1\" soft_lower_limit=\"0\"/><calibration rising=\"0\"/>\
                  <limit lower=\"-1\" upper=\"1\" effort=\"0\" velocity=\"0\"/>";
    let text = chain(&[("revolute", safety)]);
    let beside = "<transmission name=\"t\"><x/></transmission><gazebo><mu1>1</mu1></gazebo><sensor name=\"s\"/>\
                  <ros2_control/><material name=\"m\"/>";
    let text = text.replace("</robot>", &format!("{beside}</robot>"));
    let lost = "<visual><geometry><mesh filename=\"package://nowhere/lost.dae\"/></geometry></visual>";
    let text = text.replace("<link name=\"a\">", &format!("<link name=\"a\">{lost}"));
    let model = read(&text);
    assert!(model.notes.is_empty(), "{:?}", model.notes);
    assert_eq!((model.joints[0].range, model.joints[0].actuator_force_range), (Some((-1.0, 1.0)), None));
}

#[test]
fn ranges_that_are_none_leave_joints_free() {
    for limit in ["lower=\"1\" upper=\"-1\"", "lower=\"0\" upper=\"0\"", "effort=\"3\""] {
        let model = read(&chain(&[("revolute", &format!("<limit {limit}/>"))]));
        assert_eq!((model.joints[0].range, model.notes.len()), (None, 1), "{limit}");
    }
    let ranged = read(&chain(&[("continuous", "<limit lower=\"-1\" upper=\"1\"/>")]));
    assert_eq!(ranged.joints[0].range, None);
    assert!(ranged.notes[0].ends_with("the range in <limit> of a continuous joint is not used"));
}

#[test]
fn the_old_name_of_dynamics_is_honored() {
    let model = read(&chain(&[("continuous", "<joint_properties damping=\"2\" friction=\"3\"/>")]));
    assert_eq!((model.joints[0].damping, model.joints[0].frictionloss), (2.0, 3.0));
    let both = "<joint_properties damping=\"2\"/><dynamics damping=\"5\"/>";
    let model = read(&chain(&[("continuous", both)]));
    assert_eq!((model.joints[0].damping, model.notes.len()), (5.0, 1));
}

#[test]
fn friction_of_bullets_contacts_is_honored() {
    let contact = |inside: &str| {
        let shape = "<collision><geometry><sphere radius=\"1\"/></geometry></collision>";
        read(&link(&format!("<contact>{inside}</contact>{shape}")))
    };
    let lateral = contact("<lateral_friction value=\"0.7\"/>");
    assert_eq!((lateral.geoms[0].friction, lateral.geoms[0].contact.condim), ([0.7, 0.005, 0.0001], 3));
    let spinning = contact("<spinning_friction value=\"0.2\"/><rolling_friction value=\"0\"/>");
    assert_eq!((spinning.geoms[0].friction, spinning.geoms[0].contact.condim), ([1.0, 0.2, 0.0], 4));
    let rolling = contact("<rolling_friction value=\"0.1\"/>");
    assert_eq!((rolling.geoms[0].friction[2], rolling.geoms[0].contact.condim), (0.1, 6));
    let solver = contact("<stiffness value=\"30000\"/><damping value=\"1000\"/><friction_anchor/>");
    assert_eq!(solver.notes.len(), 3);
    assert!(solver.notes[0].contains("<stiffness> in <contact> is Bullet's"), "{:?}", solver.notes);
    let negative = link("<contact><lateral_friction value=\"-1\"/></contact>");
    assert!(read_with(&negative, &UrdfOptions::default()).unwrap_err().message.contains("negative"));
}

#[test]
fn planes_and_unknown_shapes() {
    let shape = |s: &str| link(&format!("{INERTIAL}<collision><geometry>{s}</geometry></collision>"));
    let model = read(&shape("<plane normal=\"2 0 0\"/>"));
    let plane = &model.geoms[0];
    assert_eq!(plane.shape, Shape::Plane);
    assert!((plane.orientation.rotate(Vec3::new(0.0, 0.0, 1.0)) - Vec3::new(1.0, 0.0, 0.0)).norm() < 1e-15);
    let down = read(&shape("<plane normal=\"0 0 -1\"/>")).geoms[0].orientation;
    assert!((down.rotate(Vec3::new(0.0, 0.0, 1.0)) - Vec3::new(0.0, 0.0, -1.0)).norm() < 1e-15);
    let floating = UrdfOptions { floating_base: true, ..UrdfOptions::default() };
    let refused = read_with(&shape("<plane normal=\"0 0 1\"/>"), &floating).unwrap_err();
    assert!(refused.message.contains("a plane must be fixed"), "{refused}");
    let field = shape("<cdf filename=\"f.cdf\"/>");
    let refused = read_with(&field, &UrdfOptions::default()).unwrap_err();
    assert!(refused.message.contains("allow `cdf`"), "{refused}");
    assert!(read_with(&field, &allowing(&["cdf"])).unwrap().geoms.is_empty());
    let soft = "<robot name=\"r\"><link name=\"a\"/><deformable name=\"d\"/></robot>";
    assert!(read_with(soft, &UrdfOptions::default()).unwrap_err().message.contains("<deformable>"));
}

#[test]
fn joints_that_float_below_what_moves_are_slides_and_a_ball() {
    let text = chain(&[("continuous", ""), ("floating", "<origin xyz=\"0 0 1\"/>"), ("spherical", "")]);
    let model = read(&text);
    let kinds: Vec<_> = model.joints.iter().map(|j| (j.name.as_str(), j.kind)).collect();
    use JointKind::{Ball, Hinge, Slide};
    let expected =
        [("jb", Hinge), ("jc_x", Slide), ("jc_y", Slide), ("jc_z", Slide), ("jc", Ball), ("jd", Ball)];
    assert_eq!(kinds, expected);
    let under_world = read(&chain(&[("floating", "")]));
    assert_eq!(under_world.joints[0].kind, JointKind::Free);
}

#[test]
fn followers_of_fixed_joints_stand_still_at_their_offset() {
    let origin = "<origin xyz=\"1 0 0\" rpy=\"0 0 0.3\"/><axis xyz=\"0 0 1\"/>";
    let text = chain(&[
        ("fixed", "<mimic joint=\"jc\"/>"),
        ("continuous", &format!("{origin}<mimic joint=\"jb\" multiplier=\"5\" offset=\"0.5\"/>")),
        (
            "prismatic",
            "<limit lower=\"0\" upper=\"1\"/><mimic joint=\"jc\" multiplier=\"2\" offset=\"0.25\"/>",
        ),
        ("continuous", ""),
    ]);
    let model = read(&text);
    assert_eq!(model.joints.iter().map(|j| j.name.as_str()).collect::<Vec<_>>(), ["je"]);
    assert!(model.mimics.is_empty());
    assert_eq!(model.notes.len(), 3, "{:?}", model.notes);
    assert!(model.notes[1].ends_with("joint `jc` follows a fixed joint and stands still at 0.5"));
    // `c` is turned by 0.3 + 0.5 about z, `d` shifted by 2·0.5 + 0.25 along its x.
    let d = placements(&model, &model.reference_configuration())[4];
    let (sin, cos) = 0.8f64.sin_cos();
    assert!((d.position - Vec3::new(1.0 + 1.25 * cos, 1.25 * sin, 0.0)).norm() < 1e-15, "{:?}", d.position);
}

#[test]
fn xacro_is_told_from_urdf() {
    let cases = [
        "<robot xmlns:xacro=\"http://www.ros.org/wiki/xacro\"><xacro:include filename=\"x\"/></robot>",
        "<robot><xacro:macro name=\"m\"/></robot>",
        "<robot><link name=\"a\"><inertial><mass value=\"${m}\"/></inertial></link></robot>",
        "<robot><link name=\"a\"><collision><geometry><mesh filename=\"$(find p)/m.stl\"/></geometry></collision></link></robot>",
    ];
    for text in cases {
        let message = read_with(text, &UrdfOptions::default()).unwrap_err().to_string();
        assert!(message.contains("xacro") && message.contains("expand"), "{message}");
    }
    // What xacro leaves behind is URDF.
    let expanded =
        "<robot xmlns:xacro=\"http://www.ros.org/wiki/xacro\" name=\"r\"><link name=\"a\"/></robot>";
    assert_eq!(read(expanded).bodies.len(), 2);
}

#[test]
fn sloppy_xml_keeps_its_places() {
    let model = read("\n\n<?xml version=\"1.0\"?>\n<robot name=\"r\"><link name=\"a\"/></robot>\n\0\0");
    assert_eq!(model.bodies.len(), 2);
    let text = "\n<?xml version=\"1.0\"?>\n<robot name=\"r\">\n <link/></robot>";
    let message = read_with(text, &UrdfOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("r.urdf:4:2: <link>: needs `name`"), "{message}");
}

/// A folder of this test's own, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn packages_are_found_by_name_above_the_file_or_by_guess() {
    let folder = Folder(std::env::temp_dir().join(format!("pullback-packages-{}", std::process::id())));
    let root = &folder.0;
    for made in ["ws/arm_parts/meshes", "ws/arm/urdf", "ws/arm/meshes", "elsewhere/v2/meshes"] {
        std::fs::create_dir_all(root.join(made)).unwrap();
    }
    for (made, scale) in
        [("ws/arm_parts/meshes/a.obj", 1), ("ws/arm/meshes/b.obj", 2), ("elsewhere/v2/meshes/c.obj", 3)]
    {
        std::fs::write(root.join(made), TETRAHEDRON.replace('1', &scale.to_string()).replace("f ", "#"))
            .unwrap();
    }
    let file = root.join("ws/arm/urdf/arm.urdf");
    let model = |mesh: &str, options: &UrdfOptions| {
        let text = link(&format!("<collision><geometry><mesh filename=\"{mesh}\"/></geometry></collision>"));
        std::fs::write(&file, text).unwrap();
        let model = load(&file, options).map_err(|e| e.to_string())?;
        Ok::<_, String>((model.meshes[0].vertices[1].x, model.notes))
    };
    let usual = UrdfOptions::default();
    // A folder of that name beside one above the file; three slashes; Gazebo's scheme; a full path.
    let full = format!("file://{}", root.join("ws/arm/meshes/b.obj").display());
    let cases = [
        ("package://arm_parts/meshes/a.obj", 1.0),
        ("package:///arm_parts/meshes/a.obj", 1.0),
        ("model://arm/meshes/b.obj", 2.0),
        ("../meshes/b.obj", 2.0),
        ("..\\meshes\\b.obj", 2.0),
        (full.as_str(), 2.0),
    ];
    for (mesh, size) in cases {
        assert_eq!(model(mesh, &usual), Ok((size, Vec::new())), "{mesh}");
    }
    // A package of another name than its folder is a guess.
    let (size, notes) = model("package://arm_description/meshes/b.obj", &usual).unwrap();
    assert!(size == 2.0 && notes[0].contains("--package arm_description="), "{notes:?}");
    let (size, notes) = model("meshes/b.obj", &usual).unwrap();
    assert!(size == 2.0 && notes[0].contains("not beside the file"), "{notes:?}");
    // Elsewhere, by name and by a folder that holds packages.
    assert!(model("package://v2/meshes/c.obj", &usual).unwrap_err().contains("--package v2=DIR"));
    let elsewhere = root.join("elsewhere");
    let named = UrdfOptions { packages: vec![("parts".into(), elsewhere.join("v2"))], ..usual.clone() };
    assert_eq!(model("package://parts/meshes/c.obj", &named), Ok((3.0, Vec::new())));
    let searched = UrdfOptions { search: vec![elsewhere], ..usual };
    assert_eq!(model("package://v2/meshes/c.obj", &searched), Ok((3.0, Vec::new())));
}
