//! Search methods, one file each: settings, algorithm, state. [`METHODS`] lists them, [`build`] makes one by
//! name.

pub mod adam;
pub mod bo;
mod bo_descents;
pub mod bo_leap;
mod cma_es;
mod cma_state;
pub mod descent;
pub mod lbfgs;
mod rand_descents;
mod random_search;
mod sep_cma_es;
mod sgd;

pub use adam::{Adam, AdamConfig};
pub use bo::BayesOpt;
pub use bo_descents::BoDescents;
pub use bo_leap::{BoLeap, BoLeapConfig};
pub use cma_es::{CmaEs, CmaEsConfig};
pub use cma_state::CmaState;
pub use descent::{Descent, DescentConfig};
pub use lbfgs::{Lbfgs, LbfgsConfig};
pub use rand_descents::RandDescents;
pub use random_search::{RandomSearch, RandomSearchConfig};
pub use sep_cma_es::{SepCmaEs, SepCmaEsConfig};
pub use sgd::{Sgd, SgdConfig};

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::registry::{Entry, Registry};
use pullback_core::settings::{Range, check_ranges, suggesting};
use pullback_core::sources::{ADAM, BO_LEAP, IPOP_CMA_ES, NOCEDAL_WRIGHT, SEP_CMA_ES};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::{Run, SearchMethod};

/// Where a search begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At the objective's own start.
    Own,
    /// At a random point of the box.
    Anywhere,
}

impl Start {
    /// The point, in the scaled box.
    pub fn point(self, run: &Run<'_>, random: &mut Random) -> Vec<f64> {
        match self {
            Start::Own => run.start(),
            Start::Anywhere => run.sample_uniform(random),
        }
    }
}

/// How a search method is made of its name and the object of its settings.
pub type BuildMethod = fn(&str, &Value) -> Result<Box<dyn SearchMethod>, ConfigError>;

/// Every search method by name.
pub const METHODS: Registry<BuildMethod> = Registry::new("search method", &[TABLE]);

const TABLE: &[Entry<BuildMethod>] = &[
    Entry::new("random", "points drawn uniformly in the box", |name, options| {
        Ok(Box::new(RandomSearch { config: read(name, options)? }))
    }),
    Entry::new("descent", "one gradient descent, halted when the loss stagnates", boxed::<Descent>),
    Entry::cited("adam", "Adam, projected onto the box", ADAM.whole(), |name, options| {
        Ok(Box::new(Adam { config: read(name, options)? }))
    }),
    Entry::new(
        "sgd",
        "gradient descent with momentum at a constant rate, projected onto the box",
        |name, options| Ok(Box::new(Sgd { config: read(name, options)? })),
    ),
    Entry::cited(
        "lbfgs",
        "limited-memory quasi-Newton descent in the box",
        NOCEDAL_WRIGHT.at("algorithm 7.4"),
        |name, options| Ok(Box::new(Lbfgs { config: read(name, options)? })),
    ),
    Entry::cited(
        "rand-descents",
        "gradient descents from random points, one after another",
        BO_LEAP.at("section 5.1"),
        boxed::<RandDescents>,
    ),
    Entry::cited(
        "cma-es",
        "covariance matrix adaptation, restarted with doubled populations",
        IPOP_CMA_ES.whole(),
        |name, options| Ok(Box::new(CmaEs { config: read(name, options)? })),
    ),
    Entry::cited(
        "sep-cma-es",
        "CMA-ES with a diagonal covariance, for thousands of variables",
        SEP_CMA_ES.whole(),
        |name, options| Ok(Box::new(SepCmaEs { config: read(name, options)? })),
    ),
    Entry::new("bo", "Bayesian optimization: a Gaussian process proposes every episode", boxed::<BayesOpt>),
    Entry::cited(
        "bo-descents",
        "Bayesian optimization whose trials are gradient descents",
        BO_LEAP.at("section 5.1"),
        boxed::<BoDescents>,
    ),
    Entry::cited(
        "bo-leap",
        "Bayesian optimization over semi-local searches that leap along gradients",
        BO_LEAP.at("Algorithm 1"),
        |name, options| Ok(Box::new(BoLeap { config: read(name, options)? })),
    ),
];

