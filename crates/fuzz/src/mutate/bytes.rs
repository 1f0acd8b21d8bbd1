//! Changes of bytes, and of counts among them.

use pullback_core::random::Random;

use super::{below, pick, stretch};

/// Numbers at the ends of ranges, for counts and lengths.
const COUNTS: [u64; 14] = [
    0,
    1,
    2,
    3,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];
/// Floats that comparisons and conversions stumble over.
const FLOATS: [f32; 8] = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, -1e30, 1e-38];

pub fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = below(random, input.len() + 1);
    match below(random, 10) {
        // One bit.
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << below(random, 8);
            }
        }
        // One byte.
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.bits() as u8;
            }
        }
        2 => {
            let added: Vec<u8> = (0..1 + below(random, 8)).map(|_| random.bits() as u8).collect();
            input.splice(at..at, added);
        }
        3 => {
            input.drain(stretch(random, input.len()));
        }
        // A stretch twice, or many times.
        4 => {
            let part = input[stretch(random, input.len())].to_vec();
            let times = 1 << below(random, 8);
            let added = part.repeat(if part.len() * times > super::LONGEST { 1 } else { times });
            input.splice(at..at, added);
        }
        // A stretch of another file.
        5 => {
            let part = other[stretch(random, other.len())].to_vec();
            let replaced = at..(at + below(random, part.len() + 1)).min(input.len());
            input.splice(replaced, part);
        }
        6 => input.truncate(at),
        // A count, in a few widths and both orders.
        7 | 8 => {
            let count = match below(random, 2) {
                0 => pick(random, &COUNTS).copied().unwrap_or_default(),
                _ => input.len() as u64 + random.bits() % 5,
            };
            let bytes = count.to_le_bytes();
            let width = 1 << below(random, 4);
            let mut bytes = bytes[..width].to_vec();
            if below(random, 2) == 0 {
                bytes.reverse();
            }
            overwrite(input, at, &bytes);
        }
        _ => {
            let float = pick(random, &FLOATS).copied().unwrap_or_default();
            let at = if below(random, 2) == 0 { at & !3 } else { at };
            overwrite(input, at, &float.to_le_bytes());
        }
    }
}

fn overwrite(input: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = input.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
