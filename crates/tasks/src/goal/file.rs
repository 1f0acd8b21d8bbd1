//! [`LossFile`]: what is asked of a scene and what may change, as plain data, read from TOML or JSON.
//!
//! ```toml
//! seconds = 1.0
//!
//! [[term]]                      # what should be
//! site = "grip"
//! target = [0.4, 0.0, 0.6]
//!
//! [[vary]]                      # what may change
//! control = "*"
//! knots = 5
//! ```
//!
//! Both formats have the same names. Every name is honored or refused.

use std::path::Path;

use pullback_control::Interpolation;
use pullback_core::ConfigError;
use pullback_core::integrator::{Integrator, METHODS};
use pullback_core::losses::Norm;
use pullback_physics::articulated::{CONTACT_MODELS, ContactModel};
use serde_json::Value;

use super::fields::Fields;
use crate::identify::TransformName;
use crate::scenes::SceneOptions;

/// What is asked of a scene, and what may change to get it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossFile {
    /// Name for errors and folders: the path it was read from.
    pub name: String,
    /// Seconds simulated; the scene's own horizon if none.
    pub seconds: Option<f64>,
    /// Seconds per step; the scene's own if none.
    pub dt: Option<f64>,
    /// Seconds that a control is held and between samples of the loss; a step if none.
    pub control_step: Option<f64>,
    /// How a step is made; the scene's own if none.
    pub integrator: Option<Integrator>,
    /// Contact model of a model file; that of the file if none.
    pub contact: Option<ContactModel>,
    /// Distance from which contacts of a model file act on the way back, m; not at all if none.
    pub from_distance: Option<f64>,
    /// The start, by name or number of a keyframe; the pose in the file if none.
    pub keyframe: Option<String>,
    /// Values in place of the scene's own, such as `params.*.friction`.
    pub set: Vec<(String, f64)>,
    /// What should be; the loss is their sum.
    pub terms: Vec<Term>,
    /// What may change.
    pub vary: Vec<Vary>,
}

/// A quantity of a motion.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Place of the origin of a body, m.
    Body(String),
    /// Place of a site, m.
    Site(String),
    /// Place of the middle of a geom, m.
    Geom(String),
    /// Center of mass of a body and all that hangs on it, m; `world` for the whole robot.
    CenterOfMass(String),
    /// Mean place of the particles of a soft part or of a group of material points, m.
    Particles(String),
    /// Entries of the state that match a pattern.
    State(String),
    /// Readings of a sensor.
    Sensor(String),
    /// Controls that match a pattern.
    Control(String),
}

/// A quantity that should have a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The quantity.
    pub quantity: Quantity,
    /// What it should be, one number for all entries or one each; zero if empty, for controls their start.
    pub target: Vec<f64>,
    /// A site, body or geom that a place is seen from, in the world's axes.
    pub relative_to: Option<String>,
    /// What the error along each of the world's axes is multiplied by; 0 leaves an axis out.
    pub axes: [f64; 3],
    /// The size of an error.
    pub norm: Norm,
    /// Weight per second along the way.
    pub running: f64,
    /// Weight at the end.
    pub last: f64,
}

impl Term {
    /// A quantity that should be zero: at the end, or for controls along the way.
    pub fn new(quantity: Quantity) -> Self {
        let running = f64::from(u8::from(matches!(quantity, Quantity::Control(_))));
        let (target, axes, norm) = (Vec::new(), [1.0; 3], Norm::Square);
        Term { quantity, target, relative_to: None, axes, norm, running, last: 1.0 - running }
    }
}

/// Which vector of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputVector {
    /// The initial state.
    State,
    /// The controls.
    Control,
    /// The parameters.
    Params,
}

impl InputVector {
    /// All by name.
    pub(super) const NAMES: [(&str, InputVector); 3] =
        [("state", InputVector::State), ("control", InputVector::Control), ("params", InputVector::Params)];

    /// As in names of variables.
    pub fn name(self) -> &'static str {
        InputVector::NAMES.iter().find(|(_, vector)| *vector == self).map_or("", |(name, _)| name)
    }
}

/// How entries of the inputs become variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tie {
    /// A variable for each.
    #[default]
    Free,
    /// One value for all.
    Equal,
    /// One factor for all.
    Factor,
}

/// Entries of the inputs that may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// Of which vector.
    pub vector: InputVector,
    /// Which entries.
    pub pattern: String,
    /// How they become variables.
    pub tie: Tie,
    /// Controls alone: so many knots over the motion; a variable for each control step if none.
    pub knots: Option<usize>,
    /// What happens between knots.
    pub interpolation: Interpolation,
    /// How variables are searched.
    pub transform: TransformName,
    /// Bounds; those of the layout if none.
    pub bounds: Option<(f64, f64)>,
    /// Where the search starts, one number for all entries or one each; the value of the scene if none.
    pub start: Option<Vec<f64>>,
}

