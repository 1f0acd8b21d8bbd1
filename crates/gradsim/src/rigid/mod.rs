//! Rigid bodies (gradSim 4.1.1, 4.3, appendices C.3, F.3, G, H).
//!
//! | module | what of the paper |
//! |---|---|
//! | `toss` | a body, a known impulse, a camera; appendix G |
//! | `solid`, `states`, `fit`, `reinforce` | moments of meshes; supervision by states; fits; appendix H.1 |
//! | `mass` | Table 1: masses |
//! | `contact` | Table 2: mass, elasticity and friction together |
//! | `landscape` | Figs. 4 left and 12: the loss over the mass of a cube |
//! | `cues` | Fig. 7: color, shading, texture |
//! | `toys` | C.3: pendula, and a bouncing ball |

mod contact;
mod cues;
mod fit;
mod landscape;
mod mass;
mod reinforce;
mod solid;
mod states;
mod toss;
mod toys;

use pullback_core::registry::Entry;
use pullback_core::sources::GRADSIM;

use crate::experiment::Experiment;

/// The experiments of this module.
pub const TABLE: &[Entry<Experiment>] = &[
    Entry::cited(
        "rigid-mass",
        "the mass of a rigid body from a video, for every own mesh",
        GRADSIM.at("Table 1"),
        mass::run,
    ),
    Entry::cited(
        "rigid-contact",
        "mass, elasticity and friction of a body that falls and slides, from a video",
        GRADSIM.at("Table 2"),
        contact::run,
    ),
    Entry::cited(
        "rigid-landscape",
        "the loss of a video over the mass of a cube, and the length of the video",
        GRADSIM.at("Figs. 4 and 12"),
        landscape::run,
    ),
    Entry::cited("cues", "masses by color alone, shading and texture", GRADSIM.at("Fig. 7"), cues::run),
    Entry::cited("toys", "pendula and a bouncing ball from videos", GRADSIM.at("C.3"), toys::run),
];
