//! The static structure that the sweeps run over, and where each parameter lies in the flat parameter vector.
//!
//! A *group* is a set of degrees of freedom that move together about one anchor. A hinge, a slide and a ball joint are one
//! group each; a free joint is two: three translations along the world's axes, then a ball.

use std::ops::Range;

use pullback_core::ConfigError;
use pullback_core::layout::{Layout, LayoutBuilder, Slice};

use super::contact::PENALTY_DEFAULTS;
use super::coupling::ties;
use super::joint_forces::has_range;
use super::kinematic_params::KinematicIndex;
use super::model::{ActuatorTarget, ContactDamping, ContactMaterials, Joint, JointKind, Model};

/// How a group moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// One rotation about an axis.
    Hinge,
    /// One translation along an axis.
    Slide,
    /// Three rotations about the body's axes.
    Ball,
    /// Three translations along the world's axes.
    Translation,
}

/// Degrees of freedom that move together.
#[derive(Clone, Debug)]
pub struct Group {
    /// How it moves.
    pub kind: GroupKind,
    /// The joint it belongs to.
    pub joint: usize,
    /// First coordinate.
    pub q: usize,
    /// Its velocities.
    pub dofs: Range<usize>,
}

/// The model as the sweeps see it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Parent of each body.
    pub parent: Vec<usize>,
    /// Root of the tree each body belongs to: the ancestor whose parent is the world.
    pub root: Vec<usize>,
    /// Groups of each body, in order.
    pub groups: Vec<Vec<Group>>,
    /// Body of each degree of freedom.
    pub dof_body: Vec<usize>,
    /// Joint of each degree of freedom.
    pub dof_joint: Vec<usize>,
    /// Row k of the mass matrix: k itself, then the degrees of freedom it hangs from, nearest first.
    pub ancestors: Vec<Vec<usize>>,
    /// Where row k starts in the packed mass matrix.
    pub row: Vec<usize>,
    /// Length of the packed mass matrix.
    pub packed: usize,
}

impl Tree {
    /// The structure of a compiled model.
    pub fn new(model: &Model) -> Tree {
        let n = model.bodies.len();
        let parent: Vec<usize> = model.bodies.iter().map(|b| b.parent).collect();
        let mut root = vec![0; n];
        for b in 1..n {
            root[b] = if parent[b] == 0 { b } else { root[parent[b]] };
        }
        let mut groups = vec![Vec::new(); n];
        let mut dof_joint = vec![0; model.nv];
        for (index, joint) in model.joints.iter().enumerate() {
            dof_joint[joint.v..joint.v + joint.kind.velocities()].fill(index);
            groups[joint.body].extend(groups_of(joint, index));
        }
        let mut dof_body = vec![0; model.nv];
        let mut ancestors: Vec<Vec<usize>> = vec![Vec::new(); model.nv];
        let mut last_dof: Vec<Option<usize>> = vec![None; n];
        for b in 1..n {
            let mut last = last_dof[parent[b]];
            for k in groups[b].iter().flat_map(|g: &Group| g.dofs.clone()) {
                dof_body[k] = b;
                let above = last.map(|l| ancestors[l].clone()).unwrap_or_default();
                ancestors[k] = std::iter::once(k).chain(above).collect();
                last = Some(k);
            }
            last_dof[b] = last;
        }
        let mut row = Vec::with_capacity(model.nv);
        let mut packed = 0;
        for above in &ancestors {
            row.push(packed);
            packed += above.len();
        }
        Tree { parent, root, groups, dof_body, dof_joint, ancestors, row, packed }
    }

    /// Number of bodies, the world included.
    pub fn bodies(&self) -> usize {
        self.parent.len()
    }
}

fn groups_of(joint: &Joint, index: usize) -> Vec<Group> {
    let group = |kind, q: usize, v: usize, count: usize| Group { kind, joint: index, q, dofs: v..v + count };
    let (q, v) = (joint.q, joint.v);
    match joint.kind {
        JointKind::Hinge => vec![group(GroupKind::Hinge, q, v, 1)],
        JointKind::Slide => vec![group(GroupKind::Slide, q, v, 1)],
        JointKind::Ball => vec![group(GroupKind::Ball, q, v, 3)],
        JointKind::Free => {
            vec![group(GroupKind::Translation, q, v, 3), group(GroupKind::Ball, q + 3, v + 3, 3)]
        }
    }
}

