//! Values under the pointer: where the panels of a picture are, and the numbers in them, for the script of a report.
//!
//! A figure of a page carries this as JSON; `report.js` shows the nearest value. Long curves and fine fields are
//! thinned to what a pointer can tell apart.

use std::fmt::Write as _;

use crate::PlotError;
use crate::axes::{Axes, XAxis};
use crate::canvas::Rect;
use crate::color::palette;
use crate::data::{Figure, HeatmapPanel, LineStyle, Panel, Series};
use crate::scale::{Scale, compact, usable};

/// Points of a curve, at most.
const MOST_POINTS: usize = 300;
/// Curves of a panel, at most.
const MOST_CURVES: usize = 12;
/// Rows and columns of a field, at most.
const MOST_CELLS: usize = 64;
/// Digits of a value.
const DIGITS: usize = 5;

impl Figure {
    /// What is under a pointer over the picture, as JSON.
    pub(crate) fn hover(&self) -> Result<String, PlotError> {
        let arranged = self.arrange()?;
        let (width, height) = self.pixel_size()?;
        let panels = self.panels.iter().zip(&arranged.axes).zip(&arranged.plots);
        let panels = panels.filter_map(|((panel, axes), plot)| {
            let content = match panel {
                Panel::Line(panel) => curves(&panel.series, axes)?,
                Panel::Bars(panel) => bars(panel, axes),
                Panel::Heatmap(panel) => field(panel),
            };
            Some(format!("{{{},{content}}}", frame(axes, plot, (width as f64, height as f64))))
        });
        Ok(format!("[{}]", panels.collect::<Vec<_>>().join(",")))
    }
}

/// Where a panel is, as shares of the picture, and its axes.
fn frame(axes: &Axes, plot: &Rect, (width, height): (f64, f64)) -> String {
    let edges = [plot.x0 / width, plot.y0 / height, plot.x1 / width, plot.y1 / height];
    let x = match &axes.x {
        XAxis::Numbers(scale) => limits(scale),
        XAxis::Names(_) => "null".into(),
    };
    format!(
        "\"box\":[{}],\"x\":{x},\"y\":{},\"names\":[{},{}]",
        edges.map(|edge| format!("{edge:.5}")).join(","),
        limits(&axes.y),
        text(&axes.x_label),
        text(&axes.y_label)
    )
}

fn limits(scale: &Scale) -> String {
    format!("[{},{},{}]", number(scale.lo), number(scale.hi), scale.log)
}

/// Curves and dots; none where there is nothing to point at.
fn curves(series: &[Series], axes: &Axes) -> Option<String> {
    let XAxis::Numbers(x) = &axes.x else { return None };
    let mut out = Vec::new();
    for one in series.iter().filter(|s| !s.points.is_empty()).take(MOST_CURVES) {
        let every = one.points.len().div_ceil(MOST_POINTS);
        let seen = |p: &&(f64, f64)| usable(p.0, x.log) && usable(p.1, axes.y.log);
        let points: Vec<&(f64, f64)> = one.points.iter().step_by(every).filter(seen).collect();
        let list =
            |of: fn(&(f64, f64)) -> f64| points.iter().map(|p| number(of(p))).collect::<Vec<_>>().join(",");
        let [r, g, b] = palette(one.color);
        out.push(format!(
            "{{\"name\":{},\"color\":\"rgb({r},{g},{b})\",\"dots\":{},\"x\":[{}],\"y\":[{}]}}",
            text(&one.label),
            one.style == LineStyle::Dots,
            list(|p| p.0),
            list(|p| p.1)
        ));
    }
    Some(format!("\"curves\":[{}]", out.join(",")))
}

/// Bars by category.
fn bars(panel: &crate::data::BarsPanel, _axes: &Axes) -> String {
    let names: Vec<String> = panel.categories.iter().map(|name| text(name)).collect();
    let series = panel.series.iter().map(|series| {
        let values: Vec<String> = series.values.iter().map(|value| number(*value)).collect();
        format!("{{\"name\":{},\"values\":[{}]}}", text(&series.label), values.join(","))
    });
    let series: Vec<String> = series.collect();
    format!("\"categories\":[{}],\"bars\":[{}]", names.join(","), series.join(","))
}

/// Samples of a field, row after row from below.
fn field(panel: &HeatmapPanel) -> String {
    let (rows, columns) = (panel.values.len(), panel.values.first().map_or(0, Vec::len));
    let (down, across) = (rows.min(MOST_CELLS), columns.min(MOST_CELLS));
    let place = |k: usize, shown: usize, all: usize| k * (all - 1) / (shown - 1).max(1);
    let mut values = String::new();
    for row in 0..down {
        for column in 0..across {
            let value = panel.values[place(row, down, rows)][place(column, across, columns)];
            let comma = if values.is_empty() { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(values, "{comma}{}", number(value));
        }
    }
    format!(
        "\"field\":{{\"rows\":{down},\"columns\":{across},\"smooth\":{},\"name\":{},\"values\":[{values}]}}",
        panel.smooth,
        text(&panel.value_label)
    )
}

/// A number of JSON; what is none is null.
fn number(x: f64) -> String {
    let shown = if x.is_finite() { compact(x, DIGITS).replace('−', "-") } else { String::new() };
    if shown.parse::<f64>().is_ok() { shown } else { "null".into() }
}

/// A string of JSON.
fn text(of: &str) -> String {
    let mut out = String::from("\"");
    for c in of.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinePanel;

    #[test]
    fn a_panel_says_where_it_is_and_what_is_in_it() {
        let series = vec![Series::new("say \"a\"", 1, vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 4.0)])];
        let panel = LinePanel { x_label: "time (s)".into(), series, ..LinePanel::default() };
        let json = Figure::single(panel.into()).hover().unwrap();
        assert!(json.contains(r#""name":"say \"a\"""#), "{json}");
        assert!(json.contains(r#""x":[0,2],"y":[1,4]"#), "{json}");
        assert!(json.contains(r#""names":["time (s)",""]"#), "{json}");
    }

    #[test]
    fn fine_fields_keep_their_corners() {
        let values: Vec<Vec<f64>> =
            (0..200).map(|r| (0..300).map(|c| f64::from(1000 * r + c)).collect()).collect();
        let json = field(&HeatmapPanel { values, ..HeatmapPanel::default() });
        assert!(json.contains("\"rows\":64,\"columns\":64") && json.contains("\"values\":[0,"), "{json}");
        assert!(json.ends_with(",199299]}") || json.contains("1.993e5]"), "{}", &json[json.len() - 40..]);
    }

    #[test]
    fn numbers_are_those_of_json() {
        for (x, shown) in [(0.0, "0"), (-1.5, "-1.5"), (f64::INFINITY, "null"), (f64::NAN, "null")] {
            assert_eq!(number(x), shown);
        }
        for x in [1e-12, -3.25e20, 123_456.789] {
            let shown: f64 = number(x).parse().unwrap();
            assert!((shown / x - 1.0).abs() < 1e-4, "{x} is shown as {shown}");
        }
    }
}
