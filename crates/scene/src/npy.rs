//! Targets as `.npy` files: float64 masses of all nodes in C order, the format of PlasticineLab's targets.
//!
//! Format 1.0 of NumPy: `\x93NUMPY`, version, length of the header, a header that is a Python dictionary,
//! then the numbers. Only little-endian float64 in C order with three axes is read; anything else is an error
//! that says so.

use std::path::Path;

use pullback_core::ConfigError;
use pullback_core::files::write_atomically;
use pullback_mpm::losses::{Cells, Target};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Largest file that is read, bytes: 32 million nodes.
const MAX_BYTES: u64 = 1 << 28;
/// Bytes before the header of format 1.0.
const PREFIX: usize = 10;

/// Writes the masses of a target.
pub fn write_target(path: &Path, target: &Target) -> Result<(), ConfigError> {
    let [x, y, z] = target.cells().nodes;
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({x}, {y}, {z}), }}");
    // Numbers begin at a multiple of 64 bytes.
    while !(PREFIX + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    bytes.extend(target.masses().iter().flat_map(|m| m.to_le_bytes()));
    write_atomically(path, &bytes).map_err(|e| ConfigError::new(format!("{}: {e}", path.display())))
}

/// Reads the masses of a target on a grid of `spacing` meters.
pub fn read_target(path: &Path, spacing: f64, threshold: f64) -> Result<Target, ConfigError> {
    let at = |message: &str| ConfigError::new(format!("{}: {message}", path.display()));
    let bytes = pullback_core::files::read_at_most(path, MAX_BYTES).map_err(|e| at(&e.to_string()))?;
    let (nodes, numbers) = parse(&bytes).map_err(at)?;
    let masses = numbers.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Target::from_masses(Cells { nodes, spacing, flat: false }, masses, threshold)
        .map_err(|e| at(&e.to_string()))
}

/// Nodes along each axis, and the bytes of the numbers.
fn parse(bytes: &[u8]) -> Result<([usize; 3], &[u8]), &'static str> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("not a .npy file")?;
    let [1, 0, low, high, rest @ ..] = rest else { return Err("not a .npy file of format 1.0") };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    let (header, numbers) = rest.split_at_checked(length).ok_or("the file ends within its header")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
    if !header.contains("'<f8'") || !header.contains("'fortran_order': False") {
        return Err("only little-endian float64 in C order is read: save the array with that type and order");
    }
    let shape = header.split_once("'shape': (").and_then(|(_, s)| s.split_once(')'));
    let (shape, _) = shape.ok_or("the header has no shape")?;
    let shape = shape.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::parse::<usize>);
    let shape: Vec<usize> =
        shape.collect::<Result<_, _>>().map_err(|_| "the shape is not made of numbers")?;
    let nodes: [usize; 3] = shape.try_into().map_err(|_| "a target has three axes")?;
    let count = nodes.iter().try_fold(8usize, |n, axis| n.checked_mul(*axis));
    if count != Some(numbers.len()) {
        return Err("the file does not hold as many numbers as its shape says");
    }
    Ok((nodes, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_math::Vec3;
    use pullback_mpm::losses::Solid;

    #[test]
    fn a_target_comes_back_and_broken_files_say_what_is_wrong() {
        let ball = Solid::Sphere { radius: 0.2 }.at(Vec3::new(0.5, 0.4, 0.6));
        let target = Target::from_solid(Cells::cube(16), &ball, 1.0, 500, 0, 1e-4).unwrap();
        let folder = std::env::temp_dir().join(format!("pullback-npy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("ball.npy");
        write_target(&path, &target).unwrap();
        assert_eq!(read_target(&path, 1.0 / 16.0, 1e-4).unwrap(), target);
        let bytes = std::fs::read(&path).unwrap();
        for (broken, says) in [
            (bytes[..bytes.len() - 8].to_vec(), "as many numbers"),
            (bytes[..40].to_vec(), "within its header"),
            (b"PK".to_vec(), "not a .npy"),
            (bytes.iter().map(|b| if *b == b'8' { b'4' } else { *b }).collect(), "float64"),
        ] {
            std::fs::write(&path, broken).unwrap();
            let error = read_target(&path, 1.0 / 16.0, 1e-4).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
