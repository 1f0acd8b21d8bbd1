//! Colors: a categorical palette that survives color blindness, and colormaps with even lightness.
//!
//! The palette holds the hues of Okabe and Ito (2008), ordered so that the first few differ most on white;
//! their pure yellow, invisible on paper, is darkened. The colormaps are drawn in Oklch (Ottosson 2020):
//! lightness is linear in the value, which is what makes equal steps look equal, and hue and chroma follow
//! control points.

use crate::data::Colormap;

pub(crate) type Rgb = [u8; 3];

/// The colors that series choose from by index: blue, vermilion, green, purple, orange, sky, olive,
/// charcoal.
pub const PALETTE: [[u8; 3]; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [190, 98, 150],
    [230, 159, 0],
    [86, 180, 233],
    [150, 135, 10],
    [70, 74, 80],
];

pub(crate) const INK: Rgb = [34, 38, 44];
pub(crate) const MUTED: Rgb = [90, 96, 104];
pub(crate) const GRID: Rgb = [228, 231, 235];
pub(crate) const GRID_MINOR: Rgb = [241, 243, 245];
pub(crate) const MISSING: Rgb = [214, 216, 219];
pub(crate) const WHITE: Rgb = [255, 255, 255];

pub(crate) fn palette(index: usize) -> Rgb {
    PALETTE[index % PALETTE.len()]
}

/// Color of `t` in [0, 1] on a colormap; `t` outside is clamped.
pub(crate) fn colormap(map: Colormap, t: f64) -> Rgb {
    let t = if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.5 };
    match map {
        Colormap::Sequential => {
            let hue = control(&[305.0, 285.0, 255.0, 222.0, 188.0, 160.0, 140.0, 118.0, 104.0], t);
            let chroma = control(&[0.115, 0.135, 0.115, 0.09, 0.092, 0.125, 0.165, 0.18, 0.18], t);
            oklch(0.25 + 0.67 * t, chroma, hue)
        }
        Colormap::Diverging => {
            let s = 2.0 * t - 1.0;
            let hue = if s < 0.0 { 253.0 } else { 32.0 };
            let chroma = control(&[0.004, 0.06, 0.115, 0.14, 0.125], s.abs());
            oklch(0.965 - 0.56 * s.abs().powf(1.15), chroma, hue)
        }
    }
}

// Piecewise linear through evenly spaced control values.
fn control(values: &[f64], t: f64) -> f64 {
    let s = t * (values.len() - 1) as f64;
    let i = (s.floor() as usize).min(values.len() - 2);
    values[i] + (values[i + 1] - values[i]) * (s - i as f64)
}

// Oklch to sRGB; chroma shrinks until the color exists on a screen.
fn oklch(lightness: f64, chroma: f64, hue_degrees: f64) -> Rgb {
    let (sin, cos) = hue_degrees.to_radians().sin_cos();
    let mut chroma = chroma;
    loop {
        let linear = oklab_to_linear(lightness, chroma * cos, chroma * sin);
        let inside = linear.iter().all(|c| (-1e-4..=1.0001).contains(c));
        if inside || chroma < 1e-3 {
            return linear.map(|c| (encode(c.clamp(0.0, 1.0)) * 255.0).round() as u8);
        }
        chroma *= 0.97;
    }
}

fn oklab_to_linear(l: f64, a: f64, b: f64) -> [f64; 3] {
    let long = (l + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let medium = (l - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let short = (l - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    [
        4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
        -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
        -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701 * short,
    ]
}

fn encode(c: f64) -> f64 {
    if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luma([r, g, b]: Rgb) -> f64 {
        0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
    }

    #[test]
    fn sequential_map_grows_lighter_throughout() {
        let steps: Vec<f64> =
            (0..=50).map(|i| luma(colormap(Colormap::Sequential, i as f64 / 50.0))).collect();
        assert!(steps.windows(2).all(|w| w[1] > w[0]), "{steps:?}");
    }

    #[test]
    fn diverging_map_is_lightest_in_the_middle() {
        let middle = luma(colormap(Colormap::Diverging, 0.5));
        assert!(middle > 235.0);
        assert!(luma(colormap(Colormap::Diverging, 0.0)) < 110.0);
        assert!(luma(colormap(Colormap::Diverging, 1.0)) < 110.0);
    }

    #[test]
    fn any_input_has_a_color() {
        for t in [f64::NAN, f64::INFINITY, -3.0, 7.0] {
            colormap(Colormap::Sequential, t);
        }
        assert_eq!(palette(8), palette(0));
    }
}
