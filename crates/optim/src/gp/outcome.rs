//! Losses as a Gaussian process likes them: finite, without huge outliers, of mean 0 and variance 1.
//!
//! A failed simulation has an infinite loss and counts as the worst finite one. Losses above the median by
//! more than `OUTLIERS` times the range between the quartiles are cut off there: the transform is monotone,
//! what is cut is far from the minimum, and a single explosion does not flatten the rest of the landscape.
//! Low losses are never cut.

/// Quartile ranges above the median that are kept.
const OUTLIERS: f64 = 10.0;

/// Standardized losses, and the way back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Standardized losses.
    pub y: Vec<f64>,
    /// Mean of the finite, cut losses.
    pub shift: f64,
    /// Their standard deviation, or 1 where they are all the same.
    pub scale: f64,
}

impl Outcomes {
    /// Of the losses.
    pub fn new(losses: &[f64]) -> Self {
        let mut sorted: Vec<f64> = losses.iter().copied().filter(|loss| loss.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let Some(worst) = sorted.last().copied() else {
            return Outcomes { y: vec![0.0; losses.len()], shift: 0.0, scale: 1.0 };
        };
        let quantile = |q: f64| sorted[(q * (sorted.len() - 1) as f64) as usize];
        let (low, middle, high) = (quantile(0.25), quantile(0.5), quantile(0.75));
        let cut = if high > low { (middle + OUTLIERS * (high - low)).min(worst) } else { worst };
        let kept: Vec<f64> =
            losses.iter().map(|loss| if loss.is_finite() { loss.min(cut) } else { cut }).collect();
        let n = kept.len() as f64;
        // Divided first: sums of the largest numbers overflow.
        let shift = kept.iter().map(|x| x / n).sum::<f64>();
        let variance = kept.iter().map(|x| ((x - shift) / n.sqrt()).powi(2)).sum::<f64>();
        let spread = variance.sqrt();
        let scale = if spread > 1e-12 * shift.abs().max(f64::MIN_POSITIVE) && spread.is_finite() {
            spread
        } else {
            1.0
        };
        Outcomes { y: kept.iter().map(|x| ((x - shift) / scale).clamp(-1e6, 1e6)).collect(), shift, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_explosions_do_not_flatten_the_rest() {
        let mut losses: Vec<f64> = (0..40).map(f64::from).collect();
        losses.extend([f64::INFINITY, 1e30, f64::NAN]);
        let outcomes = Outcomes::new(&losses);
        assert!(outcomes.y.iter().all(|y| y.is_finite()));
        // The order of all that is not cut stays, the failures are worst.
        assert!(outcomes.y[..40].windows(2).all(|w| w[0] < w[1]));
        assert!(outcomes.y[40..].iter().all(|y| *y >= outcomes.y[39]));
        assert!(outcomes.y[39] - outcomes.y[0] > 0.5);
        let mean = outcomes.y.iter().sum::<f64>() / 43.0;
        let square = outcomes.y.iter().map(|y| y * y).sum::<f64>() / 43.0;
        assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_constant_or_all_failed_is_harmless() {
        assert!(Outcomes::new(&[]).y.is_empty());
        assert_eq!(Outcomes::new(&[f64::INFINITY; 3]).y, [0.0; 3]);
        assert_eq!(Outcomes::new(&[7.0; 5]), Outcomes { y: vec![0.0; 5], shift: 7.0, scale: 1.0 });
        assert!(Outcomes::new(&[f64::MAX, f64::MIN, 0.0]).y.iter().all(|y| y.is_finite()));
    }
}
