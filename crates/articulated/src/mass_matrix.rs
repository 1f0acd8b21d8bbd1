//! The joint-space mass matrix by composite rigid bodies, and its factorization along the tree.
//!
//! M_kj = S_j · (I^c S_k) where I^c is the inertia of everything that k carries; entries exist only between a
//! degree of freedom and those it hangs from. The factorization M = Lᵀ D L (Featherstone, Rigid Body Dynamics
//! Algorithms, 6.3) creates no others. Rows are packed: k itself, then its ancestors, nearest first.

use pullback_core::Workspace;
use pullback_math::{Force, Motion, MulVjp, Real, SpatialInertia};

use super::kinematics::Kinematics;
use super::rnea::as_cotangent;
use super::tree::Tree;

/// Pivots below this part of their entry of the diagonal are rounding errors of zero.
const LEAST_PIVOT: f64 = 1e-14;

/// Packed mass matrix, its factors, and scratch.
#[derive(Clone, Debug, Workspace)]
pub struct MassMatrix<T> {
    /// The matrix, row after row.
    pub packed: Vec<T>,
    /// Its factors in the same places: D on the diagonal, L elsewhere.
    factors: Vec<T>,
    inverse_diagonal: Vec<T>,
    composite: Vec<SpatialInertia<T>>,
}

impl<T: Real> MassMatrix<T> {
    /// Memory for a model.
    pub fn new(tree: &Tree) -> Self {
        MassMatrix {
            packed: vec![T::zero(); tree.packed],
            factors: vec![T::zero(); tree.packed],
            inverse_diagonal: vec![T::zero(); tree.dof_body.len()],
            composite: vec![SpatialInertia::zero(); tree.bodies()],
        }
    }

    /// The pivots D of the factorization.
    #[inline(always)]
    pub(crate) fn pivot(&self, tree: &Tree, dof: usize) -> T {
        self.factors[tree.row[dof]]
    }