impl Vary {
    /// Entries that are variables themselves.
    pub fn new(vector: InputVector, pattern: impl Into<String>) -> Self {
        Vary {
            vector,
            pattern: pattern.into(),
            tie: Tie::Free,
            knots: None,
            interpolation: Interpolation::Linear,
            transform: TransformName::Identity,
            bounds: None,
            start: None,
        }
    }
}

/// Fields of a loss file.
const FIELDS: &[&str] = &[
    "seconds",
    "dt",
    "control_step",
    "integrator",
    "contact",
    "from_distance",
    "keyframe",
    "set",
    "term",
    "vary",
];
/// A quantity of a name.
type MakeQuantity = fn(String) -> Quantity;
/// Quantities of a term, and its other fields.
const QUANTITIES: [(&str, MakeQuantity); 8] = [
    ("body", Quantity::Body),
    ("site", Quantity::Site),
    ("geom", Quantity::Geom),
    ("center_of_mass", Quantity::CenterOfMass),
    ("particles", Quantity::Particles),
    ("state", Quantity::State),
    ("sensor", Quantity::Sensor),
    ("control", Quantity::Control),
];
const TERM_FIELDS: [&str; 7] = ["target", "relative_to", "axes", "norm", "within", "running", "final"];
const VARY_FIELDS: &[&str] = &[
    "state",
    "control",
    "params",
    "knots",
    "interpolation",
    "tied",
    "factor",
    "transform",
    "bounds",
    "start",
];
const TRANSFORMS: [(&str, TransformName); 4] = [
    ("identity", TransformName::Identity),
    ("log", TransformName::Log),
    ("softplus", TransformName::Softplus),
    ("box", TransformName::Box),
];
const INTERPOLATIONS: [(&str, Interpolation); 3] =
    [("zero", Interpolation::Zero), ("linear", Interpolation::Linear), ("cubic", Interpolation::Cubic)];
/// Distance within which `smooth` rounds off, m or the unit of the quantity.
const WITHIN: f64 = 0.01;

impl LossFile {
    /// Reads a `.toml` or `.json` file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = pullback_core::files::read_to_string(path)
            .map_err(|e| ConfigError::new(format!("cannot read {name}: {e}")))?;
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("toml") => LossFile::from_toml(&name, &text),
            Some("json") => LossFile::from_json(&name, &text),
            _ => Err(ConfigError::new(format!("{name}: a loss is described in a .toml or .json file"))),
        }
    }

    /// From TOML; `name` is for errors.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ConfigError> {
        let value = toml::from_str::<Value>(text).map_err(|e| {
            let line =
                e.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            ConfigError::new(format!("{name}:{line}: {}", e.message().replace('\n', " ")))
        })?;
        LossFile::from_value(name, value)
    }

    /// From JSON; `name` is for errors.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ConfigError> {
        let value = serde_json::from_str(text).map_err(|e| ConfigError::new(format!("{name}: {e}")))?;
        LossFile::from_value(name, value)
    }

    fn from_value(name: &str, value: Value) -> Result<Self, ConfigError> {
        let mut fields = Fields::new(name.to_owned(), value, FIELDS)?;
        let wrong = |e: &dyn std::fmt::Display| ConfigError::new(format!("{name}: {e}"));
        let integrator = match fields.text("integrator")? {
            None => None,
            Some(method) => Some(Integrator::fixed(METHODS.find(&method).map_err(|e| wrong(&e))?.value)),
        };
        let contact = match fields.text("contact")? {
            None => None,
            Some(model) => Some(CONTACT_MODELS.find(&model).map_err(|e| wrong(&e))?.value),
        };
        let (terms, vary) = (fields.tables("term")?, fields.tables("vary")?);
        if terms.is_empty() {
            return Err(fields.wrong("say what should be in at least one [[term]]"));
        }
        if vary.is_empty() {
            return Err(fields.wrong("say what may change in at least one [[vary]]"));
        }
        let numbered = |what: &str, i: usize| format!("{name}: {what} {}", i + 1);
        let terms = terms.into_iter().enumerate().map(|(i, value)| term(numbered("term", i), value));
        let vary = vary.into_iter().enumerate().map(|(i, value)| variable(numbered("vary", i), value));
        Ok(LossFile {
            name: name.to_owned(),
            seconds: fields.positive("seconds")?,
            dt: fields.positive("dt")?,
            control_step: fields.positive("control_step")?,
            integrator,
            contact,
            from_distance: fields.positive("from_distance")?,
            keyframe: fields.text("keyframe")?,
            set: fields.named_numbers("set")?,
            terms: terms.collect::<Result<_, _>>()?,
            vary: vary.collect::<Result<_, _>>()?,
        })
    }

    /// How the scene is built: as `options` say, where the file says nothing.
    pub fn scene_options(&self, mut options: SceneOptions) -> SceneOptions {
        options.dt = self.dt.or(options.dt);
        options.integrator = self.integrator.or(options.integrator);
        options.file.contact = self.contact.or(options.file.contact);
        options.from_distance = self.from_distance.unwrap_or(options.from_distance);
        options
    }
}

