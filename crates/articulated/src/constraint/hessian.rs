//! The Hessian M + Jᵀ C J of the primal problem and its factorization.
//!
//! Rows are eliminated from the last degree of freedom to the first, as the mass matrix is: H = Lᵀ D L. A
//! constraint between a body and the world keeps the sparsity of the tree. One between two branches joins
//! them; the entries that elimination fills in are found first, on sets of bits.

use pullback_core::Workspace;
use pullback_math::Real;

use super::cost::MOST_ROWS;
use super::set::{ConstraintSet, Group, MOST_BLOCKS};
use crate::mass_matrix::MassMatrix;
use crate::tree::Tree;

const WORD: usize = u64::BITS as usize;
/// Columns of a tile.
const TILE: usize = 4;

/// H, its factors and where they are not zero.
#[derive(Clone, Debug, Workspace)]
pub struct Hessian<T> {
    /// Lower triangle, row-major in a square; then D on the diagonal and L below.
    values: Vec<T>,
    inverse_diagonal: Vec<T>,
    /// J and C J of a group of blocks.
    stiff: Vec<T>,
    weighted: Vec<T>,
    /// Bits of the columns of each row, below the diagonal.
    bits: Vec<u64>,
    #[workspace(plain)]
    words: usize,
    /// Columns of each row below the diagonal, falling, and where each row starts.
    columns: Vec<usize>,
    start: Vec<usize>,
}

impl<T: Real> Hessian<T> {
    /// Memory for a model.
    pub fn new(tree: &Tree) -> Self {
        let n = tree.dof_body.len();
        let words = n.div_ceil(WORD);
        Hessian {
            values: vec![T::zero(); n * n],
            inverse_diagonal: vec![T::zero(); n],
            stiff: vec![T::zero(); MOST_BLOCKS * MOST_ROWS * n.next_multiple_of(TILE)],
            weighted: vec![T::zero(); MOST_BLOCKS * MOST_ROWS * n.next_multiple_of(TILE)],
            bits: vec![0; n * words],
            words,
            columns: Vec::with_capacity(n * n / 2),
            start: vec![0; n + 1],
        }
    }

    /// Finds which entries the factors have: those of the mass matrix, those that constraints add, and those
    /// that elimination fills in.
    pub fn analyze(&mut self, tree: &Tree, constraints: &ConstraintSet<T>) {
        let (n, words) = (tree.dof_body.len(), self.words);
        self.bits.fill(0);
        let set = |bits: &mut [u64], row: usize, column: usize| {
            bits[row * words + column / WORD] |= 1 << (column % WORD);
        };
        for (k, above) in tree.ancestors.iter().enumerate() {
            above[1..].iter().for_each(|j| set(&mut self.bits, k, *j));
        }
        for block in 0..constraints.blocks.len() {
            let dofs = constraints.dofs(block);
            for (i, row) in dofs.iter().enumerate() {
                dofs[i + 1..].iter().for_each(|column| set(&mut self.bits, *row, *column));
            }
        }
        self.columns.clear();
        for k in (0..n).rev() {
            self.start[k] = self.columns.len();
            for word in (0..words).rev() {
                let mut left = self.bits[k * words + word];
                while left != 0 {
                    let top = WORD - 1 - left.leading_zeros() as usize;
                    left &= !(1 << top);
                    self.columns.push(word * WORD + top);
                }
            }
            // The nearest column inherits the others.
            if let Some(&parent) = self.columns.get(self.start[k]) {
                for word in 0..words {
                    let mut inherited = self.bits[k * words + word];
                    if word == parent / WORD {
                        inherited &= !(1 << (parent % WORD));
                    }
                    self.bits[parent * words + word] |= inherited;
                }
            }
        }
        self.start[n] = self.columns.len();
    }

    /// Columns of a row below the diagonal, falling.
    #[inline(always)]
    fn row(&self, k: usize) -> &[usize] {
        let end = if k == 0 { self.start[self.start.len() - 1] } else { self.start[k - 1] };
        &self.columns[self.start[k]..end]
    }

    /// Sets H = M + Jᵀ C J on the rows `dofs`, from the groups listed.
    pub fn assemble(
        &mut self,
        tree: &Tree,
        mass: &MassMatrix<T>,
        constraints: &ConstraintSet<T>,
        dofs: &[usize],
        groups: &[Group],
    ) {
        let n = tree.dof_body.len();
        for &k in dofs {
            let end = if k == 0 { self.start[n] } else { self.start[k - 1] };
            for &j in &self.columns[self.start[k]..end] {
                self.values[k * n + j] = T::zero();
            }
            let packed = &mass.packed[tree.row[k]..];
            for (entry, j) in packed.iter().zip(&tree.ancestors[k]) {
                self.values[k * n + j] = *entry;
            }
        }
        for &group in groups {
            self.add_group(constraints, group);
        }
    }

