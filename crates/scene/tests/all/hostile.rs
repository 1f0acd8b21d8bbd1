//! Files meant to do harm: small ones with a large cost, special ones, and ones that reach for files elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use pullback_articulated::{Articulated, Model};
use pullback_scene::ImportError;
use pullback_scene::mesh::{self, MeshFiles};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf, read_mjcf};
use pullback_scene::npy::read_target;
use pullback_scene::robot::{FileOptions, Package, read_model_with};

/// A folder of a test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pullback-hostile-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options() -> ImportOptions {
    ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() }
}

fn refused(result: Result<Model, ImportError>) -> String {
    result.expect_err("a refusal").to_string()
}

fn parse(text: &str) -> Result<Model, ImportError> {
    parse_mjcf(text, None, &options())
}

#[test]
fn long_names_are_refused_with_their_place() {
    let text = format!("<mujoco><worldbody>\n<body name='{}'/></worldbody></mujoco>", "n".repeat(2000));
    let message = refused(parse(&text));
    assert_eq!(message, "<text>:2:7: <body> `name`: has 2000 bytes, at most 1024 are read; shorten it");
    let long = "p".repeat(1025);
    let replicate = format!("<mujoco><worldbody><replicate count='2' sep='{long}'/></worldbody></mujoco>");
    assert!(refused(parse(&replicate)).contains("`sep`: has 1025 bytes"));
}

#[test]
fn copies_of_long_values_are_refused_before_they_are_made() {
    // 100 KB of numbers, a hundred thousand times: 10 GB.
    let numbers = "0 ".repeat(50_000);
    let text = format!(
        "<mujoco><worldbody><replicate count='100000'><geom size='1' user='{numbers}'/></replicate></worldbody></mujoco>"
    );
    let start = Instant::now();
    let message = refused(parse(&text));
    assert!(
        message.contains("`count`: copies make more than 268435456 bytes of names and values"),
        "{message}"
    );
    assert!(start.elapsed().as_secs_f64() < 5.0);
}

#[test]
fn references_to_copies_count_as_copies() {
    // A thousand actuators of a thousand copies of one joint.
    let motors = "<motor joint='j'/>".repeat(1000);
    let text = format!(
        "<mujoco><worldbody><replicate count='1000'><body><joint name='j'/><geom size='1'/></body></replicate></worldbody>
         <actuator>{motors}</actuator></mujoco>"
    );
    let message = refused(parse(&text));
    assert!(message.contains("<motor>: copies make more than 300000 elements; make fewer"), "{message}");
}

#[test]
fn copies_in_attached_files_are_counted_together() {
    let folder = Folder::new("attach");
    folder.write(
        "part.xml",
        "<mujoco><worldbody><replicate count='100000'><geom size='1'/></replicate></worldbody></mujoco>",
    );
    let attach: String = (0..9).map(|i| format!("<attach model='m' prefix='p{i}-'/>")).collect();
    let text = format!(
        "<mujoco><asset><model name='m' file='part.xml'/></asset><worldbody>{attach}</worldbody></mujoco>"
    );
    let message = refused(read_mjcf(&folder.write("all.xml", text), &options()));
    assert!(message.contains("copies make more than 300000 elements"), "{message}");
}

#[test]
fn heightfields_are_bounded_together() {
    let field = |i: usize| format!("<hfield name='h{i}' nrow='4000' ncol='4000' size='1 1 1 1'/>");
    let text = |count: usize| {
        format!("<mujoco><asset>{}</asset></mujoco>", (0..count).map(field).collect::<String>())
    };
    assert!(parse(&text(1)).is_ok());
    let message = refused(parse(&text(2)));
    assert!(message.contains("more than 16777216 values together"), "{message}");
}

#[test]
fn a_thousand_bodies_are_set_up_and_twenty_thousand_refused() {
    let text = "<mujoco><worldbody><replicate count='1000' offset='3 0 0'><body><joint type='slide'/><geom size='1' contype='0' \
                conaffinity='0'/></body></replicate></worldbody></mujoco>";
    Articulated::new(parse(text).unwrap()).unwrap().with_kinematic_params().unwrap();
    let message = Articulated::new(parse(&text.replace("1000", "20000")).unwrap()).unwrap_err().to_string();
    assert!(
        message.contains("the convex contact model needs 2e10 bytes for 20000 degrees of freedom"),
        "{message}"
    );
}

/// As in MuJoCo.
#[test]
fn a_zero_quaternion_of_a_keyframe_is_the_identity() {
    let with = |key: &str| {
        parse(&format!(
            "<mujoco><worldbody><body name='b'><freejoint name='float'/><geom size='1'/></body>
             <body name='m' mocap='true'/></worldbody><keyframe><key {key}/></keyframe></mujoco>"
        ))
    };
    for key in ["qpos='0 0 0 2 0 0 0'", "qpos='0 0 0 0 0 0 0'", "mquat='0 0 0 0'"] {
        let model = with(key).unwrap();
        assert_eq!(model.keyframes[0].q[3..], [1.0, 0.0, 0.0, 0.0], "{key}");
        assert_eq!(model.keyframes[0].mocap[3..], [1.0, 0.0, 0.0, 0.0], "{key}");
    }
}

