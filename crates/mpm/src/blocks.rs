//! Sparse grids: which blocks of 4×4×4 nodes are in use, and which particles belong to each.
//!
//! A particle belongs to the block of its lowest node, and within it to the cell of that node. Particles are
//! sorted by block, then by cell, then by index, so that results depend on nothing else. All particles of a
//! block write to one *tile* of 6×6×6 nodes: the block and its halo of two nodes, small enough for the
//! first-level cache. Tiles are then added to the blocks of nodes, in rising order. Only blocks in use are
//! cleared.

use std::ops::Range;

use pullback_core::Workspace;
use pullback_math::{Real, Scalar};

use super::halves::{Cut, Lines};
use super::record::Record;
use super::stencil::{CHUNK, TILE, TILE_LENGTH};

/// Nodes along one edge of a block.
pub(crate) const BLOCK: usize = 4;
/// Nodes of a block.
pub(crate) const BLOCK_NODES: usize = BLOCK * BLOCK * BLOCK;
/// Lines of nodes along z of a block, one record each.
pub(crate) const BLOCK_LINES: usize = BLOCK * BLOCK;
/// Nodes of a tile beyond its block, along one edge.
const HALO: usize = TILE - BLOCK;
/// No slot.
const NONE: u32 = u32::MAX;

/// The blocks in use.
#[derive(Clone, Debug, Workspace)]
pub(crate) struct Blocks {
    /// Blocks along each axis.
    dims: [usize; 3],
    /// Counting sort by block: particles of each block, then the position in `order` of its next one; zero
    /// between builds.
    counts: Vec<u32>,
    /// Block and cell of each particle.
    keys: Vec<u32>,
    /// Place of each particle in `order`; during a sort, particles in the order of their cells.
    places: Vec<u32>,
    /// Particles in the order of their blocks, then cells.
    order: Vec<u32>,
    /// Cell of each particle in its block, in the same order.
    cells: Vec<u8>,
    /// The tiles, in rising order of their blocks.
    tiles: Vec<Tile>,
    /// Block of each slot of nodes, in rising order.
    nodes: Vec<u32>,
    /// Slot of each block.
    slot_of: Vec<u32>,
    /// Where the second half of the tiles begins.
    #[workspace(plain)]
    pub(super) cut: Cut,
}

/// A block with particles.
#[derive(Clone, Copy, Debug)]
struct Tile {
    block: u32,
    /// First particle in `order`, and one past the last.
    first: u32,
    end: u32,
    /// Which of [`NEIGHBORS`] its particles reach, one bit each.
    neighbors: u8,
}

impl Blocks {
    /// Memory for `particles` on a grid of `nodes` nodes per axis.
    pub fn new(nodes: [usize; 3], particles: usize) -> Self {
        let dims = Self::dims(nodes);
        let count = dims.iter().product();
        Blocks {
            dims,
            counts: vec![0; count],
            keys: vec![0; particles],
            places: vec![0; particles],
            order: vec![0; particles],
            cells: vec![0; particles],
            tiles: Vec::with_capacity(particles.min(count)),
            nodes: Vec::with_capacity(Self::max_slots(nodes, particles)),
            slot_of: vec![NONE; count],
            cut: Cut::default(),
        }
    }

    /// Largest number of blocks of nodes that `particles` can reach.
    pub(crate) fn max_slots(nodes: [usize; 3], particles: usize) -> usize {
        Self::dims(nodes).iter().product::<usize>().min(NEIGHBORS.len() * particles)
    }

    /// Blocks along each axis of a grid.
    pub(super) fn dims(nodes: [usize; 3]) -> [usize; 3] {
        nodes.map(|n| n.div_ceil(BLOCK))
    }

