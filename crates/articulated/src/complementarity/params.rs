//! Parameters of the complementarity model: blocks of named scalars, and where each lies.

use pullback_core::Block;
use pullback_core::layout::{LayoutBuilder, Slice};
use pullback_math::Cotangent;

use crate::model::{EqualityKind, JointKind, Model};

/// What all rows share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct ImpulseLaw<T> {
    /// Part of a depth that one step takes back (Baumgarte).
    pub erp: T,
    /// Velocity by which a row gives way per unit of impulse, 1/kg: the regularization of A.
    pub cfm: T,
}

/// Where the parameters of a joint lie.
#[derive(Clone, Copy, Debug)]
pub struct JointImpulses {
    /// Largest angle of a limited ball joint.
    pub cone: Option<Block<[f64; 1]>>,
    /// Largest force of its dry friction, if any.
    pub friction: Option<Block<[f64; 1]>>,
}

/// Where the parameters of the complementarity model lie.
#[derive(Clone, Debug)]
pub struct ComplementarityIndex {
    /// What all rows share.
    pub law: Block<ImpulseLaw<f64>>,
    /// Restitution of each geom; empty where nothing can touch.
    pub restitution: Vec<Block<[f64; 1]>>,
    /// Joints.
    pub joints: Vec<JointImpulses>,
    /// Coefficients of coordinates that follow others, by equality.
    pub ties: Vec<Option<Block<[f64; 5]>>>,
}

/// Adds the slices of the complementarity model to a layout.
pub fn add_slices(model: &Model, builder: &mut LayoutBuilder) -> ComplementarityIndex {
    let options = model.options.complementarity;
    let law = builder.param_block([
        Slice::new("contact.erp", 1, "1").default(&[options.erp]).bounds(0.0, 1.0),
        Slice::new("contact.cfm", 1, "1/kg").default(&[options.cfm]).bounds(0.0, f64::INFINITY),
    ]);
    let mut restitution = Vec::new();
    for geom in model.geoms.iter().filter(|_| model.options.contact) {
        let slice = Slice::new(format!("{}.restitution", geom.name), 1, "1").default(&[options.restitution]);
        restitution.push(builder.param_block([slice.bounds(0.0, 1.0)]));
    }
    let mut joints = Vec::new();
    for joint in &model.joints {
        let name = |what: &str| format!("{}.{what}", joint.name);
        let limited = model.options.limits && joint.kind == JointKind::Ball;
        let cone = joint.range.filter(|_| limited).map(|(low, high)| {
            builder.param_block([Slice::new(name("largest_angle"), 1, "rad").default(&[low.max(high)])])
        });
        let dry = model.options.frictionloss && joint.frictionloss > 0.0;
        let friction = dry.then(|| {
            let unit = if joint.kind == JointKind::Slide { "N" } else { "N m" };
            builder.param_block([Slice::new(name("frictionloss"), 1, unit).default(&[joint.frictionloss])])
        });
        joints.push(JointImpulses { cone, friction });
    }
    let mut ties = Vec::new();
    for equality in model.equalities.iter().filter(|_| model.options.equality) {
        ties.push(match &equality.kind {
            EqualityKind::Joint { polycoef, .. } => {
                let slice = Slice::new(format!("{}.eq_polycoef", equality.name), 5, "1").default(polycoef);
                Some(builder.param_block([slice]))
            }
            _ => None,
        });
    }
    ComplementarityIndex { law, restitution, joints, ties }
}
