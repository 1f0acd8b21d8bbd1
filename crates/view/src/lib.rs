//! Scenes that run live in a browser.
//!
//! A [`Viewer`] serves a page on loopback. The simulation runs in a thread of its own at the rate of the clock;
//! the page shows it and sends [`Command`]s: pause, step, start anew, pull a body, set controls and parameters,
//! ask for the gradient of a quantity. The gradient is that of
//! [`Rollout::gradient`](pullback_core::Rollout::gradient), computed in a second thread.
//!
//! | file | what |
//! |---|---|
//! | `simulation.rs` | a scene stepped one step at a time under commands |
//! | `drag.rs` | the spring that pulls a body |
//! | `gradient.rs`, `quantity.rs` | what is differentiated, and with respect to what |
//! | `pace.rs` | steps at the rate of the clock |
//! | `frame.rs` | what is sent for each picture |
//! | `http.rs`, `guard.rs` | requests, and which of them are refused |
//! | `server.rs` | threads and routes |
//! | `web/` | the page, on top of the scripts of `pullback-replay` |
//!
//! *Security.* The server listens on 127.0.0.1 alone. A request must name it as its host, come from its own page
//! where it says where it comes from, and carry the random token of the URL, so that neither a page of another
//! origin nor a name that is made to point here is obeyed. Requests, clients and waiting times are bounded.
//!
//! *Limits.* Of a built-in scene no body is pulled: pushes are controls that only model files are given.

mod command;
mod describe;
mod drag;
mod frame;
mod gradient;
mod guard;
mod http;
mod pace;
mod page;
mod quantity;
mod server;
mod simulation;

pub use command::{Command, Vector};
pub use gradient::{Arrow, EntryGradient, GradientReport, GradientRequest, MOST_STEPS};
pub use quantity::{Axis, Quantity};
pub use server::{ViewError, Viewer};
pub use simulation::{Report, Simulation};
