//! Bodies: the walk through `<worldbody>`, and the inertia of each body.
//!
//! The walk fills an arena of [`Node`]s in the order of the file, parents first. `<frame>` leaves no trace
//! but the pose it adds to what stands inside it.

use std::collections::HashMap;

use pullback_articulated::{Camera, JointKind, Light, Site};
use pullback_math::{Mat3, Quat, Vec3};

use super::ImportOptions;
use super::assets::Assets;
use super::defaults::Defaults;
use super::geom::BuiltGeom;
use super::inertia::Inertial;
use super::joint::{BuiltJoint, JointSpec};
use super::names::Names;
use super::pose::Pose;
use super::settings::{Compilers, InertiaSource};
use super::visual::Seen;
use crate::xml::{Element, Lenient};
use crate::{ImportError, Place};

/// A body under construction.
pub(super) struct Node {
    pub name: String,
    pub parent: usize,
    pub children: Vec<usize>,
    pub pose: Pose,
    pub inertial: Inertial,
    pub joints: Vec<BuiltJoint>,
    pub geoms: Vec<BuiltGeom>,
    pub sites: Vec<Site>,
    pub cameras: Vec<Seen<Camera>>,
    pub lights: Vec<Seen<Light>>,
    pub place: Place,
    /// Whether `fusestatic` leaves it alone.
    pub kept: bool,
    /// Whether its inertia is that of its geoms.
    pub inferred: bool,
    /// Whether bounds or the triangle inequality changed its inertia.
    pub repaired: bool,
    /// The file whose settings it is read under.
    scope: usize,
    /// Part of its weight that is carried.
    pub gravity_compensation: f64,
    /// Whether its pose is an input.
    pub mocap: bool,
    /// Whether it melted into its parent.
    pub fused: bool,
    explicit: Option<Inertial>,
    /// Whether its frame moves to its inertial frame, if it has no children.
    align: bool,
}

impl Node {
    /// A body in the pose `own` inside `frame` of its parent.
    fn new(parent: usize, frame: Pose, own: Pose, e: &Element) -> Self {
        Node {
            name: e.text("name").unwrap_or_default().to_string(),
            scope: e.scope,
            parent,
            children: Vec::new(),
            pose: frame.compose(own),
            // MuJoCo puts the center of a body without any mass at its own pose, which matters once
            // `boundmass` acts.
            inertial: Inertial::none(own),
            joints: Vec::new(),
            geoms: Vec::new(),
            sites: Vec::new(),
            cameras: Vec::new(),
            lights: Vec::new(),
            place: e.place.clone(),
            kept: false,
            inferred: false,
            repaired: false,
            gravity_compensation: 0.0,
            mocap: false,
            fused: false,
            explicit: None,
            align: false,
        }
    }

    /// The world of a file.
    pub fn world(root: &Element) -> Self {
        Node { name: "world".into(), ..Node::new(0, Pose::identity(), Pose::identity(), root) }
    }

    /// Moves the frame of the body to its center of mass and principal axes, and all it carries the other
    /// way.
    fn align_to_inertia(&mut self) {
        let body_from_inertia = self.inertial.frame();
        let inertia_from_body = body_from_inertia.inverse();
        self.pose = self.pose.compose(body_from_inertia);
        self.inertial = Inertial { center: Vec3::zero(), axes: Mat3::identity(), ..self.inertial };
        self.carry(inertia_from_body);
    }

    /// Sees all it carries from the frame in which its own frame has this pose.
    pub fn carry(&mut self, outer: Pose) {
        let moved = |position: &mut Vec3<f64>, orientation: &mut Quat<f64>| {
            let pose = outer.compose(Pose { position: *position, orientation: *orientation });
            (*position, *orientation) = (pose.position, pose.orientation);
        };
        for BuiltGeom { geom, .. } in &mut self.geoms {
            moved(&mut geom.position, &mut geom.orientation);
        }
        for site in &mut self.sites {
            moved(&mut site.position, &mut site.orientation);
        }
        for Seen { item, .. } in &mut self.cameras {
            moved(&mut item.position, &mut item.orientation);
        }
        for Seen { item, .. } in &mut self.lights {
            item.position = outer.point(item.position);
            item.direction = outer.orientation.rotate(item.direction);
        }
    }

