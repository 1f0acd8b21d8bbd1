//! Shapes of smoke: where to begin and where to end, of equal mass.

use pullback_physics::smoke::Grid;

/// Density 1 inside a shape, 0 outside, with an edge about two cells wide. `inside` is the signed distance from the
/// edge, m, positive inside; it need not be exact.
fn filled<const D: usize>(grid: &Grid<D>, inside: impl Fn([f64; D]) -> f64) -> Vec<f64> {
    let density = |i: usize| 1.0 / (1.0 + (-4.0 * inside(grid.center(i)) / (2.0 * grid.spacing)).exp());
    (0..grid.len()).map(density).collect()
}

/// Offset from the middle of the grid.
fn from_middle<const D: usize>(grid: &Grid<D>, x: [f64; D]) -> [f64; D] {
    let extent = grid.extent();
    std::array::from_fn(|a| x[a] - 0.5 * extent[a])
}

fn length<const D: usize>(x: [f64; D]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A disc or ball in the middle with the mass of `other`: its radius by bisection.
pub fn round<const D: usize>(grid: &Grid<D>, other: &[f64]) -> Vec<f64> {
    let ball = |radius: f64| filled(grid, |x| radius - length(from_middle(grid, x)));
    let mass: f64 = other.iter().sum();
    let (mut low, mut high) = (0.0, grid.extent().into_iter().fold(0.0, f64::max));
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if ball(middle).iter().sum::<f64>() < mass { low = middle } else { high = middle }
    }
    ball(low)
}

/// A star of five rays, one of them up.
pub fn star(grid: &Grid<2>) -> Vec<f64> {
    filled(grid, |x| {
        let [x, z] = from_middle(grid, x);
        let angle = x.atan2(z);
        0.22 * (1.0 + 0.38 * (5.0 * angle).cos()) - (x * x + z * z).sqrt()
    })
}

/// Three bars crossing each other.
pub fn jack(grid: &Grid<3>) -> Vec<f64> {
    filled(grid, |x| {
        let x = from_middle(grid, x);
        // Of every bar: a capsule of this radius and half length along one axis.
        let bar = |axis: usize| {
            let mut off = x;
            off[axis] = (x[axis].abs() - 0.24).max(0.0);
            0.11 - length(off)
        };
        (0..3).map(bar).fold(f64::NEG_INFINITY, f64::max)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_differ_and_have_the_same_mass() {
        let flat = Grid::new([32, 32], 1.0 / 32.0);
        let grid = Grid::new([16; 3], 1.0 / 16.0);
        let pairs = [(star(&flat), round(&flat, &star(&flat))), (jack(&grid), round(&grid, &jack(&grid)))];
        for (shape, round) in pairs {
            let sum = |x: &[f64]| x.iter().sum::<f64>();
            assert!((sum(&shape) / sum(&round) - 1.0).abs() < 1e-6);
            let off: f64 = shape.iter().zip(&round).map(|(a, b)| (a - b).abs()).sum();
            assert!(off > 0.3 * sum(&shape));
            assert!(shape.iter().all(|x| (0.0..=1.0).contains(x)));
        }
    }
}
