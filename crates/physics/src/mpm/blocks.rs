//! Sparse grids: which blocks of 4×4×4 nodes are in use, and which particles belong to each.
//!
//! A particle belongs to the block of its lowest node. All particles of a block write to one *tile* of 6×6×6 nodes: the block and
//! what its particles reach beyond it. A node collects what up to eight tiles hold for it, in a fixed order, so results
//! depend neither on threads nor on the order of tiles. Only blocks in use are touched; nothing is cleared elsewhere.

use pullback_math::{Scalar, Vec3};

use super::stencil::{TILE, TILE_NODES};

/// Nodes along one edge of a block.
pub const BLOCK: usize = 4;
/// Nodes of a block.
pub const BLOCK_NODES: usize = BLOCK * BLOCK * BLOCK;
/// No tile, no block.
const NONE: u32 = u32::MAX;

/// The blocks in use.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Blocks along each axis.
    dims: [usize; 3],
    /// Particle count, then place, of each block; zero between builds.
    fill: Vec<u32>,
    /// Particles in the order of their blocks.
    pub order: Vec<u32>,
    /// Block of each tile, in rising order.
    pub tiles: Vec<u32>,
    /// Tile t has the particles `order[first[t]..first[t + 1]]`.
    pub first: Vec<u32>,
    /// Tile of each block.
    tile_of: Vec<u32>,
    /// Block of each slot of nodes, in rising order.
    pub nodes: Vec<u32>,
    /// Slot of each block.
    slot_of: Vec<u32>,
    block_of: Vec<u32>,
}

impl Blocks {
    /// Memory for `particles` on a grid of `nodes` nodes per axis.
    pub fn new(nodes: [usize; 3], particles: usize) -> Self {
        // One more block than nodes need, so that every tile has all its neighbours.
        let dims = nodes.map(|n| n.div_ceil(BLOCK) + 1);
        let count = dims.iter().product();
        Blocks {
            dims,
            fill: vec![0; count],
            order: vec![0; particles],
            tiles: Vec::with_capacity(particles.min(count)),
            first: Vec::with_capacity(particles.min(count) + 1),
            tile_of: vec![NONE; count],
            nodes: Vec::with_capacity((8 * particles).min(count)),
            slot_of: vec![NONE; count],
            block_of: vec![0; particles],
        }
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let lists = [
            &self.fill,
            &self.order,
            &self.tiles,
            &self.first,
            &self.tile_of,
            &self.nodes,
            &self.slot_of,
            &self.block_of,
        ];
        lists.iter().map(|l| l.capacity() * size_of::<u32>()).sum()
    }

    /// Lowest node of a block.
    pub fn corner(&self, block: u32) -> [usize; 3] {
        let (block, [_, ny, nz]) = (block as usize, self.dims);
        [block / (ny * nz), block / nz % ny, block % nz].map(|b| b * BLOCK)
    }

    /// Sorts particles with the lowest nodes `base` into blocks.
    pub fn build(&mut self, particles: usize, base: impl Fn(usize) -> [i32; 3]) {
        for block in self.tiles.drain(..) {
            self.tile_of[block as usize] = NONE;
        }
        for block in self.nodes.drain(..) {
            self.slot_of[block as usize] = NONE;
        }
        self.first.clear();

        // How many particles each block has.
        for p in 0..particles {
            let block = self.offset(base(p).map(|b| b as usize / BLOCK));
            self.block_of[p] = block as u32;
            self.fill[block] += 1;
        }
        // Tiles in rising order of their blocks, with the place of their first particle.
        let mut next = 0;
        for block in 0..self.fill.len() {
            let count = std::mem::replace(&mut self.fill[block], next);
            if count > 0 {
                self.tile_of[block] = self.tiles.len() as u32;
                self.tiles.push(block as u32);
                self.first.push(next);
                next += count;
            }
        }
        self.first.push(next);
        for p in 0..particles {
            let place = &mut self.fill[self.block_of[p] as usize];
            self.order[*place as usize] = p as u32;
            *place += 1;
        }
        self.fill.fill(0);
        // Blocks of nodes that tiles reach.
        for step in NEIGHBOURS {
            let offset = self.offset(step);
            for &block in &self.tiles {
                self.slot_of[block as usize + offset] = 0;
            }
        }
        for block in 0..self.slot_of.len() {
            if self.slot_of[block] != NONE {
                self.slot_of[block] = self.nodes.len() as u32;
                self.nodes.push(block as u32);
            }
        }
    }

    fn offset(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.dims[1] + j) * self.dims[2] + k
    }

    /// Collects the nodes of a slot from the tiles that reach them.
    pub fn collect<T: Scalar>(&self, slot: usize, tiles: &[T::Quad], nodes: &mut [T::Quad]) {
        nodes.fill(T::Quad::default());
        let block = self.nodes[slot] as usize;
        for step in NEIGHBOURS {
            let Some(tile) = block.checked_sub(self.offset(step)) else { continue };
            let tile = self.tile_of[tile];
            if tile == NONE {
                continue;
            }
            let tile = &tiles[tile as usize * TILE_NODES..][..TILE_NODES];
            // Seen from a neighbour below, only the first two nodes are within reach.
            let reach = step.map(|s| if s == 0 { BLOCK } else { TILE - BLOCK });
            for i in 0..reach[0] {
                for j in 0..reach[1] {
                    let row = ((i + BLOCK * step[0]) * TILE + j + BLOCK * step[1]) * TILE + BLOCK * step[2];
                    let to = (i * BLOCK + j) * BLOCK;
                    for k in 0..reach[2] {
                        nodes[to + k] += tile[row + k];
                    }
                }
            }
        }
    }

    /// Copies what a tile's particles reach out of the nodes.
    pub fn spread<T: Scalar>(&self, tile: usize, nodes: &[T::Quad], out: &mut [T::Quad]) {
        let block = self.tiles[tile] as usize;
        for step in NEIGHBOURS {
            let slot = self.slot_of[block + self.offset(step)] as usize;
            let nodes = &nodes[slot * BLOCK_NODES..][..BLOCK_NODES];
            let reach = step.map(|s| if s == 0 { BLOCK } else { TILE - BLOCK });
            for i in 0..reach[0] {
                for j in 0..reach[1] {
                    let row = ((i + BLOCK * step[0]) * TILE + j + BLOCK * step[1]) * TILE + BLOCK * step[2];
                    let from = (i * BLOCK + j) * BLOCK;
                    out[row..row + reach[2]].copy_from_slice(&nodes[from..from + reach[2]]);
                }
            }
        }
    }

    /// Particles of a tile.
    pub fn particles(&self, tile: usize) -> &[u32] {
        &self.order[self.first[tile] as usize..self.first[tile + 1] as usize]
    }
}

const NEIGHBOURS: [[usize; 3]; 8] =
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]];

/// Lowest node around a place.
#[inline(always)]
pub fn base_of<T: Scalar>(x: Vec3<T>, dx: f64) -> [i32; 3] {
    [x.x, x.y, x.z].map(|x| (x * T::lit(1.0 / dx) - T::lit(0.5)).cell())
}