/// One `[[term]]`.
fn term(place: String, value: Value) -> Result<Term, ConfigError> {
    let names = QUANTITIES.map(|(name, _)| name);
    let mut fields = Fields::new(place, value, &[&names[..], &TERM_FIELDS].concat())?;
    let mut found: Vec<(&str, Quantity)> = Vec::new();
    for (name, make) in QUANTITIES {
        if let Some(text) = fields.text(name)? {
            found.push((name, make(text)));
        }
    }
    let (kind, quantity) = match found.len() {
        1 => found.remove(0),
        _ => return Err(fields.wrong(format!("exactly one of {} says what is meant", names.join(", ")))),
    };
    let mut term = Term::new(quantity);
    term.target = fields.numbers("target")?.unwrap_or_default();
    let place = matches!(
        term.quantity,
        Quantity::Body(_) | Quantity::Site(_) | Quantity::Geom(_) | Quantity::CenterOfMass(_)
    );
    for name in ["relative_to", "axes"] {
        if fields.has(name) && !(place || name == "axes" && matches!(term.quantity, Quantity::Particles(_))) {
            return Err(fields.wrong(format!("`{name}` is for places; a {kind} has none")));
        }
    }
    term.relative_to = fields.text("relative_to")?;
    term.axes = fields.array("axes")?.unwrap_or(term.axes);
    let within = fields.positive("within")?;
    let smooth = Norm::Smooth(within.unwrap_or(WITHIN));
    let norms = [("square", Norm::Square), ("smooth", smooth), ("cosine", Norm::Cosine)];
    term.norm = fields.choice("norm", &norms)?.unwrap_or(Norm::Square);
    if within.is_some() && !matches!(term.norm, Norm::Smooth(_)) {
        return Err(fields.wrong("`within` belongs to norm = \"smooth\""));
    }
    let weights = (fields.weight("running")?, fields.weight("final")?);
    if weights != (None, None) {
        (term.running, term.last) = (weights.0.unwrap_or(0.0), weights.1.unwrap_or(0.0));
    }
    if matches!(term.quantity, Quantity::Control(_)) && term.last != 0.0 {
        return Err(fields.wrong("no control acts at the end any more; `running` weighs controls"));
    }
    if term.running + term.last == 0.0 {
        return Err(fields.wrong("it has no weight; give `running`, `final` or neither"));
    }
    Ok(term)
}

/// One `[[vary]]`.
fn variable(place: String, value: Value) -> Result<Vary, ConfigError> {
    let mut fields = Fields::new(place, value, VARY_FIELDS)?;
    let mut found = Vec::new();
    for (name, vector) in InputVector::NAMES {
        found.extend(fields.text(name)?.map(|pattern| (vector, pattern)));
    }
    let (vector, pattern) = match found.len() {
        1 => found.remove(0),
        _ => return Err(fields.wrong("exactly one of state, control, params says what may change")),
    };
    let mut vary = Vary::new(vector, pattern);
    for name in ["knots", "interpolation"] {
        if fields.has(name) && vector != InputVector::Control {
            return Err(fields.wrong(format!("`{name}` is for controls")));
        }
    }
    vary.knots = fields.count("knots")?;
    let interpolation = fields.choice("interpolation", &INTERPOLATIONS)?;
    if interpolation.is_some() && vary.knots.is_none() {
        return Err(fields.wrong("`interpolation` needs `knots` to go between"));
    }
    vary.interpolation = interpolation.unwrap_or(Interpolation::Linear);
    vary.tie = match (fields.flag("tied")?, fields.flag("factor")?) {
        (false, false) => Tie::Free,
        (true, false) => Tie::Equal,
        (false, true) => Tie::Factor,
        (true, true) => return Err(fields.wrong("`tied` gives all one value, `factor` one factor: choose")),
    };
    vary.transform = fields.choice("transform", &TRANSFORMS)?.unwrap_or(TransformName::Identity);
    vary.bounds = fields.array::<2>("bounds")?.map(|[low, high]| (low, high));
    if let Some((low, high)) = vary.bounds.filter(|(low, high)| low >= high) {
        return Err(fields.wrong(format!("bounds {low} and {high} leave nothing between")));
    }
    vary.start = fields.numbers("start")?;
    Ok(vary)
}
