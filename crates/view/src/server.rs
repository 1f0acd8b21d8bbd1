//! Threads and routes of the viewer.
//!
//! The caller's thread steps the simulation, one accepts connections, one computes gradients, and each connection
//! has its own. The simulation never waits for a client: it leaves the latest picture, and each client takes it when it
//! can. Commands reach the simulation through a queue and are answered when they are done.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use pullback_core::ConfigError;
use pullback_replay::ReplayError;
use pullback_tasks::Scene;
use serde_json::{Value, json};
use thiserror::Error;

use crate::command::Command;
use crate::describe::describe;
use crate::frame;
use crate::gradient::{self, Job};
use crate::guard::Guard;
use crate::http::{self, Refusal, Request};
use crate::pace::Pace;
use crate::page;
use crate::simulation::{Report, Simulation};

/// Connections at a time, at most.
const MOST_CONNECTIONS: usize = 32;
/// Commands that wait, at most.
const MOST_WAITING: usize = 64;
/// Between two pictures.
const PICTURE_TIME: Duration = Duration::from_micros(16_600);
/// Between two gradients of a motion.
const GRADIENT_TIME: Duration = Duration::from_millis(150);
/// Rest after a gradient, at most.
const MOST_REST: Duration = Duration::from_secs(1);
/// How long a client may take for a picture.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a command may take.
const MOST_TIME: Duration = Duration::from_secs(60);
/// How often threads look whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Why a viewer did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The scene cannot be shown.
    #[error(transparent)]
    Scene(#[from] ConfigError),
    /// A picture of the scene cannot be shown.
    #[error("the scene cannot be shown: {0}")]
    Picture(#[from] ReplayError),
    /// The port is not free.
    #[error("cannot listen on 127.0.0.1:{port}: {source}; choose another --port")]
    Port {
        /// The port asked for.
        port: u16,
        /// Why not.
        source: io::Error,
    },
    /// The system gives no random numbers for the token.
    #[error("no random numbers for the token of the page: {0}")]
    Token(#[from] getrandom::Error),
}

/// A scene behind a page on loopback.
pub struct Viewer<'s> {
    simulation: Simulation<'s>,
    description: String,
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
}

impl<'s> Viewer<'s> {
    /// Listens on a port of 127.0.0.1, 0 for any that is free. The motion begins at a keyframe of the scene if one
    /// is named; it runs once the page asks.
    pub fn new(scene: &'s dyn Scene, keyframe: Option<&str>, port: u16) -> Result<Self, ViewError> {
        let mut simulation = Simulation::new(scene, keyframe)?;
        let description = describe(&mut simulation, keyframe)?.to_string();
        let refused = |source| ViewError::Port { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let guard = Guard::new(address.port())?;
        Ok(Viewer { simulation, description, listener, address, guard })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        self.guard.url()
    }

    /// Serves until `stop` is set.
    pub fn serve(self, stop: &AtomicBool) {
        let Viewer { simulation, description, listener, address, guard } = self;
        let (commands, received) = mpsc::sync_channel(MOST_WAITING);
        let site = Site {
            stop,
            guard,
            description,
            script: page::script(),
            style: page::style(),
            commands,
            connections: AtomicUsize::new(0),
            latest: Board::default(),
            jobs: Board::default(),
        };
        let scene = simulation.scene();
        let bodies = simulation.bodies().to_vec();
        thread::scope(|scope| {
            scope.spawn(|| differentiate(scene, &bodies, &site));
            scope.spawn(|| accept(scope, &listener, &site));
            run(simulation, &site, &received);
            // Accepting has no time limit: a connection of our own ends it.
            let _ = TcpStream::connect(address);
        });
    }
}

/// What connections share.
struct Site<'a> {
    stop: &'a AtomicBool,
    guard: Guard,
    description: String,
    script: String,
    style: String,
    commands: SyncSender<Asked>,
    connections: AtomicUsize,
    latest: Board<Latest>,
    jobs: Board<Option<Job>>,
}

/// A command and where its answer goes.
struct Asked {
    command: Option<Command>,
    answer: SyncSender<Result<Report, String>>,
}

/// The latest messages, with how many there were.
#[derive(Clone, Default)]
struct Latest {
    pictures: u64,
    picture: Arc<Vec<u8>>,
    gradients: u64,
    gradient: Arc<Vec<u8>>,
}

/// A value that others wait for.
#[derive(Default)]
struct Board<V> {
    value: Mutex<V>,
    changed: Condvar,
}

impl<V> Board<V> {
    fn lock(&self) -> MutexGuard<'_, V> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut V)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// What is taken of the value once there is something, or nothing after a while.
    fn wait<X>(&self, mut take: impl FnMut(&mut V) -> Option<X>) -> Option<X> {
        let mut value = self.lock();
        let taken = take(&mut value);
        if taken.is_some() {
            return taken;
        }
        let (mut value, _) = self.changed.wait_timeout(value, LOOK).unwrap_or_else(PoisonError::into_inner);
        take(&mut value)
    }
}

impl Site<'_> {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Steps the simulation, obeys commands, leaves pictures.
fn run(mut simulation: Simulation<'_>, site: &Site<'_>, received: &Receiver<Asked>) {
    let mut pace = Pace::new(simulation.speed());
    let (mut seen, mut shown) = (None, Instant::now());
    let (mut judged, mut asked) = (None, Instant::now());
    while !site.stops() {
        let now = Instant::now();
        // A rest of the time until the next picture or step is spent waiting for commands.
        let wait = if !simulation.playing() {
            if seen == Some(simulation.version()) { LOOK } else { Duration::ZERO }
        } else {
            pace.wait(now, simulation.time()).min(PICTURE_TIME)
        };
        match received.recv_timeout(wait) {
            Ok(Asked { command, answer }) => {
                let restart = command.as_ref().is_some_and(|command| {
                    matches!(
                        command,
                        Command::Play | Command::Speed { .. } | Command::Reset { .. } | Command::Step { .. }
                    )
                });
                let done = command.map_or(Ok(()), |command| simulation.obey(&command));
                if restart {
                    pace.restart(simulation.speed());
                }
                // Who asked may have gone.
                let _ = answer.try_send(done.map(|()| simulation.report()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let begun = Instant::now();
        while simulation.playing()
            && begun.elapsed() < PICTURE_TIME
            && pace.due(Instant::now(), simulation.time())
        {
            // Why a step failed is told with the picture.
            let _ = simulation.advance();
            pace.reached(Instant::now(), simulation.time());
        }
        if seen != Some(simulation.version()) && (seen.is_none() || shown.elapsed() >= PICTURE_TIME) {
            (seen, shown) = (Some(simulation.version()), Instant::now());
            let share = pace.share().filter(|_| simulation.playing());
            let picture = Arc::new(frame::picture(&mut simulation, share));
            site.latest.change(|latest| (latest.pictures, latest.picture) = (latest.pictures + 1, picture));
        }
        if judged != Some(simulation.version()) && asked.elapsed() >= GRADIENT_TIME {
            (judged, asked) = (Some(simulation.version()), Instant::now());
            let job = simulation.gradient_job();
            site.jobs.change(|waiting| *waiting = job);
        }
    }
}

/// Computes the gradients that are asked for, the latest first; those in between are left out.
fn differentiate(scene: &dyn Scene, bodies: &[String], site: &Site<'_>) {
    let Some(mut stage) = scene.stage() else { return };
    while !site.stops() {
        let Some(job) = site.jobs.wait(Option::take) else { continue };
        let begun = Instant::now();
        let result = gradient::compute(scene, stage.as_mut(), bodies, &job);
        let message = Arc::new(frame::gradient(&result));
        site.latest.change(|latest| (latest.gradients, latest.gradient) = (latest.gradients + 1, message));
        // Half of the time is left to the motion and the browser.
        let until = Instant::now() + begun.elapsed().min(MOST_REST);
        while !site.stops() && Instant::now() < until {
            thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
    }
}

/// Gives each connection a thread.
fn accept<'scope>(scope: &'scope Scope<'scope, '_>, listener: &TcpListener, site: &'scope Site<'_>) {
    while !site.stops() {
        let Ok((mut stream, _)) = listener.accept() else {
            // Out of descriptors, or a client that went away: others may come.
            thread::sleep(LOOK);
            continue;
        };
        let timed = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.set_nodelay(true));
        if timed.is_err() || site.stops() {
            continue;
        }
        if site.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            site.connections.fetch_sub(1, Ordering::Relaxed);
            refuse(&mut stream, &Refusal::new(503, "there are too many connections"));
            continue;
        }
        scope.spawn(move || {
            // A client that goes away ends its thread, nothing else.
            let _ = connection(&mut stream, site);
            site.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn connection(stream: &mut TcpStream, site: &Site<'_>) -> io::Result<()> {
    let request = match http::read(stream, &|| site.stops()) {
        Ok(Some(request)) => request,
        Ok(None) => return Ok(()),
        Err(refusal) => {
            refuse(stream, &refusal);
            return Ok(());
        }
    };
    let path = match site.guard.check(&request) {
        Ok(path) => path,
        Err(refusal) => {
            refuse(stream, &refusal);
            return Ok(());
        }
    };
    match (request.method.as_str(), path) {
        ("GET", "") => http::answer(stream, 200, "text/html; charset=utf-8", page::DOCUMENT.as_bytes()),
        ("GET", "view.js") => {
            http::answer(stream, 200, "text/javascript; charset=utf-8", site.script.as_bytes())
        }
        ("GET", "view.css") => http::answer(stream, 200, "text/css; charset=utf-8", site.style.as_bytes()),
        ("GET", "scene") => http::answer(stream, 200, "application/json", site.description.as_bytes()),
        ("GET", "state") => answer_command(stream, site, None),
        ("GET", "stream") => send_pictures(stream, site),
        ("POST", "command") => match command(&request) {
            Ok(command) => answer_command(stream, site, Some(command)),
            Err(refusal) => {
                refuse(stream, &refusal);
                Ok(())
            }
        },
        (_, "" | "view.js" | "view.css" | "scene" | "state" | "stream" | "command") => {
            refuse(stream, &Refusal::new(405, "this path does not take that method"));
            Ok(())
        }
        _ => {
            refuse(stream, &Refusal::new(404, "there is nothing here"));
            Ok(())
        }
    }
}

fn command(request: &Request) -> Result<Command, Refusal> {
    serde_json::from_slice(&request.body)
        .map_err(|e| Refusal::new(400, format!("this is no command: {}", e.to_string().replace('\n', " "))))
}

/// Says in one line of JSON why nothing was done, and waits for the client to have read it.
fn refuse(stream: &mut TcpStream, refusal: &Refusal) {
    let body = json!({ "error": refusal.reason }).to_string();
    // A client that went away need not be told.
    let _ = http::answer(stream, refusal.status, "application/json", body.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    // What was not read would make the system discard the answer.
    http::discard(stream);
}

/// Has the simulation obey a command, and answers where it is then.
fn answer_command(stream: &mut TcpStream, site: &Site<'_>, command: Option<Command>) -> io::Result<()> {
    // Vectors are told to those who ask for them.
    let whole = command.is_none();
    let (answer, answered) = mpsc::sync_channel(1);
    if site.commands.try_send(Asked { command, answer }).is_err() {
        refuse(stream, &Refusal::new(503, "there are too many commands"));
        return Ok(());
    }
    let begun = Instant::now();
    let done = loop {
        match answered.recv_timeout(LOOK) {
            Ok(done) => break done,
            Err(RecvTimeoutError::Timeout) if !site.stops() && begun.elapsed() < MOST_TIME => {}
            Err(_) => break Err("the simulation does not answer".into()),
        }
    };
    match done {
        Ok(report) if whole => {
            let body = serde_json::to_vec(&report).map_err(io::Error::from)?;
            http::answer(stream, 200, "application/json", &body)
        }
        Ok(Report { time, step, playing, speed, halted, .. }) => {
            let body: Value =
                json!({ "time": time, "step": step, "playing": playing, "speed": speed, "halted": halted });
            http::answer(stream, 200, "application/json", body.to_string().as_bytes())
        }
        Err(why) => {
            refuse(stream, &Refusal::new(400, why));
            Ok(())
        }
    }
}

/// Sends the latest picture and gradient whenever there is a new one, until the client goes.
fn send_pictures(stream: &mut TcpStream, site: &Site<'_>) -> io::Result<()> {
    http::begin_stream(stream)?;
    let (mut pictures, mut gradients) = (0, 0);
    while !site.stops() {
        let news = |latest: &mut Latest| {
            (latest.pictures != pictures || latest.gradients != gradients).then(|| latest.clone())
        };
        let Some(latest) = site.latest.wait(news) else { continue };
        if latest.pictures != pictures {
            stream.write_all(&latest.picture)?;
        }
        if latest.gradients != gradients {
            stream.write_all(&latest.gradient)?;
        }
        (pictures, gradients) = (latest.pictures, latest.gradients);
    }
    Ok(())
}
