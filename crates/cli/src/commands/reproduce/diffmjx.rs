//! `pullback reproduce diffmjx`: tosses, integrators, hovering, billiard and the side of a cube.

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_core::integrator::{Integrator, Method};
use pullback_core::rollout::Inputs;
use pullback_physics::articulated::Articulated;
use pullback_plot::{Figure, LinePanel, Panel, Report, Section, Series, Table};
use pullback_tasks::diffmjx::billiard::{self, Game, Gradients};
use pullback_tasks::diffmjx::cube::{self, Cube, Descent, Fit, Quantity, Way};
use pullback_tasks::diffmjx::hover::{self, Hover};
use pullback_tasks::diffmjx::toss::{self, SHAPES, Throw, Timing, Toss, Tosses};
use pullback_tasks::{Goal, Results, recording};

use super::Summary;
use crate::args::ReproduceOptions;
use crate::output::{CliError, Output, results_text};
use crate::progress;

/// How much is computed.
struct Size {
    velocities: usize,
    pushes: usize,
    segments: usize,
    adam_steps: usize,
    fit_segments: usize,
    fit_steps: usize,
}

const FULL: Size =
    Size { velocities: 200, pushes: 81, segments: 256, adam_steps: 60, fit_segments: 384, fit_steps: 25 };
const QUICK: Size =
    Size { velocities: 12, pushes: 17, segments: 48, adam_steps: 45, fit_segments: 48, fit_steps: 10 };
/// Sides at which the search begins, m.
const STARTS: [f64; 3] = [0.06, 0.1, 0.14];
/// Error of the side that the paper reports, relative.
const PAPER_ERROR: f64 = 0.05;

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let size = if options.quick { QUICK } else { FULL };
    let folder = output.folder("reproduce-diffmjx")?;
    let mut results = Results::new("diffmjx");
    let recorded = match &options.data {
        Some(path) => cube::read_tosses(path)?,
        None => {
            results
                .notes
                .push("Tosses of the cube are simulated; --data names a file of recorded ones.".into());
            cube::made_tosses(40, 0)?
        }
    };
    let mut files = Vec::new();
    let mut report = Report::new(
        "Hard contacts with soft gradients",
        "DiffMJX (Paulus, Geist et al. 2025) on our own simulator",
    );

    let bar = progress::bar(SHAPES.len() * size.velocities, "tosses");
    let tosses = toss::run(size.velocities, || bar.inc(1))?;
    bar.finish_and_clear();
    tosses.add_results(&mut results);
    let bar = progress::bar(if options.quick { 18 } else { 45 }, "integrators");
    let timings = toss::integrators(options.quick, || bar.inc(1))?;
    bar.finish_and_clear();
    for shape in &SHAPES {
        let page = folder.join(format!("toss-{}.html", shape.name));
        let toss = Toss::new(shape, Integrator::fixed(Method::Rk4), Some(1e-4))?;
        save_replay(toss.robot(), &toss.motion(-2.0)?, &page)?;
        files.push(page);
    }
    let figure = toss_figure(&tosses);
    report.sections.push(Section::new("Tosses of five shapes").figure(
        &figure,
        "Distance of a toss against its velocity, and the derivative by the adjoint beside central differences.",
        "Per shape: loss, gradients of adaptive steps on the curve of differences, gradients of fixed steps off it.",
    )?);
    save(&figure, folder.join("tosses.png"), &mut files)?;
    let figure = timing_figure(&timings);
    report.sections.push(Section::new("Error against run time").figure(
        &figure,
        "Toss of the cube at −2 m/s: error of loss and gradient against the seconds that both take.",
        "Errors fall with run time; adaptive methods are lowest.",
    )?);
    save(&figure, folder.join("integrators.png"), &mut files)?;

    let hover = hover::run()?;
    hover.add_results(&mut results);
    for (name, rows) in [("plain", &hover.plain), ("hovering", &hover.hovering)] {
        let page = folder.join(format!("quadruped-{name}.html"));
        save_replay(&hover.robot, rows, &page)?;
        files.push(page);
    }
    let figure = hover_figure(&hover);
    report.sections.push(Section::new("Hovering").figure(
        &figure,
        "Contacts from distance in the motion lift a quadruped; on the way back alone they leave it where it is.",
        "Height of the trunk over time: hovering above, the two others on one curve.",
    )?);
    save(&figure, folder.join("hover.png"), &mut files)?;

    let tables = [billiard::Table::Flat, billiard::Table::None];
    let bar = progress::bar(5 * size.pushes + 2 * (billiard::ITERATIONS + 1), "billiard");
    let games: Vec<Game> = (tables.into_iter())
        .map(|table| billiard::run(table, size.pushes, || bar.inc(1)))
        .collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    games.iter().for_each(|game| game.add_results(&mut results));
    for (name, push) in [("first", billiard::START), ("last", last_push(&games[0]))] {
        let page = folder.join(format!("billiard-{name}.html"));
        let billiard = billiard::Billiard::new(billiard::Table::Flat, Gradients::Plain, 1e-6)?;
        save_replay(billiard.robot(), &billiard.motion(push)?, &page)?;
        files.push(page);
    }
    let figure = billiard_figure(&games);
    report.sections.push(Section::new("Billiard").figure(
        &figure,
        "Loss and gradient against the push, with a table above and without one below, and the search by Adam.",
        "Gradients are zero where the balls miss, unless contacts act from distance.",
    )?);
    save(&figure, folder.join("billiard.png"), &mut files)?;

    let (descents, fit) = identify(&recorded, &size, &mut results)?;
    let figure = cube_figure(&descents);
    report.sections.push(
        Section::new("The side of a cube")
            .figure(
                &figure,
                "Side of the cube against steps of Adam, from three starts.",
                "With contacts from distance all starts end at one side.",
            )?
            .table(fit_table(&fit)),
    );
    save(&figure, folder.join("cube.png"), &mut files)?;

    let page = folder.join("index.html");
    report.footer = results.notes.join(" ");
    report.save(&page)?;
    files.insert(0, page);
    let data = folder.join("results.json");
    output.write(&data, serde_json::to_string_pretty(&results)?.as_bytes())?;
    files.push(data);
    let summary = Summary { results, files };
    output.print(&summary, || {
        let files: Vec<String> = summary.files.iter().map(|f| f.display().to_string()).collect();
        results_text(&summary.results) + "\n\n" + &files.join("\n")
    })?;
    Ok(summary.results.all_met())
}

