//! Frames as files keep them: 255 steps from black to white.

use pullback_video::Frame;

/// A frame whose colors and coverage are rounded to 8 bits.
pub fn eight_bits(frame: &Frame) -> Frame {
    let round = |x: f64| (255.0 * x).round() / 255.0;
    let mut image = frame.image.clone();
    image.color.iter_mut().for_each(|color| *color = color.map(round));
    image.alpha.iter_mut().for_each(|alpha| *alpha = round(*alpha));
    Frame { step: frame.step, image }
}
