//! Trajectories and periods.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{FieldShape, Inputs, Rollout, Schedule, System, VectorField};

/// All states of a rollout under a constant control, the first included.
pub fn states(
    system: &impl System<f64>,
    params: &[f64],
    state: &[f64],
    control: &[f64],
    steps: usize,
) -> Vec<Vec<f64>> {
    let rollout = Rollout::new(system, steps, Schedule::Revolve { slots: 1 }).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let mut states = Vec::with_capacity(steps + 1);
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: state.to_vec(), controls: control.repeat(steps), params: params.to_vec() },
            |at| states.push(at.state.to_vec()),
        )
        .unwrap();
    states
}

/// A field stepped by a fixed method.
pub fn fixed<F: FieldShape + VectorField<f64>>(field: F, dt: f64, method: Method) -> Integrated<F> {
    Integrated::new(field, dt, Integrator::fixed(method)).unwrap()
}

/// When entry `entry` of a trajectory first crosses zero, s. Between steps the motion is taken as straight,
/// which errs by O(dt³) where the acceleration vanishes too.
pub fn first_zero(states: &[Vec<f64>], entry: usize, dt: f64) -> f64 {
    let i = states.windows(2).position(|w| w[0][entry] * w[1][entry] <= 0.0).expect("never crosses zero");
    let (a, b) = (states[i][entry], states[i + 1][entry]);
    dt * (i as f64 + a / (a - b))
}

/// Largest |x − first| over a series.
pub fn drift(series: &[f64]) -> f64 {
    series.iter().map(|x| (x - series[0]).abs()).fold(0.0, f64::max)
}
