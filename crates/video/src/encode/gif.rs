//! GIF files: one palette of 256 colors for all frames, by median cut, with ordered dithering.
//!
//! The palette is made of the colors of the first frames, which are kept until there are enough. Later frames take the
//! nearest of its colors. Dithering by a fixed pattern keeps still pixels still, so that smooth shading has no bands
//! and nothing flickers.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use gif::{Encoder, Frame, Repeat};

use crate::look::{Bitmap, PictureSize};

/// Frames that the palette is made of.
const SEEN: usize = 24;
/// Colors of the palette; one more says that a pixel has not changed.
const COLORS: usize = 255;
const UNCHANGED: u8 = 255;
/// Bits of a color by which it is looked up.
const BITS: u32 = 5;
/// Amplitude of the dithering.
const DITHER: i32 = 10;
/// Bayer's pattern.
const PATTERN: [[i32; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

/// A GIF on its way into a file.
pub(super) struct GifWriter {
    file: Option<BufWriter<File>>,
    size: PictureSize,
    fps: f64,
    /// Frames seen so far, until the palette is made.
    waiting: Vec<Bitmap>,
    begun: Option<Begun>,
    written: usize,
}

/// A file whose palette is known.
struct Begun {
    encoder: Encoder<BufWriter<File>>,
    palette: Palette,
    /// Indices of the frame before.
    last: Vec<u8>,
}

impl GifWriter {
    pub fn new(file: BufWriter<File>, size: PictureSize, fps: f64) -> Self {
        GifWriter { file: Some(file), size, fps, waiting: Vec::new(), begun: None, written: 0 }
    }

    pub fn add(&mut self, frame: &Bitmap) -> io::Result<()> {
        if self.begun.is_some() {
            return self.write(frame);
        }
        self.waiting.push(frame.clone());
        if self.waiting.len() == SEEN { self.begin() } else { Ok(()) }
    }

    /// Makes the palette and writes the frames that waited for it.
    fn begin(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let palette = Palette::of(&self.waiting);
        let mut colors: Vec<u8> = palette.colors.iter().flatten().copied().collect();
        colors.resize(3 * (COLORS + 1), 0);
        let (width, height) = (self.size.width as u16, self.size.height as u16);
        let mut encoder = Encoder::new(file, width, height, &colors).map_err(io::Error::other)?;
        encoder.set_repeat(Repeat::Infinite).map_err(io::Error::other)?;
        self.begun = Some(Begun { encoder, palette, last: Vec::new() });
        std::mem::take(&mut self.waiting).iter().try_for_each(|frame| self.write(frame))
    }

    fn write(&mut self, frame: &Bitmap) -> io::Result<()> {
        // Hundredths of a second, so rounded that no error adds up.
        let moment = |n: usize| (100.0 * n as f64 / self.fps).round() as u64;
        let delay = (moment(self.written + 1) - moment(self.written)).clamp(1, 65535) as u16;
        self.written += 1;
        let Some(Begun { encoder, palette, last }) = &mut self.begun else { return Ok(()) };
        let indices = palette.indices(frame);
        let unchanged = |(new, old): (&u8, &u8)| if new == old { UNCHANGED } else { *new };
        let buffer: Vec<u8> = match last.len() == indices.len() {
            true => indices.iter().zip(last.iter()).map(unchanged).collect(),
            false => indices.clone(),
        };
        *last = indices;
        let frame = Frame {
            width: self.size.width as u16,
            height: self.size.height as u16,
            delay,
            dispose: gif::DisposalMethod::Keep,
            transparent: Some(UNCHANGED),
            buffer: buffer.into(),
            ..Frame::default()
        };
        encoder.write_frame(&frame).map_err(io::Error::other)
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        match self.begun {
            // The end of the file is written here, where an error is seen.
            Some(begun) => begun.encoder.into_inner().map_err(io::Error::other)?.flush(),
            None => Ok(()),
        }
    }
}

/// A color.
type Rgb = [u8; 3];

/// Colors, and the nearest of them to every color of [`BITS`] bits.
struct Palette {
    colors: Vec<Rgb>,
    nearest: Vec<u8>,
}

impl Palette {
    /// The palette of these frames.
    fn of(frames: &[Bitmap]) -> Self {
        // Colors by their highest bits, and how often each is there.
        let mut counts = vec![0_u64; 1 << (3 * BITS)];
        for pixel in frames.iter().flat_map(|f| f.rgb.chunks_exact(3)) {
            counts[cell(pixel)] += 1;
        }
        let there: Vec<(Rgb, u64)> =
            counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (middle(i), *n)).collect();
        let colors = median_cut(there);
        let distance = |a: Rgb, b: Rgb| -> i32 {
            // Green is what eyes see best.
            let d = |k: usize| i32::from(a[k]) - i32::from(b[k]);
            2 * d(0) * d(0) + 4 * d(1) * d(1) + d(2) * d(2)
        };
        let closest = |i: usize| {
            let color = middle(i);
            let best = (0..colors.len()).min_by_key(|c| distance(colors[*c], color));
            best.unwrap_or(0) as u8
        };
        let nearest = (0..counts.len()).map(closest).collect();
        Palette { colors, nearest }
    }

    /// The color of each pixel.
    fn indices(&self, frame: &Bitmap) -> Vec<u8> {
        let index = |(i, pixel): (usize, &[u8])| {
            let (x, y) = (i % frame.width, i / frame.width);
            let shift = (PATTERN[y % 4][x % 4] * 2 - 15) * DITHER / 30;
            let moved = [0, 1, 2].map(|k| (i32::from(pixel[k]) + shift).clamp(0, 255) as u8);
            self.nearest[cell(&moved)]
        };
        frame.rgb.chunks_exact(3).enumerate().map(index).collect()
    }
}

/// The number of a color by its highest bits.
fn cell(color: &[u8]) -> usize {
    color[..3].iter().fold(0, |number, c| number << BITS | usize::from(*c) >> (8 - BITS))
}

/// The middle of the colors with a number.
fn middle(cell: usize) -> Rgb {
    let part = |k: u32| {
        let high = (cell >> (BITS * (2 - k)) & ((1 << BITS) - 1)) as u8;
        high << (8 - BITS) | high >> (2 * BITS - 8)
    };
    [part(0), part(1), part(2)]
}

/// Boxes of colors, the one with the largest spread cut in two at its weighted median until there are enough; their means.
fn median_cut(all: Vec<(Rgb, u64)>) -> Vec<Rgb> {
    let spread = |colors: &[(Rgb, u64)], k: usize| -> f64 {
        let weight: f64 = colors.iter().map(|(_, n)| *n as f64).sum();
        let mean = colors.iter().map(|(c, n)| f64::from(c[k]) * *n as f64).sum::<f64>() / weight;
        colors.iter().map(|(c, n)| (f64::from(c[k]) - mean).powi(2) * *n as f64).sum()
    };
    let widest = |colors: &[(Rgb, u64)]| {
        let spreads = [0, 1, 2].map(|k| spread(colors, k));
        let k = (0..3).max_by(|a, b| spreads[*a].total_cmp(&spreads[*b])).unwrap_or(0);
        // The square root keeps many cells from a large area of one color, such as the sky.
        (spreads[k].sqrt(), k)
    };
    let mut boxes = vec![(widest(&all), all)];
    while boxes.len() < COLORS {
        let largest = (0..boxes.len()).max_by(|a, b| boxes[*a].0.0.total_cmp(&boxes[*b].0.0));
        let Some(at) = largest.filter(|at| boxes[*at].1.len() > 1 && boxes[*at].0.0 > 0.0) else { break };
        let ((_, axis), mut colors) = boxes.swap_remove(at);
        colors.sort_by_key(|(c, _)| (c[axis], *c));
        let half = colors.iter().map(|(_, n)| n).sum::<u64>() / 2;
        let mut sum = 0;
        let cut = colors.iter().position(|(_, n)| {
            sum += n;
            sum > half
        });
        let rest = colors.split_off(cut.unwrap_or(0).clamp(1, colors.len() - 1));
        boxes.extend([colors, rest].map(|colors| (widest(&colors), colors)));
    }
    let mean = |colors: &[(Rgb, u64)]| {
        let weight: u64 = colors.iter().map(|(_, n)| n).sum::<u64>().max(1);
        [0, 1, 2].map(|k| (colors.iter().map(|(c, n)| u64::from(c[k]) * n).sum::<u64>() / weight) as u8)
    };
    boxes.iter().filter(|(_, colors)| !colors.is_empty()).map(|(_, colors)| mean(colors)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_shading_keeps_its_colors() {
        // A gradient from blue to orange: within dithering and a palette's cell.
        let (width, height) = (128, 8);
        let at = |i: usize| {
            let x = (i % width) as f64 / width as f64;
            [(255.0 * x) as u8, (80.0 + 60.0 * x) as u8, (255.0 - 255.0 * x) as u8]
        };
        let frame = Bitmap { width, height, rgb: (0..width * height).flat_map(at).collect() };
        let palette = Palette::of(std::slice::from_ref(&frame));
        for (i, index) in palette.indices(&frame).into_iter().enumerate() {
            let (drawn, wanted) = (palette.colors[usize::from(index)], at(i));
            for k in 0..3 {
                let error = i32::from(drawn[k]) - i32::from(wanted[k]);
                assert!(error.abs() <= 16, "pixel {i}: {drawn:?} for {wanted:?}");
            }
        }
    }
}
