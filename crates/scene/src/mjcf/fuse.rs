//! `fusestatic`: bodies without joints melt into their parents; and the final order of bodies.

use std::collections::HashSet;

use super::body::Node;
use super::inertia::Inertial;
use super::settings::InertiaSource;

/// Melts every body without joints that is not in `kept` into its parent. Nodes stand parents first.
/// Mocap bodies stay, and so does what has another gravity compensation than its parent. With
/// `inertiafromgeom="true"` MuJoCo weighs the geoms of both once more: what has no geoms loses its mass, and
/// bodies whose inertia was repaired stay.
pub(super) fn fuse_static(nodes: &mut [Node], kept: &HashSet<usize>, source: InertiaSource) {
    for i in 1..nodes.len() {
        let node = &nodes[i];
        if !node.joints.is_empty() || node.mocap || node.kept || kept.contains(&i) {
            continue;
        }
        let (parent, pose) = (node.parent, node.pose);
        let by_geoms = source == InertiaSource::Geoms;
        let carried = nodes[parent].gravity_compensation != nodes[i].gravity_compensation;
        let repaired = nodes[parent].repaired || nodes[i].repaired;
        if parent != 0 && (carried || (by_geoms && repaired)) {
            continue;
        }
        let node = &mut nodes[i];
        let inertial = node.inertial.in_frame(pose);
        node.carry(pose);
        let (geoms, sites) = (std::mem::take(&mut node.geoms), std::mem::take(&mut node.sites));
        let (cameras, lights) = (std::mem::take(&mut node.cameras), std::mem::take(&mut node.lights));
        let inferred = node.inferred;
        node.fused = true;
        // The children stay listed here, so that they take this body's place among its siblings.
        let children = std::mem::take(&mut node.children);
        for child in &children {
            nodes[*child].parent = parent;
            nodes[*child].pose = pose.compose(nodes[*child].pose);
        }
        nodes[i].children = children;
        let into = &mut nodes[parent];
        if parent != 0 {
            // What has no mass adds nothing, even if `boundinertia` gave it inertia.
            let counts = |inferred: bool, p: &Inertial| p.mass > 0.0 && (inferred || !by_geoms);
            let parts = [(into.inferred, into.inertial), (inferred, inertial)];
            let parts: Vec<Inertial> =
                parts.into_iter().filter(|(i, p)| counts(*i, p)).map(|(_, p)| p).collect();
            into.inferred |= inferred;
            into.inertial = Inertial::sum(&parts).unwrap_or(into.inertial);
        }
        into.geoms.extend(geoms);
        into.sites.extend(sites);
        into.cameras.extend(cameras);
        into.lights.extend(lights);
    }
}

/// The bodies that were not fused, depth first, with parents renumbered.
pub(super) fn in_order(nodes: Vec<Node>) -> Vec<Node> {
    let mut slots: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    let mut ordered: Vec<Node> = Vec::with_capacity(slots.len());
    let mut stack = vec![(0, 0)];
    while let Some((index, parent)) = stack.pop() {
        let Some(mut node) = slots[index].take() else { continue };
        node.parent = parent;
        let own = if node.fused { parent } else { ordered.len() };
        stack.extend(node.children.iter().rev().map(|child| (*child, own)));
        if !node.fused {
            ordered.push(node);
        }
    }
    ordered
}
