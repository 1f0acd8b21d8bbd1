//! Requests and answers of HTTP/1.1, as far as the viewer needs them: one request per connection, bodies of known
//! length, everything bounded.

use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request's line and headers, at most.
const MOST_HEAD: usize = 8 << 10;
/// Bytes of a request's body, at most.
const MOST_BODY: usize = 64 << 10;
/// How often a thread that waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Time in which a request must arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path with query, as written.
    pub target: String,
    /// Names in lower case, and values.
    headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header; an error if it is there twice.
    pub fn header(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            _ => Err(Refusal::new(400, format!("the header `{name}` is there twice"))),
        }
    }
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status code.
    pub status: u16,
    /// One line.
    pub reason: String,
}

impl Refusal {
    /// With a status code.
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Refusal { status, reason: reason.into() }
    }
}

/// Reads a request; none if the client sent nothing, or `stops` while it waits.
pub fn read(stream: &mut TcpStream, stops: &dyn Fn() -> bool) -> Result<Option<Request>, Refusal> {
    let end = (Instant::now() + PATIENCE, stops);
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = find_end(&bytes) {
            break end;
        }
        if bytes.len() > MOST_HEAD {
            return Err(Refusal::new(431, "the headers are too long"));
        }
        match receive(stream, &mut bytes, end)? {
            0 if bytes.is_empty() => return Ok(None),
            0 => return Err(Refusal::new(400, "the request ends within its headers")),
            _ => {}
        }
    };
    if head > MOST_HEAD {
        return Err(Refusal::new(431, "the headers are too long"));
    }
    let mut request = parse(&bytes[..head])?;
    let length = body_length(&request)?;
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if receive(stream, &mut body, end)? == 0 {
            return Err(Refusal::new(400, "the request ends within its body"));
        }
    }
    if body.len() > length {
        return Err(Refusal::new(400, "the request is longer than it says"));
    }
    request.body = body;
    Ok(Some(request))
}

/// Reads what else a client sends, for a little while.
pub fn discard(stream: &mut TcpStream) {
    let end = Instant::now() + Duration::from_millis(200);
    let mut bytes = Vec::new();
    while bytes.len() < 4 * MOST_BODY
        && receive(stream, &mut bytes, (end, &|| false)).is_ok_and(|count| count > 0)
    {}
}

/// Receives what there is; how many bytes, 0 at the end.
fn receive(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    (end, stops): (Instant, &dyn Fn() -> bool),
) -> Result<usize, Refusal> {
    let mut chunk = [0; 4096];
    while Instant::now() < end && !stops() {
        let set = stream.set_read_timeout(Some(LOOK));
        match set.and_then(|()| stream.read(&mut chunk)) {
            Ok(count) => {
                bytes.extend_from_slice(&chunk[..count]);
                return Ok(count);
            }
            Err(e) if [WouldBlock, TimedOut, Interrupted].contains(&e.kind()) => {}
            Err(_) => return Ok(0),
        }
    }
    Err(Refusal::new(408, "the request takes too long"))
}

/// Where the empty line after the headers begins.
fn find_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n")
}

/// The line and the headers of a request.
fn parse(head: &[u8]) -> Result<Request, Refusal> {
    let malformed = |why: &str| Refusal::new(400, format!("the request is malformed: {why}"));
    let text = std::str::from_utf8(head).map_err(|_| malformed("it is not text"))?;
    let mut lines = text.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = line[..] else {
        return Err(malformed("its first line is not METHOD TARGET VERSION"));
    };
    if version != "HTTP/1.1" && version != "HTTP/1.0" {
        return Err(Refusal::new(505, "the version is not HTTP/1.1"));
    }
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
        let is_name = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(malformed("a header has no name"));
        }
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Request { method: method.into(), target: target.into(), headers, body: Vec::new() })
}

fn body_length(request: &Request) -> Result<usize, Refusal> {
    if request.header("transfer-encoding")?.is_some() {
        return Err(Refusal::new(411, "say how long the body is with Content-Length"));
    }
    let Some(length) = request.header("content-length")? else { return Ok(0) };
    let plain = !length.is_empty() && length.bytes().all(|c| c.is_ascii_digit());
    match length.parse::<usize>() {
        Ok(length) if plain && length <= MOST_BODY => Ok(length),
        _ if plain => Err(Refusal::new(413, format!("a body has at most {MOST_BODY} bytes"))),
        _ => Err(Refusal::new(400, "Content-Length is not a number")),
    }
}

/// Headers of every answer: nothing is kept, framed, guessed or told to others.
const COMMON: &str = "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

/// Writes an answer.
pub fn answer(stream: &mut impl Write, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{COMMON}\r\n",
        reason(status),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Begins an answer that ends when the connection does.
pub fn begin_stream(stream: &mut impl Write) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n{COMMON}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.flush()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(head: &str) -> u16 {
        match parse(head.as_bytes()).and_then(|request| body_length(&request)) {
            Err(refusal) => refusal.status,
            Ok(length) => panic!("{head:?} is taken, with a body of {length}"),
        }
    }

    #[test]
    fn headers_are_found_by_any_case() {
        let request = parse(b"GET /x?y HTTP/1.1\r\nHoSt:  a:1 \r\nContent-Length: 12").unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/x?y"));
        assert_eq!(request.header("host"), Ok(Some("a:1")));
        assert_eq!(request.header("origin"), Ok(None));
        assert_eq!(body_length(&request), Ok(12));
    }

    #[test]
    fn malformed_requests_are_refused() {
        assert_eq!(refused(""), 400);
        assert_eq!(refused("GET /"), 400);
        assert_eq!(refused("GET / HTTP/1.1 more"), 400);
        assert_eq!(refused("GET / HTTP/2"), 505);
        assert_eq!(refused("GET / HTTP/1.1\r\nno colon"), 400);
        assert_eq!(refused("GET / HTTP/1.1\r\n folded: header"), 400);
        assert_eq!(refused("GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2"), 400);
        assert_eq!(refused("POST / HTTP/1.1\r\ncontent-length: -1"), 400);
        assert_eq!(refused("POST / HTTP/1.1\r\ncontent-length: +1"), 400);
        assert_eq!(refused("POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999"), 413);
        assert_eq!(refused("POST / HTTP/1.1\r\ncontent-length: 70000"), 413);
        assert_eq!(refused("POST / HTTP/1.1\r\ntransfer-encoding: chunked"), 411);
    }
}
