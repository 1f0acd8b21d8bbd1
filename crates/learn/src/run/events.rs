//! [`EventWriter`]: scalars in a file that TensorBoard reads.
//!
//! An event file is a sequence of TFRecords, each the protobuf message `Event` in a frame of length and masked
//! CRC-32C:
//!
//! ```text
//! u64 length, u32 masked crc of length, data, u32 masked crc of data        (little-endian)
//!
//! Event     1: double wall_time   2: int64 step   3: string file_version   5: Summary   7: SessionLog
//! Summary   1: repeated Value     Value       1: string tag   2: float simple_value
//!                                 SessionLog  1: status (START = 1)
//! ```
//!
//! The second event of a file is `SessionLog` START at the first step that will follow. From the second START
//! of a run on, TensorBoard drops what it has read of that step and later ones, so that a resumed run begins a
//! new file. Files are read in the order of their names: the time in the name of a new file is later than in
//! those of all others.
//!
//! Limitations: scalars alone, rounded to `f32` as the format has them. NaN is left out.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pullback_core::files::crc32c::{crc32c, masked};

use super::RunError;

const PREFIX: &str = "events.out.tfevents.";

/// An event file that is open at its end.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: File,
}

impl EventWriter {
    /// Begins an event file in `folder`. What earlier files say of `first_step` and later steps is dropped.
    pub fn create(folder: &Path, first_step: u64) -> Result<Self, RunError> {
        let time = last_time(folder)?.map_or(0, |last| last + 1).max(now() as u64);
        let path = folder.join(format!("{PREFIX}{time:010}.{}", host()));
        let file = File::create_new(&path).map_err(RunError::file(&path))?;
        let mut writer = EventWriter { path, file };
        let mut version = event(now(), 0);
        message(&mut version, 3, b"brain.Event:2");
        let mut start = event(now(), first_step);
        message(&mut start, 7, &[field(1, VARINT), 1]);
        let records = [record(&version), record(&start)].concat();
        writer.write(&records)?;
        Ok(writer)
    }

    /// Writes one value per tag; a slash in a tag makes a group of those before it.
    pub fn scalars(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), RunError> {
        let mut summary = Vec::new();
        for (tag, value) in values.iter().filter(|(_, value)| !value.is_nan()) {
            let mut one = Vec::new();
            message(&mut one, 1, tag.as_bytes());
            one.push(field(2, FIXED_32));
            one.extend((*value as f32).to_le_bytes());
            message(&mut summary, 1, &one);
        }
        let mut event = event(now(), step);
        message(&mut event, 5, &summary);
        self.write(&record(&event))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// In one piece: readers wait at a record that is not whole.
    fn write(&mut self, records: &[u8]) -> Result<(), RunError> {
        self.file.write_all(records).map_err(RunError::file(&self.path))
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Name of the machine, kept to what a file name may hold.
fn host() -> String {
    let name =
        std::env::var("HOSTNAME").ok().or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let name: String =
        name.unwrap_or_default().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    if name.is_empty() { "localhost".into() } else { name }
}

/// The latest time in names of event files.
fn last_time(folder: &Path) -> Result<Option<u64>, RunError> {
    let mut last = None;
    for entry in fs::read_dir(folder).map_err(RunError::file(folder))? {
        let name = entry.map_err(RunError::file(folder))?.file_name();
        let name = name.to_string_lossy().into_owned();
        let time = name.strip_prefix(PREFIX).and_then(|rest| rest.split('.').next()?.parse().ok());
        last = last.max(time);
    }
    Ok(last)
}

// Wire types of protobuf.
const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const BYTES: u8 = 2;
const FIXED_32: u8 = 5;

/// Key of a field whose number is below 16.
const fn field(number: u8, wire_type: u8) -> u8 {
    number << 3 | wire_type
}

/// Seven bits per byte, least significant first; the high bit says that more follow.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A string or an embedded message.
fn message(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(field(number, BYTES));
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// The fields that every event has.
fn event(wall_time: f64, step: u64) -> Vec<u8> {
    let mut out = vec![field(1, FIXED_64)];
    out.extend(wall_time.to_le_bytes());
    out.push(field(2, VARINT));
    varint(&mut out, step);
    out
}

/// The frame of a TFRecord.
fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut out = length.to_vec();
    out.extend(masked(crc32c(&length)).to_le_bytes());
    out.extend(data);
    out.extend(masked(crc32c(data)).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_folder::TestFolder;

    /// Field numbers with what they hold: numbers as their bits, bytes as they are.
    fn fields(mut bytes: &[u8]) -> Vec<(u8, u64, Vec<u8>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let (byte, rest) = bytes.split_first().unwrap();
                *bytes = rest;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        }
        let mut out = Vec::new();
        while let Some((key, rest)) = bytes.split_first() {
            bytes = rest;
            let length = match key & 7 {
                VARINT => {
                    out.push((key >> 3, varint(&mut bytes), vec![]));
                    continue;
                }
                FIXED_64 => 8,
                FIXED_32 => 4,
                _ => varint(&mut bytes) as usize,
            };
            let (data, rest) = bytes.split_at(length);
            bytes = rest;
            out.push((key >> 3, 0, data.to_vec()));
        }
        out
    }

    /// Records of a file, with both checksums checked.
    fn records(path: &Path) -> Vec<Vec<(u8, u64, Vec<u8>)>> {
        let bytes = fs::read(path).unwrap();
        let (mut at, mut out) = (0, Vec::new());
        while at < bytes.len() {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
            assert_eq!(word(at + 8), masked(crc32c(&bytes[at..at + 8])));
            let data = &bytes[at + 12..at + 12 + length];
            assert_eq!(word(at + 12 + length), masked(crc32c(data)));
            out.push(fields(data));
            at += 16 + length;
        }
        out
    }

    #[test]
    fn scalars_are_decoded_as_written() {
        let folder = TestFolder::new("events");
        let mut writer = EventWriter::create(folder.path(), 0).unwrap();
        writer
            .scalars(300, &[("train/return", 1.5), ("train/loss", -0.25), ("train/none", f64::NAN)])
            .unwrap();
        let records = records(writer.path());
        assert_eq!(records.len(), 3);
        assert_eq!(records[0][2], (3, 0, b"brain.Event:2".to_vec()));
        let (time, step, summary) = (&records[2][0], &records[2][1], &records[2][2]);
        let time = f64::from_le_bytes(time.2[..].try_into().unwrap());
        assert!((now() - time).abs() < 60.0);
        assert_eq!((step.0, step.1, summary.0), (2, 300, 5));
        let values: Vec<_> = fields(&summary.2).iter().map(|value| fields(&value.2)).collect();
        assert_eq!(values.len(), 2);
        assert_eq!(values[0], [(1, 0, b"train/return".to_vec()), (2, 0, 1.5f32.to_le_bytes().to_vec())]);
        assert_eq!(values[1], [(1, 0, b"train/loss".to_vec()), (2, 0, (-0.25f32).to_le_bytes().to_vec())]);
    }

    #[test]
    fn every_file_starts_a_session_and_later_ones_have_later_names() {
        let folder = TestFolder::new("events-resumed");
        let first = EventWriter::create(folder.path(), 0).unwrap();
        let second = EventWriter::create(folder.path(), 1_000_001).unwrap();
        assert!(first.path() < second.path());
        for (writer, step) in [(&first, 0), (&second, 1_000_001)] {
            assert_eq!(records(writer.path())[1][1..], [(2, step, vec![]), (7, 0, vec![8, 1])]);
        }
    }
}
