//! Rows between two bodies: their columns and their Jacobian.

use pullback_math::{Motion, Real, Vec3};

use super::cost::{Cost, MOST_ROWS};
use super::set::{ConstraintSet, Source};
use crate::kinematics::Kinematics;
use crate::tree::Tree;

/// Degrees of freedom that move each body, falling.
pub(crate) fn chains(tree: &Tree) -> Vec<Vec<usize>> {
    let mut chains: Vec<Vec<usize>> = vec![Vec::new(); tree.bodies()];
    for b in 1..tree.bodies() {
        let own = tree.groups[b].iter().flat_map(|g| g.dofs.clone()).rev();
        chains[b] = own.chain(chains[tree.parent[b]].iter().copied()).collect();
    }
    chains
}

/// Degrees of freedom, rising, of the tree of each root.
pub(crate) fn trees(tree: &Tree) -> Vec<Vec<usize>> {
    let mut trees: Vec<Vec<usize>> = vec![Vec::new(); tree.bodies()];
    for (k, body) in tree.dof_body.iter().enumerate() {
        trees[tree.root[*body]].push(k);
    }
    trees
}

/// Two falling lists without their common end.
fn apart<'a>(mut a: &'a [usize], mut b: &'a [usize]) -> (&'a [usize], &'a [usize]) {
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_last(), b.split_last()) {
        if x != y {
            break;
        }
        (a, b) = (rest_a, rest_b);
    }
    (a, b)
}

/// Two falling lists as one; what both have comes once.
pub(super) fn merged<'a>(a: &'a [usize], b: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let (x, y) = (a.get(i), b.get(j));
        i += usize::from(x.is_some() && x >= y);
        j += usize::from(y.is_some() && y >= x);
        x.max(y).copied()
    })
}

/// Which degrees of freedom the rows between two bodies have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Those that move one body and not the other: enough where both are seen at the same point.
    Apart,
    /// Those that move either body.
    All,
}

/// Bodies that rows lie between.
pub(crate) struct Between<'a, T> {
    /// Axes and points of the bodies.
    pub kinematics: &'a Kinematics<T>,
    /// Degrees of freedom that move each body, falling.
    pub chains: &'a [Vec<usize>],
}

impl<'a, T: Real> Between<'a, T> {
    /// The point that motions of a body are about.
    pub fn origin(&self, body: usize) -> Vec3<T> {
        self.kinematics.origins[body]
    }

    /// Degrees of freedom that move each of two bodies.
    pub fn columns(&self, columns: Columns, (first, second): (usize, usize)) -> (&'a [usize], &'a [usize]) {
        let (a, b) = (&self.chains[first], &self.chains[second]);
        if columns == Columns::All { (a, b) } else { apart(a, b) }
    }

    /// Visits the columns of rows between two bodies at one point, with the motion there of the second against the
    /// first when only that degree of freedom moves, and the arm and sign of the body that it moves.
    pub fn for_each_column(
        &self,
        bodies: (usize, usize),
        point: Vec3<T>,
        dofs: &[usize],
        mut visit: impl FnMut(usize, usize, Motion<T>, (Vec3<T>, T)),
    ) {
        let (first, _) = self.columns(Columns::Apart, bodies);
        let mut behind = first.iter().peekable();
        for (number, &k) in dofs.iter().enumerate() {
            let (body, sign) = match behind.next_if(|j| **j == k) {
                Some(_) => (bodies.0, -T::one()),
                None => (bodies.1, T::one()),
            };
            let (arm, axis) = (point - self.origin(body), self.kinematics.axes[k]);
            let motion = Motion::new(axis.angular * sign, axis.velocity_at(arm) * sign);
            visit(number, k, motion, (arm, sign));
        }
    }

    /// Appends a block over the degrees of freedom that move one body against another; none if nothing does.
    pub fn push(
        &self,
        set: &mut ConstraintSet<T>,
        source: Source,
        (cost, dim): (Cost, usize),
        columns: Columns,
        bodies: (usize, usize),
    ) -> Option<usize> {
        let (a, b) = self.columns(columns, bodies);
        (!a.is_empty() || !b.is_empty()).then(|| set.push(source, cost, dim, merged(a, b)))
    }

    /// Fills the Jacobian of a block by the motion of a point on the body `plus` against one on `minus`:
    /// `rows` turns a motion, linear at the point, into the rows.
    pub fn fill(
        &self,
        set: &mut ConstraintSet<T>,
        block: usize,
        columns: Columns,
        (plus, minus): (usize, usize),
        points: (Vec3<T>, Vec3<T>),
        rows: impl Fn(Motion<T>) -> [T; MOST_ROWS],
    ) {
        let dim = set.blocks[block].dim;
        let (positive, negative) = self.columns(columns, (plus, minus));
        let (jacobian, dofs) = set.jacobian_mut(block);
        let (mut i, mut j) = (0, 0);
        for (number, &k) in dofs.iter().enumerate() {
            let axis = self.kinematics.axes[k];
            let mut motion = Motion::zero();
            if positive.get(i) == Some(&k) {
                motion += Motion::new(axis.angular, axis.velocity_at(points.0 - self.origin(plus)));
                i += 1;
            }
            if negative.get(j) == Some(&k) {
                motion -= Motion::new(axis.angular, axis.velocity_at(points.1 - self.origin(minus)));
                j += 1;
            }
            let column = rows(motion);
            for (row, entry) in column.into_iter().enumerate().take(dim) {
                jacobian[row * dofs.len() + number] = entry;
            }
        }
    }
}
