//! Which link hangs on which: one root, no loops, every name known.

use std::collections::HashMap;

use super::read::Robot;
use crate::{ImportError, Place};

/// Links in an order in which parents stand before their children, each with the joint that carries it (none:
/// the root).
pub(super) fn order(robot: &Robot) -> Result<Vec<(usize, Option<usize>)>, ImportError> {
    let refuse = |place: &Place, why: String| Err(ImportError::new(place, why));
    let mut link_of = HashMap::new();
    for (i, link) in robot.links.iter().enumerate() {
        if link_of.insert(link.name.as_str(), i).is_some() {
            return refuse(&link.place, format!("two links are called `{}`", link.name));
        }
    }
    let mut names = std::collections::HashSet::new();
    let mut carried = vec![false; robot.links.len()];
    let mut children: Vec<Vec<(usize, usize)>> = vec![Vec::new(); robot.links.len()];
    for (j, joint) in robot.joints.iter().enumerate() {
        if !names.insert(joint.name.as_str()) {
            return refuse(&joint.place, format!("two joints are called `{}`", joint.name));
        }
        let (Some(&parent), Some(&child)) =
            (link_of.get(joint.parent.as_str()), link_of.get(joint.child.as_str()))
        else {
            let known = link_of.contains_key(joint.parent.as_str());
            let missing = if known { &joint.child } else { &joint.parent };
            return refuse(
                &joint.place,
                format!("joint `{}` names the link `{missing}`, which does not exist", joint.name),
            );
        };
        if std::mem::replace(&mut carried[child], true) {
            let reason = format!("link `{}` is the child of two joints; a URDF robot is a tree", joint.child);
            return refuse(&joint.place, reason);
        }
        children[parent].push((child, j));
    }

    let roots: Vec<usize> = (0..robot.links.len()).filter(|i| !carried[*i]).collect();
    match roots.as_slice() {
        [] if robot.links.is_empty() => {
            return refuse(&robot.place, "the robot has no link".into());
        }
        [] => return refuse(&robot.joints[0].place, "the joints form a loop and leave no root".into()),
        [_] => {}
        [first, second, ..] => {
            let (a, b) = (&robot.links[*first].name, &robot.links[*second].name);
            return refuse(
                &robot.links[*second].place,
                format!("`{a}` and `{b}` are both roots; join them by a joint"),
            );
        }
    }

    // Depth first, children in the order of the file.
    let mut order = Vec::with_capacity(robot.links.len());
    let mut pending = vec![(roots[0], None)];
    while let Some((link, by)) = pending.pop() {
        order.push((link, by));
        pending.extend(children[link].iter().rev().map(|(child, j)| (*child, Some(*j))));
    }
    if order.len() < robot.links.len() {
        // With one root and one parent per link, what the root does not reach goes round in circles.
        let mut reached = vec![false; robot.links.len()];
        order.iter().for_each(|(i, _)| reached[*i] = true);
        let lost = (0..reached.len()).find(|i| !reached[*i]).unwrap_or(0);
        let link = &robot.links[lost];
        return refuse(
            &link.place,
            format!("link `{}` is part of a loop that does not reach the root", link.name),
        );
    }
    Ok(order)
}
