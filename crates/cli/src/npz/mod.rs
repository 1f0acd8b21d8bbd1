//! NumPy's `.npz`: named arrays in one file, read by `numpy.load`.
//!
//! An `.npz` is a ZIP archive of `.npy` files. Each of those is a magic number, a header that is a Python
//! dictionary padded with spaces to a multiple of 64 bytes, and the entries, row after row, little-endian.
//! Members are stored, not deflated, as by `numpy.savez`. Limits: format 1.0 of `.npy` and no ZIP64, so an
//! archive stays below 4 GB.

mod read;

use std::io;

pub use read::{Array, arrays};

/// A member being written: name, checksum, size and place of its local header.
struct Member {
    name: String,
    crc: u32,
    size: u32,
    offset: u32,
}

/// An archive in the making.
#[derive(Default)]
pub struct Npz {
    bytes: Vec<u8>,
    members: Vec<Member>,
}

impl Npz {
    /// Adds an array of doubles; `shape` is its sizes, the last one contiguous.
    pub fn numbers(&mut self, name: &str, shape: &[usize], values: &[f64]) -> io::Result<()> {
        let body = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.array(name, "<f8", shape, values.len(), body)
    }

    /// Adds an array of texts: UTF-32, each padded with zeros to the longest.
    pub fn texts(&mut self, name: &str, values: &[String]) -> io::Result<()> {
        let width = values.iter().map(|s| s.chars().count()).max().unwrap_or(0).max(1);
        let mut body = Vec::with_capacity(4 * width * values.len());
        for value in values {
            let padded = value.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
            body.extend(padded.flat_map(u32::to_le_bytes));
        }
        self.array(name, &format!("<U{width}"), &[values.len()], values.len(), body)
    }

    /// The whole file: members, then the central directory, then where that is.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let Npz { mut bytes, members } = self;
        let start = small(bytes.len())?;
        for member in &members {
            bytes.extend(b"PK\x01\x02");
            // Made by version 2.0.
            push16(&mut bytes, &[20]);
            common_header(&mut bytes, member)?;
            // No comment, disk 0, no attributes.
            push16(&mut bytes, &[0, 0, 0]);
            push32(&mut bytes, &[0, member.offset]);
            bytes.extend(member.name.as_bytes());
        }
        let size = small(bytes.len())? - start;
        let count = u16::try_from(members.len()).map_err(|_| too_large())?;
        bytes.extend(b"PK\x05\x06");
        push16(&mut bytes, &[0, 0, count, count]);
        push32(&mut bytes, &[size, start]);
        push16(&mut bytes, &[0]);
        Ok(bytes)
    }

    fn array(
        &mut self,
        name: &str,
        kind: &str,
        shape: &[usize],
        len: usize,
        body: Vec<u8>,
    ) -> io::Result<()> {
        if shape.iter().product::<usize>() != len {
            let why = format!("array `{name}` of shape {shape:?} got {len} entries");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut file = npy_header(kind, shape)?;
        file.extend(body);
        let member = Member {
            name: format!("{name}.npy"),
            crc: crc32fast::hash(&file),
            size: small(file.len())?,
            offset: small(self.bytes.len())?,
        };
        self.bytes.extend(b"PK\x03\x04");
        common_header(&mut self.bytes, &member)?;
        self.bytes.extend(member.name.as_bytes());
        self.bytes.extend(file);
        self.members.push(member);
        Ok(())
    }
}

/// Magic, version 1.0, length of the dictionary, the dictionary.
fn npy_header(kind: &str, shape: &[usize]) -> io::Result<Vec<u8>> {
    // A tuple of one has a comma in Python.
    let sizes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let before = 10;
    let padding = (before + text.len() + 1).next_multiple_of(64) - (before + text.len() + 1);
    text += &" ".repeat(padding);
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    push16(&mut header, &[u16::try_from(text.len()).map_err(|_| too_large())?]);
    header.extend(text.as_bytes());
    Ok(header)
}