fn save(figure: &Figure, path: PathBuf, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    figure.save_png(&path)?;
    files.push(path);
    Ok(())
}

fn save_replay(robot: &Articulated, rows: &[(f64, Vec<f64>)], page: &Path) -> Result<(), CliError> {
    let inputs = Inputs::defaults(robot, 1);
    let saved = recording::replay(robot, (&inputs, 1.0), rows).save(page);
    Ok(saved.map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?)
}

fn last_push(game: &Game) -> f64 {
    let trace = game.searches.last().map_or(&[][..], |(_, trace)| &trace[..]);
    trace.last().map_or(billiard::START, |(push, _)| *push)
}

/// The side by Adam in four ways, and all that can be told by Gauss-Newton, from the first three quarters of the
/// tosses; the rest judges the fit.
fn identify(
    tosses: &[cube::Toss],
    size: &Size,
    results: &mut Results,
) -> Result<(Vec<Vec<Descent>>, Fit), CliError> {
    let part = (3 * tosses.len()).div_ceil(4).min(tosses.len() - 1).max(1);
    let train = cube::segments(&tosses[..part], size.segments, 0);
    let judged = cube::segments(&tosses[part..], size.fit_segments, 1);
    if train.is_empty() || judged.is_empty() {
        return Err(ConfigError::new("too few tosses that touch the floor: give at least two").into());
    }
    let bar = progress::bar(cube::WAYS.len() * STARTS.len() + size.fit_steps, "cube");
    let mut descents = Vec::new();
    for way in cube::WAYS {
        let simulator = cube::Simulator::new(way, 1e-5)?;
        let mut of_way = Vec::new();
        for start in STARTS {
            let descent = cube::descend(&simulator, way, &train, start, size.adam_steps)?;
            let side = descent.sides.last().copied().unwrap_or(start);
            let case = format!("cube, {}, from {:.0} mm", way.name(), 1e3 * start);
            results.row(&case, "side after Adam", 1e3 * side, "mm");
            if way == Way::AdaptiveDistant {
                let error = (side / cube::SIDE - 1.0).abs();
                results.goals.push(Goal::at_most(
                    format!("{case}: relative error of the side"),
                    error,
                    PAPER_ERROR,
                ));
            }
            of_way.push(descent);
            bar.inc(1);
        }
        descents.push(of_way);
    }
    let fitted = [
        Quantity::Side,
        Quantity::Inertia,
        Quantity::Mass,
        Quantity::Friction,
        Quantity::TimeConstant,
        Quantity::DampingRatio,
    ];
    let all = cube::segments(&tosses[..part], size.fit_segments, 0);
    let simulator = cube::Simulator::new(Way::Adaptive, 1e-7)?;
    let fit =
        cube::fit(&simulator, (&all, &judged), Cube::default(), &fitted, size.fit_steps, || bar.inc(1))?;
    bar.finish_and_clear();
    for estimate in &fit.estimates {
        let (name, unit) = estimate.quantity.name();
        results.row("cube by Gauss-Newton", name, estimate.value, unit);
        if estimate.error.is_finite() {
            results.row("cube by Gauss-Newton", &format!("standard error of {name}"), estimate.error, unit);
        } else {
            results.notes.push(format!("The motion does not tell the {name}."));
        }
    }
    let [before, after, held_back] = fit.misfits;
    results.row("cube by Gauss-Newton", "root mean square of residuals at the start", 1e3 * before, "mm");
    results.row("cube by Gauss-Newton", "root mean square of residuals", 1e3 * after, "mm");
    results.row("cube by Gauss-Newton", "the same on tosses held back", 1e3 * held_back, "mm");
    let error = (fit.cube.values[0] / cube::SIDE - 1.0).abs();
    results.goals.push(Goal::at_most("cube by Gauss-Newton: relative error of the side", error, PAPER_ERROR));
    results.goals.push(Goal::at_most(
        "cube by Gauss-Newton: misfit on tosses held back over that at the start",
        held_back / before,
        1.0,
    ));
    Ok((descents, fit))
}

