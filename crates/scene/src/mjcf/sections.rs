//! The sections of a file in MuJoCo's order of dependence, and the assembly of the model.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use pullback_articulated::{
    ActivationDynamics, Actuator, Bias, Body, Camera, ContactModel, Gain, Joint, JointKind, Keyframe, Light,
    Model, ModelOptions, Shape, Site,
};
use pullback_math::{Quat, Vec3};

use super::ImportOptions;
use super::actuator::{ACTUATORS, Targets};
use super::assets::Assets;
use super::attach::{AttachedKey, Attacher};
use super::body::{BodyReader, Node, align_free_bodies, check_moving_mass, refuse_by_name, set_total_mass};
use super::budget::Budget;
use super::contact::read_contact;
use super::defaults::Defaults;
use super::equality::EqualityReader;
use super::fuse::{fuse_static, in_order};
use super::joint::BuiltJoint;
use super::names::Names;
use super::replicate::expand;
use super::resolve::{SpringDamper, resolve_ratios};
use super::sensor::read_sensors;
use super::settings::{Compiler, Compilers, Flags, LengthRangeMode, apply_option};
use super::tendon::TendonReader;
use super::visual::{Seen, aim};
use crate::xml::{Element, Lenient};
use crate::{ImportError, Place};

/// Most numbers in all keyframes together.
const MAX_KEY_NUMBERS: usize = 1 << 23;
/// Sections that do not change the motion (the first two are kept for rendering); plugins that `extension` declares are refused where they are used.
const LOOKS: [&str; 5] = ["visual", "statistic", "custom", "size", "extension"];

/// Attributes that name what an actuator acts along.
const TARGETS: [&str; 8] =
    ["joint", "jointinparent", "tendon", "site", "refsite", "cranksite", "slidersite", "body"];

/// The model of a whole file.
pub(super) fn read(
    mut root: Element,
    folder: Option<&PathBuf>,
    options: &ImportOptions,
) -> Result<Model, ImportError> {
    if root.tag != "mujoco" {
        let why = "the outermost element of an MJCF file is <mujoco>; the name of a URDF file ends in .urdf";
        return Err(root.error(why));
    }
    let mut compilers = Compilers::new(Compiler::of_file(&root, folder.cloned(), options)?);
    let mut budget = Budget::default();
    let keys = Attacher { compilers: &mut compilers, options, budget: &mut budget }.expand(&mut root, 0)?;
    expand(&mut root, &compilers, &mut budget)?;
    read_expanded(&root, &compilers, keys, options)
}

