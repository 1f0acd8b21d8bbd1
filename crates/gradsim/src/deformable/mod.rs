//! Soft bodies and cloth (gradSim 4.1.2 to 4.3, appendices C, E, F).
//!
//! | module | what of the paper |
//! |---|---|
//! | `materials` | Table 3, Fig. 3: Lamé parameters of beams, balls and cloths |
//! | `particles` | Table 3: masses and velocities of every particle |
//! | `control` | Figs. 5, 6a: walker and gear moved to where a picture shows them |
//! | `cloth` | Figs. 5, 6b: a cloth thrown to where a picture shows it |
//! | `landscape` | Figs. 4, 11: the loss over the Lamé parameters |
//! | `rates` | Table 4: rates of physics and rendering |
//! | `imperfect` | Table 4: masses by models that are wrong |
//! | `smoke` | C.4: first velocities that form a desired pattern |

mod cloth;
mod control;
pub(crate) mod filmed;
mod imperfect;
mod landscape;
mod materials;
mod particles;
pub(crate) mod pictures;
mod pyramid;
mod rates;
pub(crate) mod rigid_body;
pub(crate) mod shots;
mod smoke;
#[cfg(test)]
mod tests;

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
        "control-cloth",
        "a cloth is thrown to where a picture shows it",
        GRADSIM.at("Figs. 5, 6b"),
        cloth::run,
    ),
    Entry::cited(
        "landscape-lame",
        "the loss of a beam's video over both Lamé parameters",
        GRADSIM.at("Figs. 4, 11"),
        landscape::run,
    ),
    Entry::cited(
        "rates",
        "steps and pictures per second over numbers of tetrahedra",
        GRADSIM.at("Table 4"),
        rates::run,
    ),
    Entry::cited(
        "imperfect",
        "masses from videos when the model of motion or of pictures is wrong",
        GRADSIM.at("Table 4"),
        imperfect::run,
    ),
    Entry::cited(
        "smoke",
        "first velocities so that a disc of smoke becomes a star",
        GRADSIM.at("C.4"),
        smoke::run,
    ),
];
