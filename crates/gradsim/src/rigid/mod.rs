//! Rigid bodies (gradSim 4.1.1, 4.1.3, 4.3.3, appendices C.3, F, G, H.1).
//!
//! | module | what of the paper |
//! |---|---|
//! | `object` | a body in the shape of a mesh, pushed in front of a camera |
//! | `search` | searches along videos that grow, from several starts |
//! | `bits` | frames as files keep them |
//! | `mass`, `reinforce` | Table 1: masses from videos, and without gradients |
//! | `contact` | Table 2: mass, elasticity and friction jointly |
//! | `landscape` | Figs. 4, 12: the loss over the mass, with more and fewer frames |
//! | `cues` | Fig. 7: what shading and texture add |
//! | `pendula`, `chain` | C.3: lengths and first angles of pendula, and how they look |
//! | `ball` | speed and gravity of a ball that bounces |

mod ball;
mod bits;
mod chain;
mod contact;
mod cues;
mod landscape;
mod mass;
mod object;
mod pendula;
mod reinforce;
mod search;

use pullback_core::registry::Entry;
use pullback_core::sources::GRADSIM;

use crate::experiment::Experiment;

/// The experiments of this module.
pub const TABLE: &[Entry<Experiment>] = &[
    Entry::cited("mass", "the mass of rigid bodies of all shapes from videos", GRADSIM.at("Table 1"), mass::usual),
    Entry::cited("mass-tiny", "the mass of bodies of 1 g to 100 g from videos", GRADSIM.at("Table 1"), mass::tiny),
    Entry::cited(
        "contact",
        "mass, stiffness, damping and friction of bouncing bodies jointly from videos",
        GRADSIM.at("Table 2"),
        contact::run,
    ),
    Entry::cited(
        "landscape-mass",
        "the loss of a cube's video over its mass, with more and fewer frames",
        GRADSIM.at("Figs. 4, 12"),
        landscape::run,
    ),
    Entry::cited(
        "cues",
        "gradient descent on the mass with only color, shading and texture",
        GRADSIM.at("Fig. 7"),
        cues::run,
    ),
    Entry::cited(
        "pendula",
        "lengths and first angles of a simple and a double pendulum from videos",
        GRADSIM.at("C.3"),
        pendula::run,
    ),
    Entry::cited(
        "ball",
        "speed and gravity of a bouncing ball from a video",
        GRADSIM.at("C.3, code demo_bounce2d"),
        ball::run,
    ),
];