/// Where each parameter lies.
#[derive(Clone, Debug)]
pub struct ParamIndex {
    /// Gravity, 3 entries.
    pub gravity: usize,
    /// First entry of each body: mass, centre of mass (3), inertia (6: xx, yy, zz, xy, xz, yz). The world's is unused.
    pub body: Vec<usize>,
    /// First entry of each joint: damping, stiffness, armature, spring reference, limit stiffness, limit damping; then, of a
    /// limited hinge or slide, lower and upper end of the range.
    pub joint: Vec<usize>,
    /// Stiffness, damping and friction slope of contacts, 3 entries, where all contacts share them.
    pub contact: usize,
    /// First entry of each geom: sizes (3), position (3), orientation (4), friction; then, where geoms have their own,
    /// stiffness, damping and friction slope.
    pub geom: Vec<usize>,
    /// First entry of each actuator: gain, bias (3), then the gear of each velocity.
    pub actuator: Vec<usize>,
    /// First entry of each joint that follows another, in the order of [`Model::mimics`]: multiplier, offset.
    pub mimic: Vec<usize>,
    /// How bodies and joints stand, where that was asked for.
    pub kinematics: Option<KinematicIndex>,
}

/// Entries of a joint's block, with their units where it turns and where it slides.
pub const JOINT_PARAMS: [(&str, &str, &str); 6] = [
    ("damping", "N m s/rad", "N s/m"),
    ("stiffness", "N m/rad", "N/m"),
    ("armature", "kg m^2", "kg"),
    ("springref", "rad", "m"),
    ("limit_stiffness", "N m/rad", "N/m"),
    ("limit_damping", "N m s/rad^2", "N s/m^2"),
];

/// What a joint adds to the state: name, length and unit of its coordinates, name and unit of their velocities.
type StateSlice = (&'static str, usize, &'static str, &'static str, &'static str);

fn state_slices(kind: JointKind) -> &'static [StateSlice] {
    match kind {
        JointKind::Hinge => &[("q", 1, "rad", "v", "rad/s")],
        JointKind::Slide => &[("q", 1, "m", "v", "m/s")],
        JointKind::Ball => &[("orientation", 4, "1", "spin", "rad/s")],
        JointKind::Free => {
            &[("position", 3, "m", "velocity", "m/s"), ("orientation", 4, "1", "spin", "rad/s")]
        }
    }
}

/// Stiffness and damping of joint limits when nothing else is said; ours, MuJoCo's limits are constraints.
pub const LIMIT_DEFAULTS: (f64, f64) = (1e3, 10.0);

