//! Joints that follow others: what leaders there are, and followers that stand still.

use std::collections::HashMap;

use pullback_articulated::model::{Mimic, Model};

use super::joint::Motion;
use super::read::{Reader, Robot};
use crate::ImportError;

/// Checks every leader. A fixed joint follows none; one that follows a fixed joint, perhaps through others,
/// stands still at multiplier · 0 + offset.
pub(super) fn settle(robot: &mut Robot, reader: &Reader) -> Result<(), ImportError> {
    for joint in robot.joints.iter_mut().filter(|j| j.motion == Motion::Fixed && j.mimic.is_some()) {
        reader.notes.add(&joint.place, "<mimic> of a fixed joint is not used");
        joint.mimic = None;
    }
    let leaders = leaders(robot)?;
    let held = held(robot, &leaders)?;
    for (joint, held) in robot.joints.iter_mut().zip(held) {
        if let (Some(at), true) = (held, joint.mimic.is_some()) {
            let sentence = format!("joint `{}` follows a fixed joint and stands still at {at}", joint.name);
            reader.notes.add(&joint.place, sentence);
            joint.hold_at(at);
        }
    }
    Ok(())
}

/// The leader of each joint that follows one.
fn leaders(robot: &Robot) -> Result<Vec<Option<usize>>, ImportError> {
    let index_of: HashMap<&str, usize> =
        robot.joints.iter().enumerate().map(|(i, j)| (j.name.as_str(), i)).collect();
    let mut leaders = vec![None; robot.joints.len()];
    for (follower, joint) in robot.joints.iter().enumerate() {
        let Some(follows) = &joint.mimic else { continue };
        let can_lead = |i: &usize| {
            let motion = robot.joints[*i].motion;
            *i != follower && (motion.is_scalar() || motion == Motion::Fixed)
        };
        let leader = index_of.get(follows.leader.as_str()).copied().filter(can_lead);
        if leader.is_none() || !joint.motion.is_scalar() {
            let reason = format!(
                "joint `{}` cannot mimic `{}`: both must exist, differ, and turn or slide; correct it or allow \
                 `mimic` to be ignored, which lets it move freely",
                joint.name, follows.leader
            );
            return Err(ImportError::new(&joint.place, reason));
        }
        leaders[follower] = leader;
    }
    Ok(leaders)
}

/// Where joints stand that cannot move, following leaders to their end.
fn held(robot: &Robot, leaders: &[Option<usize>]) -> Result<Vec<Option<f64>>, ImportError> {
    let mut known: Vec<Option<Option<f64>>> = robot
        .joints
        .iter()
        .zip(leaders)
        .map(|(joint, leader)| leader.is_none().then(|| (joint.motion == Motion::Fixed).then_some(0.0)))
        .collect();
    let mut on_path = vec![false; known.len()];
    for start in 0..known.len() {
        let (mut at, mut path) = (start, Vec::new());
        while let (None, Some(leader)) = (known[at], leaders[at]) {
            if std::mem::replace(&mut on_path[at], true) {
                let joint = &robot.joints[at];
                let reason = format!(
                    "joint `{}` mimics itself through others; let one of them move freely",
                    joint.name
                );
                return Err(ImportError::new(&joint.place, reason));
            }
            path.push(at);
            at = leader;
        }
        let mut value = known[at].flatten();
        for follower in path.into_iter().rev() {
            value = match (&robot.joints[follower].mimic, value) {
                (Some(follows), Some(value)) => Some(follows.multiplier * value + follows.offset),
                _ => None,
            };
            known[follower] = Some(value);
        }
    }
    Ok(known.into_iter().map(Option::flatten).collect())
}

/// Adds the followers to the model, whose joints have the names of the robot's.
pub(super) fn add(model: &mut Model, robot: &Robot) {
    let index_of: HashMap<&str, usize> =
        model.joints.iter().enumerate().map(|(i, j)| (j.name.as_str(), i)).collect();
    let mimic = |joint: &super::joint::Joint| {
        let follows = joint.mimic.as_ref()?;
        let (joint, of) = (*index_of.get(joint.name.as_str())?, *index_of.get(follows.leader.as_str())?);
        Some(Mimic { joint, of, multiplier: follows.multiplier, offset: follows.offset })
    };
    let mimics = robot.joints.iter().filter_map(mimic).collect();
    model.mimics = mimics;
}
