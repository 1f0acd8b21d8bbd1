//! The page in a real browser.

use pullback_browser::{Browser, DESKTOP, PHONE, Page};

use crate::client::{model, scene, serving};

/// A page that draws, without a complaint.
fn is_sound(page: &mut Page<'_>) {
    assert_eq!(page.errors(), Vec::<String>::new());
    assert_eq!(page.text("document.documentElement.dataset.error || ''"), "");
}

#[test]
fn a_robot_is_pulled_stepped_and_differentiated() {
    let Some(mut browser) = Browser::shared() else { return };
    let ant = model("ant");
    serving(ant.as_ref(), |site| {
        let mut page = browser.open(&site.url, DESKTOP);
        page.wait_for("document.documentElement.dataset.ready === 'true'");
        page.wait_for("Number(document.documentElement.dataset.step) > 20");
        page.click("#play");
        page.wait_for("document.documentElement.dataset.playing === 'false'");
        let step = site.state()["step"].as_u64().unwrap();
        page.press("ArrowRight");
        page.wait_for(&format!("document.documentElement.dataset.step === '{}'", step + 1));

        // A slider of a control and one of a parameter.
        page.set("#control-rows input[type=range]", "0.5");
        page.eval("document.getElementById('params-part').open = true");
        page.set("#params-filter", "torso mass");
        page.set("#params-rows input[type=number]", "5.5");
        let settled = || {
            let state = site.state();
            let has =
                |vector: &str, value: f64| state[vector].as_array().unwrap().iter().any(|x| *x == value);
            has("control", 0.5) && has("params", 5.5)
        };
        assert!((0..200).any(|_| settled() || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            false
        }));
        page.eval("document.getElementById('params-part').open = false");

        // Bodies are pulled by the pointer.
        let before = page.screenshot("viewer-before");
        assert!(before.colors([0.1, 0.1, 0.5, 0.6]) > 100, "the scene is blank");
        page.set("#quantity", "0");
        page.wait_for("document.documentElement.dataset.gradient !== ''");
        page.click("#play");
        let middle = [0.5 * 1280.0, 0.46 * 800.0];
        page.mouse("mouseMoved", middle, 0);
        page.mouse("mousePressed", middle, 1);
        for k in 1..4 {
            page.mouse("mouseMoved", [middle[0] - 12.0 * f64::from(k), middle[1] - 50.0 * f64::from(k)], 1);
        }
        page.wait_for("document.documentElement.dataset.grabbing === 'true'");
        let pulled = site.stream_until(|kind, head, _| {
            (kind == 0).then(|| head["drag"]["force"][2].as_f64()).flatten().filter(|force| *force > 0.0)
        });
        assert!(pulled > 0.0);
        let after = page.screenshot("viewer-desktop");
        assert!(after.differences(&before) > 1000, "nothing moves");
        page.mouse("mouseReleased", [middle[0], 100.0], 0);
        page.wait_for("document.documentElement.dataset.grabbing === 'false'");
        site.stream_until(|kind, head, _| (kind == 0 && head["drag"].is_null()).then_some(()));
        page.press("t");
        page.click("#reset");
        page.wait_for("Number(document.documentElement.dataset.step) < 200");
        page.screenshot("viewer-dark");
        is_sound(&mut page);
    });
}

#[test]
fn cloth_and_particles_play_on_a_phone() {
    let Some(mut browser) = Browser::shared() else { return };
    for name in ["robot-cloth", "plb-rope"] {
        let scene = scene(name);
        serving(scene.as_ref(), |site| {
            let mut page = browser.open(&site.url, PHONE);
            page.wait_for("document.documentElement.dataset.ready === 'true'");
            page.wait_for("Number(document.documentElement.dataset.step) > 1");
            page.press(" ");
            page.wait_for("document.documentElement.dataset.playing === 'false'");
            let picture = page.screenshot(&format!("viewer-phone-{name}"));
            assert!(picture.colors([0.1, 0.15, 0.8, 0.5]) > 100, "the scene is blank");
            page.click("#panels");
            page.screenshot(&format!("viewer-phone-{name}-panel"));
            is_sound(&mut page);
        });
    }
}

#[test]
fn the_page_says_when_the_server_has_stopped() {
    let Some(mut browser) = Browser::shared() else { return };
    let pendulum = scene("pendulum");
    let mut open = None;
    serving(pendulum.as_ref(), |site| {
        let mut page = browser.open(&site.url, DESKTOP);
        page.wait_for("Number(document.documentElement.dataset.step) > 5");
        page.screenshot("viewer-pendulum");
        open = Some(page);
    });
    let mut page = open.unwrap();
    page.wait_for("document.documentElement.dataset.stopped === 'true'");
    assert!(page.text("document.getElementById('message-text').textContent").contains("has stopped"));
}
