//! From where soft scenes are filmed.

use std::f64::consts::FRAC_PI_2;

use pullback_math::Vec3;
use pullback_render::{Camera, Lens, Method, Settings, SoftRas};
use pullback_video::Shot;

/// A camera in front (toward +y) with gradSim's lens, `distance` m from `target` and `elevation` rad above it. Outlines are
/// a pixel soft.
pub fn orbit(target: Vec3<f64>, distance: f64, elevation: f64, pixels: usize) -> Shot {
    let half_height = Camera::<f64>::half_height_of_degrees(60.0);
    let camera = Camera::orbit(Lens::default(), target, distance, -FRAC_PI_2, elevation, half_height);
    softened(Shot { camera, settings: Settings::new(pixels, pixels) }, 1.0)
}

/// The same shot with outlines that are so many pixels soft.
pub fn softened(shot: Shot, pixels: f64) -> Shot {
    // The screen is two half heights high.
    let sigma = (2.0 * pixels / shot.settings.height as f64).powi(2);
    let method = Method::SoftRas(SoftRas { sigma, ..SoftRas::default() });
    Shot { settings: shot.settings.with_method(method), ..shot }
}

/// The same shot on more pixels with hard outlines, for pages.
pub fn for_eyes(shot: Shot) -> Shot {
    let settings = Settings::new(EYES, EYES).with_supersampling(2);
    softened(Shot { settings, ..shot }, 0.3)
}

/// Pixels along each side of pictures for pages.
const EYES: usize = 200;

/// Every `stride`th step up to `steps`, without the start.
pub fn every(stride: usize, steps: usize) -> Vec<usize> {
    (1..=steps / stride).map(|k| k * stride).collect()
}
