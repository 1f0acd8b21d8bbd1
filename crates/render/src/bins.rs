//! Which primitives may touch which tile: lists of all tiles one behind the other, filled in one order.

use pullback_core::Workspace;

use crate::grid::{Bound, TILE};

/// Lists of primitives by tile. An *entry* is one primitive in the list of one tile.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct Bins {
    /// First entry of each tile, and the number of entries.
    pub starts: Vec<u32>,
    /// The primitive of each entry.
    pub items: Vec<u32>,
    /// Next free entry of each tile while lists are filled.
    next: Vec<u32>,
}

impl Bins {
    /// Sorts primitives with these bounds into `tiles` along x and y.
    pub fn fill(&mut self, tiles: [usize; 2], bounds: &[Bound]) {
        self.starts.clear();
        self.starts.resize(tiles[0] * tiles[1] + 1, 0);
        for bound in bounds {
            for_each_tile(tiles, bound, |tile| self.starts[tile + 1] += 1);
        }
        for tile in 0..tiles[0] * tiles[1] {
            self.starts[tile + 1] += self.starts[tile];
        }
        self.next.clone_from(&self.starts);
        self.items.clear();
        self.items.resize(self.starts[tiles[0] * tiles[1]] as usize, 0);
        for (i, bound) in bounds.iter().enumerate() {
            for_each_tile(tiles, bound, |tile| {
                self.items[self.next[tile] as usize] = i as u32;
                self.next[tile] += 1;
            });
        }
    }

    /// Entries of a tile.
    pub fn of(&self, tile: usize) -> std::ops::Range<usize> {
        self.starts[tile] as usize..self.starts[tile + 1] as usize
    }
}

fn for_each_tile(tiles: [usize; 2], bound: &Bound, mut f: impl FnMut(usize)) {
    if bound.is_empty() {
        return;
    }
    let [x0, x1, y0, y1] =
        [bound.x[0], bound.x[1] - 1, bound.y[0], bound.y[1] - 1].map(|i| i as usize / TILE);
    for y in y0..=y1 {
        for x in x0..=x1 {
            f(y * tiles[0] + x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_lists_what_touches_it_in_order() {
        let bound = |x: [u32; 2], y: [u32; 2]| Bound { x, y };
        let bounds = [
            bound([0, 16], [0, 16]),
            bound([15, 17], [0, 40]),
            bound([5, 5], [0, 40]),
            bound([0, 48], [20, 21]),
        ];
        let mut bins = Bins::default();
        bins.fill([3, 3], &bounds);
        let of = |tile| &bins.items[bins.of(tile)];
        assert_eq!(of(0), [0, 1]);
        assert_eq!(of(1), [1]);
        assert!(of(2).is_empty());
        assert_eq!((of(3), of(4), of(5)), (&[1, 3][..], &[1, 3][..], &[3][..]));
        assert_eq!((of(6), of(7), of(8)), (&[1][..], &[1][..], &[][..]));
    }
}