    /// Number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        self.tiles.len()
    }

    /// Number of blocks of nodes in use.
    pub fn slots(&self) -> usize {
        self.nodes.len()
    }

    /// Number of lines of nodes in use.
    pub fn lines(&self) -> usize {
        self.slots() * BLOCK_LINES
    }

    /// Particles in the order of tiles and cells.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Place of each particle in that order.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Lowest node of the block in a slot.
    pub fn corner(&self, slot: usize) -> [usize; 3] {
        self.corner_of(self.nodes[slot])
    }

    fn corner_of(&self, block: u32) -> [usize; 3] {
        let (block, [_, ny, nz]) = (block as usize, self.dims);
        [block / (ny * nz), block / nz % ny, block % nz].map(|b| b * BLOCK)
    }

    fn offset(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.dims[1] + j) * self.dims[2] + k
    }

    /// Sorts particles with the lowest nodes `base` into blocks.
    pub fn build(&mut self, base: impl Fn(usize) -> [usize; 3]) {
        self.tiles.clear();
        for block in self.nodes.drain(..) {
            self.slot_of[block as usize] = NONE;
        }
        // How many particles each block and each cell has.
        let mut cells = [0; BLOCK_NODES];
        for p in 0..self.keys.len() {
            let base = base(p);
            let block = self.offset(base.map(|b| b / BLOCK));
            let [i, j, k] = base.map(|b| b % BLOCK);
            let cell = (k * BLOCK + i) * BLOCK + j;
            self.keys[p] = (block * BLOCK_NODES + cell) as u32;
            self.counts[block] += 1;
            cells[cell] += 1;
        }
        // Stable counting sorts: by cell, then by block.
        let mut first = 0;
        for count in &mut cells {
            first += std::mem::replace(count, first);
        }
        let mut next_of_cell = cells;
        for (p, key) in self.keys.iter().enumerate() {
            let next = &mut next_of_cell[*key as usize % BLOCK_NODES];
            self.places[*next as usize] = p as u32;
            *next += 1;
        }
        let mut first = 0;
        for (block, count) in self.counts.iter_mut().enumerate() {
            let end = first + *count;
            if *count > 0 {
                self.tiles.push(Tile { block: block as u32, first, end, neighbors: 0 });
                *count = first;
            }
            first = end;
        }
        let next_of_block = &mut self.counts;
        for p in &self.places {
            let key = self.keys[*p as usize] as usize;
            let next = &mut next_of_block[key / BLOCK_NODES];
            self.order[*next as usize] = *p;
            self.cells[*next as usize] = (key % BLOCK_NODES) as u8;
            *next += 1;
        }
        for (place, p) in self.order.iter().enumerate() {
            self.places[*p as usize] = place as u32;
        }
        self.activate();
        self.cut = self.cut();
    }

    /// Gives a slot to every block of nodes that tiles reach, and clears `counts`.
    fn activate(&mut self) {
        let offsets = NEIGHBORS.map(|step| self.offset(step));
        for tile in &mut self.tiles {
            self.counts[tile.block as usize] = 0;
            for cell in &self.cells[tile.first as usize..tile.end as usize] {
                tile.neighbors |= NEIGHBORS_OF_CELL[*cell as usize % BLOCK_NODES];
            }
            for (n, offset) in offsets.iter().enumerate() {
                if tile.neighbors >> n & 1 == 1 {
                    self.slot_of[tile.block as usize + offset] = 0;
                }
            }
        }
        for (block, slot) in self.slot_of.iter_mut().enumerate() {
            if *slot != NONE {
                *slot = self.nodes.len() as u32;
                self.nodes.push(block as u32);
            }
        }
    }

    /// The places of the particles of a tile.
    pub(super) fn places_of(&self, tile: usize) -> Range<usize> {
        self.tiles[tile].first as usize..self.tiles[tile].end as usize
    }

    /// The first tile whose particles are all from `place` on.
    pub(super) fn first_tile_from(&self, place: usize) -> usize {
        self.tiles.partition_point(|tile| (tile.first as usize) < place)
    }

    /// Slot of the block of a tile.
    pub(super) fn slot_of_tile(&self, tile: usize) -> usize {
        self.slot_of[self.tiles[tile].block as usize] as usize
    }

    /// Number of slots up to the last one that a tile, or one before it, can reach.
    pub(super) fn slots_reached(&self, tile: usize) -> usize {
        let last = self.tiles[tile].block as usize + self.offset(NEIGHBORS[NEIGHBORS.len() - 1]);
        self.nodes.partition_point(|block| *block as usize <= last)
    }

    /// The same, at most [`CHUNK`] at a time.
    #[inline(always)]
    pub fn chunks(&self, tile: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let Range { start: first, end } = self.places_of(tile);
        (first..end).step_by(CHUNK).map(move |first| first..end.min(first + CHUNK))
    }

    /// The cells of a chunk of particles: index of the lowest node in the tile, the particles of the chunk.
    #[inline(always)]
    pub fn cells(&self, places: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut first = 0;
        self.cells[places.clone()].chunk_by(|a, b| a == b).map(move |cell| {
            let particles = first..first + cell.len();
            first = particles.end;
            (corner_in_tile(cell[0]), particles)
        })
    }

    /// Index of the lowest node in the tile of each particle of a chunk.
    #[inline(always)]
    pub fn corners(&self, places: &Range<usize>) -> impl Iterator<Item = usize> {
        self.cells[places.clone()].iter().map(|cell| corner_in_tile(*cell))
    }

    /// Lowest node of each particle of a chunk of a tile.
    #[inline(always)]
    pub fn bases(&self, tile: usize, places: &Range<usize>) -> impl Iterator<Item = [i32; 3]> {
        let corner = self.corner_of(self.tiles[tile].block).map(|c| c as i32);
        self.cells[places.clone()].iter().map(move |cell| {
            let [i, j, k] = cell_offset(*cell as usize % BLOCK_NODES);
            [corner[0] + i as i32, corner[1] + j as i32, corner[2] + k as i32]
        })
    }

    /// Visits each line of nodes along z that the particles of a tile reach: its first node in the tile, its
    /// place among the nodes, and its length.
    #[inline(always)]
    fn for_each_line(&self, tile: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let Tile { block, neighbors, .. } = self.tiles[tile];
        for (n, step) in NEIGHBORS.into_iter().enumerate() {
            if neighbors >> n & 1 == 0 {
                continue;
            }
            let slot = self.slot_of[block as usize + self.offset(step)] as usize;
            // The halo is the first two nodes of a neighbor.
            let [ni, nj, nk] = step.map(|s| if s == 0 { BLOCK } else { HALO });
            for i in 0..ni {
                for j in 0..nj {
                    let line = ((i + BLOCK * step[0]) * TILE + j + BLOCK * step[1]) * TILE + BLOCK * step[2];
                    visit(line, slot * BLOCK_LINES + i * BLOCK + j, nk);
                }
            }
        }
    }

    /// Adds a tile to the nodes that its particles reach.
    pub(crate) fn add_tile<T: Scalar>(
        &self,
        tile: usize,
        from: &[T::Quad; TILE_LENGTH],
        nodes: &mut Lines<'_, T>,
    ) {
        let none = T::Quad::zero();
        self.for_each_line(tile, |line, at, length| {
            let added = if length == BLOCK {
                T::row(&from[line..line + BLOCK].as_chunks().0[0])
            } else {
                T::row(&[from[line], from[line + 1], none, none])
            };
            nodes.add(at, added);
        });
    }

    /// Copies the nodes that the particles of a tile reach into it.
    pub(crate) fn load_tile<T: Scalar>(
        &self,
        tile: usize,
        nodes: &[Record<T>],
        to: &mut [T::Quad; TILE_LENGTH],
    ) {
        self.for_each_line(tile, |line, at, length| {
            let nodes = T::quads(nodes[at].row());
            // Constant lengths compile to single moves.
            if length == BLOCK {
                to[line..line + BLOCK].copy_from_slice(&nodes);
            } else {
                to[line..line + HALO].copy_from_slice(&nodes[..HALO]);
            }
        });
    }
}