/// The model of a file whose attached parts and copies are written out; `keys` are those of attached parts.
pub(super) fn read_expanded(
    root: &Element,
    compilers: &Compilers,
    keys: Vec<AttachedKey>,
    options: &ImportOptions,
) -> Result<Model, ImportError> {
    let name = root.text("model").unwrap_or("model").to_string();
    root.finish(options, &[])?;
    check_sections(root, options)?;
    let compiler = compilers.of(root);
    let sections = |tag: &'static str| root.children.iter().filter(move |c| c.tag == tag);

    // Settings and defaults first: all else depends on them.
    let (mut flags, mut model_options) = (Flags::default(), ModelOptions::default());
    sections("option").try_for_each(|e| apply_option(e, &mut model_options, &mut flags, options))?;
    let mut defaults = Defaults::default();
    sections("default").try_for_each(|e| defaults.apply(e, root.scope, compilers, options))?;
    let mut assets = Assets::new(options);
    for textures in [true, false] {
        let read = |e| read_assets(e, textures, &defaults, compilers, &mut assets, options);
        sections("asset").try_for_each(read)?;
    }

    // Bodies with what they carry.
    let mut names = Names::new();
    let mut reader = BodyReader {
        compilers,
        defaults: &defaults,
        options,
        assets: &mut assets,
        names: &mut names,
        nodes: vec![Node::world(root)],
        ranges: HashMap::new(),
    };
    sections("worldbody").try_for_each(|e| reader.read_world(e))?;
    let (mut nodes, ranges) = (reader.nodes, reader.ranges);
    check_terrain(&nodes)?;
    if compiler.fuse_static {
        let kept = referenced_bodies(root, &nodes);
        fuse_static(&mut nodes, &kept, compiler.inertia_source);
    }
    align_free_bodies(&mut nodes);
    let mut nodes = in_order(nodes);
    if let Some(total) = compiler.total_mass {
        set_total_mass(&mut nodes, total);
    }
    check_moving_mass(&nodes)?;
    let (mut model, pending) = assemble(name, nodes, root, compiler, &mut names);
    model.meshes = assets.meshes.meshes;
    model.heightfields = assets.heightfields.fields;
    for e in sections("visual").chain(sections("statistic")) {
        assets.looks.read_visual(e, &mut model.visual)?;
    }
    model.visual.notes = assets.looks.take_notes();
    (model.materials, model.textures) = (assets.looks.materials, assets.looks.textures);
    model.options = ModelOptions { contact_model: ContactModel::Convex, ..model_options };

    // What refers to bodies, joints and geoms by name.
    let joint_index = index(model.joints.iter().map(|j| j.name.as_str()));
    let site_index = index(model.sites.iter().map(|s| s.name.as_str()));
    let geom_index = index(model.geoms.iter().map(|g| g.name.as_str()));
    let body_index = index(model.bodies.iter().map(|b| b.name.as_str()));
    let reader = TendonReader {
        defaults: &defaults,
        compilers,
        options,
        joints: joint_index.clone(),
        sites: site_index.clone(),
        geoms: geom_index.clone(),
        shapes: model.geoms.iter().map(|g| g.shape).collect(),
    };
    let (mut tendons, mut tendon_ranges) = (Vec::new(), Vec::new());
    sections("tendon").try_for_each(|e| reader.read(e, &mut names, &mut tendons, &mut tendon_ranges))?;
    names.fill("tendon", tendons.iter_mut().map(|t| &mut t.name));
    model.tendons = tendons;
    let targets = Targets {
        joints: &model.joints,
        index: joint_index,
        ranges,
        tendons: &model.tendons,
        tendon_ranges: &tendon_ranges,
        sites: site_index,
        bodies: body_index.clone(),
    };
    let mut built = Vec::new();
    for section in sections("actuator") {
        section.finish(options, &[])?;
        for e in &section.children {
            if !ACTUATORS.contains(&e.tag.as_str()) {
                e.refuse(options)?;
                continue;
            }
            let mut spec = defaults.of(e, 0)?.actuator.clone();
            names.register("actuator", e)?;
            for name in TARGETS {
                e.text(name);
            }
            spec.apply(e, options)?;
            let actuator = spec.build(e, &targets, compilers.of(e))?;
            built.push((spec, e, actuator));
        }
    }
    for (spec, e, actuator) in built {
        spec.reflect(e, &actuator, &mut model)?;
        model.actuators.push(actuator);
    }
    names.fill("actuator", model.actuators.iter_mut().map(|a| &mut a.name));
    sections("contact").try_for_each(|e| {
        read_contact(e, &defaults, &geom_index, &body_index, &mut names, &mut model, options)
    })?;
    let reader = EqualityReader::new(&model, &defaults, options);
    let mut equalities = Vec::new();
    sections("equality").try_for_each(|e| reader.read(e, &mut names, &mut equalities))?;
    names.fill("equality", equalities.iter_mut().map(|e| &mut e.name));
    model.equalities = equalities;
    let mut sensors = Vec::new();
    sections("sensor").try_for_each(|e| read_sensors(e, &model, &mut names, &mut sensors, options))?;
    names.fill("sensor", sensors.iter_mut().map(|s| &mut s.name));
    model.sensors = sensors;

    // Coordinates are numbered by the compiler of the model; ratios and keyframes need them.
    let complaint = |e: pullback_core::ConfigError| root.error(e.0);
    let wanted = wants_length_range(&model, compiler);
    // Until they are found, any range will do.
    for a in &wanted {
        model.actuators[*a].length_range.get_or_insert((0.0, 1.0));
    }
    let mut model = model.compile().map_err(complaint)?;
    resolve_ratios(&mut model, &pending.springs).map_err(complaint)?;
    let mut model = model.with_length_ranges(&wanted, &compiler.length_range.options).map_err(complaint)?;
    apply_flags(&mut model, flags);
    check_gravity_by_actuators(&model, &pending, flags, options)?;
    for section in sections("keyframe") {
        section.finish(options, &[])?;
        for e in &section.children {
            if e.tag == "key" {
                names.register("key", e)?;
                let size = model.nq + model.nv + model.activations() + model.actuators.len();
                if (model.keyframes.len() + 1).saturating_mul(size) > MAX_KEY_NUMBERS {
                    return Err(
                        e.error(format!("keyframes hold more than {MAX_KEY_NUMBERS} numbers; drop some"))
                    );
                }
                let key = read_key(e, &model, options)?;
                model.keyframes.push(key);
            } else {
                e.refuse(options)?;
            }
        }
    }
    model.keyframes.extend(keys.iter().map(|key| key.place(&model)).collect::<Vec<_>>());
    add_empty_keys(root, &mut model)?;
    names.fill("key", model.keyframes.iter_mut().map(|k| &mut k.name));
    model.compile().map_err(complaint)
}

