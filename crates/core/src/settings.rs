//! Ranges of settings, and sizes that memory has no room for.

use crate::ConfigError;
use crate::registry::did_you_mean;

/// What a number may be; never NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// More than 0.
    Positive,
    /// 0 or more.
    NotNegative,
    /// From the first to the second, both included.
    Within(f64, f64),
    /// More than the first, at most the second.
    Above(f64, f64),
    /// From the first, less than the second.
    Below(f64, f64),
    /// Between both.
    Inside(f64, f64),
}

impl Range {
    fn holds(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                Range::Positive => x > 0.0,
                Range::NotNegative => x >= 0.0,
                Range::Within(low, high) => (low..=high).contains(&x),
                Range::Above(low, high) => x > low && x <= high,
                Range::Below(low, high) => (low..high).contains(&x),
                Range::Inside(low, high) => x > low && x < high,
            }
    }

    fn words(self) -> String {
        match self {
            Range::Positive => "positive".into(),
            Range::NotNegative => "finite and not negative".into(),
            Range::Within(low, high) => format!("from {low} to {high}"),
            Range::Above(low, high) => format!("above {low} and at most {high}"),
            Range::Below(low, high) => format!("at least {low} and below {high}"),
            Range::Inside(low, high) => format!("above {low} and below {high}"),
        }
    }
}

/// Refuses the first setting that is out of its range; `owner` is what the settings belong to.
///
/// ```
/// use pullback_core::settings::{Range, check_ranges};
/// let error = check_ranges("adam", &[("rate", 0.05, Range::Positive), ("beta1", 1.0, Range::Below(0.0, 1.0))]);
/// assert_eq!(error.unwrap_err().to_string(), "adam: `beta1` is 1; it must be at least 0 and below 1");
/// ```
pub fn check_ranges(owner: &str, settings: &[(&str, f64, Range)]) -> Result<(), ConfigError> {
    match settings.iter().find(|(_, value, range)| !range.holds(*value)) {
        None => Ok(()),
        Some((name, value, range)) => {
            Err(ConfigError::new(format!("{owner}: `{name}` is {value}; it must be {}", range.words())))
        }
    }
}

/// A message of serde, which lists the known fields or variants where one is unknown, with the nearest of them.
///
/// ```
/// use pullback_core::settings::suggesting;
/// let message = "unknown field `stps`, expected one of `rate`, `steps`";
/// assert_eq!(suggesting(message), "unknown field `stps` (did you mean `steps`?), expected one of `rate`, `steps`");
/// assert_eq!(suggesting("invalid type: map"), "invalid type: map");
/// ```
pub fn suggesting(message: &str) -> String {
    let found = ["unknown field `", "unknown variant `"].iter().find_map(|begin| {
        let start = message.find(begin)? + begin.len();
        let end = start + message[start..].find('`')?;
        Some((&message[start..end], end + 1))
    });
    let Some((name, end)) = found else { return message.to_owned() };
    let known = message[end..].split('`').skip(1).step_by(2);
    format!("{}{}{}", &message[..end], did_you_mean(name, known), &message[end..])
}

/// Bytes that no single array may need: 16 GiB.
pub const MOST_BYTES: f64 = (1u64 << 34) as f64;

/// Refuses a setting whose numbers would need more memory than is sensible; `bytes` is what they need.
pub fn check_memory(owner: &str, setting: &str, bytes: f64) -> Result<(), ConfigError> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(ConfigError::new(format!(
        "{owner}: `{setting}` needs {bytes:.0} bytes of memory; at most {MOST_BYTES:.0} are allowed: make it smaller"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_ends_they_say() {
        let holds = |range: Range, x: f64| check_ranges("it", &[("x", x, range)]).is_ok();
        let ends =
            |range: Range| [holds(range, 1.0), holds(range, 1.5), holds(range, 2.0), holds(range, 2.5)];
        assert_eq!(ends(Range::Within(1.0, 2.0)), [true, true, true, false]);
        assert_eq!(ends(Range::Above(1.0, 2.0)), [false, true, true, false]);
        assert_eq!(ends(Range::Below(1.0, 2.0)), [true, true, false, false]);
        assert_eq!(ends(Range::Inside(1.0, 2.0)), [false, true, false, false]);
        assert!(!holds(Range::Positive, 0.0) && holds(Range::NotNegative, 0.0));
        for range in [Range::Positive, Range::NotNegative, Range::Within(0.0, f64::INFINITY)] {
            assert!(!holds(range, f64::NAN) && !holds(range, f64::INFINITY));
        }
    }

    #[test]
    fn sizes_are_refused_with_their_bytes() {
        assert!(check_memory("random", "batch", 1e9).is_ok());
        let message = check_memory("random", "batch", 8e12).unwrap_err().to_string();
        assert!(message.starts_with("random: `batch` needs 8000000000000 bytes"), "{message}");
    }
}
