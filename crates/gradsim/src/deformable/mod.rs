//! Soft bodies and cloth (gradSim 4.1.2 to 4.3, appendices C, E, F).
//!
//! | module | what of the paper |
//! |---|---|
//! | `materials` | Table 3, Fig. 3: Lamé parameters of beams, balls and cloths |
//! | `particles` | Table 3: masses and velocities of every particle |
//! | `control` | Figs. 5, 6a: walker and gear moved to where a picture shows them |
//! | `smoke` | C.4: first velocities that form a desired pattern |

mod control;
mod filmed;
mod materials;
mod particles;
mod pyramid;
mod shots;
mod smoke;

use pullback_core::registry::Entry;
use pullback_core::sources::GRADSIM;

use crate::experiment::Experiment;

/// The experiments of this module.
pub const TABLE: &[Entry<Experiment>] = &[
    Entry::cited(
        "materials",
        "Lamé parameters of beams, balls and cloths from videos",
        GRADSIM.at("Table 3, Fig. 3"),
        materials::run,
    ),
    Entry::cited(
        "masses",
        "the mass of every particle of an elastic ball from a video",
        GRADSIM.at("Table 3"),
        particles::masses,
    ),
    Entry::cited(
        "velocities",
        "the first velocity of every particle of a cloth from a video",
        GRADSIM.at("Table 3"),
        particles::velocities,
    ),
    Entry::cited(
        "control-walker",
        "a flat walker goes where a picture shows it, by a network of sines",
        GRADSIM.at("Fig. 5"),
        control::walker,
    ),
    Entry::cited(
        "control-fem",
        "an elastic gear goes where a picture shows it, by a network of sines",
        GRADSIM.at("Figs. 5, 6a"),
        control::gear,
    ),
    Entry::cited(
        "smoke",
        "first velocities so that a disc of smoke becomes a star",
        GRADSIM.at("C.4"),
        smoke::run,
    ),
];