/// Actuators whose length range is to be found.
fn wants_length_range(model: &Model, compiler: &Compiler) -> Vec<usize> {
    let muscle = |a: &Actuator| matches!(a.gain, Gain::Muscle(_)) || matches!(a.bias, Bias::Muscle(_));
    let chosen = |a: &Actuator| match compiler.length_range.mode {
        LengthRangeMode::None => false,
        LengthRangeMode::Muscle => muscle(a),
        LengthRangeMode::All => true,
    };
    let open = |a: &Actuator| !(compiler.length_range.use_existing && a.length_range.is_some());
    (0..model.actuators.len())
        .filter(|a| chosen(&model.actuators[*a]) && open(&model.actuators[*a]))
        .collect()
}

/// Adds keyframes at the reference configuration until there are as many as `<size nkey>` says.
fn add_empty_keys(root: &Element, model: &mut Model) -> Result<(), ImportError> {
    for e in root.children.iter().filter(|c| c.tag == "size") {
        let wanted = e.integer("nkey")?.unwrap_or(0).max(0) as usize;
        if wanted.saturating_mul(model.nq + model.nv + model.actuators.len()) > MAX_KEY_NUMBERS {
            return Err(e.error_in("nkey", format!("asks for more than {MAX_KEY_NUMBERS} numbers")));
        }
        while model.keyframes.len() < wanted {
            model.keyframes.push(Keyframe {
                name: String::new(),
                q: model.reference_configuration(),
                v: vec![0.0; model.nv],
                activation: vec![0.0; model.activations()],
                control: vec![0.0; model.actuators.len()],
                mocap: model.mocap_poses(),
            });
        }
    }
    Ok(())
}

/// Refuses sections that are neither read nor harmless; those without content are harmless.
fn check_sections(root: &Element, options: &ImportOptions) -> Result<(), ImportError> {
    let read = [
        "compiler",
        "option",
        "default",
        "asset",
        "worldbody",
        "tendon",
        "actuator",
        "contact",
        "equality",
        "sensor",
        "keyframe",
    ];
    for section in &root.children {
        let tag = section.tag.as_str();
        match tag {
            // A skin is only seen.
            "deformable" => {
                let flexes = section.children.iter().filter(|e| e.tag != "skin");
                flexes.into_iter().try_for_each(|e| refuse_by_name(e, options))?;
            }
            "body" => {
                let why = "stands outside of `<worldbody>`; this file is a part that others include";
                return Err(section.error(why));
            }
            _ if read.contains(&tag) || LOOKS.contains(&tag) => {}
            _ => section.refuse(options)?,
        }
    }
    Ok(())
}

