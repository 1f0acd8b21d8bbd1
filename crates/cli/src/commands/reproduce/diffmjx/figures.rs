//! The figures of the page.

use pullback_plot::{Figure, LinePanel, Panel, Series};
use pullback_tasks::diffmjx::billiard::{Game, Gradients, Table};
use pullback_tasks::diffmjx::cube::{self, Descent};
use pullback_tasks::diffmjx::hover::Hover;
use pullback_tasks::diffmjx::toss::{Throw, Timing, Tosses};

fn pairs(x: &[f64], y: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    x.iter().copied().zip(y).collect()
}

/// The size that nine tenths of some numbers stay below.
fn most_of(values: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() * 9 / 10).copied().unwrap_or(1.0).max(1e-12)
}

/// Losses above, gradients by adaptive and by fixed steps below, a column per shape.
pub fn toss(tosses: &Tosses) -> Figure {
    let u = &tosses.velocities;
    let label = |text: &str, first: bool| if first { text.to_owned() } else { String::new() };
    let mut panels = Vec::new();
    for (i, shape) in tosses.shapes.iter().enumerate() {
        panels.push(Panel::from(LinePanel {
            title: shape.name.into(),
            x_label: String::new(),
            y_label: label("toss y(1 s) (m)", i == 0),
            series: vec![Series::new("", 7, pairs(u, shape.adaptive.iter().map(|t| t.loss)))],
            ..LinePanel::default()
        }));
    }
    for (row, fixed) in [false, true].into_iter().enumerate() {
        for (i, shape) in tosses.shapes.iter().enumerate() {
            let throws: &[Throw] = if fixed { &shape.fixed } else { &shape.adaptive };
            let gradients = throws.iter().map(|t| t.gradient);
            let shown = if fixed { gradients.clone().collect() } else { shape.reference.clone() };
            let largest = most_of(&shown);
            let name = if fixed { "steps of 0.01 s" } else { "adaptive steps" };
            panels.push(Panel::from(LinePanel {
                title: format!("{:.1} % right", 100.0 * shape.right(throws)),
                x_label: label("velocity u (m/s)", row == 1),
                y_label: label("dL/du (s)", i == 0),
                series: vec![
                    Series::new(label("differences", i == 0), 1, pairs(u, shape.reference.iter().copied())),
                    Series::new(label(name, i == 0), row * 3, pairs(u, gradients)).dots(),
                ],
                y_range: Some((-1.5 * largest, 1.5 * largest)),
                ..LinePanel::default()
            }));
        }
    }
    Figure::grid("Five shapes thrown on a floor", 5, panels).sized(16.0, 8.5)
}

/// Errors of loss and gradient against seconds.
pub fn timing(timings: &[Timing]) -> Figure {
    let mut names: Vec<&str> = Vec::new();
    timings.iter().for_each(|t| {
        if !names.contains(&t.name) {
            names.push(t.name)
        }
    });
    let panel = |title: &str, error: fn(&Timing) -> f64, legend: bool| {
        let series = names.iter().enumerate().map(|(i, name)| {
            let of = timings.iter().filter(|t| t.name == *name);
            let mut points: Vec<(f64, f64)> = of.map(|t| (t.seconds, error(t).max(1e-12))).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series::new(if legend { *name } else { "" }, i, points)
        });
        Panel::from(LinePanel {
            title: title.into(),
            x_label: "seconds for loss and gradient".into(),
            y_label: "error".into(),
            series: series.collect(),
            log_x: true,
            log_y: true,
            ..LinePanel::default()
        })
    };
    let loss = panel("loss (m)", |t| t.loss_error, false);
    let gradient = panel("gradient, relative", |t| t.gradient_error, true);
    Figure::grid("Integrators on the toss of a cube", 2, vec![loss, gradient]).sized(12.0, 5.0)
}

/// Heights of the trunk over time.
pub fn hover(hover: &Hover) -> Figure {
    let heights = |rows: &[(f64, Vec<f64>)]| rows.iter().map(|(t, state)| (*t, state[2])).collect::<Vec<_>>();
    Figure::single(Panel::from(LinePanel {
        title: "A quadruped on contacts from distance".into(),
        x_label: "time (s)".into(),
        y_label: "height of the trunk (m)".into(),
        series: vec![
            Series::new("in the motion", 3, heights(&hover.hovering)),
            Series::new("none", 0, heights(&hover.plain)),
            Series::new("straight through", 1, heights(&hover.straight)).dashed(),
        ],
        ..LinePanel::default()
    }))
    .sized(9.0, 4.5)
}

fn way_name(way: Gradients) -> &'static str {
    match way {
        Gradients::Plain => "plain, discrete",
        Gradients::Continuous => "plain",
        Gradients::Distant => "from distance, discrete",
        Gradients::DistantContinuous => "from distance",
    }
}

/// Loss, gradients and searches, a row per table.
pub fn billiard(games: &[Game]) -> Figure {
    let mut panels = Vec::new();
    for game in games {
        let title = if game.table == Table::Flat { "table" } else { "no table, no gravity" };
        let axes = |y_label: &str, series| {
            Panel::from(LinePanel {
                title: title.into(),
                x_label: "push across (N)".into(),
                y_label: y_label.into(),
                series,
                ..LinePanel::default()
            })
        };
        let losses = pairs(&game.pushes, game.losses.iter().copied());
        panels.push(axes("loss (m²)", vec![Series::new("", 7, losses)]));
        let gradients = game.gradients.iter().enumerate().map(|(i, (way, values))| {
            let largest = values.iter().fold(0.0f64, |m, g| m.max(g.abs()));
            Series::new(way_name(*way), i, pairs(&game.pushes, values.iter().map(|g| g / largest)))
        });
        panels.push(axes("dL/du over its largest", gradients.collect()));
        let searches = game.searches.iter().enumerate().map(|(i, (way, trace))| {
            let losses = trace.iter().enumerate().map(|(step, x)| (step as f64, x.1));
            Series::new(way_name(*way), i, losses.collect())
        });
        if !game.searches.is_empty() {
            panels.push(Panel::from(LinePanel {
                title: "search".into(),
                x_label: "steps of Adam".into(),
                y_label: "loss (m²)".into(),
                series: searches.collect(),
                ..LinePanel::default()
            }));
        }
    }
    Figure::grid("A white ball is pushed towards a black one", 3, panels).sized(13.0, 8.0)
}

/// Sides against steps of Adam, a column per way to compute gradients.
pub fn cube(descents: &[Vec<Descent>]) -> Figure {
    let panel = |of_way: &Vec<Descent>| {
        let series = of_way.iter().enumerate().map(|(i, descent)| {
            let sides = descent.sides.iter().enumerate().map(|(step, side)| (step as f64, 1e3 * side));
            Series::new("", i, sides.collect())
        });
        let steps = of_way.first().map_or(1, |d| d.sides.len().max(2) - 1) as f64;
        let published = vec![(0.0, 1e3 * cube::SIDE), (steps, 1e3 * cube::SIDE)];
        Panel::from(LinePanel {
            title: of_way.first().map_or(String::new(), |d| d.way.name().into()),
            x_label: "steps of Adam".into(),
            y_label: "side (mm)".into(),
            series: series.chain([Series::new("published", 7, published).dashed()]).collect(),
            y_range: Some((40.0, 150.0)),
            ..LinePanel::default()
        })
    };
    Figure::grid("The side of a cube from its tosses", 4, descents.iter().map(panel).collect())
        .sized(15.0, 4.4)
}
