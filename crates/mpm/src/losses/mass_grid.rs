//! Masses of particles on the nodes of a grid, by quadratic B-splines: mᵢ = Σₚ wᵢ(xₚ) mₚ.
//!
//! The grid is dense, its nodes are visited only where a particle is: a list of touched nodes serves every
//! loss that needs no others. Mass that falls on nodes beyond the grid is not counted; a grid at least as
//! large as that of the [`Mpm`](crate::Mpm) loses nothing.

use pullback_math::{Scalar, Vec3};

use crate::Grid;
use crate::stencil::Kernel;

/// The nodes of a grid with a corner at the origin; z runs fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// Nodes along each axis.
    pub nodes: [usize; 3],
    /// Distance of nodes, m.
    pub spacing: f64,
    /// Whether the third axis is one node thick.
    pub flat: bool,
}

impl Cells {
    /// A unit cube of `n` nodes along each axis.
    pub fn cube(n: usize) -> Self {
        Cells { nodes: [n; 3], spacing: 1.0 / n as f64, flat: false }
    }
    /// Number of nodes.
    pub fn count(&self) -> usize {
        self.nodes.iter().product()
    }
    /// Place of node (i, j, k) in a list of all nodes.
    #[inline(always)]
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.nodes[1] + j) * self.nodes[2] + k
    }
    /// Node at place `at` of a list of all nodes, m.
    pub fn position(&self, at: usize) -> Vec3<f64> {
        let [_, ny, nz] = self.nodes;
        let [x, y, z] = [at / (ny * nz), at / nz % ny, at % nz].map(|i| i as f64 * self.spacing);
        Vec3 { x, y, z }
    }

    /// The splines of the grid.
    fn kernel<T: Scalar>(&self) -> Kernel<T> {
        Kernel::new(self.spacing, self.flat)
    }

    /// Visits the nodes around a particle: place, weight, slope of the weight.
    #[inline(always)]
    fn around<T: Scalar>(&self, kernel: &Kernel<T>, x: [T; 3], mut visit: impl FnMut(usize, T, Vec3<T>)) {
        let base = kernel.base(x);
        let axes = kernel.axes(kernel.relative(x, base));
        let ([wx, wy, wz], [sx, sy, sz]) = (axes.map(|a| a.weights), axes.map(|a| a.slopes));
        let node = |axis: usize, i: usize| {
            let at = base[axis] + i as i32;
            (at >= 0 && (at as usize) < self.nodes[axis]).then_some(at as usize)
        };
        for i in 0..3 {
            let Some(x) = node(0, i) else { continue };
            for j in 0..3 {
                let Some(y) = node(1, j) else { continue };
                let (w, s0, s1) = (wx[i] * wy[j], sx[i] * wy[j], wx[i] * sy[j]);
                for k in 0..3 {
                    let Some(z) = node(2, k) else { continue };
                    // ∇w = (w′ₓ w_y w_z, wₓ w′_y w_z, wₓ w_y w′_z)
                    let slope = Vec3 { x: s0 * wz[k], y: s1 * wz[k], z: w * sz[k] };
                    visit(self.index([x, y, z]), w * wz[k], slope);
                }
            }
        }
    }
}

impl From<&Grid> for Cells {
    fn from(grid: &Grid) -> Self {
        Cells { nodes: grid.nodes, spacing: grid.spacing, flat: grid.flat }
    }
}

/// Masses on the nodes, their cotangents, and which nodes have any.
#[derive(Clone, Debug)]
pub struct MassGrid<T> {
    cells: Cells,
    masses: Vec<T>,
    bars: Vec<T>,
    seen: Vec<bool>,
    touched: Vec<u32>,
}

impl<T: Scalar> MassGrid<T> {
    /// An empty grid.
    pub fn new(cells: Cells) -> Self {
        let n = cells.count();
        MassGrid {
            cells,
            masses: vec![T::zero(); n],
            bars: vec![T::zero(); n],
            seen: vec![false; n],
            touched: Vec::with_capacity(n),
        }
    }

    /// The grid itself.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }
    /// Masses of all nodes, kg.
    pub fn masses(&self) -> &[T] {
        &self.masses
    }
    /// Nodes within reach of a particle; all others hold nothing.
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }
    /// Touched nodes with their masses.
    pub fn entries(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.touched.iter().map(|i| (*i as usize, self.masses[*i as usize]))
    }

    /// mᵢ = Σₚ wᵢ(xₚ) mₚ in place of what was there; cotangents of nodes become zero.
    pub fn scatter(&mut self, x: &[[T; 3]], masses: &[T]) {
        let MassGrid { cells, masses: nodes, bars, seen, touched } = self;
        for i in touched.drain(..) {
            let i = i as usize;
            (nodes[i], bars[i], seen[i]) = (T::zero(), T::zero(), false);
        }
        let kernel = cells.kernel();
        for (x, m) in x.iter().zip(masses) {
            cells.around(&kernel, *x, |i, w, _| {
                nodes[i] += *m * w;
                if !seen[i] {
                    seen[i] = true;
                    touched.push(i as u32);
                }
            });
        }
    }

    /// The pullback of [`MassGrid::scatter`] from the cotangents of nodes: x̄ₚ += mₚ Σ m̄ᵢ ∇wᵢ, m̄ₚ += Σ m̄ᵢ
    /// wᵢ.
    pub fn scatter_vjp(&self, x: &[[T; 3]], masses: &[T], x_bar: &mut [[T; 3]], masses_bar: &mut [T]) {
        let kernel = self.cells.kernel();
        for p in 0..x.len() {
            let (mut slope, mut value) = (Vec3::zero(), T::zero());
            self.cells.around(&kernel, x[p], |i, w, s| {
                slope += s * self.bars[i];
                value += w * self.bars[i];
            });
            let x_bar = &mut x_bar[p];
            x_bar[0] += slope.x * masses[p];
            x_bar[1] += slope.y * masses[p];
            x_bar[2] += slope.z * masses[p];
            masses_bar[p] += value;
        }
    }

    /// *Adds* `bar(node, its mass)` to the cotangent of every touched node.
    pub fn add_bars(&mut self, mut bar: impl FnMut(usize, T) -> T) {
        for i in &self.touched {
            let i = *i as usize;
            self.bars[i] += bar(i, self.masses[i]);
        }
    }
}
