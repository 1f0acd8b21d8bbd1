//! The two halves of the particles that transfers work on, each a task of its own.
//!
//! Tiles are cut in two runs of about as many particles. The first may reach nodes of the second: what it adds
//! there goes to a list of its own, which is added when both are done. The cut depends on the particles alone,
//! and one thread makes it too, so a substep has the same bits for any number of threads. Few particles are
//! not cut.

use std::ops::Range;

use pullback_math::Scalar;

use super::blocks::{BLOCK_LINES, Blocks};
use super::record::Record;

/// Fewer particles are not cut.
pub(super) const MIN_PARTICLES: usize = 1024;

/// Where the second half begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    /// Its first tile.
    pub tile: usize,
    /// Its first particle.
    pub place: usize,
    /// Its first slot of nodes.
    pub slot: usize,
    /// How many of its slots the first half reaches.
    pub shared: usize,
}

/// Tiles, and the records of their particles.
pub(crate) struct Half<'a, T> {
    pub tiles: Range<usize>,
    first: usize,
    records: &'a mut [Record<T>],
}

impl<T> Half<'_, T> {
    /// The records of the particles at `places`.
    #[inline(always)]
    pub fn records(&mut self, places: &Range<usize>) -> &mut [Record<T>] {
        &mut self.records[places.start - self.first..places.end - self.first]
    }
}

/// Nodes that a half adds to: a run of lines, and the list for those behind it.
pub(crate) struct Lines<'a, T> {
    first: usize,
    own: &'a mut [Record<T>],
    beyond: &'a mut [Record<T>],
}

impl<T: Scalar> Lines<'_, T> {
    /// Sets all to zero.
    pub fn clear(&mut self) {
        self.own.fill(Record::default());
        self.beyond.fill(Record::default());
    }

    /// Adds to a line.
    #[inline(always)]
    pub fn add(&mut self, line: usize, nodes: T::Row) {
        let at = line - self.first;
        let line = match self.own.get_mut(at) {
            Some(line) => line,
            None => &mut self.beyond[at - self.own.len()],
        };
        *line = Record::of(line.row() + nodes);
    }
}

impl Blocks {
    /// Length of the list of lines that the first half adds to the second, at most.
    pub fn max_shared(nodes: [usize; 3], particles: usize) -> usize {
        let [_, ny, nz] = Blocks::dims(nodes);
        let reach = ny * nz + nz + 1;
        let cut = particles >= MIN_PARTICLES;
        if cut { BLOCK_LINES * reach.min(Blocks::max_slots(nodes, particles)) } else { 0 }
    }

    /// Cuts the tiles in two.
    pub(super) fn cut(&self) -> Cut {
        let (particles, tiles) = (self.order().len(), self.tiles());
        let tile = if particles < MIN_PARTICLES { tiles } else { self.first_tile_from(particles / 2) };
        if tile == tiles {
            return Cut { tile, place: particles, slot: self.slots(), shared: 0 };
        }
        let slot = self.slot_of_tile(tile);
        let shared = if tile > 0 { self.slots_reached(tile - 1).saturating_sub(slot) } else { 0 };
        Cut { tile, place: self.places_of(tile).start, slot, shared }
    }

    /// Both halves of the tiles.
    pub fn halves<'a, T>(&self, records: &'a mut [Record<T>]) -> [Half<'a, T>; 2] {
        let Cut { tile, place, .. } = self.cut;
        let (first, second) = records.split_at_mut(place);
        [
            Half { tiles: 0..tile, first: 0, records: first },
            Half { tiles: tile..self.tiles(), first: place, records: second },
        ]
    }

    /// The nodes that each half adds to.
    pub fn lines_of_halves<'a, T>(
        &self,
        nodes: &'a mut [Record<T>],
        shared: &'a mut [Record<T>],
    ) -> [Lines<'a, T>; 2] {
        let Cut { slot, shared: count, .. } = self.cut;
        let (own, second) = nodes[..self.lines()].split_at_mut(slot * BLOCK_LINES);
        let beyond = &mut shared[..count * BLOCK_LINES];
        [Lines { first: 0, own, beyond }, Lines { first: slot * BLOCK_LINES, own: second, beyond: &mut [] }]
    }

    /// Adds to the second half what the first has added there.
    pub fn add_shared<T: Scalar>(&self, nodes: &mut [Record<T>], shared: &[Record<T>]) {
        let Cut { slot, shared: count, .. } = self.cut;
        for (to, from) in nodes[slot * BLOCK_LINES..].iter_mut().zip(&shared[..count * BLOCK_LINES]) {
            *to = Record::of(to.row() + from.row());
        }
    }
}
