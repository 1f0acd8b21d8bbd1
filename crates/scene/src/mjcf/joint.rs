//! Joints: defaults, units, limits, dry friction.
//!
//! Honored: limits, dry friction and how soft both are, springs and dampers given by constants or by a time
//! constant and a damping ratio (`springdamper`), limits of the sum of actuator forces. `margin` is in the
//! unit of the coordinate, never in degrees. Springs and dampers of higher powers are refused.

use pullback_articulated::{Joint, JointKind, Softness};
use pullback_math::Vec3;

use super::ImportOptions;
use super::pose::Pose;
use super::settings::Compiler;
use crate::xml::Element;
use crate::{ImportError, Place};

const KINDS: [(&str, JointKind); 4] = [
    ("free", JointKind::Free),
    ("ball", JointKind::Ball),
    ("slide", JointKind::Slide),
    ("hinge", JointKind::Hinge),
];

/// A joint as written, in the units of the file; also a default.
#[derive(Clone, Debug)]
pub(super) struct JointSpec {
    kind: JointKind,
    position: Vec3<f64>,
    axis: Vec3<f64>,
    reference: f64,
    spring_reference: f64,
    /// Linear coefficient and those of higher powers.
    damping: [f64; 3],
    stiffness: [f64; 3],
    /// Time constant and damping ratio of the spring; zeros: none.
    spring_damper: [f64; 2],
    armature: f64,
    range: [f64; 2],
    limited: Option<bool>,
    limit: Softness,
    margin: f64,
    friction_loss: f64,
    friction: Softness,
    force_range: [f64; 2],
    force_limited: Option<bool>,
    /// Whether gravity compensation counts among the forces of actuators.
    gravity_by_actuator: bool,
}

impl Default for JointSpec {
    fn default() -> Self {
        JointSpec {
            kind: JointKind::Hinge,
            position: Vec3::zero(),
            axis: Vec3::new(0.0, 0.0, 1.0),
            reference: 0.0,
            spring_reference: 0.0,
            damping: [0.0; 3],
            stiffness: [0.0; 3],
            spring_damper: [0.0; 2],
            armature: 0.0,
            range: [0.0; 2],
            limited: None,
            limit: Softness::default(),
            margin: 0.0,
            friction_loss: 0.0,
            friction: Softness::default(),
            force_range: [0.0; 2],
            force_limited: None,
            gravity_by_actuator: false,
        }
    }
}

/// A joint with what is settled once the model is complete.
#[derive(Clone, Debug)]
pub(super) struct BuiltJoint {
    pub joint: Joint,
    /// Time constant and damping ratio of the spring, if it is given by them.
    pub spring_damper: Option<[f64; 2]>,
    /// Where it says that gravity compensation counts among the forces of actuators, if it does.
    pub gravity_by_actuator: Option<Place>,
}

