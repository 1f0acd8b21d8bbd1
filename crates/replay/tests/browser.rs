//! The page in a real browser: shaders compile, frames decode, keys and scrubber work, nothing fails.
//!
//! Needs an executable `chromium` on the PATH; without it the tests say so and pass.

use pullback_replay::{Frame, Replay, ReplayGeom, ReplayShape, ReplaySoft, Up};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../examples/bouncing.rs"]
#[allow(dead_code)]
mod bouncing;

/// Virtual time hardly ever paints, so a timer takes the place of the display.
const CLOCK: &str = r#"<head><script>
window.requestAnimationFrame = (tick) => setTimeout(() => tick(performance.now()), 16);
</script>"#;

/// Presses keys and moves the scrubber, and notes on the root element what the page made of it.
const FINGERS: &str = r#"<script>
const root = document.documentElement.dataset;
const press = (key) => window.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const later = (action, wait = 50) => new Promise((done) => { action(); setTimeout(done, wait); });
(async () => {
  await later(() => press("ArrowRight"));
  root.afterRight = root.frame;
  await later(() => press("ArrowLeft"));
  await later(() => press("ArrowLeft"));
  root.afterLeft = root.frame;
  const scrubber = document.getElementById("scrubber");
  await later(() => { scrubber.value = "500"; scrubber.dispatchEvent(new Event("input", { bubbles: true })); });
  root.afterScrub = root.frame;
  await later(() => press("End"));
  root.afterEnd = root.frame;
  for (const key of ["a", "w", "c", "v", "t", "f", "l"]) await later(() => press(key));
  root.axes = document.getElementById("axes").getAttribute("aria-pressed");
  await later(() => press("Home"));
  await later(() => press(" "), 400);
  root.afterSpace = root.playing;
  root.moved = String(Number(root.frame) > 5);
  await later(() => press(" "));
  const view = document.getElementById("view");
  await later(() => view.dispatchEvent(new WheelEvent("wheel", { deltaY: 100, cancelable: true })));
  root.done = "true";
})();
</script></body>"#;

fn find_browser() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join("chromium")).find(|path| path.is_file())
}

