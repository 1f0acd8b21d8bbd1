//! Colors of things that have none of their own.

use pullback_math::Vec3;

/// Linear red, green and blue: colors that differ in lightness too, all well away from black and white.
const COLORS: [[f64; 3]; 6] = [
    [0.80, 0.30, 0.05],
    [0.05, 0.30, 0.60],
    [0.25, 0.55, 0.15],
    [0.70, 0.50, 0.05],
    [0.45, 0.15, 0.50],
    [0.10, 0.55, 0.55],
];

/// The color of the thing of this number.
pub fn color(i: usize) -> Vec3<f64> {
    let [r, g, b] = COLORS[i % COLORS.len()];
    Vec3::new(r, g, b)
}
