//! A policy learned through the physics: a few epochs of SAPO on the cart-pole.
//!
//! `cargo run --release -p tour --bin policy`; the whole run is `pullback train cartpole`.

use std::error::Error;

use pullback::learn::algorithm::{ALGORITHMS, PRESETS};
use pullback::learn::env::VecEnvOptions;
use pullback::tasks::environments::{self, EnvironmentOptions, Precision};

fn main() -> Result<(), Box<dyn Error>> {
    let environment = environments::build("cartpole", &EnvironmentOptions::default())?;
    let preset = PRESETS.find("dflex-hopper")?.value;
    let sapo = &ALGORITHMS.find("sapo")?.value;
    let mut algorithm = (sapo.build)(&(sapo.settings)(&preset), environment.spaces(), 0)?;
    let options = VecEnvOptions::new(algorithm.envs());
    let mut env = environment.vec_env(options, Precision::F32)?;
    for epoch in 0..3 {
        let report = algorithm.learn(&mut env)?;
        println!("epoch {epoch}: {report:?}");
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
