//! The driver notices what breaks, and twenty seconds of damaged files break no reader.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pullback-fuzz-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fuzz(folder: &Folder, arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pullback-fuzz"));
    let output = command.args(arguments).arg("--out").arg(&folder.0).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Inputs of each target: about twenty seconds of one processor in the build that tests have.
const INPUTS: &str = "400";

#[test]
fn damaged_files_break_no_reader() {
    let folder = Folder::new("readers");
    let (output, said) = fuzz(&folder, &["--inputs", INPUTS]);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches(" inputs, ").count(), 21, "{said}");
}

#[test]
fn what_breaks_a_reader_is_noticed_and_kept() {
    let folder = Folder::new("broken");
    for (name, words) in [
        ("broken-panics", "this input is damaged"),
        ("broken-hangs", "took more than 5 s"),
        ("broken-hoards", "memory allocation of 4294967296 bytes failed"),
        ("broken-overflows", "overflowed its stack"),
    ] {
        let (output, said) = fuzz(&folder, &["--inputs", "50", name]);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(words) && said.contains("1 failures"), "{name}: {said}");
        let kept = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().path());
        let kept: Vec<PathBuf> =
            kept.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with(name)).collect();
        assert_eq!(kept.len(), 1, "{name}: {kept:?}");
        assert!(said.contains(&format!("cargo xtask fuzz --repeat {name} {}", kept[0].display())), "{said}");
    }
    // The kept input breaks it again, a sound one does not.
    let kept = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().path());
    let kept: Vec<PathBuf> = kept.filter(|p| p.to_string_lossy().contains("broken-panics")).collect();
    let (output, _) = fuzz(&folder, &["--repeat", "broken-panics", kept[0].to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    std::fs::write(folder.0.join("sound"), "sound").unwrap();
    let (output, _) = fuzz(&folder, &["--repeat", "broken-panics", folder.0.join("sound").to_str().unwrap()]);
    assert!(output.status.success());
}
