//! The page in a real browser: shaders compile, frames decode, keys and scrubber work, nothing fails.

use std::path::PathBuf;

use pullback_browser::{Browser, Page, Window};
use pullback_replay::{Frame, Replay, ReplayGeom, ReplayShape, ReplaySoft, Up};

#[path = "../examples/bouncing.rs"]
#[allow(dead_code)]
mod bouncing;

const WINDOW: Window = Window { width: 500, height: 300, phone: false };

/// A page in a file of its own, removed at the end.
struct Saved(PathBuf);

impl Saved {
    fn new(name: &str, replay: &Replay) -> Saved {
        let path = std::env::temp_dir().join(format!("pullback-replay-{name}-{}.html", std::process::id()));
        replay.save(&path).unwrap();
        Saved(path)
    }

    fn address(&self, hash: &str) -> String {
        format!("file://{}{hash}", self.0.display())
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Tests a page in a browser, if there is one.
fn with_page(name: &str, replay: &Replay, hash: &str, test: impl FnOnce(&mut Page<'_>)) {
    let Some(mut browser) = Browser::shared() else { return };
    let saved = Saved::new(name, replay);
    let mut page = browser.open(&saved.address(hash), WINDOW);
    page.wait_for("document.documentElement.dataset.ready === 'true'");
    test(&mut page);
    assert_eq!(page.errors(), Vec::<String>::new());
    assert_eq!(data(&mut page, "error"), "");
}

/// What the page notes on its root element.
fn data(page: &mut Page<'_>, name: &str) -> String {
    page.text(&format!("document.documentElement.dataset.{name} || ''"))
}

#[test]
fn the_page_plays_and_answers_keys_and_scrubber() {
    let replay = bouncing::bouncing();
    with_page("keys", &replay, "#frame=10", |page| {
        let after = |page: &mut Page<'_>, key: &str, frame: usize| {
            page.press(key);
            page.wait_for(&format!("document.documentElement.dataset.frame === '{frame}'"));
        };
        assert_eq!(
            (data(page, "shaders"), data(page, "frames")),
            ("compiled".into(), replay.frames.len().to_string())
        );
        after(page, "ArrowRight", 11);
        after(page, "ArrowLeft", 10);
        after(page, "ArrowLeft", 9);
        page.set("#scrubber", "500");
        page.wait_for("document.documentElement.dataset.frame === '199'");
        after(page, "End", replay.frames.len() - 1);
        for key in ["a", "w", "c", "v", "t", "f", "l"] {
            page.press(key);
        }
        assert_eq!(page.text("document.getElementById('axes').getAttribute('aria-pressed')"), "true");
        after(page, "Home", 0);
        page.press(" ");
        page.wait_for("Number(document.documentElement.dataset.frame) > 5");
        assert_eq!(data(page, "playing"), "true");
        page.press(" ");
        page.eval("document.getElementById('view').dispatchEvent(new WheelEvent('wheel', { deltaY: 100, cancelable: true }))");
        assert!(page.screenshot("replay-bouncing").colors([0.1, 0.1, 0.8, 0.6]) > 100, "the scene is blank");
    });
}

#[test]
fn the_address_selects_a_frame() {
    with_page("address", &bouncing::bouncing(), "#frame=10&theme=dark", |page| {
        let found = ["frame", "playing", "theme"].map(|name| data(page, name));
        assert_eq!(found, ["10", "false", "dark"]);
    });
}

#[test]
fn a_still_of_a_y_up_scene_without_ground_is_shown() {
    let mut replay = bouncing::bouncing();
    replay.up = Up::Y;
    replay.geoms.retain(|geom| !matches!(geom.shape, ReplayShape::Plane { .. }));
    replay.frames.truncate(1);
    replay.series.clear();
    with_page("still", &replay, "", |_| {});
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
    with_page("runner", &replay, "", |page| assert_eq!(data(page, "follow"), "runner"));
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
    for (k, switches) in ["", "&wireframe=1"].into_iter().enumerate() {
        let hash = format!("#t=0.5{switches}");
        with_page(&format!("soft-{k}"), &replay, &hash, |page| {
            assert_eq!(data(page, "frame"), expected.to_string());
        });
    }
}

#[test]
fn without_webgl_the_page_says_so() {
    let Some(mut browser) = Browser::shared() else { return };
    let saved = Saved::new("nogl", &bouncing::bouncing());
    let none = "HTMLCanvasElement.prototype.getContext = () => null";
    let mut page = browser.open_after(none, &saved.address(""), WINDOW);
    page.wait_for("document.documentElement.dataset.error");
    assert!(data(&mut page, "error").starts_with("This replay is drawn with WebGL"));
}
