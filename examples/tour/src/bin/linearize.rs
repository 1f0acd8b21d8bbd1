//! Jacobians of a step: how fast a pendulum falls from where it balances, and the torque that holds it.
//!
//! `cargo run --release -p tour --bin linearize`

use std::error::Error;
use std::f64::consts::PI;

use pullback::physics::pendulum::DoublePendulum;
use pullback::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let dt = 0.001;
    let system = Integrated::new(DoublePendulum::default(), dt, Integrator::fixed(Method::Rk4))?;
    let params = system.layout().params.defaults();
    let upright = Point { params: &params, state: &[PI, PI, 0.0, 0.0], control: &[0.0, 0.0] };
    let Linearization { a, b, .. } = linearize(&system, upright)?;
    // The largest eigenvalue by the power method: e^(λ Δt) for the fastest way to fall.
    let mut x = [1.0, 0.5, 1.0, 0.5];
    let mut growth = 1.0;
    for _ in 0..20_000 {
        let next: Vec<f64> = a.chunks(4).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        growth = next.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().zip(next).for_each(|(x, next)| *x = next / growth);
    }
    println!(
        "it falls as e^(t / {:.3} s); 1 N m at the upper hinge gives {:.3} rad/s²",
        dt / growth.ln(),
        b[4] / dt
    );
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