/// Offset of node `n` of a block from its lowest node.
#[inline(always)]
pub(crate) const fn node_offset(n: usize) -> [usize; 3] {
    [n / (BLOCK * BLOCK), n / BLOCK % BLOCK, n % BLOCK]
}

/// Offset of cell `n` of a block from its lowest cell. Cells are in order along y, then x: such neighbors
/// share whole rows of nodes, so that loads are forwarded from stores of the same size. Rows of neighbors
/// along z overlap in part.
#[inline(always)]
const fn cell_offset(n: usize) -> [usize; 3] {
    [n / BLOCK % BLOCK, n % BLOCK, n / (BLOCK * BLOCK)]
}

/// Index in a tile of the lowest node of each cell.
const CORNERS: [u8; BLOCK_NODES] = {
    let mut corners = [0; BLOCK_NODES];
    let mut cell = 0;
    while cell < BLOCK_NODES {
        let [i, j, k] = cell_offset(cell);
        corners[cell] = ((i * TILE + j) * TILE + k) as u8;
        cell += 1;
    }
    corners
};

#[inline(always)]
fn corner_in_tile(cell: u8) -> usize {
    CORNERS[cell as usize % BLOCK_NODES] as usize
}

/// Blocks that a tile overlaps, as steps from its own.
const NEIGHBORS: [[usize; 3]; 8] =
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]];

