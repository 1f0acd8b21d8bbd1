//! Pullbacks against dual numbers and differences.

use pullback_core::gradcheck::{Options, Verdict};
use pullback_core::rollout::{FinalState, Inputs, Rollout};
use pullback_core::step_check::{check_rollout_along, check_step};
use pullback_core::{Described, Point, Schedule};
use pullback_smoke::{Border, Grid, Scheme, Settings, Smoke};

use crate::common::{EXACT, all_effects, mixed, random_state};

/// Forward mode is the strict check. Differences straddle kinks where a trace passes from cell to cell or a value
/// is clamped, and there are hundreds of traces.
fn options() -> Options {
    Options { forward_tolerance: 1e-9, difference_tolerance: 1e-5, probes: 1, ..Options::default() }
}

fn check<const D: usize>(smoke: &Smoke<D>, speed: f64) {
    let state = random_state(smoke, speed, 7);
    let params = smoke.layout().params.defaults();
    let report = check_step(smoke, Point { params: &params, state: &state, control: &[] }, &options());
    report.assert_passed();
    let kinks = report.entries.iter().filter(|e| e.verdict == Verdict::Kink).count();
    assert!(20 * kinks <= report.entries.len(), "{kinks} kinks in {} entries", report.entries.len());
}

#[test]
fn steps_in_two_dimensions() {
    for scheme in [Scheme::SemiLagrangian, Scheme::MacCormack] {
        let settings = Settings { scheme, ..all_effects() };
        let grid = mixed([8, 6]);
        let share = (0..grid.len()).map(|i| if i < 12 { 0.5 } else { 0.0 }).collect();
        check(&Smoke::with_source(grid, settings, 0.1, share, 0.7).unwrap(), 3.0);
    }
}

#[test]
fn steps_in_three_dimensions() {
    let grid = Grid::new([4, 4, 4], 0.25).with_borders([Border::Wall, Border::Periodic, Border::Wall]);
    check(&Smoke::new(grid, all_effects(), 0.1).unwrap(), 3.0);
    let settings = Settings { scheme: Scheme::MacCormack, pressure: EXACT, ..Settings::default() };
    check(&Smoke::new(mixed([4, 4, 4]), settings, 0.1).unwrap(), 3.0);
}

/// Rollouts long enough for smoke to reach walls and an obstacle.
#[test]
fn rollouts() {
    let smoke = Smoke::new(mixed([16, 12]), all_effects(), 0.1).unwrap();
    let rollout = Rollout::new(&smoke, 6, Schedule::Revolve { slots: 2 }).unwrap();
    let mut inputs = Inputs::<f64>::defaults(&smoke, 6);
    inputs.state = random_state(&smoke, 1.0, 3);
    let weights = (0..inputs.state.len()).map(|i| (0.1 * i as f64).sin()).collect();
    check_rollout_along(&rollout, &inputs, &FinalState { weights }, &options()).assert_passed();
}

/// Flows so smooth that the cells of many traces lie beside each other, in rows longer than a register.
#[test]
fn smooth_flows() {
    for scheme in [Scheme::SemiLagrangian, Scheme::MacCormack] {
        let smoke = Smoke::new(mixed([20, 8, 8]), Settings { scheme, ..all_effects() }, 0.1).unwrap();
        let rollout = Rollout::new(&smoke, 3, Schedule::StoreAll).unwrap();
        let mut inputs = Inputs::<f64>::defaults(&smoke, 3);
        inputs.state = random_state(&smoke, 0.0, 3);
        let n = smoke.grid().len();
        for (i, u) in inputs.state[..3 * n].iter_mut().enumerate() {
            *u = (i / n) as f64 * 0.3 + 0.5 + (0.31 * (i % n % 20) as f64).sin() + 0.01 * (i % 13) as f64;
        }
        let weights = (0..inputs.state.len()).map(|i| (0.1 * i as f64).sin()).collect();
        check_rollout_along(&rollout, &inputs, &FinalState { weights }, &options()).assert_passed();
    }
}

/// A start at rest, where every trace ends on a kink: forward mode and pullback take the same side.
#[test]
fn rest_is_a_kink_with_one_side() {
    let settings = Settings { buoyancy: Some(1.0), pressure: EXACT, ..Settings::default() };
    let smoke = Smoke::new(Grid::new([6, 6], 0.25), settings, 0.1).unwrap();
    let state = random_state(&smoke, 0.0, 1);
    let params = smoke.layout().params.defaults();
    let report = check_step(&smoke, Point { params: &params, state: &state, control: &[] }, &options());
    report.assert_passed();
    assert!(report.entries.iter().any(|e| e.verdict == Verdict::Kink));
}
