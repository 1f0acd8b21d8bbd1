//! What is to be found: entries of the parameters by pattern, with ties, transforms, starts and bounds.

use pullback_core::ConfigError;
use pullback_core::input_map::{InputEntry, LinearMap, Transform, Variable};
use pullback_core::layout::{Layout, glob};
use pullback_core::registry::nearest;
use serde::Serialize;

/// A transform by name; its ends are those of the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransformName {
    /// None.
    Identity,
    /// Logarithm.
    Log,
    /// log(1 + exp z).
    Softplus,
    /// A logistic curve between the bounds.
    Box,
}

/// What a user asks for. Names of unknowns may hold `*` and `?`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Asked {
    /// Patterns of parameters; `NAME=PATTERNS` gives all entries one value, `NAME*=PATTERNS` multiplies all by a factor.
    pub fit: Vec<String>,
    /// Starts by name, in place of the scene's own values.
    pub start: Vec<(String, f64)>,
    /// Bounds by name.
    pub bounds: Vec<(String, (f64, f64))>,
    /// Transforms by name; otherwise the logarithm of what must be positive.
    pub transform: Vec<(String, TransformName)>,
}

/// The unknowns as a map to the parameters of a scene.
#[derive(Clone, Debug)]
pub struct Unknowns {
    /// From the quantities to the parameters.
    pub map: LinearMap,
    /// How each is searched.
    pub transforms: Vec<Transform>,
}

/// Last parts of names of parameters that are positive.
const POSITIVE: [&str; 13] = [
    "mass",
    "damping",
    "stiffness",
    "armature",
    "friction",
    "frictionloss",
    "length",
    "size",
    "radius",
    "inertia",
    "solref",
    "density",
    "viscosity",
];
/// Bounds of positive quantities, where none are given: the start times and over this.
const RANGE: f64 = 20.0;
/// A logistic curve ends this part of its width before its bounds.
const INSIDE: f64 = 1e-4;

/// One unknown before it has a start and bounds.
struct Wanted {
    name: String,
    unit: String,
    /// Parameters and their weights.
    entries: Vec<(usize, f64)>,
    start: f64,
    bounds: (f64, f64),
    positive: bool,
}

impl Unknowns {
    /// The unknowns that are asked for.
    pub fn new(asked: &Asked, layout: &Layout) -> Result<Self, ConfigError> {
        let defaults = layout.params.defaults();
        let mut wanted: Vec<Wanted> = Vec::new();
        for text in &asked.fit {
            wanted.append(&mut parse(text, layout, &defaults)?);
        }
        if wanted.is_empty() {
            let why = "say what to find, as --fit 'link*.mass,joint*.damping'; `pullback list` has the names";
            return Err(ConfigError::new(why));
        }
        for (i, unknown) in wanted.iter().enumerate() {
            for (entry, _) in &unknown.entries {
                if let Some(other) = wanted[..i].iter().find(|w| w.entries.iter().any(|e| e.0 == *entry)) {
                    let (name, entry) = (&unknown.name, layout.params.entry_name(*entry));
                    let why = format!("--fit: `{entry}` is set by `{}` and by `{name}`", other.name);
                    return Err(ConfigError::new(why));
                }
            }
        }
        let known: Vec<String> = wanted.iter().map(|w| w.name.clone()).collect();
        check_names("--start", asked.start.iter().map(|s| &s.0), &known)?;
        check_names("--bounds", asked.bounds.iter().map(|b| &b.0), &known)?;
        check_names("--transform", asked.transform.iter().map(|t| &t.0), &known)?;
        let (mut variables, mut transforms) = (Vec::new(), Vec::new());
        for unknown in &wanted {
            let (variable, transform) = unknown.variable(asked)?;
            variables.push(variable);
            transforms.push(transform);
        }
        let mut map = LinearMap::new(variables);
        for (i, unknown) in wanted.iter().enumerate() {
            for (entry, weight) in &unknown.entries {
                map.tie(InputEntry::Params(*entry), 0.0, [(i, *weight)]);
            }
        }
        Ok(Unknowns { map, transforms })
    }
}

