//! First velocities that form a desired pattern of smoke (gradSim C.4).

use pullback_core::ConfigError;
use pullback_core::picture::Picture;
use pullback_optim::methods::Lbfgs;
use pullback_optim::{Objective, Run, RunLog, optimize};
use pullback_plot::{Figure, HeatmapPanel, LinePanel, Section, Series};
use pullback_tasks::Goal;
use pullback_tasks::smoke::objectives::shape_2d;
use serde::{Deserialize, Serialize};

use crate::experiment::{Exhibit, ExperimentError, Setting};

/// Part of the target's mass square that may remain: Σ(ρ − ρ*)² ≤ 0.1 Σρ*².
const REMAINING: f64 = 0.1;

/// Losses of a search, and where it was lowest.
#[derive(Serialize, Deserialize)]
struct Found {
    losses: Vec<f64>,
    best: Vec<f64>,
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let (cells, steps, episodes) = setting.size((64, 40, 300), (32, 20, 60));
    let task = shape_2d(cells, steps)?;
    let found = setting.part(&format!("smoke {cells} x {cells}, {episodes} episodes"), || {
        let mut run = Run::new(&task, episodes, RunLog::none())?;
        optimize(&Lbfgs::default(), &mut run, 0)?;
        let best = run.best().ok_or_else(|| ConfigError::new("no episode of smoke could be simulated"))?;
        Ok::<_, ExperimentError>(Found { losses: run.losses().to_vec(), best: best.x.clone() })
    })?;
    let lowest = found.losses.iter().copied().fold(f64::INFINITY, f64::min);

    let mut exhibit = Exhibit::default();
    let case = format!("smoke, {cells} x {cells}");
    exhibit.row(&case, "first Σ(ρ − ρ*)²/Σρ*²", (found.losses[0], "1"), None);
    exhibit.row(&case, "lowest Σ(ρ − ρ*)²/Σρ*²", (lowest, "1"), None);
    exhibit.row(&case, "simulations", (found.losses.len() as f64, "1"), None);
    exhibit.goal(Goal::at_most(
        format!("{case}: the shape is reached, Σ(ρ − ρ*)² over Σρ*²"),
        lowest,
        REMAINING,
    ));
    let section = Section::new("Smoke that becomes a star").paragraph(format!(
        "Variables are the velocities of all {} faces at the start; nothing acts afterwards but the flow itself.",
        found.best.len()
    ));
    let fields = fields(task.pictures(&found.best)?);
    let caption = "A disc of smoke under the velocities that were found, and the pattern desired.";
    let section =
        exhibit.figure(section, "smoke", &fields, (caption, "Four fields: start, half way, end, target."))?;
    let curve = Figure::single(losses(&found.losses).into());
    let caption = "Difference from the pattern over simulations of L-BFGS.";
    let section =
        exhibit.figure(section, "smoke-losses", &curve, (caption, "A curve that falls with simulations."))?;
    exhibit.section(section);
    Ok(exhibit)
}

/// The fields side by side, on one scale.
fn fields(pictures: Vec<Picture>) -> Figure {
    let all = pictures.iter().flat_map(|p| p.values.iter().flatten().copied());
    let range = all.fold((0.0f64, f64::MIN_POSITIVE), |(low, high), x| (low.min(x), high.max(x)));
    let panel = |picture: Picture| {
        HeatmapPanel {
            title: picture.title,
            x_label: picture.across.1,
            y_label: picture.up.1,
            x_range: picture.across.0,
            y_range: picture.up.0,
            values: picture.values,
            value_range: Some(range),
            ..HeatmapPanel::default()
        }
        .into()
    };
    Figure::grid("", 4, pictures.into_iter().map(panel).collect()).sized(15.6, 3.4)
}

fn losses(losses: &[f64]) -> LinePanel {
    // The lowest so far: trials of a line search may be higher.
    let mut lowest = f64::INFINITY;
    let mut so_far = |x: f64| {
        lowest = lowest.min(x);
        lowest
    };
    let points = losses.iter().enumerate().map(|(i, x)| (i as f64, so_far(*x))).collect();
    LinePanel {
        x_label: "simulations".into(),
        y_label: "lowest Σ(ρ − ρ*)^{2}/Σρ*^{2}".into(),
        series: vec![Series::new("", 0, points)],
        log_y: true,
        ..LinePanel::default()
    }
}