/// The root element of the page after it ran, or nothing without a browser.
fn load(name: &str, html: &str, hash: &str, options: &[&str]) -> Option<String> {
    let Some(browser) = find_browser() else {
        println!("skipped: no chromium on the PATH");
        return None;
    };
    let folder = std::env::temp_dir().join(format!("pullback-replay-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("page.html");
    std::fs::write(&page, html).unwrap();
    let dom = dump_dom(&browser, &folder, &format!("file://{}{hash}", page.display()), options);
    std::fs::remove_dir_all(&folder).unwrap();
    let start = dom.find("<html").unwrap_or_else(|| panic!("no page in: {dom}"));
    let end = start + dom[start..].find('>').unwrap();
    Some(dom[start..=end].to_owned())
}

fn dump_dom(browser: &Path, folder: &Path, address: &str, options: &[&str]) -> String {
    let dom = folder.join("dom.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update"])
        .args(["--window-size=500,300", "--virtual-time-budget=6000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(options)
        .arg(address)
        .stdout(File::create(&dom).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A browser that hangs fails the test instead of stopping it.
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser did not finish within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::read_to_string(dom).unwrap()
}

const PATIENCE: Duration = Duration::from_secs(180);
const SOFTWARE: [&str; 3] = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

#[test]
fn the_page_plays_and_answers_keys_and_scrubber() {
    let replay: Replay = bouncing::bouncing();
    let html = replay.to_html().unwrap().replace("<head>", CLOCK).replace("</body>", FINGERS);
    let Some(root) = load("keys", &html, "#frame=10", &SOFTWARE) else { return };
    let has = |attribute: &str| assert!(root.contains(attribute), "{attribute} is not in {root}");
    has("data-ready=\"true\"");
    has("data-shaders=\"compiled\"");
    has(&format!("data-frames=\"{}\"", replay.frames.len()));
    has("data-after-right=\"11\"");
    has("data-after-left=\"9\"");
    has("data-after-scrub=\"199\"");
    has(&format!("data-after-end=\"{}\"", replay.frames.len() - 1));
    has("data-axes=\"true\"");
    has("data-after-space=\"true\"");
    has("data-moved=\"true\"");
    has("data-done=\"true\"");
    assert!(!root.contains("data-error"), "{root}");
}

#[test]
fn the_address_selects_a_frame() {
    let html = bouncing::bouncing().to_html().unwrap();
    let Some(root) = load("address", &html, "#frame=10&theme=dark", &SOFTWARE) else { return };
    assert!(root.contains("data-frame=\"10\"") && root.contains("data-playing=\"false\""), "{root}");
    assert!(root.contains("data-theme=\"dark\"") && !root.contains("data-error"), "{root}");
}

#[test]
fn a_still_of_a_y_up_scene_without_ground_is_shown() {
    let mut replay = bouncing::bouncing();
    replay.up = Up::Y;
    replay.geoms.retain(|geom| !matches!(geom.shape, ReplayShape::Plane { .. }));
    replay.frames.truncate(1);
    replay.series.clear();
    let Some(root) = load("still", &replay.to_html().unwrap(), "", &SOFTWARE) else { return };
    assert!(root.contains("data-ready=\"true\"") && !root.contains("data-error"), "{root}");
}

#[test]
fn a_motion_that_leaves_the_picture_is_followed() {
    let mut replay = Replay::new("Away", 10.0);
    replay.bodies = vec!["world".into(), "runner".into()];
    replay.geoms.push(ReplayGeom::new("ball", 1, ReplayShape::Sphere { radius: 0.5 }));
    let pose = |x: f64| ([x, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]);
    let frame =
        |k: i32| Frame { time: k.into(), poses: vec![pose(0.0), pose(k.into())], contacts: Vec::new() };
    replay.frames = (0..30).map(frame).collect();
    let Some(root) = load("runner", &replay.to_html().unwrap(), "", &SOFTWARE) else { return };
    assert!(root.contains("data-follow=\"runner\"") && !root.contains("data-error"), "{root}");
}

#[test]
fn soft_shapes_are_shown_beside_bodies_at_the_time_asked_for() {
    let mut replay = bouncing::bouncing();
    let at = |frame: usize, i: usize| {
        let (x, y) = ((i % 3) as f64, (i / 3) as f64);
        [x, y, 1.0 + (0.1 * frame as f64 + x).sin()]
    };
    let frames = replay.frames.len();
    replay.soft.push(ReplaySoft {
        name: "flag".into(),
        triangles: vec![[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]],
        lines: vec![[0, 1], [1, 2]],
        dots: vec![5],
        dot_radius: 0.05,
        rgba: [0.8, 0.3, 0.2, 1.0],
        vertices: (0..frames).map(|f| (0..6).map(|i| at(f, i)).collect()).collect(),
    });
    let expected = replay.frames.iter().rposition(|f| f.time <= 0.5).unwrap();
    for switches in ["", "&wireframe=1"] {
        let hash = format!("#t=0.5{switches}");
        let Some(root) = load("soft", &replay.to_html().unwrap(), &hash, &SOFTWARE) else { return };
        assert!(root.contains("data-ready=\"true\"") && !root.contains("data-error"), "{root}");
        assert!(root.contains(&format!("data-frame=\"{expected}\"")), "{root}");
    }
}

#[test]
fn without_webgl_the_page_says_so() {
    let html = bouncing::bouncing().to_html().unwrap();
    let Some(root) = load("nogl", &html, "", &["--disable-gpu", "--disable-3d-apis"]) else { return };
    assert!(root.contains("data-error=\"This replay is drawn with WebGL"), "{root}");
}
