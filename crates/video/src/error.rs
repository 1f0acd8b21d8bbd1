//! What can go wrong when a video is made or compared.

use pullback_core::StepError;
use pullback_render::RenderError;
use thiserror::Error;

/// A video that cannot be made or compared.
#[derive(Clone, Debug, Error)]
pub enum VideoError {
    /// The motion cannot be simulated.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A picture of it cannot be drawn.
    #[error("step {step}: {error}")]
    Render {
        /// The step.
        step: usize,
        /// Why.
        error: RenderError,
    },
    /// A frame does not have the planes of the shot's pictures.
    #[error(
        "frame {frame} of video {video} has another size or other planes than the shot: film it by the same settings"
    )]
    Shape {
        /// The video.
        video: usize,
        /// The frame.
        frame: usize,
    },
    /// Frames are out of order.
    #[error(
        "frame {frame} of video {video} is of an earlier or the same step as the one before: sort the frames"
    )]
    Order {
        /// The video.
        video: usize,
        /// The frame.
        frame: usize,
    },
    /// Colors are compared that are not drawn.
    #[error("colors are compared, but the shot draws none: ask for Outputs::color(), or compare silhouettes")]
    NoColor,
}
