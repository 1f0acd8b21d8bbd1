//! A page that plays a motion in any browser, and an animation.
//!
//! `cargo run --release -p tour --bin replay`

use std::error::Error;

use pullback::prelude::*;
use pullback::tasks::scenes::{self, SceneOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let scene = scenes::build("cloth-swing", SceneOptions::default())?;
    let steps = (0.5 / scene.dt()) as usize;
    let layout = scene.layout();
    let (state, params) = (layout.state.defaults(), layout.params.defaults());
    let inputs = Inputs { state, controls: scene.controls(steps), params };
    let mut rows = Vec::new();
    scene.simulate(&inputs, steps, &mut |at| rows.push((at.step as f64 * scene.dt(), at.state.to_vec())))?;
    let page = scene.replay(&inputs, &rows).ok_or("the cloth can be seen")?;
    let file = std::env::temp_dir().join("pullback-cloth.html");
    page.save(&file)?;
    println!("{} frames in {}", page.frames.len(), file.display());
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
