//! Controls that take a double pendulum from hanging to a pose, with little effort.
//!
//! `cargo run --release -p tour --bin controls`

use std::error::Error;

use pullback::physics::pendulum::DoublePendulum;
use pullback::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let system = Integrated::new(DoublePendulum::default(), 0.02, Integrator::fixed(Method::Rk4))?;
    let rollout = Rollout::new(&system, 50, Schedule::StoreAll)?;
    let pose =
        StateTarget::new(system.layout(), "angle", Norm::Square, Weights::at_end(10.0))?.at(&[0.8, 1.2])?;
    let still = StateTarget::new(system.layout(), "rate", Norm::Square, Weights::at_end(1.0))?;
    let loss = (pose, still, Effort::new(system.layout(), 1e-5));
    let mut base = Inputs::<f64>::defaults(&system, 50);
    base.state.fill(0.0);
    let objective = RolloutObjective::select(rollout, loss, base, "control.*")?;
    let found =
        bfgs(&objective, &objective.start(), &BfgsConfig { max_steps: 200, ..BfgsConfig::default() })?;
    let end = objective.states(&found.best().x)?.pop().ok_or("there is a last state")?;
    println!("loss {:.4} after {} gradients; it ends at {end:.3?}", found.best().value, found.gradients);
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
