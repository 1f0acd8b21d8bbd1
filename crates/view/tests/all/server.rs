//! Requests: who is obeyed, what is malformed, and what commands do.

use std::io::{Read, Write};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pullback_view::Viewer;

use crate::client::{model, scene, serving};

#[test]
fn requests_of_others_are_refused() {
    let pendulum = scene("pendulum");
    serving(pendulum.as_ref(), |site| {
        let port = site.port;
        let own = format!("http://127.0.0.1:{port}");
        let get = |headers: &[(&str, &str)]| site.request("GET", "scene", headers, "").status;
        assert_eq!(get(&[]), 200);
        assert_eq!(get(&[("Origin", &own)]), 200);
        assert_eq!(get(&[("Host", &format!("localhost:{port}"))]), 200);
        // A name of another that is made to point here.
        assert_eq!(get(&[("Host", &format!("evil.example:{port}"))]), 421);
        assert_eq!(get(&[("Host", "127.0.0.1")]), 421);
        assert_eq!(get(&[("Host", &format!("127.0.0.1:{}", port ^ 1))]), 421);
        assert_eq!(get(&[("Host", &format!("127.0.0.1:{port}")), ("Host", "evil.example")]), 400);
        // A page of another origin.
        for origin in
            ["http://evil.example", "null", &format!("https://127.0.0.1:{port}"), "http://127.0.0.1"]
        {
            assert_eq!(get(&[("Origin", origin)]), 403, "{origin}");
        }
        let pause = r#"{"do": "step"}"#;
        assert_eq!(site.request("POST", "command", &[("Origin", "http://evil.example")], pause).status, 403);
        assert_eq!(site.state()["step"], 0);
        // No host at all, and a token that is wrong, short or missing.
        let token = &site.token;
        assert_eq!(site.raw(format!("GET /{token}/ HTTP/1.0\r\n\r\n").as_bytes()).status, 400);
        for path in
            ["/", "", "/0/scene", &format!("/{}/scene", token.replace(&token[..1], "x")), "*", "/../x"]
        {
            let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
            let status = site.raw(request.as_bytes()).status;
            assert!(status == 403 || (path.is_empty() && status == 400), "{path:?} gives {status}");
        }
    });
}

