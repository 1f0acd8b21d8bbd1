//! Parameters of a pendulum from a recording with noise, with error bars.
//!
//! `cargo run --release -p tour --bin fit`; the same for files is `pullback identify FILE --data recording.csv`.

use std::error::Error;

use pullback::search::least_squares::build_fit_method;
use pullback::tasks::identify::{Asked, Question, RunSettings, Setup, Table, identify};
use pullback::tasks::scenes::{self, SceneOptions};

fn main() -> Result<(), Box<dyn Error>> {
    // Angles read off a video, s and rad.
    let recording = "time,angle\n0,1\n0.2,0.823\n0.4,0.352\n0.6,-0.232\n0.8,-0.722\n1,-0.951\n1.2,-0.856\n\
                     1.4,-0.463\n1.6,0.086\n1.8,0.591\n2,0.881\n";
    let scene = scenes::build("pendulum", SceneOptions::default())?;
    let table = Table::parse("recording", recording)?;
    let question = Question {
        asked: Asked { fit: vec!["length,damping".into()], ..Asked::default() },
        ..Question::default()
    };
    let setup = Setup::new(scene.as_ref(), "pendulum", &[table], &question)?;
    let method = build_fit_method("gauss-newton", &Default::default())?;
    let settings = RunSettings { method: &method, starts: 1, seed: 0, budget: 0, log: None };
    let found = identify(scene.as_ref(), &setup, &settings, &|_, _, _, _| ())?;
    for estimate in &found.fitted.laplace.estimates {
        let error = estimate.error.map_or("cannot be told".into(), |e| format!("{:.4}", e.error));
        println!("{}: {:.4} ± {error} {}", estimate.name, estimate.value, estimate.unit);
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
