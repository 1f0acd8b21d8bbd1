//! Where the files named by a robot are.
//!
//! `package://name/rest` and Gazebo's `model://name/rest` are looked for in the folder given for that package,
//! below the search folders, and below every folder above the robot's file; `file://` and plain paths beside
//! the file and below the search folders. What is not found so is tried, as Bullet does, relative to a few
//! folders above the file, without the name of the package; that is a guess and noted.

use std::path::{Path, PathBuf};

use super::UrdfOptions;
use crate::confine;

/// Folders above the file that are tried for a guess.
const LEVELS: usize = 4;

/// A file, and what a user should know if it was guessed.
pub(super) struct Found {
    pub path: PathBuf,
    pub guess: Option<String>,
}

/// Looks for the file that `written` names in a robot's file in `folder`; one outside of folders that the robot is confined
/// to is refused.
pub(super) fn find(written: &str, folder: &Path, options: &UrdfOptions) -> Result<Found, String> {
    let found = search(written, folder, options)?;
    confine::check(&found.path, &options.confined_to)
        .map_err(|why| format!("mesh `{}` {why}", cut(written)))?;
    Ok(found)
}

fn search(written: &str, folder: &Path, options: &UrdfOptions) -> Result<Found, String> {
    let plain = written.replace('\\', "/");
    let inside = ["package://", "model://"].iter().find_map(|scheme| plain.strip_prefix(scheme));
    let here = folder.canonicalize().unwrap_or_else(|_| folder.into());
    let roots = || options.search.iter().map(PathBuf::as_path);
    let mut tried = Vec::new();
    let (package, rest) = match inside {
        Some(inside) => {
            let inside = inside.trim_start_matches('/');
            let (package, rest) = inside.split_once('/').unwrap_or((inside, ""));
            let named = options.packages.iter().filter(|(name, _)| name == package);
            tried.extend(named.map(|(_, folder)| folder.join(rest)));
            for root in roots().chain(here.ancestors()) {
                tried.push(root.join(package).join(rest));
                if root.file_name().is_some_and(|n| n == package) {
                    tried.push(root.join(rest));
                }
            }
            (Some(package), rest)
        }
        None => {
            let plain = plain.strip_prefix("file://").unwrap_or(&plain);
            tried.push(folder.join(plain));
            tried.extend(roots().map(|root| root.join(plain)));
            (None, plain)
        }
    };
    if let Some(path) = tried.iter().find(|p| p.is_file()) {
        return Ok(Found { path: path.clone(), guess: None });
    }
    let relative = !rest.is_empty() && !Path::new(rest).is_absolute();
    for root in here.ancestors().take(LEVELS).filter(|_| relative) {
        let path = root.join(rest);
        if path.is_file() {
            let shown = root.display();
            let guess = Some(match package {
                Some(package) => {
                    format!(
                        "no folder `{package}` is found; its files are taken from {shown} (--package {package}={shown} says so)"
                    )
                }
                None => format!("meshes that are not beside the file are taken from {shown}"),
            });
            return Ok(Found { path, guess });
        }
    }
    let remedy = match package {
        Some(package) => format!("say where the package is by --package {package}=DIR"),
        None => "say where to look by --package DIR".into(),
    };
    Err(format!(
        "mesh `{}` is not found; {remedy}, or do without collision shapes by --allow-ignored collision",
        cut(written)
    ))
}

/// The beginning of a long name.
fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}
