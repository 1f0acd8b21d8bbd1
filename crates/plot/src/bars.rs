//! Bars over named categories, side by side when there are several series, with whiskers and values.

use crate::axes::{Axes, XAxis};
use crate::canvas::{Canvas, Point, Rect};
use crate::color::{INK, MUTED, palette};
use crate::data::BarsPanel;
use crate::legend::{Entry, Swatch};
use crate::scale::{Scale, compact, usable};
use crate::style::Style;
use crate::text::{self, TextStyle};

/// Share of a category's width that bars fill.
const FILL: f64 = 0.74;

/// Limits and labels of the panel; `None` if there is nothing to draw.
pub(crate) fn axes(panel: &BarsPanel) -> Option<Axes> {
    let whiskers = panel.series.iter().flat_map(|s| s.intervals.iter().flat_map(|i| [i.0, i.1]));
    let heights = panel.series.iter().flat_map(|s| s.values.iter().copied());
    if panel.categories.is_empty() || !heights.clone().any(|v| usable(v, panel.log_y)) {
        return None;
    }
    let zero = if panel.log_y { f64::NAN } else { 0.0 };
    let pad = if panel.show_values { 0.12 } else { 0.07 };
    let mut y = Scale::fit(heights.chain(whiskers).chain([zero]), panel.y_range, panel.log_y, pad)?;
    if panel.y_range.is_none() {
        let fit =
            Scale::fit(panel.series.iter().flat_map(|s| s.values.iter().copied()), None, panel.log_y, 0.0)?;
        // Bars stand on zero, or on the power of ten below the smallest.
        if panel.log_y {
            y.lo = 10f64.powf((0.7 * y.lo).log10().floor());
        } else if fit.lo >= 0.0 && y.lo < 0.0 {
            y.lo = 0.0;
        }
    }
    let entry =
        |s: &crate::BarSeries| Entry { label: s.label.clone(), color: palette(s.color), swatch: Swatch::Box };
    Some(Axes {
        title: panel.title.clone(),
        x_label: panel.x_label.clone(),
        y_label: panel.y_label.clone(),
        x: XAxis::Names(panel.categories.clone()),
        y,
        boxed: false,
        right_room: 0.0,
        legend: panel.series.iter().filter(|s| !s.label.is_empty()).map(entry).collect(),
        legend_below: false,
    })
}

// The bar of series `s` in category `c`; `None` for a gap.
fn bar(panel: &BarsPanel, axes: &Axes, plot: Rect, s: usize, c: usize) -> Option<Rect> {
    let count = panel.series.len() as f64;
    let group = FILL * plot.width() / panel.categories.len() as f64;
    // A lone bar is not a slab.
    let group = group.min(0.28 * plot.width() * count);
    let slot = group / count;
    let left = Axes::place_name(plot, c, panel.categories.len()) - 0.5 * group + slot * s as f64;
    let gap = if count > 1.0 { 0.04 * slot } else { 0.0 };
    let top = axes.place_y(plot, *panel.series[s].values.get(c)?)?;
    let base = axes.place_y(plot, 0.0).unwrap_or(plot.y1).clamp(plot.y0, plot.y1);
    let top = top.clamp(plot.y0, plot.y1);
    Some(Rect::new((left + gap).round(), top.min(base), (left + slot - gap).round(), top.max(base)))
}

/// Draws bars, whiskers and values.
pub(crate) fn draw(canvas: &mut Canvas, panel: &BarsPanel, axes: &Axes, style: &Style, plot: Rect) {
    for (s, series) in panel.series.iter().enumerate() {
        for c in 0..panel.categories.len() {
            let Some(area) = bar(panel, axes, plot, s, c) else { continue };
            canvas.fill_rect(area, palette(series.color), 1.0);
            let below = series.values[c] < 0.0;
            let mut end = if below { area.y1 } else { area.y0 };
            let middle = 0.5 * (area.x0 + area.x1);
            let interval = series.intervals.get(c).copied();
            let ends = interval.and_then(|(lo, hi)| Some((axes.place_y(plot, lo)?, axes.place_y(plot, hi)?)));
            if let Some((a, b)) = ends {
                let (top, bottom) = (a.min(b).clamp(plot.y0, plot.y1), a.max(b).clamp(plot.y0, plot.y1));
                let cap = (0.22 * area.width()).min(0.5 * style.tick);
                let pieces = [
                    vec![(middle, top), (middle, bottom)],
                    vec![(middle - cap, top), (middle + cap, top)],
                    vec![(middle - cap, bottom), (middle + cap, bottom)],
                ];
                canvas.stroke(&pieces, style.line(1.2), INK, 1.0);
                end = if below { end.max(bottom) } else { end.min(top) };
            }
            if panel.show_values {
                let label = compact(series.values[c], 3).replace('-', "−");
                let size = (0.92 * style.tick)
                    .min(style.tick * 1.1 * area.width() / text::width(&label, style.tick));
                // Too narrow to read: no number is better than a smudge.
                if size > 0.6 * style.tick {
                    let (shift, anchor) = if below { (0.35, 0.0) } else { (-0.35, 1.0) };
                    let at = (middle, end + shift * style.tick);
                    text::draw(canvas, &[label], at, (0.5, anchor), 0.0, TextStyle::new(size));
                }
            }
        }
    }
    if let Some(zero) = axes.place_y(plot, 0.0).filter(|y| *y > plot.y0 && *y < plot.y1 - 1.0) {
        canvas.rule((plot.x0, zero), (plot.x1, zero), style.pt(0.8), MUTED);
    }
}

/// Points over the bars, for placing the legend.
pub(crate) fn samples(panel: &BarsPanel, axes: &Axes, style: &Style, plot: Rect) -> Vec<Point> {
    let step = 0.5 * style.tick;
    let mut out = Vec::new();
    for (s, series) in panel.series.iter().enumerate() {
        for c in 0..panel.categories.len() {
            let Some(area) = bar(panel, axes, plot, s, c) else { continue };
            let whisker = series.intervals.get(c).and_then(|i| axes.place_y(plot, i.1));
            let top = whisker.map_or(area.y0, |w| w.min(area.y0)).max(plot.y0);
            let top = if panel.show_values { top - 1.4 * style.tick } else { top };
            let (nx, ny) =
                ((area.width() / step).ceil().max(1.0), ((area.y1 - top) / step).ceil().clamp(1.0, 200.0));
            for i in 0..=nx as usize {
                for j in 0..=ny as usize {
                    let (u, v) = (i as f64 / nx, j as f64 / ny);
                    out.push((area.x0 + u * area.width(), top + v * (area.y1 - top)));
                }
            }
        }
    }
    out
}
