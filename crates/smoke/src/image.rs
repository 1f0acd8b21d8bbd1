//! [`Image`]: brightness pixel by pixel.

/// A picture: rows from top to bottom, in each from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Image<T> {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Brightness; 1 is that of lit smoke without end.
    pub pixels: Vec<T>,
}

impl<T: Clone> Image<T> {
    /// A picture of one brightness.
    pub fn filled(width: usize, height: usize, brightness: T) -> Self {
        Image { width, height, pixels: vec![brightness; width * height] }
    }
}
