//! A page: what it is told, and what it says.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::picture::{self, Picture};

/// How long a page may take for what a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A page in a window of its own.
pub struct Page<'b> {
    connection: &'b mut Connection,
    target: String,
    session: String,
    errors: Vec<String>,
}

impl<'b> Page<'b> {
    pub(crate) fn new(connection: &'b mut Connection, target: String, session: String) -> Self {
        Page { connection, target, session, errors: Vec::new() }
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.connection.call(Some(&self.session), method, params)
    }

    /// The value of an expression of JavaScript; promises are awaited.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", params);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].clone()
    }

    /// The text of an expression.
    pub fn text(&mut self, expression: &str) -> String {
        match self.eval(&format!("String({expression})")) {
            Value::String(text) => text,
            other => panic!("{expression} is {other}"),
        }
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        // While a page loads there may be nothing to look at.
        let question =
            format!("(() => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }})()");
        while self.eval(&question) != true {
            if start.elapsed() > PATIENCE {
                let root = self.text("JSON.stringify(document.documentElement?.dataset)");
                panic!("{expression} does not become true; {root}; {:?}", self.errors());
            }
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Clicks in the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let [x, y] = self.middle_of(selector);
        self.mouse("mousePressed", [x, y], 1);
        self.mouse("mouseReleased", [x, y], 0);
    }

    /// The middle of an element, CSS pixels.
    pub fn middle_of(&mut self, selector: &str) -> [f64; 2] {
        let quoted = Value::from(selector);
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({quoted}); e.scrollIntoView({{ block: 'nearest' }}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        [0, 1].map(|k| place[k].as_f64().unwrap_or_else(|| panic!("{selector} is nowhere")))
    }

    /// Moves, presses or releases the left button at a place.
    pub fn mouse(&mut self, kind: &str, [x, y]: [f64; 2], buttons: u32) {
        let button = if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" };
        let params =
            json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Sets an input, a slider or a choice as a hand does.
    pub fn set(&mut self, selector: &str, value: &str) {
        let (selector, value) = (Value::from(selector), Value::from(value));
        self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector}); e.value = {value}; \
             for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
        ));
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let key = Value::from(key);
        self.eval(&format!(
            "window.dispatchEvent(new KeyboardEvent('keydown', {{ key: {key}, bubbles: true }}))"
        ));
    }

    /// What was thrown or written to the console as an error.
    pub fn errors(&mut self) -> Vec<String> {
        for event in self.connection.events(&self.session) {
            let params = &event["params"];
            let error = match event["method"].as_str() {
                Some("Runtime.exceptionThrown") => &params["exceptionDetails"],
                Some("Log.entryAdded") if params["entry"]["level"] == "error" => &params["entry"],
                Some("Runtime.consoleAPICalled") if params["type"] == "error" => &params["args"],
                _ => continue,
            };
            self.errors.push(error.to_string());
        }
        self.errors.clone()
    }

    /// What is seen; saved as a PNG file in the folder that the environment variable `PULLBACK_SCREENSHOTS` names,
    /// if any.
    pub fn screenshot(&mut self, name: &str) -> Picture {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = picture::bytes_from_base64(shot["data"].as_str().unwrap_or_default());
        if let Some(folder) = std::env::var_os("PULLBACK_SCREENSHOTS") {
            let path = std::path::Path::new(&folder).join(format!("{name}.png"));
            std::fs::write(&path, &bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        Picture::decode(&bytes)
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.connection.call(None, "Target.closeTarget", json!({ "targetId": self.target }));
        }
    }
}
