//! The static structure that the sweeps run over.
//!
//! A *group* is a set of degrees of freedom that move together about one anchor. A hinge, a slide and a ball
//! joint are one group each; a free joint is two: three translations along the world's axes, then a ball.

use std::ops::Range;

use super::model::{Joint, JointKind, Model};

/// How a group moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// One rotation about an axis.
    Hinge,
    /// One translation along an axis.
    Slide,
    /// Three rotations about the body's axes.
    Ball,
    /// Three translations along the world's axes.
    Translation,
}

/// Degrees of freedom that move together.
#[derive(Clone, Debug)]
pub struct Group {
    /// How it moves.
    pub kind: GroupKind,
    /// The joint it belongs to.
    pub joint: usize,
    /// First coordinate.
    pub q: usize,
    /// Its velocities.
    pub dofs: Range<usize>,
}

/// The model as the sweeps see it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Parent of each body.
    pub parent: Vec<usize>,
    /// Root of the tree each body belongs to: the ancestor whose parent is the world.
    pub root: Vec<usize>,
    /// Groups of each body, in order.
    pub groups: Vec<Vec<Group>>,
    /// Body of each degree of freedom.
    pub dof_body: Vec<usize>,
    /// Joint of each degree of freedom.
    pub dof_joint: Vec<usize>,
    /// Row k of the mass matrix: k itself, then the degrees of freedom it hangs from, nearest first.
    pub ancestors: Vec<Vec<usize>>,
    /// Where row k starts in the packed mass matrix.
    pub row: Vec<usize>,
    /// Length of the packed mass matrix.
    pub packed: usize,
    /// Number of each body among those whose pose is an input.
    pub mocap: Vec<Option<usize>>,
}

impl Tree {
    /// The structure of a compiled model.
    pub fn new(model: &Model) -> Tree {
        let n = model.bodies.len();
        let parent: Vec<usize> = model.bodies.iter().map(|b| b.parent).collect();
        let mut root = vec![0; n];
        for b in 1..n {
            root[b] = if parent[b] == 0 { b } else { root[parent[b]] };
        }
        let mut groups = vec![Vec::new(); n];
        let mut dof_joint = vec![0; model.nv];
        for (index, joint) in model.joints.iter().enumerate() {
            dof_joint[joint.v..joint.v + joint.kind.velocities()].fill(index);
            groups[joint.body].extend(groups_of(joint, index));
        }
        let mut dof_body = vec![0; model.nv];
        let mut ancestors: Vec<Vec<usize>> = vec![Vec::new(); model.nv];
        let mut last_dof: Vec<Option<usize>> = vec![None; n];
        for b in 1..n {
            let mut last = last_dof[parent[b]];
            for k in groups[b].iter().flat_map(|g: &Group| g.dofs.clone()) {
                dof_body[k] = b;
                let above = last.map(|l| ancestors[l].clone()).unwrap_or_default();
                ancestors[k] = std::iter::once(k).chain(above).collect();
                last = Some(k);
            }
            last_dof[b] = last;
        }
        let mut row = Vec::with_capacity(model.nv);
        let mut packed = 0;
        for above in &ancestors {
            row.push(packed);
            packed += above.len();
        }
        let mut inputs = 0;
        let number = |moved: bool| {
            inputs += usize::from(moved);
            moved.then(|| inputs - 1)
        };
        let mocap = model.bodies.iter().map(|b| b.mocap).map(number).collect();
        Tree { parent, root, groups, dof_body, dof_joint, ancestors, row, packed, mocap }
    }

    /// Number of bodies, the world included.
    pub fn bodies(&self) -> usize {
        self.parent.len()
    }
}

fn groups_of(joint: &Joint, index: usize) -> Vec<Group> {
    let group = |kind, q: usize, v: usize, count: usize| Group { kind, joint: index, q, dofs: v..v + count };
    let (q, v) = (joint.q, joint.v);
    match joint.kind {
        JointKind::Hinge => vec![group(GroupKind::Hinge, q, v, 1)],
        JointKind::Slide => vec![group(GroupKind::Slide, q, v, 1)],
        JointKind::Ball => vec![group(GroupKind::Ball, q, v, 3)],
        JointKind::Free => {
            vec![group(GroupKind::Translation, q, v, 3), group(GroupKind::Ball, q + 3, v + 3, 3)]
        }
    }
}
