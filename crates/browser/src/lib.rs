//! Pages in headless Chromium, for tests.
//!
//! [`Browser::shared`] starts the Chromium on the PATH and talks to it in the DevTools protocol over a pipe;
//! a [`Page`] loads an address, evaluates JavaScript, takes clicks and drags, keeps what was written to the
//! console as an error, and is seen as a [`Picture`]. Tests panic where the browser does not do as it is told.
//!
//! The environment variable `PULLBACK_BROWSER` says what a test does without a browser: `required`, as `cargo xtask
//! test` sets it, fails; `none` skips even if there is one; otherwise a test is skipped if there is none.
//!
//! *Limits.* The pipe needs a POSIX shell, which hands it to the browser as descriptors 3 and 4.

mod connection;
mod page;
mod picture;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use connection::Connection;
pub use page::Page;
pub use picture::Picture;
use serde_json::json;

/// The size of a window, and whether it is that of a phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Width, CSS pixels.
    pub width: u32,
    /// Height, CSS pixels.
    pub height: u32,
    /// Whether it has the manners of a phone.
    pub phone: bool,
}

/// A desktop's window.
pub const DESKTOP: Window = Window { width: 1280, height: 800, phone: false };
/// A phone's.
pub const PHONE: Window = Window { width: 390, height: 844, phone: true };

/// A browser.
pub struct Browser {
    connection: Connection,
}

impl Browser {
    /// The browser of this process, for one test at a time, or none where tests that need one are to be skipped. It
    /// ends with the process.
    pub fn shared() -> Option<MutexGuard<'static, Browser>> {
        static SHARED: OnceLock<Option<Mutex<Browser>>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Browser::for_tests().map(Mutex::new));
        // A test that failed leaves a window open, which harms no other.
        shared.as_ref().map(|browser| browser.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn for_tests() -> Option<Browser> {
        let wish = std::env::var("PULLBACK_BROWSER").unwrap_or_default();
        if wish == "none" {
            return None;
        }
        let found = find();
        assert!(
            found.is_some() || wish != "required",
            "there is no `chromium` on the PATH; install it or test with --without-browser"
        );
        if found.is_none() {
            println!("skipped: no chromium on the PATH");
        }
        found.map(Browser::start)
    }

    fn start(program: PathBuf) -> Browser {
        let profile = std::env::temp_dir().join(format!("pullback-browser-{}", std::process::id()));
        Browser { connection: Connection::start(&program, &profile) }
    }

    /// Loads an address in a window of its own.
    pub fn open(&mut self, address: &str, window: Window) -> Page<'_> {
        self.open_after("", address, window)
    }

    /// The same once a script ran, before those of the page.
    pub fn open_after(&mut self, script: &str, address: &str, window: Window) -> Page<'_> {
        let Window { width, height, phone } = window;
        let target = self.connection.call(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].as_str().unwrap_or_default().to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.connection.call(None, "Target.attachToTarget", attach);
        let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        let mut page = Page::new(&mut self.connection, target, session);
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            page.call(domain, json!({}));
        }
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        page.call("Emulation.setDeviceMetricsOverride", metrics);
        page.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
        page.call("Page.navigate", json!({ "url": address }));
        page
    }
}

/// Names of the program.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn find() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    let mut places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.find(|path| path.is_file())
}
