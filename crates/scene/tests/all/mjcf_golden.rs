//! The reader against MuJoCo: every model of `models/` compiles to what `reference/mjcf_compile.py` recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pullback_articulated::{
    ContactModel, EqualityKind, Following, Gain, JointKind, Model, Projection, Shape, Softness, Transmission,
};
use pullback_math::{Quat, Vec3};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use serde_json::Value;

/// Largest difference, relative to the size of the vector or matrix (at least 1 for poses).
const TOLERANCE: f64 = 1e-12;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("{other} is no number"))],
    }
}

/// Compares against a floor of scale, so that zero beside large numbers is zero; returns the relative
/// difference.
fn close(what: &str, ours: &[f64], theirs: &Value, floor: f64) -> f64 {
    let theirs = numbers(theirs);
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let scale = theirs.iter().fold(floor, |m, x| m.max(x.abs()));
    let worst = ours.iter().zip(&theirs).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()));
    let relative = if scale > 0.0 { worst / scale } else { worst };
    assert!(relative <= TOLERANCE, "{what}: {ours:?} against {theirs:?}, relative difference {relative:e}");
    relative
}

fn xyz(v: Vec3<f64>) -> [f64; 3] {
    [v.x, v.y, v.z]
}

/// Both signs of a quaternion are the same orientation.
fn same_orientation(what: &str, ours: Quat<f64>, theirs: &Value) -> f64 {
    let t = numbers(theirs);
    let sign = (ours.w * t[0] + ours.x * t[1] + ours.y * t[2] + ours.z * t[3]).signum();
    close(what, &[ours.w * sign, ours.x * sign, ours.y * sign, ours.z * sign], theirs, 1.0)
}

fn same_range(what: &str, ours: Option<(f64, f64)>, theirs: &Value) -> f64 {
    match ours {
        Some((low, high)) => close(what, &[low, high], theirs, 0.0),
        None => {
            assert!(theirs.is_null(), "{what}: no range, but {theirs}");
            0.0
        }
    }
}

fn same_softness(what: &str, ours: Softness, theirs: &Value) -> f64 {
    close(what, &[&ours.solref[..], &ours.solimp].concat(), theirs, 0.0)
}

fn same_name(ours: &str, theirs: &Value) {
    let theirs = theirs.as_str().expect("a name");
    assert!(!ours.is_empty() && (theirs.is_empty() || ours == theirs), "{ours} is called {theirs}");
}

fn shape(shape: Shape) -> (&'static str, Vec<f64>) {
    match shape {
        Shape::Plane => ("plane", vec![]),
        Shape::Sphere { radius } => ("sphere", vec![radius]),
        Shape::Capsule { radius, half_length } => ("capsule", vec![radius, half_length]),
        Shape::Cylinder { radius, half_length } => ("cylinder", vec![radius, half_length]),
        Shape::Ellipsoid { radii } => ("ellipsoid", xyz(radii).to_vec()),
        Shape::Box { half } => ("box", xyz(half).to_vec()),
        Shape::Mesh { .. } | Shape::Heightfield { .. } | Shape::Torus { .. } => {
            panic!("no model here has meshes, terrain or tori")
        }
    }
}

fn compare_bodies(m: &Model, golden: &Value) -> f64 {
    let golden = golden["bodies"].as_array().expect("bodies");
    assert_eq!(m.bodies.len(), golden.len());
    let mut worst = 0.0_f64;
    for (b, g) in m.bodies.iter().zip(golden) {
        same_name(&b.name, &g["name"]);
        let what = |field: &str| format!("body {} {field}", b.name);
        assert_eq!(b.parent as u64, g["parent"].as_u64().expect("index"), "{}", what("parent"));
        let i = b.inertia;
        let inertia = [i.xx, i.xy, i.xz, i.xy, i.yy, i.yz, i.xz, i.yz, i.zz];
        worst = worst
            .max(close(&what("pos"), &xyz(b.position), &g["pos"], 1.0))
            .max(same_orientation(&what("quat"), b.orientation, &g["quat"]))
            .max(close(&what("mass"), &[b.mass], &g["mass"], 0.0))
            .max(close(&what("com"), &xyz(b.com), &g["com"], 1.0))
            .max(close(&what("inertia"), &inertia, &g["inertia"], 0.0))
            .max(close(&what("gravcomp"), &[b.gravity_compensation], &g["gravcomp"], 0.0));
        assert_eq!(b.mocap, g["mocap"], "{}", what("mocap"));
    }
    worst
}

