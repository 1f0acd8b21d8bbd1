//! What a rollout refuses: memory of another rollout, and losses that are no numbers.

use pullback_core::integrator::Method;
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Integrated, Integrator, Rollout, Schedule, StepError};

use crate::common::Duffing;

fn rollout(steps: usize, schedule: Schedule) -> Rollout<Integrated<Duffing>> {
    let system = Integrated::new(Duffing::new(), 0.1, Integrator::fixed(Method::Rk4)).unwrap();
    Rollout::new(system, steps, schedule).unwrap()
}

/// Before, a shorter workspace panicked or gave the gradient of another horizon.
#[test]
fn a_workspace_of_another_rollout_is_refused() {
    let loss = FinalState { weights: vec![1.0, 0.0, 0.0] };
    let ten = rollout(10, Schedule::StoreAll);
    let inputs = Inputs::<f64>::defaults(&ten.system, 10);
    for other in [rollout(9, Schedule::StoreAll), rollout(10, Schedule::Every(5))] {
        let mut ws = other.workspace::<f64>();
        let refused = [
            ten.gradient(&mut ws, &inputs, &loss).unwrap_err(),
            ten.value(&mut ws, &inputs, &loss).unwrap_err(),
            ten.simulate(&mut ws, &inputs, |_| ()).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, StepError::OtherWorkspace { .. }), "{error}");
            assert!(error.to_string().contains("10 steps"), "{error}");
        }
    }
    ten.gradient(&mut ten.workspace(), &inputs, &loss).unwrap();
}

/// Before, a weight that is no number gave a gradient of NaN without an error.
#[test]
fn a_loss_that_is_no_number_is_an_error() {
    let rollout = rollout(3, Schedule::StoreAll);
    let inputs = Inputs::<f64>::defaults(&rollout.system, 3);
    let mut ws = rollout.workspace::<f64>();
    for weight in [f64::NAN, f64::INFINITY] {
        let loss = FinalState { weights: vec![weight, 0.0, 0.0] };
        let errors = [
            rollout.value(&mut ws, &inputs, &loss).unwrap_err(),
            rollout.gradient(&mut ws, &inputs, &loss).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StepError::LossNotFinite { .. }), "{error}");
        }
    }
}

/// Before, missing weights counted as zero.
#[test]
fn short_weights_are_refused() {
    let rollout = rollout(3, Schedule::StoreAll);
    let inputs = Inputs::<f64>::defaults(&rollout.system, 3);
    let mut ws = rollout.workspace::<f64>();
    let short = vec![FinalState { weights: vec![1.0] }];
    let message = rollout.gradient(&mut ws, &inputs, &(&short, &short)).unwrap_err().to_string();
    assert!(message.contains("weights of the final state"), "{message}");
    assert_eq!(rollout.value(&mut ws, &inputs, &short).unwrap_err().to_string(), message);
}
