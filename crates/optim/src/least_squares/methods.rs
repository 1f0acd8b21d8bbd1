//! The table of methods that fit: Gauss-Newton, and searches by the gradient of the mean square.

use pullback_core::ConfigError;
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{ADAM, MORE, NOCEDAL_WRIGHT};
use serde_json::Value;

use super::gauss_newton::GaussNewton;
use crate::methods;
use crate::run::SearchMethod;

/// How least squares are fitted.
pub enum FitMethod {
    /// By the Jacobian of the residuals.
    GaussNewton(GaussNewton),
    /// By the gradient of the mean square.
    Search(Box<dyn SearchMethod>),
}

impl FitMethod {
    /// Name and all settings.
    pub fn settings(&self) -> String {
        match self {
            FitMethod::GaussNewton(config) => methods::settings("gauss-newton", config),
            FitMethod::Search(method) => method.settings(),
        }
    }
}

/// How a method is made of the object of its settings.
pub type BuildFitMethod = fn(&Value) -> Result<FitMethod, ConfigError>;

/// Every method by name.
pub const FIT_METHODS: Registry<BuildFitMethod> = Registry::new(
    "fit method",
    &[&[
        Entry::cited(
            "gauss-newton",
            "steps by the Jacobian with Levenberg-Marquardt damping in a box",
            MORE.whole(),
            |options| Ok(FitMethod::GaussNewton(methods::read("gauss-newton", options)?)),
        ),
        Entry::cited("adam", "Adam on the mean square", ADAM.whole(), |options| search("adam", options)),
        Entry::new("sgd", "gradient descent with momentum on the mean square", |options| {
            search("sgd", options)
        }),
        Entry::cited(
            "l-bfgs",
            "limited-memory quasi-Newton descent on the mean square",
            NOCEDAL_WRIGHT.at("algorithm 7.4"),
            |options| search("lbfgs", options),
        ),
    ]],
);

fn search(name: &str, options: &Value) -> Result<FitMethod, ConfigError> {
    Ok(FitMethod::Search(methods::build(name, options)?))
}

/// The method `name` with the settings in the object `options`.
pub fn build_fit_method(name: &str, options: &Value) -> Result<FitMethod, ConfigError> {
    (FIT_METHODS.find(name)?.value)(options)
}
