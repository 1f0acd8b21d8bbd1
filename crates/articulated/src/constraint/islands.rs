//! Islands: trees that constraints join, which are solved apart from all others.

use pullback_core::Workspace;
use pullback_math::Real;

use super::set::{ConstraintSet, Group};
use crate::tree::Tree;

/// Which degrees of freedom and which blocks each island has.
#[derive(Clone, Debug, Workspace)]
pub struct Islands {
    /// Tree of each degree of freedom.
    tree_of: Vec<usize>,
    #[workspace(plain)]
    trees: usize,
    /// Island of each tree by union-find; then its number, or none.
    parent: Vec<usize>,
    number: Vec<Option<usize>>,
    #[workspace(plain)]
    count: usize,
    dofs: Vec<usize>,
    dof_start: Vec<usize>,
    blocks: Vec<usize>,
    block_start: Vec<usize>,
    groups: Vec<Group>,
    group_start: Vec<usize>,
}

impl Islands {
    /// Memory for a model.
    pub fn new(tree: &Tree) -> Self {
        let mut numbered: Vec<usize> = Vec::new();
        let tree_of: Vec<usize> = (tree.dof_body.iter())
            .map(|body| {
                let root = tree.root[*body];
                numbered.iter().position(|r| *r == root).unwrap_or_else(|| {
                    numbered.push(root);
                    numbered.len() - 1
                })
            })
            .collect();
        let (n, trees) = (tree_of.len(), numbered.len());
        Islands {
            tree_of,
            trees,
            parent: Vec::with_capacity(trees),
            number: Vec::with_capacity(trees),
            count: 0,
            dofs: Vec::with_capacity(n),
            dof_start: Vec::with_capacity(trees + 1),
            blocks: Vec::new(),
            block_start: Vec::with_capacity(trees + 1),
            groups: Vec::new(),
            group_start: Vec::with_capacity(trees + 1),
        }
    }

    fn find(&self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            tree = self.parent[tree];
        }
        tree
    }

    /// Finds the islands of a set of constraints.
    pub fn update<T: Real>(&mut self, constraints: &ConstraintSet<T>) {
        self.parent.clear();
        self.parent.extend(0..self.trees);
        self.number.clear();
        self.number.resize(self.trees, None);
        for block in 0..constraints.blocks.len() {
            let dofs = constraints.dofs(block);
            let first = self.find(self.tree_of[dofs[0]]);
            for dof in &dofs[1..] {
                let other = self.find(self.tree_of[*dof]);
                let root = self.find(first);
                let (low, high) = (root.min(other), root.max(other));
                self.parent[high] = low;
            }
        }
        // Numbers in the order of the trees.
        for block in 0..constraints.blocks.len() {
            let root = self.find(self.tree_of[constraints.dofs(block)[0]]);
            self.number[root] = Some(0);
        }
        self.count = 0;
        for tree in 0..self.trees {
            let root = self.find(tree);
            if root == tree && self.number[tree].is_some() {
                self.number[tree] = Some(self.count);
                self.count += 1;
            } else if root != tree {
                self.number[tree] = self.number[root];
            }
        }
        self.dofs.clear();
        self.dof_start.clear();
        self.blocks.clear();
        self.blocks.reserve(constraints.blocks.capacity());
        self.block_start.clear();
        self.groups.clear();
        self.groups.reserve(constraints.blocks.capacity());
        self.group_start.clear();
        for island in 0..self.count {
            self.dof_start.push(self.dofs.len());
            self.block_start.push(self.blocks.len());
            self.group_start.push(self.groups.len());
            for (dof, tree) in self.tree_of.iter().enumerate() {
                if self.number[*tree] == Some(island) {
                    self.dofs.push(dof);
                }
            }
            for block in 0..constraints.blocks.len() {
                if self.number[self.tree_of[constraints.dofs(block)[0]]] == Some(island) {
                    self.blocks.push(block);
                }
            }
            constraints.push_groups(&self.blocks[self.block_start[island]..], &mut self.groups);
        }
        self.group_start.push(self.groups.len());
        self.dof_start.push(self.dofs.len());
        self.block_start.push(self.blocks.len());
    }

    /// Number of islands.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Degrees of freedom of an island, rising.
    pub fn dofs(&self, island: usize) -> &[usize] {
        &self.dofs[self.dof_start[island]..self.dof_start[island + 1]]
    }

    /// Blocks of an island, rising.
    pub fn blocks(&self, island: usize) -> &[usize] {
        &self.blocks[self.block_start[island]..self.block_start[island + 1]]
    }

    /// The same blocks in groups.
    pub fn groups(&self, island: usize) -> &[Group] {
        &self.groups[self.group_start[island]..self.group_start[island + 1]]
    }

    /// The groups of all islands.
    pub fn all_groups(&self) -> &[Group] {
        &self.groups
    }

    /// Degrees of freedom that some island has.
    pub fn all_dofs(&self) -> &[usize] {
        &self.dofs
    }
}