/// Reads textures, or all other assets: materials name textures, which may stand after them.
fn read_assets(
    e: &Element,
    textures: bool,
    defaults: &Defaults,
    compilers: &Compilers,
    assets: &mut Assets,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    e.finish(options, &[])?;
    for asset in e.children.iter().filter(|asset| (asset.tag == "texture") == textures) {
        let (class, compiler) = (defaults.of(asset, 0)?, compilers.of(asset));
        match asset.tag.as_str() {
            "texture" => assets.looks.add_texture(&class.texture, asset, compiler)?,
            "material" => assets.looks.add_material(&class.material, asset)?,
            "skin" => {}
            "mesh" => {
                let mut spec = class.mesh.clone();
                spec.apply(asset)?;
                assets.meshes.add(spec.source(asset, compiler, options)?)?;
            }
            "hfield" => assets.heightfields.add(asset, compiler, options)?,
            _ => asset.refuse(options)?,
        }
    }
    Ok(())
}

/// Terrain stands on bodies that do not move.
fn check_terrain(nodes: &[Node]) -> Result<(), ImportError> {
    let mut moves = vec![false; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        moves[i] |= !node.joints.is_empty();
        node.children.iter().for_each(|c| moves[*c] |= moves[i]);
        let terrain = node.geoms.iter().find(|g| matches!(g.geom.shape, Shape::Heightfield { .. }));
        if let Some(g) = terrain.filter(|_| moves[i]) {
            let why = "<geom>: a heightfield must be on a body that does not move; put it in the world";
            return Err(ImportError::new(&g.place, why));
        }
    }
    Ok(())
}

/// Bodies that excludes, equalities, sensors, tuples, cameras and lights refer to, which must outlive
/// `fusestatic`. A sensor of force or torque at a site refers to the body that carries the site.
fn referenced_bodies(root: &Element, nodes: &[Node]) -> HashSet<usize> {
    let (mut names, mut sites) = (HashSet::new(), HashSet::new());
    let mut stack: Vec<&Element> = root.children.iter().filter(|s| s.tag != "default").collect();
    while let Some(e) = stack.pop() {
        stack.extend(&e.children);
        let value = |name: &str| e.attributes.iter().find(|a| a.name == name).map(|a| a.value.as_str());
        let looks = matches!(e.tag.as_str(), "camera" | "light");
        names
            .extend(["body", "body1", "body2", "subtree1", "subtree2"].iter().filter_map(|name| value(name)));
        names.extend(value("target").filter(|_| looks));
        for (kind, name) in [("objtype", "objname"), ("reftype", "refname")] {
            if matches!(value(kind), Some("body" | "xbody")) {
                names.extend(value(name));
            }
        }
        if matches!(e.tag.as_str(), "force" | "torque") {
            sites.extend(value("site"));
        }
    }
    let named = |n: &Node| !n.name.is_empty() && names.contains(n.name.as_str());
    let sensed = |n: &Node| n.sites.iter().any(|s| !s.name.is_empty() && sites.contains(s.name.as_str()));
    nodes.iter().enumerate().filter(|(_, n)| named(n) || sensed(n)).map(|(i, _)| i).collect()
}

/// What joints leave to be settled once the model is complete.
#[derive(Default)]
struct Pending {
    springs: Vec<SpringDamper>,
    /// Joints that count gravity compensation among the forces of actuators, and where they say so.
    gravity: Vec<(usize, Place)>,
}