fn compare_joints(m: &Model, golden: &Value) -> f64 {
    let golden = golden["joints"].as_array().expect("joints");
    assert_eq!(m.joints.len(), golden.len());
    let mut worst = 0.0_f64;
    for (j, g) in m.joints.iter().zip(golden) {
        same_name(&j.name, &g["name"]);
        let what = |field: &str| format!("joint {} {field}", j.name);
        let kind = match j.kind {
            JointKind::Free => "free",
            JointKind::Ball => "ball",
            JointKind::Slide => "slide",
            JointKind::Hinge => "hinge",
        };
        assert_eq!(kind, g["type"], "{}", what("type"));
        assert_eq!(j.body as u64, g["body"].as_u64().expect("index"), "{}", what("body"));
        worst = worst
            .max(close(&what("pos"), &xyz(j.anchor), &g["pos"], 1.0))
            .max(same_range(&what("range"), j.range, &g["range"]))
            .max(close(&what("damping"), &[j.damping], &g["damping"], 0.0))
            .max(close(&what("armature"), &[j.armature], &g["armature"], 0.0))
            .max(close(&what("stiffness"), &[j.stiffness], &g["stiffness"], 0.0))
            .max(close(&what("margin"), &[j.margin], &g["margin"], 0.0))
            .max(same_softness(&what("limit"), j.limit, &g["limit"]))
            .max(close(&what("frictionloss"), &[j.frictionloss], &g["frictionloss"], 0.0))
            .max(same_softness(&what("friction"), j.friction, &g["friction"]))
            .max(same_range(&what("actuatorfrcrange"), j.actuator_force_range, &g["actuatorfrcrange"]));
        if matches!(j.kind, JointKind::Hinge | JointKind::Slide) {
            worst = worst.max(close(&what("axis"), &xyz(j.axis), &g["axis"], 1.0)).max(close(
                &what("springref"),
                &[j.spring_reference],
                &g["springref"],
                0.0,
            ));
        }
    }
    worst
}

fn compare_geoms(m: &Model, golden: &Value) -> f64 {
    let geoms = golden["geoms"].as_array().expect("geoms");
    assert_eq!(m.geoms.len(), geoms.len());
    let mut worst = 0.0_f64;
    for (geom, g) in m.geoms.iter().zip(geoms) {
        same_name(&geom.name, &g["name"]);
        let what = |field: &str| format!("geom {} {field}", geom.name);
        let (kind, size) = shape(geom.shape);
        assert_eq!(kind, g["type"], "{}", what("type"));
        // Sizes beyond those the shape has are left over from defaults.
        let golden_size = Value::from(numbers(&g["size"])[..size.len()].to_vec());
        worst = worst.max(close(&what("size"), &size, &golden_size, 0.0));
        let soft = geom.contact;
        let whole = [
            (geom.body as i64, "body"),
            (geom.collision_bits as i64, "contype"),
            (geom.collides_with as i64, "conaffinity"),
            (soft.condim as i64, "condim"),
            (soft.priority as i64, "priority"),
        ];
        for (ours, field) in whole {
            assert_eq!(ours, g[field].as_i64().expect("whole"), "{}", what(field));
        }
        worst = worst
            .max(close(&what("pos"), &xyz(geom.position), &g["pos"], 1.0))
            .max(same_orientation(&what("quat"), geom.orientation, &g["quat"]))
            .max(close(&what("friction"), &geom.friction, &g["friction"], 0.0))
            .max(close(&what("margin"), &[geom.margin], &g["margin"], 0.0))
            .max(close(&what("gap"), &[soft.gap], &g["gap"], 0.0))
            .max(close(&what("solmix"), &[soft.solmix], &g["solmix"], 0.0))
            .max(close(&what("solref"), &soft.softness.solref, &g["solref"], 0.0))
            .max(close(&what("solimp"), &soft.softness.solimp, &g["solimp"], 0.0))
            .max(close(&what("rgba"), &geom.rgba.map(f64::from), &g["rgba"], 0.0));
    }
    let sites = golden["sites"].as_array().expect("sites");
    assert_eq!(m.sites.len(), sites.len());
    for (site, g) in m.sites.iter().zip(sites) {
        let (kind, size) = shape(site.shape);
        assert_eq!(kind, g["type"], "type of site {}", site.name);
        let golden_size = Value::from(numbers(&g["size"])[..size.len()].to_vec());
        worst = worst
            .max(close("site pos", &xyz(site.position), &g["pos"], 1.0))
            .max(same_orientation("site quat", site.orientation, &g["quat"]))
            .max(close("site size", &size, &golden_size, 0.0))
            .max(close("site rgba", &site.rgba.map(f64::from), &g["rgba"], 0.0));
    }
    worst
}

