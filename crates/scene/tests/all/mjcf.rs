//! The MJCF reader on small models whose compiled form is known by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pullback_articulated::{Articulated, Hull, JointKind, Mesh, Model, ModelIntegrator, Shape};
use pullback_math::{SymMat3, Vec3};
use pullback_scene::ImportError;
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{
    ImportOptions, LoadedMesh, MeshLoader, MeshSource, SolidProperties, parse_mjcf, read_mjcf,
};

fn read(text: &str) -> Result<Model, ImportError> {
    parse_mjcf(text, None, &ImportOptions::default())
}

fn world(inside: &str) -> Result<Model, ImportError> {
    read(&format!("<mujoco><worldbody>{inside}</worldbody></mujoco>"))
}

fn model(text: &str) -> Model {
    read(text).unwrap_or_else(|e| panic!("{e}"))
}

/// The message, which must hold `part` and a place.
fn complaint(result: Result<Model, ImportError>, part: &str) -> String {
    let error = result.expect_err(part);
    let text = error.to_string();
    assert!(text.contains(part), "`{text}` should speak of `{part}`");
    assert!(!text.contains('\n'), "one line: {text}");
    text
}

#[test]
fn a_free_ball_starts_where_it_stands() {
    let m = world("<body pos='1 2 3' quat='0 2 0 0'><freejoint/><geom size='0.1'/></body>").expect("reads");
    assert_eq!(m.reference_configuration(), [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!((m.bodies[1].name.as_str(), m.joints[0].name.as_str()), ("body1", "joint0"));
    let mass = 4.0 / 3.0 * std::f64::consts::PI; // 1000 kg/m³ (0.1 m)³
    assert!((m.bodies[1].mass - mass).abs() < 1e-14);
    assert!((m.bodies[1].inertia.xx - 0.4 * mass * 0.01).abs() < 1e-15);
}

/// Of the two quaternions of an orientation by axes, the one whose leading component is positive, as in
/// MuJoCo.
#[test]
fn axes_give_the_quaternion_of_positive_lead() {
    let m =
        world("<body xyaxes='-0.9 0.1 0.2 0.2 0.8 0.5'><freejoint/><geom size='1'/></body>").expect("reads");
    let q = m.reference_configuration();
    assert!(q[3] < 0.0 && q[5] > 0.9, "{q:?}");
    let x = m.bodies[1].orientation.rotate(Vec3::new(1.0, 0.0, 0.0));
    let given = Vec3::new(-0.9, 0.1, 0.2);
    assert!((x - given * (1.0 / given.norm())).norm() < 1e-15);
}

#[test]
fn made_up_names_avoid_given_ones() {
    let m = world("<geom size='1'/><geom size='1' name='geom0'/><geom size='1'/>").expect("reads");
    let names: Vec<&str> = m.geoms.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["geom0_", "geom0", "geom2"]);
}

#[test]
fn angles_are_degrees_unless_told() {
    let text = |angle: &str| {
        format!(
            "<mujoco><compiler angle='{angle}'/><worldbody><body>
             <joint range='-90 45' ref='30' springref='60'/><joint type='slide' range='0 2' ref='1'/>
             <geom size='1'/></body></worldbody></mujoco>"
        )
    };
    let (d, r) = (model(&text("degree")), model(&text("radian")));
    let turn = std::f64::consts::PI / 180.0;
    let (low, high) = d.joints[0].range.expect("limited");
    assert!((low + 90.0 * turn).abs() < 1e-15 && (high - 45.0 * turn).abs() < 1e-15);
    assert!((d.joints[0].reference - 30.0 * turn).abs() < 1e-15);
    assert!((d.joints[0].spring_reference - 60.0 * turn).abs() < 1e-15);
    assert_eq!(r.joints[0].range, Some((-90.0, 45.0)));
    assert_eq!(d.joints[1].range, Some((0.0, 2.0)));
    assert_eq!(d.reference_configuration()[1], 1.0);
}

#[test]
fn classes_inherit_and_overwrite_from_the_front() {
    let m = model(
        "<mujoco><default>
           <geom size='0.1 0.2 0.3' friction='2 3 4'/>
           <default class='boxes'><geom type='box'/><default class='slick'><geom friction='0.1'/></default></default>
         </default><worldbody>
           <geom/><body childclass='boxes'><geom/><geom class='slick' size='9'/><geom class='main'/></body>
         </worldbody></mujoco>",
    );
    assert_eq!(m.geoms[0].shape, Shape::Sphere { radius: 0.1 });
    assert_eq!(m.geoms[1].shape, Shape::Box { half: Vec3::new(0.1, 0.2, 0.3) });
    assert_eq!(m.geoms[2].shape, Shape::Box { half: Vec3::new(9.0, 0.2, 0.3) });
    assert_eq!(m.geoms[2].friction, [0.1, 3.0, 4.0]);
    assert_eq!(m.geoms[3].shape, Shape::Sphere { radius: 0.1 });
}

#[test]
fn options_and_flags_are_stored() {
    let m = model(
        "<mujoco><option timestep='0.01' gravity='1 2 3' integrator='implicitfast'>
         <flag contact='disable' eulerdamp='disable' spring='disable' clampctrl='disable'/></option>
         <worldbody><body><joint name='j' stiffness='3' damping='2'/><geom size='1'/></body></worldbody>
         <actuator><motor joint='j' ctrlrange='0 1'/></actuator></mujoco>",
    );
    assert_eq!((m.options.timestep, m.options.integrator), (0.01, ModelIntegrator::ImplicitFast));
    assert!(!m.options.contact && m.options.limits && !m.options.implicit_damping);
    assert_eq!((m.joints[0].stiffness, m.joints[0].damping), (0.0, 2.0));
    assert_eq!(m.actuators[0].control_range, None);
}

#[test]
fn a_capsule_between_two_points_lies_between_them() {
    let m = world("<geom type='capsule' size='0.1' fromto='1 0 0 1 4 0'/>").expect("reads");
    assert_eq!(m.geoms[0].shape, Shape::Capsule { radius: 0.1, half_length: 2.0 });
    assert_eq!(m.geoms[0].position, Vec3::new(1.0, 2.0, 0.0));
    let along = m.geoms[0].orientation.rotate(Vec3::new(0.0, 0.0, 1.0));
    assert!((along.y.abs() - 1.0).abs() < 1e-15);
}

#[test]
fn what_is_not_honored_is_an_error_with_its_place() {
    let text = "<mujoco>\n  <worldbody>\n    <body><joint damping='1 2'/><geom size='1'/></body>\n  </worldbody>\n</mujoco>";
    let message = complaint(read(text), "joint.damping");
    assert!(message.starts_with("<text>:3:18: "), "{message}");
    let allowed = ImportOptions { allow_ignored: vec!["joint.damping".into()], ..ImportOptions::default() };
    assert!(parse_mjcf(text, None, &allowed).is_ok());
    let equality = "<mujoco><equality><flex flex='a'/></equality></mujoco>";
    complaint(read(equality), "allow `flex`");
    let allowed = ImportOptions { allow_ignored: vec!["flex".into()], ..ImportOptions::default() };
    assert!(parse_mjcf(equality, None, &allowed).is_ok());
}

#[test]
fn mistakes_are_named() {
    let joint = |inside: &str| world(&format!("<body><joint {inside}/><geom size='1'/></body>"));
    for (attributes, part) in [
        ("axis='0 0 0'", "too short"),
        ("axis='1 0'", "2 numbers where 3"),
        ("axis='1 0 x'", "`x` is not a number"),
        ("axis='nan 0 1'", "not a number"),
        ("axis='inf 0 1'", "not a number"),
        ("axis='1e300 0 1'", "not a number"),
        ("type='screw'", "must be one of"),
        ("type='ball' range='1 2'", "begin with 0"),
        ("limited='true'", "below its second"),
        ("springdamper='1 0'", "must be positive"),
        ("springdamper='1'", "1 numbers where 2"),
        ("actuatorfrclimited='true'", "below its second"),
        ("actuatorfrclimited='true' actuatorfrcrange='2 1'", "below its second"),
        ("frictionloss='-1'", "negative"),
        ("solreflimit='1 2 3'", "3 numbers where 1 to 2"),
        ("solimpfriction='1 2 3 4 5 6'", "6 numbers where 1 to 5"),
        ("actuatorgravcomp='yes'", "must be one of"),
        ("dampin='1'", "dampin"),
        ("damping='1 2'", "not supported"),
        ("damping='-1'", "negative"),
        ("class='none'", "no default class"),
    ] {
        complaint(joint(attributes), part);
    }
    for (inside, part) in [
        ("<geom/>", "positive sizes"),
        ("<geom type='plane'/>", "size of a plane"),
        ("<geom size='1' quat='0 0 0 0'/>", "is zero"),
        ("<geom size='1' quat='1 0 0 0' euler='0 0 0'/>", "more than one orientation"),
        ("<geom type='capsule' size='1' fromto='0 0 0 0 0 0'/>", "too close"),
        ("<geom type='capsule' size='1' pos='0 0 1' fromto='0 0 0 0 0 1'/>", "keep one"),
        ("<geom size='1' fromto='0 0 0 0 0 1'/>", "needs a capsule"),
        ("<geom size='1' density='-1'/>", "negative"),
        ("<geom type='hfield' hfield='h'/>", "no heightfield is called"),
        ("<geom type='hfield'/>", "needs the name"),
        ("<geom type='mesh' mesh='m'/>", "no mesh is called"),
        ("<geom size='1' condim='2'/>", "1, 3, 4 or 6"),
        ("<geom size='1' name='a'/><geom size='1' name='a'/>", "another geom"),
        ("<body name='world'/>", "another body"),
        ("<joint/>", "the world has no joints"),
        ("<attach prefix='m'/>", "a file of its own"),
        ("<attach model='m' prefix=''/>", "no `<model>` of `<asset>` is called `m`"),
        ("<composite type='cable' count='3'/>", "chain of bodies"),
        ("<flexcomp type='grid'/>", "allow `flexcomp`"),
        ("<geom size='1'><plugin plugin='mujoco.sdf.bolt'/></geom>", "plugins are code of MuJoCo"),
        ("<geom type='sdf' size='1'/>", "signed distance"),
        ("<geom size='1' material='gold'/>", "no material is called `gold`"),
        ("<site type='plane' size='1'/>", "a site is a"),
        ("<body mocap='true'><joint/><geom size='1'/></body>", "child of the world without joints"),
        ("<body><body mocap='true'/></body>", "child of the world without joints"),
        ("<geom size='1' adhesion='1'/>", "geom.adhesion"),
        ("<geom size='1' surfacevel='0 1 0'/>", "geom.surfacevel"),
        (
            "<body gravcomp='1'><joint actuatorgravcomp='true' actuatorfrcrange='-1 1'/><geom size='1'/></body>",
            "joint.actuatorgravcomp",
        ),
        ("<body><joint/></body>", "has no mass"),
        ("<body><body><freejoint/></body></body>", "free joint"),
        ("<body><joint/><freejoint/></body>", "free joint"),
        ("<body><joint type='ball'/><joint/></body>", "ball joint already"),
        (
            "<body><joint/><geom size='1'/><body><geom type='plane' size='1 1 1'/></body></body>",
            "plane cannot move",
        ),
        ("<body><inertial mass='1' diaginertia='1 1 1'/></body>", "needs `pos`"),
        ("<body><inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/></body>", "balanceinertia"),
        ("<body><inertial pos='0 0 0' mass='1' fullinertia='1 1 -3 0 0 0'/></body>", "positive definite"),
    ] {
        complaint(world(inside), part);
    }
    for (text, part) in [
        ("", "not well-formed"),
        ("<mujoco>", "not well-formed"),
        ("<robot/>", "outermost element"),
        ("<mujoco><compiler coordinate='global'/></mujoco>", "local"),
        ("<mujoco><body/></mujoco>", "outside of `<worldbody>`"),
        ("<mujoco><deformable><flex name='f'/></deformable></mujoco>", "deformable bodies"),
        ("<mujoco><asset><mesh name='m' builtin='sphere'/></asset></mujoco>", "write the shape to a file"),
        ("<mujoco><asset><material name='m' texture='t'/></asset></mujoco>", "no texture is called"),
        ("<mujoco><asset><texture name='t'/></asset></mujoco>", "needs a `file`"),
        ("<mujoco><default class=''/></mujoco>", "outermost class"),
        ("<mujoco><compiler eulerseq='xyw'/></mujoco>", "three letters"),
        ("<mujoco><option density='-1'/></mujoco>", "density"),
        ("<mujoco><option timestep='0'/></mujoco>", "positive"),
        ("<mujoco><tendon><fixed/></tendon></mujoco>", "needs a <joint>"),
        ("<mujoco><tendon><spatial/></tendon></mujoco>", "a path needs two sites"),
        ("<mujoco><tendon><spatial><site site='a'/></spatial></tendon></mujoco>", "no site is called"),
        ("<mujoco><equality><tendon tendon1='a'/></equality></mujoco>", "no tendon is called"),
        ("<mujoco><default class='a'/></mujoco>", "outermost class"),
        ("<mujoco><default><default/></default></mujoco>", "needs `class`"),
        ("<mujoco><default><geom/><geom/></default></mujoco>", "one of each kind"),
        ("<mujoco><actuator><motor joint='a'/></actuator></mujoco>", "no joint is called"),
        ("<mujoco><actuator><motor site='a'/></actuator></mujoco>", "no site is called"),
        ("<mujoco><actuator><motor/></actuator></mujoco>", "needs one of `joint`"),
        (
            "<mujoco><actuator><adhesion body='world' ctrlrange='-1 1'/></actuator></mujoco>",
            "no negative control",
        ),
        ("<mujoco><actuator><adhesion body='world'/></actuator></mujoco>", "ctrlrange"),
        ("<mujoco><actuator><adhesion body='a' ctrlrange='0 1'/></actuator></mujoco>", "no body is called"),
        (
            "<mujoco><actuator><adhesion body='world' ctrlrange='0 1' armature='1'/></actuator></mujoco>",
            "hinge, slide or tendon",
        ),
        (
            "<mujoco><actuator><motor joint='a' delay='0.1' nsample='3'/></actuator></mujoco>",
            "shift the controls",
        ),
        ("<mujoco><actuator><general joint='a' dyntype='user'/></actuator></mujoco>", "general.dyntype"),
        ("<mujoco><actuator><muscle joint='a'/></actuator></mujoco>", "no joint is called"),
        ("<mujoco><contact><exclude body1='a' body2='world'/></contact></mujoco>", "no body is called"),
        ("<mujoco><keyframe><key qpos='1'/></keyframe></mujoco>", "holds 1 numbers"),
        ("<mujoco><keyframe><key mpos='1 2 3'/></keyframe></mujoco>", "each of 0 mocap bodies"),
        ("<mujoco><option iterations='-1'/></mujoco>", "negative"),
        ("<mujoco><option solver='SOR'/></mujoco>", "must be one of"),
        ("<mujoco><option><flag diagexact='enable'/></option></mujoco>", "flag.diagexact"),
        ("<mujoco><option><flag sleep='enable'/></option></mujoco>", "flag.sleep"),
        ("<mujoco><default><equality polycoef='1'/></default></mujoco>", "equality.polycoef"),
        ("<mujoco><default><pair geom1='a'/></default></mujoco>", "pair.geom1"),
        ("<mujoco><include file='a.xml'/></mujoco>", "no folder"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><mujoco/>", "not well-formed"),
    ] {
        complaint(read(text), part);
    }
}

/// Joints whose motions another takes up leave the mass matrix singular, unless armature adds to it.
#[test]
fn a_singular_mass_matrix_names_its_joint() {
    let robot = |joints: &str| {
        let body = format!("<body>{joints}<geom size='0.1' pos='0.2 0 0'/></body>");
        Articulated::new(world(&body).unwrap_or_else(|e| panic!("{e}")))
    };
    for joints in [
        "<joint name='first' axis='0 1 0'/><joint axis='0 1 0'/>",
        "<joint name='first' type='slide'/><joint type='slide'/>",
        "<joint name='first' axis='1 0 0'/><joint axis='0 1 0'/><joint axis='1 0 0'/>",
    ] {
        let message = robot(joints).expect_err(joints).to_string();
        assert!(message.contains("joint `first`: the mass matrix is singular"), "{message}");
        assert!(robot(&joints.replace("'first'", "'first' armature='0.1'")).is_ok(), "{joints}");
    }
    assert!(robot("<joint axis='0 1 0'/><joint axis='0 1 0' pos='0 0 1'/>").is_ok());
}

#[test]
fn mistakes_in_constraints_are_named() {
    let scene = |inside: &str| {
        read(&format!(
            "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>
             <body name='a'><joint name='h'/><geom name='g' size='1'/><site name='s'/></body>
             <body name='b'><joint name='ball' type='ball'/><geom size='1'/></body></worldbody>{inside}</mujoco>"
        ))
    };
    for (inside, part) in [
        ("<connect body1='a'/>", "`anchor`"),
        ("<connect body2='a' anchor='0 0 0'/>", "`body1`"),
        ("<connect body1='a' body2='a' anchor='0 0 0'/>", "itself"),
        ("<connect body1='c' anchor='0 0 0'/>", "no body is called `c`"),
        ("<connect site1='s'/>", "both `site1` and `site2`"),
        ("<connect site1='s' site2='s'/>", "itself"),
        ("<weld site1='s' site2='t'/>", "no site is called `t`"),
        ("<weld body1='world'/>", "itself"),
        ("<weld body1='a' relpose='0 0 0'/>", "3 numbers where 7"),
        ("<weld body1='a' active='maybe'/>", "must be one of"),
        ("<weld name='x' body1='a'/><joint name='x' joint1='h'/>", "another equality"),
        ("<joint joint2='h'/>", "`joint1`"),
        ("<joint joint1='ball'/>", "hinge or slide"),
        ("<joint joint1='h' joint2='h'/>", "itself"),
        ("<joint joint1='h' polycoef='1 2 3 4 5 6'/>", "6 numbers where 1 to 5"),
        ("<flex flex='f'/>", "flex"),
        ("<distance geom1='g' geom2='floor'/>", "distance"),
    ] {
        complaint(scene(&format!("<equality>{inside}</equality>")), part);
    }
    for (inside, part) in [
        ("<pair geom1='g'/>", "needs `geom2`"),
        ("<pair geom1='g' geom2='g'/>", "itself"),
        ("<pair geom1='g' geom2='floor' condim='2'/>", "1, 3, 4 or 6"),
        ("<pair geom1='g' geom2='floor' adhesion='1'/>", "pair.adhesion"),
        ("<pair name='p' geom1='g' geom2='floor'/><pair name='p' geom1='g' geom2='floor'/>", "another pair"),
    ] {
        complaint(scene(&format!("<contact>{inside}</contact>")), part);
    }
    let mixed =
        "<mujoco><worldbody><body name='a'><joint name='o'/><geom size='1'/></body><replicate count='2'>
        <body><joint name='i'/><geom size='1'/></body></replicate></worldbody>
        <equality><joint joint1='i' joint2='o'/></equality></mujoco>";
    complaint(read(mixed), "inside `<replicate>`");
}

/// Gravity compensation counts the same by whichever name, where actuators are there and not limited.
#[test]
fn gravity_compensation_by_actuators_is_the_same_force() {
    let m = model(
        "<mujoco><worldbody><body gravcomp='1'><joint name='j' actuatorgravcomp='true'/><geom size='1'/></body>
         </worldbody><actuator><motor joint='j'/></actuator></mujoco>",
    );
    assert_eq!(m.bodies[1].gravity_compensation, 1.0);
    let idle = "<body gravcomp='1'><joint actuatorgravcomp='true'/><geom size='1'/></body>";
    complaint(world(idle), "joint.actuatorgravcomp");
}

#[test]
fn a_mesh_file_says_what_is_missing() {
    let text = "<mujoco><compiler meshdir='parts'/><asset><mesh file='arm.stl'/></asset>
                <worldbody><geom type='mesh' mesh='arm'/></worldbody></mujoco>";
    let message = complaint(read(text), "mesh files are not supported yet");
    assert!(message.contains("arm.stl") && message.contains(":1:"), "{message}");
}

/// Supplies a cube of side 2 whatever is asked for, one corner at the origin.
struct Cube;

impl MeshLoader for Cube {
    fn load(&self, source: &MeshSource) -> Result<LoadedMesh, String> {
        let file = source.file.as_ref().ok_or("not a file")?;
        assert!(file.ends_with("parts/arm.stl"));
        let mesh = Mesh { name: String::new(), vertices: vec![], triangles: vec![], hull: Hull::default() };
        let side = 2.0 * source.scale.x;
        let (volume, center) = (side * side * side, Vec3::new(1.0, 1.0, 1.0) * (side / 2.0));
        let inertia = SymMat3::identity() * (volume * side * side / 6.0);
        let solid = SolidProperties { volume, center, inertia };
        let solid = if side < 1.0 { Ok(solid) } else { Err("it is open".into()) };
        Ok(LoadedMesh { mesh, solid, flat: None, bounds: [Vec3::zero(); 2] })
    }
}

#[test]
fn a_loader_supplies_meshes() {
    let text = "<mujoco><compiler meshdir='parts' strippath='true'/>
        <default><mesh scale='0.1 0.1 0.1'/></default>
        <asset><mesh name='m' file='old/arm.stl'/><mesh name='unused' vertex='0 0 0'/></asset>
        <worldbody><body><freejoint/>
          <geom type='mesh' mesh='m' mass='3' pos='1 0 0'/><geom type='mesh' mesh='m' mass='3' euler='0 0 180'/>
        </body></worldbody></mujoco>";
    let options = ImportOptions { mesh_loader: Some(Arc::new(Cube)), ..ImportOptions::default() };
    let m = parse_mjcf(text, None, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((m.meshes.len(), m.meshes[0].name.as_str()), (1, "m"));
    assert_eq!(m.geoms[1].shape, Shape::Mesh { mesh: 0 });
    // Centers at (1.1, 0.1, 0.1) and (−0.1, −0.1, 0.1).
    assert!((m.bodies[1].com - Vec3::new(0.5, 0.0, 0.1)).norm() < 1e-14);
    // Each 3 · 0.2² / 6, and 3 (0.6² + 0.1²) about z by the distance.
    assert!((m.bodies[1].inertia.zz - 2.0 * (0.02 + 3.0 * 0.37)).abs() < 1e-14);
    // A mesh that encloses nothing may be looked at, but has no inertia.
    let open = text.replace("0.1 0.1 0.1", "1 1 1");
    complaint(parse_mjcf(&open, None, &options), "it is open");
    let weighed =
        open.replace("<freejoint/>", "<freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>");
    assert!(parse_mjcf(&weighed, None, &options).is_ok());
}

#[test]
fn hostile_files_end_in_errors() {
    let deep = format!("<mujoco><worldbody>{}", "<body>".repeat(1_500_000));
    complaint(read(&deep), "nested deeper");
    let closed = format!(
        "<mujoco><worldbody>{}{}</worldbody></mujoco>",
        "<body>".repeat(5000),
        "</body>".repeat(5000)
    );
    complaint(read(&closed), "nested deeper");
    complaint(read(&format!("<mujoco {}/>", "a='1' ".repeat(500_000))), "attributes");
    complaint(read(&format!("<mujoco><worldbody>{}", "<body/>".repeat(1_000_000))), "elements");
    complaint(read(&format!("<mujoco {}", "=".repeat(3_000_000))), "attributes");
    complaint(read(&"<".repeat(1_000_000)), "");
    complaint(read(&"<!-- ".repeat(1_000_000)), "");
    let classes: String = (0..5000).map(|i| format!("<default class='c{i}'/>")).collect();
    complaint(read(&format!("<mujoco><default>{classes}</default></mujoco>")), "default classes");
    let keys = "<key/>".repeat(20_000);
    let bodies = "<body><freejoint/><geom size='1'/></body>".repeat(2_000);
    let keyed = format!("<mujoco><worldbody>{bodies}</worldbody><keyframe>{keys}</keyframe></mujoco>");
    complaint(read(&keyed), "keyframes hold");
    let still = "<body><geom size='1'/></body>".repeat(100_000);
    let fused = format!("<mujoco><compiler fusestatic='true'/><worldbody>{still}</worldbody></mujoco>");
    assert_eq!(model(&fused).bodies.len(), 1);
    let wide: String = (0..60_000).map(|_| "<body><joint/><geom size='1'/></body>").collect();
    assert_eq!(world(&wide).expect("large but sound").nv, 60_000);
}

#[test]
fn bodies_may_be_as_deep_as_the_limit() {
    let depth = 180;
    let text = format!(
        "{}<geom size='1'/>{}",
        "<body><joint/><geom size='1'/>".repeat(depth),
        "</body>".repeat(depth)
    );
    assert_eq!(world(&text).expect("reads").nv, depth);
}

/// A folder of our own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pullback-mjcf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("scratch folder");
        Scratch(folder)
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("folder");
        std::fs::write(&path, text).expect("file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn includes_are_relative_to_the_main_file() {
    let scratch = Scratch::new("include");
    let main = "<mujoco><include file='parts/defaults.xml'/><worldbody><include file='parts/arm.xml'/></worldbody></mujoco>";
    let main = scratch.write("main.xml", main);
    scratch
        .write("parts/defaults.xml", "<mujocoinclude><default><geom size='0.3'/></default></mujocoinclude>");
    scratch.write(
        "parts/arm.xml",
        "<mujocoinclude><body><joint/><geom/><include file='parts/hand.xml'/></body></mujocoinclude>",
    );
    scratch.write("parts/hand.xml", "<mujoco><body name='hand'><joint type='ball'/><geom/></body></mujoco>");
    let m = read_mjcf(&main, &ImportOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(m.bodies.len(), 3);
    assert_eq!(m.bodies[2].parent, 1);
    assert_eq!(m.joints[1].kind, JointKind::Ball);
    assert_eq!(m.geoms[1].shape, Shape::Sphere { radius: 0.3 });

    // An error inside names the included file.
    scratch.write("parts/hand.xml", "<mujoco>\n<body nam='hand'/></mujoco>");
    let message = complaint(read_mjcf(&main, &ImportOptions::default()), "body.nam");
    assert!(message.contains("hand.xml:2:7"), "{message}");
}

#[test]
fn files_that_attach_each_other_end() {
    let scratch = Scratch::new("attach");
    let attach = |file: &str, inside: &str| {
        format!(
            "<mujoco><asset><model name='m' file='{file}'/></asset>\n<worldbody><body><joint/><geom size='1'/>\
             {inside}</body></worldbody></mujoco>"
        )
    };
    let once = "<attach model='m' prefix='a'/>";
    let main = scratch.write("a.xml", &attach("b.xml", once));
    scratch.write("b.xml", &attach("a.xml", once));
    complaint(read_mjcf(&main, &ImportOptions::default()), "inside one another");
    scratch.write("b.xml", &attach("a.xml", &once.repeat(40)));
    complaint(read_mjcf(&main, &ImportOptions::default()), "");
    scratch.write("b.xml", "<robot/>");
    complaint(read_mjcf(&main, &ImportOptions::default()), "outermost element is <robot>");
    let missing = scratch.write("c.xml", &attach("none.xml", once));
    let message = complaint(read_mjcf(&missing, &ImportOptions::default()), "cannot be opened");
    assert!(message.contains("c.xml:2:"), "{message}");
    // What is not there, or must not be there, is named in the file where it stands.
    scratch.write("b.xml", &attach("a.xml", ""));
    for (inside, part) in [
        ("<attach model='m' prefix='a' body='arm'/>", "no body of the attached file is called `arm`"),
        ("<attach model='m' prefix='a' body='arm' frame='f'/>", "keep one"),
        ("<attach model='m'/>", "needs `prefix`"),
    ] {
        scratch.write("a.xml", &attach("b.xml", inside));
        complaint(read_mjcf(&main, &ImportOptions::default()), part);
    }
    scratch.write("a.xml", &attach("b.xml", once));
    let welded = "<mujoco><worldbody><body name='x'/></worldbody><equality><weld body1='x' body2='world'/></equality></mujoco>";
    scratch.write("b.xml", welded);
    complaint(read_mjcf(&main, &ImportOptions::default()), "leave the second body out");
}

/// A body and a joint may share a name; what names the joint outside is not copied with the body inside.
#[test]
fn replicate_copies_what_names_the_same_kind() {
    let m = model(
        "<mujoco><worldbody><replicate count='2' offset='3 0 0'><body name='arm'><joint name='bend'/><geom size='1'/>\
         </body></replicate><body name='bend'><joint name='arm'/><geom size='1'/></body></worldbody>\
         <contact><exclude body1='bend' body2='world'/></contact>\
         <actuator><motor name='m' joint='arm'/><motor name='n' joint='bend'/></actuator></mujoco>",
    );
    let names: Vec<&str> = m.actuators.iter().map(|a| a.name.as_str()).collect();
    assert_eq!((names, m.excludes.len()), (vec!["m", "n0", "n1"], 1));
}

/// What strict XML forbids but MuJoCo and real files have; places stay right.
#[test]
fn lenient_xml_keeps_its_places() {
    let text = "\n <?xml version='1.0'?><!-- é -- é -->\n<mujoco>words<worldbody>\n<geom size='1'name='a'/><!-- -- -->\
                <geom siz='1'/></worldbody></mujoco>";
    let message = complaint(read(text), "geom.siz");
    assert!(message.starts_with("<text>:4:"), "{message}");
    assert!(read(&text.replace("siz=", "size=")).is_ok());
    complaint(read("<mujoco><!-- </mujoco>"), "not well-formed");
}

/// A flat mesh may be looked at; MuJoCo has no hull of it either.
#[test]
fn flat_meshes_do_not_collide() {
    let text = "<mujoco><asset><mesh name='m' inertia='shell' vertex='0 0 0 1 0 0 1 1 0 0 1 0' face='0 1 2 0 2 3'/></asset>
        <worldbody><body><freejoint/><geom size='0.1'/><geom type='mesh' mesh='m' contype='0' conaffinity='0'/></body>
        </worldbody></mujoco>";
    let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() };
    let m = parse_mjcf(text, None, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(m.meshes[0].triangles.len(), 2);
    // The shell weighs 1000 kg/m² over 1 m².
    let ball = 4.0 / 3.0 * std::f64::consts::PI;
    assert!((m.bodies[1].mass - 1000.0 - ball).abs() < 1e-9, "{}", m.bodies[1].mass);
    complaint(parse_mjcf(&text.replace("contype='0'", ""), None, &options), "lie in a plane");
    let paired = text
        .replace("<geom size='0.1'/>", "<geom size='0.1' name='a'/>")
        .replace("contype='0'", "name='b' contype='0'");
    let paired = paired.replace("</mujoco>", "<contact><pair geom1='a' geom2='b'/></contact></mujoco>");
    complaint(parse_mjcf(&paired, None, &options), "pairs a flat mesh");
}

#[test]
fn include_loops_and_missing_files_end() {
    let scratch = Scratch::new("loop");
    let main = scratch.write("a.xml", "<mujoco><include file='b.xml'/></mujoco>");
    scratch.write("b.xml", "<mujoco><include file='a.xml'/></mujoco>");
    complaint(read_mjcf(&main, &ImportOptions::default()), "includes itself");
    let missing = scratch.write("c.xml", "<mujoco><include file='none.xml'/></mujoco>");
    let message = complaint(read_mjcf(&missing, &ImportOptions::default()), "cannot be opened");
    assert!(message.contains("c.xml:1:9"), "{message}");
    complaint(read_mjcf(&scratch.0, &ImportOptions::default()), "not a file");
    let binary = scratch.0.join("d.xml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00, 0x80]).expect("file");
    complaint(read_mjcf(&binary, &ImportOptions::default()), "UTF-8");
}

/// MuJoCo 3.17: a motor or velocity servo drops the inherited range that a position servo left in its class.
#[test]
fn motors_do_not_inherit_ranges() {
    for (kind, range) in [("motor", (-70.0, 70.0)), ("velocity", (-70.0, 70.0))] {
        let text = format!(
            "<mujoco><default><position kp='5' inheritrange='1'/><{kind} ctrlrange='-70 70'/></default>\
             <worldbody><body><joint name='j' range='-1 1'/><geom size='1'/></body></worldbody>\
             <actuator><{kind} joint='j'/></actuator></mujoco>"
        );
        let model = parse_mjcf(&text, None, &ImportOptions::default()).unwrap();
        assert_eq!(model.actuators[0].control_range, Some(range));
    }
}
