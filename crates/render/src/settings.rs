//! How pictures are made: size, antialiasing, method of aggregation, outputs.

use crate::error::RenderError;

/// Size of a picture and how it is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// Samples of a pixel along each axis, averaged: 1, 2, 4 ...
    pub supersampling: usize,
    /// How faces become pixels.
    pub method: Method,
    /// What is computed besides the silhouette.
    pub outputs: Outputs,
}

impl Settings {
    /// A color picture by SoftRas, without supersampling.
    pub fn new(width: usize, height: usize) -> Self {
        let (method, outputs) = (Method::SoftRas(SoftRas::default()), Outputs::color());
        Settings { width, height, supersampling: 1, method, outputs }
    }
    /// The same with `n` × `n` samples per pixel.
    #[must_use]
    pub fn with_supersampling(self, n: usize) -> Self {
        Settings { supersampling: n, ..self }
    }
    /// The same by another method.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        Settings { method, ..self }
    }
    /// The same with other outputs.
    #[must_use]
    pub fn with_outputs(self, outputs: Outputs) -> Self {
        Settings { outputs, ..self }
    }

    /// gradSim's SoftRas pictures: 256 × 256, 2 × 2 samples per pixel, default SoftRas.
    pub fn gradsim() -> Self {
        Settings::new(256, 256).with_supersampling(2)
    }

    /// Samples along x and y.
    pub(crate) fn samples(&self) -> [usize; 2] {
        [self.width * self.supersampling, self.height * self.supersampling]
    }

    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let positive = |name: &'static str, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(RenderError::NotPositive { name, value }),
        };
        positive("width", self.width as f64)?;
        positive("height", self.height as f64)?;
        positive("supersampling", self.supersampling as f64)?;
        match self.method {
            Method::SoftRas(soft) => {
                positive("sigma", soft.sigma)?;
                positive("gamma", soft.gamma)?;
                if !(soft.cutoff > 0.0 && soft.cutoff < 0.5) {
                    return Err(RenderError::Cutoff { value: soft.cutoff });
                }
            }
            Method::DibR(dib) => {
                positive("sharpness", dib.sharpness)?;
                positive("reach", dib.reach)?;
            }
        }
        Ok(())
    }
}

/// How faces become pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Every face near a pixel contributes (Liu et al. 2019).
    SoftRas(SoftRas),
    /// The nearest face in the foreground, a soft silhouette around it (Chen et al. 2019).
    DibR(DibR),
}

impl Method {
    /// How far beyond its outline a face reaches, on the screen.
    pub(crate) fn reach(&self) -> f64 {
        match self {
            Method::SoftRas(soft) => soft.reach(),
            Method::DibR(dib) => dib.reach,
        }
    }
}

/// Soft rasterization. The defaults are gradSim's.
///
/// Coverage of a pixel by face j at distance d from its outline: Dⱼ = sigmoid(± d² / σ), positive inside.
/// Silhouette: α = 1 − Π (1 − Dⱼ). Color: Σ wⱼ cⱼ with wⱼ ∝ Dⱼ exp(zⱼ / γ), zⱼ = (far − depth) / (far − near),
/// and exp(ε / γ) for the background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftRas {
    /// Sharpness of outlines σ, in squared half heights of the image (1e-5).
    pub sigma: f64,
    /// Sharpness of depth γ (1e-4).
    pub gamma: f64,
    /// Depth of the background ε, in the unit of zⱼ (1e-3).
    pub epsilon: f64,
    /// Coverage below which a face does not count (1e-4).
    pub cutoff: f64,
}

impl Default for SoftRas {
    fn default() -> Self {
        SoftRas { sigma: 1e-5, gamma: 1e-4, epsilon: 1e-3, cutoff: 1e-4 }
    }
}

impl SoftRas {
    /// d = √(σ ln(1 / cutoff − 1)), where D is the cutoff.
    pub(crate) fn reach(&self) -> f64 {
        (self.sigma * (1.0 / self.cutoff - 1.0).ln()).sqrt()
    }
}

/// Interpolation in the foreground and a soft silhouette outside. The defaults are gradSim's.
///
/// A pixel inside a face has the color of the nearest one and α = 1. Outside, α = 1 − Π (1 − exp(−s d²)) over
/// the faces within reach, and the color of the background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DibR {
    /// Sharpness of silhouettes s, per squared half height of the image (7000).
    pub sharpness: f64,
    /// Distance beyond which a face does not count, in half heights of the image (0.02).
    pub reach: f64,
}

impl Default for DibR {
    fn default() -> Self {
        DibR { sharpness: 7000.0, reach: 0.02 }
    }
}

/// What is computed besides the silhouette.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Color.
    pub color: bool,
    /// Depth.
    pub depth: bool,
    /// Normals.
    pub normal: bool,
}

impl Outputs {
    /// The silhouette alone.
    pub fn silhouette() -> Self {
        Outputs::default()
    }
    /// Silhouette and color.
    pub fn color() -> Self {
        Outputs { color: true, ..Outputs::default() }
    }
    /// Silhouette, color, depth and normals.
    pub fn all() -> Self {
        Outputs { color: true, depth: true, normal: true }
    }
    /// Whether anything but the silhouette is wanted.
    pub fn any(self) -> bool {
        self.color || self.depth || self.normal
    }
}
