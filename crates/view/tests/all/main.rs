//! Tests of the viewer.

mod browser;
mod client;
mod gradient;
mod server;
mod simulation;
