//! Swing a pole up by looking ahead: iLQR with exact Jacobians, planned anew as the cart moves.
//!
//! `cargo run --release -p tour --bin plan`

use std::error::Error;

use pullback::planning::task::Planning;
use pullback::planning::{RunOptions, build_planner};
use pullback::tasks::planning::{CONTROL_TASKS, ControlTask, TaskOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let task = (CONTROL_TASKS.find("cartpole-swing-up")?.value)(&TaskOptions::default())?;
    let planner = build_planner("ilqr", &Default::default())?;
    let planning = Planning { steps: 60, ..task.planning() };
    let episode = task.run(&planner, &RunOptions::new(planning), &mut |_| ())?;
    println!("cost {:.3}, planned for {:.2} s", episode.cost(), episode.seconds());
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
