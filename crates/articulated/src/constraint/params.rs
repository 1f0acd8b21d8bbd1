//! Parameters of constraints: blocks of named scalars, and where each lies.
//!
//! Inverse weights (`body_invweight`, `dof_invweight`) are parameters of their own, as in MuJoCo: they are
//! computed once from the model as described, and do not follow masses that change later.

use pullback_core::Block;
use pullback_core::layout::{LayoutBuilder, Slice};
use pullback_math::{Cotangent, Quat, Vec3};

use super::inverse_weight::InverseWeights;
use super::softness::SoftnessParams;
use crate::model::{ContactPair, Equality, EqualityKind, Geom, Joint, JointKind, Model, Softness, Tendon};

/// Parameters of a joint limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct LimitParams<T> {
    /// How soft it is.
    pub softness: SoftnessParams<T>,
    /// Distance from the limit at which it begins to act, rad or m.
    pub margin: T,
}

/// Parameters of the dry friction of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct FrictionParams<T> {
    /// How soft it is.
    pub softness: SoftnessParams<T>,
    /// Largest force of each velocity, N m or N.
    pub loss: T,
}

/// What a geom brings to its contacts, sliding friction aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct SurfaceParams<T> {
    /// Torsional friction, m.
    pub torsional: T,
    /// Rolling friction, m.
    pub rolling: T,
    /// How soft contacts are.
    pub softness: SoftnessParams<T>,
    /// Part of the distance at which contacts begin to act, m.
    pub margin: T,
}

/// The law of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct ContactLaw<T> {
    /// Friction: two of sliding, torsional, two of rolling.
    pub friction: [T; 5],
    /// How soft it is.
    pub softness: SoftnessParams<T>,
    /// Time constant and damping ratio of friction under an elliptic cone; zeros: those of `softness`.
    pub solreffriction: [T; 2],
    /// Distance below which the contact acts, m.
    pub margin: T,
}

/// Parameters of a point that is held.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct ConnectParams<T> {
    /// The point in the frame of the first body, m.
    pub first: Vec3<T>,
    /// The point in the frame of the second body, m.
    pub second: Vec3<T>,
    /// How soft it is.
    pub softness: SoftnessParams<T>,
}

/// Parameters of a frame that is held.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct WeldParams<T> {
    /// Origin of the frame in the frame of the first body, m.
    pub first: Vec3<T>,
    /// Its orientation there, normalized where it is used.
    pub first_orientation: Quat<T>,
    /// Origin of the frame in the frame of the second body, m.
    pub second: Vec3<T>,
    /// Its orientation there, normalized where it is used.
    pub second_orientation: Quat<T>,
    /// Length by which rotations are compared with translations, m.
    pub torquescale: T,
    /// How soft it is.
    pub softness: SoftnessParams<T>,
}

/// Parameters of a coordinate that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct PolynomialParams<T> {
    /// Coefficients, the constant first.
    pub polycoef: [T; 5],
    /// How soft it is.
    pub softness: SoftnessParams<T>,
}

/// Where the parameters of an equality lie.
#[derive(Clone, Copy, Debug)]
pub enum EqualityBlocks {
    /// A point.
    Connect(Block<ConnectParams<f64>>),
    /// A frame.
    Weld(Block<WeldParams<f64>>),
    /// A coordinate.
    Joint(Block<PolynomialParams<f64>>),
    /// The length of a tendon.
    Tendon(Block<PolynomialParams<f64>>),
}

/// Where the parameters of a joint lie.
#[derive(Clone, Copy, Debug)]
pub struct JointConstraints {
    /// Inverse weight of its velocities, or of its translations.
    pub weight: Block<[f64; 1]>,
    /// Inverse weight of the rotations of a free joint.
    pub rotation_weight: Option<Block<[f64; 1]>>,
    /// Its limits, if it has a range.
    pub limit: Option<Block<LimitParams<f64>>>,
    /// Largest angle of a limited ball joint.
    pub cone: Option<Block<[f64; 1]>>,
    /// Its dry friction, if any.
    pub friction: Option<Block<FrictionParams<f64>>>,
}

/// Where the parameters of a tendon lie.
#[derive(Clone, Copy, Debug)]
pub struct TendonConstraints {
    /// Inverse weight.
    pub weight: Block<[f64; 1]>,
    /// Its limits, if it has a range.
    pub limit: Option<Block<LimitParams<f64>>>,
    /// Its dry friction, if any.
    pub friction: Option<Block<FrictionParams<f64>>>,
}

