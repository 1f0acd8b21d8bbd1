//! A viewer that runs while a test talks to it, and a client that says exactly what it is told.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pullback_tasks::Scene;
use pullback_tasks::scenes::{self, SceneOptions};
use pullback_view::Viewer;
use serde_json::Value;

/// One of our own models, whose bodies can be pushed.
pub fn model(name: &str) -> Box<dyn Scene> {
    let file = format!("{}/../../models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    scenes::build(&file, SceneOptions { pushes: true, ..SceneOptions::default() }).unwrap()
}

/// A built-in scene.
pub fn scene(name: &str) -> Box<dyn Scene> {
    scenes::build(name, SceneOptions::default()).unwrap()
}

/// Where a viewer is.
#[derive(Clone)]
pub struct Site {
    pub url: String,
    pub port: u16,
    pub token: String,
}

/// Runs a viewer of a scene while `test` talks to it.
pub fn serving(scene: &dyn Scene, test: impl FnOnce(&Site)) {
    let viewer = Viewer::new(scene, None, 0).unwrap();
    let url = viewer.url();
    let (port, token) = url.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
    let site =
        Site { port: port.parse().unwrap(), token: token.trim_end_matches('/').to_owned(), url: url.clone() };
    // The server ends when the test fails, too.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| viewer.serve(&stop));
        let _stop = Stop(&stop);
        test(&site);
    });
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Site {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes and reads until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that refuses early need not read on.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: answer[end + 4..].to_vec() }
    }

    /// A request for a path below the token.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} /{}/{path} HTTP/1.1\r\n", self.token);
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        head += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.raw(head.as_bytes())
    }

    /// A command that is obeyed.
    pub fn command(&self, command: &str) -> Value {
        let answer = self.request("POST", "command", &[], command);
        assert_eq!(answer.status, 200, "{command}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// State, controls and parameters.
    pub fn state(&self) -> Value {
        self.request("GET", "state", &[], "").json()
    }

    /// Reads messages of the stream until one pleases.
    pub fn stream_until<X>(&self, mut pleases: impl FnMut(u32, Value, &[u8]) -> Option<X>) -> X {
        let mut stream = self.connect();
        let request = format!("GET /{}/stream HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.token, self.port);
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let word = |bytes: &[u8], k: usize| u32::from_le_bytes(bytes[4 * k..4 * k + 4].try_into().unwrap());
        for _ in 0..2000 {
            let mut length = [0; 4];
            stream.read_exact(&mut length).unwrap();
            let mut message = vec![0; word(&length, 0) as usize];
            stream.read_exact(&mut message).unwrap();
            let (kind, text) = (word(&message, 0), word(&message, 1) as usize);
            let head = serde_json::from_slice(&message[8..8 + text]).unwrap();
            if let Some(found) = pleases(kind, head, &message[8 + text..]) {
                return found;
            }
        }
        panic!("no message pleases");
    }
}
