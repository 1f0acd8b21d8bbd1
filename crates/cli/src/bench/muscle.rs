//! Muscles: steps of a hand and an arm of muscles, with and without gradients, beside MuJoCo
//! ([`beside_mujoco`](super::beside_mujoco)).
//!
//! The hand is our own, and MyoSuite's with two balls in it where `cargo xtask assets` has put its file.

use std::path::Path;

use pullback_tasks::Results;
use pullback_tasks::planning::TaskOptions;
use pullback_tasks::planning::swap;

use super::beside_mujoco::{Motion, Source, measure};
use crate::output::{CliError, Output};

/// MyoSuite's hand, from the project's root.
const MYOHAND: &str = "out/assets/myosuite/hand/myohand_baoding.xml";
/// Control of every muscle of MyoSuite's hand.
const TONE: f64 = 0.1;

pub fn run(seed: u64, output: &Output) -> Result<Results, CliError> {
    let mut results = Results::new("muscle");
    let own = |name, xml| Motion {
        name,
        source: Source::Text(xml),
        bound: 0.05,
        start: None,
        settle: 0.5,
        gradient_limit: 4.0,
    };
    let mut motions = vec![
        own("muscle_hand", pullback_models::MUSCLE_HAND),
        own("muscle_arm", pullback_models::MUSCLE_ARM),
    ];
    if Path::new(MYOHAND).exists() {
        let hand = swap::task(&TaskOptions { model: Some(MYOHAND.into()), from_distance: Some(0.0) })?.0;
        motions.push(Motion {
            name: "MyoSuite's hand",
            source: Source::File(MYOHAND.into()),
            bound: TONE,
            start: Some((hand.start, vec![TONE; hand.nominal.len()])),
            settle: 0.1,
            gradient_limit: 4.0,
        });
    } else {
        results.notes.push(format!("{MYOHAND} is not there: `cargo xtask assets` fetches MyoSuite's hand"));
    }
    measure(&mut results, "bench-muscle", &motions, seed, output)?;
    Ok(results)
}
