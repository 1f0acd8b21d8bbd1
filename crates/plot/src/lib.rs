//! Figures a person would put in a paper, and HTML reports that need nothing but the file itself.
//!
//! A figure is described first, as plain data ([`Figure`], [`Panel`], [`Series`]), and drawn second
//! ([`Figure::save_png`]). Missing values are gaps; a panel with nothing to draw is an error that names it.
//!
//! ```
//! use pullback_plot::{Figure, LinePanel, Series};
//! let points = (0..100).map(|i| (i as f64 * 0.1, (i as f64 * 0.1).sin())).collect();
//! let panel = LinePanel { x_label: "time (s)".into(), series: vec![Series::new("angle", 0, points)], ..Default::default() };
//! let png = Figure::single(panel.into()).to_png_bytes()?;
//! assert!(png.starts_with(b"\x89PNG"));
//! # Ok::<(), pullback_plot::PlotError>(())
//! ```
//!
//! Everything is drawn by this crate: an antialiased canvas with fractional positions, two embedded fonts, no
//! system libraries. Charting libraries that place marks on whole pixels and miter thick lines turn a
//! sawtooth into spikes, and a sawtooth is what gradients through contact look like.
//!
//! Limitations: PNG only; text is left to right; a label is shortened with an ellipsis when two lines do not
//! hold it.

mod axes;
mod bars;
mod canvas;
mod color;
mod data;
mod error;
mod files;
mod heatmap;
mod hover;
mod legend;
mod line;
mod render;
mod report;
mod scale;
mod style;
mod text;

pub use color::PALETTE;
pub use data::{BarSeries, BarsPanel, Colormap, Figure, HeatmapPanel, LinePanel, LineStyle, Panel, Series};
pub use error::PlotError;
pub use files::png_of_pixels;
pub use report::{Block, Report, Section, Stat, Table, Tone};
pub use scale::compact;
