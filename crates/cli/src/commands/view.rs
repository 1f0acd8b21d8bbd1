//! `pullback view`: a scene that runs live in a browser.

use std::process::{Command, Stdio};

use pullback_core::interrupt;
use pullback_tasks::files::{FileOptions, is_file_name};
use pullback_tasks::scenes::{self, SceneOptions};
use pullback_view::Viewer;
use serde::Serialize;

use crate::args::ViewOptions;
use crate::output::{CliError, Output, note_keyframes, print_notes};

#[derive(Serialize)]
struct Started {
    scene: String,
    url: String,
}

/// Serves until Ctrl-C.
pub fn run(options: &ViewOptions, output: &Output) -> Result<bool, CliError> {
    let contact = options.contact.map(|entry| entry.value);
    let built = SceneOptions {
        dt: options.dt,
        file: FileOptions { contact, ..options.reading.file_options() },
        pushes: is_file_name(&options.scene),
        ..SceneOptions::default()
    };
    let scene = scenes::build(&options.scene, built)?;
    print_notes(scene.notes());
    if options.keyframe.is_none() {
        note_keyframes(scene.keyframes());
    }
    let viewer = Viewer::new(scene.as_ref(), options.keyframe.as_deref(), options.port)?;
    crate::interrupt::listen()?;
    let started = Started { scene: scene.name().into(), url: viewer.url() };
    output.print(&started, || format!("{}: {} (Ctrl-C ends it)", started.scene, started.url))?;
    if options.open && !open(&started.url) {
        eprintln!("note: no browser was found; open {} yourself", started.url);
    }
    viewer.serve(interrupt::flag());
    Ok(true)
}

/// Opens an address in the browser of the desktop; whether that was possible.
fn open(address: &str) -> bool {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
