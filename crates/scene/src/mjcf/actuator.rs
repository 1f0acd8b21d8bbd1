//! Actuators: `motor`, `position`, `velocity` and `general` in one spec, as MuJoCo keeps them.
//!
//! All kinds share one default per class. A shortcut overwrites gain and bias; `position` and `velocity`
//! start from those of the nearest class in which the same shortcut or `general` set them last, and from gain
//! 1 without bias otherwise. A force must be affine in control, length and velocity, without states of its
//! own.

use std::collections::HashMap;

use pullback_articulated::{Actuator, ActuatorTarget, Joint, JointKind};

use super::ImportOptions;
use super::joint::is_limited;
use super::settings::Compiler;
use crate::ImportError;
use crate::xml::Element;

/// The element that last set gain and bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    General,
    Motor,
    Position,
    Velocity,
}

/// An actuator as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct ActuatorSpec {
    kind: Kind,
    gear: [f64; 6],
    gain: [f64; 10],
    bias: [f64; 10],
    affine: bool,
    /// Kind, gain and bias of the classes around this one, outermost first.
    outer: Vec<(Kind, [f64; 10], [f64; 10])>,
    control_range: [f64; 2],
    control_limited: Option<bool>,
    force_range: [f64; 2],
    force_limited: Option<bool>,
    inherit_range: f64,
}

/// Gain 1, as at the start.
const UNIT_GAIN: [f64; 10] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

impl Default for ActuatorSpec {
    fn default() -> Self {
        ActuatorSpec {
            kind: Kind::General,
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            gain: UNIT_GAIN,
            bias: [0.0; 10],
            affine: false,
            outer: Vec::new(),
            control_range: [0.0; 2],
            control_limited: None,
            force_range: [0.0; 2],
            force_limited: None,
            inherit_range: 0.0,
        }
    }
}

/// The joints that actuators find by name.
pub(super) struct Targets<'a> {
    pub joints: &'a [Joint],
    pub index: HashMap<String, usize>,
    /// Ranges by name, also those that do not limit.
    pub ranges: HashMap<String, (f64, f64)>,
}