fn same_following(what: &str, ours: Following, g: &Value) {
    let (mode, target) = match ours {
        Following::Fixed => (0, -1),
        Following::Track => (1, -1),
        Following::TrackCom => (2, -1),
        Following::TargetBody { target } => (3, target as i64),
        Following::TargetBodyCom { target } => (4, target as i64),
    };
    assert_eq!(
        (mode, target),
        (g["mode"].as_i64().expect("mode"), g["target"].as_i64().expect("body")),
        "{what}"
    );
}

fn compare_looks(m: &Model, golden: &Value) -> f64 {
    let listed = |name: &str| golden[name].as_array().expect("a list").clone();
    let single = |values: &[f32]| values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let (cameras, lights) = (listed("cameras"), listed("lights"));
    assert_eq!((m.cameras.len(), m.lights.len()), (cameras.len(), lights.len()));
    let mut worst = 0.0_f64;
    for (c, g) in m.cameras.iter().zip(&cameras) {
        same_name(&c.name, &g["name"]);
        let what = |field: &str| format!("camera {} {field}", c.name);
        same_following(&what("mode"), c.following, g);
        assert_eq!(c.body as u64, g["body"].as_u64().expect("index"));
        let resolution = c.resolution.unwrap_or([1, 1]).map(f64::from);
        worst = worst
            .max(close(&what("pos"), &xyz(c.position), &g["pos"], 1.0))
            .max(same_orientation(&what("quat"), c.orientation, &g["quat"]))
            .max(close(&what("resolution"), &resolution, &g["resolution"], 0.0));
        worst = worst.max(match c.projection {
            Projection::Perspective { fovy } => close(&what("fovy"), &[fovy], &g["fovy"], 0.0),
            Projection::Orthographic { height } => {
                assert_eq!(g["orthographic"], true);
                close(&what("height"), &[height], &g["fovy"], 0.0)
            }
            Projection::Intrinsic { focal, principal, .. } => {
                let lens = [focal[0], focal[1], principal[0], principal[1]].map(|x| f64::from(x as f32));
                close(&what("intrinsic"), &lens, &g["intrinsic"], 0.0)
            }
        });
    }
    for (l, g) in m.lights.iter().zip(&lights) {
        same_name(&l.name, &g["name"]);
        let what = |field: &str| format!("light {} {field}", l.name);
        same_following(&what("mode"), l.following, g);
        assert_eq!(
            (l.body as u64, l.kind as u64),
            (g["body"].as_u64().expect("index"), g["type"].as_u64().expect("kind"))
        );
        assert_eq!(
            (l.active, l.castshadow),
            (g["active"] == true, g["castshadow"] == true),
            "{}",
            what("active")
        );
        let strengths = [l.attenuation, l.ambient, l.diffuse, l.specular].concat();
        worst = worst
            .max(close(&what("pos"), &xyz(l.position), &g["pos"], 1.0))
            .max(close(&what("dir"), &xyz(l.direction), &g["dir"], 1.0))
            .max(close(&what("strengths"), &single(&strengths), &g["strengths"], 0.0))
            .max(close(&what("cone"), &single(&[l.cutoff, l.exponent]), &g["cone"], 0.0));
    }
    // `discardvisual` makes MuJoCo drop all materials and textures; we keep them.
    let (materials, textures) = (listed("materials"), listed("textures"));
    if materials.is_empty() && textures.is_empty() {
        return worst;
    }
    assert_eq!((m.materials.len(), m.textures.len()), (materials.len(), textures.len()));
    for (t, g) in m.textures.iter().zip(&textures) {
        assert_eq!(
            (t.name.as_str(), t.kind as u64),
            (g["name"].as_str().expect("a name"), g["type"].as_u64().expect("kind"))
        );
    }
    for (a, g) in m.materials.iter().zip(&materials) {
        same_name(&a.name, &g["name"]);
        let what = |field: &str| format!("material {} {field}", a.name);
        assert_eq!(
            a.texture.map_or(-1, |t| t as i64),
            g["texture"].as_i64().expect("index"),
            "{}",
            what("texture")
        );
        let factors = [a.emission, a.specular, a.shininess, a.reflectance, a.metallic, a.roughness];
        worst = worst
            .max(close(&what("rgba"), &single(&a.rgba), &g["rgba"], 0.0))
            .max(close(&what("texrepeat"), &single(&a.texrepeat), &g["texrepeat"], 0.0))
            .max(close(&what("factors"), &single(&factors), &g["factors"], 0.0));
    }
    worst
}

