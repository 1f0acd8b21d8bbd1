//! Curves, dots and bands.

use crate::axes::{Axes, XAxis};
use crate::canvas::{Canvas, Point, Rect};
use crate::color::{Rgb, palette};
use crate::data::{LinePanel, LineStyle, Series};
use crate::legend::{Entry, Swatch};
use crate::scale::{Scale, usable};
use crate::style::Style;

/// Limits and labels of the panel; `None` if there is nothing to draw.
pub(crate) fn axes(panel: &LinePanel, style: &Style) -> Option<Axes> {
    let drawable = |&(x, y): &Point| usable(x, panel.log_x) && usable(y, panel.log_y);
    let bands = panel.series.iter().flat_map(|s| s.band.iter().flat_map(|b| [(b.0, b.1), (b.0, b.2)]));
    let points: Vec<Point> =
        panel.series.iter().flat_map(|s| s.points.iter().copied()).chain(bands).filter(drawable).collect();
    if points.is_empty() {
        return None;
    }
    let x = Scale::fit(points.iter().map(|p| p.0), panel.x_range, panel.log_x, 0.025)?;
    // With a fixed x range, only what is inside decides the height.
    let seen = |p: &&Point| p.0 >= x.lo && p.0 <= x.hi;
    let inside = points.iter().filter(seen).map(|p| p.1);
    let y = Scale::fit(inside, panel.y_range, panel.log_y, 0.06)
        .or_else(|| Scale::fit(points.iter().map(|p| p.1), panel.y_range, panel.log_y, 0.06))?;
    Some(Axes {
        title: panel.title.clone(),
        x_label: panel.x_label.clone(),
        y_label: panel.y_label.clone(),
        x: XAxis::Numbers(x),
        y,
        boxed: false,
        right_room: 0.0,
        legend: legend_entries(&panel.series, style),
        legend_below: false,
    })
}

/// Legend entries of the named series.
pub(crate) fn legend_entries(series: &[Series], style: &Style) -> Vec<Entry> {
    let entry = |s: &Series| Entry {
        label: s.label.clone(),
        color: palette(s.color),
        swatch: Swatch::Line(s.style, style.line(s.width)),
    };
    series.iter().filter(|s| !s.label.is_empty()).map(entry).collect()
}

/// Draws bands, then curves.
pub(crate) fn draw(canvas: &mut Canvas, series: &[Series], axes: &Axes, style: &Style, plot: Rect) {
    canvas.clip_to(Some(plot));
    for s in series.iter().filter(|s| !s.band.is_empty()) {
        for band in band_pieces(s, axes, plot) {
            canvas.fill_band(&band, palette(s.color), 0.2);
        }
    }
    // Dots on the frame's edge are drawn whole.
    canvas.clip_to(Some(plot.grow(style.pt(1.0))));
    for s in series {
        let width = style.line(s.width);
        stroke_styled(canvas, &polylines(s, axes, plot), s.style, width, palette(s.color));
    }
    canvas.clip_to(None);
}

/// The curve on the page, broken at gaps.
pub(crate) fn polylines(series: &Series, axes: &Axes, plot: Rect) -> Vec<Vec<Point>> {
    let placed = series.points.iter().map(|&(x, y)| axes.place(plot, x, y));
    split(placed)
}

fn band_pieces(series: &Series, axes: &Axes, plot: Rect) -> Vec<Vec<(f64, f64, f64)>> {
    let placed = series.band.iter().map(|&(x, lo, hi)| {
        let (x, top) = axes.place(plot, x, hi)?;
        Some((x, top, axes.place_y(plot, lo)?))
    });
    split(placed)
}

fn split<T>(items: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut pieces = vec![Vec::new()];
    for item in items {
        match (item, pieces.last_mut()) {
            (Some(item), Some(piece)) => piece.push(item),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Strokes polylines in one of the three styles.
pub(crate) fn stroke_styled(
    canvas: &mut Canvas,
    lines: &[Vec<Point>],
    kind: LineStyle,
    width: f64,
    color: Rgb,
) {
    match kind {
        LineStyle::Solid => canvas.stroke(lines, width, color, 1.0),
        LineStyle::Dashed => {
            let dashes: Vec<Vec<Point>> =
                lines.iter().flat_map(|l| dash(l, 3.2 * width, 2.4 * width)).collect();
            canvas.stroke(&dashes, width, color, 1.0);
        }
        LineStyle::Dots => {
            let total: usize = lines.iter().map(Vec::len).sum();
            // Many dots are translucent, so that density shows.
            let alpha = if total > 400 { 0.45 } else { 0.9 };
            for point in lines.iter().flatten() {
                canvas.stroke(&[vec![*point]], 2.4 * width, color, alpha);
            }
        }
    }
}

// Cuts a polyline into dashes of `on` pixels with gaps of `off`, measured along the line.
fn dash(line: &[Point], on: f64, off: f64) -> Vec<Vec<Point>> {
    const LONGEST: f64 = 1e5;
    let mut dashes: Vec<Vec<Point>> = line.first().map(|p| vec![vec![*p]]).unwrap_or_default();
    let (mut drawing, mut left) = (true, on);
    for pair in line.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let length = (b.0 - a.0).hypot(b.1 - a.1);
        // A segment that leaves the page by far is not worth dashing.
        if length.is_nan() || length > LONGEST {
            dashes.push(vec![a, b]);
            dashes.push(vec![b]);
            continue;
        }
        let mut at = 0.0;
        while length - at > left {
            at += left;
            let p = (a.0 + (b.0 - a.0) * at / length, a.1 + (b.1 - a.1) * at / length);
            if drawing {
                if let Some(last) = dashes.last_mut() {
                    last.push(p);
                }
            } else {
                dashes.push(vec![p]);
            }
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
        left -= length - at;
        if drawing && let Some(last) = dashes.last_mut() {
            last.push(b);
        }
    }
    dashes
}

/// Points along the drawn curves, a few pixels apart, for placing the legend.
pub(crate) fn samples(series: &[Series], axes: &Axes, style: &Style, plot: Rect) -> Vec<Point> {
    let step = 0.25 * style.tick;
    let mut out = Vec::new();
    for s in series {
        let edges = |b: &(f64, f64, f64)| [(b.0, b.1), (b.0, b.2)];
        let band = s.band.iter().flat_map(edges).filter_map(|(x, y)| axes.place(plot, x, y));
        out.extend(band.filter(|p| plot.contains(*p)));
        for line in polylines(s, axes, plot) {
            out.extend(line.iter().copied().filter(|p| plot.contains(*p)));
            if s.style == LineStyle::Dots {
                continue;
            }
            for pair in line.windows(2) {
                let Some((a, b)) = crate::canvas::cut(pair[0], pair[1], &plot) else { continue };
                let n = ((b.0 - a.0).hypot(b.1 - a.1) / step) as usize;
                out.extend((1..n).map(|i| {
                    let t = i as f64 / n as f64;
                    (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1))
                }));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_their_share_of_a_line() {
        let dashes = dash(&[(0.0, 0.0), (50.0, 0.0), (100.0, 0.0)], 6.0, 4.0);
        let drawn: f64 = dashes.iter().flat_map(|d| d.windows(2)).map(|w| w[1].0 - w[0].0).sum();
        assert!((drawn - 60.0).abs() < 1e-9, "{drawn}");
    }

    #[test]
    fn gaps_break_a_line() {
        let items = [Some(1), None, None, Some(2), Some(3)];
        assert_eq!(split(items.into_iter()), [vec![1], vec![2, 3]]);
    }
}