    /// An error about this body.
    pub fn error(&self, why: &str) -> ImportError {
        ImportError::new(&self.place, format!("<body> `{}`: {why}", self.name))
    }
}

/// Builds the tree of bodies.
pub(super) struct BodyReader<'a> {
    pub compilers: &'a Compilers,
    pub defaults: &'a Defaults,
    pub options: &'a ImportOptions,
    pub assets: &'a mut Assets,
    pub names: &'a mut Names,
    /// Bodies, parents before children; begins with the world.
    pub nodes: Vec<Node>,
    /// Ranges of joints by name, those that do not limit as written; servos inherit both.
    pub ranges: HashMap<String, (f64, f64)>,
}

impl BodyReader<'_> {
    /// Reads one `<worldbody>`.
    pub fn read_world(&mut self, e: &Element) -> Result<(), ImportError> {
        let class = self.defaults.class_named(e, "childclass", 0)?;
        e.finish(self.options, &["name"])?;
        self.read_children(0, e, Pose::identity(), class)
    }

    /// Recursion is bounded by the depth of the tree.
    fn read_children(
        &mut self,
        body: usize,
        e: &Element,
        frame: Pose,
        class: usize,
    ) -> Result<(), ImportError> {
        for child in &e.children {
            let compiler = self.compilers.of(child);
            match child.tag.as_str() {
                "body" => self.read_body(body, child, frame, class)?,
                "frame" => {
                    let pose = frame.compose(Pose::read(child, compiler)?);
                    let class = self.defaults.class_named(child, "childclass", class)?;
                    child.finish(self.options, &["name"])?;
                    self.read_children(body, child, pose, class)?;
                }
                "geom" => self.read_geom(body, child, frame, class)?,
                "site" => {
                    let mut spec = self.defaults.of(child, class)?.site.clone();
                    self.names.register("site", child)?;
                    spec.apply(child, compiler, self.options)?;
                    self.nodes[body].sites.push(spec.build(child, frame, self.assets, self.options)?);
                }
                "inertial" | "joint" | "freejoint" if body == 0 => {
                    return Err(child.error("the world has no joints and no inertia; put it into a body"));
                }
                "inertial" => {
                    let inertial = Inertial::read(child, frame, compiler, self.options)?;
                    if self.nodes[body].explicit.replace(inertial).is_some() {
                        return Err(child.error("a body has one `<inertial>`; remove the second"));
                    }
                }
                "joint" | "freejoint" => self.read_joint(body, child, frame, class)?,
                "camera" => {
                    let mut spec = self.defaults.of(child, class)?.camera.clone();
                    self.names.register("camera", child)?;
                    spec.apply(child, compiler)?;
                    self.nodes[body].cameras.push(spec.build(child, frame));
                    self.assets.looks.note_unused(child);
                }
                "light" => {
                    let mut spec = self.defaults.of(child, class)?.light.clone();
                    self.names.register("light", child)?;
                    spec.apply(child)?;
                    self.nodes[body].lights.push(spec.build(child, frame, &self.assets.looks)?);
                    self.assets.looks.note_unused(child);
                }
                "composite" | "flexcomp" | "plugin" => refuse_by_name(child, self.options)?,
                _ => child.refuse(self.options)?,
            }
        }
        Ok(())
    }

    fn read_body(
        &mut self,
        parent: usize,
        e: &Element,
        frame: Pose,
        class: usize,
    ) -> Result<(), ImportError> {
        self.names.register("body", e)?;
        let class = self.defaults.class_named(e, "childclass", class)?;
        let mut node = Node::new(parent, frame, Pose::read(e, self.compilers.of(e))?, e);
        e.set("gravcomp", &mut node.gravity_compensation)?;
        node.mocap = e.boolean("mocap")? == Some(true);
        node.kept = e.keyword("fuse", &["false", "auto"])? == Some(0);
        // Bodies sleep only if the flag `sleep` is enabled, which is refused; `simple` chooses an algorithm.
        e.finish(self.options, &["user", "sleep", "simple"])?;
        let index = self.nodes.len();
        self.nodes.push(node);
        self.nodes[parent].children.push(index);
        self.read_children(index, e, Pose::identity(), class)?;
        self.resolve_inertia(index)?;
        let node = &self.nodes[index];
        if node.mocap && (node.parent != 0 || !node.joints.is_empty()) {
            return Err(e.error_in("mocap", "a mocap body is a child of the world without joints"));
        }
        Ok(())
    }

    fn read_geom(&mut self, body: usize, e: &Element, frame: Pose, class: usize) -> Result<(), ImportError> {
        let mut spec = self.defaults.of(e, class)?.geom.clone();
        self.names.register("geom", e)?;
        spec.apply(e, self.compilers.of(e), self.options)?;
        // How shapes are fitted is said by the main file alone.
        let fit_box = self.compilers.in_scope(self.nodes[0].scope).fit_box;
        self.nodes[body].geoms.push(spec.build(e, frame, self.assets, fit_box, self.options)?);
        Ok(())
    }

    fn read_joint(&mut self, body: usize, e: &Element, frame: Pose, class: usize) -> Result<(), ImportError> {
        self.names.register("joint", e)?;
        let align = e.tag == "freejoint" && e.has("align");
        let align = if align { e.tristate("align")?.flatten() } else { None };
        let joint = if e.tag == "freejoint" {
            JointSpec::free(e, self.options)?
        } else {
            let mut spec = self.defaults.of(e, class)?.joint.clone();
            spec.apply(e, self.options)?;
            spec
        };
        let written = joint.written_range();
        let compiler = self.compilers.of(e);
        let built = joint.build(e, frame, compiler, self.options)?;
        let joint = &built.joint;
        // MuJoCo converts degrees only where the range limits.
        self.ranges.insert(joint.name.clone(), joint.range.unwrap_or(written));
        let node = &mut self.nodes[body];
        let free =
            joint.kind == JointKind::Free || node.joints.iter().any(|j| j.joint.kind == JointKind::Free);
        if free && (!node.joints.is_empty() || node.parent != 0) {
            return Err(e.error("a free joint must be the only joint of a body directly in the world"));
        }
        let turns = matches!(joint.kind, JointKind::Ball | JointKind::Hinge);
        if turns && node.joints.iter().any(|j| j.joint.kind == JointKind::Ball) {
            return Err(e.error("a ball joint already turns this body; put the second rotation on a child"));
        }
        let velocities = |j: &BuiltJoint| j.joint.kind.velocities();
        if node.joints.iter().map(velocities).sum::<usize>() + velocities(&built) > 6 {
            return Err(e.error("a body has at most six degrees of freedom; put the rest on a child"));
        }
        node.align = joint.kind == JointKind::Free && align.unwrap_or(compiler.align_free);
        node.joints.push(built);
        Ok(())
    }

    /// Inertia from `<inertial>` or from geoms, then the repairs `<compiler>` asks for.
    fn resolve_inertia(&mut self, index: usize) -> Result<(), ImportError> {
        let node = &mut self.nodes[index];
        let compiler = self.compilers.in_scope(node.scope);
        if let Some(explicit) = node.explicit {
            node.inertial = explicit;
        }
        let infer = match compiler.inertia_source {
            InertiaSource::Inertial => false,
            InertiaSource::Geoms => true,
            InertiaSource::Auto => node.explicit.is_none(),
        };
        if infer {
            let (low, high) = compiler.inertia_groups;
            let chosen = node.geoms.iter().filter(|g| (low..=high).contains(&g.group));
            let mut parts = Vec::new();
            for geom in chosen {
                if let Some(why) = &geom.weightless {
                    let why = format!("<geom>: its body needs its inertia, but {why}; add an `<inertial>`");
                    return Err(ImportError::new(&geom.place, why));
                }
                parts.push(geom.inertial);
            }
            if let Some(sum) = Inertial::sum(&parts) {
                node.inertial = sum;
                node.inferred = true;
            }
        }
        let before = node.inertial;
        if let Err(why) = node.inertial.repair(compiler) {
            return Err(node.error(why));
        }
        let after = node.inertial;
        node.repaired = (before.mass, before.principal) != (after.mass, after.principal);
        Ok(())
    }
}