    /// M at the configuration of `kinematics`, without armature.
    pub fn update(&mut self, tree: &Tree, kinematics: &Kinematics<T>) {
        self.composite.copy_from_slice(&kinematics.inertias);
        for b in (1..tree.bodies()).rev() {
            let carried = self.composite[b];
            for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
                let force = carried * kinematics.axes[k];
                let row = &mut self.packed[tree.row[k]..];
                for (entry, j) in row.iter_mut().zip(&tree.ancestors[k]) {
                    *entry = kinematics.axes[*j].dot(force);
                }
            }
            self.composite[tree.parent[b]] += carried;
        }
    }

    /// The pullback of [`MassMatrix::update`], right after it: *adds* to the cotangents of the axes and of
    /// the bodies' inertias, which come in as zero. An entry off the diagonal stands for both of its places.
    pub(crate) fn update_vjp(
        &self,
        tree: &Tree,
        kinematics: &Kinematics<T>,
        packed_bar: &[T],
        axis_bars: &mut [Force<T>],
        inertia_bars: &mut [SpatialInertia<T>],
    ) {
        for b in 1..tree.bodies() {
            // I^c of the parent += I^c
            let mut composite_bar = inertia_bars[tree.parent[b]];
            for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
                let (axis, force) = (kinematics.axes[k], self.composite[b] * kinematics.axes[k]);
                // M_kj = S_j · f,  f = I^c S_k
                let mut force_bar = Motion::zero();
                for (bar, j) in packed_bar[tree.row[k]..].iter().zip(&tree.ancestors[k]) {
                    axis_bars[*j] += force * *bar;
                    force_bar += kinematics.axes[*j] * *bar;
                }
                composite_bar += self.composite[b].mul_vjp(axis, as_cotangent(force_bar)).0;
                axis_bars[k] += self.composite[b] * force_bar;
            }
            inertia_bars[b] = composite_bar;
        }
    }

    /// Adds to diagonal entry k.
    pub(crate) fn add_diagonal(&mut self, tree: &Tree, k: usize, x: T) {
        self.packed[tree.row[k]] += x;
    }

    /// M = Lᵀ D L.
    pub(crate) fn factorize(&mut self, tree: &Tree) {
        let h = &mut self.factors;
        h.copy_from_slice(&self.packed);
        for k in (0..tree.dof_body.len()).rev() {
            let (start, above) = (tree.row[k], &tree.ancestors[k]);
            let inverse = h[start].recip();
            self.inverse_diagonal[k] = inverse;
            for i in 1..above.len() {
                let factor = h[start + i] * inverse;
                // Row of ancestor i: itself and what it hangs from, the tail of this row.
                let target = tree.row[above[i]];
                for j in i..above.len() {
                    let update = factor * h[start + j];
                    h[target + j - i] -= update;
                }
                h[start + i] = factor;
            }
        }
    }

    /// x ← M⁻¹ x.
    pub fn solve(&self, tree: &Tree, x: &mut [T]) {
        self.solve_over(tree, 0..x.len(), x);
    }

    /// x ← M⁻¹ x on the rows `dofs`, which rise and hold whole trees; x is zero elsewhere.
    pub(crate) fn solve_rows(&self, tree: &Tree, dofs: &[usize], x: &mut [T]) {
        self.solve_over(tree, dofs.iter().copied(), x);
    }

    #[inline(always)]
    fn solve_over(&self, tree: &Tree, dofs: impl DoubleEndedIterator<Item = usize> + Clone, x: &mut [T]) {
        let h = &self.factors;
        // Lᵀ y = x
        for k in dofs.clone().rev() {
            let y = x[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                x[*j] -= h[tree.row[k] + i] * y;
            }
        }
        // D z = y, L x = z
        for k in dofs {
            let mut z = x[k] * self.inverse_diagonal[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                z -= h[tree.row[k] + i] * x[*j];
            }
            x[k] = z;
        }
    }

    /// y = M x.
    pub fn multiply(&self, tree: &Tree, x: &[T], y: &mut [T]) {
        y.fill(T::zero());
        self.add_product(tree, 0..x.len(), x, y);
    }

    /// y = M x on the rows `dofs`, which hold whole trees.
    pub(crate) fn multiply_rows(&self, tree: &Tree, dofs: &[usize], x: &[T], y: &mut [T]) {
        dofs.iter().for_each(|k| y[*k] = T::zero());
        self.add_product(tree, dofs.iter().copied(), x, y);
    }

    #[inline(always)]
    fn add_product(&self, tree: &Tree, dofs: impl Iterator<Item = usize>, x: &[T], y: &mut [T]) {
        for k in dofs {
            y[k] += self.packed[tree.row[k]] * x[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                let entry = self.packed[tree.row[k] + i];
                y[k] += entry * x[*j];
                y[*j] += entry * x[k];
            }
        }
    }

    /// The whole matrix, row-major, zeros included.
    pub fn dense(&self, tree: &Tree) -> Vec<T> {
        let n = tree.dof_body.len();
        let mut dense = vec![T::zero(); n * n];
        for k in 0..n {
            for (i, j) in tree.ancestors[k].iter().enumerate() {
                let entry = self.packed[tree.row[k] + i];
                (dense[k * n + j], dense[j * n + k]) = (entry, entry);
            }
        }
        dense
    }
}

impl MassMatrix<f64> {
    /// The last degree of freedom at which the factors show that M is singular: its pivot is not positive,
    /// up to rounding of its entry of the diagonal.
    pub(crate) fn singular(&self, tree: &Tree) -> Option<usize> {
        let regular = |k: usize| {
            let at = tree.row[k];
            self.factors[at] > self.packed[at] * LEAST_PIVOT
        };
        (0..tree.dof_body.len()).rev().find(|k| !regular(*k))
    }
}

/// Cotangent of the packed mass matrix with the change sign·x·dM y: *adds* on the rows `dofs`.
pub(crate) fn add_symmetric<T: Real>(
    tree: &Tree,
    dofs: &[usize],
    (x, y): (&[T], &[T]),
    sign: T,
    mass_bar: &mut [T],
) {
    for &k in dofs {
        let row = &mut mass_bar[tree.row[k]..];
        row[0] += sign * x[k] * y[k];
        for (bar, &j) in row.iter_mut().zip(&tree.ancestors[k]).skip(1) {
            *bar += sign * (x[k] * y[j] + x[j] * y[k]);
        }
    }
}
