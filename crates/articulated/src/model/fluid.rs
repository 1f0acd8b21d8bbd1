//! How geoms meet a medium.

use pullback_math::{Quat, Vec3};

/// A geom meets the medium as an ellipsoid (`fluidshape="ellipsoid"`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidShape {
    /// Coefficients of drag of blunt and slender bodies and of turning, of Kutta lift and of Magnus lift
    /// (`fluidcoef`).
    pub coefficients: [f64; 5],
    /// The ellipsoid of a mesh; those of other shapes follow from their sizes.
    pub mesh: Option<MeshEllipsoid>,
}

/// The ellipsoid that stands for a mesh, in the frame of its geom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshEllipsoid {
    /// Center, m.
    pub position: Vec3<f64>,
    /// Orientation.
    pub orientation: Quat<f64>,
    /// Half axes, m.
    pub half_axes: Vec3<f64>,
}

impl Default for FluidShape {
    /// MuJoCo's coefficients.
    fn default() -> Self {
        FluidShape { coefficients: [0.5, 0.25, 1.5, 1.0, 1.0], mesh: None }
    }
}
