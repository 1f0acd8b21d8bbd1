//! [`Sheet`]: a square grid of particles and springs whose stiffness is given by patches.
//!
//! Springs run along the edges and both diagonals of the cells, and, weaker, across two cells against
//! bending. Each takes its stiffness from the patches around its middle: from one, or in equal parts from
//! those it lies between.

use pullback_core::ConfigError;
use pullback_math::Vec3;
use pullback_physics::soft::{Placement, SoftBody, SpringMaterial};

/// Stiffness of the springs across two cells, in parts of the others'.
pub const ACROSS: f64 = 1.0 / 6.0;

/// Particles, springs and patches of a sheet of `cells` × `cells`; particle (i, j) has index i + (cells + 1)
/// j.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Cells along each edge.
    pub cells: usize,
    /// Ends of every spring.
    pub springs: Vec<[usize; 2]>,
    /// From end to end of every spring, in cells.
    pub spans: Vec<[f64; 2]>,
    /// What stiffness of which patches every spring has; patch (p, q) has index p + patches · q.
    pub shares: Vec<Vec<(usize, f64)>>,
}

impl Sheet {
    /// A sheet of `patches` × `patches` patches.
    pub fn new(cells: usize, patches: usize) -> Self {
        let mut sheet = Sheet { cells, springs: Vec::new(), spans: Vec::new(), shares: Vec::new() };
        let last = cells as i64;
        for (j, i) in (0..=last).flat_map(|j| (0..=last).map(move |i| (j, i))) {
            let reach = [(1, 0, 1.0), (0, 1, 1.0), (1, 1, 1.0), (-1, 1, 1.0), (2, 0, ACROSS), (0, 2, ACROSS)];
            for (di, dj, part) in reach {
                let (k, l) = (i + di, j + dj);
                if (0..=last).contains(&k) && (0..=last).contains(&l) {
                    sheet.springs.push([
                        sheet.particle(i as usize, j as usize),
                        sheet.particle(k as usize, l as usize),
                    ]);
                    sheet.spans.push([di as f64, dj as f64]);
                    let middle = [0.5 * (i + k) as f64, 0.5 * (j + l) as f64];
                    sheet.shares.push(shares(middle, cells, patches, part));
                }
            }
        }
        sheet
    }

    /// Index of particle (i, j).
    pub fn particle(&self, i: usize, j: usize) -> usize {
        i + (self.cells + 1) * j
    }
    /// Number of particles.
    pub fn particles(&self) -> usize {
        (self.cells + 1) * (self.cells + 1)
    }
    /// The four corners: (0, 0), (cells, 0), (0, cells), (cells, cells).
    pub fn corners(&self) -> [usize; 4] {
        let n = self.cells;
        [self.particle(0, 0), self.particle(n, 0), self.particle(0, n), self.particle(n, n)]
    }
    /// Place of particle p in a flat sheet of edge 1 around the origin.
    pub fn place(&self, p: usize) -> [f64; 2] {
        let (i, j, n) = (p % (self.cells + 1), p / (self.cells + 1), self.cells as f64);
        [i as f64 / n - 0.5, j as f64 / n - 0.5]
    }

    /// A flat sheet, `width` along x and `length` along y, m, as the part `cloth` of a body.
    pub fn body(
        &self,
        [width, length]: [f64; 2],
        mass: f64,
        material: SpringMaterial,
        placement: Placement,
    ) -> Result<SoftBody, ConfigError> {
        let positions: Vec<_> = (0..self.particles())
            .map(|p| {
                let [x, y] = self.place(p);
                Vec3::new(width * x, length * y, 0.0)
            })
            .collect();
        let masses = vec![mass / positions.len() as f64; positions.len()];
        let mut body = SoftBody::new();
        let part = body.add_particles("cloth", &positions, &masses, placement)?;
        body.add_springs(part, &self.springs, material)?;
        for (values, shares) in body.springs.values.iter_mut().zip(&self.shares) {
            values[1] = material.stiffness * shares.iter().map(|(_, share)| share).sum::<f64>();
        }
        Ok(body)
    }
}

/// Equal shares of the patches at four points around `middle`.
fn shares(middle: [f64; 2], cells: usize, patches: usize, part: f64) -> Vec<(usize, f64)> {
    let patch = |x: f64| {
        let at = (x * patches as f64 / cells as f64).floor();
        (at.max(0.0) as usize).min(patches - 1)
    };
    let mut shares: Vec<(usize, f64)> = Vec::new();
    for (dx, dy) in [(-1e-6, -1e-6), (1e-6, -1e-6), (-1e-6, 1e-6), (1e-6, 1e-6)] {
        let index = patch(middle[0] + dx) + patches * patch(middle[1] + dy);
        match shares.iter_mut().find(|(known, _)| *known == index) {
            Some((_, share)) => *share += 0.25 * part,
            None => shares.push((index, 0.25 * part)),
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spring_has_a_whole_share_and_every_patch_has_springs() {
        for patches in [4, 8] {
            let sheet = Sheet::new(8, patches);
            let mut held = vec![0.0; patches * patches];
            for (shares, span) in sheet.shares.iter().zip(&sheet.spans) {
                let across = span[0].abs().max(span[1]) > 1.5;
                let sum: f64 = shares.iter().map(|(_, share)| share).sum();
                assert!((sum - if across { ACROSS } else { 1.0 }).abs() < 1e-15);
                shares.iter().for_each(|(patch, share)| held[*patch] += share);
            }
            // Patches are alike up to the sheet's symmetry.
            assert!((held[0] - held[patches * patches - 1]).abs() < 1e-12 && held.iter().all(|h| *h > 1.0));
        }
    }
}
