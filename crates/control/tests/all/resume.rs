//! A run that is killed anywhere ends as if it had not been.

use std::path::{Path, PathBuf};

use pullback_control::{PlanError, RunOptions};
use pullback_core::files::{Fingerprint, InputFile};
use serde_json::json;

use crate::common::{options, pendulum, planner};

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pullback-mpc-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kept(folder: &Path, steps: usize, seed: u64) -> Result<pullback_control::mpc::Episode, PlanError> {
    let task = pendulum();
    let base = options(&task, steps);
    let options = RunOptions { folder: Some(folder.to_owned()), seed, ..base };
    task.run(&planner("mppi", json!({"samples": 16})), &options, &mut |_| ())
}

#[test]
fn an_interrupted_run_ends_as_if_it_had_not_been() {
    let task = pendulum();
    let whole = task.run(&planner("mppi", json!({"samples": 16})), &options(&task, 24), &mut |_| ()).unwrap();
    for done in [0, 2, 10, 24] {
        let folder = Folder::new(&format!("cut-{done}"));
        if done > 0 {
            kept(&folder.0, done, 3).unwrap();
        }
        let resumed = kept(&folder.0, 24, 3).unwrap();
        assert_eq!(resumed.resumed, done / 2);
        assert_eq!(resumed.states, whole.states);
        assert_eq!((resumed.plan, resumed.costs), (whole.plan.clone(), whole.costs.clone()));
    }
}

#[test]
fn files_cut_anywhere_are_continued() {
    let whole = Folder::new("whole");
    let expected = kept(&whole.0, 12, 3).unwrap();
    let folder = Folder::new("part");
    kept(&folder.0, 6, 3).unwrap();
    let checkpoint = folder.read("checkpoint.json");
    // Killed after a line of the log but before its checkpoint, and in the middle of a line.
    let log = whole.read("run.jsonl");
    let text = String::from_utf8(log).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for cut in [lines[..5].concat(), lines[..4].concat() + &lines[4][..20]] {
        std::fs::write(folder.0.join("checkpoint.json"), &checkpoint).unwrap();
        std::fs::write(folder.0.join("run.jsonl"), cut).unwrap();
        let resumed = kept(&folder.0, 12, 3).unwrap();
        assert_eq!((resumed.resumed, &resumed.states), (3, &expected.states));
    }
    // A checkpoint that was edited, or that of another run, is refused.
    let text = String::from_utf8(folder.read("checkpoint.json")).unwrap();
    let other = Folder::new("other");
    kept(&other.0, 12, 4).unwrap();
    let edited = text.replacen("\"phase\":0", "\"phase\":1", 1);
    assert_ne!(edited, text);
    for wrong in [edited.into_bytes(), other.read("checkpoint.json")] {
        std::fs::write(folder.0.join("checkpoint.json"), wrong).unwrap();
        let message = kept(&folder.0, 12, 3).unwrap_err().to_string();
        assert!(message.contains("checkpoint.json") && message.contains("checksum"), "{message}");
    }
    std::fs::write(folder.0.join("checkpoint.json"), text).unwrap();
    // Another seed must not continue this run, nor a log that the checkpoint is ahead of.
    assert!(matches!(kept(&folder.0, 12, 4), Err(PlanError::Log(_))));
    std::fs::write(folder.0.join("run.jsonl"), lines[..2].concat()).unwrap();
    assert!(matches!(kept(&folder.0, 12, 3), Err(PlanError::Log(_))));
}

#[test]
fn a_search_over_an_episode_goes_on_by_its_log() {
    let task = pendulum();
    let shooting = planner("shooting", json!({"budget": 30}));
    let folder = Folder::new("shooting");
    let options = RunOptions { folder: Some(folder.0.clone()), ..options(&task, 30) };
    let whole = task.run(&shooting, &options, &mut |_| ()).unwrap();
    // Killed in the middle of the search.
    let log = String::from_utf8(folder.read("search-0.jsonl")).unwrap();
    std::fs::write(folder.0.join("search-0.jsonl"), &log[..log.len() / 2]).unwrap();
    std::fs::remove_file(folder.0.join("run.jsonl")).unwrap();
    std::fs::remove_file(folder.0.join("checkpoint.json")).unwrap();
    let again = task.run(&shooting, &options, &mut |_| ()).unwrap();
    assert_eq!(again.states, whole.states);
    assert_eq!(String::from_utf8(folder.read("search-0.jsonl")).unwrap(), log);
}

#[test]
fn inputs_that_changed_do_not_continue_a_run() {
    let folder = Folder::new("inputs");
    kept(&folder.0, 6, 3).unwrap();
    let planner = planner("mppi", json!({"samples": 16}));
    let said = |task: &crate::common::Pendulum, content: Option<&str>| {
        let inputs = content.map(|text| InputFile::new("arm.xml", Fingerprint::default().text(text)));
        let inputs = inputs.into_iter().collect();
        let options = RunOptions { folder: Some(folder.0.clone()), inputs, ..options(task, 12) };
        task.run(&planner, &options, &mut |_| ()).unwrap_err().to_string()
    };
    assert!(said(&pendulum(), Some("<mujoco/>")).contains("it read 1 inputs, not 2"));
    let mut heavier = pendulum();
    heavier.params[0] *= 2.0;
    let message = said(&heavier, None);
    assert!(message.contains("parameters, start and bounds` has changed"), "{message}");
}
