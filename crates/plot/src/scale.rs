//! From numbers to axes: limits that fit the data, ticks at round values, labels without noise.
//!
//! Linear ticks step by 1, 2 or 5 times a power of ten; logarithmic ticks stand at powers of ten, joined by 2
//! and 5 when the range is short. Labels of one axis share their number of decimals and, outside 10^{-3} to
//! 10^{6}, their power of ten, so that they can be compared at a glance.

/// Magnitudes past this are treated as missing: differences of larger ones overflow.
const LARGEST: f64 = 1e300;

/// Whether a value can stand on an axis.
pub(crate) fn usable(v: f64, log: bool) -> bool {
    v.is_finite() && v.abs() < LARGEST && (!log || v > 1e-300)
}

/// A map from values to [0, 1] along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub lo: f64,
    pub hi: f64,
    pub log: bool,
}

impl Scale {
    /// Fits `values` with `pad` of the range on both ends; `fixed` limits win if they make sense.
    pub fn fit(
        values: impl Iterator<Item = f64>,
        fixed: Option<(f64, f64)>,
        log: bool,
        pad: f64,
    ) -> Option<Self> {
        if let Some((a, b)) = fixed
            && usable(a, log)
            && usable(b, log)
            && a != b
        {
            return Some(Scale { lo: a.min(b), hi: a.max(b), log });
        }
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.filter(|v| usable(*v, log)) {
            (lo, hi) = (lo.min(v), hi.max(v));
        }
        if lo > hi {
            return None;
        }
        if log {
            let (a, b) = (lo.log10(), hi.log10());
            let room = if b - a < 1e-6 { 0.5 } else { pad * (b - a) };
            // Padding stays among the normal numbers.
            let (a, b) = ((a - room).max(-305.0), (b + room).min(305.0));
            return Some(Scale { lo: 10f64.powf(a), hi: 10f64.powf(b), log });
        }
        // A constant gets a range of its own magnitude, and zero gets one.
        let size = lo.abs().max(hi.abs());
        let room = match hi - lo {
            span if span > 1e-10 * size && span > 1e-290 => pad * span,
            _ if size > 1e-290 => 0.5 * size,
            _ => 1.0,
        };
        Some(Scale { lo: lo - room, hi: hi + room, log })
    }

    /// Position of `v` along the axis, 0 at `lo` and 1 at `hi`; `None` for a gap.
    pub fn unit(&self, v: f64) -> Option<f64> {
        if !usable(v, self.log) {
            return None;
        }
        let (v, lo, hi) =
            if self.log { (v.log10(), self.lo.log10(), self.hi.log10()) } else { (v, self.lo, self.hi) };
        Some((v - lo) / (hi - lo))
    }

    /// About `target` ticks inside the limits.
    pub fn ticks(&self, target: usize) -> Ticks {
        let target = target.clamp(2, 20);
        if self.log { log_ticks(self.lo, self.hi, target) } else { linear_ticks(self.lo, self.hi, target) }
    }
}

/// Tick positions with labels, and unlabeled positions between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    pub values: Vec<f64>,
    pub labels: Vec<String>,
    pub minor: Vec<f64>,
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let fraction = raw / power;
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|n| fraction <= n * (1.0 + 1e-9)).unwrap_or(10.0);
    nice * power
}

/// About `target` ticks, and at least three where numbers allow: fewer do not show the scale.
fn linear_ticks(lo: f64, hi: f64, target: usize) -> Ticks {
    let finer =
        (target..target + 5).map(|target| ticks_with_step(lo, hi, nice_step((hi - lo) / target as f64)));
    let mut best = Ticks::default();
    for ticks in finer {
        if ticks.values.len() >= 3 {
            return ticks;
        }
        best = ticks;
    }
    best
}

fn ticks_with_step(lo: f64, hi: f64, step: f64) -> Ticks {
    let mut values = Vec::new();
    if step > 0.0 && step.is_finite() {
        let first = (lo / step - 1e-9).ceil();
        let count = ((hi / step + 1e-9).floor() - first).clamp(0.0, 40.0) as usize;
        // Multiply, do not accumulate; `+ 0.0` turns a negative zero into zero.
        values = (0..=count).map(|i| (first + i as f64) * step + 0.0).collect();
    }
    Ticks { labels: labels(&values, step), values, minor: Vec::new() }
}

