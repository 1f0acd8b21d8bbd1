//! Actuators: all elements in one spec, as MuJoCo keeps them.
//!
//! All kinds share one default per class. A shortcut overwrites gain, bias and dynamics; `position`, `velocity` and
//! others start from those of the nearest class in which the same shortcut or `general` set them last, and from gain
//! 1 without bias and dynamics otherwise.

use std::collections::HashMap;

use pullback_articulated::{
    ActivationDynamics, Actuator, Bias, Gain, Joint, JointKind, Model, Muscle, Tendon, Transmission,
};

use super::ImportOptions;
use super::joint::is_limited;
use super::settings::Compiler;
use crate::ImportError;
use crate::xml::{Element, Lenient};

/// Elements that are actuators.
pub(super) const ACTUATORS: [&str; 10] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
];

/// Gain and bias by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Fixed,
    Affine,
    Muscle,
}

/// What a shortcut sets.
#[derive(Clone, Debug, PartialEq)]
struct Laws {
    gain: Law,
    gainprm: [f64; 10],
    /// `Fixed` is none.
    bias: Law,
    biasprm: [f64; 10],
    /// Index in [`DYNAMICS`].
    dynamics: usize,
    dynprm: [f64; 10],
}

const DYNAMICS: [&str; 5] = ["none", "integrator", "filter", "filterexact", "muscle"];
const INTEGRATOR: usize = 1;
const FILTER: usize = 2;
const FILTER_EXACT: usize = 3;
const MUSCLE: usize = 4;

impl Default for Laws {
    fn default() -> Self {
        let mut one = [0.0; 10];
        one[0] = 1.0;
        Laws {
            gain: Law::Fixed,
            gainprm: one,
            bias: Law::Fixed,
            biasprm: [0.0; 10],
            dynamics: 0,
            dynprm: one,
        }
    }
}

/// An actuator as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct ActuatorSpec {
    /// The element that last set the laws.
    kind: String,
    gear: [f64; 6],
    laws: Laws,
    /// Kind and laws of the classes around this one, outermost first.
    outer: Vec<(String, Laws)>,
    control_range: [f64; 2],
    control_limited: Option<bool>,
    force_range: [f64; 2],
    force_limited: Option<bool>,
    activation_range: [f64; 2],
    activation_limited: Option<bool>,
    length_range: [f64; 2],
    early: bool,
    inherit_range: f64,
    rod: f64,
    /// Inertia and damping that the joint or tendon gains, before the gear.
    armature: f64,
    damping: f64,
}

impl Default for ActuatorSpec {
    fn default() -> Self {
        ActuatorSpec {
            kind: "general".into(),
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            laws: Laws::default(),
            outer: Vec::new(),
            control_range: [0.0; 2],
            control_limited: None,
            force_range: [0.0; 2],
            force_limited: None,
            activation_range: [0.0; 2],
            activation_limited: None,
            length_range: [0.0; 2],
            early: false,
            inherit_range: 0.0,
            rod: 0.0,
            armature: 0.0,
            damping: 0.0,
        }
    }
}

/// What actuators find by name.
pub(super) struct Targets<'a> {
    pub joints: &'a [Joint],
    pub index: HashMap<String, usize>,
    /// Ranges of joints by name, also those that do not limit.
    pub ranges: HashMap<String, (f64, f64)>,
    pub tendons: &'a [Tendon],
    /// Ranges of tendons, also those that do not limit.
    pub tendon_ranges: &'a [(f64, f64)],
    pub sites: HashMap<String, usize>,
    pub bodies: HashMap<String, usize>,
}