/// A model in its folder, and what it names beside and outside of it.
fn reaching(folder: &Folder, what: &str) -> PathBuf {
    folder.write("model/inside.xml", "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>");
    folder.write("outside.xml", "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>");
    folder.write("outside.png", "");
    folder.write("outside.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n");
    folder.write("model/inside.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n");
    folder.write("outside.bin", [2u32, 2, 0, 0, 0, 0].map(u32::to_le_bytes).concat());
    folder.write("model/model.xml", format!("<mujoco>{what}</mujoco>"))
}

fn confined(file: &Path) -> Result<Model, String> {
    let options = FileOptions { confined: true, ..FileOptions::default() };
    read_model_with(file.to_str().unwrap(), options).map_err(|e| e.to_string())
}

#[test]
fn a_confined_model_reads_nothing_outside_of_its_folder() {
    let folder = Folder::new("confined");
    let mesh = |file: &str| {
        format!(
            "<asset><mesh name='m' file='{file}'/></asset><worldbody><body><geom type='mesh' mesh='m'/></body></worldbody>"
        )
    };
    let attach = |file: &str| {
        format!(
            "<asset><model name='m' file='{file}'/></asset><worldbody><attach model='m' prefix='a'/></worldbody>"
        )
    };
    let absolute = folder.0.join("outside.xml");
    let outside = [
        "<include file='../outside.xml'/>".to_owned(),
        format!("<include file='{}'/>", absolute.display()),
        mesh("../outside.obj"),
        attach("../outside.xml"),
        "<asset><texture name='t' type='2d' file='../outside.png'/></asset>".to_owned(),
        "<asset><hfield name='h' file='../outside.bin' size='1 1 1 1'/></asset>
         <worldbody><geom type='hfield' hfield='h'/></worldbody>"
            .to_owned(),
    ];
    for what in outside {
        let file = reaching(&folder, &what);
        let message = confined(&file).expect_err(&what);
        assert!(
            message.contains("is outside of the model's folder") && message.contains("--confined"),
            "{message}"
        );
        read_model_with(file.to_str().unwrap(), FileOptions::default()).expect(&what);
    }
    for what in ["<include file='inside.xml'/>".to_owned(), mesh("inside.obj"), attach("inside.xml")] {
        confined(&reaching(&folder, &what)).expect(&what);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.0.join("outside.xml"), folder.0.join("model/link.xml")).unwrap();
        let message = confined(&reaching(&folder, "<include file='link.xml'/>")).unwrap_err();
        assert!(message.contains("is outside of the model's folder"), "{message}");
    }
}

#[test]
fn a_confined_robot_reads_meshes_of_packages_that_are_given() {
    let folder = Folder::new("package");
    folder.write("parts/meshes/b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n");
    let robot = folder.write(
        "robot/robot.urdf",
        r#"<robot name="r"><link name="base"><collision><geometry><mesh filename="package://parts/meshes/b.obj"/></geometry>
           </collision></link></robot>"#,
    );
    let read = |packages: Vec<Package>, confined: bool| {
        let options = FileOptions { packages, confined, ..FileOptions::default() };
        read_model_with(robot.to_str().unwrap(), options).map_err(|e| e.to_string())
    };
    // It is found above the file, which is outside.
    read(Vec::new(), false).unwrap();
    assert!(read(Vec::new(), true).unwrap_err().contains("is outside of the model's folder"));
    read(vec![Package::Named("parts".into(), folder.0.join("parts"))], true).unwrap();
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_without_waiting() {
    let folder = Folder::new("special");
    let pipe = |name: &str| {
        let path = folder.0.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let says = |message: String| assert!(message.contains("this is a pipe"), "{message}");
    says(refused(read_mjcf(&pipe("a.xml"), &options())));
    says(read_model_with(pipe("a.urdf").to_str().unwrap(), FileOptions::default()).unwrap_err().to_string());
    says(mesh::read(pipe("a.stl")).unwrap_err().to_string());
    says(mesh::read_soft(pipe("a.obj")).unwrap_err().to_string());
    says(read_target(&pipe("a.npy"), 1.0, 0.0).unwrap_err().to_string());
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("zero.xml")).unwrap();
    let message = refused(read_mjcf(&folder.0.join("zero.xml"), &options()));
    assert!(message.contains("this is a device"), "{message}");
    pipe("hills.png");
    let field = "<mujoco><asset><hfield name='h' file='hills.png' size='1 1 1 1'/></asset>
                 <worldbody><geom type='hfield' hfield='h'/></worldbody></mujoco>";
    says(refused(read_mjcf(&folder.write("field.xml", field), &options())));
}
