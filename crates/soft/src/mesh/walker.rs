//! A flat quadruped.

use super::TriangleMesh;
use super::cloth::{Diagonals, flat};

/// Which cells the body fills, from the back down to the feet: two pairs of legs, each ending in two feet.
const BODY: [&str; 6] = ["##########", "##########", "##########", "####..####", "####..####", "##.#..#.##"];

/// Edge of a cell, m.
const CELL: f64 = 0.25;

/// A four-legged body of 74 vertices and 104 triangles in the plane z = 0, 2.5 m long and 1.5 m high.
///
/// x runs along the body, centered; y is up, the feet stand on y = 0. The mesh is its own mirror image in x.
pub fn walker_2d() -> TriangleMesh {
    let rows = BODY.iter().rev().enumerate();
    let cells: Vec<[usize; 2]> = rows
        .flat_map(|(j, row)| row.bytes().enumerate().filter(|(_, c)| *c == b'#').map(move |(i, _)| [i, j]))
        .collect();
    let half = 0.5 * BODY[0].len() as f64;
    flat(&cells, Diagonals::Alternating, |[i, j]| [CELL * (i as f64 - half), CELL * j as f64])
}