/// Gravity compensation is the same force wherever it counts, unless a joint limits its actuators, or there
/// are none: MuJoCo then leaves it out.
fn check_gravity_by_actuators(
    model: &Model,
    pending: &Pending,
    flags: Flags,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    let compensated = model.bodies.iter().any(|b| b.gravity_compensation != 0.0);
    if !compensated || options.ignores("joint", "actuatorgravcomp") {
        return Ok(());
    }
    let idle = !flags.actuation || model.actuators.is_empty();
    for (j, place) in &pending.gravity {
        if idle || model.joints[*j].actuator_force_range.is_some() {
            let why = "<joint> `actuatorgravcomp`: is not supported on a joint with `actuatorfrcrange` or in \
                       a model without actuation; remove it or allow `joint.actuatorgravcomp` to be ignored";
            return Err(ImportError::new(place, why));
        }
    }
    Ok(())
}

/// Bodies, joints, geoms and sites in final order, all with names.
fn assemble(
    name: String,
    nodes: Vec<Node>,
    root: &Element,
    compiler: &Compiler,
    names: &mut Names,
) -> (Model, Pending) {
    let (mut model, mut pending) = (Model::new(name), Pending::default());
    let pairs: HashSet<&str> = root
        .children
        .iter()
        .filter(|s| s.tag == "contact")
        .flat_map(|s| &s.children)
        .flat_map(|e| e.attributes.iter().filter(|a| a.name == "geom1" || a.name == "geom2"))
        .map(|a| a.value.as_str())
        .collect();
    let bodies = index(nodes.iter().map(|n| n.name.as_str()));
    let target = |name: Option<String>| name.and_then(|name| bodies.get(&name).copied());
    for (i, node) in nodes.into_iter().enumerate() {
        if i > 0 {
            model.bodies.push(Body {
                name: node.name,
                parent: node.parent,
                position: node.pose.position,
                orientation: node.pose.orientation,
                mass: node.inertial.mass,
                com: node.inertial.center,
                inertia: node.inertial.matrix(),
                inertial_orientation: node.inertial.frame().orientation,
                gravity_compensation: node.gravity_compensation,
                mocap: node.mocap,
            });
        }
        for BuiltJoint { joint, spring_damper, gravity_by_actuator } in node.joints {
            let j = model.joints.len();
            pending.springs.extend(spring_damper.map(|spring| (j, spring)));
            pending.gravity.extend(gravity_by_actuator.map(|place| (j, place)));
            model.joints.push(Joint { body: i, ..joint });
        }
        for built in node.geoms {
            let mut geom = built.geom;
            geom.body = i;
            let visual =
                geom.collision_bits == 0 && geom.collides_with == 0 && !pairs.contains(geom.name.as_str());
            if !(visual && compiler.discard_visual) {
                model.geoms.push(geom);
            }
        }
        model.sites.extend(node.sites.into_iter().map(|site| Site { body: i, ..site }));
        model.cameras.extend(node.cameras.into_iter().map(|Seen { item, target: name }| {
            let following = aim(item.following, target(name));
            Camera { body: i, following, ..item }
        }));
        model.lights.extend(node.lights.into_iter().map(|Seen { item, target: name }| {
            let following = aim(item.following, target(name));
            Light { body: i, following, ..item }
        }));
    }
    names.fill("body", model.bodies.iter_mut().map(|b| &mut b.name));
    names.fill("joint", model.joints.iter_mut().map(|j| &mut j.name));
    names.fill("geom", model.geoms.iter_mut().map(|g| &mut g.name));
    names.fill("site", model.sites.iter_mut().map(|s| &mut s.name));
    names.fill("camera", model.cameras.iter_mut().map(|c| &mut c.name));
    names.fill("light", model.lights.iter_mut().map(|l| &mut l.name));
    (model, pending)
}

fn index<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<String, usize> {
    names.enumerate().map(|(i, name)| (name.to_string(), i)).collect()
}

