//! [`Metrics`]: `metrics.csv`, one row per report, for any program that reads tables.
//!
//! The first row fixes the columns, of which the first is `epoch`. Numbers have as many digits as it takes to
//! read the same bits back; NaN is an empty field. Rows go to the system as they are written, so that a killed
//! process loses none. On resumption, rows after the epoch of the checkpoint are dropped and reports go on from
//! there: the file becomes that of an uninterrupted run, but for [`TIME_COLUMNS`](super::table::TIME_COLUMNS).

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use pullback_core::files::{self, write_atomically};

use super::table::whole_lines;
use super::{MetricsTable, RunError};

/// Name of the file in the folder of a run.
pub const METRICS_FILE: &str = "metrics.csv";

/// A table that is open at its end.
#[derive(Debug)]
pub struct Metrics {
    path: PathBuf,
    file: File,
    columns: Vec<String>,
}

impl Metrics {
    /// Opens the table of `folder` with the rows up to `epoch`, that of the checkpoint; `None` begins it anew.
    pub fn open(folder: &Path, epoch: Option<u64>) -> Result<Self, RunError> {
        let path = folder.join(METRICS_FILE);
        let text = match files::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(RunError::file(&path)(error)),
        };
        let kept = epoch.map_or_else(String::new, |epoch| rows_up_to(&text, epoch));
        if kept != text {
            write_atomically(&path, kept.as_bytes()).map_err(RunError::file(&path))?;
        }
        let columns =
            whole_lines(&kept).next().map_or_else(Vec::new, |h| h.split(',').map(str::to_owned).collect());
        let mut file = files::open_own(&path).map_err(RunError::file(&path))?;
        file.seek(SeekFrom::End(0)).map_err(RunError::file(&path))?;
        Ok(Metrics { path, file, columns })
    }

    /// Writes a row. Every row has the names of the first one, in the same order.
    pub fn report(&mut self, row: &[(&str, f64)]) -> Result<(), RunError> {
        let mut line = String::new();
        if self.columns.is_empty() {
            self.columns = self.header(row)?;
            line = self.columns.join(",") + "\n";
        }
        if let Some(what) = self.misfit(row) {
            return Err(RunError::Row { path: self.path.clone(), what });
        }
        let fields: Vec<String> = row.iter().map(|(_, value)| digits(*value)).collect();
        line += &fields.join(",");
        line.push('\n');
        // Header, row and end of line in one piece.
        self.file.write_all(line.as_bytes()).map_err(RunError::file(&self.path))
    }

    /// Waits until all rows are on the disk: a checkpoint that outlives a loss of power finds its rows.
    pub fn sync(&self) -> Result<(), RunError> {
        self.file.sync_all().map_err(RunError::file(&self.path))
    }

    /// The value of a column in the last row; `None` if there is no such column, row or number.
    pub fn last(&self, column: &str) -> Result<Option<f64>, RunError> {
        let last = MetricsTable::read(&self.path)?.column(column).and_then(|values| values.last().copied());
        Ok(last.filter(|value| value.is_finite()))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn header(&self, row: &[(&str, f64)]) -> Result<Vec<String>, RunError> {
        let wrong = |what: String| RunError::Row { path: self.path.clone(), what };
        if row.first().is_none_or(|(name, _)| *name != "epoch") {
            return Err(wrong(
                "the first column must be `epoch`: rows are dropped by it on resumption".into(),
            ));
        }
        for (i, (name, _)) in row.iter().enumerate() {
            if name.is_empty() || name.contains([',', '"', '\n', '\r']) {
                return Err(wrong(format!(
                    "a column cannot be named {name:?}: use no comma, quote or line break"
                )));
            }
            if row[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(wrong(format!("two columns are named `{name}`: rename one")));
            }
        }
        Ok(row.iter().map(|(name, _)| (*name).to_owned()).collect())
    }

    /// How the names of a row differ from the columns.
    fn misfit(&self, row: &[(&str, f64)]) -> Option<String> {
        let names = || row.iter().map(|(name, _)| *name);
        if names().eq(self.columns.iter().map(String::as_str)) {
            return None;
        }
        let missing = self.columns.iter().find(|column| !names().any(|name| name == *column));
        let added = names().find(|name| !self.columns.iter().any(|column| column == name));
        Some(match (missing, added) {
            (Some(missing), _) => {
                format!("a row lacks `{missing}`: give it in every report, NaN if it is unknown")
            }
            (None, Some(added)) => {
                format!("`{added}` was not in the first row: give it in every report, or never")
            }
            (None, None) => format!("a row has other columns: keep the order {}", self.columns.join(",")),
        })
    }
}

/// The header and the whole lines whose epoch is at most `epoch`, as they are.
fn rows_up_to(text: &str, epoch: u64) -> String {
    let row_epoch = |line: &str| line.split(',').next().and_then(|field| field.parse::<f64>().ok());
    let kept = |(i, line): &(usize, &str)| *i == 0 || row_epoch(line).is_some_and(|e| e <= epoch as f64);
    whole_lines(text).enumerate().filter(kept).flat_map(|(_, line)| [line, "\n"]).collect()
}

