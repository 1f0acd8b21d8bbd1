//! Every material point scene once: `cargo run --release -p pullback-tasks --example mpm_tour -- FOLDER
//! [NAMES]` writes a page of its demonstration into the folder and prints milliseconds per action; for the
//! tasks of BO-Leap also those per episode.

use std::path::Path;
use std::time::Instant;

use pullback_core::rollout::Inputs;
use pullback_tasks::mpm::{self, objectives::TASKS};
use pullback_tasks::objectives::{Task, build};
use pullback_tasks::scenes::{self, SceneOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or("out".into());
    let wanted: Vec<String> = arguments.collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    std::fs::create_dir_all(&folder)?;

    for name in mpm::names().filter(|n| is_wanted(n)) {
        let scene = scenes::build(name, SceneOptions::default())?;
        let layout = scene.layout();
        let steps = (scene.horizon() / scene.dt()).round() as usize;
        let inputs = Inputs {
            state: layout.state.defaults(),
            controls: scene.controls(steps),
            params: layout.params.defaults(),
        };
        // A page shows at most a hundred frames of it.
        let keep = steps.div_ceil(100);
        let mut rows = Vec::new();
        let start = Instant::now();
        scene.simulate(&inputs, steps, &mut |at| {
            if at.step % keep == 0 {
                rows.push((at.step as f64 * scene.dt(), at.state.to_vec()));
            }
        })?;
        let each = start.elapsed().as_secs_f64() * 1e3 / steps as f64;
        let mut size = 0;
        if let Some(page) = scene.replay(&rows) {
            let path = Path::new(&folder).join(format!("{name}.html"));
            page.save(&path)?;
            size = std::fs::metadata(path)?.len();
        }
        println!("{name:16} {steps:4} actions, {each:8.2} ms each, page of {:.1} MB", size as f64 / 1e6);
    }

    for Task { name, .. } in TASKS.iter().filter(|task| is_wanted(task.name)) {
        let task = build(name)?;
        let x: Vec<f64> =
            task.bounds().iter().enumerate().map(|(i, (_, high))| 0.2 * high * (i as f64).sin()).collect();
        let mut grad = vec![0.0; x.len()];
        task.value(&x)?;
        let start = Instant::now();
        let value = task.value(&x)?;
        let forward = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        task.value_grad(&x, &mut grad)?;
        let both = start.elapsed().as_secs_f64() * 1e3;
        let norm = grad.iter().map(|g| g * g).sum::<f64>().sqrt();
        println!(
            "{name:16} {:2} variables, loss {value:9.4}, |gradient| {norm:9.3e}, {forward:7.0} ms, with gradient {both:7.0} ms",
            x.len()
        );
    }
    Ok(())
}
