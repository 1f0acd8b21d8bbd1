//! [`LineLog`]: a file that grows by one JSON value per line, and is read back after its process was killed.
//!
//! The first line says what the log is about ([`RunName`]). A line is an object of a checksum and a value:
//!
//! ```text
//! {"crc32c":"e3069283","line":{"z":[0.5],"loss":1.25}}
//! ```
//!
//! The checksum is that of all values so far, so that no line can be changed, moved or left out. A line is written in one
//! piece; a last line that a killed process left half written is dropped. One process at a time has the log open.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use pullback_core::files::crc32c::Crc32c;
use pullback_core::files::{InputFile, MOST_FILE_BYTES, lock_file, open_own};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A log that cannot be written, read or continued.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path}, line {line}: {what}; remove the file to start anew, or use another folder (--out)")]
    Content {
        /// The log.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The run was asked to stop; the log holds what it did.
    #[error("interrupted; what was done is in the log, and the same command goes on from there")]
    Interrupted,
    /// Another process writes to it.
    #[error("{} is in use by another process: wait until it ends, or use another folder (--out)", .0.display())]
    Locked(PathBuf),
}

impl LogError {
    /// An error where the process was asked to stop ([`pullback_core::interrupt`]): called where nothing is lost.
    pub fn unless_interrupted() -> Result<(), LogError> {
        if pullback_core::interrupt::asked() { Err(LogError::Interrupted) } else { Ok(()) }
    }
}

/// What a log is about: everything that its results depend on. A log resumes only the run it was written by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunName {
    /// The task.
    pub task: String,
    /// The method and all settings.
    pub settings: String,
    /// Seed of everything random.
    pub seed: u64,
    /// What was read from files.
    pub inputs: Vec<InputFile>,
    /// Version of the engine.
    pub version: String,
}

impl RunName {
    /// A run of this version of the engine that reads no files.
    pub fn new(task: impl Into<String>, settings: impl Into<String>, seed: u64) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        RunName { task: task.into(), settings: settings.into(), seed, inputs: Vec::new(), version }
    }

    /// The same with more that was read.
    pub fn with_inputs(mut self, inputs: impl IntoIterator<Item = InputFile>) -> Self {
        self.inputs.extend(inputs);
        self
    }

    /// The same with more settings.
    pub fn with_settings(mut self, more: &str) -> Self {
        let comma = if self.settings.is_empty() { "" } else { ", " };
        self.settings += &format!("{comma}{more}");
        self
    }

    /// How this run differs from the one asked for, in words.
    pub fn difference(&self, asked: &RunName) -> Option<String> {
        if self.version != asked.version {
            return Some(format!("version {} wrote it, this is {}", self.version, asked.version));
        }
        if self.task != asked.task {
            return Some(format!("its task is {}", differing(&self.task, &asked.task)));
        }
        if self.settings != asked.settings {
            return Some(format!("its settings are {}", differing(&self.settings, &asked.settings)));
        }
        if self.seed != asked.seed {
            return Some(format!("its seed is {}, not {}", self.seed, asked.seed));
        }
        if self.inputs.len() != asked.inputs.len() {
            return Some(format!("it read {} inputs, not {}", self.inputs.len(), asked.inputs.len()));
        }
        // A file that was moved is the same.
        let changed = self.inputs.iter().zip(&asked.inputs).find(|(a, b)| a.fingerprint != b.fingerprint);
        changed.map(|(there, here)| match there.name == here.name {
            true => format!("the content of its input `{}` has changed since", here.name),
            false => format!("its input is `{}`, not `{}`", there.name, here.name),
        })
    }
}

/// Where two texts differ, in words.
fn differing(there: &str, here: &str) -> String {
    /// Characters shown before and after the first difference.
    const AROUND: (usize, usize) = (24, 48);
    let same = there.chars().zip(here.chars()).take_while(|(a, b)| a == b).count();
    let first = same.saturating_sub(AROUND.0);
    let shown = |text: &str| {
        let part: String = text.chars().skip(first).take(AROUND.0 + AROUND.1).collect();
        let cut = text.chars().count() > first + AROUND.0 + AROUND.1;
        format!("`{}{part}{}`", if first > 0 { "…" } else { "" }, if cut { "…" } else { "" })
    };
    format!("{}, not {}", shown(there), shown(here))
}

