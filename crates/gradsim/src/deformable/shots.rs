//! From where soft scenes are filmed.

use std::f64::consts::FRAC_PI_2;

use pullback_math::Vec3;
use pullback_render::{Camera, Lens, Method, Projection, Settings, SoftRas};
use pullback_video::Shot;

/// Sharpness of depth, and coverage below which a face does not count. By gradSim's values, 1e-4 and 1e-4, colors end at once
/// where coverage falls below the cutoff, however soft outlines are: differences of such pictures jump, and fits get stuck.
const GAMMA: f64 = 0.1;
const CUTOFF: f64 = 1e-6;

/// A camera in front (toward +y) with gradSim's field of view, `distance` m from `target` and `elevation` rad above it. It
/// sees depths within half of that distance from the target. Outlines are a pixel soft.
pub fn orbit(target: Vec3<f64>, distance: f64, elevation: f64, pixels: usize) -> Shot {
    let half_height = Camera::<f64>::half_height_of_degrees(60.0);
    let lens = Lens::new(Projection::Perspective, 0.5 * distance, 1.5 * distance);
    let camera = Camera::orbit(lens, target, distance, -FRAC_PI_2, elevation, half_height);
    softened(Shot { camera, settings: Settings::new(pixels, pixels) }, 1.0)
}

/// The same shot with outlines that are so many pixels soft, and colors that fade with them.
pub fn softened(shot: Shot, pixels: f64) -> Shot {
    let soft = SoftRas { sigma: sigma(shot, pixels), gamma: GAMMA, epsilon: 0.0, cutoff: CUTOFF };
    Shot { settings: shot.settings.with_method(Method::SoftRas(soft)), ..shot }
}

/// The same shot with hard outlines and depths.
pub fn hard(shot: Shot) -> Shot {
    let soft = SoftRas { sigma: sigma(shot, 0.1), ..SoftRas::default() };
    Shot { settings: shot.settings.with_method(Method::SoftRas(soft)), ..shot }
}

/// Squared softness of so many pixels; the screen is two half heights high.
fn sigma(shot: Shot, pixels: f64) -> f64 {
    (2.0 * pixels / shot.settings.height as f64).powi(2)
}

/// The same shot on more pixels with hard outlines, for pages.
pub fn for_eyes(shot: Shot) -> Shot {
    let settings = Settings::new(EYES, EYES).with_supersampling(2);
    hard(Shot { settings, ..shot })
}

/// Pixels along each side of pictures for pages.
const EYES: usize = 200;

/// Every `stride`th step up to `steps`, without the start.
pub fn every(stride: usize, steps: usize) -> Vec<usize> {
    (1..=steps / stride).map(|k| k * stride).collect()
}
