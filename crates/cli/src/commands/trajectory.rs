//! A trajectory as a picture: a panel per unit, with the few quantities that move most.

use pullback_core::layout::{Section, Slice};
use pullback_plot::{Figure, LinePanel, Panel, Series};
use pullback_tasks::Scene;

/// Lines of a panel: as many as can be told apart.
const LINES: usize = 6;
/// Slices with more entries are those of many particles.
const MANY: usize = 12;

/// One line of a panel.
struct Line {
    name: String,
    /// Entries whose mean it shows.
    entries: Vec<usize>,
}

impl Line {
    fn at(&self, state: &[f64]) -> f64 {
        self.entries.iter().map(|i| state[*i]).sum::<f64>() / self.entries.len().max(1) as f64
    }

    /// How far it moves.
    fn range(&self, rows: &[(f64, Vec<f64>)]) -> f64 {
        let values = rows.iter().map(|(_, state)| self.at(state)).filter(|x| x.is_finite());
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        (high - low).max(0.0)
    }
}

/// The state over time, with a panel per unit; of many quantities those that move most, of particles their means.
pub fn figure(scene: &dyn Scene, rows: &[(f64, Vec<f64>)]) -> Figure {
    let state = &scene.layout().state;
    let panels: Vec<Panel> = units(state).into_iter().map(|unit| panel(state, unit, rows).into()).collect();
    let count = panels.len();
    Figure::grid(scene.name(), 1, panels).sized(7.5, 0.6 + 3.0 * count as f64)
}

/// Units in the order of the state.
fn units(state: &Section) -> Vec<&str> {
    let mut units: Vec<&str> = Vec::new();
    for slice in state.slices() {
        if !units.contains(&slice.unit.as_ref()) {
            units.push(&slice.unit);
        }
    }
    units
}

fn panel(state: &Section, unit: &str, rows: &[(f64, Vec<f64>)]) -> LinePanel {
    let slices = state.slices().iter().filter(|slice| slice.unit == unit && !slice.is_empty());
    let all: Vec<Line> = slices.flat_map(lines).collect();
    let (shown, left_out) = moving(all, rows);
    let over_time = |line: &Line| rows.iter().map(|(time, x)| (*time, line.at(x))).collect::<Vec<_>>();
    let series = shown.iter().enumerate().map(|(k, line)| Series::new(line.name.clone(), k, over_time(line)));
    let title = match left_out {
        0 => String::new(),
        rest => format!("the {} of {} that move most", shown.len(), shown.len() + rest),
    };
    LinePanel {
        title,
        x_label: "time (s)".into(),
        y_label: if unit == "1" { "pure numbers".into() } else { unit.into() },
        series: series.collect(),
        ..LinePanel::default()
    }
}

/// A line per entry; of many particles one per coordinate.
fn lines(slice: &Slice) -> Vec<Line> {
    if slice.len() <= MANY {
        let line = |i: usize| Line { name: slice.entry_name(i), entries: vec![slice.range.start + i] };
        return (0..slice.len()).map(line).collect();
    }
    let coordinates: &[&str] = if slice.len().is_multiple_of(3) { &["x", "y", "z"] } else { &[""] };
    let line = |(k, letter): (usize, &&str)| Line {
        name: format!("mean {} {letter}", slice.name).trim_end().to_owned(),
        entries: slice.range.clone().skip(k).step_by(coordinates.len()).collect(),
    };
    coordinates.iter().enumerate().map(line).collect()
}

/// The lines that move most, in their order, and how many are left out.
fn moving(lines: Vec<Line>, rows: &[(f64, Vec<f64>)]) -> (Vec<Line>, usize) {
    let all = lines.len();
    let ranges: Vec<f64> = lines.iter().map(|line| line.range(rows)).collect();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by(|i, j| ranges[*j].total_cmp(&ranges[*i]).then(i.cmp(j)));
    order.truncate(LINES);
    let shown: Vec<Line> =
        lines.into_iter().enumerate().filter(|(i, _)| order.contains(i)).map(|(_, line)| line).collect();
    let left_out = all - shown.len();
    (shown, left_out)
}

#[cfg(test)]
mod tests {
    use pullback_core::layout::Layout;

    use super::*;

    fn two_units() -> Layout {
        let mut builder = Layout::builder();
        for k in 0..9 {
            builder = builder.state(Slice::new(format!("joint{k}.q"), 1, "rad"));
        }
        builder.state(Slice::new("cloth.position", 30, "m")).build().unwrap()
    }

    #[test]
    fn lines_are_few_named_and_those_that_move() {
        let layout = two_units();
        // Joint k swings by k rad; particle i moves up by 1 m from height i.
        let state = |t: f64| {
            let joints = (0..9).map(|k| f64::from(k) * t);
            let particles = (0..10).flat_map(|i| [0.0, 0.0, f64::from(i) + t]);
            joints.chain(particles).collect::<Vec<f64>>()
        };
        let rows: Vec<(f64, Vec<f64>)> = [0.0, 0.5, 1.0].map(|t| (t, state(t))).to_vec();
        assert_eq!(units(&layout.state), ["rad", "m"]);
        let joints = panel(&layout.state, "rad", &rows);
        let names: Vec<&str> = joints.series.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(names, ["joint3.q", "joint4.q", "joint5.q", "joint6.q", "joint7.q", "joint8.q"]);
        assert_eq!(joints.title, "the 6 of 9 that move most");
        let cloth = panel(&layout.state, "m", &rows);
        assert_eq!(cloth.series[2].label, "mean cloth.position z");
        assert_eq!(cloth.series[2].points, [(0.0, 4.5), (0.5, 5.0), (1.0, 5.5)]);
    }
}