/// Refuses an element that makes more than rigid bodies, with what to do instead.
pub(super) fn refuse_by_name(e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
    let instead = match e.tag.as_str() {
        "composite" | "flexcomp" | "flex" => {
            "deformable bodies of MJCF are not simulated; a cable is a chain of bodies, \
             cloth and solids are read from meshes by the soft scenes"
        }
        "plugin" | "extension" => {
            "plugins are code of MuJoCo; write what they do as joints, tendons and actuators"
        }
        _ => "it is not simulated",
    };
    let tag = e.tag.as_str();
    if options.ignores_element(tag) {
        return Ok(());
    }
    Err(e.error(format!("is not supported: {instead}; or allow `{tag}` to be ignored")))
}

/// Moves the frames of free bodies that shall be aligned to their inertia, if they have no children left.
pub(super) fn align_free_bodies(nodes: &mut [Node]) {
    let mut is_parent = vec![false; nodes.len()];
    nodes.iter().skip(1).filter(|n| !n.fused).for_each(|n| is_parent[n.parent] = true);
    let alone = nodes.iter_mut().zip(is_parent).filter(|(node, is_parent)| node.align && !is_parent);
    alone.for_each(|(node, _)| node.align_to_inertia());
}

/// Scales all masses so that they add up to the total `<compiler>` asks for.
pub(super) fn set_total_mass(nodes: &mut [Node], total: f64) {
    let sum: f64 = nodes.iter().skip(1).map(|n| n.inertial.mass).sum();
    if sum > 0.0 {
        for node in nodes.iter_mut().skip(1) {
            node.inertial.mass *= total / sum;
            node.inertial.principal = node.inertial.principal * (total / sum);
        }
    }
}

