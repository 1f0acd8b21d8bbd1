//! Systems and states that the tests share.

use pullback_core::random::Random;
use pullback_core::{Described, Info, Point, StepError, System};
use pullback_math::Scalar;
use pullback_smoke::{Border, Grid, Settings, Smoke, SolveTolerance};

/// Solves as exact as `f64` allows.
pub const EXACT: SolveTolerance = SolveTolerance { relative: 1e-14, iterations: 200 };

/// All effects.
pub fn all_effects() -> Settings {
    Settings {
        buoyancy: Some(0.8),
        viscosity: Some(0.01),
        damping: Some(0.3),
        dissipation: Some(0.2),
        confinement: Some(0.4),
        pressure: EXACT,
        ..Settings::default()
    }
}

/// Smoke everywhere, of any density, in any motion.
pub fn random_state<const D: usize>(smoke: &Smoke<D>, speed: f64, seed: u64) -> Vec<f64> {
    let (mut random, n) = (Random::new(seed), smoke.grid().len());
    let mut state: Vec<f64> = (0..D * n).map(|_| random.uniform(-speed, speed)).collect();
    state.extend((0..n).map(|_| random.uniform(0.5, 1.5)));
    state
}

/// Steps from a state with default parameters.
pub fn run<T: Scalar, const D: usize>(
    smoke: &Smoke<D>,
    state: &[f64],
    steps: usize,
) -> Result<(Vec<T>, Info), StepError> {
    let params: Vec<T> = smoke.layout().params.defaults().into_iter().map(T::lit).collect();
    let mut state: Vec<T> = state.iter().map(|x| T::lit(*x)).collect();
    let (mut next, mut ws) = (state.clone(), System::<T>::workspace(smoke));
    let mut info = Info::default();
    for _ in 0..steps {
        info.add(smoke.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next)?);
        std::mem::swap(&mut state, &mut next);
    }
    Ok((state, info))
}

/// Largest divergence times h of a state, over all fluid cells.
pub fn divergence<const D: usize>(smoke: &Smoke<D>, state: &[f64]) -> f64 {
    let (grid, velocity) = (smoke.grid(), smoke.velocity(state));
    let open = |a: usize, i: usize| if smoke.is_open(a, i) { velocity[a][i] } else { 0.0 };
    let mut most = 0.0f64;
    for i in (0..grid.len()).filter(|i| !grid.is_solid(*i)) {
        let (place, mut sum, mut stride) = (grid.place(i), 0.0, 1);
        for a in 0..D {
            let n = grid.cells[a];
            let upper = match (place[a] + 1 < n, grid.borders[a]) {
                (true, _) => open(a, i + stride),
                (false, Border::Periodic) => open(a, i - (n - 1) * stride),
                (false, Border::Wall) => 0.0,
            };
            sum += upper - open(a, i);
            stride *= n;
        }
        most = most.max(sum.abs());
    }
    most
}

/// A grid among walls with one periodic axis and an obstacle.
pub fn mixed<const D: usize>(cells: [usize; D]) -> Grid<D> {
    let mut borders = [Border::Wall; D];
    borders[0] = Border::Periodic;
    let grid = Grid::new(cells, 0.25).with_borders(borders);
    let middle = grid.extent().map(|x| 0.5 * x);
    grid.with_obstacle(|x| x.iter().zip(middle).all(|(x, m)| (x - m).abs() < 0.3))
}
