//! The lowest point of a rugged landscape: a ball through pins, by Bayesian optimization with leaps along gradients.
//!
//! `cargo run --release -p tour --bin search`

use std::error::Error;

use pullback::search::build_method;
use pullback::search::search::Search;
use pullback::tasks::objectives;

fn main() -> Result<(), Box<dyn Error>> {
    let objective = objectives::build("pinball-2")?;
    let method = build_method("bo-leap", &Default::default())?;
    let (objective, method) = (objective.as_ref(), method.as_ref());
    let search = Search { objective, task: "pinball-2", inputs: &[], method, budget: 60, seed: 0 };
    let found = search.run(None, |_, _| ())?;
    let best = found.best.ok_or("sixty simulations find something")?;
    println!("loss {:.4} at {:?} after {} simulations", best.loss, best.x, best.episode);
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
