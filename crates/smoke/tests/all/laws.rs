//! What smoke obeys: no divergence, rest, conserved momentum and mass as far as schemes promise, decay, symmetry.

use std::f64::consts::TAU;

use pullback_core::Described;
use pullback_smoke::{Border, Grid, Scheme, Settings, Smoke, SolveTolerance};

use crate::common::{EXACT, divergence, mixed, random_state, run};

#[test]
fn the_projection_removes_divergence() {
    let settings = Settings { pressure: EXACT, ..Settings::default() };
    for grid in [mixed([32, 24]), Grid::new([32, 32], 0.1)] {
        let smoke = Smoke::new(grid, settings, 0.01).unwrap();
        let start = random_state(&smoke, 1.0, 2);
        let (end, _) = run::<f64, 2>(&smoke, &start, 1).unwrap();
        assert!(divergence(&smoke, &end) <= 1e-12 * divergence(&smoke, &start));
    }
}

/// A step of a flow without divergence that passes no wall changes it by what advection does alone; projecting
/// twice changes nothing.
#[test]
fn a_projected_flow_stays_as_it_is() {
    // Steps so short that nothing moves.
    let smoke =
        Smoke::new(mixed([16, 16]), Settings { pressure: EXACT, ..Settings::default() }, 1e-14).unwrap();
    let (once, _) = run::<f64, 2>(&smoke, &random_state(&smoke, 1.0, 4), 1).unwrap();
    let (twice, _) = run::<f64, 2>(&smoke, &once, 1).unwrap();
    let change = once.iter().zip(&twice).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(change < 1e-12, "{change}");
}

/// Layers of smoke, however dense, are held by pressure.
#[test]
fn layers_stay_at_rest() {
    let settings = Settings { buoyancy: Some(5.0), pressure: EXACT, ..Settings::default() };
    let smoke = Smoke::new(Grid::new([16, 16], 0.1), settings, 0.1).unwrap();
    let mut state = smoke.layout().state.defaults();
    for i in 0..256 {
        state[512 + i] = (i / 16) as f64 * 0.3;
    }
    let (end, _) = run::<f64, 2>(&smoke, &state, 20).unwrap();
    let (fastest, start) = (end[..512].iter().fold(0.0f64, |m, u| m.max(u.abs())), &state[512..]);
    assert!(fastest < 1e-11, "{fastest}");
    assert!(end[512..].iter().zip(start).all(|(a, b)| (a - b).abs() < 1e-9));
}

/// A uniform wind on a periodic grid carries smoke along, keeps its mass and its own speed, and after whole cells
/// gives back what was there.
#[test]
fn a_uniform_wind_carries_smoke() {
    for scheme in [Scheme::SemiLagrangian, Scheme::MacCormack] {
        let settings = Settings { scheme, ..Settings::default() };
        let grid = Grid::new([16, 8], 0.5).with_borders([Border::Periodic; 2]);
        let smoke = Smoke::new(grid, settings, 0.5).unwrap();
        let mut state = random_state(&smoke, 0.0, 9);
        state[..128].fill(1.5);
        state[128..256].fill(-0.25);
        let (end, _) = run::<f64, 2>(&smoke, &state, 32).unwrap();
        assert!(end[..128].iter().all(|u| (u - 1.5).abs() < 1e-12));
        let mass = |state: &[f64]| smoke.density(state).iter().sum::<f64>();
        // Interpolation weights of a uniform wind sum to 1 over targets too; the limiter keeps no sum.
        if scheme == Scheme::SemiLagrangian {
            assert!((mass(&end) / mass(&state) - 1.0).abs() < 1e-12);
        }
        // One cell up per step and one to the right: back after 16 and 8.
        state[..256].fill(1.0);
        let (end, _) = run::<f64, 2>(&smoke, &state, 16).unwrap();
        assert!(end.iter().zip(&state).all(|(a, b)| (a - b).abs() < 1e-9), "{scheme:?}");
    }
}

/// No scheme makes new extremes of the density, and the mass of a puff that touches no wall changes little.
#[test]
fn densities_stay_within_bounds_and_mass_is_nearly_kept() {
    for (scheme, most) in [(Scheme::SemiLagrangian, 0.02), (Scheme::MacCormack, 0.02)] {
        let settings = Settings { scheme, buoyancy: Some(1.0), ..Settings::default() };
        let smoke = Smoke::new(Grid::new([64, 64], 1.0 / 64.0), settings, 0.02).unwrap();
        let mut state = smoke.layout().state.defaults();
        for i in 0..64 * 64 {
            let [x, z] = smoke.grid().center(i);
            let square = (x - 0.5).powi(2) + (z - 0.3).powi(2);
            state[2 * 64 * 64 + i] = (-square / 0.01).exp();
        }
        let (end, _) = run::<f64, 2>(&smoke, &state, 40).unwrap();
        let (before, after) = (smoke.density(&state), smoke.density(&end));
        let mass = |d: &[f64]| d.iter().sum::<f64>();
        let height =
            |d: &[f64]| d.iter().enumerate().map(|(i, x)| x * (i / 64) as f64).sum::<f64>() / mass(d);
        assert!(after.iter().all(|x| (0.0..=1.0).contains(x)));
        let change = mass(after) / mass(before) - 1.0;
        assert!(change.abs() < most, "{scheme:?}: mass changes by {change}");
        assert!(height(after) > height(before) + 1.0, "smoke rises");
    }
}

