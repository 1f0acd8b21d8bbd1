//! `snu-humanoid`: a lower body with 152 muscles, to run along x (DFlex).
//!
//! Limits of hinges are as stiff as the masses they move in the source; here they share the stiffness of the
//! heaviest, the shin's 3 kg.

use pullback_core::ConfigError;

use super::locomotion::{Effort, HeightReward, Physics, Runner, Running};
use super::robots::Dflex;

/// The task.
pub fn task() -> Result<Runner, ConfigError> {
    // Two legs: hip (quaternion), knee, ankle (quaternion), two toes.
    let leg = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    Runner::new(Running {
        model: pullback_models::SNU,
        physics: Physics::Dflex(Dflex {
            substeps: 48,
            contact: [5e3, 2e3, 1e3],
            limit: [200.0, 2.0],
            root_armature: 0.0,
        }),
        start: ([-0.0308, 0.0, 1.0], [leg, leg].concat()),
        joint_noise: 0.0,
        target: 10_000.0,
        fallen: 0.46,
        height: HeightReward::None,
        effort: Effort::Muscles(0.001),
        sees_action: false,
    })
}
