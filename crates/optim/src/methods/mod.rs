//! Methods of search, one file each: settings, algorithm, state. [`build`] makes one by name.

pub mod adam;
pub mod bo;
pub mod bo_descents;
pub mod bo_leap;
pub mod cma_es;
pub mod cma_state;
pub mod descent;
pub mod lbfgs;
pub mod rand_descents;
pub mod random_search;

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

use pullback_core::ConfigError;
use pullback_core::random::Random;
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
            Start::Anywhere => run.anywhere(random),
        }
    }
}

/// Every method: its name and what it does.
pub const NAMES: [(&str, &str); 9] = [
    ("random", "points drawn uniformly in the box"),
    ("descent", "one gradient descent, halted when the loss stagnates"),
    ("adam", "Adam, projected onto the box"),
    ("lbfgs", "limited-memory quasi-Newton descent in the box"),
    ("rand-descents", "gradient descents from random points, one after another"),
    ("cma-es", "covariance matrix adaptation, restarted with doubled populations"),
    ("bo", "Bayesian optimisation: a Gaussian process proposes every episode"),
    ("bo-descents", "Bayesian optimisation whose trials are gradient descents"),
    ("bo-leap", "Bayesian optimisation over semi-local searches that leap along gradients (paper 0)"),
];

/// The method `name` with the settings in the object `options`; those not named, or all for null, have their defaults.
///
/// ```
/// use pullback_optim::methods::build;
/// use serde_json::json;
/// let method = build("cma-es", &json!({"population": 10, "sigma": 1.0})).unwrap();
/// assert!(method.settings().contains("\"population\":10"));
/// assert!(build("cma-es", &json!({"populaton": 10})).is_err());
/// ```
pub fn build(name: &str, options: &Value) -> Result<Box<dyn SearchMethod>, ConfigError> {
    Ok(match name {
        "random" => Box::new(RandomSearch { config: read(name, options)? }),
        "descent" => Box::new(read::<Descent>(name, options)?),
        "adam" => Box::new(Adam { config: read(name, options)? }),
        "lbfgs" => Box::new(Lbfgs { config: read(name, options)? }),
        "rand-descents" => Box::new(read::<RandDescents>(name, options)?),
        "cma-es" => Box::new(CmaEs { config: read(name, options)? }),
        "bo" => Box::new(read::<BayesOpt>(name, options)?),
        "bo-descents" => Box::new(read::<BoDescents>(name, options)?),
        "bo-leap" => Box::new(BoLeap { config: read(name, options)? }),
        _ => {
            let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            return Err(ConfigError::new(format!("no method `{name}`; there are {}", known.join(", "))));
        }
    })
}

/// Settings with the options given; no number may be negative.
fn read<C: DeserializeOwned + Default>(name: &str, options: &Value) -> Result<C, ConfigError> {
    if options.is_null() {
        return Ok(C::default());
    }
    if let Some((key, value)) = negative(options) {
        return Err(ConfigError::new(format!("{name}: `{key}` is {value}; it must not be negative")));
    }
    serde_json::from_value(options.clone()).map_err(|e| ConfigError::new(format!("{name}: {e}")))
}

/// The first entry of an object, or of objects inside it, that is a negative number.
fn negative(options: &Value) -> Option<(&String, f64)> {
    options.as_object()?.iter().find_map(|(key, value)| match value.as_f64() {
        Some(number) if number < 0.0 => Some((key, number)),
        _ => negative(value),
    })
}

/// Name and settings in one line, as [`SearchMethod::settings`] wants it.
pub(crate) fn settings(name: &str, config: &impl Serialize) -> String {
    format!("{name} {}", serde_json::to_string(config).unwrap_or_default())
}