/// Error of the velocities of a Taylor-Green vortex after a fixed time in so many steps, and its energy over that
/// of the decay by viscosity.
fn taylor_green(n: usize, steps: usize, scheme: Scheme, viscosity: f64) -> (f64, f64) {
    let (h, time) = (1.0 / n as f64, 0.25);
    let settings = Settings {
        scheme,
        viscosity: Some(viscosity),
        pressure: SolveTolerance { relative: 1e-10, iterations: 100 },
        ..Settings::default()
    };
    let grid = Grid::new([n, n], h).with_borders([Border::Periodic; 2]);
    let smoke = Smoke::new(grid, settings, time / steps as f64).unwrap();
    let mut state = smoke.layout().state.defaults();
    for i in 0..n * n {
        let (x, z) = ((i % n) as f64 * h, (i / n) as f64 * h);
        state[i] = (TAU * x).sin() * (TAU * (z + 0.5 * h)).cos();
        state[n * n + i] = -(TAU * (x + 0.5 * h)).cos() * (TAU * z).sin();
    }
    let (end, _) = run::<f64, 2>(&smoke, &state, steps).unwrap();
    // u = u₀ exp(−2 ν (2π)² t)
    let decay = (-2.0 * viscosity * TAU * TAU * time).exp();
    let energy = |state: &[f64]| state[..2 * n * n].iter().map(|u| u * u).sum::<f64>();
    let error = end.iter().zip(&state).map(|(a, b)| (a - decay * b).powi(2)).sum::<f64>();
    ((error / energy(&state)).sqrt(), (energy(&end) / energy(&state)).sqrt() / decay)
}

/// The vortex stands still and decays as viscosity says; the error falls by the order of the scheme. Traces are
/// straight, which is first order in time: second order in space shows where Δt falls with h².
#[test]
fn a_taylor_green_vortex_decays() {
    let error = |n, steps, scheme| taylor_green(n, steps, scheme, 1e-3).0;
    let first = (error(32, 16, Scheme::SemiLagrangian) / error(64, 32, Scheme::SemiLagrangian)).log2();
    let second = (error(16, 8, Scheme::MacCormack) / error(32, 32, Scheme::MacCormack)).log2();
    assert!(first > 0.85, "{first}");
    assert!(second > 1.7, "{second}");
    let [plain, corrected] = [Scheme::SemiLagrangian, Scheme::MacCormack].map(|scheme| error(64, 32, scheme));
    assert!(corrected < 0.4 * plain, "{corrected} {plain}");
    let (_, ratio) = taylor_green(64, 32, Scheme::MacCormack, 5e-3);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// A plume over the middle stays the mirror image of itself.
#[test]
fn symmetric_smoke_stays_symmetric() {
    let settings =
        Settings { buoyancy: Some(2.0), confinement: Some(0.3), pressure: EXACT, ..Settings::default() };
    let grid = Grid::new([24, 24], 0.1);
    let share = (0..576).map(|i| if i / 24 < 3 && (8..16).contains(&(i % 24)) { 1.0 } else { 0.0 }).collect();
    let smoke = Smoke::with_source(grid, settings, 0.1, share, 1.0).unwrap();
    let (end, _) = run::<f64, 2>(&smoke, &smoke.layout().state.defaults(), 12).unwrap();
    let density = smoke.density(&end);
    assert!(density.iter().sum::<f64>() > 10.0);
    for i in 0..576 {
        let mirrored = i / 24 * 24 + 23 - i % 24;
        assert!((density[i] - density[mirrored]).abs() < 1e-9);
    }
}

/// Confinement makes eddies stronger, viscosity makes them weaker.
#[test]
fn confinement_feeds_eddies() {
    let energy = |confinement, viscosity| {
        let settings = Settings { confinement, viscosity, ..Settings::default() };
        let smoke = Smoke::new(Grid::new([32, 32], 0.1), settings, 0.05).unwrap();
        let (end, _) = run::<f64, 2>(&smoke, &random_state(&smoke, 0.5, 8), 10).unwrap();
        end[..2 * 1024].iter().map(|u| u * u).sum::<f64>()
    };
    let plain = energy(None, None);
    assert!(energy(Some(1.0), None) > 1.05 * plain);
    assert!(energy(None, Some(0.02)) < 0.95 * plain);
}
