//! [`Settings`]: which effects a system has, and their parameters' defaults.

use super::advection::Scheme;
use super::conjugate_gradients::SolveTolerance;

/// Which effects a system has. An effect that is there has a parameter of its name, whose default is given here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// How fields are moved.
    pub scheme: Scheme,
    /// Acceleration of smoke of density 1, m/s².
    pub buoyancy: Option<f64>,
    /// Kinematic viscosity, m²/s.
    pub viscosity: Option<f64>,
    /// Rate at which velocities fade, 1/s.
    pub damping: Option<f64>,
    /// Rate at which smoke fades, 1/s.
    pub dissipation: Option<f64>,
    /// Strength ε of vorticity confinement.
    pub confinement: Option<f64>,
    /// How far the solve for the pressure goes.
    pub pressure: SolveTolerance,
}
