//! Encoding and writing: PNG, base64, and files that appear whole or not at all.

use std::path::Path;

use crate::PlotError;

/// A picture as a PNG: red, green and blue bytes of each pixel, row by row from the top left.
pub fn png_of_pixels(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, PlotError> {
    encode_png(width, height, pixels, 96.0)
}

/// Encodes RGB bytes as a PNG that knows its resolution.
pub(crate) fn encode_png(width: usize, height: usize, pixels: &[u8], dpi: f64) -> Result<Vec<u8>, PlotError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // Flat areas compress best unfiltered; `Best` costs little on them.
    encoder.set_compression(png::Compression::Best);
    let per_meter = (dpi / 0.0254).round() as u32;
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_meter, yppu: per_meter, unit }));
    let fail = |e: png::EncodingError| PlotError::Encode(e.to_string());
    let mut writer = encoder.write_header().map_err(fail)?;
    writer.write_image_data(pixels).map_err(fail)?;
    writer.finish().map_err(fail)?;
    Ok(bytes)
}

/// Writes the file whole or not at all.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    pullback_core::files::write_atomically(path, bytes)
        .map_err(|source| PlotError::Io { path: path.to_path_buf(), source })
}

/// Standard base64 with padding (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * k) & 63) as usize] as char;
            out.push(if k > chunk.len() { '=' } else { digit });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_rfc() {
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_missing_folder_is_named_in_the_error() {
        let error = write_atomically(Path::new("/no/such/folder/a.png"), b"x").unwrap_err();
        assert!(error.to_string().contains("/no/such/folder/a.png"));
    }
}
