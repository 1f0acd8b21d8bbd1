//! `ant`: four legs and eight torques, to run along x (DFlex).

use pullback_core::ConfigError;

use super::locomotion::{Effort, HeightReward, Physics, Runner, Running};
use super::robots::Dflex;

/// The task.
pub fn task() -> Result<Runner, ConfigError> {
    Runner::new(Running {
        model: pullback_models::ANT,
        physics: Physics::Dflex(Dflex {
            substeps: 16,
            contact: [4e4, 1e4, 3e3],
            limit: [1e3, 10.0],
            root_armature: 0.0,
        }),
        start: ([0.0, 0.0, 0.75], vec![0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]),
        joint_noise: 0.2,
        target: 10_000.0,
        fallen: 0.27,
        height: HeightReward::Above(0.27),
        effort: Effort::Squares(0.0),
        sees_action: true,
    })
}
