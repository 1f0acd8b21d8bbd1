//! What can be wrong with a replay.

use std::fmt;
use std::io;

/// Why a replay could not be written; each says where.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// There is no frame.
    NoFrames,
    /// The frame rate is not a positive number.
    FrameRate(f64),
    /// A frame has not one pose per body.
    PoseCount {
        /// Index of the frame.
        frame: usize,
        /// Number of its poses.
        found: usize,
        /// Number of bodies.
        expected: usize,
    },
    /// A pose is not finite, or its quaternion is zero.
    BadPose {
        /// Index of the frame.
        frame: usize,
        /// Name of the body.
        body: String,
    },
    /// A time is not finite, or not after the frame before.
    BadTime {
        /// Index of the frame.
        frame: usize,
        /// The time, s.
        time: f64,
    },
    /// A contact has a value that is not finite.
    BadContact {
        /// Index of the frame.
        frame: usize,
        /// Index of the contact in the frame.
        contact: usize,
    },
    /// A geom cannot be drawn.
    BadGeom {
        /// Name of the geom.
        geom: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A soft shape cannot be drawn.
    BadSoft {
        /// Name of the shape.
        soft: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A series has not one finite value per frame.
    BadSeries {
        /// Name of the series.
        series: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The description of the scene could not be written as JSON.
    Json(serde_json::Error),
    /// The file could not be written.
    Io(io::Error),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrames => write!(f, "the replay has no frames; record at least one"),
            Self::FrameRate(fps) => write!(f, "the frame rate is {fps}; it must be a positive number"),
            Self::PoseCount { frame, found, expected } => {
                write!(f, "frame {frame} has {found} poses for {expected} bodies")
            }
            Self::BadPose { frame, body } => {
                write!(
                    f,
                    "frame {frame}: the pose of body \"{body}\" is not finite or its quaternion is zero"
                )
            }
            Self::BadTime { frame, time } => {
                write!(f, "frame {frame}: time {time} is not finite or not after the frame before")
            }
            Self::BadContact { frame, contact } => {
                write!(f, "frame {frame}: contact {contact} has a value that is not finite")
            }
            Self::BadGeom { geom, reason } => write!(f, "geom \"{geom}\": {reason}"),
            Self::BadSoft { soft, reason } => write!(f, "soft shape \"{soft}\": {reason}"),
            Self::BadSeries { series, reason } => write!(f, "series \"{series}\": {reason}"),
            Self::Json(error) => write!(f, "the scene could not be written as JSON: {error}"),
            Self::Io(error) => write!(f, "the replay could not be written: {error}"),
        }
    }
}

impl std::error::Error for ReplayError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<serde_json::Error> for ReplayError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl From<io::Error> for ReplayError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
