//! The way back: the arrays of an `.npz` file, as `numpy.savez` and [`Npz`](super::Npz) write them.
//!
//! Read are members that are stored, not deflated, little-endian `f8` and `f4` and texts `U`, in C order.
//! Everything else is an error that says so. Sizes are checked against the file before anything is allocated.

use std::collections::BTreeMap;

/// An array of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// Numbers and their shape.
    Numbers(Vec<usize>, Vec<f64>),
    /// Texts of a list.
    Texts(Vec<String>),
}

/// The arrays of a file by name; what is wrong with it otherwise.
pub fn arrays(bytes: &[u8]) -> Result<BTreeMap<String, Array>, String> {
    // The end of the central directory is the last record; a comment of up to 64 KiB may follow it.
    let from = bytes.len().saturating_sub(22 + (1 << 16));
    let end = (from..bytes.len().saturating_sub(21)).rev().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"));
    let end = end.ok_or("it is no .npz file: the directory at its end is missing")?;
    let (count, mut at) = (u16_at(bytes, end + 10)?, u32_at(bytes, end + 16)?);
    let mut found = BTreeMap::new();
    for _ in 0..count {
        if !bytes.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
            return Err("its directory is damaged".into());
        }
        let (method, crc, size) = (u16_at(bytes, at + 10)?, u32_at(bytes, at + 16)?, u32_at(bytes, at + 20)?);
        let lengths = [u16_at(bytes, at + 28)?, u16_at(bytes, at + 30)?, u16_at(bytes, at + 32)?];
        let local = u32_at(bytes, at + 42)?;
        let name = slice(bytes, at + 46, lengths[0])?;
        let name = std::str::from_utf8(name).map_err(|_| "the name of a member is no text")?;
        let name = name.strip_suffix(".npy").unwrap_or(name).to_owned();
        if method != 0 {
            return Err(format!("`{name}` is compressed: save it with numpy.savez, not savez_compressed"));
        }
        let start = local + 30 + u16_at(bytes, local + 26)? + u16_at(bytes, local + 28)?;
        let content = slice(bytes, start, size)?;
        if crc32fast::hash(content) as usize != crc {
            return Err(format!("`{name}` is damaged: its checksum is another"));
        }
        let array = array(content).map_err(|e| format!("`{name}`: {e}"))?;
        found.insert(name, array);
        at += 46 + lengths.iter().sum::<usize>();
    }
    Ok(found)
}

/// One `.npy` file.
fn array(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it is no .npy array")?;
    let (header, body) = match rest {
        [1, _, low, high, rest @ ..] => rest.split_at_checked(usize::from(u16::from_le_bytes([*low, *high]))),
        [2 | 3, _, a, b, c, d, rest @ ..] => {
            rest.split_at_checked(u32::from_le_bytes([*a, *b, *c, *d]) as usize)
        }
        _ => None,
    }
    .ok_or("its header is damaged")?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let field = |name: &str| header.split_once(&format!("'{name}':")).map(|(_, rest)| rest.trim_start());
    let kind = field("descr").and_then(|d| d.strip_prefix('\'')?.split_once('\'')).map(|(kind, _)| kind);
    let kind = kind.ok_or("its header has no simple type")?;
    if field("fortran_order").is_some_and(|order| order.starts_with("True")) {
        return Err("it is in Fortran's order: save numpy.ascontiguousarray of it".into());
    }
    let shape = field("shape").and_then(|s| s.strip_prefix('(')?.split_once(')')).map(|(shape, _)| shape);
    let sizes = shape.unwrap_or("?").split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::parse);
    let shape: Vec<usize> = sizes.collect::<Result<_, _>>().map_err(|_| "its shape is no list of sizes")?;
    let width = match kind.split_at_checked(2) {
        Some(("<f", "8")) => 8,
        Some(("<f", "4")) => 4,
        Some(("<U", letters)) => {
            4 * letters.parse::<usize>().map_err(|_| "its type is damaged")?.min(1 << 20)
        }
        _ => return Err(format!("its type is {kind}; float64, float32 and texts are read")),
    };
    let count = shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
    let count = count.filter(|n| n.checked_mul(width) == Some(body.len()));
    let count = count.ok_or("it does not hold as many entries as its shape says")?;
    if kind.starts_with("<U") {
        if shape.len() != 1 {
            return Err("texts must be a list".into());
        }
        if width == 0 {
            return Ok(Array::Texts(vec![String::new(); count]));
        }
        let text = |entry: &[u8]| -> Option<String> {
            let letters = entry.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c));
            letters.take_while(|c| *c != 0).map(char::from_u32).collect()
        };
        let texts: Option<Vec<String>> = body.chunks(width).map(text).collect();
        return Ok(Array::Texts(texts.ok_or("a letter is none of Unicode")?));
    }
    let numbers = match width {
        8 => body.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        _ => body.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
    };
    Ok(Array::Numbers(shape, numbers))
}

fn slice(bytes: &[u8], start: usize, len: usize) -> Result<&[u8], String> {
    bytes.get(start..).and_then(|rest| rest.get(..len)).ok_or_else(|| "the file ends too early".into())
}
fn u16_at(bytes: &[u8], at: usize) -> Result<usize, String> {
    slice(bytes, at, 2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])))
}
fn u32_at(bytes: &[u8], at: usize) -> Result<usize, String> {
    slice(bytes, at, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
}

#[cfg(test)]
mod tests {
    use super::super::Npz;
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_named() {
        let mut archive = Npz::default();
        archive.numbers("control", &[2, 2], &[1.0, -0.5, 1e-300, 3.25]).unwrap();
        archive.numbers("nothing", &[2, 0], &[]).unwrap();
        archive.texts("names", &["a".into(), "θ.rate".into()]).unwrap();
        let bytes = archive.finish().unwrap();
        let found = arrays(&bytes).unwrap();
        assert_eq!(found["control"], Array::Numbers(vec![2, 2], vec![1.0, -0.5, 1e-300, 3.25]));
        assert_eq!(found["nothing"], Array::Numbers(vec![2, 0], vec![]));
        assert_eq!(found["names"], Array::Texts(vec!["a".into(), "θ.rate".into()]));

        // No cut and no flipped byte is read as something else, and none panics.
        for end in 0..bytes.len() {
            assert!(arrays(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0x55;
            if let Ok(other) = arrays(&broken) {
                for (name, array) in other {
                    assert!(found.get(&name).is_none_or(|own| *own == array), "{name} at {at}");
                }
            }
        }
    }
}
