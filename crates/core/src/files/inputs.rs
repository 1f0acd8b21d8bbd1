//! Files that results depend on: every one read here while [`noting_inputs`] runs on the same thread leaves its name and
//! a fingerprint of its content.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::regular::{MOST_FILE_BYTES, read_regular};

/// A 64-bit FNV-1a hash: tells other data from the same, and is the same on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// With some bytes more.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    /// With the bits of some numbers, and how many they are.
    pub fn numbers(self, numbers: &[f64]) -> Self {
        let counted = self.bytes(&(numbers.len() as u64).to_le_bytes());
        numbers.iter().fold(counted, |hash, x| hash.bytes(&x.to_bits().to_le_bytes()))
    }

    /// With a text, and how long it is.
    pub fn text(self, text: &str) -> Self {
        self.bytes(&(text.len() as u64).to_le_bytes()).bytes(text.as_bytes())
    }

    /// The hash in hexadecimal digits.
    pub fn digits(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Something that results depend on, by its name and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Path, or what it is.
    pub name: String,
    /// Of its content.
    pub fingerprint: String,
}

impl InputFile {
    /// What is called `name` and has this fingerprint.
    pub fn new(name: impl Into<String>, fingerprint: Fingerprint) -> Self {
        InputFile { name: name.into(), fingerprint: fingerprint.digits() }
    }
}

thread_local! {
    /// Files read so far by the innermost [`noting_inputs`].
    static NOTED: RefCell<Option<Vec<InputFile>>> = const { RefCell::new(None) };
}

/// Runs `work` and lists the files that it read on this thread, in their order.
pub fn noting_inputs<R>(work: impl FnOnce() -> R) -> (R, Vec<InputFile>) {
    /// Puts the outer list back, also where `work` panics.
    struct Outer(Option<Vec<InputFile>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            NOTED.set(self.0.take());
        }
    }
    let mut outer = Outer(NOTED.replace(Some(Vec::new())));
    let result = work();
    let noted = NOTED.take().unwrap_or_default();
    if let Some(outer) = &mut outer.0 {
        outer.extend(noted.iter().cloned());
    }
    (result, noted)
}

/// Reads a regular file of at most [`MOST_FILE_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MOST_FILE_BYTES)
}

/// Reads a regular file of at most `most` bytes.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let bytes = read_regular(path, most)?;
    note(path, &bytes);
    Ok(bytes)
}

/// Reads the text of a regular file of at most [`MOST_FILE_BYTES`].
pub fn read_to_string(path: &Path) -> io::Result<String> {
    read_to_string_at_most(path, MOST_FILE_BYTES)
}

/// Reads the text of a regular file of at most `most` bytes.
pub fn read_to_string_at_most(path: &Path, most: u64) -> io::Result<String> {
    let not_text = |error: std::string::FromUtf8Error| {
        let place = error.utf8_error().valid_up_to();
        io::Error::new(
            ErrorKind::InvalidData,
            format!("this is no UTF-8 text: byte {place} begins no character"),
        )
    };
    String::from_utf8(read_at_most(path, most)?).map_err(not_text)
}

fn note(path: &Path, bytes: &[u8]) {
    NOTED.with_borrow_mut(|noted| {
        let fingerprint = || Fingerprint::default().bytes(bytes);
        noted.iter_mut().for_each(|all| all.push(InputFile::new(path.display().to_string(), fingerprint())));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_noted_by_content_and_in_order() {
        let folder = std::env::temp_dir().join(format!("pullback-inputs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (a, b) = (folder.join("a"), folder.join("b"));
        fs::write(&a, "one").unwrap();
        fs::write(&b, "one").unwrap();
        let both = || {
            noting_inputs(|| {
                let (text, inner) = noting_inputs(|| read_to_string(&a).unwrap());
                assert_eq!((text.as_str(), inner.len()), ("one", 1));
                read(&b).unwrap();
            })
            .1
        };
        let before = both();
        assert_eq!(before.len(), 2);
        assert!(before[0].name.ends_with("/a") || before[0].name.ends_with("\\a"), "{before:?}");
        assert_eq!(before[0].fingerprint, before[1].fingerprint);
        assert_eq!(both(), before);
        fs::write(&b, "onf").unwrap();
        assert!(both()[0] == before[0] && both()[1] != before[1]);
        // Nobody listens.
        read(&a).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn fingerprints_are_those_of_the_published_test_vectors() {
        assert_eq!(Fingerprint::default().digits(), "cbf29ce484222325");
        assert_eq!(Fingerprint::default().bytes(b"a").digits(), "af63dc4c8601ec8c");
        assert_eq!(Fingerprint::default().bytes(b"foobar").digits(), "85944171f73967e8");
        // Cut elsewhere, the same entries are other data.
        let cut = |a: &[f64], b: &[f64]| Fingerprint::default().numbers(a).numbers(b).digits();
        assert_ne!(cut(&[1.0, 2.0], &[3.0]), cut(&[1.0], &[2.0, 3.0]));
    }
}
