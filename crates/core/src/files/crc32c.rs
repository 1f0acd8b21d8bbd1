//! CRC-32C (Castagnoli), eight bytes at a time.
//!
//! Checksum of TFRecord files (masked), of checkpoints and of lines of logs. Method: slicing by eight (Kounavis and Berry 2008).
//! Table k holds the remainder of a byte that k zero bytes follow, so that eight lookups advance the register
//! by 64 bits.

/// x³² + x²⁸ + x²⁷ + … + 1 with bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = (remainder >> 1) ^ if remainder & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// A checksum in the making.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c(u32);

impl Default for Crc32c {
    fn default() -> Self {
        Crc32c(!0)
    }
}

impl Crc32c {
    /// Of no bytes.
    pub fn new() -> Self {
        Crc32c::default()
    }

    /// Takes bytes that follow those before.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut register = self.0;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let bits = u64::from_le_bytes(*word) ^ u64::from(register);
            register = 0;
            for (k, table) in TABLES.iter().rev().enumerate() {
                register ^= table[(bits >> (8 * k)) as usize & 0xff];
            }
        }
        for byte in rest {
            register = (register >> 8) ^ TABLES[0][((register ^ u32::from(*byte)) & 0xff) as usize];
        }
        self.0 = register;
    }

    /// The checksum of all bytes taken.
    pub fn value(self) -> u32 {
        !self.0
    }
}

/// Checksum of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.add(bytes);
    crc.value()
}

/// The mask of TFRecord: data that contain checksums would have weak checksums otherwise.
pub fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_vectors_hold() {
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
    }

    #[test]
    fn pieces_give_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..100).map(|i| (i * 37 + 11) as u8).collect();
        for cut in 0..bytes.len() {
            let mut crc = Crc32c::new();
            crc.add(&bytes[..cut]);
            crc.add(&bytes[cut..]);
            assert_eq!(crc.value(), crc32c(&bytes));
        }
    }
}
