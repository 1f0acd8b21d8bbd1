//! Clipping of gradients by their norm.

use thiserror::Error;

/// Why a gradient cannot be clipped.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ClipError {
    /// An entry is infinite or no number.
    #[error(
        "entry {index} of the gradient is {value}: a rollout or its gradient diverged; \
         shorten the horizon or lower the learning rate"
    )]
    NotFinite {
        /// Index in the flat vector.
        index: usize,
        /// What it is.
        value: f32,
    },
}

/// Euclidean norm, summed in double precision.
pub fn norm(gradient: &[f32]) -> f64 {
    // Sixteen sums that do not wait for each other.
    let mut sums = [0.0; 16];
    let (chunks, rest) = gradient.as_chunks::<16>();
    for chunk in chunks {
        for (sum, g) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*g) * f64::from(*g);
        }
    }
    sums.iter_mut().zip(rest).for_each(|(sum, g)| *sum += f64::from(*g) * f64::from(*g));
    sums.iter().sum::<f64>().sqrt()
}

/// Scales the gradient down to norm `max_norm` if it is longer; returns the norm it had.
///
/// A gradient that is not finite is left as it is.
pub fn clip_norm(gradient: &mut [f32], max_norm: f64) -> Result<f64, ClipError> {
    let norm = norm(gradient);
    if !norm.is_finite() {
        let bad = gradient.iter().enumerate().find(|(_, g)| !g.is_finite());
        let (index, value) = bad.map_or((0, f32::NAN), |(index, value)| (index, *value));
        return Err(ClipError::NotFinite { index, value });
    }
    if norm > max_norm {
        let factor = (max_norm / norm) as f32;
        gradient.iter_mut().for_each(|g| *g *= factor);
    }
    Ok(norm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_gradients_are_scaled_and_short_ones_left() {
        let mut gradient: Vec<f32> = (0..11).map(|i| i as f32).collect();
        let long = 385.0_f64.sqrt();
        assert!((clip_norm(&mut gradient, 0.5).unwrap() - long).abs() < 1e-12);
        assert!((norm(&gradient) - 0.5).abs() < 1e-7);
        let before = gradient.clone();
        clip_norm(&mut gradient, 1.0).unwrap();
        assert_eq!(gradient, before);
    }

    #[test]
    fn gradients_that_are_not_finite_are_named() {
        let error = clip_norm(&mut [1.0, f32::INFINITY], 1.0).unwrap_err();
        assert_eq!(error, ClipError::NotFinite { index: 1, value: f32::INFINITY });
    }
}
