//! The gradient of where a pendulum ends, by names of its inputs, checked three ways.
//!
//! `cargo run --release -p tour --bin gradient`

use std::error::Error;

use pullback::core::step_check::check_rollout;
use pullback::physics::pendulum::DoublePendulum;
use pullback::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let system = Integrated::new(DoublePendulum::default(), 0.01, Integrator::fixed(Method::Rk4))?;
    let layout = system.layout();
    let rollout = Rollout::new(&system, 200, Schedule::Revolve { slots: 14 })?;
    let inputs = Inputs::<f64>::defaults(&system, 200);
    let loss = StateTarget::new(layout, "angle", Norm::Cosine, Weights::at_end(1.0))?;
    let mut ws = rollout.workspace::<f64>();
    rollout.gradient(&mut ws, &inputs, &loss)?;
    println!("loss {:.6}", ws.gradient.loss);
    for i in layout.params.select("*.mass, *.length")? {
        println!("d loss / d {} = {:+.6}", layout.params.entry_name(i), ws.gradient.params[i]);
    }
    // Adjoint, forward mode and finite differences agree.
    check_rollout(&rollout, &inputs, &loss, &GradcheckOptions::default()).assert_passed();
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