/// What one `--fit` asks for.
fn parse(text: &str, layout: &Layout, defaults: &[f64]) -> Result<Vec<Wanted>, ConfigError> {
    let params = &layout.params;
    let select = |patterns: &str| {
        params.select(patterns.trim().strip_prefix("params.").unwrap_or(patterns.trim())).map_err(|e| {
            // A robot has hundreds of parameters: the nearest name is enough.
            let names: Vec<&str> = params.slices().iter().map(|s| s.name.as_str()).collect();
            let near = nearest(patterns.trim(), names.iter().copied());
            match near {
                Some(near) => ConfigError::new(format!(
                    "--fit: no parameter matches `{patterns}` (did you mean `{near}`?)"
                )),
                None if names.len() > 30 => ConfigError::new(format!(
                    "--fit: no parameter matches `{patterns}`; `pullback list` with the scene has the names"
                )),
                None => ConfigError::new(format!("--fit: {e}")),
            }
        })
    };
    let Some((name, patterns)) = text.split_once('=') else {
        let mut all = Vec::new();
        for part in text.split(',') {
            for i in select(part)? {
                all.push(Wanted {
                    name: params.entry_name(i),
                    unit: params.unit(i).to_owned(),
                    entries: vec![(i, 1.0)],
                    start: defaults[i],
                    bounds: params.bounds(i),
                    positive: is_positive(layout, i),
                });
            }
        }
        return Ok(all);
    };
    let mut entries = Vec::new();
    for part in patterns.split(',') {
        entries.append(&mut select(part)?);
    }
    if let Some(name) = name.strip_suffix('*') {
        let entries =
            entries.into_iter().map(|i| (i, defaults[i])).filter(|e| e.1 != 0.0).collect::<Vec<_>>();
        if entries.is_empty() {
            return Err(ConfigError::new(format!("--fit {text}: all these parameters are zero")));
        }
        let (name, unit) = (name.trim().to_owned(), "1".to_owned());
        let bounds = (0.0, f64::INFINITY);
        return Ok(vec![Wanted { name, unit, entries, start: 1.0, bounds, positive: true }]);
    }
    let mean = entries.iter().map(|i| defaults[*i]).sum::<f64>() / entries.len() as f64;
    let all = |ends: fn(f64, f64) -> f64, of: fn((f64, f64)) -> f64, start: f64| {
        entries.iter().map(|i| of(params.bounds(*i))).fold(start, ends)
    };
    let bounds = (all(f64::max, |b| b.0, f64::NEG_INFINITY), all(f64::min, |b| b.1, f64::INFINITY));
    Ok(vec![Wanted {
        name: name.trim().to_owned(),
        unit: params.unit(entries[0]).to_owned(),
        positive: entries.iter().all(|i| is_positive(layout, *i)),
        entries: entries.into_iter().map(|i| (i, 1.0)).collect(),
        start: mean,
        bounds,
    }])
}

/// Whether an entry must be positive by its bounds, its name, or its place in an inertia.
fn is_positive(layout: &Layout, i: usize) -> bool {
    let Some(slice) = layout.params.slices().iter().find(|s| s.range.contains(&i)) else { return false };
    let last = slice.name.rsplit(['.', '_']).next().unwrap_or_default();
    // Products of inertia and MuJoCo's direct stiffnesses may be negative.
    let first_three = last != "inertia" || i - slice.range.start < 3;
    let default = slice.default[i - slice.range.start];
    slice.lower >= 0.0 || (POSITIVE.contains(&last) && first_three && default >= 0.0)
}

impl Wanted {
    /// With the start, the bounds and the transform that are asked for.
    fn variable(&self, asked: &Asked) -> Result<(Variable, Transform), ConfigError> {
        let name = &self.name;
        let wrong = |what: String| Err(ConfigError::new(format!("`{name}`: {what}")));
        let start = asked.start.iter().rev().find(|s| glob(&s.0, name)).map_or(self.start, |s| s.1);
        let given = asked.bounds.iter().rev().find(|b| glob(&b.0, name)).map(|b| b.1);
        let transform = asked.transform.iter().rev().find(|t| glob(&t.0, name)).map(|t| t.1);
        if start == 0.0 && self.positive && given.is_none() {
            return wrong(format!("it starts at 0 and must be positive; give --start {name}=VALUE"));
        }
        let transform = transform.unwrap_or(match (self.positive && start > 0.0, given) {
            (true, Some((low, _))) if low <= 0.0 => TransformName::Identity,
            (true, _) => TransformName::Log,
            (false, _) => TransformName::Identity,
        });
        let (low, high) = given.unwrap_or_else(|| match self.positive && start > 0.0 {
            true => (start / RANGE, start * RANGE),
            false => {
                let reach = if start == 0.0 { 1.0 } else { 2.0 * start.abs() };
                (start - reach, start + reach)
            }
        });
        let (low, high) = (low.max(self.bounds.0), high.min(self.bounds.1));
        if low >= high {
            return wrong(format!("its bounds {low} and {high} leave nothing between"));
        }
        if !(low..=high).contains(&start) {
            return wrong(format!(
                "its start {start} is outside its bounds {low} and {high}; give --start or --bounds"
            ));
        }
        let width = high - low;
        let (transform, bounds) = match transform {
            TransformName::Identity => (Transform::Identity, (low, high)),
            TransformName::Log if low > 0.0 => (Transform::Log, (low, high)),
            TransformName::Softplus if low > 0.0 => (Transform::Softplus, (low, high)),
            TransformName::Log | TransformName::Softplus => {
                return wrong(format!("its lower bound is {low}; log and softplus need one above 0"));
            }
            TransformName::Box => {
                let inside = (low + INSIDE * width, high - INSIDE * width);
                (Transform::Box { lower: low, upper: high }, inside)
            }
        };
        let start = start.clamp(bounds.0, bounds.1);
        Ok((Variable::new(name.clone(), self.unit.clone(), bounds, start), transform))
    }
}

/// Refuses names that no unknown has.
fn check_names<'a>(
    option: &str,
    patterns: impl Iterator<Item = &'a String>,
    known: &[String],
) -> Result<(), ConfigError> {
    for pattern in patterns {
        if !known.iter().any(|name| glob(pattern, name)) {
            let all = known.join(", ");
            return Err(ConfigError::new(format!(
                "{option}: nothing that is fitted matches `{pattern}`; there is {all}"
            )));
        }
    }
    Ok(())
}