/// Which of [`NEIGHBORS`] a particle of each cell reaches, one bit each: those along axes where its third
/// node is beyond the block.
const NEIGHBORS_OF_CELL: [u8; BLOCK_NODES] = {
    let mut neighbors = [0; BLOCK_NODES];
    let mut cell = 0;
    while cell < BLOCK_NODES {
        let [i, j, k] = cell_offset(cell);
        let mut n = 0;
        while n < NEIGHBORS.len() {
            let [x, y, z] = NEIGHBORS[n];
            if (x == 0 || i + 2 >= BLOCK) && (y == 0 || j + 2 >= BLOCK) && (z == 0 || k + 2 >= BLOCK) {
                neighbors[cell] |= 1 << n;
            }
            n += 1;
        }
        cell += 1;
    }
    neighbors
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_add_up_once_at_each_node() {
        let base = [[3, 2, 1], [0, 5, 9], [3, 2, 1], [7, 7, 7], [2, 2, 2]];
        let mut blocks = Blocks::new([12; 3], base.len());
        for _ in 0..2 {
            blocks.build(|p| base[p]);
            let mut nodes = vec![Record::default(); blocks.lines()];
            let mut seen = Vec::new();
            for tile in 0..blocks.tiles() {
                let mut own = [f64::everywhere(0.0); TILE_LENGTH];
                for places in blocks.chunks(tile) {
                    let (order, bases) = (&blocks.order()[places.clone()], blocks.bases(tile, &places));
                    let bases: Vec<_> = bases.collect();
                    for (corner, particles) in blocks.cells(&places) {
                        assert!(particles.clone().all(|i| blocks.corners(&places).nth(i) == Some(corner)));
                        for i in particles {
                            assert_eq!(base[order[i] as usize].map(|b| b as i32), bases[i]);
                            assert_eq!(blocks.places()[order[i] as usize] as usize, places.start + i);
                            seen.push(order[i]);
                            for n in 0..27 {
                                let at = corner + (n / 9 * TILE + n / 3 % 3) * TILE + n % 3;
                                own[at] += f64::everywhere(1.0);
                            }
                        }
                    }
                }
                let [mut nodes, _] = blocks.lines_of_halves(&mut nodes, &mut []);
                blocks.add_tile::<f64>(tile, &own, &mut nodes);
            }
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 3, 4]);
            for slot in 0..blocks.slots() {
                for n in 0..BLOCK_NODES {
                    let (corner, [i, j, k]) = (blocks.corner(slot), node_offset(n));
                    let at = [corner[0] + i, corner[1] + j, corner[2] + k];
                    let near = |b: &&[usize; 3]| (0..3).all(|a| (b[a]..b[a] + 3).contains(&at[a]));
                    let count = base.iter().filter(near).count() as f64;
                    let line = &nodes[slot * BLOCK_LINES + n / BLOCK].0;
                    assert_eq!(line[4 * (n % BLOCK)..][..4], [count; 4]);
                }
            }
        }
    }
}
