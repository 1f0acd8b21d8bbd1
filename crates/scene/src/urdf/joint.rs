//! Joints: motion, limits, damping and friction.

use pullback_math::{Quat, Vec3};

use super::pose::Pose;
use super::read::{Reader, named, not_negative};
use crate::xml::{Element, Lenient};
use crate::{ImportError, Place};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Motion {
    Fixed,
    Revolute,
    Continuous,
    Prismatic,
    Floating,
    Planar,
    /// Bullet's ball joint.
    Spherical,
}

impl Motion {
    /// Whether one number says where the joint stands.
    pub fn is_scalar(self) -> bool {
        matches!(self, Motion::Revolute | Motion::Continuous | Motion::Prismatic)
    }
}

pub(super) struct Joint {
    pub name: String,
    pub place: Place,
    pub motion: Motion,
    pub parent: String,
    pub child: String,
    pub parent_from_child: Pose,
    pub axis: Vec3<f64>,
    pub damping: f64,
    pub friction: f64,
    pub range: Option<(f64, f64)>,
    pub effort: Option<f64>,
    pub mimic: Option<Follows>,
}

/// coordinate = multiplier · coordinate of the leader + offset
#[derive(Clone)]
pub(super) struct Follows {
    pub leader: String,
    pub multiplier: f64,
    pub offset: f64,
}

impl Joint {
    /// Holds the joint at a coordinate: it is a fixed joint from now on.
    pub fn hold_at(&mut self, coordinate: f64) {
        let moved = match self.motion {
            Motion::Prismatic => Pose { position: self.axis * coordinate, ..Pose::identity() },
            _ => Pose { orientation: Quat::from_axis_angle(self.axis, coordinate), ..Pose::identity() },
        };
        self.parent_from_child = self.parent_from_child.compose(moved);
        (self.motion, self.range, self.effort, self.mimic) = (Motion::Fixed, None, None, None);
    }
}

pub(super) fn joint(e: &Element, reader: &Reader) -> Result<Joint, ImportError> {
    let tags = ["origin", "parent", "child", "axis", "limit", "dynamics", "joint_properties", "mimic"];
    reader.only(e, &["name", "type"], &tags);
    let motion = match named(e, "type")? {
        "fixed" => Motion::Fixed,
        "revolute" => Motion::Revolute,
        "continuous" => Motion::Continuous,
        "prismatic" => Motion::Prismatic,
        "floating" => Motion::Floating,
        "planar" => Motion::Planar,
        "spherical" => Motion::Spherical,
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(e.error_in("type", format!("no joint is of type `{other}`")));
        }
    };
    let end = |tag: &str| {
        let end = reader.required_child(e, tag)?;
        reader.only(end, &["link"], &[]);
        Ok(named(end, "link")?.to_string())
    };
    let mut joint = Joint {
        name: named(e, "name")?.into(),
        place: e.place.clone(),
        motion,
        parent: end("parent")?,
        child: end("child")?,
        parent_from_child: reader.origin(e)?,
        axis: axis(e, motion, reader)?,
        damping: 0.0,
        friction: 0.0,
        range: None,
        effort: None,
        mimic: None,
    };
    limits(e, &mut joint, reader)?;
    // `joint_properties` is what `dynamics` was called in the first files of ROS.
    let (now, before) = (reader.child(e, "dynamics"), reader.child(e, "joint_properties"));
    if let Some(dynamics) = now.or(before) {
        reader.only(dynamics, &["damping", "friction"], &[]);
        joint.damping = not_negative(dynamics, "damping")?.unwrap_or(0.0);
        joint.friction = not_negative(dynamics, "friction")?.unwrap_or(0.0);
    }
    if let (Some(_), Some(before)) = (now, before) {
        reader.notes.add(&before.place, "<joint_properties> beside <dynamics> is not used");
    }
    if let Some(mimic) = reader.child(e, "mimic").filter(|_| !reader.options.ignores_element("mimic")) {
        reader.only(mimic, &["joint", "multiplier", "offset"], &[]);
        joint.mimic = Some(Follows {
            leader: named(mimic, "joint")?.into(),
            multiplier: mimic.number("multiplier")?.unwrap_or(1.0),
            offset: mimic.number("offset")?.unwrap_or(0.0),
        });
    }
    Ok(joint)
}

fn axis(joint: &Element, motion: Motion, reader: &Reader) -> Result<Vec3<f64>, ImportError> {
    let Some(e) = reader.child(joint, "axis") else { return Ok(Vec3::new(1.0, 0.0, 0.0)) };
    reader.only(e, &["xyz"], &[]);
    e.required("xyz")?;
    let axis = e.vec3("xyz")?.unwrap_or(Vec3::zero());
    // Scaled first, so that neither tiny nor huge components spoil the norm.
    let largest = axis.x.abs().max(axis.y.abs()).max(axis.z.abs());
    if largest == 0.0 {
        // Exporters write a zero axis for joints that have none.
        return match motion {
            Motion::Fixed | Motion::Floating | Motion::Spherical => Ok(Vec3::new(1.0, 0.0, 0.0)),
            _ => Err(e.error_in("xyz", "the axis must not be zero")),
        };
    }
    Ok(axis.map(|c| c / largest).normalize())
}

fn limits(e: &Element, joint: &mut Joint, reader: &Reader) -> Result<(), ImportError> {
    let bounded = matches!(joint.motion, Motion::Revolute | Motion::Prismatic);
    let Some(limit) = reader.child(e, "limit") else {
        return match bounded {
            true => {
                Err(e.error("revolute and prismatic joints need a `limit`; use `continuous` to turn freely"))
            }
            false => Ok(()),
        };
    };
    reader.only(limit, &["lower", "upper", "effort", "velocity"], &[]);
    let (lower, upper) = (limit.number("lower")?, limit.number("upper")?);
    limit.number("velocity")?;
    joint.effort = not_negative(limit, "effort")?;
    if bounded {
        let (lower, upper) = (lower.unwrap_or(0.0), upper.unwrap_or(0.0));
        // Exporters write zeros for limits they do not know, and Bullet's users lower > upper for none.
        if lower < upper {
            joint.range = Some((lower, upper));
        } else {
            let sentence = "<limit> with `lower` not below `upper` limits nothing: the joint moves freely";
            reader.notes.add(&limit.place, sentence);
        }
        return Ok(());
    }
    // Joints of other types have no range.
    let written = [lower, upper].into_iter().flatten().any(|bound| bound != 0.0);
    if written && joint.motion != Motion::Fixed {
        let kind = e.text("type").unwrap_or_default();
        reader.notes.add(&limit.place, format!("the range in <limit> of a {kind} joint is not used"));
    }
    Ok(())
}