fn log_ticks(lo: f64, hi: f64, target: usize) -> Ticks {
    let (a, b) = (lo.log10(), hi.log10());
    let (first, last) = ((a - 1e-9).ceil() as i32, (b + 1e-9).floor() as i32);
    let decades = last - first + 1;
    if decades < 2 {
        return short_log_ticks(lo, hi, target);
    }
    let stride = (decades as usize).div_ceil(target).max(1) as i32;
    let exponents: Vec<i32> = (first..=last).filter(|e| e.rem_euclid(stride) == 0).collect();
    let plain = exponents.iter().all(|e| (-2..=3).contains(e));
    let label = |e: &i32| {
        if plain { trimmed(10f64.powi(*e), 2) } else { format!("10^{{{}}}", minus(&e.to_string())) }
    };
    let minor = match stride {
        1 => (first - 1..=last)
            .flat_map(|e| (2..10).map(move |m| f64::from(m) * 10f64.powi(e)))
            .filter(|v| *v >= lo && *v <= hi)
            .collect(),
        _ => (first..=last).filter(|e| e.rem_euclid(stride) != 0).map(|e| 10f64.powi(e)).collect(),
    };
    Ticks {
        values: exponents.iter().map(|e| 10f64.powi(*e)).collect(),
        labels: exponents.iter().map(label).collect(),
        minor,
    }
}

// Less than two powers of ten: 1, 2, 5 steps, or linear ticks when even those are too few.
fn short_log_ticks(lo: f64, hi: f64, target: usize) -> Ticks {
    let base = lo.log10().floor() as i32;
    let steps = (base..base + 3).flat_map(|e| [1.0, 2.0, 5.0].map(|m| (m, e)));
    let inside: Vec<(f64, i32)> = steps.filter(|&(m, e)| (lo..=hi).contains(&(m * 10f64.powi(e)))).collect();
    if inside.len() < 3 {
        return linear_ticks(lo, hi, target.min(4));
    }
    let values: Vec<f64> = inside.iter().map(|&(m, e)| m * 10f64.powi(e)).collect();
    let plain = inside.iter().all(|(_, e)| (-3..=4).contains(e));
    let label = |&(m, e): &(f64, i32)| match (plain, m == 1.0) {
        (true, _) => trimmed(m * 10f64.powi(e), 3),
        (false, true) => format!("10^{{{}}}", minus(&e.to_string())),
        (false, false) => format!("{m}×10^{{{}}}", minus(&e.to_string())),
    };
    Ticks { labels: inside.iter().map(label).collect(), values, minor: Vec::new() }
}

