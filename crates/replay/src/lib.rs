//! Recorded motions as one HTML file.
//!
//! A [`Replay`] is plain data: shapes fixed to bodies, and the pose of every body in every frame; shapes that
//! deform, and their vertices in every frame ([`ReplaySoft`]). [`Replay::to_html`] checks it and stitches it
//! together with a viewer written by hand in WebGL 1: one file with no external resource, which opens from
//! disk in any browser. Poses travel as base64 of binary arrays, 27 bytes per body and frame; soft vertices
//! take 8 bytes each.
//!
//! Limits: positions are rounded to `f32` and quaternions to 16 bits per component, soft
//! vertices to 1/65535 of the box they move in, so the file is for looking, not for
//! computing; contacts and forces are shown as recorded in the frame before, not interpolated.
//!
//! ```
//! use pullback_replay::{Frame, Replay, ReplayGeom, ReplayShape};
//!
//! let mut replay = Replay::new("A falling ball", 50.0);
//! replay.bodies.push("ball".into());
//! replay.geoms.push(ReplayGeom::new("ball", 0, ReplayShape::Sphere { radius: 0.1 }));
//! for k in 0..20 {
//!     let time = k as f64 / 50.0;
//!     let pose = ([0.0, 0.0, 2.0 - 4.9 * time * time], [1.0, 0.0, 0.0, 0.0]);
//!     replay.frames.push(Frame { time, poses: vec![pose], contacts: Vec::new() });
//! }
//! assert!(replay.to_html()?.starts_with("<!doctype html>"));
//! # Ok::<(), pullback_replay::ReplayError>(())
//! ```

mod encode;
mod error;
mod model;
mod page;
mod validate;
pub mod web;

pub use error::ReplayError;
pub use model::{ContactMark, Frame, Pose, Replay, ReplayGeom, ReplayShape, ReplaySoft, Up};
