//! Samples of a picture in tiles, and tiles in blocks: a block is one register of samples.
//!
//! Samples are stored tile by tile, block by block. Tiles at the right and at the bottom may reach beyond the
//! picture; what is computed there is not used.

use pullback_math::{Packing, Real};

use crate::settings::Settings;

/// Samples along each side of a tile.
pub(crate) const TILE: usize = 16;

/// Samples [first, end) along x and y.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bound {
    pub x: [u32; 2],
    pub y: [u32; 2],
}

impl Bound {
    pub fn is_empty(&self) -> bool {
        self.x[0] >= self.x[1] || self.y[0] >= self.y[1]
    }
}

/// Where samples are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<P> {
    /// Samples along x and y.
    pub samples: [usize; 2],
    /// Tiles along x and y.
    pub tiles: [usize; 2],
    /// Samples of a block along x and y.
    pub block: [usize; 2],
    /// Distance of samples on the screen.
    pub spacing: f64,
    /// Places of the samples of a block from its first one, on the screen.
    lanes: [P; 2],
}

impl<P: Real> Grid<P> {
    /// The samples that the settings ask for, in registers of `T`.
    pub fn new<T: Packing<Pack = P>>(settings: &Settings) -> Self {
        let samples = settings.samples();
        let block = match T::WIDTH {
            16 => [4, 4],
            8 => [4, 2],
            4 => [2, 2],
            _ => [1, 1],
        };
        let spacing = 2.0 / samples[1] as f64;
        let lanes = [
            P::from_lanes(|i| (i % block[0]) as f64 * spacing),
            P::from_lanes(|i| -((i / block[0]) as f64 * spacing)),
        ];
        Grid { samples, tiles: samples.map(|n| n.div_ceil(TILE)), block, spacing, lanes }
    }

    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.tiles[0] * self.tiles[1]
    }
    /// Blocks of a tile.
    pub fn blocks_per_tile(&self) -> usize {
        TILE * TILE / (self.block[0] * self.block[1])
    }
    /// Block in its tile, and place in the block, of a sample.
    #[inline(always)]
    pub fn place(&self, x: usize, y: usize) -> (usize, usize) {
        let [bw, bh] = self.block;
        let tile = (y / TILE) * self.tiles[0] + x / TILE;
        let (x, y) = (x % TILE, y % TILE);
        let block = (y / bh) * (TILE / bw) + x / bw;
        (tile * self.blocks_per_tile() + block, (y % bh) * bw + x % bw)
    }
    /// The sample at a place of a block of a tile; the inverse of [`Grid::place`].
    #[inline(always)]
    pub fn sample(&self, tile: usize, block: usize, place: usize) -> [usize; 2] {
        let ([bw, bh], [x, y]) = (self.block, self.corner(tile));
        [x + block % (TILE / bw) * bw + place % bw, y + block / (TILE / bw) * bh + place / bw]
    }
    /// First sample of a tile.
    pub fn corner(&self, tile: usize) -> [usize; 2] {
        [tile % self.tiles[0] * TILE, tile / self.tiles[0] * TILE]
    }
    /// Where the center of a sample is on the screen.
    #[inline(always)]
    pub fn center(&self, x: usize, y: usize) -> [f64; 2] {
        let [w, h] = self.samples.map(|n| n as f64);
        [((2 * x + 1) as f64 - w) * (0.5 * self.spacing), (h - (2 * y + 1) as f64) * (0.5 * self.spacing)]
    }
    /// Where the centers of the samples of a block are.
    #[inline(always)]
    pub fn centers(&self, x: usize, y: usize) -> [P; 2] {
        let [first_x, first_y] = self.center(x, y);
        [P::lit(first_x) + self.lanes[0], P::lit(first_y) + self.lanes[1]]
    }

    /// The samples whose centers lie in a box on the screen, from its lower left to its upper right corner.
    pub fn bound(&self, low: [f64; 2], high: [f64; 2]) -> Bound {
        let [w, h] = self.samples.map(|n| n as f64);
        // x = (2 i + 1 − w) spacing / 2; a margin of 10⁻³ samples takes care of round-off.
        let column = |x: f64| x / self.spacing + 0.5 * (w - 1.0);
        let row = |y: f64| 0.5 * (h - 1.0) - y / self.spacing;
        let range = |first: f64, last: f64, n: f64| {
            let first = (first - 1e-3).ceil().clamp(0.0, n);
            let end = ((last + 1e-3).floor() + 1.0).clamp(0.0, n);
            // Numbers that are no numbers bound nothing.
            [first as u32, if end > first { end as u32 } else { first as u32 }]
        };
        Bound { x: range(column(low[0]), column(high[0]), w), y: range(row(high[1]), row(low[1]), h) }
    }

    /// Calls `f(block of the tile, first sample)` for the blocks that a bound shares with a tile.
    #[inline(always)]
    pub fn for_each_block(&self, tile: usize, bound: &Bound, mut f: impl FnMut(usize, [usize; 2])) {
        let [bw, bh] = self.block;
        let [tile_x, tile_y] = self.corner(tile);
        let range = |b: [u32; 2], first: usize, size: usize| {
            let from = (b[0] as usize).max(first) - first;
            let to = (b[1] as usize).min(first + TILE).saturating_sub(first);
            (from / size, to.div_ceil(size))
        };
        let (x0, x1) = range(bound.x, tile_x, bw);
        let (y0, y1) = range(bound.y, tile_y, bh);
        for by in y0..y1 {
            for bx in x0..x1 {
                f(by * (TILE / bw) + bx, [tile_x + bx * bw, tile_y + by * bh]);
            }
        }
    }
}
