//! `ant-run`: four legs and eight torques, to run along x (Rewarped).
//!
//! Observation, reward, end and noise are those of `ant`. The physics are Warp's: legs touch each other, and
//! the model, 117 kg, is `models/ant_run.xml`. Torques are −200 a.

use pullback_core::ConfigError;

use super::locomotion::{Effort, HeightReward, Physics, Runner, Running};
use super::robots::ACTION;
use super::warp::{Material, Warp};

/// All geoms but the ground.
const ANT: Material = Material { stiffness: 4e3, damping: 1e3, friction_slope: 300.0, friction: 0.75 };

/// The task.
pub fn task() -> Result<Runner, ConfigError> {
    Runner::new(Running {
        model: pullback_models::ANT_RUN,
        physics: Physics::Warp(Warp { action: ACTION, substeps: 16, material: ANT, limit: [1e3, 10.0] }),
        start: ([0.0, 0.0, 0.75], vec![0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]),
        joint_noise: 0.2,
        target: 10_000.0,
        fallen: 0.27,
        height: HeightReward::Above(0.27),
        effort: Effort::Squares(0.0),
        sees_action: true,
    })
}

#[cfg(test)]
mod tests {
    use pullback_core::Described;
    use pullback_learn::env::TaskSpec;
    use pullback_physics::articulated::contact::pair_law;

    use super::*;

    #[test]
    fn masses_and_contacts_are_those_of_the_source() {
        let task = task().unwrap();
        let robot = task.robot().field();
        let mass = |name: &str| robot.model().bodies.iter().find(|b| b.name == name).unwrap().mass;
        assert!((mass("torso") - 31.7).abs() < 0.1);
        let total: f64 = robot.model().bodies.iter().map(|b| b.mass).sum();
        assert!((total - 117.0).abs() < 0.1, "{total}");

        // Ant on ground: the mean of two materials.
        let params = task.params().unwrap();
        let geom = |name: &str| robot.model().geoms.iter().position(|g| g.name == name).unwrap();
        let law = pair_law(robot.model(), robot.index(), &params, (geom("floor"), geom("front_left_foot")));
        assert_eq!([law.stiffness, law.damping, law.friction_slope], [5.2e4, 1e3, 650.0]);
        let friction =
            |name: &str| params[robot.layout().params.index_of(&format!("{name}.friction")).unwrap()];
        assert_eq!(0.5 * (friction("floor") + friction("front_left_foot")), 0.625);
    }
}
