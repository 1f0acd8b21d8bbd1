//! A system whose type is forgotten does what it did.

use pullback_core::gradcheck::Options;
use pullback_core::rollout::FinalState;
use pullback_core::step_check::check_rollout;
use pullback_core::{Erased, Inputs, Integrated, Integrator, Rollout, Schedule};

use crate::common::Duffing;

fn duffing() -> Integrated<Duffing> {
    Integrated::new(Duffing::new(), 0.05, Integrator::fixed(pullback_core::integrator::Method::Rk4)).unwrap()
}

#[test]
fn gradients_of_an_erased_system_are_the_same_bits() {
    let loss = FinalState { weights: vec![0.8, -0.3, 0.0] };
    let typed = Rollout::new(duffing(), 12, Schedule::Revolve { slots: 3 }).unwrap();
    let erased = Rollout::new(Erased::new(duffing()), 12, Schedule::Revolve { slots: 3 }).unwrap();
    let inputs = Inputs::<f64>::defaults(&typed.system, 12);
    let (mut a, mut b) = (typed.workspace::<f64>(), erased.workspace::<f64>());
    typed.gradient(&mut a, &inputs, &loss).unwrap();
    erased.gradient(&mut b, &inputs, &loss).unwrap();
    assert_eq!(a.gradient, b.gradient);
    assert!(a.gradient.params.iter().all(|g| *g != 0.0));
}

#[test]
fn memory_of_an_erased_system_is_known() {
    let typed = Rollout::new(duffing(), 12, Schedule::StoreAll).unwrap();
    let erased = Rollout::new(Erased::new(duffing()), 12, Schedule::StoreAll).unwrap();
    // The workspace itself is on the heap, once.
    assert!(erased.predict_bytes::<f64>() > typed.predict_bytes::<f64>());
}

#[test]
fn dual_numbers_of_an_erased_system_check_its_pullback() {
    let rollout = Rollout::new(Erased::new(duffing()), 3, Schedule::StoreAll).unwrap();
    let inputs = Inputs::<f64>::defaults(&rollout.system, 3);
    let loss = FinalState { weights: vec![0.8, -0.3, 0.0] };
    check_rollout(&rollout, &inputs, &loss, &Options::default()).assert_passed();
}