// Labels with shared decimals and, for very small or large values, a shared power of ten.
fn labels(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let decimals = |step: f64| (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize;
    let scientific = largest > 0.0 && !(1e-3 * (1.0 - 1e-9)..1e6 * (1.0 - 1e-9)).contains(&largest);
    let power = (largest.log10() + 1e-9).floor();
    let mantissa_decimals = decimals(step / 10f64.powf(power));
    values
        .iter()
        .map(|&v| match scientific {
            _ if v == 0.0 => "0".to_string(),
            true if mantissa_decimals <= 5 => {
                let mantissa = minus(&format!("{:.*}", mantissa_decimals, v / 10f64.powf(power)));
                format!("{mantissa}×10^{{{}}}", minus(&format!("{power}")))
            }
            _ => minus(&format!("{:.*}", decimals(step), v)),
        })
        .collect()
}

// A hyphen is too short for a minus sign.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

fn trimmed(v: f64, decimals: usize) -> String {
    let text = format!("{v:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// `value` with `digits` significant digits in as few characters as possible: `0.3`, `12.5`, `4.1e-7`.
///
/// ```
/// assert_eq!(pullback_plot::compact(0.1 + 0.2, 3), "0.3");
/// assert_eq!(pullback_plot::compact(4.123e-7, 3), "4.12e-7");
/// assert_eq!(pullback_plot::compact(f64::NAN, 3), "–");
/// ```
pub fn compact(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    if value == 0.0 {
        return "0".to_string();
    }
    let digits = digits.clamp(1, 15);
    // Round first: 9.996 to three digits has the exponent of 10.0.
    let rounded = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let mantissa = if mantissa.contains('.') {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        } else {
            mantissa
        };
        return format!("{mantissa}e{exponent}");
    }
    trimmed(value, (digits as i32 - 1 - exponent).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_labels_have_no_noise() {
        let ticks = linear_ticks(0.0, 1.0, 5);
        assert_eq!(
            ticks.labels,
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|s| if s == "0.0" { "0" } else { s })
        );
        assert_eq!(linear_ticks(-3.0, 3.0, 6).labels, ["−3", "−2", "−1", "0", "1", "2", "3"]);
        assert_eq!(linear_ticks(0.0, 2e-5, 2).labels, ["0", "1×10^{−5}", "2×10^{−5}"]);
        assert_eq!(linear_ticks(0.0, 3e6, 3).labels, ["0", "1×10^{6}", "2×10^{6}", "3×10^{6}"]);
    }

    #[test]
    fn log_ticks_stand_at_decades() {
        assert_eq!(log_ticks(1e-6, 1e-3, 6).labels, ["10^{−6}", "10^{−5}", "10^{−4}", "10^{−3}"]);
        assert_eq!(log_ticks(0.1, 100.0, 6).labels, ["0.1", "1", "10", "100"]);
        let wide = log_ticks(1e-30, 1e30, 6);
        assert!((3..=7).contains(&wide.values.len()), "{wide:?}");
        assert_eq!(log_ticks(1.0, 9.0, 6).labels, ["1", "2", "5"]);
        assert!(log_ticks(3.1, 3.9, 5).values.len() >= 2);
    }

    #[test]
    fn range_skips_what_is_not_finite() {
        let values = [f64::NAN, 1.0, f64::INFINITY, 3.0, f64::NEG_INFINITY, 1e305];
        let scale = Scale::fit(values.into_iter(), None, false, 0.0).unwrap();
        assert_eq!((scale.lo, scale.hi), (1.0, 3.0));
        assert!(Scale::fit([f64::NAN].into_iter(), None, false, 0.1).is_none());
        assert!(Scale::fit([-1.0, 0.0].into_iter(), None, true, 0.1).is_none());
    }

    #[test]
    fn range_of_a_constant_is_not_empty() {
        for v in [0.0, 5.0, -2e-9, 1e299, 1e-310] {
            let scale = Scale::fit([v].into_iter(), None, false, 0.05).unwrap();
            assert!(scale.hi > scale.lo, "{v}");
            let ticks = scale.ticks(5);
            assert!(ticks.values.iter().all(|t| t.is_finite()) && ticks.values.len() < 45, "{v}: {ticks:?}");
        }
    }

    #[test]
    fn senseless_fixed_limits_fall_back_to_the_data() {
        for fixed in [(1.0, 1.0), (f64::NAN, 2.0), (0.0, f64::INFINITY)] {
            let scale = Scale::fit([2.0, 4.0].into_iter(), Some(fixed), false, 0.0).unwrap();
            assert_eq!((scale.lo, scale.hi), (2.0, 4.0));
        }
        let swapped = Scale::fit([2.0].into_iter(), Some((9.0, 1.0)), false, 0.0).unwrap();
        assert_eq!((swapped.lo, swapped.hi), (1.0, 9.0));
    }

    #[test]
    fn compact_numbers() {
        assert_eq!(compact(9.996, 3), "10");
        assert_eq!(compact(-1234.5, 4), "-1234");
        assert_eq!(compact(1.5e9, 3), "1.5e9");
        assert_eq!(compact(2.0, 3), "2");
        assert_eq!(compact(1e9, 1), "1e9");
    }
}
