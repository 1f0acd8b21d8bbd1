//! Chromium for tests of pages, from Debian's packages.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run;

/// Programs that the tests take.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Installs Chromium unless there is one; an error says what to do where that is not possible.
pub fn install() -> Result<(), String> {
    if let Some(found) = NAMES.iter().find_map(|name| find(name)) {
        eprintln!("> {}", found.display());
        return Ok(());
    }
    let remedy = "install `chromium`, or test with --without-browser";
    if find("apt-get").is_none() {
        return Err(format!("there is no `chromium` on the PATH, and no apt-get to install it: {remedy}"));
    }
    let become_root: &[&str] = match (is_root(), sudo_without_password()) {
        (true, _) => &[],
        (false, true) => &["sudo", "--non-interactive"],
        (false, false) => {
            return Err(format!(
                "there is no `chromium` on the PATH, and to install it needs root or sudo without a password: {remedy}"
            ));
        }
    };
    let packages: &[&[&str]] = &[&["update"], &["install", "--yes", "--no-install-recommends", "chromium"]];
    for arguments in packages {
        let line: Vec<&str> = become_root
            .iter()
            .chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"])
            .chain(*arguments)
            .copied()
            .collect();
        run(Command::new(line[0]).args(&line[1..])).map_err(|e| format!("{e}: {remedy}"))?;
    }
    match find("chromium") {
        Some(_) => Ok(()),
        None => Err(format!("apt-get installed no program `chromium`: {remedy}")),
    }
}

/// A program on the PATH.
fn find(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").stderr(Stdio::null()).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn sudo_without_password() -> bool {
    let mut sudo = Command::new("sudo");
    sudo.args(["--non-interactive", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    sudo.status().is_ok_and(|status| status.success())
}
