//! Which requests are obeyed: those to this server by its own name, from its own page, that carry its token.
//!
//! A page of another origin can send requests here, and with a name of its own that is made to point to 127.0.0.1
//! (DNS rebinding) read the answers. The first says so in `Origin`, the second in `Host`. The token keeps out
//! other users of the machine, who cannot see the URL.

use crate::http::{Refusal, Request};

/// Bytes of the token.
const TOKEN: usize = 16;

/// What a request must show.
#[derive(Clone, Debug)]
pub struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    /// For a server on a port of loopback, with a new token.
    pub fn new(port: u16) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN];
        getrandom::fill(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Guard { port, token })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The path of a request below the token.
    pub fn check<'a>(&self, request: &'a Request) -> Result<&'a str, Refusal> {
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let Some(host) = request.header("host")? else {
            return Err(Refusal::new(400, "the request names no host"));
        };
        if !hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            return Err(Refusal::new(421, "this server is not the host that the request names"));
        }
        if let Some(origin) = request.header("origin")?
            && !origin.eq_ignore_ascii_case(&format!("http://{host}"))
        {
            return Err(Refusal::new(403, "requests from other origins are refused"));
        }
        let path = request.target.split(['?', '#']).next().unwrap_or_default();
        let (token, rest) = path.strip_prefix('/').and_then(|p| p.split_once('/')).unwrap_or_default();
        if !same(token.as_bytes(), self.token.as_bytes()) {
            return Err(Refusal::new(403, "the token is wrong; open the URL that `pullback view` printed"));
        }
        Ok(rest)
    }
}

/// Whether two tokens are equal, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_new() {
        let [a, b] = [0; 2].map(|_| Guard::new(1).unwrap().token);
        assert_eq!(a.len(), 2 * TOKEN);
        assert_ne!(a, b);
        assert!(
            same(a.as_bytes(), a.as_bytes()) && !same(a.as_bytes(), b.as_bytes()) && !same(b"", a.as_bytes())
        );
    }
}