/// Names, units and defaults of a model's state, control and parameters, and where the parameters lie.
pub fn layout(model: &Model) -> Result<(Layout, ParamIndex), ConfigError> {
    let mut builder = Layout::builder();
    let q0 = model.reference_configuration();
    let ties = ties(model)?;
    let follows = |j: usize| ties.iter().any(|t| t.joint == j);
    let independent = || model.joints.iter().enumerate().filter(|(j, _)| !follows(*j)).map(|(_, j)| j);
    for joint in independent() {
        for (what, count, unit, _, _) in state_slices(joint.kind) {
            let first = joint.q + if *what == "orientation" { joint.kind.coordinates() - 4 } else { 0 };
            let slice = Slice::new(format!("{}.{what}", joint.name), *count, *unit);
            builder = builder.state(slice.default(&q0[first..first + count]));
        }
    }
    for joint in independent() {
        for (_, _, _, what, unit) in state_slices(joint.kind) {
            let count = joint.kind.velocities().min(3);
            builder = builder.state(Slice::new(format!("{}.{what}", joint.name), count, *unit));
        }
    }
    for actuator in &model.actuators {
        let (low, high) = actuator.control_range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        builder = builder.control(Slice::new(actuator.name.clone(), 1, "1").bounds(low, high));
    }

    let mut at = 0;
    let mut next = |len: usize| {
        at += len;
        at - len
    };
    let g = model.options.gravity;
    let gravity = next(3);
    builder = builder.param(Slice::new("gravity", 3, "m/s^2").default(&[g.x, g.y, g.z]));
    let mut body = vec![0];
    for b in model.bodies.iter().skip(1) {
        body.push(next(10));
        let (c, i, name) = (b.com, b.inertia, &b.name);
        let positive = |s: Slice| s.bounds(0.0, f64::INFINITY);
        builder = builder
            .param(positive(Slice::new(format!("{name}.mass"), 1, "kg").default(&[b.mass])))
            .param(Slice::new(format!("{name}.com"), 3, "m").default(&[c.x, c.y, c.z]))
            .param(
                Slice::new(format!("{name}.inertia"), 6, "kg m^2")
                    .default(&[i.xx, i.yy, i.zz, i.xy, i.xz, i.yz]),
            );
    }
    let mut joint = Vec::new();
    for j in &model.joints {
        joint.push(next(JOINT_PARAMS.len()));
        let (stiff, damp) = LIMIT_DEFAULTS;
        let values = [j.damping, j.stiffness, j.armature, j.spring_reference, stiff, damp];
        for ((what, turning, sliding), value) in JOINT_PARAMS.iter().zip(values) {
            // A free joint has one constant for both; it is named by its rotation.
            let unit = if j.kind == JointKind::Slide { *sliding } else { *turning };
            builder = builder.param(Slice::new(format!("{}.{what}", j.name), 1, unit).default(&[value]));
        }
        if let (true, Some((low, high))) = (has_range(model, j), j.range) {
            next(2);
            let unit = if j.kind == JointKind::Slide { "m" } else { "rad" };
            builder = builder.param(Slice::new(format!("{}.range", j.name), 2, unit).default(&[low, high]));
        }
    }
    let mut mimic = Vec::new();
    for tie in &ties {
        mimic.push(next(2));
        let j = &model.joints[tie.joint];
        let unit = if j.kind == JointKind::Slide { "m" } else { "rad" };
        builder = builder
            .param(Slice::new(format!("{}.multiplier", j.name), 1, "1").default(&[tie.multiplier]))
            .param(Slice::new(format!("{}.offset", j.name), 1, unit).default(&[tie.offset]));
    }
    let mut actuator = Vec::new();
    for a in &model.actuators {
        let ActuatorTarget::Joint(target) = a.target;
        let gears = model.joints[target].kind.velocities();
        actuator.push(next(4 + gears));
        builder = builder
            .param(Slice::new(format!("{}.gain", a.name), 1, "1").default(&[a.gain]))
            .param(Slice::new(format!("{}.bias", a.name), 3, "1").default(&a.bias))
            .param(Slice::new(format!("{}.gear", a.name), gears, "1").default(&a.gear[..gears]));
    }
    let mut contact = 0;
    let mut geom = Vec::new();
    if model.options.contact && !model.geoms.is_empty() {
        let [ke, kd, kf] = PENALTY_DEFAULTS;
        let damping_unit = match model.options.contact_damping {
            ContactDamping::ByDepth => "N s/m^2",
            ContactDamping::Plain => "N s/m",
        };
        let law = |of: &str| {
            let constants =
                [("stiffness", "N/m", ke), ("damping", damping_unit, kd), ("friction_slope", "N s/m", kf)];
            constants.map(|(what, unit, value)| {
                Slice::new(format!("{of}.{what}"), 1, unit).default(&[value]).bounds(0.0, f64::INFINITY)
            })
        };
        let shared = model.options.contact_materials == ContactMaterials::Shared;
        if shared {
            contact = next(3);
            builder = law("contact").into_iter().fold(builder, LayoutBuilder::param);
        }
        for g in &model.geoms {
            geom.push(next(if shared { 11 } else { 14 }));
            let size = model.collider::<f64>(g).size;
            let (p, o, name) = (g.position, g.orientation, &g.name);
            builder = builder
                .param(Slice::new(format!("{name}.size"), 3, "m").default(&[size.x, size.y, size.z]))
                .param(Slice::new(format!("{name}.position"), 3, "m").default(&[p.x, p.y, p.z]))
                .param(Slice::new(format!("{name}.orientation"), 4, "1").default(&[o.w, o.x, o.y, o.z]))
                .param(Slice::new(format!("{name}.friction"), 1, "1").default(&[g.friction[0]]));
            if !shared {
                builder = law(name).into_iter().fold(builder, LayoutBuilder::param);
            }
        }
    }
    let index = ParamIndex { gravity, body, joint, actuator, contact, geom, mimic, kinematics: None };
    Ok((builder.build()?, index))
}