    /// H ← H + Jᵀ C J for blocks that share their columns, in square tiles of columns.
    fn add_group(&mut self, constraints: &ConstraintSet<T>, group: Group) {
        let Hessian { stiff, weighted, values, inverse_diagonal, .. } = self;
        let n = inverse_diagonal.len();
        let (_, columns, jacobian) = constraints.group(group);
        let width = columns.len();
        let tiles = width.div_ceil(TILE);
        let stride = tiles * TILE;
        // J, padded with zeros, and W = C J, without the blocks that have no curvature
        let (mut rows, mut first) = (0, 0);
        for block in group.blocks() {
            let b = &constraints.blocks[block];
            let own = &jacobian[first * width..(first + b.dim) * width];
            first += b.dim;
            if !b.stiff {
                continue;
            }
            for (i, own) in own.chunks_exact(width).enumerate() {
                let padded = &mut stiff[(rows + i) * stride..(rows + i + 1) * stride];
                for (tile, padded) in padded.chunks_exact_mut(TILE).enumerate() {
                    for (j, entry) in padded.iter_mut().enumerate() {
                        *entry = own.get(tile * TILE + j).copied().unwrap_or(T::zero());
                    }
                }
            }
            let padded = &stiff[rows * stride..(rows + b.dim) * stride];
            for row in constraints.curvature(block).chunks_exact(b.dim) {
                for tile in 0..tiles {
                    let mut sum = [T::zero(); TILE];
                    for (c, padded) in row.iter().zip(padded.chunks_exact(stride)) {
                        let x = tile_of(padded, tile);
                        for j in 0..TILE {
                            sum[j] += *c * x[j];
                        }
                    }
                    weighted[rows * stride + tile * TILE..][..TILE].copy_from_slice(&sum);
                }
                rows += 1;
            }
        }
        // Columns fall, so that the lower triangle has tiles to the right of the diagonal.
        for left in 0..tiles {
            for right in left..tiles {
                let mut sum = [[T::zero(); TILE]; TILE];
                let pairs = stiff[..rows * stride].chunks_exact(stride).zip(weighted.chunks_exact(stride));
                for (x, y) in pairs {
                    let (x, y) = (tile_of(x, left), tile_of(y, right));
                    for i in 0..TILE {
                        for j in 0..TILE {
                            sum[i][j] += x[i] * y[j];
                        }
                    }
                }
                for (i, &row) in columns.iter().enumerate().skip(left * TILE).take(TILE) {
                    let into = &mut values[row * n..row * n + row + 1];
                    let from = i.max(right * TILE);
                    for (j, &column) in columns.iter().enumerate().take((right + 1) * TILE).skip(from) {
                        into[column] += sum[i - left * TILE][j - right * TILE];
                    }
                }
            }
        }
    }

    /// H = Lᵀ D L on the rows `dofs`, which rise. Since H ≥ M, no pivot is below that of M; one that has drowned in the
    /// round-off of stiffer rows, and may be negative, is replaced by half of it.
    pub fn factorize(&mut self, tree: &Tree, mass: &MassMatrix<T>, dofs: &[usize]) {
        let n = self.inverse_diagonal.len();
        for &k in dofs.iter().rev() {
            let end = if k == 0 { self.start[n] } else { self.start[k - 1] };
            let columns = &self.columns[self.start[k]..end];
            let (above, row) = self.values.split_at_mut(k * n);
            let inverse = row[k].max(mass.pivot(tree, k) * T::lit(0.5)).recip();
            self.inverse_diagonal[k] = inverse;
            for (at, &i) in columns.iter().enumerate() {
                let factor = row[i] * inverse;
                let target = &mut above[i * n..i * n + i + 1];
                for &j in &columns[at..] {
                    target[j] -= factor * row[j];
                }
            }
            for &i in columns {
                row[i] *= inverse;
            }
        }
    }

    /// x ← H⁻¹ x on the rows `dofs`.
    pub fn solve(&self, dofs: &[usize], x: &mut [T]) {
        let n = self.inverse_diagonal.len();
        // Lᵀ y = x
        for &k in dofs.iter().rev() {
            let y = x[k];
            for &j in self.row(k) {
                x[j] -= self.values[k * n + j] * y;
            }
        }
        // D z = y, L x = z
        for &k in dofs {
            let mut z = x[k] * self.inverse_diagonal[k];
            for &j in self.row(k) {
                z -= self.values[k * n + j] * x[j];
            }
            x[k] = z;
        }
    }
}

/// A tile of a padded row.
#[inline(always)]
fn tile_of<T: Real>(row: &[T], tile: usize) -> [T; TILE] {
    std::array::from_fn(|i| row[tile * TILE + i])
}
