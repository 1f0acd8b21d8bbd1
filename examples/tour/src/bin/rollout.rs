//! Roll out the robot of a model file, and print how high its torso is.
//!
//! `cargo run --release -p tour --bin rollout`

use std::error::Error;

use pullback::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let robot = pullback::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ant.xml"))?;
    let rollout = Rollout::new(&robot, 400, Schedule::StoreAll)?;
    let mut ws = rollout.workspace::<f64>();
    let height = robot.layout().state.index_of("root.position[2]")?;
    rollout.simulate(&mut ws, &Inputs::defaults(&robot, 400), |at| {
        if at.step.is_multiple_of(100) {
            println!("{:.2} s: {:+.3} m", at.step as f64 * robot.dt(), at.state[height]);
        }
    })?;
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