/// How a line begins, goes on after the checksum, and ends.
const FRAME: (&str, &str, &str) = ("{\"crc32c\":\"", "\",\"line\":", "}");
/// Digits of a checksum.
const DIGITS: usize = 8;

/// The line of a value that follows others, without its end.
fn seal(mut crc: Crc32c, value: &[u8]) -> (Vec<u8>, Crc32c) {
    crc.add(value);
    let (begin, middle, end) = FRAME;
    let head = format!("{begin}{:08x}{middle}", crc.value());
    ([head.as_bytes(), value, end.as_bytes()].concat(), crc)
}

/// The value of a line that follows others; what is wrong with it otherwise.
fn unseal(mut crc: Crc32c, line: &[u8]) -> Result<(&[u8], Crc32c), String> {
    let (begin, middle, end) = FRAME;
    let framed = || {
        let (sum, rest) = line.strip_prefix(begin.as_bytes())?.split_at_checked(DIGITS)?;
        let value = rest.strip_prefix(middle.as_bytes())?.strip_suffix(end.as_bytes())?;
        Some((u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?, value))
    };
    let (sum, value) = framed().ok_or("this is no line of a log, or that of an older version")?;
    crc.add(value);
    match crc.value() == sum {
        true => Ok((value, crc)),
        false => {
            Err("its checksum is wrong: it, or a line before it, was changed since it was written".into())
        }
    }
}

/// A log that is open at its end.
#[derive(Debug)]
pub struct LineLog {
    path: PathBuf,
    file: File,
    /// Where each line ends, and the checksum so far.
    ends: Vec<(u64, Crc32c)>,
}