/// Flags that take forces away do so in the model itself.
fn apply_flags(model: &mut Model, flags: Flags) {
    if !flags.gravity {
        model.options.gravity = Vec3::zero();
    }
    if !flags.constraints {
        let o = &mut model.options;
        (o.contact, o.limits, o.equality, o.frictionloss) = (false, false, false, false);
    }
    model.options.contact_override = flags.overrides.then_some(flags.contact);
    // MuJoCo leaves out all passive forces once there are neither springs nor dampers.
    if !(flags.springs || flags.dampers) {
        (model.options.density, model.options.viscosity) = (0.0, 0.0);
    }
    if !flags.gravity || !(flags.springs || flags.dampers) {
        model.bodies.iter_mut().for_each(|b| b.gravity_compensation = 0.0);
    }
    for joint in &mut model.joints {
        joint.stiffness = if flags.springs { joint.stiffness } else { 0.0 };
        joint.damping = if flags.dampers { joint.damping } else { 0.0 };
    }
    for tendon in &mut model.tendons {
        tendon.stiffness = if flags.springs { tendon.stiffness } else { 0.0 };
        tendon.damping = if flags.dampers { tendon.damping } else { 0.0 };
    }
    for actuator in &mut model.actuators {
        if !flags.clamp_control {
            actuator.control_range = None;
        }
        if !flags.actuation {
            (actuator.gain, actuator.bias, actuator.force_range) = (Gain::Fixed(0.0), Bias::None, None);
            // A filter that never moves.
            if actuator.has_activation() {
                actuator.dynamics = ActivationDynamics::Filter(f64::INFINITY);
            }
        }
    }
}

/// A keyframe; what it leaves out is the reference configuration at rest.
fn read_key(e: &Element, model: &Model, options: &ImportOptions) -> Result<Keyframe, ImportError> {
    let read = |name: &str, mut values: Vec<f64>| {
        let given = e.list(name)?.unwrap_or_default();
        if given.len() > values.len() {
            let why = format!("holds {} numbers, the model has {}", given.len(), values.len());
            return Err(e.error_in(name, why));
        }
        values[..given.len()].copy_from_slice(&given);
        Ok(values)
    };
    let mut q = read("qpos", model.reference_configuration())?;
    let v = read("qvel", vec![0.0; model.nv])?;
    let activation = read("act", vec![0.0; model.activations()])?;
    let control = read("ctrl", vec![0.0; model.actuators.len()])?;
    for joint in &model.joints {
        let at = match joint.kind {
            JointKind::Free => joint.q + 3,
            JointKind::Ball => joint.q,
            JointKind::Hinge | JointKind::Slide => continue,
        };
        normalize(&mut q[at..at + 4]);
    }
    let mocap = read_mocap(e, model)?;
    let name = e.text("name").unwrap_or_default().to_string();
    e.finish(options, &["time"])?;
    e.no_children(options)?;
    Ok(Keyframe { name, q, v, activation, control, mocap })
}

/// Poses of mocap bodies; those left out are as described.
fn read_mocap(e: &Element, model: &Model) -> Result<Vec<f64>, ImportError> {
    let mut poses = model.mocap_poses();
    let count = poses.len() / 7;
    for (name, start, width) in [("mpos", 0, 3), ("mquat", 3, 4)] {
        let given = e.list(name)?.unwrap_or_default();
        if given.len() % width != 0 || given.len() > width * count {
            let why =
                format!("holds {} numbers, {width} for each of {count} mocap bodies belong", given.len());
            return Err(e.error_in(name, why));
        }
        for (pose, given) in poses.chunks_exact_mut(7).zip(given.chunks_exact(width)) {
            pose[start..start + width].copy_from_slice(given);
            normalize(&mut pose[3..]);
        }
    }
    Ok(poses)
}

/// Makes a quaternion a unit; zero becomes the identity, as in MuJoCo.
fn normalize(q: &mut [f64]) {
    let quat = Quat::new(q[0], q[1], q[2], q[3]);
    let unit = if quat.norm_squared() < 1e-28 { Quat::identity() } else { quat.normalize() };
    q.copy_from_slice(&[unit.w, unit.x, unit.y, unit.z]);
}
