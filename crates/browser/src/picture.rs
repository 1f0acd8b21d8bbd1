//! What is seen of a page.

use std::collections::BTreeSet;
use std::io::Cursor;

/// Pixels of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width, pixels.
    pub width: usize,
    /// Height, pixels.
    pub height: usize,
    /// Red, green and blue of each pixel, row by row.
    pub pixels: Vec<[u8; 3]>,
}

impl Picture {
    pub(crate) fn decode(bytes: &[u8]) -> Picture {
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().expect("a PNG file");
        let mut buffer = vec![0; reader.output_buffer_size()];
        let info = reader.next_frame(&mut buffer).expect("a picture");
        let channels = info.color_type.samples();
        let pixels = buffer[..info.buffer_size()].chunks(channels).map(|p| [p[0], p[1], p[2]]).collect();
        Picture { width: info.width as usize, height: info.height as usize, pixels }
    }

    /// Different colors within a part of the picture, from x and y and so wide and high, as shares of the whole.
    pub fn colors(&self, [x, y, width, height]: [f64; 4]) -> usize {
        let at = |share: f64, of: usize| (share * of as f64) as usize;
        let columns = at(x, self.width)..at(x + width, self.width);
        let rows = at(y, self.height)..at(y + height, self.height);
        let row = |row: usize| &self.pixels[row * self.width..][columns.clone()];
        rows.flat_map(row).collect::<BTreeSet<_>>().len()
    }

    /// Pixels that differ from those of a picture of the same size.
    pub fn differences(&self, other: &Picture) -> usize {
        self.pixels.iter().zip(&other.pixels).filter(|(a, b)| a != b).count()
    }
}

/// Base64 without regard for what is no digit (RFC 4648, section 4).
pub(crate) fn bytes_from_base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    let byte = |four: &[u8], k: usize| (four[k] << (2 + 2 * k)) | (four[k + 1] >> (4 - 2 * k));
    digits.chunks(4).flat_map(|four| (0..four.len() - 1).map(move |k| byte(four, k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_the_vectors_of_rfc_4648() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(bytes_from_base64(text), bytes.as_bytes());
        }
    }
}
