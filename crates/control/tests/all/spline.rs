//! Splines: shifted plans are the same function of time; their gradient is exact.

use pullback_control::spline::SplineMap;
use pullback_control::{ControlBox, Interpolation, Plan, Spline};
use pullback_core::gradcheck::{Options, gradcheck};
use pullback_core::random::Random;
use pullback_core::{Rollout, Schedule};
use pullback_optim::RolloutObjective;

use crate::common::{Linear, quadratic};

const ALL: [Interpolation; 3] = [Interpolation::Zero, Interpolation::Linear, Interpolation::Cubic];

fn random_plan(spline: &Spline, random: &mut Random, size: f64) -> Plan {
    Plan { knots: (0..spline.len()).map(|_| random.uniform(-size, size)).collect(), phase: 0 }
}

#[test]
fn a_shifted_plan_is_the_same_motion_later() {
    let random = &mut Random::new(1);
    let bounds = ControlBox::new(&[(-1.0, 3.0), (0.0, 1.0)]).unwrap();
    let horizon = 17;
    for interpolation in ALL {
        for spacing in [1, 2, 3, 5, 40] {
            let spline = Spline::new(&bounds, horizon, spacing, interpolation);
            let mut plan = random_plan(&spline, random, 1.0);
            for shift in [1, 2, 7, 3] {
                let (mut before, mut after) = (vec![0.0; 2 * horizon], vec![0.0; 2 * horizon]);
                spline.controls(&plan.knots, plan.phase, &mut before);
                spline.shift(&mut plan, shift);
                assert!(plan.phase < spacing && plan.knots.len() == spline.len());
                spline.controls(&plan.knots, plan.phase, &mut after);
                let kept = 2 * (horizon - shift);
                assert_eq!(after[..kept], before[2 * shift..], "{interpolation:?}, spacing {spacing}");
            }
        }
    }
}

#[test]
fn cubics_go_through_their_knots_and_stay_in_bounds() {
    let bounds = ControlBox::new(&[(-2.0, 2.0)]).unwrap();
    let spline = Spline::new(&bounds, 9, 4, Interpolation::Cubic);
    let knots = [0.0, 1.0, -1.0, 1.0, 0.5, 0.0, 0.0, 0.0];
    let mut controls = vec![0.0_f64; 9];
    spline.controls(&knots[..spline.len()], 0, &mut controls);
    assert_eq!([controls[0], controls[4], controls[8]], [2.0, -2.0, 2.0]);
    assert!(controls.iter().all(|u| u.abs() <= 2.0), "{controls:?}");
}

#[test]
fn gradients_go_back_to_the_knots() {
    let system = Linear::coupled();
    let random = &mut Random::new(2);
    for interpolation in ALL {
        let bounds = ControlBox::new(&[(-1.0, 3.0), (0.0, 1.0)]).unwrap();
        let spline = Spline::new(&bounds, 13, 3, interpolation);
        // Some cubics leave the bounds between knots.
        let mut plan = random_plan(&spline, random, 0.99);
        plan.phase = 2;
        let rollout = Rollout::new(&system, 13, Schedule::StoreAll).unwrap();
        let objective = RolloutObjective::new(rollout, quadratic(&system), SplineMap::new(&spline, &plan));
        gradcheck(&objective, &plan.knots, &Options::default()).assert_passed();
    }
}
