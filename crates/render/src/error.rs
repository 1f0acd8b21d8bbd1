//! What can go wrong when a picture is asked for.

use thiserror::Error;

/// A picture that cannot be made, or a gradient that cannot be given.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RenderError {
    /// A setting must be positive.
    #[error("{name} is {value}: give a positive, finite number")]
    NotPositive {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The cutoff of SoftRas is not a coverage outside of a face.
    #[error("cutoff is {value}: give a coverage between 0 and 0.5, such as 1e-4")]
    Cutoff {
        /// The value given.
        value: f64,
    },
    /// The range of depths is empty.
    #[error("the camera sees depths from {near} to {far}: give 0 < near < far")]
    Depths {
        /// Smallest depth.
        near: f64,
        /// Largest depth.
        far: f64,
    },
    /// A number of the scene or camera is infinite or not a number.
    #[error("{what} is not finite: correct it before rendering")]
    NotFinite {
        /// What holds the number.
        what: String,
    },
    /// A face names a vertex that does not exist.
    #[error("face {face} of surface {surface} names vertex {vertex} of {vertices}: correct its topology")]
    NoSuchVertex {
        /// The surface.
        surface: usize,
        /// The face.
        face: usize,
        /// The vertex it names.
        vertex: u32,
        /// Vertices of the surface.
        vertices: usize,
    },
    /// A list does not fit the surface.
    #[error("surface {surface} needs {expected} {what}, got {found}")]
    WrongLength {
        /// The surface.
        surface: usize,
        /// What the list holds.
        what: &'static str,
        /// Entries needed.
        expected: usize,
        /// Entries given.
        found: usize,
    },
    /// A cotangent does not fit its primal.
    #[error("the cotangent of {what} has another shape than its primal: make it by zero_like")]
    WrongCotangent {
        /// Which argument.
        what: &'static str,
    },
    /// A pullback without its evaluation.
    #[error("render_vjp needs the workspace of a render of the same scene and settings: call render first")]
    NotRendered,
    /// A cotangent left the finite numbers.
    #[error(
        "the gradient with respect to {what} is not finite: raise sigma and gamma, or check the cotangent of the image"
    )]
    GradientNotFinite {
        /// What it is taken with respect to.
        what: String,
    },
}
