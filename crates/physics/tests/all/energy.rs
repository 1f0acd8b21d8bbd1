//! Energy: conserved without friction to the order of the method, never gained with it.

use crate::common::{drift, fixed, states};
use pullback_core::Described;
use pullback_core::integrator::Method;
use pullback_math::Flat;
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_physics::point_mass::{ContactDamping, PenaltyPointMass, PenaltyPointMassParams};

const SIMPLE: [f64; 4] = [0.8, 1.3, 0.0, 9.81];
const DOUBLE: [f64; 7] = [0.9, 1.2, 0.0, 1.1, 0.8, 0.0, 9.81];

/// Energies over `time` seconds without friction.
fn simple(dt: f64, time: f64, method: Method) -> Vec<f64> {
    let field = SimplePendulum::default();
    let steps = (time / dt).round() as usize;
    let all = states(&fixed(field.clone(), dt, method), &SIMPLE, &[1.2, 0.4], &[0.0], steps);
    all.iter().map(|s| field.energy(&SIMPLE, s)).collect()
}

fn double(dt: f64, time: f64, method: Method) -> Vec<f64> {
    let field = DoublePendulum::default();
    let steps = (time / dt).round() as usize;
    let all = states(&fixed(field.clone(), dt, method), &DOUBLE, &[0.9, -0.4, 0.3, 0.5], &[0.0; 2], steps);
    all.iter().map(|s| field.energy(&DOUBLE, s)).collect()
}

#[test]
fn semi_implicit_euler_keeps_energy_within_a_band_of_order_h() {
    let at = |dt| simple(dt, 40.0, Method::SemiImplicitEuler);
    let coarse = at(0.002);
    let (quarter, whole) = (drift(&coarse[..coarse.len() / 4]), drift(&coarse));
    assert!(whole < 1.01 * quarter, "drifts: {quarter:e} in the first quarter, {whole:e} in all");
    assert!(whole < 0.02 * coarse[0], "{whole:e} of {:e}", coarse[0]);
    let order = (whole / drift(&at(0.0005))).log2() / 2.0;
    assert!((order - 1.0).abs() < 0.05, "order {order:.2}");
}

/// The double pendulum's inertia depends on its angles, so its rates are not momenta, and no band holds the
/// energy.
#[test]
fn semi_implicit_euler_drifts_at_first_order_where_inertia_varies() {
    let at = |dt| drift(&double(dt, 2.0, Method::SemiImplicitEuler));
    let order = (at(0.002) / at(0.0005)).log2() / 2.0;
    assert!((order - 1.0).abs() < 0.1, "order {order:.2}");
}

#[test]
fn rk4_drifts_at_fourth_order_or_better() {
    for (energies, coarse, limit) in
        [(simple as fn(f64, f64, Method) -> Vec<f64>, 0.02, 1e-7), (double, 0.01, 1e-7)]
    {
        let at = |dt| drift(&energies(dt, 5.0, Method::Rk4)) / energies(dt, 0.0, Method::Rk4)[0];
        let (a, b) = (at(coarse), at(coarse / 4.0));
        let order = (a / b).log2() / 2.0;
        assert!((3.8..5.5).contains(&order), "order {order:.2} ({a:e}, {b:e})");
        assert!(b < limit, "{b:e}");
    }
}

#[test]
fn friction_never_adds_energy() {
    let field = SimplePendulum::default();
    let mut params = SIMPLE;
    params[field.layout().params.index_of("damping").unwrap()] = 0.3;
    let all = states(&fixed(field.clone(), 0.01, Method::Rk4), &params, &[2.5, 1.0], &[0.0], 2000);
    never_increases(all.iter().map(|s| field.energy(&params, s)));

    // Friction in either joint alone is enough.
    for (upper, lower) in [(0.2, 0.0), (0.0, 0.2), (0.1, 0.3)] {
        let field = DoublePendulum::default();
        let mut params = DOUBLE;
        for (name, damping) in [("upper.damping", upper), ("lower.damping", lower)] {
            params[field.layout().params.index_of(name).unwrap()] = damping;
        }
        let system = fixed(field.clone(), 0.002, Method::Rk4);
        let all = states(&system, &params, &[2.0, -1.0, 0.5, 1.5], &[0.0; 2], 5000);
        never_increases(all.iter().map(|s| field.energy(&params, s)));
    }
}

#[track_caller]
fn never_increases(energies: impl Iterator<Item = f64>) {
    let energies: Vec<f64> = energies.collect();
    let first = energies[0];
    for (i, pair) in energies.windows(2).enumerate() {
        assert!(pair[1] <= pair[0] + 1e-9 * first, "step {i}: {} after {}", pair[1], pair[0]);
    }
    assert!(energies[energies.len() - 1] < 0.8 * first, "friction took too little");
}

#[test]
fn a_torque_adds_the_work_it_does() {
    // dE = τ₁ dθ₁ + τ₂ (dθ₂ − dθ₁), a constant torque having a potential.
    let (field, torque) = (DoublePendulum::default(), [0.7, -0.4]);
    let all =
        states(&fixed(field.clone(), 0.001, Method::Rk4), &DOUBLE, &[0.9, -0.4, 0.3, 0.5], &torque, 2000);
    let balance: Vec<f64> =
        all.iter().map(|s| field.energy(&DOUBLE, s) - torque[0] * s[0] - torque[1] * (s[1] - s[0])).collect();
    assert!(drift(&balance) < 1e-8, "{:e}", drift(&balance));
    let energies: Vec<f64> = all.iter().map(|s| field.energy(&DOUBLE, s)).collect();
    assert!(drift(&energies) > 0.1, "the torque did nothing");
}

/// Kinetic energy plus that of the surface's spring, per unit mass.
fn contact_energy(params: &PenaltyPointMassParams<f64>, s: &[f64]) -> f64 {
    0.5 * s[1] * s[1] + 0.5 * params.stiffness * s[0].min(0.0).powi(2) + params.gravity * s[0]
}

#[test]
fn penalty_contact_loses_energy_if_and_only_if_it_is_damped() {
    for onset in [ContactDamping::Plain, ContactDamping::ByDepth] {
        let bounce = |damping: f64| {
            let params = PenaltyPointMassParams { stiffness: 50.0, damping, gravity: 0.0 };
            let field = PenaltyPointMass::new(onset);
            let mut flat = field.layout().params.defaults();
            params.write(&mut flat[field.param_block().range()]);
            let system = fixed(field, 1e-4, Method::Rk4);
            let all = states(&system, &flat, &[0.1, -1.0], &[], 10_000);
            let end = all.last().unwrap();
            assert!(end[0] > 0.0 && end[1] > 0.0, "did not bounce: {end:?}");
            (params, all)
        };
        let (params, all) = bounce(0.0);
        let lost = drift(&all.iter().map(|s| contact_energy(&params, s)).collect::<Vec<_>>());
        assert!(lost < 1e-6, "{onset:?}: {lost:e} lost without damping");

        for damping in [0.1, 1.0, 4.0] {
            let (params, all) = bounce(damping);
            let energies: Vec<f64> = all.iter().map(|s| contact_energy(&params, s)).collect();
            // A step across the surface errs by up to k (v dt)² / 2.
            let step_error = 0.5 * 50.0 * 1e-8;
            let gained = energies.windows(2).map(|e| e[1] - e[0]).fold(0.0, f64::max);
            assert!(gained < step_error, "{onset:?}, {damping}: {gained:e} gained in a step");
            assert!(energies[energies.len() - 1] < 0.999 * energies[0], "{onset:?}, {damping}: nothing lost");
        }
    }
}
