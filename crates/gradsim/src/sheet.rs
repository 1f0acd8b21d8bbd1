//! [`Sheet`]: pictures in rows, such as a recorded video above a fitted one.

use pullback_plot::{PlotError, png_of_pixels};
use pullback_render::Image;

/// Pixels between pictures, and their gray.
const GAP: usize = 6;
const PAPER: u8 = 255;
/// Pictures are enlarged by a whole number until they are this wide.
const LEAST_WIDTH: usize = 160;

/// Rows of pictures of one size.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    rows: Vec<Vec<Image<f64>>>,
}

impl Sheet {
    /// No picture yet.
    pub fn new() -> Self {
        Sheet::default()
    }

    /// Adds a row of pictures.
    #[must_use]
    pub fn with_row<'a>(mut self, images: impl IntoIterator<Item = &'a Image<f64>>) -> Self {
        self.rows.push(images.into_iter().cloned().collect());
        self
    }

    /// The sheet as a PNG.
    pub fn to_png(&self) -> Result<Vec<u8>, PlotError> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let Some(first) = self.rows.iter().flatten().next() else {
            return png_of_pixels(1, 1, &[PAPER; 3]);
        };
        let scale = LEAST_WIDTH.div_ceil(first.width).max(1);
        let (w, h) = (first.width * scale, first.height * scale);
        let (width, height) = (columns * (w + GAP) + GAP, self.rows.len() * (h + GAP) + GAP);
        let mut pixels = vec![PAPER; 3 * width * height];
        for (r, row) in self.rows.iter().enumerate() {
            for (c, image) in row.iter().enumerate() {
                let bytes = image.to_srgb();
                let (left, top) = (GAP + c * (w + GAP), GAP + r * (h + GAP));
                for y in 0..h.min(image.height * scale) {
                    for x in 0..w.min(image.width * scale) {
                        let from = 3 * (y / scale * image.width + x / scale);
                        let to = 3 * ((top + y) * width + left + x);
                        pixels[to..to + 3].copy_from_slice(&bytes[from..from + 3]);
                    }
                }
            }
        }
        png_of_pixels(width, height, &pixels)
    }
}