/// Where the parameters of constraints lie.
#[derive(Clone, Debug)]
pub struct ConstraintIndex {
    /// Inverse weights of translation and rotation of each body, the world's first.
    pub bodies: Vec<Option<Block<[f64; 2]>>>,
    /// Joints.
    pub joints: Vec<JointConstraints>,
    /// Tendons.
    pub tendons: Vec<TendonConstraints>,
    /// Geoms; empty where nothing can touch.
    pub geoms: Vec<Block<SurfaceParams<f64>>>,
    /// Pairs with a law of their own.
    pub pairs: Vec<Block<ContactLaw<f64>>>,
    /// The law of all contacts, if one replaces all others.
    pub all_contacts: Option<Block<ContactLaw<f64>>>,
    /// Equalities.
    pub equalities: Vec<EqualityBlocks>,
    /// Ratio of frictional to normal impedance of contacts.
    pub impratio: Block<[f64; 1]>,
}

/// Slices of [`SoftnessParams`].
fn softness_slices(name: impl Fn(&str) -> String, softness: &Softness) -> [Slice; 2] {
    [
        Slice::new(name("solref"), 2, "s; 1").default(&softness.solref),
        Slice::new(name("solimp"), 5, "1").default(&softness.solimp),
    ]
}

fn joint_constraints(
    model: &Model,
    joint: &Joint,
    weights: &[f64],
    builder: &mut LayoutBuilder,
) -> JointConstraints {
    let name = |what: &str| format!("{}.{what}", joint.name);
    let unit = if joint.kind == JointKind::Slide { "m" } else { "rad" };
    let mut weight = |what: &str, value: f64| {
        builder.param_block([Slice::new(name(what), 1, "1/kg or 1/(kg m^2)").default(&[value])])
    };
    let first = weight("dof_invweight", weights[joint.v]);
    let rotation_weight =
        (joint.kind == JointKind::Free).then(|| weight("rotation_invweight", weights[joint.v + 3]));
    let limited = model.options.limits && joint.range.is_some() && joint.kind != JointKind::Free;
    let limit = limited.then(|| {
        let [solref, solimp] = softness_slices(|what| name(&format!("limit_{what}")), &joint.limit);
        let margin = Slice::new(name("limit_margin"), 1, unit).default(&[joint.margin]);
        builder.param_block([solref, solimp, margin])
    });
    let cone = (limited && joint.kind == JointKind::Ball).then(|| {
        let largest = joint.range.map_or(0.0, |(low, high)| low.max(high));
        builder.param_block([Slice::new(name("largest_angle"), 1, "rad").default(&[largest])])
    });
    let friction = (model.options.frictionloss && joint.frictionloss > 0.0).then(|| {
        let [solref, solimp] = softness_slices(|what| name(&format!("friction_{what}")), &joint.friction);
        let unit = if joint.kind == JointKind::Slide { "N" } else { "N m" };
        let loss = Slice::new(name("frictionloss"), 1, unit).default(&[joint.frictionloss]);
        builder.param_block([solref, solimp, loss])
    });
    JointConstraints { weight: first, rotation_weight, limit, cone, friction }
}

fn tendon_constraints(
    model: &Model,
    tendon: &Tendon,
    weight: f64,
    builder: &mut LayoutBuilder,
) -> TendonConstraints {
    let name = |what: &str| format!("{}.tendon_{what}", tendon.name);
    let weight = builder.param_block([Slice::new(name("invweight"), 1, "1/kg").default(&[weight])]);
    let limit = (model.options.limits && tendon.range.is_some()).then(|| {
        let [solref, solimp] = softness_slices(|what| name(&format!("limit_{what}")), &tendon.limit);
        let margin = Slice::new(name("limit_margin"), 1, "m").default(&[tendon.margin]);
        builder.param_block([solref, solimp, margin])
    });
    let friction = (model.options.frictionloss && tendon.frictionloss > 0.0).then(|| {
        let [solref, solimp] = softness_slices(|what| name(&format!("friction_{what}")), &tendon.friction);
        let loss = Slice::new(name("frictionloss"), 1, "N").default(&[tendon.frictionloss]);
        builder.param_block([solref, solimp, loss])
    });
    TendonConstraints { weight, limit, friction }
}

/// Slices of [`SurfaceParams`].
fn surface_slices(geom: &Geom) -> [Slice; 5] {
    let name = |what: &str| format!("{}.{what}", geom.name);
    let [solref, solimp] = softness_slices(name, &geom.contact.softness);
    [
        Slice::new(name("torsional_friction"), 1, "m").default(&[geom.friction[1]]),
        Slice::new(name("rolling_friction"), 1, "m").default(&[geom.friction[2]]),
        solref,
        solimp,
        Slice::new(name("margin"), 1, "m").default(&[geom.margin]),
    ]
}

