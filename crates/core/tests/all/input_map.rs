//! Maps from variables to inputs.

use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Variable};
use pullback_core::rollout::{Gradient, Inputs};

/// Two numbers of three particles, by one variable each.
#[test]
fn a_period_ties_what_particles_have_in_common() {
    let variables = (0..6).map(|i| Variable::new(format!("v{i}"), "m/s", (-9.0, 9.0), f64::from(i)));
    let map = LinearMap::direct(variables.collect(), (0..6).map(InputEntry::State)).with_period(2);
    assert_eq!(map.variables().len(), 2);

    let mut inputs = Inputs { state: vec![7.0; 6], controls: Vec::new(), params: Vec::new() };
    map.apply(&[1.5, -2.0], &mut inputs);
    assert_eq!(inputs.state, [1.5, -2.0, 1.5, -2.0, 1.5, -2.0]);

    let state = (0..6).map(f64::from).collect();
    let bars = Gradient { loss: 0.0, state, control: Vec::new(), params: Vec::new() };
    let mut x_bar = [0.0; 2];
    map.apply_vjp(&[1.5, -2.0], &bars, &mut x_bar);
    assert_eq!(x_bar, [0.0 + 2.0 + 4.0, 1.0 + 3.0 + 5.0]);
}
