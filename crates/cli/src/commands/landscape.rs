//! `pullback landscape`: what a task looks like over two of its variables.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pullback_core::interrupt::asked;
use pullback_optim::{Landscape, LandscapeConfig};
use pullback_plot::{Figure, HeatmapPanel};
use serde::Serialize;

use crate::args::LandscapeOptions;
use crate::commands::objective;
use crate::interrupt;
use crate::output::{CliError, Output};
use crate::progress;
use crate::run_folder::RunFolder;

#[derive(Serialize)]
struct Summary {
    task: String,
    config: LandscapeConfig,
    /// Share of points where adjoint and finite difference point the same way within 26 degrees (cosine above
    /// 0.9).
    share_agreeing: f64,
    lowest: Lowest,
    landscape: Landscape,
    files: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Lowest {
    value: f64,
    at: (f64, f64),
}

pub fn run(options: &LandscapeOptions, output: &Output) -> Result<bool, CliError> {
    let objective = objective::build(&options.task, &options.goal, &options.reading)?;
    let config = LandscapeConfig {
        dims: options.dims,
        points: (options.points, options.points),
        difference_step: 1e-4,
    };
    let bar = progress::bar(options.points, &options.task);
    interrupt::listen()?;
    let tick = || {
        bar.inc(1);
        if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let landscape = Landscape::evaluate_while(objective.as_ref(), &config, tick)?;
    bar.finish_and_clear();

    // A task given a file, `cloth-lift:data/paper.csv`, has its results beside the others.
    let place = RunFolder::new("landscape", &options.task)
        .file(options.goal.loss.as_deref())
        .setting("dims", options.dims, (0, 1))
        .setting("points", options.points, 81)
        .setting("reading", options.reading.words(), String::new());
    let folder = output.folder(&place.name())?;
    let picture = folder.join("landscape.png");
    figure(&options.task, &landscape).save_png(&picture)?;
    let data = folder.join("landscape.json");
    output.write(&data, serde_json::to_string(&landscape)?.as_bytes())?;

    let cosines = landscape.cosines();
    let agreeing = cosines.iter().filter(|c| **c > 0.9).count() as f64;
    let lowest = (0..landscape.values.len()).filter(|k| landscape.values[*k].is_finite());
    let lowest = lowest.min_by(|a, b| landscape.values[*a].total_cmp(&landscape.values[*b])).unwrap_or(0);
    let columns = landscape.xs.len();
    let summary = Summary {
        task: options.task.clone(),
        config,
        share_agreeing: agreeing / cosines.len().max(1) as f64,
        lowest: Lowest {
            value: landscape.values[lowest],
            at: (landscape.xs[lowest % columns], landscape.ys[lowest / columns]),
        },
        landscape,
        files: vec![picture, data],
    };
    output.print(&summary, || {
        format!(
            "{} over {} and {}: {} points, {} failed\n\
             lowest value {:.6} at ({:.4}, {:.4})\n\
             adjoint and finite difference agree in direction at {:.1} % of the points\n{}\n{}",
            summary.task,
            summary.landscape.names.0,
            summary.landscape.names.1,
            summary.landscape.values.len(),
            summary.landscape.failures,
            summary.lowest.value,
            summary.lowest.at.0,
            summary.lowest.at.1,
            100.0 * summary.share_agreeing,
            summary.files[0].display(),
            summary.files[1].display(),
        )
    })?;
    match summary.landscape.rows_left_out {
        0 => Ok(true),
        left => Err(CliError::Partial(format!(
            "interrupted: {left} of {} rows are blank in {}; the whole landscape: {}",
            summary.landscape.ys.len(),
            folder.display(),
            interrupt::command_line()
        ))),
    }
}

/// Values with descent directions by the adjoint; beside it, by finite differences.
pub fn figure(task: &str, map: &Landscape) -> Figure {
    let panels = vec![
        panel("descent by the adjoint", map, &map.adjoint).into(),
        panel("descent by finite differences", map, &map.difference).into(),
    ];
    Figure::grid(task, 2, panels).sized(13.0, 5.4)
}

/// Values as a heat map under normalized arrows against `gradients`.
pub fn panel(title: &str, map: &Landscape, gradients: &[(f64, f64)]) -> HeatmapPanel {
    let columns = map.xs.len();
    let (width, height) = (map.xs[columns - 1] - map.xs[0], map.ys[map.ys.len() - 1] - map.ys[0]);
    let every = (columns / 16).max(1);
    let mut arrows = Vec::new();
    for j in (every / 2..map.ys.len()).step_by(every) {
        for i in (every / 2..columns).step_by(every) {
            let (gx, gy) = gradients[j * columns + i];
            // Directions as seen in the picture: both variables scaled to their range.
            arrows.push((map.xs[i], map.ys[j], -gx * width * width, -gy * height * height));
        }
    }
    HeatmapPanel {
        title: title.into(),
        x_label: label(&map.names.0, &map.units.0),
        y_label: label(&map.names.1, &map.units.1),
        x_range: (map.xs[0], map.xs[columns - 1]),
        y_range: (map.ys[0], map.ys[map.ys.len() - 1]),
        values: map.values.chunks(columns).map(<[f64]>::to_vec).collect(),
        value_label: "loss".into(),
        smooth: true,
        arrows,
        ..HeatmapPanel::default()
    }
}

/// `params.length` in `m` reads "length (m)"; `left.x` keeps its side.
fn label(name: &str, unit: &str) -> String {
    let name = ["state.", "params."].iter().find_map(|part| name.strip_prefix(part)).unwrap_or(name);
    match unit {
        "1" => name.to_owned(),
        unit => format!("{name} ({})", unit.replace("^2", "^{2}").replace("^3", "^{3}")),
    }
}