impl JointSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        if let Some(i) = e.keyword("type", &KINDS.map(|(name, _)| name))? {
            self.kind = KINDS[i].1;
        }
        self.position = e.vec3("pos")?.unwrap_or(self.position);
        self.axis = e.vec3("axis")?.unwrap_or(self.axis);
        e.set("ref", &mut self.reference)?;
        e.set("springref", &mut self.spring_reference)?;
        e.overlay("damping", 1, &mut self.damping)?;
        e.overlay("stiffness", 1, &mut self.stiffness)?;
        e.overlay("springdamper", 2, &mut self.spring_damper)?;
        e.set("armature", &mut self.armature)?;
        e.overlay("range", 2, &mut self.range)?;
        self.limited = e.tristate("limited")?.unwrap_or(self.limited);
        read_softness(e, "solreflimit", "solimplimit", &mut self.limit)?;
        e.set("margin", &mut self.margin)?;
        e.set("frictionloss", &mut self.friction_loss)?;
        read_softness(e, "solreffriction", "solimpfriction", &mut self.friction)?;
        e.overlay("actuatorfrcrange", 2, &mut self.force_range)?;
        self.force_limited = e.tristate("actuatorfrclimited")?.unwrap_or(self.force_limited);
        self.gravity_by_actuator = e.boolean("actuatorgravcomp")?.unwrap_or(self.gravity_by_actuator);
        // Looks; users' data.
        e.finish(options, &["group", "user"])?;
        e.no_children(options)
    }

    /// The joint of `<freejoint>`, which takes no defaults.
    pub fn free(e: &Element, options: &ImportOptions) -> Result<Self, ImportError> {
        e.finish(options, &["group"])?;
        e.no_children(options)?;
        Ok(JointSpec { kind: JointKind::Free, ..JointSpec::default() })
    }

    /// The joint in SI units, inside `frame` of its body.
    pub fn build(
        &self,
        e: &Element,
        frame: Pose,
        compiler: &Compiler,
        options: &ImportOptions,
    ) -> Result<BuiltJoint, ImportError> {
        e.refuse_unless("damping", self.damping[1..] == [0.0; 2], options)?;
        e.refuse_unless("stiffness", self.stiffness[1..] == [0.0; 2], options)?;
        let directed = matches!(self.kind, JointKind::Hinge | JointKind::Slide);
        let angular = |x: f64| if self.kind == JointKind::Hinge { compiler.radians(x) } else { x };
        let mut axis = Vec3::new(0.0, 0.0, 1.0);
        if directed {
            axis = frame.orientation.rotate(self.axis);
            let norm = axis.norm();
            if norm < 1e-14 {
                return Err(e.error_in("axis", "is too short to have a direction"));
            }
            axis = axis * (1.0 / norm);
        }
        let free = self.kind == JointKind::Free;
        let joint = Joint {
            anchor: if free { Vec3::zero() } else { frame.point(self.position) },
            reference: if directed { angular(self.reference) } else { 0.0 },
            damping: self.damping[0],
            stiffness: self.stiffness[0],
            spring_reference: if directed { angular(self.spring_reference) } else { 0.0 },
            armature: self.armature,
            range: self.limits(e, compiler)?,
            limit: self.limit,
            margin: self.margin,
            frictionloss: self.friction_loss,
            friction: self.friction,
            actuator_force_range: self.force_limits(e, compiler)?,
            gravity_by_actuator: self.gravity_by_actuator,
            ..Joint::new(e.text("name").unwrap_or_default(), 0, self.kind, axis)
        };
        let gravity_by_actuator = self.gravity_by_actuator.then(|| e.place.clone());
        Ok(BuiltJoint { joint, spring_damper: self.spring_damper(e)?, gravity_by_actuator })
    }

    /// The range in the units of the file, whether it limits or not.
    pub fn written_range(&self) -> (f64, f64) {
        (self.range[0], self.range[1])
    }

    /// Time constant and damping ratio of the spring, if it is given by them.
    fn spring_damper(&self, e: &Element) -> Result<Option<[f64; 2]>, ImportError> {
        match self.spring_damper {
            [0.0, 0.0] => Ok(None),
            both if both.iter().all(|x| *x > 0.0) => Ok(Some(both)),
            _ => Err(e.error_in("springdamper", "its two numbers must be positive, or both zero")),
        }
    }

    /// Limits of the sum of all actuator forces; joints of several degrees of freedom have none.
    fn force_limits(&self, e: &Element, compiler: &Compiler) -> Result<Option<(f64, f64)>, ImportError> {
        let [low, high] = self.force_range;
        let directed = matches!(self.kind, JointKind::Hinge | JointKind::Slide);
        if !directed || !is_limited(e, "actuatorfrcrange", self.force_limited, self.force_range, compiler)? {
            return Ok(None);
        }
        if low >= high {
            return Err(e.error_in("actuatorfrcrange", "its first number must be below its second"));
        }
        Ok(Some((low, high)))
    }

    fn limits(&self, e: &Element, compiler: &Compiler) -> Result<Option<(f64, f64)>, ImportError> {
        if self.kind == JointKind::Free {
            return Ok(None);
        }
        if !is_limited(e, "range", self.limited, self.range, compiler)? {
            return Ok(None);
        }
        let [low, high] = self.range;
        if low >= high {
            return Err(e.error_in("range", "its first number must be below its second"));
        }
        if self.kind == JointKind::Ball && low != 0.0 {
            return Err(e.error_in("range", "must begin with 0 for a ball joint"));
        }
        let angular = |x: f64| if self.kind == JointKind::Slide { x } else { compiler.radians(x) };
        Ok(Some((angular(low), angular(high))))
    }
}

/// Overwrites a softness with what the two attributes say.
pub(super) fn read_softness(
    e: &Element,
    reference: &str,
    impedance: &str,
    into: &mut Softness,
) -> Result<(), ImportError> {
    e.overlay(reference, 1, &mut into.solref)?;
    e.overlay(impedance, 1, &mut into.solimp)?;
    Ok(())
}

/// Whether a range limits: as told, or else where it is not empty and `autolimits` is on.
pub(super) fn is_limited(
    e: &Element,
    name: &str,
    told: Option<bool>,
    range: [f64; 2],
    compiler: &Compiler,
) -> Result<bool, ImportError> {
    match told {
        Some(told) => Ok(told),
        None if compiler.auto_limits => Ok(range[0] < range[1]),
        None if range == [0.0; 2] => Ok(false),
        None => {
            Err(e.error_in(name, "is given but not whether it limits; turn on `autolimits` or say limited"))
        }
    }
}
