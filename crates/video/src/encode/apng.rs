//! Animated PNG files.

use std::fs::File;
use std::io::BufWriter;

use crate::look::{Bitmap, PictureSize};

/// Ticks of a second in which times of frames are counted.
const TICKS: f64 = 10_000.0;

/// An animated PNG on its way into a file.
pub(super) struct ApngWriter {
    writer: png::Writer<BufWriter<File>>,
}

/// An encoder of pictures of a size.
pub(super) fn encoder<'a>(file: BufWriter<File>, size: PictureSize) -> png::Encoder<'a, BufWriter<File>> {
    let mut encoder = png::Encoder::new(file, size.width as u32, size.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_adaptive_filter(png::AdaptiveFilterType::Adaptive);
    encoder
}

impl ApngWriter {
    pub fn new(
        file: BufWriter<File>,
        size: PictureSize,
        fps: f64,
        frames: usize,
    ) -> Result<Self, png::EncodingError> {
        let mut encoder = encoder(file, size);
        encoder.set_animated(frames as u32, 0)?;
        encoder.set_frame_delay((TICKS / fps).round().clamp(1.0, 65535.0) as u16, TICKS as u16)?;
        Ok(ApngWriter { writer: encoder.write_header()? })
    }

    pub fn add(&mut self, frame: &Bitmap) -> Result<(), png::EncodingError> {
        self.writer.write_image_data(&frame.rgb)
    }

    pub fn finish(self) -> Result<(), png::EncodingError> {
        self.writer.finish()
    }
}
