//! The lowest point of a rugged landscape: a ball through pins, by Bayesian optimization with leaps along gradients.
//!
//! `cargo run --release -p tour --bin search`

use std::error::Error;

use pullback::search::{build_method, search::search};
use pullback::tasks::objectives;

fn main() -> Result<(), Box<dyn Error>> {
    let task = objectives::build("pinball-2")?;
    let method = build_method("bo-leap", &Default::default())?;
    let log = std::env::temp_dir().join(format!("pullback-search-{}.jsonl", std::process::id()));
    let found = search(task.as_ref(), ("pinball-2", method.as_ref()), (60, 0), &log, |_, _| ())?;
    let best = found.best.ok_or("sixty simulations find something")?;
    println!("loss {:.4} at {:?} after {} simulations", best.loss, best.x, best.episode);
    std::fs::remove_file(&log)?;
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
