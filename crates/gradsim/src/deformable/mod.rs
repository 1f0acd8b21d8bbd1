//! Soft bodies and cloth (gradSim 4.1.2 to 4.3, appendices C, E, F).
//!
//! | module | what of the paper |
//! |---|---|
//! | `smoke` | C.4: first velocities that form a desired pattern |

mod smoke;

use pullback_core::registry::Entry;
use pullback_core::sources::GRADSIM;

use crate::experiment::Experiment;

/// The experiments of this module.
pub const TABLE: &[Entry<Experiment>] = &[Entry::cited(
    "smoke",
    "first velocities so that a disc of smoke becomes a star",
    GRADSIM.at("C.4"),
    smoke::run,
)];
