//! [`RunRecorder`]: folder, metrics and events of a run, kept in step.
//!
//! The order is what makes resumption exact: rows are on the disk before the checkpoint of their epoch is, and
//! a run that starts again drops the rows and events after its checkpoint.

use std::path::Path;

use serde::Serialize;

use super::{Checkpoint, EventWriter, Metrics, Restored, RunError, RunFolder};

/// Columns that are the axis of others, not numbers to be drawn.
const AXES: [&str; 2] = ["epoch", "steps"];

/// Where a run of training goes.
#[derive(Debug)]
pub struct RunRecorder {
    folder: RunFolder,
    metrics: Metrics,
    events: EventWriter,
}

impl RunRecorder {
    /// Makes or opens the folder of a run; what to go on from, if it was interrupted.
    pub fn open(path: &Path, config: &impl Serialize) -> Result<(Self, Option<Restored>), RunError> {
        let folder = RunFolder::open(path, config)?;
        let restored = folder.load()?;
        let metrics = Metrics::open(path, restored.as_ref().map(|restored| restored.checkpoint.epoch))?;
        // Events after the last row that is kept will come again.
        let first_step = metrics.last(AXES[1])?.map_or(0, |steps| steps as u64 + 1);
        let events = EventWriter::create(path, first_step)?;
        Ok((RunRecorder { folder, metrics, events }, restored))
    }

    /// Writes a row of metrics, after `epoch` and environment `steps` so far, and the same numbers as events
    /// `train/NAME`.
    pub fn report(&mut self, epoch: u64, steps: u64, values: &[(&str, f64)]) -> Result<(), RunError> {
        let mut row = vec![(AXES[0], epoch as f64), (AXES[1], steps as f64)];
        row.extend(values);
        self.metrics.report(&row)?;
        let tags: Vec<String> = values.iter().map(|(name, _)| format!("train/{name}")).collect();
        let values: Vec<(&str, f64)> =
            tags.iter().map(String::as_str).zip(values.iter().map(|v| v.1)).collect();
        self.events.scalars(steps, &values)
    }

    /// Keeps a checkpoint; all rows so far are on the disk before it.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<(), RunError> {
        self.metrics.sync()?;
        self.folder.save(checkpoint)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_folder::TestFolder;
    use crate::run::{MetricsTable, TensorData};
    use serde_json::json;

    /// Training whose state is one number; stops after `until` without a word.
    fn train(folder: &Path, until: u64) {
        let (mut run, restored) = RunRecorder::open(folder, &json!({"task": "toy", "seed": 3})).unwrap();
        let checkpoint = restored.map_or(Checkpoint::new(0), |r| r.checkpoint);
        let mut x = match checkpoint.tensors.get("x") {
            Some((_, TensorData::F64(x))) => x[0],
            _ => 0.1,
        };
        for epoch in checkpoint.epoch + 1..=until {
            // The logistic map: any lost bit would show.
            x = 3.9 * x * (1.0 - x);
            run.report(epoch, 100 * epoch, &[("return_mean", x), ("seconds", x)]).unwrap();
            if epoch.is_multiple_of(4) {
                let x = TensorData::F64(vec![x]);
                run.save(&Checkpoint::new(epoch).with_tensor("x", &[1], x)).unwrap();
            }
        }
    }

    #[test]
    fn an_interrupted_run_ends_as_if_there_had_been_none() {
        let (whole, parts) = (TestFolder::new("recorder-whole"), TestFolder::new("recorder-parts"));
        train(whole.path(), 30);
        for until in [3, 7, 14, 15, 30] {
            train(parts.path(), until);
        }
        let text = |folder: &TestFolder| std::fs::read_to_string(folder.join("metrics.csv")).unwrap();
        assert_eq!(text(&whole), text(&parts));
        assert_eq!(MetricsTable::read(&whole.join("metrics.csv")).unwrap().rows.len(), 30);
        let events = |folder: &TestFolder| {
            let names = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().contains("tfevents")).count()
        };
        assert_eq!((events(&whole), events(&parts)), (1, 5));
    }
}