#[test]
fn malformed_requests_do_no_harm() {
    let pendulum = scene("pendulum");
    serving(pendulum.as_ref(), |site| {
        let (port, token) = (site.port, &site.token);
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        for (request, status) in [
            ("\r\n\r\n".to_owned(), 400),
            ("GET\r\n\r\n".into(), 400),
            (format!("GET /{token}/ HTTP/3\r\n{host}\r\n"), 505),
            (format!("GET /{token}/ HTTP/1.1\r\n{host}\u{0}: x\r\n\r\n"), 400),
            (format!("GET /{token}/ HTTP/1.1\r\n{host}x: {}\r\n\r\n", "y".repeat(10_000)), 431),
            (format!("POST /{token}/command HTTP/1.1\r\n{host}Content-Length: 1000000\r\n\r\n"), 413),
            (format!("POST /{token}/command HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"), 411),
            (format!("PUT /{token}/command HTTP/1.1\r\n{host}\r\n"), 405),
            (format!("GET /{token}/nothing HTTP/1.1\r\n{host}\r\n"), 404),
        ] {
            let answer = site.raw(request.as_bytes());
            assert_eq!(answer.status, status, "{request:?}");
            assert!(answer.json()["error"].is_string());
        }
        for body in ["", "{", "[]", "null", r#"{"do": "explode"}"#, r#"{"do": "step", "steps": -1}"#] {
            assert_eq!(site.request("POST", "command", &[], body).status, 400, "{body}");
        }
        for body in [
            r#"{"do": "step", "steps": 0}"#,
            r#"{"do": "step", "steps": 1, "more": 2}"#,
            r#"{"do": "speed", "value": 0}"#,
            r#"{"do": "set", "vector": "params", "name": "mass", "value": -1}"#,
            r#"{"do": "set", "vector": "params", "name": "nothing", "value": 1}"#,
            r#"{"do": "drag", "body": "nobody", "point": [0,0,0], "target": [0,0,0]}"#,
            r#"{"do": "reset", "keyframe": "nowhere"}"#,
            r#"{"do": "gradient", "of": {"quantity": {"kind": "state", "entry": "nothing"}, "steps": 5}}"#,
            r#"{"do": "gradient", "of": {"quantity": {"kind": "state", "entry": "angle"}, "steps": 1000000}}"#,
        ] {
            let answer = site.request("POST", "command", &[], body);
            assert_eq!(answer.status, 400, "{body}");
            assert!(answer.json()["error"].is_string(), "{body}");
        }
        // It still works.
        assert_eq!(site.command(r#"{"do": "step"}"#)["step"], 1);
    });
}

#[test]
fn slow_and_many_clients_do_not_stall_others() {
    let pendulum = scene("pendulum");
    serving(pendulum.as_ref(), |site| {
        // Some say nothing, some half of a request, some never read their pictures.
        let mut idle: Vec<_> = (0..24).map(|_| site.connect()).collect();
        for (k, stream) in idle.iter_mut().enumerate() {
            let path = if k % 2 == 0 { "stream" } else { "scene" };
            let end = if k % 2 == 0 { "\r\n" } else { "" };
            let request =
                format!("GET /{}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{end}", site.token, site.port);
            stream.write_all(request.as_bytes()).unwrap();
        }
        site.command(r#"{"do": "play"}"#);
        let begun = Instant::now();
        for _ in 0..5 {
            site.state();
        }
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        // Beyond the most connections new ones are told so.
        idle.extend((0..20).map(|_| site.connect()));
        let mut told = 0;
        for stream in &mut idle[24..] {
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let mut answer = [0; 12];
            told += usize::from(stream.read_exact(&mut answer).is_ok() && answer.ends_with(b"503"));
        }
        assert!(told >= 10, "{told} were told");
        drop(idle);
    });
}

#[test]
fn the_page_has_all_it_needs_and_forbids_the_rest() {
    let ant = model("ant");
    serving(ant.as_ref(), |site| {
        let page = site.request("GET", "", &[], "");
        assert_eq!(page.status, 200);
        assert!(page.head.contains("Content-Security-Policy: default-src 'none'"), "{}", page.head);
        assert!(page.head.contains("X-Frame-Options: DENY") && !page.head.contains("Access-Control"));
        for (path, kind) in
            [("view.js", "text/javascript"), ("view.css", "text/css"), ("scene", "application/json")]
        {
            let answer = site.request("GET", path, &[], "");
            assert_eq!(answer.status, 200);
            assert!(answer.head.contains(kind) && !answer.body.is_empty());
            assert!(!String::from_utf8_lossy(&answer.body).contains("https://"), "{path} refers to others");
        }
        let scene = site.request("GET", "scene", &[], "").json();
        assert_eq!(scene["title"], "ant");
        assert_eq!(scene["control"].as_array().unwrap().len(), 8, "pushes are no sliders");
        assert!(scene["pulled"].as_array().unwrap().iter().skip(1).all(|pulled| *pulled == true));
        assert_eq!(scene["pulled"][0], false);
    });
}

#[test]
fn commands_change_the_motion_and_the_picture() {
    let ant = model("ant");
    serving(ant.as_ref(), |site| {
        let bodies =
            site.request("GET", "scene", &[], "").json()["recording"]["bodies"].as_array().unwrap().len();
        site.command(r#"{"do": "step", "steps": 3}"#);
        let step = site.stream_until(|kind, head, numbers| {
            let soft_free =
                numbers.len() == 4 * (7 * bodies + 10 * head["contacts"].as_u64().unwrap() as usize);
            (kind == 0 && head["step"] == 3).then_some(soft_free)
        });
        assert!(step, "a picture has its poses and contacts, nothing else");
        let (mass, before) = ("torso.mass", site.state());
        site.command(&format!(r#"{{"do": "set", "vector": "params", "name": "{mass}", "value": 7.5}}"#));
        let after = site.state();
        assert_ne!(before["params"], after["params"]);
        assert!(after["params"].as_array().unwrap().iter().any(|x| *x == 7.5));
        site.command(r#"{"do": "reset"}"#);
        assert_eq!(site.state()["step"], 0);
        assert_eq!(site.state()["params"], after["params"], "parameters stay");
    });
}

#[test]
fn it_runs_at_the_rate_of_the_clock() {
    let pendulum = scene("pendulum");
    serving(pendulum.as_ref(), |site| {
        site.command(r#"{"do": "speed", "value": 0.5}"#);
        let begun = Instant::now();
        site.command(r#"{"do": "play"}"#);
        std::thread::sleep(Duration::from_millis(1200));
        let paused = site.command(r#"{"do": "pause"}"#);
        let (found, expected) = (paused["time"].as_f64().unwrap(), 0.5 * begun.elapsed().as_secs_f64());
        // A machine that does something else may be late, never early.
        assert!(found <= expected + 0.02 && found > 0.6 * expected, "{found} s of {expected} s");
        assert_eq!(site.state()["time"], paused["time"], "it stands still");
    });
}

#[test]
fn the_port_is_that_asked_for_or_refused() {
    let pendulum = scene("pendulum");
    let first = Viewer::new(pendulum.as_ref(), None, 0).unwrap();
    let port: u16 = first.url().split([':', '/']).nth(4).unwrap().parse().unwrap();
    let refused = Viewer::new(pendulum.as_ref(), None, port).err().unwrap().to_string();
    assert!(refused.contains(&port.to_string()) && refused.contains("choose another --port"), "{refused}");
    drop(first);
    let again = Viewer::new(pendulum.as_ref(), None, port).unwrap();
    assert!(again.url().starts_with(&format!("http://127.0.0.1:{port}/")));
    again.serve(&AtomicBool::new(true));
}

#[test]
fn what_cannot_be_seen_is_refused_by_name() {
    let smoke = scene("smoke-plume-2d");
    let refused = Viewer::new(smoke.as_ref(), None, 0).err().unwrap().to_string();
    assert!(refused.starts_with("smoke-plume-2d: it has no bodies"), "{refused}");
}
