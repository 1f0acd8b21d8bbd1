//! [`PartLog`]: results of a long experiment, written down part by part as they come.
//!
//! A part has a name that says all it depends on but the settings of the experiment. An experiment that was killed
//! and starts again asks for the same parts; those in the log are read back, bit by bit, and not computed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pullback_optim::{LineLog, LogError, RunName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize)]
struct Line<V> {
    part: String,
    value: V,
}

/// Parts of an experiment; shared among threads.
#[derive(Debug, Default)]
pub struct PartLog {
    log: Option<Mutex<LineLog>>,
    earlier: HashMap<String, Value>,
    resumed: AtomicUsize,
}

impl PartLog {
    /// A log that keeps nothing.
    pub fn none() -> Self {
        PartLog::default()
    }

    /// Opens the log at `path`, or begins it; that of another experiment is refused.
    pub fn open(path: &Path, name: &RunName) -> Result<Self, LogError> {
        let (log, lines) = LineLog::open::<Line<Value>>(path, name)?;
        let earlier = lines.into_iter().map(|line| (line.part, line.value)).collect();
        Ok(PartLog { log: Some(Mutex::new(log)), earlier, resumed: AtomicUsize::new(0) })
    }

    /// The part of this name: read back, or computed and written down. A value that JSON cannot hold, such as an
    /// infinity, is computed each time.
    pub fn part<R, E>(&self, name: &str, compute: impl FnOnce() -> Result<R, E>) -> Result<R, E>
    where
        R: Serialize + DeserializeOwned,
        E: From<LogError>,
    {
        let earlier = self.earlier.get(name).and_then(|value| R::deserialize(value).ok());
        if let Some(value) = earlier {
            self.resumed.fetch_add(1, Ordering::Relaxed);
            return Ok(value);
        }
        if self.log.is_some() {
            LogError::unless_interrupted()?;
        }
        let value = compute()?;
        if let Some(log) = &self.log {
            log.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(&Line { part: name.to_owned(), value: &value })?;
        }
        Ok(value)
    }

    /// How many parts were read back so far.
    pub fn resumed(&self) -> usize {
        self.resumed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_back_and_other_experiments_refused() {
        let path = std::env::temp_dir().join(format!("pullback-parts-{}.jsonl", std::process::id()));
        let name = |settings: &str| RunName::new("tosses", settings, 0);
        let value = |log: &PartLog, part: &str, x: f64| log.part::<_, LogError>(part, || Ok((x, vec![x])));
        let log = PartLog::open(&path, &name("small")).unwrap();
        assert_eq!(value(&log, "a", 0.1).unwrap(), (0.1, vec![0.1]));
        value(&log, "b", f64::INFINITY).unwrap();
        drop(log);
        // Half of a line, as a killed process leaves it.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"crc32c\":\"0"].concat()).unwrap();
        let log = PartLog::open(&path, &name("small")).unwrap();
        assert_eq!(value(&log, "a", 7.0).unwrap().0, 0.1);
        assert_eq!(value(&log, "b", 8.0).unwrap().0, 8.0);
        assert_eq!(value(&log, "c", 9.0).unwrap().0, 9.0);
        assert_eq!(log.resumed(), 1);
        drop(log);
        assert_eq!(value(&PartLog::open(&path, &name("small")).unwrap(), "c", 1.0).unwrap().0, 9.0);
        let error = PartLog::open(&path, &name("large")).unwrap_err().to_string();
        assert!(error.contains("another run") && error.contains("remove the file"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }
}
