//! Sparse grids: which blocks of 4×4×4 nodes are in use, and which particles belong to each.
//!
//! A particle belongs to the block of its lowest node, and within it to the cell of that node. Particles are sorted by block, then
//! by cell, then by number, so results depend on nothing else. All particles of a block write to one *tile* of 6×6×6
//! nodes, small enough to stay in the nearest cache: the block and what its particles reach beyond it. Tiles are then
//! added to the blocks of nodes, in rising order. Only blocks in use are touched; nothing is cleared elsewhere.

use pullback_core::Workspace;
use pullback_math::Scalar;

use super::stencil::{TILE, TILE_LENGTH};

/// Nodes along one edge of a block.
pub const BLOCK: usize = 4;
/// Nodes of a block.
pub const BLOCK_NODES: usize = BLOCK * BLOCK * BLOCK;
/// Nodes that a tile reaches beyond its block, along one edge.
const OVER: usize = TILE - BLOCK;
/// No slot.
const NONE: u32 = u32::MAX;

/// The blocks in use.
#[derive(Clone, Debug, Workspace)]
pub struct Blocks {
    /// Blocks along each axis.
    dims: [usize; 3],
    /// Particle count, then place, of each block; zero between builds.
    fill: Vec<u32>,
    /// Block and cell of each particle.
    keys: Vec<u32>,
    /// Particles in the order of their cells.
    by_cell: Vec<u32>,
    /// Particles in the order of their blocks, then cells.
    order: Vec<u32>,
    /// The tiles, in rising order of their blocks.
    tiles: Vec<Tile>,
    /// Block of each slot of nodes, in rising order.
    nodes: Vec<u32>,
    /// Slot of each block.
    slot_of: Vec<u32>,
}

/// A block with particles.
#[derive(Clone, Copy, Debug)]
struct Tile {
    block: u32,
    /// First particle in `order`, and one past the last.
    first: u32,
    end: u32,
    /// Which of [`NEIGHBOURS`] its particles reach.
    reach: u8,
}

impl Blocks {
    /// Memory for `particles` on a grid of `nodes` nodes per axis.
    pub fn new(nodes: [usize; 3], particles: usize) -> Self {
        let dims = nodes.map(|n| n.div_ceil(BLOCK));
        let count = dims.iter().product();
        Blocks {
            dims,
            fill: vec![0; count],
            keys: vec![0; particles],
            by_cell: vec![0; particles],
            order: vec![0; particles],
            tiles: Vec::with_capacity(particles.min(count)),
            nodes: Vec::with_capacity(Self::most_slots(nodes, particles)),
            slot_of: vec![NONE; count],
        }
    }

    /// Largest number of blocks of nodes that `particles` can reach.
    pub fn most_slots(nodes: [usize; 3], particles: usize) -> usize {
        nodes.map(|n| n.div_ceil(BLOCK)).iter().product::<usize>().min(NEIGHBOURS.len() * particles)
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        self.tiles.len()
    }