/// The method `name` with the settings in the object `options`; those not named, or all for null, have their
/// defaults.
///
/// ```
/// use pullback_optim::methods::build;
/// use serde_json::json;
/// let method = build("cma-es", &json!({"population": 10, "sigma": 1.0})).unwrap();
/// assert!(method.settings().contains("\"population\":10"));
/// assert!(build("cma-es", &json!({"populaton": 10})).is_err());
/// ```
pub fn build(name: &str, options: &Value) -> Result<Box<dyn SearchMethod>, ConfigError> {
    let entry = METHODS.find(name)?;
    (entry.value)(entry.name, options)
}

/// A method that is its own settings.
fn boxed<M>(name: &str, options: &Value) -> Result<Box<dyn SearchMethod>, ConfigError>
where
    M: SearchMethod + Settings + 'static,
{
    Ok(Box::new(read::<M>(name, options)?))
}

/// Settings whose numbers have ranges.
pub trait Settings: Serialize + DeserializeOwned + Default {
    /// Refuses a number that is out of its range; `name` is what the settings belong to.
    fn check(&self, name: &str) -> Result<(), ConfigError>;
}

/// Settings with the options given, each in its range.
pub fn read<C: Settings>(name: &str, options: &Value) -> Result<C, ConfigError> {
    let object = match options {
        Value::Null => return Ok(C::default()),
        Value::Object(object) => object,
        other => {
            let why = format!("settings are an object such as {{\"steps\": 20}}, not {other}");
            return Err(ConfigError::new(format!("{name}: {why}")));
        }
    };
    if let Some((key, value)) = negative(options) {
        return Err(ConfigError::new(format!("{name}: `{key}` is {value}; it must not be negative")));
    }
    let defaults = serde_json::to_value(C::default()).unwrap_or_default();
    if let Some(key) = list_for_object(options, &defaults) {
        return Err(ConfigError::new(format!("{name}: `{key}` is a list; it must be an object")));
    }
    // One by one, so that an error names its setting.
    for (key, value) in object {
        let alone = Value::Object([(key.clone(), value.clone())].into_iter().collect());
        if let Err(why) = serde_json::from_value::<C>(alone) {
            let why = suggesting(&why.to_string());
            return Err(ConfigError::new(format!("{name}: `{key}`: {why}")));
        }
    }
    let settings: C =
        serde_json::from_value(options.clone()).map_err(|e| ConfigError::new(format!("{name}: {e}")))?;
    settings.check(name)?;
    Ok(settings)
}

/// The first entry of an object, or of objects inside it, that is a negative number.
fn negative(options: &Value) -> Option<(&String, f64)> {
    options.as_object()?.iter().find_map(|(key, value)| match value.as_f64() {
        Some(number) if number < 0.0 => Some((key, number)),
        _ => negative(value),
    })
}

/// The first entry that is a list where the settings have an object.
fn list_for_object<'a>(options: &'a Value, defaults: &Value) -> Option<&'a String> {
    options.as_object()?.iter().find_map(|(key, value)| match (value, defaults.get(key)?) {
        (Value::Array(_), Value::Object(_)) => Some(key),
        (_, inside) => list_for_object(value, inside),
    })
}

/// Points of a generation at most.
pub(crate) const MOST_POINTS: f64 = 1e6;
/// Steps, draws or trials at most.
pub(crate) const MOST_STEPS: f64 = 1e9;

/// Refuses a population of one point, of which no half is the best; 0 stands for a default.
pub(crate) fn check_population(name: &str, population: usize) -> Result<(), ConfigError> {
    let points = if population == 0 { 2.0 } else { population as f64 };
    check_ranges(name, &[("population", points, Range::Within(2.0, MOST_POINTS))])
}

/// Bytes of so many numbers.
pub(crate) fn bytes(numbers: f64) -> f64 {
    numbers * size_of::<f64>() as f64
}

/// Name and settings in one line, as [`SearchMethod::settings`] wants it.
pub(crate) fn settings(name: &str, config: &impl Serialize) -> String {
    format!("{name} {}", serde_json::to_string(config).unwrap_or_default())
}