/// The shortest digits that are read back as the same bits.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size.is_nan() => String::new(),
        size if size == 0.0 || (1e-5..1e16).contains(&size) => format!("{value}"),
        size if size.is_finite() => format!("{value:e}"),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_folder::TestFolder;
    use pullback_core::random::Random;
    use std::fs;

    /// What training would report: a function of the epoch, and the wall time.
    fn report(metrics: &mut Metrics, epoch: u64, seconds: f64) {
        let x = Random::new(epoch).normal() / 3.0;
        let row = [
            ("epoch", epoch as f64),
            ("steps", 64.0 * epoch as f64),
            ("seconds", seconds),
            ("return_mean", x),
        ];
        metrics.report(&row).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn rows_do_not_follow_a_planted_link() {
        let folder = TestFolder::new("metrics-link");
        let victim = folder.join("victim");
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join(METRICS_FILE)).unwrap();
        let message = Metrics::open(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("this is a link, not a file; remove it"), "{message}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "");
    }

    #[test]
    fn a_killed_and_resumed_run_leaves_the_file_of_an_uninterrupted_one() {
        let (whole, killed) = (TestFolder::new("metrics-whole"), TestFolder::new("metrics-killed"));
        let mut metrics = Metrics::open(whole.path(), None).unwrap();
        (1..=10).for_each(|epoch| report(&mut metrics, epoch, 0.1 * epoch as f64));

        let mut metrics = Metrics::open(killed.path(), None).unwrap();
        (1..=6).for_each(|epoch| report(&mut metrics, epoch, 0.2 * epoch as f64));
        drop(metrics);
        // Killed while row 7 was written; the last checkpoint is that of epoch 4.
        let file = killed.join(METRICS_FILE);
        let text = fs::read_to_string(&file).unwrap() + "7,44";
        fs::write(&file, text).unwrap();
        let mut metrics = Metrics::open(killed.path(), Some(4)).unwrap();
        assert_eq!(MetricsTable::read(&file).unwrap().rows.len(), 4);
        (5..=10).for_each(|epoch| report(&mut metrics, epoch, 0.3 * epoch as f64));

        let read = |folder: &TestFolder| MetricsTable::read(&folder.join(METRICS_FILE)).unwrap();
        assert_eq!(read(&whole).rows.len(), 10);
        assert_eq!(read(&whole).first_difference(&read(&killed)), None);
        assert_ne!(read(&whole), read(&killed));
    }

    #[test]
    fn numbers_keep_their_bits() {
        let folder = TestFolder::new("metrics-bits");
        let mut random = Random::new(1);
        let mut values =
            vec![0.0, -0.0, 1.0 / 3.0, 1e16, 1e-5, f64::MAX, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
        values.extend((0..500).map(|_| f64::from_bits(random.bits())).filter(|x| !x.is_nan()));
        let mut metrics = Metrics::open(folder.path(), None).unwrap();
        for (epoch, value) in values.iter().enumerate() {
            metrics.report(&[("epoch", epoch as f64), ("value", *value)]).unwrap();
        }
        metrics.report(&[("epoch", 9e9), ("value", f64::NAN)]).unwrap();
        metrics.sync().unwrap();
        let read = MetricsTable::read(metrics.path()).unwrap().column("value").unwrap();
        assert!(read.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert!(read.last().unwrap().is_nan());
    }

    #[test]
    fn rows_that_do_not_fit_are_refused_by_name() {
        let folder = TestFolder::new("metrics-names");
        let mut metrics = Metrics::open(folder.path(), None).unwrap();
        let mut refused = |row: &[(&str, f64)], word: &str| {
            let message = metrics.report(row).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        };
        refused(&[("steps", 1.0)], "must be `epoch`");
        refused(&[("epoch", 1.0), ("a,b", 1.0)], "no comma");
        refused(&[("epoch", 1.0), ("a", 1.0), ("a", 1.0)], "rename one");
        metrics.report(&[("epoch", 1.0), ("a", 1.0), ("b", 1.0)]).unwrap();
        let mut refused = |row: &[(&str, f64)], word: &str| {
            let message = metrics.report(row).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        };
        refused(&[("epoch", 2.0), ("a", 1.0)], "lacks `b`");
        refused(&[("epoch", 2.0), ("a", 1.0), ("b", 1.0), ("c", 1.0)], "`c` was not in the first row");
        refused(&[("epoch", 2.0), ("b", 1.0), ("a", 1.0)], "keep the order epoch,a,b");
    }

    #[test]
    fn a_run_that_starts_anew_drops_all_rows() {
        let folder = TestFolder::new("metrics-anew");
        Metrics::open(folder.path(), None).unwrap().report(&[("epoch", 1.0), ("a", 1.0)]).unwrap();
        let mut metrics = Metrics::open(folder.path(), None).unwrap();
        metrics.report(&[("epoch", 1.0), ("b", 2.0)]).unwrap();
        assert_eq!(fs::read_to_string(metrics.path()).unwrap(), "epoch,b\n1,2\n");
    }
}