    /// Number of blocks of nodes in use.
    pub fn slots(&self) -> usize {
        self.nodes.len()
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
            self.fill[block] += 1;
            cells[cell] += 1;
        }
        // By cell, then by block; both keep the order they find.
        let mut next = 0;
        for cell in &mut cells {
            next += std::mem::replace(cell, next);
        }
        for (p, key) in self.keys.iter().enumerate() {
            let place = &mut cells[*key as usize % BLOCK_NODES];
            self.by_cell[*place as usize] = p as u32;
            *place += 1;
        }
        let mut first = 0;
        for (block, fill) in self.fill.iter_mut().enumerate() {
            let end = first + *fill;
            if *fill > 0 {
                self.tiles.push(Tile { block: block as u32, first, end, reach: 0 });
                *fill = first;
            }
            first = end;
        }
        for p in &self.by_cell {
            let place = &mut self.fill[self.keys[*p as usize] as usize / BLOCK_NODES];
            self.order[*place as usize] = *p;
            *place += 1;
        }
        self.mark();
    }

    /// Finds the blocks of nodes that tiles reach, and empties `fill`.
    fn mark(&mut self) {
        let offsets = NEIGHBOURS.map(|step| self.offset(step));
        for tile in &mut self.tiles {
            self.fill[tile.block as usize] = 0;
            for p in &self.order[tile.first as usize..tile.end as usize] {
                tile.reach |= REACH[self.keys[*p as usize] as usize % BLOCK_NODES];
            }
            for (n, offset) in offsets.iter().enumerate() {
                if tile.reach >> n & 1 == 1 {
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

    /// The particles of a tile, cell by cell: number of the cell's lowest node in the tile, that node, the particles.
    #[inline(always)]
    pub fn cells(&self, tile: usize) -> impl Iterator<Item = (usize, [i32; 3], &[u32])> {
        let Tile { block, first, end, .. } = self.tiles[tile];
        let corner = self.corner_of(block);
        let cell = |p: u32| self.keys[p as usize] as usize % BLOCK_NODES;
        let of_tile = &self.order[first as usize..end as usize];
        of_tile.chunk_by(move |p, q| cell(*p) == cell(*q)).map(move |particles| {
            let [i, j, k] = cell_place(cell(particles[0]));
            let base = [corner[0] + i, corner[1] + j, corner[2] + k].map(|b| b as i32);
            ((i * TILE + j) * TILE + k, base, particles)
        })
    }

    /// For each line of nodes of a tile that its particles reach: the line in the tile, in the nodes, and its length.
    #[inline(always)]
    fn for_each_line(&self, tile: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let Tile { block, reach, .. } = self.tiles[tile];
        for (n, step) in NEIGHBOURS.into_iter().enumerate() {
            if reach >> n & 1 == 0 {
                continue;
            }
            let slot = self.slot_of[block as usize + self.offset(step)] as usize;
            // Seen from a neighbour below, only the first two nodes are within reach.
            let [ni, nj, nk] = step.map(|s| if s == 0 { BLOCK } else { OVER });
            for i in 0..ni {
                for j in 0..nj {
                    let line = ((i + BLOCK * step[0]) * TILE + j + BLOCK * step[1]) * TILE + BLOCK * step[2];
                    visit(line, slot * BLOCK_NODES + (i * BLOCK + j) * BLOCK, nk);
                }
            }
        }
    }

    /// Adds a tile to the nodes that its particles reach.
    pub fn collect<T: Scalar>(&self, tile: usize, from: &[T::Quad; TILE_LENGTH], nodes: &mut [T::Quad]) {
        self.for_each_line(tile, |line, at, length| {
            let add = |nodes: &mut [T::Quad], line: &[T::Quad]| {
                nodes.iter_mut().zip(line).for_each(|(node, x)| *node += *x);
            };
            if length == BLOCK {
                add(&mut nodes[at..at + BLOCK], &from[line..line + BLOCK]);
            } else {
                add(&mut nodes[at..at + OVER], &from[line..line + OVER]);
            }
        });
    }

    /// Copies what a tile's particles reach out of the nodes.
    pub fn spread<T: Scalar>(&self, tile: usize, nodes: &[T::Quad], to: &mut [T::Quad; TILE_LENGTH]) {
        self.for_each_line(tile, |line, at, length| {
            // Lengths known beforehand become single moves.
            if length == BLOCK {
                to[line..line + BLOCK].copy_from_slice(&nodes[at..at + BLOCK]);
            } else {
                to[line..line + OVER].copy_from_slice(&nodes[at..at + OVER]);
            }
        });
    }
}

/// Where node `n` lies in its block.
#[inline(always)]
pub const fn node(n: usize) -> [usize; 3] {
    [n / (BLOCK * BLOCK), n / BLOCK % BLOCK, n % BLOCK]
}

/// Where cell `n` lies in its block. Cells follow one another along y, then x: these share whole rows of nodes, and a processor
/// reads at once what it has just written in the same pieces. Along z rows overlap in part.
#[inline(always)]
const fn cell_place(n: usize) -> [usize; 3] {
    [n / BLOCK % BLOCK, n % BLOCK, n / (BLOCK * BLOCK)]
}

const NEIGHBOURS: [[usize; 3]; 8] =
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]];

/// Which neighbours a particle of each cell reaches, one bit each: those above along axes where its third node is over the edge.
const REACH: [u8; BLOCK_NODES] = {
    let mut reach = [0; BLOCK_NODES];
    let mut cell = 0;
    while cell < BLOCK_NODES {
        let [i, j, k] = cell_place(cell);
        let mut n = 0;
        while n < NEIGHBOURS.len() {
            let [x, y, z] = NEIGHBOURS[n];
            if (x == 0 || i + 2 >= BLOCK) && (y == 0 || j + 2 >= BLOCK) && (z == 0 || k + 2 >= BLOCK) {
                reach[cell] |= 1 << n;
            }
            n += 1;
        }
        cell += 1;
    }
    reach
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tiles_hold_arrives_once_at_each_node() {
        let base = [[3, 2, 1], [0, 5, 9], [3, 2, 1], [7, 7, 7], [2, 2, 2]];
        let mut blocks = Blocks::new([12; 3], base.len());
        for _ in 0..2 {
            blocks.build(|p| base[p]);
            let mut nodes = vec![f64::everywhere(0.0); blocks.slots() * BLOCK_NODES];
            let mut seen = Vec::new();
            for tile in 0..blocks.tiles() {
                let mut own = [f64::everywhere(0.0); TILE_LENGTH];
                for (corner, at, particles) in blocks.cells(tile) {
                    for p in particles {
                        assert_eq!(base[*p as usize].map(|b| b as i32), at);
                        seen.push(*p);
                        for n in 0..27 {
                            own[corner + (n / 9 * TILE + n / 3 % 3) * TILE + n % 3] += f64::everywhere(1.0);
                        }
                    }
                }
                blocks.collect::<f64>(tile, &own, &mut nodes);
            }
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 3, 4]);
            for slot in 0..blocks.slots() {
                for n in 0..BLOCK_NODES {
                    let (corner, [i, j, k]) = (blocks.corner(slot), node(n));
                    let at = [corner[0] + i, corner[1] + j, corner[2] + k];
                    let near = |b: &&[usize; 3]| (0..3).all(|a| (b[a]..b[a] + 3).contains(&at[a]));
                    let count = base.iter().filter(near).count() as f64;
                    assert_eq!(f64::entries(nodes[slot * BLOCK_NODES + n]), [count; 4]);
                }
            }
        }
    }
}