impl ActuatorSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        e.overlay("gear", 1, &mut self.gear)?;
        let ranged = e.overlay("ctrlrange", 2, &mut self.control_range)?;
        self.control_limited = e.tristate("ctrllimited")?.unwrap_or(self.control_limited);
        e.overlay("forcerange", 2, &mut self.force_range)?;
        self.force_limited = e.tristate("forcelimited")?.unwrap_or(self.force_limited);
        let act_ranged = e.overlay("actrange", 2, &mut self.activation_range)?;
        self.activation_limited = e.tristate("actlimited")?.unwrap_or(self.activation_limited);
        e.overlay("lengthrange", 2, &mut self.length_range)?;
        self.early = e.boolean("actearly")?.unwrap_or(self.early);
        e.set("cranklength", &mut self.rod)?;
        let inherits = e.number("inheritrange")?;
        let integrates = e.tag == "intvelocity";
        if inherits.is_some_and(|r| r > 0.0) && (if integrates { act_ranged } else { ranged }) {
            return Err(e.error("has both a range and `inheritrange`; keep one"));
        }
        self.set_kind(&e.tag);
        // Only these keep a range that a class inherits.
        if !["position", "intvelocity", "general"].contains(&e.tag.as_str()) {
            self.inherit_range = 0.0;
        }
        match e.tag.as_str() {
            "motor" => self.laws = Laws::default(),
            "position" | "intvelocity" => self.apply_position(e)?,
            "velocity" => {
                let mut kv = self.laws.gainprm[0];
                set_nonnegative(e, "kv", &mut kv)?;
                self.laws = Laws { bias: Law::Affine, ..Laws::default() };
                (self.laws.gainprm[0], self.laws.biasprm[2]) = (kv, -kv);
            }
            "damper" => {
                let mut kv = 0.0;
                set_nonnegative(e, "kv", &mut kv)?;
                if self.control_range.iter().any(|x| *x < 0.0) {
                    return Err(e.error_in("ctrlrange", "a damper has no negative control"));
                }
                self.laws = Laws { gain: Law::Affine, gainprm: [0.0; 10], ..Laws::default() };
                self.laws.gainprm[2] = -kv;
                self.control_limited = Some(true);
            }
            "cylinder" => self.apply_cylinder(e)?,
            "muscle" => self.apply_muscle(e)?,
            "adhesion" => {
                let mut gain = self.laws.gainprm[0];
                set_nonnegative(e, "gain", &mut gain)?;
                if self.control_range.iter().any(|x| *x < 0.0) {
                    return Err(e.error_in("ctrlrange", "adhesion has no negative control"));
                }
                self.laws = Laws::default();
                self.laws.gainprm[0] = gain;
                self.control_limited = Some(true);
            }
            "general" => self.apply_general(e, options)?,
            _ => return e.refuse(options),
        }
        self.inherit_range = inherits.unwrap_or(self.inherit_range);
        for (name, into) in [("armature", &mut self.armature), ("damping", &mut self.damping)] {
            let Some(given) = e.list(name)? else { continue };
            // Dampers of higher powers have numbers of their own.
            e.refuse_unless(name, given.iter().skip(1).all(|x| *x == 0.0), options)?;
            *into = given.first().copied().unwrap_or(0.0);
            if *into < 0.0 {
                return Err(e.error_in(name, "must not be negative"));
            }
        }
        // A delay acts by a history of controls, which a state without memory does not have.
        for name in ["delay", "nsample"] {
            let none = e.list(name)?.is_none_or(|x| x.iter().all(|x| *x == 0.0));
            if !none && !options.ignores(&e.tag, name) {
                let why =
                    "a delay of controls is not supported; shift the controls by it and remove it, or allow";
                return Err(e.error_in(name, format!("{why} `{}.{name}` to be ignored", e.tag)));
            }
        }
        e.finish(options, &["group", "user", "interp", "actdim"])?;
        e.no_children(options)
    }

    /// The beginning of a class inside this one.
    pub fn nested(&self) -> Self {
        let mut inner = self.clone();
        inner.outer.push((self.kind.clone(), self.laws.clone()));
        inner
    }

    /// Laws that another shortcut set are replaced by those of the nearest outer class where this shortcut or
    /// `general` set them, or by those of a motor.
    fn set_kind(&mut self, kind: &str) {
        let fits = |k: &str| k == kind || k == "general";
        if kind != "general" && !fits(&self.kind) {
            let found = self.outer.iter().rev().find(|(k, _)| fits(k));
            self.laws = found.map_or_else(Laws::default, |(_, laws)| laws.clone());
        }
        self.kind = kind.to_string();
    }

    fn apply_position(&mut self, e: &Element) -> Result<(), ImportError> {
        let (mut kp, mut slope) = (self.laws.gainprm[0], self.laws.biasprm[2]);
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
        let (mut dynamics, mut dynprm) = (self.laws.dynamics, self.laws.dynprm);
        if e.tag == "intvelocity" {
            dynamics = INTEGRATOR;
            self.activation_limited = Some(true);
        } else if e.has("timeconst") {
            set_nonnegative(e, "timeconst", &mut dynprm[0])?;
            dynamics = if dynprm[0] == 0.0 { 0 } else { FILTER_EXACT };
        }
        self.laws = Laws { bias: Law::Affine, dynamics, dynprm, ..Laws::default() };
        (self.laws.gainprm[0], self.laws.biasprm[1], self.laws.biasprm[2]) = (kp, -kp, slope);
        Ok(())
    }

    fn apply_cylinder(&mut self, e: &Element) -> Result<(), ImportError> {
        let laws = &mut self.laws;
        e.set("timeconst", &mut laws.dynprm[0])?;
        let mut bias = [laws.biasprm[0], laws.biasprm[1], laws.biasprm[2]];
        e.overlay("bias", 1, &mut bias)?;
        laws.biasprm[..3].copy_from_slice(&bias);
        e.set("area", &mut laws.gainprm[0])?;
        if let Some(diameter) = e.number("diameter")?.filter(|d| *d >= 0.0) {
            laws.gainprm[0] = std::f64::consts::FRAC_PI_4 * diameter * diameter;
        }
        (laws.gain, laws.bias, laws.dynamics) = (Law::Fixed, Law::Affine, FILTER);
        Ok(())
    }

    fn apply_muscle(&mut self, e: &Element) -> Result<(), ImportError> {
        let Laws { gainprm, dynprm, .. } = &mut self.laws;
        // What stands as in a general actuator becomes that of a muscle.
        for (x, general, muscle) in [(0, 1.0, 0.01), (1, 0.0, 0.04)] {
            if dynprm[x] == general {
                dynprm[x] = muscle;
            }
        }
        let muscle = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];
        for (i, (x, muscle)) in gainprm.iter_mut().zip(muscle).enumerate() {
            if *x == if i == 0 { 1.0 } else { 0.0 } {
                *x = muscle;
            }
        }
        // Negative numbers keep what is there.
        let overlay = |name: &str, into: &mut [f64]| {
            let mut given = vec![-1.0; into.len()];
            e.overlay(name, 1, &mut given)?;
            into.iter_mut().zip(given).filter(|(_, given)| *given >= 0.0).for_each(|(x, given)| *x = given);
            Ok(())
        };
        overlay("timeconst", &mut dynprm[..2])?;
        set_nonnegative(e, "tausmooth", &mut dynprm[2])?;
        overlay("range", &mut gainprm[..2])?;
        for (name, at) in
            [("force", 2), ("scale", 3), ("lmin", 4), ("lmax", 5), ("vmax", 6), ("fpmax", 7), ("fvmax", 8)]
        {
            overlay(name, &mut gainprm[at..=at])?;
        }
        self.laws.biasprm = self.laws.gainprm;
        (self.laws.gain, self.laws.bias, self.laws.dynamics) = (Law::Muscle, Law::Muscle, MUSCLE);
        Ok(())
    }

    fn apply_general(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        let laws = &mut self.laws;
        let known = |name: &str, words: &[&str]| {
            let value = e.text(name);
            if value.is_some_and(|v| v == "user" || (v == "muscle" && !words.contains(&"muscle"))) {
                e.refuse_unless(name, false, options)?;
                return Ok(None);
            }
            e.keyword(name, words)
        };
        const LAWS: [Law; 3] = [Law::Fixed, Law::Affine, Law::Muscle];
        if let Some(i) = known("gaintype", &["fixed", "affine", "muscle"])? {
            laws.gain = LAWS[i];
        }
        if let Some(i) = known("biastype", &["none", "affine", "muscle"])? {
            laws.bias = LAWS[i];
        }
        if let Some(i) = known("dyntype", &DYNAMICS)? {
            laws.dynamics = i;
        }
        e.overlay("gainprm", 1, &mut laws.gainprm)?;
        e.overlay("biasprm", 1, &mut laws.biasprm)?;
        e.overlay("dynprm", 1, &mut laws.dynprm)?;
        if e.integer("actdim")?.is_some_and(|n| n > 1) {
            return Err(e.error_in("actdim", "an actuator has one activation at most"));
        }
        Ok(())
    }

    /// The actuator, its target found by name.
    pub fn build(
        &self,
        e: &Element,
        targets: &Targets,
        compiler: &Compiler,
    ) -> Result<Actuator, ImportError> {
        let (transmission, written) = self.transmission(e, targets)?;
        let (mut control_range, mut activation_range) = (self.control_range, self.activation_range);
        if self.inherit_range > 0.0 {
            let Some((low, high)) = written.filter(|(low, high)| low < high) else {
                return Err(e.error("`inheritrange` needs a hinge, slide or tendon with a range"));
            };
            let (mean, radius) = ((low + high) / 2.0, (high - low) / 2.0 * self.inherit_range);
            let range = if self.kind == "intvelocity" { &mut activation_range } else { &mut control_range };
            *range = [mean - radius, mean + radius];
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
        let Laws { gain, gainprm, bias, biasprm, dynamics, dynprm } = &self.laws;
        let three = |p: &[f64; 10]| [p[0], p[1], p[2]];
        // A spring or damper of higher order has no place in an affine force.
        if *bias == Law::Affine && biasprm[3..].iter().any(|x| *x != 0.0) {
            return Err(e.error_in("biasprm", "only its first three numbers may be non-zero"));
        }
        let dynamics = match *dynamics {
            INTEGRATOR => ActivationDynamics::Integrator,
            FILTER => ActivationDynamics::Filter(dynprm[0]),
            FILTER_EXACT => ActivationDynamics::FilterExact(dynprm[0]),
            MUSCLE => ActivationDynamics::Muscle { timeconst: [dynprm[0], dynprm[1]], tausmooth: dynprm[2] },
            _ => ActivationDynamics::None,
        };
        let active = dynamics != ActivationDynamics::None;
        let activation_range =
            if active { limits("actrange", self.activation_limited, activation_range)? } else { None };
        let [low, high] = self.length_range;
        Ok(Actuator {
            name: e.text("name").unwrap_or_default().to_string(),
            transmission,
            gear: self.gear,
            gain: match gain {
                Law::Fixed => Gain::Fixed(gainprm[0]),
                Law::Affine => Gain::Affine(three(gainprm)),
                Law::Muscle => Gain::Muscle(muscle(gainprm)),
            },
            bias: match bias {
                Law::Fixed => Bias::None,
                Law::Affine => Bias::Affine(three(biasprm)),
                Law::Muscle => Bias::Muscle(muscle(biasprm)),
            },
            dynamics,
            control_range: limits("ctrlrange", self.control_limited, control_range)?,
            force_range: limits("forcerange", self.force_limited, self.force_range)?,
            activation_range,
            early: self.early && active,
            length_range: (low < high).then_some((low, high)),
        })
    }

    /// Adds armature and damping of the actuator, by the square of its gear, to those of what it acts along.
    pub fn reflect(&self, e: &Element, actuator: &Actuator, model: &mut Model) -> Result<(), ImportError> {
        if self.armature == 0.0 && self.damping == 0.0 {
            return Ok(());
        }
        let squared = self.gear[0] * self.gear[0];
        let (armature, damping) = match actuator.transmission {
            Transmission::Joint(j) | Transmission::JointInParent(j)
                if model.joints[j].kind.coordinates() == 1 =>
            {
                let joint = &mut model.joints[j];
                (&mut joint.armature, &mut joint.damping)
            }
            Transmission::Tendon(t) => {
                let tendon = &mut model.tendons[t];
                (&mut tendon.armature, &mut tendon.damping)
            }
            _ => return Err(e.error("has `armature` or `damping`, which need a hinge, slide or tendon")),
        };
        *armature += self.armature * squared;
        *damping += self.damping * squared;
        Ok(())
    }

    /// What the actuator acts along, and the range of that, also if it does not limit.
    fn transmission(
        &self,
        e: &Element,
        targets: &Targets,
    ) -> Result<(Transmission, Option<(f64, f64)>), ImportError> {
        const NAMES: [&str; 6] = ["joint", "jointinparent", "tendon", "cranksite", "site", "body"];
        let mut given = NAMES.iter().filter(|name| e.text(name).is_some_and(|text| !text.is_empty()));
        let (Some(name), None) = (given.next(), given.next()) else {
            return Err(
                e.error("needs one of `joint`, `jointinparent`, `tendon`, `cranksite`, `site` and `body`")
            );
        };
        let find = |attribute: &str, kind: &str, names: &HashMap<String, usize>| {
            let name = e.required(attribute)?;
            let found = names.get(name).copied();
            found.ok_or_else(|| e.error_in(attribute, format!("no {kind} is called `{name}`")))
        };
        let site = |attribute: &str| find(attribute, "site", &targets.sites);
        Ok(match *name {
            "joint" | "jointinparent" => {
                let joint = find(name, "joint", &targets.index)?;
                let scalar = matches!(targets.joints[joint].kind, JointKind::Hinge | JointKind::Slide);
                let range = targets.ranges.get(e.required(name)?).copied().filter(|_| scalar);
                let in_parent = *name == "jointinparent";
                let kind = if in_parent { Transmission::JointInParent } else { Transmission::Joint };
                (kind(joint), range)
            }
            "tendon" => {
                let name = e.required("tendon")?;
                let found = targets.tendons.iter().position(|t| t.name == name);
                let t = found.ok_or_else(|| e.error_in("tendon", format!("no tendon is called `{name}`")))?;
                (Transmission::Tendon(t), Some(targets.tendon_ranges[t]))
            }
            "cranksite" => {
                if self.rod <= 0.0 {
                    return Err(e.error("needs a positive `cranklength`"));
                }
                let (crank, slider) = (site("cranksite")?, site("slidersite")?);
                (Transmission::SliderCrank { crank, slider, rod: self.rod }, None)
            }
            "site" => {
                let reference = if e.has("refsite") { Some(site("refsite")?) } else { None };
                (Transmission::Site { site: site("site")?, reference }, None)
            }
            _ => (Transmission::Body(find("body", "body", &targets.bodies)?), None),
        })
    }
}

/// The curves of a muscle.
fn muscle(prm: &[f64; 10]) -> Muscle {
    let &[low, high, force, scale, lmin, lmax, vmax, fpmax, fvmax, _] = prm;
    Muscle { range: [low, high], force, scale, lmin, lmax, vmax, fpmax, fvmax }
}

fn set_nonnegative(e: &Element, name: &str, into: &mut f64) -> Result<(), ImportError> {
    e.set(name, into)?;
    if *into < 0.0 { Err(e.error_in(name, "must not be negative")) } else { Ok(()) }
}