impl LineLog {
    /// Opens the log at `path`, or begins it; returns what its lines hold. The log of another run is refused.
    pub fn open<L: DeserializeOwned>(path: &Path, name: &RunName) -> Result<(Self, Vec<L>), LogError> {
        let failed = |source| LogError::File { path: path.to_owned(), source };
        let wrong = |line, what: String| LogError::Content { path: path.to_owned(), line, what };
        let mut file = open_own(path).map_err(failed)?;
        if !lock_file(&file).map_err(failed)? {
            return Err(LogError::Locked(path.to_owned()));
        }
        let size = file.metadata().map_err(failed)?.len();
        if size > MOST_FILE_BYTES {
            return Err(wrong(1, format!("{size} bytes are more than the {MOST_FILE_BYTES} that are read")));
        }
        let mut reader = BufReader::new(&mut file);
        let (mut kept, mut ends, mut text) = (Vec::new(), Vec::<(u64, Crc32c)>::new(), Vec::new());
        loop {
            text.clear();
            let read = reader.read_until(b'\n', &mut text).map_err(failed)?;
            // A half-written last line has no end.
            let Some(text) = text.strip_suffix(b"\n") else {
                let begun = FRAME.0.as_bytes();
                if ends.is_empty() && !text.iter().zip(begun).all(|(a, b)| a == b) {
                    return Err(wrong(1, "this is no log".into()));
                }
                break;
            };
            let line = ends.len() + 1;
            let (end, crc) = ends.last().copied().unwrap_or_default();
            let (value, crc) = unseal(crc, text).map_err(|what| wrong(line, what))?;
            if line == 1 {
                let found: RunName = serde_json::from_slice(value)
                    .map_err(|e| wrong(1, format!("this is the log of another run: {e}")))?;
                if let Some(difference) = found.difference(name) {
                    return Err(wrong(1, format!("this is the log of another run: {difference}")));
                }
            } else {
                kept.push(serde_json::from_slice(value).map_err(|e| wrong(line, e.to_string()))?);
            }
            ends.push((end + read as u64, crc));
        }
        let mut log = LineLog { path: path.to_owned(), file, ends };
        log.cut()?;
        if log.ends.is_empty() {
            log.add(name)?;
        }
        Ok((log, kept))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line.
    pub fn add(&mut self, what: &impl Serialize) -> Result<(), LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        let value = serde_json::to_vec(what).map_err(|e| failed(e.into()))?;
        let (end, crc) = self.ends.last().copied().unwrap_or_default();
        let (mut line, crc) = seal(crc, &value);
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)?;
        self.ends.push((end + line.len() as u64, crc));
        Ok(())
    }

    /// Waits until all lines are on the disk.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.sync_all().map_err(|source| LogError::File { path: self.path.clone(), source })
    }

    /// Drops all lines after the first one but `count`.
    pub fn keep(&mut self, count: usize) -> Result<(), LogError> {
        self.ends.truncate(count + 1);
        self.cut()
    }

    /// The content of a file of its own that belongs to this run: a value with its checksum.
    pub fn seal_beside(&self, what: &impl Serialize) -> Result<Vec<u8>, LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        let value = serde_json::to_vec(what).map_err(|e| failed(e.into()))?;
        Ok(seal(self.about(), &value).0)
    }

    /// The value that [`LineLog::seal_beside`] made such content of; what is wrong with it otherwise.
    pub fn unseal_beside<V: DeserializeOwned>(&self, content: &[u8]) -> Result<V, String> {
        let (value, _) = unseal(self.about(), content)?;
        serde_json::from_slice(value).map_err(|e| e.to_string())
    }

    /// The checksum of the first line.
    fn about(&self) -> Crc32c {
        self.ends.first().map(|(_, crc)| *crc).unwrap_or_default()
    }

    /// Ends the file after the last whole line.
    fn cut(&mut self) -> Result<(), LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        self.file.set_len(self.ends.last().map_or(0, |(end, _)| *end)).map_err(failed)?;
        self.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::files::Fingerprint;
    use std::fs;

    /// A log of a test's own, which is removed.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let name = format!("pullback-line-log-{name}-{}.jsonl", std::process::id());
            Place(std::env::temp_dir().join(name))
        }
        fn open(&self) -> Result<Vec<f64>, String> {
            LineLog::open(&self.0, &name()).map(|(_, lines)| lines).map_err(|e| e.to_string())
        }
        /// Writes a log of four numbers; returns its lines.
        fn fill(&self) -> Vec<String> {
            let (mut log, _) = LineLog::open::<f64>(&self.0, &name()).unwrap();
            [0.5, 1.25, 2.0, 3.0].iter().for_each(|x| log.add(x).unwrap());
            drop(log);
            fs::read_to_string(&self.0).unwrap().split_inclusive('\n').map(String::from).collect()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn input(name: &str, content: &str) -> InputFile {
        InputFile::new(name, Fingerprint::default().text(content))
    }

    fn name() -> RunName {
        RunName::new("swing", "adam {\"rate\":0.1}", 3).with_inputs([input("swing.csv", "1,2")])
    }

    #[test]
    fn no_line_can_be_changed_moved_or_left_out() {
        let place = Place::new("changed");
        let lines = place.fill();
        assert_eq!(place.open().unwrap(), [0.5, 1.25, 2.0, 3.0]);
        let edited = lines[2].replace("1.25", "0.25");
        let broken = [
            (3, [&lines[0], &lines[1], &edited, &lines[3], &lines[4]]),
            (3, [&lines[0], &lines[1], &lines[3], &lines[2], &lines[4]]),
            (3, [&lines[0], &lines[1], &lines[3], &lines[4], &lines[4]]),
        ];
        for (line, text) in broken {
            fs::write(&place.0, text.map(String::as_str).concat()).unwrap();
            let message = place.open().unwrap_err();
            let (path, place) =
                (place.0.display().to_string(), format!("line {line}: its checksum is wrong"));
            assert!(message.contains(&path) && message.contains(&place), "{message}");
            assert!(message.contains("remove the file") && message.contains("--out"), "{message}");
        }
        // Nothing was touched.
        assert_eq!(fs::read_to_string(&place.0).unwrap().lines().count(), 5);
    }

    #[test]
    fn a_torn_last_line_is_dropped() {
        let place = Place::new("torn");
        let whole = place.fill().concat();
        for cut in 0..whole.len() {
            fs::write(&place.0, [&whole.as_bytes()[..cut], &[0, 0xff]].concat()).unwrap();
            if cut == 0 {
                // Not even the beginning of a log.
                assert!(place.open().unwrap_err().contains("this is no log"));
                continue;
            }
            let lines = whole[..cut].matches('\n').count();
            if lines == 0 && cut < FRAME.0.len() {
                continue;
            }
            assert_eq!(place.open().unwrap(), [0.5, 1.25, 2.0, 3.0][..lines.max(1) - 1], "{cut}");
        }
    }

    #[test]
    fn other_files_are_left_as_they_are() {
        let place = Place::new("other");
        let old = "{\"task\":\"swing\",\"method\":\"adam\",\"dim\":2,\"seed\":3}\n";
        for text in ["precious", "precious\n", old] {
            fs::write(&place.0, text).unwrap();
            let message = place.open().unwrap_err();
            assert!(message.contains("line 1") && message.contains("remove the file"), "{message}");
            assert_eq!(fs::read_to_string(&place.0).unwrap(), text);
        }
    }

    #[test]
    fn the_log_of_another_run_says_what_differs() {
        let place = Place::new("another");
        place.fill();
        let said = |other: RunName| LineLog::open::<f64>(&place.0, &other).unwrap_err().to_string();
        let cases = [
            (RunName { task: "fall".into(), ..name() }, "its task is `swing`, not `fall`"),
            (
                RunName { settings: "adam {\"rate\":0.2}".into(), ..name() },
                "its settings are `adam {\"rate\":0.1}`, not",
            ),
            (RunName { seed: 4, ..name() }, "its seed is 3, not 4"),
            (RunName { version: "0.0.1".into(), ..name() }, "wrote it, this is 0.0.1"),
            (RunName { inputs: vec![], ..name() }, "it read 1 inputs, not 0"),
            (RunName { inputs: vec![input("swing.csv", "1,3")], ..name() }, "input `swing.csv` has changed"),
            (
                RunName { inputs: vec![input("b.csv", "1,3")], ..name() },
                "its input is `swing.csv`, not `b.csv`",
            ),
        ];
        for (other, words) in cases {
            let message = said(other);
            assert!(message.contains("another run") && message.contains(words), "{message}");
        }
        // A recording that was moved is the same.
        let moved = RunName { inputs: vec![input("b.csv", "1,2")], ..name() };
        assert!(LineLog::open::<f64>(&place.0, &moved).is_ok());
    }

    #[test]
    fn two_processes_do_not_share_a_log() {
        let place = Place::new("shared");
        let first = LineLog::open::<f64>(&place.0, &name()).unwrap();
        let message = place.open().unwrap_err();
        assert!(message.contains("in use by another process") && message.contains("--out"), "{message}");
        drop(first);
        place.open().unwrap();
    }

    #[test]
    fn what_lies_beside_a_log_belongs_to_it() {
        let (place, other) = (Place::new("beside"), Place::new("beside-other"));
        let (log, _) = LineLog::open::<f64>(&place.0, &name()).unwrap();
        let mut sealed = log.seal_beside(&[0.5, 0.25]).unwrap();
        assert_eq!(log.unseal_beside::<Vec<f64>>(&sealed).unwrap(), [0.5, 0.25]);
        let (stranger, _) = LineLog::open::<f64>(&other.0, &RunName { seed: 4, ..name() }).unwrap();
        assert!(stranger.unseal_beside::<Vec<f64>>(&sealed).unwrap_err().contains("checksum"));
        let last = sealed.len() - 4;
        sealed[last] ^= 1;
        assert!(log.unseal_beside::<Vec<f64>>(&sealed).is_err());
    }
}
