//! The figures of the page.

use pullback_optim::Objective;
use pullback_plot::{Figure, LinePanel, Panel, Series};
use pullback_tasks::articulated_adjoint::contest::{Contest, Trace};
use pullback_tasks::articulated_adjoint::standing::Cost;

use super::casadi::PeerCost;
use crate::output::CliError;

/// Colors: ours, the other, the paper's.
const OURS: usize = 0;
const OTHER: usize = 1;
const PAPER: usize = 7;

/// Loss against iterations and against time of all searches, one row per task: Figs. 6 and 7.
pub fn searches(contests: &[Contest]) -> Figure {
    type Abscissa = fn(usize, f64) -> f64;
    let views: [(&str, &str, Abscissa); 2] = [
        ("iterations", "iterations; generations of CMA-ES", |i, _| i as f64),
        ("time", "time (s)", |_, seconds| seconds),
    ];
    let mut panels = Vec::new();
    for contest in contests {
        for (what, x_label, x) in views {
            // One legend serves all panels.
            let label = |text: &'static str| if panels.is_empty() { text } else { "" };
            let curve = |trace: &Trace| -> Vec<(f64, f64)> {
                let all = trace.iterations.iter().enumerate();
                all.map(|(i, iteration)| (x(i + 1, iteration.seconds), iteration.loss)).collect()
            };
            let mut series = vec![Series::new(label("gradient descent"), OURS, curve(&contest.descent))];
            for rival in &contest.rivals {
                let (text, color) = match rival.name {
                    "separable CMA-ES" => ("separable CMA-ES, all torques", 4),
                    _ => ("CMA-ES, torques over intervals", OTHER),
                };
                series.push(Series::new(label(text), color, curve(&rival.trace)));
            }
            let ends = series.iter().flat_map(|s| &s.points).map(|p| p.0);
            let (low, high) = ends.fold((f64::INFINITY, 0.0), |(l, h), x| (x.min(l), x.max(h)));
            let solved = vec![(low, contest.task.solved), (high, contest.task.solved)];
            series.push(Series { width: 1.0, ..Series::new(label("solved"), PAPER, solved).dashed() });
            // The descent lies on top.
            series.rotate_left(1);
            panels.push(Panel::from(LinePanel {
                title: format!("{}: {what}", contest.task.name),
                x_label: x_label.into(),
                y_label: format!("loss ({})", contest.task.unit.replace('²', "^{2}")),
                series,
                log_x: true,
                log_y: true,
                ..LinePanel::default()
            }));
        }
    }
    Figure::grid("Searches with and without gradients", 2, panels).sized(10.5, 10.5)
}

/// Paths of the ball before and after the search, and the loss of the car over its friction.
pub fn found(contests: &[Contest], landscape: &[(f64, f64)]) -> Result<Figure, CliError> {
    // (across, up) of the view.
    let views = [
        ("throw", "from above", (0, 1)),
        ("throw", "from the side", (0, 2)),
        ("golf", "from the side", (1, 2)),
    ];
    let mut panels = Vec::new();
    for (name, view, (across, up)) in views {
        let Some(contest) = contests.iter().find(|c| c.task.name == name) else { continue };
        let (objective, first) = (&contest.task.objective, panels.is_empty());
        let label = |text: &'static str| if first { text } else { "" };
        let path = |x: &[f64]| -> Result<Vec<(f64, f64)>, CliError> {
            let at = |state: &Vec<f64>| {
                let entry = |i: usize| state[objective.loss().entries[i]];
                (entry(across), entry(up))
            };
            Ok(objective.states(x)?.iter().map(at).collect())
        };
        let (before, after) = (path(&objective.start())?, path(&contest.descent.best)?);
        let target = (objective.loss().target[across], objective.loss().target[up]);
        let axis = |i: usize| ["x (m)", "y (m)", "z (m)"][i].to_owned();
        panels.push(Panel::from(LinePanel {
            title: format!("{name}, {view}"),
            x_label: axis(across),
            y_label: axis(up),
            series: vec![
                Series::new(label("before"), PAPER, before),
                Series::new(label("after the descent"), OURS, after),
                Series { width: 4.0, ..Series::new(label("target"), 2, vec![target]).dots() },
            ],
            ..LinePanel::default()
        }));
    }
    panels.push(loss_against_friction(contests, landscape));
    Ok(Figure::grid("What the descents found", 2, panels).sized(10.5, 7.5))
}