/// Slices of [`ContactLaw`].
fn law_slices(of: &str, pair: &ContactPair) -> [Slice; 5] {
    let name = |what: &str| format!("{of}.pair_{what}");
    let [solref, solimp] = softness_slices(name, &pair.softness);
    [
        Slice::new(name("friction"), 5, "1").default(&pair.friction),
        solref,
        solimp,
        Slice::new(name("solreffriction"), 2, "s; 1").default(&pair.solreffriction),
        Slice::new(name("margin"), 1, "m").default(&[pair.margin]),
    ]
}

fn equality_blocks(equality: &Equality, builder: &mut LayoutBuilder) -> EqualityBlocks {
    let name = |what: &str| format!("{}.eq_{what}", equality.name);
    let point = |what: &str, p: Vec3<f64>| Slice::new(name(what), 3, "m").default(&[p.x, p.y, p.z]);
    let turn = |what: &str, q: Quat<f64>| Slice::new(name(what), 4, "1").default(&[q.w, q.x, q.y, q.z]);
    let [solref, solimp] = softness_slices(name, &equality.softness);
    match &equality.kind {
        EqualityKind::Connect { anchors, .. } => EqualityBlocks::Connect(builder.param_block([
            point("anchor1", anchors[0]),
            point("anchor2", anchors[1]),
            solref,
            solimp,
        ])),
        EqualityKind::Weld { anchors, orientations, torquescale, .. } => {
            EqualityBlocks::Weld(builder.param_block([
                point("anchor1", anchors[0]),
                turn("orientation1", orientations[0]),
                point("anchor2", anchors[1]),
                turn("orientation2", orientations[1]),
                Slice::new(name("torquescale"), 1, "m").default(&[*torquescale]),
                solref,
                solimp,
            ]))
        }
        EqualityKind::Joint { polycoef, .. } => EqualityBlocks::Joint(builder.param_block([
            Slice::new(name("polycoef"), 5, "1").default(polycoef),
            solref,
            solimp,
        ])),
        EqualityKind::Tendon { polycoef, .. } => EqualityBlocks::Tendon(builder.param_block([
            Slice::new(name("polycoef"), 5, "1").default(polycoef),
            solref,
            solimp,
        ])),
    }
}

/// Adds the slices of a model's constraints to a layout.
pub fn add_slices(model: &Model, weights: &InverseWeights, builder: &mut LayoutBuilder) -> ConstraintIndex {
    let mut bodies = vec![None];
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let name = format!("{}.body_invweight", body.name);
        let slice = Slice::new(name, 2, "1/kg; 1/(kg m^2)").default(&weights.bodies[b]);
        bodies.push(Some(builder.param_block([slice])));
    }
    let joints = model.joints.iter().map(|j| joint_constraints(model, j, &weights.dofs, builder)).collect();
    let of_tendons = model.tendons.iter().zip(&weights.tendons);
    let tendons = of_tendons.map(|(t, weight)| tendon_constraints(model, t, *weight, builder)).collect();
    let touching = model.options.contact && !model.geoms.is_empty();
    let geoms = if touching {
        model.geoms.iter().map(|g| builder.param_block(surface_slices(g))).collect()
    } else {
        Vec::new()
    };
    let mut pairs = Vec::new();
    for pair in model.pairs.iter().filter(|_| touching) {
        let of = |geom: usize| &model.geoms[geom].name;
        let name = format!("{}-{}", of(pair.geoms.0), of(pair.geoms.1));
        let repeated = model.pairs[..pairs.len()].iter().filter(|p| p.geoms == pair.geoms).count();
        let name = if repeated == 0 { name } else { format!("{name}#{repeated}") };
        pairs.push(builder.param_block(law_slices(&name, pair)));
    }
    let all_contacts = model.options.contact_override.filter(|_| touching).map(|law| {
        let pair = ContactPair {
            friction: law.friction,
            softness: law.softness,
            solreffriction: law.softness.solref,
            margin: law.margin,
            ..ContactPair::new(0, 0)
        };
        builder.param_block(law_slices("contact", &pair))
    });
    let equalities = if model.options.equality {
        model.equalities.iter().map(|e| equality_blocks(e, builder)).collect()
    } else {
        Vec::new()
    };
    let ratio = Slice::new("impratio", 1, "1").default(&[model.options.impedance_ratio]);
    let impratio = builder.param_block([ratio]);
    ConstraintIndex { bodies, joints, tendons, geoms, pairs, all_contacts, equalities, impratio }
}