impl ActuatorSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        e.overlay("gear", 1, &mut self.gear)?;
        if e.overlay("ctrlrange", 2, &mut self.control_range)? && e.has("inheritrange") {
            return Err(e.error("has both `ctrlrange` and `inheritrange`; keep one"));
        }
        self.control_limited = e.tristate("ctrllimited")?.unwrap_or(self.control_limited);
        e.overlay("forcerange", 2, &mut self.force_range)?;
        self.force_limited = e.tristate("forcelimited")?.unwrap_or(self.force_limited);
        match e.tag.as_str() {
            "motor" => {
                self.set_kind(Kind::Motor);
                (self.gain, self.bias, self.affine) = (UNIT_GAIN, [0.0; 10], false);
                self.inherit_range = 0.0;
            }
            "position" => self.apply_position(e)?,
            "velocity" => {
                self.set_kind(Kind::Velocity);
                let mut kv = self.gain[0];
                e.set("kv", &mut kv)?;
                if kv < 0.0 {
                    return Err(e.error_in("kv", "must not be negative"));
                }
                (self.gain, self.bias, self.affine) = (UNIT_GAIN, [0.0; 10], true);
                (self.gain[0], self.bias[2]) = (kv, -kv);
                self.inherit_range = 0.0;
            }
            _ => self.apply_general(e, options)?,
        }
        e.finish(options, &["group", "user"])?;
        e.no_children(options)
    }

    /// The beginning of a class inside this one.
    pub fn nested(&self) -> Self {
        let mut inner = self.clone();
        inner.outer.push((self.kind, self.gain, self.bias));
        inner
    }

    /// Gain and bias that another shortcut set are replaced by those of the nearest outer class where this
    /// shortcut or `general` set them, or by gain 1.
    fn set_kind(&mut self, kind: Kind) {
        let fits = |k: Kind| k == kind || k == Kind::General;
        if !fits(self.kind) {
            let found = self.outer.iter().rev().find(|(k, ..)| fits(*k));
            (self.gain, self.bias) = found.map_or((UNIT_GAIN, [0.0; 10]), |(_, gain, bias)| (*gain, *bias));
        }
        self.kind = kind;
    }

    fn apply_position(&mut self, e: &Element) -> Result<(), ImportError> {
        self.set_kind(Kind::Position);
        let (mut kp, mut slope) = (self.gain[0], self.bias[2]);
        e.set("kp", &mut kp)?;
        if e.has("kv") && e.has("dampratio") {
            return Err(e.error("has both `kv` and `dampratio`; keep one"));
        }
        // Until the model is complete, a positive slope stands for a damping ratio.
        for (name, sign) in [("kv", -1.0), ("dampratio", 1.0)] {
            if let Some(given) = e.number(name)? {
                if given < 0.0 {
                    return Err(e.error_in(name, "must not be negative"));
                }
                slope = sign * given;
            }
        }
        e.set("inheritrange", &mut self.inherit_range)?;
        (self.gain, self.bias, self.affine) = (UNIT_GAIN, [0.0; 10], true);
        (self.gain[0], self.bias[1], self.bias[2]) = (kp, -kp, slope);
        Ok(())
    }

    fn apply_general(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        for (name, harmless) in [("gaintype", "fixed"), ("dyntype", "none")] {
            let value = e.text(name);
            e.refuse_unless(name, value.is_none_or(|v| v == harmless), options)?;
        }
        if let Some(i) = e.keyword("biastype", &["none", "affine"])? {
            self.affine = i == 1;
        }
        self.kind = Kind::General;
        e.overlay("gainprm", 1, &mut self.gain)?;
        e.overlay("biasprm", 1, &mut self.bias)?;
        e.list("dynprm")?;
        e.set("inheritrange", &mut self.inherit_range)
    }

    /// The actuator, its target found among the joints.
    pub fn build(
        &self,
        e: &Element,
        targets: &Targets,
        compiler: &Compiler,
    ) -> Result<Actuator, ImportError> {
        let target = e.required("joint")?;
        let joint = *targets
            .index
            .get(target)
            .ok_or_else(|| e.error_in("joint", format!("no joint is called `{target}`")))?;
        let mut control_range = self.control_range;
        if self.inherit_range > 0.0 {
            let scalar = matches!(targets.joints[joint].kind, JointKind::Hinge | JointKind::Slide);
            let written = targets.ranges.get(target).copied().filter(|(low, high)| scalar && low < high);
            let Some((low, high)) = written else {
                return Err(e.error("`inheritrange` needs a hinge or slide with a range"));
            };
            let (mean, radius) = ((low + high) / 2.0, (high - low) / 2.0 * self.inherit_range);
            control_range = [mean - radius, mean + radius];
        }
        let limits = |name: &str, told: Option<bool>, range: [f64; 2]| {
            if !is_limited(e, name, told, range, compiler)? {
                return Ok(None);
            }
            if range[0] >= range[1] {
                return Err(e.error_in(name, "its first number must be below its second"));
            }
            Ok(Some((range[0], range[1])))
        };
        // A spring or damper of higher order has no place in an affine force.
        if self.gain[1..].iter().chain(&self.bias[3..]).any(|x| *x != 0.0) {
            return Err(
                e.error("only the first number of gainprm and the first three of biasprm may be non-zero")
            );
        }
        let bias = if self.affine { [self.bias[0], self.bias[1], self.bias[2]] } else { [0.0; 3] };
        Ok(Actuator {
            name: e.text("name").unwrap_or_default().to_string(),
            target: ActuatorTarget::Joint(joint),
            gear: self.gear,
            gain: self.gain[0],
            bias,
            control_range: limits("ctrlrange", self.control_limited, control_range)?,
            force_range: limits("forcerange", self.force_limited, self.force_range)?,
        })
    }
}
