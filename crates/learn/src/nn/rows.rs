//! [`Rows`]: a batch of vectors, each padded with zeros to whole registers.
//!
//! Kernels then have no remainders, and every load is aligned. The padding stays zero: weights, biases, scales
//! and shifts are padded with zeros too, and every activation maps zero to zero.

use pullback_core::Workspace;
use pullback_math::Real;

use crate::Number;

/// Registers that hold `columns` numbers.
pub fn registers<F: Number>(columns: usize) -> usize {
    columns.div_ceil(F::Lanes::LANES)
}

/// A row-major matrix whose rows are whole registers.
#[derive(Clone, Debug)]
pub struct Rows<F: Number> {
    lanes: Vec<F::Lanes>,
    columns: usize,
    registers: usize,
}

impl<F: Number> Rows<F> {
    /// Zeros.
    pub fn new(rows: usize, columns: usize) -> Self {
        let registers = registers::<F>(columns);
        Rows { lanes: vec![F::Lanes::zero(); rows * registers], columns, registers }
    }

    /// Numbers in a row, without padding.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// Registers of a row.
    pub fn registers(&self) -> usize {
        self.registers
    }
    /// Numbers from one row to the next.
    pub fn stride(&self) -> usize {
        self.registers * F::Lanes::LANES
    }

    /// All rows.
    pub fn lanes(&self) -> &[F::Lanes] {
        &self.lanes
    }
    /// All rows, to be written.
    pub fn lanes_mut(&mut self) -> &mut [F::Lanes] {
        &mut self.lanes
    }
    /// Row `i`.
    pub fn row(&self, i: usize) -> &[F::Lanes] {
        &self.lanes[i * self.registers..][..self.registers]
    }
    /// Row `i`, to be written.
    pub fn row_mut(&mut self, i: usize) -> &mut [F::Lanes] {
        &mut self.lanes[i * self.registers..][..self.registers]
    }
    /// Numbers of row `i`, without padding.
    pub fn numbers(&self, i: usize) -> &[F] {
        &F::numbers(self.row(i))[..self.columns]
    }
    /// Numbers of row `i`, without padding, to be written.
    pub fn numbers_mut(&mut self, i: usize) -> &mut [F] {
        let columns = self.columns;
        &mut F::numbers_mut(self.row_mut(i))[..columns]
    }
}

impl<F: Number> Workspace for Rows<F> {
    fn heap_bytes(&self) -> usize {
        self.lanes.capacity() * size_of::<F::Lanes>()
    }
}