fn compare_actuators(m: &Model, golden: &Value) -> f64 {
    let actuators = golden["actuators"].as_array().expect("actuators");
    assert_eq!(m.actuators.len(), actuators.len());
    let mut worst = 0.0_f64;
    for (a, g) in m.actuators.iter().zip(actuators) {
        same_name(&a.name, &g["name"]);
        let what = |field: &str| format!("actuator {} {field}", a.name);
        let joint = g["joint"].as_u64().expect("index") as usize;
        assert_eq!(a.transmission, Transmission::Joint(joint), "{}", what("joint"));
        let Gain::Fixed(gain) = a.gain else { panic!("{} is not fixed", what("gain")) };
        worst = worst
            .max(close(&what("gear"), &a.gear, &g["gear"], 0.0))
            .max(close(&what("gain"), &[gain], &g["gain"], 0.0))
            .max(close(&what("bias"), &a.affine_bias(), &g["bias"], 0.0))
            .max(same_range(&what("ctrlrange"), a.control_range, &g["ctrlrange"]))
            .max(same_range(&what("forcerange"), a.force_range, &g["forcerange"]));
    }
    worst
}

fn compare_rest(m: &Model, golden: &Value) -> f64 {
    let mut worst = close("qpos0", &m.reference_configuration(), &golden["qpos0"], 1.0);
    let keys = golden["keys"].as_array().expect("keys");
    assert_eq!(m.keyframes.len(), keys.len());
    for (key, g) in m.keyframes.iter().zip(keys) {
        worst = worst
            .max(close("key qpos", &key.q, &g["qpos"], 1.0))
            .max(close("key qvel", &key.v, &g["qvel"], 0.0))
            .max(close("key ctrl", &key.control, &g["ctrl"], 0.0))
            .max(close("key mocap", &key.mocap, &g["mocap"], 1.0));
    }
    let mut excludes: Vec<_> = m.excludes.iter().map(|(a, b)| [*a.min(b) as f64, *a.max(b) as f64]).collect();
    excludes.sort_by(|a, b| a.partial_cmp(b).expect("finite"));
    assert_eq!(excludes.concat(), numbers(&golden["excludes"]), "excludes");
    let (ours, o) = (&m.options, &golden["options"]);
    assert_eq!(format!("{:?}", ours.integrator), o["integrator"]);
    assert_eq!(format!("{:?}", ours.cone), o["cone"]);
    assert_eq!(ours.contact_model, ContactModel::Convex);
    let flags = [
        (ours.contact, "contact"),
        (ours.limits, "limit"),
        (ours.implicit_damping, "eulerdamp"),
        (ours.filter_parent, "filterparent"),
        (ours.reference_safety, "refsafe"),
        (ours.equality, "equality"),
        (ours.frictionloss, "frictionloss"),
    ];
    for (flag, name) in flags {
        assert_eq!(flag, o[name], "{name}");
    }
    let solver = ours.solver;
    let (steps, evaluations) = (solver.iterations as f64, solver.ls_iterations as f64);
    let solver = [steps, solver.tolerance, evaluations, solver.ls_tolerance];
    assert_eq!(ours.contact_override.is_some(), !o["override"].is_null(), "override");
    if let Some(law) = &ours.contact_override {
        let soft = law.softness;
        let all = [&[law.margin][..], &soft.solref, &soft.solimp, &law.friction].concat();
        worst = worst.max(close("override", &all, &o["override"], 0.0));
    }
    worst
        .max(close("solver", &solver, &o["solver"], 0.0))
        .max(close("timestep", &[ours.timestep], &o["timestep"], 0.0))
        .max(close("gravity", &xyz(ours.gravity), &o["gravity"], 0.0))
        .max(close("impratio", &[ours.impedance_ratio], &o["impratio"], 0.0))
}