/// What the local header and the central directory both say of a member.
fn common_header(to: &mut Vec<u8>, member: &Member) -> io::Result<()> {
    // Needs version 2.0, no flags, stored, at 00:00 on 1 January 1980: the same data give the same bytes.
    push16(to, &[20, 0, 0, 0, 0x21]);
    push32(to, &[member.crc, member.size, member.size]);
    push16(to, &[u16::try_from(member.name.len()).map_err(|_| too_large())?, 0]);
    Ok(())
}

fn push16(to: &mut Vec<u8>, values: &[u16]) {
    to.extend(values.iter().flat_map(|x| x.to_le_bytes()));
}

fn push32(to: &mut Vec<u8>, values: &[u32]) {
    to.extend(values.iter().flat_map(|x| x.to_le_bytes()));
}

fn small(size: usize) -> io::Result<u32> {
    u32::try_from(size).map_err(|_| too_large())
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "an .npz without ZIP64 ends at 4 GB")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u16_at(bytes: &[u8], at: usize) -> usize {
        u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()) as usize
    }
    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// Name and content of every member, found as a reader finds them: from the end, by the central
    /// directory.
    fn members(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let end = bytes.len() - 22;
        assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
        let (count, mut at) = (u16_at(bytes, end + 10), u32_at(bytes, end + 16));
        assert_eq!(at + u32_at(bytes, end + 12), end, "the directory ends where its end begins");
        let mut found = Vec::new();
        for _ in 0..count {
            assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
            let (crc, size, name_len) =
                (u32_at(bytes, at + 16), u32_at(bytes, at + 24), u16_at(bytes, at + 28));
            let (local, name) = (u32_at(bytes, at + 42), &bytes[at + 46..at + 46 + name_len]);
            assert_eq!(&bytes[local..local + 4], b"PK\x03\x04");
            assert_eq!(bytes[local + 4..local + 30], bytes[at + 6..at + 32], "both headers say the same");
            let content = &bytes[local + 30 + name_len..][..size];
            assert_eq!(crc32(content) as usize, crc);
            found.push((String::from_utf8(name.to_vec()).unwrap(), content.to_vec()));
            at += 46 + name_len;
        }
        found
    }

    /// The checksum of ZIP bit by bit, as its specification has it.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |c, _| (c >> 1) ^ (0xEDB8_8320 & (c & 1).wrapping_neg()))
        })
    }

    /// The dictionary and the entries of an `.npy` file.
    fn npy(file: &[u8]) -> (String, &[u8]) {
        assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
        let end = 10 + u16_at(file, 8);
        assert_eq!((end % 64, file[end - 1]), (0, b'\n'));
        (String::from_utf8(file[10..end].to_vec()).unwrap().trim_end().to_owned(), &file[end..])
    }

    #[test]
    fn a_reader_finds_every_array() {
        let mut archive = Npz::default();
        archive.numbers("state", &[2, 3], &[0.0, 1.0, 2.0, -3.5, f64::NAN, 1e300]).unwrap();
        archive.numbers("control", &[2, 0], &[]).unwrap();
        archive.texts("names", &["x".into(), "θ.rate".into()]).unwrap();
        let bytes = archive.finish().unwrap();
        let members = members(&bytes);
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["state.npy", "control.npy", "names.npy"]);

        let (header, body) = npy(&members[0].1);
        assert_eq!(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, ), }");
        assert_eq!(body.len(), 48);
        assert_eq!(f64::from_le_bytes(body[24..32].try_into().unwrap()), -3.5);
        let (header, body) = npy(&members[1].1);
        assert!(header.contains("(2, 0, )") && body.is_empty());
        let (header, body) = npy(&members[2].1);
        assert!(header.contains("'<U6'") && header.contains("(2, )"));
        assert_eq!(
            (body.len(), u32_at(body, 0), u32_at(body, 4), u32_at(body, 24)),
            (48, 'x' as usize, 0, 0x3b8)
        );
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        assert!(Npz::default().numbers("x", &[2, 2], &[1.0]).is_err());
    }
}
