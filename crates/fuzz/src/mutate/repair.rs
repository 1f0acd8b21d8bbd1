//! Checksums and lengths made right again, so that a reader goes on to what is behind them.

use pullback_core::files::crc32c::Crc32c;

use super::Structure;

pub fn repair(structure: Structure, input: &mut Vec<u8>) {
    match structure {
        Structure::Png => png(input),
        Structure::SealedLines => sealed_lines(input),
        Structure::Xml | Structure::Text | Structure::Binary => {}
    }
}

/// Checksums of all chunks: length, name, data, CRC-32 of name and data.
fn png(input: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = input.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(checked) = input.get(at + 4..(at + 8).saturating_add(length)) else { return };
        let crc = crc32fast::hash(checked).to_be_bytes();
        let end = at + 8 + length;
        match input.get_mut(end..end + 4) {
            Some(place) => place.copy_from_slice(&crc),
            None => return,
        }
        at = end + 4;
    }
}

/// Checksums of all lines, each over all values so far.
fn sealed_lines(input: &mut Vec<u8>) {
    const MIDDLE: &[u8] = b"\",\"line\":";
    let mut crc = Crc32c::new();
    let mut out = Vec::with_capacity(input.len());
    for line in input.split_inclusive(|b| *b == b'\n') {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let value = body
            .windows(MIDDLE.len())
            .position(|window| window == MIDDLE)
            .and_then(|at| body[at + MIDDLE.len()..].strip_suffix(b"}"));
        match value {
            None => out.extend_from_slice(line),
            Some(value) => {
                crc.add(value);
                out.extend(format!("{{\"crc32c\":\"{:08x}\",\"line\":", crc.value()).as_bytes());
                out.extend_from_slice(value);
                out.extend_from_slice(if line.len() > body.len() { &b"}\n"[..] } else { b"}" });
            }
        }
    }
    *input = out;
}
