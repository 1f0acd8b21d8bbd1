//! What can go wrong between numbers and a picture; every message says where and what would help.

use std::path::PathBuf;

/// Why a figure or a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A panel has nothing that can be drawn.
    #[error(
        "panel {panel} has no finite data to draw: give it at least one finite point (positive on a log axis)"
    )]
    Empty {
        /// Title of the panel, or its number in the grid.
        panel: String,
    },
    /// The lengths of a panel's arrays do not fit together.
    #[error("panel {panel}: {what}")]
    Shape {
        /// Title of the panel, or its number in the grid.
        panel: String,
        /// Which lengths disagree.
        what: String,
    },
    /// The figure has no panels, or more panels than cells.
    #[error("a grid of {rows} x {cols} cells cannot hold {panels} panels: use 1 to rows * cols panels")]
    Grid {
        /// Rows of the grid.
        rows: usize,
        /// Columns of the grid.
        cols: usize,
        /// Panels given.
        panels: usize,
    },
    /// The picture would be too small to read or too large to hold.
    #[error(
        "a picture of {width} x {height} pixels is outside 64 x 64 to 16000 x 16000: change the size or the dpi"
    )]
    Size {
        /// Width asked for, pixels.
        width: f64,
        /// Height asked for, pixels.
        height: f64,
    },
    /// The embedded font could not be read.
    #[error("the embedded font could not be read: {0}")]
    Font(String),
    /// The PNG encoder refused the picture.
    #[error("PNG encoding failed: {0}")]
    Encode(String),
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
