//! Pages that the program writes, in a real browser: a replay and the demo.

use std::path::PathBuf;
use std::process::Command;

use pullback_browser::{Browser, DESKTOP, PHONE};

/// A folder of this test's own, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command writes into a folder.
fn written(name: &str, arguments: &[&str]) -> Folder {
    let folder = std::env::temp_dir().join(format!("pullback-pages-{name}-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_pullback"))
        .args(arguments)
        .args(["--quiet", "--out", folder.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    Folder(folder)
}

#[test]
fn replays_play() {
    let Some(mut browser) = Browser::shared() else { return };
    let model = format!("{}/../../models/ant.xml", env!("CARGO_MANIFEST_DIR"));
    for (name, arguments) in [
        ("ant", &["simulate", &model, "--time", "1"][..]),
        ("cloth", &["simulate", "cloth-swing", "--time", "0.5"]),
    ] {
        let folder = written(name, arguments);
        let page = format!("file://{}", folder.0.join("replay.html").display());
        for (window, size) in [(DESKTOP, "desktop"), (PHONE, "phone")] {
            let mut page = browser.open(&page, window);
            page.wait_for("document.documentElement.dataset.ready === 'true'");
            page.wait_for("Number(document.documentElement.dataset.frame) > 0");
            page.click("#play");
            page.wait_for("document.documentElement.dataset.playing === 'false'");
            page.set("#scrubber", "500");
            let picture = page.screenshot(&format!("replay-{name}-{size}"));
            assert!(picture.colors([0.1, 0.2, 0.8, 0.5]) > 100, "the scene is blank");
            assert_eq!(page.errors(), Vec::<String>::new());
        }
    }
}

#[test]
fn the_demo_shows_values_under_the_pointer() {
    let Some(mut browser) = Browser::shared() else { return };
    let folder = written("demo", &["demo", "identification", "memory"]);
    let address = format!("file://{}", folder.0.join("index.html").display());
    let mut page = browser.open(&address, DESKTOP);
    page.wait_for("document.readyState === 'complete'");
    let [x, y] = page.middle_of("img[data-hover]");
    // A quarter of a figure of two panels is in the middle of its heat map.
    let width = page.eval("document.querySelector('img[data-hover]').clientWidth").as_f64().unwrap();
    page.mouse("mouseMoved", [x - 0.25 * width, y], 0);
    page.wait_for("!document.querySelector('.hover').hidden");
    let shown = page.text("document.querySelector('.hover').textContent");
    assert!(shown.contains("loss = ") && shown.contains("length = "), "{shown}");
    assert!(page.screenshot("demo-desktop").colors([0.1, 0.1, 0.8, 0.8]) > 100);
    assert_eq!(page.errors(), Vec::<String>::new());
    drop(page);
    let mut page = browser.open(&address, PHONE);
    page.wait_for("document.readyState === 'complete'");
    // Nothing is wider than the window.
    assert_eq!(page.eval("document.documentElement.scrollWidth <= window.innerWidth"), true);
    page.screenshot("demo-phone");
}
