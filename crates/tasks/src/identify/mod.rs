//! Identification: parameters of a scene from recordings of its motion.
//!
//! | file | what |
//! |---|---|
//! | `table.rs` | a recording as a table of numbers, read from CSV |
//! | `columns.rs` | what its columns measure: states, sensors, controls |
//! | `unknowns.rs` | what is to be found: entries of the parameters by pattern, ties, transforms, bounds |
//! | `outputs.rs` | states and sensor readings as outputs that are compared |
//! | `setup.rs` | recordings as rollouts with measured samples |
//! | `run.rs` | rounds of fits that find the noise of each channel too; curves and residuals of the result |
//! | `made_up.rs` | the built-in tasks: scenes with a made-up truth |
//! | `film.rs`, `from_video.rs` | the same tasks seen by a camera; fits of their pixels |

mod columns;
mod film;
mod from_video;
mod made_up;
mod outputs;
mod run;
mod setup;
mod table;
#[cfg(test)]
mod tests;
mod unknowns;

pub use columns::sensor_names;
pub use film::{Filmed, Filming, MadeFilm};
pub use from_video::{FromVideo, FromVideoError, identify_from_video};
pub use made_up::{IDENTIFICATIONS, Made, MadeUp, Truth};
pub use outputs::SceneOutputs;
pub use run::{ChannelReport, Curve, Identified, IdentifyError, RunSettings, identify};
pub use setup::{ChannelInfo, Question, RecordedMotion, Setup};
pub use table::Table;
pub use unknowns::{Asked, TransformName, Unknowns};
