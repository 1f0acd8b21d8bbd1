//! Ranges of settings that algorithms share; names are dotted paths, as `--set` takes them.

use pullback_core::ConfigError;
use pullback_core::settings::{Range, check_memory, check_ranges};

/// Environments, steps, passes, rows of a batch.
pub(crate) const COUNT: Range = Range::Within(1.0, 1e9);
/// Discounts and traces.
pub(crate) const DISCOUNT: Range = Range::Within(0.0, 1.0);
/// Rates of learning.
pub(crate) const RATE: Range = Range::Within(0.0, 10.0);

/// Refuses the first setting that is out of its range.
pub(crate) fn check(settings: &[(&str, f64, Range)]) -> Result<(), ConfigError> {
    check_ranges("settings", settings)
}

/// Refuses the first count that is zero, or larger than anyone can wait for.
pub(crate) fn check_counts(settings: &[(&str, usize)]) -> Result<(), ConfigError> {
    settings.iter().try_for_each(|(name, count)| check(&[(name, *count as f64, COUNT)]))
}

/// Refuses the first setting that is given and out of its range.
pub(crate) fn check_given(settings: &[(&str, Option<f64>, Range)]) -> Result<(), ConfigError> {
    settings.iter().try_for_each(|(name, value, range)| value.map_or(Ok(()), |x| check(&[(name, x, *range)])))
}

/// Refuses a setting whose rows of single precision memory has no room for.
pub(crate) fn check_rows(setting: &str, rows: f64, width: usize) -> Result<(), ConfigError> {
    check_memory("settings", setting, size_of::<f32>() as f64 * rows * width as f64)
}