fn pairs(x: &[f64], y: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    x.iter().copied().zip(y).collect()
}

/// The size that nine tenths of some numbers stay below.
fn most_of(values: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() * 9 / 10).copied().unwrap_or(1.0).max(1e-12)
}

fn toss_figure(tosses: &Tosses) -> Figure {
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

fn timing_figure(timings: &[Timing]) -> Figure {
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

fn hover_figure(hover: &Hover) -> Figure {
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
}

fn way_name(way: Gradients) -> &'static str {
    match way {
        Gradients::Plain => "plain, discrete",
        Gradients::Continuous => "plain",
        Gradients::Distant => "from distance, discrete",
        Gradients::DistantContinuous => "from distance",
    }
}

fn billiard_figure(games: &[Game]) -> Figure {
    let mut panels = Vec::new();
    for game in games {
        let title = if game.table == billiard::Table::Flat { "table" } else { "no table, no gravity" };
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

fn cube_figure(descents: &[Vec<Descent>]) -> Figure {
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

fn fit_table(fit: &Fit) -> Table {
    let row = |e: &cube::Estimate| {
        let (name, unit) = e.quantity.name();
        let error = if e.error.is_finite() { format!("{:.2e}", e.error) } else { "cannot be told".into() };
        vec![name.into(), format!("{:.5}", e.value), error, unit.into()]
    };
    Table {
        caption:
            "All quantities by Gauss-Newton; standard errors count segments as independent, and do not hold \
                  what is wrong with the model."
                .into(),
        header: ["quantity", "value", "standard error", "unit"].map(String::from).to_vec(),
        rows: fit.estimates.iter().map(row).collect(),
    }
}
