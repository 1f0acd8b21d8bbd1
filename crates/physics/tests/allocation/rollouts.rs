//! Steps and gradients allocate nothing.

use crate::allocations;
use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Rollout, Schedule, System};
use pullback_math::{Real, f64x8};
use pullback_physics::pendulum::{DoublePendulum, DoublePendulumByHand};
use pullback_physics::point_mass::{ContactDamping, ElasticPointMass, PenaltyPointMass};

/// Allocations of a value, a gradient and another gradient, memory at hand.
fn counts<T: Real>(system: &impl System<T>, schedule: Schedule) -> [usize; 3] {
    let steps = 40;
    let inputs = Inputs::<T>::defaults(system, steps);
    let weights = vec![1.0; inputs.state.len()];
    let loss = FinalState { weights };
    let rollout = Rollout::new(system, steps, schedule).unwrap();
    let mut ws = rollout.workspace::<T>();
    let value = allocations(|| {
        rollout.value(&mut ws, &inputs, &loss).unwrap();
    });
    let mut gradient = || allocations(|| rollout.gradient(&mut ws, &inputs, &loss).unwrap());
    [value, gradient(), gradient()]
}

const SCHEDULES: [Schedule; 4] = [
    Schedule::StoreAll,
    Schedule::Every(6),
    Schedule::Revolve { slots: 4 },
    Schedule::TwoLevel { frame: 5, slots: 3 },
];

#[test]
fn fixed_steps_and_their_gradients_allocate_nothing() {
    for schedule in SCHEDULES {
        for method in [Method::SemiImplicitEuler, Method::Rk4, Method::Tsit5, Method::Dopri5] {
            let integrator = Integrator::fixed(method);
            let what = format!("{schedule:?}, {method:?}");
            let pendulum = Integrated::new(DoublePendulum::default(), 0.01, integrator).unwrap();
            assert_eq!(counts::<f64>(&pendulum, schedule), [0; 3], "{what}");
            assert_eq!(counts::<f64x8>(&pendulum, schedule), [0; 3], "{what}");
            let by_hand = Integrated::new(DoublePendulumByHand::default(), 0.01, integrator).unwrap();
            assert_eq!(counts::<f64>(&by_hand, schedule), [0; 3], "{what}");
            let penalty = PenaltyPointMass::new(ContactDamping::Plain);
            let penalty = Integrated::new(penalty, 0.05, integrator).unwrap();
            assert_eq!(counts::<f64>(&penalty, schedule), [0; 3], "{what}");
        }
        assert_eq!(counts::<f64>(&ElasticPointMass::new(0.05, true).unwrap(), schedule), [0; 3]);
    }
}

#[test]
fn adaptive_steps_allocate_only_in_the_first_gradient() {
    let pid = PidController::new(1e-8);
    let discrete = Integrator::adaptive(Method::Tsit5, pid);
    let continuous = Integrator { adjoint: Adjoint::Continuous(pid), ..discrete };
    for integrator in [discrete, continuous] {
        for schedule in SCHEDULES {
            let system = Integrated::new(DoublePendulum::default(), 0.1, integrator).unwrap();
            let [value, first, second] = counts::<f64>(&system, schedule);
            assert_eq!((value, second), (0, 0), "{integrator:?}, {schedule:?}: first {first}");
        }
    }
}
