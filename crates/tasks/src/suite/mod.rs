//! The task suite of BO-Leap (Antonova et al., CoRL 2022), but for what the material point method moves:
//! rigid bodies, and sheets of springs.
//!
//! | task | variables | source | a loss of zero |
//! |---|---|---|---|
//! | `cartpole` | 100 forces | section 4 (classic) | exists |
//! | `cartpole-3link` | 100 × (cart velocity, 3 torques) | A.1.1 | exists |
//! | `pinball-2`, `pinball-16` | angle of each bar | A.1.2 | exists for most targets on the floor |
//! | `bounce` | initial velocity | B.1, Warp's example | exists |
//! | `swing-3-single`, `-corner`, `-mesh` | initial velocity | A.2.3 | exists: the goal is a motion |
//! | `swing-16-single`, `-corner`, `-mesh` | 4 × 4 patch stiffnesses | A.2.3 | exists: the goal is a motion |
//! | `flip` | 5 × (x, height, tilt) of the pan | A.2.4 | not known |
//! | `cloth-lift` | width, length, mass, friction, 8 × 8 stiffnesses | 5.2 | noise remains |
//!
//! The authors' code is not public and the paper gives few constants. These are ours:
//!
//! | task | constants of our own |
//! |---|---|
//! | `cartpole`, `cartpole-3link` | control step 20 ms in 4 inner steps (2 s); cart 1 kg, links 0.5, 0.3, 0.15 kg as thin rods, joint damping 0.05 N m s (one link) and 0.2 N m s (three); starts hanging; servo 500 N s/m; bounds 20 N, 2 m/s, 5 N m; targets (0.5, 0.9) and (1, 2) m from the pivot |
//! | `pinball-*` | ball radius 0.15 m, bars of edge radius 0.05 m and length 0.7 of their distance, rows evenly spaced; restitution 0.5, friction 0.05; ball from (−0.9, 9.5) m at rest, 3 s, step 2.5 ms; target (3, 0.15) m; angles within ± π/2, start −0.3 (two bars) and ∓ 0.56 from row to row |
//! | `bounce` | ball 1 kg, radius 0.1 m; start and target are those of Warp's example; vertical velocity within −10 … 0 m/s |
//! | `swing-*` | 8 × 8 cells, 20 g, 30 N/m (bounds 5 … 100), across two cells a sixth of it, 0.005 N s/m; level at 0.25 m; 0.5 s, step 0.5 ms; velocity (0.6, 0, −0.6) m/s (bounds ± 2); goals from (0.8, 0.3, −0.5) m/s, and from 15 N/m inside, 60 N/m at the rim |
//! | `flip` | segments of 0.2 s, step 1 ms; pan at 0.5 m, flat to 0.15 m, rim 3 cm; pancake of radius 12 cm, 4 rings of 12, 40 g, 20 and 10 N/m, 0.02 N s/m; bounds ± 0.4 m, ± 1.2 rad |
//! | `cloth-lift` | 8 × 8 cells, 0.003 N s/m, step 1/2400 s, 30 frames per second; bounds 0.1 … 0.4 m, 10 … 50 g, friction 0 … 1, 2 … 50 N/m; our own recording: 1.2 s, grippers move 8 cm forward and 15 cm up, noise 0.5 mm |
//!
//! Next to each task its constants say which of them are the paper's. All gradients are exact for the
//! discrete steps taken; where a step is itself discontinuous (a touch one step earlier), so is the loss, as
//! the paper reports.

mod board;
mod bounce;
mod cartpole;
#[cfg(test)]
mod check;
mod cloth_lift;
mod corner_track;
pub mod flip;
pub mod losses;
mod pinball;
pub mod sheet;
pub mod surfaces;
pub mod swing;
mod tangential;

use pullback_core::registry::Entry;
use pullback_core::sources::BO_LEAP;
use swing::{Goal, Variables, swing};

use crate::objectives::{Build, Task};

/// The tasks of the suite.
pub const TASKS: &[Task] = &[
    Entry::cited(
        "cartpole",
        "force on a cart in each of 100 steps so that its pole's tip is at a target",
        BO_LEAP.at("section 4"),
        Build::Plain(cartpole::cartpole),
    ),
    Entry::cited(
        "cartpole-3link",
        "cart velocity and three joint torques in each of 100 steps for a pole of three links",
        BO_LEAP.at("A.1.1"),
        Build::Plain(cartpole::cartpole_3link),
    ),
    Entry::cited(
        "pinball-2",
        "angles of two bars that guide a falling ball to the bottom right",
        BO_LEAP.at("A.1.2"),
        Build::Plain(pinball::pinball_2),
    ),
    Entry::cited(
        "pinball-16",
        "the same with four rows of four bars",
        BO_LEAP.at("A.1.2"),
        Build::Plain(pinball::pinball_16),
    ),
    Entry::cited(
        "bounce",
        "velocity that takes a ball off the ground to a target after 2 s, with Warp's contact",
        BO_LEAP.at("B.1"),
        Build::Plain(bounce::bounce),
    ),
    Entry::cited(
        "swing-3-single",
        "velocity of a cloth swung onto the floor so that its center is at a goal",
        BO_LEAP.at("A.2.3"),
        Build::Plain(|| swing(Variables::Velocity, Goal::Single)),
    ),
    Entry::cited(
        "swing-3-corner",
        "the same for its four corners",
        BO_LEAP.at("A.2.3"),
        Build::Plain(|| swing(Variables::Velocity, Goal::Corner)),
    ),
    Entry::cited(
        "swing-3-mesh",
        "the same for all its vertices",
        BO_LEAP.at("A.2.3"),
        Build::Plain(|| swing(Variables::Velocity, Goal::Mesh)),
    ),
    Entry::cited(
        "swing-16-single",
        "stiffness of 16 patches of a cloth swung onto the floor so that its center is at a goal",
        BO_LEAP.at("A.2.3"),
        Build::Plain(|| swing(Variables::Stiffness, Goal::Single)),
    ),
    Entry::cited(
        "swing-16-corner",
        "the same for its four corners",
        BO_LEAP.at("A.2.3"),
        Build::Plain(|| swing(Variables::Stiffness, Goal::Corner)),
    ),
    Entry::cited(
        "swing-16-mesh",
        "the same for all its vertices",
        BO_LEAP.at("A.2.3"),
        Build::Plain(|| swing(Variables::Stiffness, Goal::Mesh)),
    ),
    Entry::cited(
        "flip",
        "15 waypoints of a pan that tosses a pancake over",
        BO_LEAP.at("A.2.4"),
        Build::Plain(flip::flip),
    ),
    Entry::cited(
        "cloth-lift",
        "68 properties of a sheet from its corners while it is lifted; cloth-lift:FILE.csv for your own",
        BO_LEAP.at("section 5.2"),
        Build::WithFile(cloth_lift::cloth_lift),
    ),
];
