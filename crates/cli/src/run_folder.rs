//! Names of output folders: what a run is about, and what sets it apart from other runs of the same.

use std::fmt::Debug;
use std::path::Path;

use pullback_core::files::Fingerprint;

/// The name of a folder in the making: `simulate-ant` with default settings, `simulate-ant-3f2a9c1b` with
/// others, so that no run writes over another one's results. The same command has the same folder.
pub struct RunFolder {
    name: String,
    settings: Vec<String>,
}

impl RunFolder {
    /// A command on a scene, a task or a model file, which is named by its stem.
    pub fn new(command: &str, what: &str) -> Self {
        let mut folder = RunFolder { name: format!("{command}-{}", readable(what)), settings: Vec::new() };
        // Files of one name in other folders are other files; our own models are known by their names.
        let parent = Path::new(what).parent().filter(|_| pullback_tasks::files::is_file_name(what));
        let parent = parent.map(|parent| parent.display().to_string());
        folder.settings.extend(parent.filter(|parent| !["", "models"].contains(&parent.as_str())));
        folder
    }

    /// With a part that is to be read in the name.
    pub fn part(mut self, part: impl AsRef<str>) -> Self {
        self.name += &format!("-{}", readable(part.as_ref()));
        self
    }

    /// With a setting, where it differs from its default.
    pub fn setting<S: PartialEq + Debug>(mut self, name: &str, value: S, default: S) -> Self {
        if value != default {
            self.settings.push(format!("{name} {value:?}"));
        }
        self
    }

    /// With the content of a file that results depend on; its stem can be read in the name.
    pub fn file(mut self, file: Option<&Path>) -> Self {
        if let Some(file) = file {
            self = self.part(file.file_stem().unwrap_or_default().to_string_lossy());
            let content = std::fs::read(file).unwrap_or_default();
            self.settings.push(Fingerprint::default().bytes(&content).digits());
        }
        self
    }

    /// The name.
    pub fn name(&self) -> String {
        if self.settings.is_empty() {
            return self.name.clone();
        }
        let hash = self.settings.iter().fold(Fingerprint::default(), |hash, setting| hash.text(setting));
        format!("{}-{}", self.name, &hash.digits()[..8])
    }
}

/// The stem of a path, or a name without separators.
fn readable(what: &str) -> String {
    let is_path =
        pullback_tasks::files::is_file_name(what) || what.ends_with(".toml") || what.ends_with(".json");
    let stem = Path::new(what).file_stem().filter(|_| is_path);
    stem.map_or(what.into(), |stem| stem.to_string_lossy().into_owned()).replace([':', '/', '\\'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_settings_have_another_folder_and_the_same_the_same() {
        let name = |dt: Option<f64>, set: &[&str]| {
            let folder = RunFolder::new("simulate", "models/ant.xml").setting("dt", dt, None);
            folder.setting("set", set.to_vec(), Vec::new()).name()
        };
        assert_eq!(name(None, &[]), "simulate-ant");
        let others =
            [name(Some(0.01), &[]), name(Some(0.02), &[]), name(None, &["a=1"]), name(None, &["a=2"])];
        for (i, other) in others.iter().enumerate() {
            assert!(
                other.starts_with("simulate-ant-") && other.len() == "simulate-ant-".len() + 8,
                "{other}"
            );
            assert!(!others[..i].contains(other), "{others:?}");
        }
        assert_eq!(name(Some(0.01), &[]), others[0]);
        assert_ne!(
            RunFolder::new("simulate", "a/ant.xml").name(),
            RunFolder::new("simulate", "b/ant.xml").name()
        );
        assert_eq!(
            RunFolder::new("landscape", "cloth-lift:data/x.csv").name(),
            "landscape-cloth-lift-data-x.csv"
        );
    }
}
