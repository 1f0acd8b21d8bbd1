//! The DevTools protocol over a pipe: JSON objects that end with a zero byte.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pipe is standard input and output here, and descriptors 3 and 4 there. The browser ends when it closes; the
/// shell then removes its profile.
const HAND_OVER: &str = r#"profile=$1; shift; "$0" --user-data-dir="$profile" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null
rm -rf "$profile""#;

const OPTIONS: [&str; 13] = [
    "--remote-debugging-pipe",
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    // WebGL on the processor.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
];

/// A browser and what it said.
pub struct Connection {
    /// The shell that started it; nobody waits for it, since it ends with the pipe.
    _shell: Child,
    orders: ChildStdin,
    received: Receiver<Value>,
    next: u64,
    /// What was said unasked, the oldest first.
    events: VecDeque<Value>,
}

impl Connection {
    pub fn start(program: &Path, profile: &Path) -> Connection {
        let mut child = Command::new("sh")
            .args(["-c", HAND_OVER])
            .args([program, profile])
            .args(OPTIONS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("the browser did not start: {e}"));
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are piped");
        };
        let (sender, received) = mpsc::channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(answers);
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap_or(Value::Null);
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        Connection { _shell: child, orders, received, next: 0, events: VecDeque::new() }
    }

    /// Calls a method of the protocol, in a session or none; its result.
    pub fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut order = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            order["sessionId"] = session.into();
        }
        let sent = self.orders.write_all(format!("{order}\0").as_bytes()).and_then(|()| self.orders.flush());
        sent.unwrap_or_else(|e| panic!("the browser is gone: {e}"));
        let start = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let message = self
                .received
                .recv_timeout(left)
                .unwrap_or_else(|e| panic!("the browser does not answer {method}: {e}"));
            if message["id"] == id {
                let error = &message["error"];
                assert!(error.is_null(), "{method}: {error}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    /// What a session said unasked since the last time.
    pub fn events(&mut self, session: &str) -> Vec<Value> {
        self.events.extend(self.received.try_iter());
        let (own, others) = self.events.drain(..).partition(|event| event["sessionId"] == session);
        self.events = others;
        Vec::from_iter::<VecDeque<Value>>(own)
    }
}
