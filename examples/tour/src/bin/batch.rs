//! A thousand pendula side by side, on lanes and threads, each with its own mass and its own gradient.
//!
//! `cargo run --release -p tour --bin batch`

use std::error::Error;

use pullback::math::f64x8;
use pullback::physics::pendulum::DoublePendulum;
use pullback::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let system = Integrated::new(DoublePendulum::default(), 0.01, Integrator::fixed(Method::Rk4))?;
    let rollout = Rollout::new(&system, 100, Schedule::StoreAll)?;
    let Inputs { state, controls, params } = Inputs::<f64>::defaults(&system, 100);
    let (envs, mass) = (1000, system.layout().params.index_of("lower.mass")?);
    let mut params = params.repeat(envs);
    params
        .chunks_mut(system.layout().params.len())
        .enumerate()
        .for_each(|(i, p)| p[mass] += 0.001 * i as f64);

    let mut batch = Batch::<_, f64x8>::new(rollout, envs, 2)?;
    let loss = StateTarget::new(system.layout(), "angle", Norm::Cosine, Weights::at_end(1.0))?;
    let mut out = BatchGradients::default();
    batch.gradients(
        BatchInputs { states: &state, controls: &controls, params: &params },
        |_| &loss,
        &mut out,
    )?;
    let of = |i: usize| (out.loss[i], out.params[i * system.layout().params.len() + mass]);
    println!("loss and slope in the mass: {:?} of the first, {:?} of the last", of(0), of(envs - 1));
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