/// Refuses bodies that can move but have no mass or inertia, welded children counted.
pub(super) fn check_moving_mass(nodes: &[Node]) -> Result<(), ImportError> {
    const LEAST: f64 = 1e-15;
    // The heaviest and the stiffest of each group of bodies welded together, at the group's root.
    let mut root = vec![0; nodes.len()];
    let (mut mass, mut inertia) = (vec![0.0; nodes.len()], vec![0.0; nodes.len()]);
    for (i, node) in nodes.iter().enumerate().skip(1) {
        root[i] = if node.joints.is_empty() { root[node.parent] } else { i };
        let Vec3 { x, y, z } = node.inertial.principal;
        mass[root[i]] = f64::max(mass[root[i]], node.inertial.mass);
        inertia[root[i]] = f64::max(inertia[root[i]], x.min(y).min(z));
    }
    for (i, node) in nodes.iter().enumerate().skip(1) {
        if !node.joints.is_empty() && (mass[i] < LEAST || inertia[i] < LEAST) {
            return Err(node.error("it moves but has no mass or inertia; add a geom or `<inertial>`"));
        }
        let plane = node.geoms.iter().find(|g| g.geom.shape == pullback_articulated::Shape::Plane);
        if let (Some(plane), true) = (plane, root[i] != 0) {
            return Err(ImportError::new(&plane.place, "<geom>: a plane cannot move; put it into the world"));
        }
    }
    Ok(())
}
