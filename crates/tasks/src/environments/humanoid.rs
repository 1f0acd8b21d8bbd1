//! `humanoid`: 21 torques, to run along x (DFlex).

use pullback_core::ConfigError;

use super::locomotion::{Effort, HeightReward, Physics, Runner, Running};
use super::robots::Dflex;

/// The task.
pub fn task() -> Result<Runner, ConfigError> {
    Runner::new(Running {
        model: pullback_models::HUMANOID,
        physics: Physics::Dflex(Dflex {
            substeps: 48,
            contact: [2e4, 5e3, 1e3],
            limit: [1e3, 10.0],
            root_armature: 0.0,
        }),
        start: ([0.0, 0.0, 1.35], vec![0.0; 21]),
        joint_noise: 0.2,
        target: 200.0,
        fallen: 0.74,
        height: HeightReward::Shaped { from: 0.84, cap: 0.1, slope: 10.0 },
        effort: Effort::Squares(0.002),
        sees_action: true,
    })
}