/// Loss of the racecar against friction: Fig. 7 d.
fn loss_against_friction(contests: &[Contest], landscape: &[(f64, f64)]) -> Panel {
    let mut series = vec![Series::new("loss", PAPER, landscape.to_vec())];
    if let Some(contest) = contests.iter().find(|c| c.task.name == "racecar") {
        let best = (contest.descent.best[0], contest.descent.lowest());
        series.push(Series { width: 4.0, ..Series::new("found by the descent", OURS, vec![best]).dots() });
    }
    Panel::from(LinePanel {
        title: "racecar: loss against friction".into(),
        x_label: "friction μ".into(),
        y_label: "loss (m^{2})".into(),
        series,
        ..LinePanel::default()
    })
}

/// Memory and time of ten robots against steps: Fig. 3 c, d.
pub fn ten_robots(costs: &[Cost], peer: &[PeerCost]) -> Figure {
    let ours = |y: &dyn Fn(&Cost) -> f64| costs.iter().map(|c| (c.steps as f64, y(c))).collect::<Vec<_>>();
    let theirs = |y: &dyn Fn(&PeerCost) -> f64| -> Vec<(f64, f64)> {
        peer.iter().filter(|p| p.robots == 10).map(|p| (p.steps as f64, y(p))).collect()
    };
    // The paper's 5 KB per step.
    let paper: Vec<(f64, f64)> = costs.iter().map(|c| (c.steps as f64, 5e-3 * c.steps as f64)).collect();
    let mut memory = vec![
        Series::new("measured", OURS, ours(&|c| c.measured as f64 / 1e6)),
        Series::new("predicted", 2, ours(&|c| c.predicted as f64 / 1e6)).dots(),
        Series::new("the paper's 5 KB per step", PAPER, paper).dashed(),
    ];
    let mut time = vec![
        Series::new("forward", OURS, ours(&|c| 1e3 * c.forward)),
        Series::new("backward", 2, ours(&|c| 1e3 * c.backward)),
    ];
    if peer.iter().any(|p| p.robots == 10) {
        memory.push(Series::new("CasADi", OTHER, theirs(&|p| p.megabytes)).dots());
        time.push(Series::new("CasADi, forward", 4, theirs(&|p| p.forward)).dots());
        time.push(Series::new("CasADi, backward", OTHER, theirs(&|p| p.backward)).dots());
    }
    // The peer is far above.
    let log_y = peer.iter().any(|p| p.robots == 10);
    let panel = |title: &str, y_label: &str, series: Vec<Series>| {
        let most = series.iter().flat_map(|s| &s.points).fold(0.0, |most: f64, p| most.max(p.1));
        Panel::from(LinePanel {
            title: title.into(),
            x_label: "steps".into(),
            y_label: y_label.into(),
            series,
            y_range: (!log_y).then_some((0.0, 1.1 * most)),
            log_y,
            ..LinePanel::default()
        })
    };
    let panels = vec![
        panel("peak memory", "memory (MB)", memory),
        panel("time per step of all robots", "time (ms)", time),
    ];
    Figure::grid("Ten quadrupeds", 2, panels).sized(10.5, 4.6)
}

/// Memory and time against the interval between states that are kept: Fig. 8.
pub fn ablation(costs: &[Cost]) -> Figure {
    let against =
        |y: &dyn Fn(&Cost) -> f64| costs.iter().map(|c| (c.interval as f64, y(c))).collect::<Vec<_>>();
    // The paper computes (k + 1)/2 forward steps per backward step.
    let first = costs.first().map_or(0.0, |c| c.backward);
    let forward = costs.iter().map(|c| c.forward).fold(f64::INFINITY, f64::min);
    let paper = |c: &Cost| 1e3 * (first + 0.5 * (c.interval as f64 - 1.0) * forward);
    let panel = |title: &str, y_label: &str, series, log_y| {
        Panel::from(LinePanel {
            title: title.into(),
            x_label: "interval k between states kept".into(),
            y_label: y_label.into(),
            series,
            log_x: true,
            log_y,
            ..LinePanel::default()
        })
    };
    let panels = vec![
        panel(
            "peak memory",
            "memory (MB)",
            vec![
                Series::new("measured", OURS, against(&|c| c.measured as f64 / 1e6)),
                Series::new("predicted", 2, against(&|c| c.predicted as f64 / 1e6)).dots(),
            ],
            false,
        ),
        panel(
            "time of a backward step of all robots",
            "time (ms)",
            vec![
                Series::new("ours", OURS, against(&|c| 1e3 * c.backward)),
                Series::new("if the paper's scheme were ours, Eq. 17", PAPER, against(&paper)).dashed(),
            ],
            true,
        ),
    ];
    let steps = costs.first().map_or(0, |c| c.steps);
    Figure::grid(format!("Checkpoints: ten quadrupeds, {steps} steps"), 2, panels).sized(10.5, 4.6)
}