fn compare_constraints(m: &Model, golden: &Value) -> f64 {
    let mut worst = 0.0_f64;
    let pairs = golden["pairs"].as_array().expect("pairs");
    assert_eq!(m.pairs.len(), pairs.len());
    for (pair, g) in m.pairs.iter().zip(pairs) {
        let (a, b) = pair.geoms;
        assert_eq!([a as f64, b as f64][..], numbers(&g["geoms"]), "pair");
        let what = |field: &str| format!("pair {a} {b} {field}");
        assert_eq!(u64::from(pair.condim), g["condim"].as_u64().expect("whole"), "{}", what("condim"));
        worst = worst
            .max(close(&what("friction"), &pair.friction, &g["friction"], 0.0))
            .max(same_softness(&what("softness"), pair.softness, &g["softness"]))
            .max(close(&what("solreffriction"), &pair.solreffriction, &g["solreffriction"], 0.0))
            .max(close(&what("margin"), &[pair.margin], &g["margin"], 0.0))
            .max(close(&what("gap"), &[pair.gap], &g["gap"], 0.0));
    }
    let equalities = golden["equalities"].as_array().expect("equalities");
    assert_eq!(m.equalities.len(), equalities.len());
    for (equality, g) in m.equalities.iter().zip(equalities) {
        same_name(&equality.name, &g["name"]);
        let what = |field: &str| format!("equality {} {field}", equality.name);
        worst = worst.max(same_softness(&what("softness"), equality.softness, &g["softness"]));
        let frames = |bodies: &[usize; 2], anchors: &[Vec3<f64>; 2]| {
            assert_eq!(bodies.map(|b| b as f64)[..], numbers(&g["bodies"]), "{}", what("bodies"));
            close(&what("anchors"), &anchors.map(xyz).concat(), &g["anchors"], 1.0)
        };
        worst = worst.max(match &equality.kind {
            EqualityKind::Connect { bodies, anchors } => {
                assert_eq!(g["type"], "connect");
                frames(bodies, anchors)
            }
            EqualityKind::Weld { bodies, anchors, orientations, torquescale } => {
                assert_eq!(g["type"], "weld");
                let [first, second] = orientations;
                frames(bodies, anchors)
                    .max(same_orientation(&what("first"), *first, &g["orientations"][0]))
                    .max(same_orientation(&what("second"), *second, &g["orientations"][1]))
                    .max(close(&what("torquescale"), &[*torquescale], &g["torquescale"], 0.0))
            }
            EqualityKind::Joint { joint, other, polycoef } => {
                assert_eq!(g["type"], "joint");
                let joints = [*joint as f64, other.map_or(-1.0, |o| o as f64)];
                assert_eq!(joints[..], numbers(&g["joints"]), "{}", what("joints"));
                close(&what("polycoef"), polycoef, &g["polycoef"], 0.0)
            }
            EqualityKind::Tendon { .. } => panic!("{} has no golden numbers", equality.name),
        });
    }
    worst
}

/// Every model of a folder below `models/` against the golden file of the same name.
fn compare_folder(name: &str, least: usize) {
    let models = folder("models").join(name);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(models).expect("models").map(|f| f.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "xml"));
    paths.sort();
    assert!(paths.len() >= least);
    for path in paths {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let golden = folder("golden").join(name).join(format!("{stem}.json"));
        let golden = std::fs::read_to_string(golden).expect("golden file");
        let golden: Value = serde_json::from_str(&golden).expect("JSON");
        let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() };
        let model = read_mjcf(&path, &options).unwrap_or_else(|e| panic!("{e}"));
        let worst = [
            compare_bodies(&model, &golden),
            compare_joints(&model, &golden),
            compare_geoms(&model, &golden),
            compare_looks(&model, &golden),
            compare_actuators(&model, &golden),
            compare_constraints(&model, &golden),
            compare_rest(&model, &golden),
        ];
        println!("{stem}: largest relative difference {:.1e}", worst.into_iter().fold(0.0, f64::max));
    }
}

#[test]
fn models_compile_as_in_mujoco() {
    compare_folder("", 12);
}

/// What the fuzzer (`reference/fuzz_mjcf.py`) found worth keeping, and models in the style of public ones.
#[test]
fn varied_models_compile_as_in_mujoco() {
    compare_folder("varied", 36);
}
