//! How far two pictures are apart.

use pullback_render::Image;

/// Mean square of the difference, over red, green, blue and coverage.
pub fn square(a: &Image<f64>, b: &Image<f64>) -> f64 {
    let alpha: f64 = a.alpha.iter().zip(&b.alpha).map(|(a, b)| (a - b).powi(2)).sum();
    let color: f64 = a.color.iter().zip(&b.color).map(|(a, b)| (*a - *b).norm_squared()).sum();
    (alpha + color) / (a.alpha.len() + 3 * a.color.len()) as f64
}

/// Common area of two silhouettes over their whole area.
pub fn overlap(a: &Image<f64>, b: &Image<f64>) -> f64 {
    let pixels = || a.alpha.iter().zip(&b.alpha);
    let common = pixels().filter(|(a, b)| **a > 0.5 && **b > 0.5).count();
    let whole = pixels().filter(|(a, b)| **a > 0.5 || **b > 0.5).count();
    common as f64 / whole.max(1) as f64
}
