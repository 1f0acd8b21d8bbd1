//! The projection: how fast it converges, and that threads change no bit.

use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{Bars, Described, Point, Schedule, System};
use pullback_smoke::losses::DensityLoss;
use pullback_smoke::{Border, Grid, Settings, Smoke, SolveTolerance};

use crate::common::{divergence, mixed, random_state, run};

fn iterations<const D: usize>(grid: Grid<D>) -> usize {
    let settings =
        Settings { pressure: SolveTolerance { relative: 1e-8, iterations: 200 }, ..Settings::default() };
    let smoke = Smoke::new(grid, settings, 0.01).unwrap();
    let start = random_state(&smoke, 1.0, 1);
    let (end, info) = run::<f64, D>(&smoke, &start, 1).unwrap();
    let (before, after) = (divergence(&smoke, &start), divergence(&smoke, &end));
    assert!(after <= 3e-8 * before, "divergence {before} became {after}");
    assert!(info.solver.converged && info.solver.residual <= 1e-8);
    info.solver.iterations
}

/// The number of iterations hardly grows with the grid.
#[test]
fn multigrid_converges_in_few_iterations() {
    let found = [
        iterations(Grid::new([16, 16], 0.1)),
        iterations(Grid::new([128, 128], 0.1)),
        iterations(Grid::new([64, 64], 0.1).with_borders([Border::Periodic; 2])),
        iterations(Grid::new([24, 20], 0.1)),
        iterations(Grid::new([16, 16, 16], 0.1)),
        iterations(Grid::new([32, 32, 32], 0.1)),
    ];
    eprintln!("iterations {found:?}");
    assert!(found.iter().all(|n| *n <= 10), "{found:?}");
    let obstructed = [iterations(mixed([64, 64])), iterations(mixed([16, 16, 16]))];
    eprintln!("with obstacles {obstructed:?}");
    assert!(obstructed.iter().all(|n| *n <= 16), "{obstructed:?}");
}

/// Grids that cannot be halved take dozens of steps of relaxation on the only level, which once lost all digits.
#[test]
fn odd_numbers_of_cells_converge_too() {
    let walls = Grid::new([20, 7, 5], 0.25);
    let borders = [Border::Periodic, Border::Wall, Border::Wall];
    let found = [
        iterations(walls.clone()),
        iterations(walls.with_borders(borders)),
        iterations(mixed([20, 6, 5])),
        iterations(Grid::new([63, 45], 0.1)),
    ];
    assert!(found.iter().all(|n| *n <= 12), "{found:?}");
}

/// Gradients in single precision: solves that were single too once stalled.
#[test]
fn solves_in_single_precision_do_not_stall() {
    fn check<const D: usize>(n: usize) {
        let settings = Settings {
            buoyancy: Some(1.0),
            pressure: SolveTolerance { relative: 1e-5, iterations: 20 },
            ..Settings::default()
        };
        let h = 1.0 / n as f64;
        let smoke = Smoke::new(Grid::new([n; D], h), settings, 0.5 * h).unwrap();
        let rollout = Rollout::new(&smoke, 4, Schedule::StoreAll).unwrap();
        let mut inputs = Inputs::<f32>::defaults(&smoke, 4);
        let cells = n.pow(D as u32);
        for i in 0..cells {
            let x = smoke.grid().center(i);
            for a in 0..D {
                inputs.state[a * cells + i] = (5.0 * x[(a + 1) % D] + a as f64).sin() as f32;
            }
            let square: f64 = x.iter().map(|x| (x - 0.4).powi(2)).sum();
            inputs.state[D * cells + i] = (-square / 0.02).exp() as f32;
        }
        let mut ws = rollout.workspace::<f32>();
        let target =
            (0..cells).map(|i| f64::from(inputs.state[D * cells + (i + 3 * n + 5) % cells])).collect();
        rollout.gradient(&mut ws, &inputs, &DensityLoss::new(&smoke, target).unwrap()).unwrap();
        assert!(ws.info.solver.iterations <= 8, "{D}: {}", ws.info.solver.iterations);
    }
    check::<2>(64);
    check::<2>(256);
    check::<3>(32);
}

/// A step and its pullback on pools of 1, 2 and 3 threads, on a grid large enough to be shared.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let settings = Settings { buoyancy: Some(1.0), confinement: Some(0.2), ..Settings::default() };
    let smoke = Smoke::new(Grid::new([32, 32, 32], 0.1), settings, 0.02).unwrap();
    let state = random_state(&smoke, 1.0, 5);
    let params = smoke.layout().params.defaults();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let at = Point { params: &params, state: &state, control: &[] };
            let mut ws = System::<f64>::workspace(&smoke);
            let (mut next, mut bar) = (state.clone(), vec![0.0; state.len()]);
            let mut params_bar = vec![0.0; params.len()];
            smoke.step(&mut ws, at, &mut next).unwrap();
            let bars = Bars { params: &mut params_bar, state: &mut bar, control: &mut [] };
            smoke.step_vjp(&mut ws, at, &state, bars).unwrap();
            (next, bar, params_bar)
        })
    };
    let one = on(1);
    assert!(one == on(2) && one == on(3));
}
