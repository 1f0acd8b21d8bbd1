//! What plain pictures show beyond a [`Scene`](crate::Scene): shadows, sky, haze, translucent surfaces, spot lights.

use pullback_math::Vec3;

use crate::error::RenderError;

/// What plain pictures show beyond a scene. The default is nothing: pictures then are what soft ones become as they
/// sharpen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Of each surface, in order; surfaces without an entry have the default.
    pub finishes: Vec<Finish>,
    /// Of each light, in order; lights without an entry have the default.
    pub lamps: Vec<Lamp>,
    /// What is behind everything, in place of the scene's background.
    pub sky: Option<Sky>,
    /// How what is far becomes the background.
    pub haze: Option<Haze>,
    /// How shadows are found; `None` for none.
    pub shadows: Option<Shadows>,
}

/// Optical properties of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// 1 for opaque, 0 for invisible. Translucent faces are seen from outside alone, and cast no shadow.
    pub opacity: f64,
    /// Light that it sends by itself, as a factor of its color.
    pub emission: f64,
    /// Whether it casts shadows.
    pub casts_shadow: bool,
}

impl Default for Finish {
    fn default() -> Self {
        Finish { opacity: 1.0, emission: 0.0, casts_shadow: true }
    }
}

/// What a light does beyond shining.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lamp {
    /// Whether surfaces cast shadows in it; not from ambient light.
    pub casts_shadow: bool,
    /// The cone of a point light.
    pub cone: Option<Cone>,
    /// Coefficients of distance to the powers 0, 1 and 2 in the denominator of a point light's intensity.
    pub attenuation: Option<[f64; 3]>,
    /// Red, green and blue of highlights, where they are not those of the light.
    pub highlight: Option<Vec3<f64>>,
}

/// The cone of a spot light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// Along its axis, away from the light; of any length.
    pub axis: Vec3<f64>,
    /// Half its angle, rad.
    pub cutoff: f64,
    /// Sharpness s of its intensity cosˢ(angle from the axis).
    pub exponent: f64,
}

/// A sky whose color depends on the elevation e, from −1 straight down to 1 straight up: α above + (1 − α) below with
/// α = ½ (1 + √2 e / √(1 + e²)), as MuJoCo's gradients have it. z is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sky {
    /// Color straight up.
    pub above: Vec3<f64>,
    /// Color straight down.
    pub below: Vec3<f64>,
}

/// Distances between which what is seen becomes the background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Haze {
    /// Where it begins, m.
    pub start: f64,
    /// Where nothing but the background is left, m.
    pub end: f64,
}

/// How shadows are found: by maps of what each light sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadows {
    /// Texels along each side of a map (1024).
    pub resolution: usize,
}

impl Default for Shadows {
    fn default() -> Self {
        Shadows { resolution: 1024 }
    }
}

impl Effects {
    /// Of surface `i`.
    pub fn finish(&self, i: usize) -> Finish {
        self.finishes.get(i).copied().unwrap_or_default()
    }
    /// Of light `i`.
    pub fn lamp(&self, i: usize) -> Lamp {
        self.lamps.get(i).copied().unwrap_or_default()
    }

    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let positive = |name: &'static str, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(RenderError::NotPositive { name, value }),
        };
        if let Some(shadows) = self.shadows {
            positive("the resolution of shadows", shadows.resolution as f64)?;
        }
        if let Some(Haze { start, end }) = self.haze {
            positive("the depth of the haze", end - start)?;
        }
        Ok(())
    }
}
