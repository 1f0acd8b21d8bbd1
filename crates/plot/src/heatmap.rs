//! A scalar field in color, with contours, arrows, markers and curves on top.
//!
//! Samples stand at the grid points from `x_range.0` to `x_range.1`. Without `smooth` each fills a cell
//! centered on it, so the picture reaches half a cell past the ranges; with `smooth` colors are bilinear
//! between samples and the picture ends at them. Contours are traced in four triangles around each cell's
//! mean, which has no ambiguous case.

use crate::axes::{Axes, XAxis};
use crate::canvas::{Canvas, Point, Rect};
use crate::color::{INK, MISSING, MUTED, Rgb, WHITE, colormap};
use crate::data::{Colormap, HeatmapPanel};
use crate::line;
use crate::scale::{Scale, usable};
use crate::style::Style;
use crate::text::{self, LINE_HEIGHT, TextStyle};

const BAR_GAP: f64 = 0.9;
const BAR: f64 = 1.05;

/// Limits and labels of the panel; `None` if there is nothing to draw.
pub(crate) fn axes(panel: &HeatmapPanel, style: &Style) -> Option<Axes> {
    let values = value_scale(panel)?;
    let (rows, cols) = size(panel);
    let side = |(a, b): (f64, f64), n: usize| {
        let (a, b) = if usable(a, false) && usable(b, false) && a != b {
            (a, b)
        } else {
            (0.0, n.max(2) as f64 - 1.0)
        };
        let half = if panel.smooth || n < 2 { 0.0 } else { 0.5 * (b - a) / (n - 1) as f64 };
        Scale::fit(std::iter::empty(), Some((a - half, b + half)), false, 0.0)
    };
    let ticks = values.ticks(5);
    let widest = ticks.labels.iter().map(|l| text::width(l, style.tick)).fold(0.0, f64::max);
    let label = if panel.value_label.is_empty() { 0.0 } else { (0.4 + LINE_HEIGHT) * style.label };
    let legend = line::legend_entries(&panel.overlays, style);
    Some(Axes {
        title: panel.title.clone(),
        x_label: panel.x_label.clone(),
        y_label: panel.y_label.clone(),
        x: XAxis::Numbers(side(panel.x_range, cols)?),
        y: side(panel.y_range, rows)?,
        boxed: true,
        right_room: (BAR_GAP + BAR) * style.label + 0.5 * style.tick + widest + label,
        legend_below: !legend.is_empty(),
        legend,
    })
}

fn size(panel: &HeatmapPanel) -> (usize, usize) {
    (panel.values.len(), panel.values.first().map_or(0, Vec::len))
}

fn value_scale(panel: &HeatmapPanel) -> Option<Scale> {
    let log = panel.log_values && panel.colormap == Colormap::Sequential;
    let scale = Scale::fit(panel.values.iter().flatten().copied(), panel.value_range, log, 0.0)?;
    if panel.colormap == Colormap::Diverging {
        let reach = scale.lo.abs().max(scale.hi.abs());
        return Some(Scale { lo: -reach, hi: reach, log });
    }
    Some(scale)
}

/// Draws the field and everything on it.
pub(crate) fn draw(canvas: &mut Canvas, panel: &HeatmapPanel, axes: &Axes, style: &Style, plot: Rect) {
    let Some(values) = value_scale(panel) else { return };
    let field = Field { panel, values, size: size(panel) };
    let table: Vec<Rgb> = (0..=255).map(|i| colormap(panel.colormap, f64::from(i) / 255.0)).collect();
    let shade = |u: f64| table[(u.clamp(0.0, 1.0) * 255.0).round() as usize];

    // The field, pixel by pixel.
    for y in plot.y0 as usize..plot.y1 as usize {
        for x in plot.x0 as usize..plot.x1 as usize {
            let u = (x as f64 + 0.5 - plot.x0) / plot.width();
            let v = (plot.y1 - y as f64 - 0.5) / plot.height();
            canvas.blend(x, y, field.at(u, v).map_or(MISSING, &shade), 1.0);
        }
    }
    canvas.clip_to(Some(plot));
    if panel.contours > 0 {
        let levels = panel.contours.min(60);
        for i in 1..=levels {
            let level = i as f64 / (levels + 1) as f64;
            // Light lines on the dark half, dark lines on the light half.
            let dark = panel.colormap == Colormap::Diverging || level > 0.6;
            let (color, alpha) = if dark { (INK, 0.45) } else { (WHITE, 0.5) };
            canvas.stroke(&field.contour(level, plot), style.pt(0.8), color, alpha);
        }
    }
    draw_arrows(canvas, panel, axes, style, plot);
    canvas.clip_to(None);
    draw_paths(canvas, panel, axes, style, plot);
    draw_markers(canvas, panel, axes, style, plot);
    draw_color_bar(canvas, panel, &values, style, plot, shade);
}

struct Field<'a> {
    panel: &'a HeatmapPanel,
    values: Scale,
    size: (usize, usize),
}

impl Field<'_> {
    fn unit(&self, row: usize, col: usize) -> Option<f64> {
        self.values.unit(*self.panel.values.get(row)?.get(col)?)
    }

    // Sample coordinate of a position in [0, 1] across `n` samples.
    fn sample(&self, u: f64, n: usize) -> f64 {
        if self.panel.smooth { u * (n - 1) as f64 } else { u * n as f64 - 0.5 }
    }

    fn position(&self, s: f64, n: usize) -> f64 {
        if self.panel.smooth && n > 1 { s / (n - 1) as f64 } else { (s + 0.5) / n as f64 }
    }

    // Color coordinate at (u, v) in the unit square; `None` where samples are missing.
    fn at(&self, u: f64, v: f64) -> Option<f64> {
        let (rows, cols) = self.size;
        let clamp = |s: f64, n: usize| s.clamp(0.0, (n - 1) as f64);
        let (r, c) = (clamp(self.sample(v, rows), rows), clamp(self.sample(u, cols), cols));
        if !self.panel.smooth {
            return self.unit(r.round() as usize, c.round() as usize);
        }
        let (r0, c0) = (r.floor() as usize, c.floor() as usize);
        let (r1, c1) = ((r0 + 1).min(rows - 1), (c0 + 1).min(cols - 1));
        let (fr, fc) = (r - r0 as f64, c - c0 as f64);
        let low = self.unit(r0, c0)? * (1.0 - fc) + self.unit(r0, c1)? * fc;
        let high = self.unit(r1, c0)? * (1.0 - fc) + self.unit(r1, c1)? * fc;
        Some(low * (1.0 - fr) + high * fr)
    }

    // Segments on which the color coordinate equals `level`.
    fn contour(&self, level: f64, plot: Rect) -> Vec<Vec<Point>> {
        let (rows, cols) = self.size;
        let place = |r: f64, c: f64| {
            let (u, v) = (self.position(c, cols), self.position(r, rows));
            (plot.x0 + u * plot.width(), plot.y1 - v * plot.height())
        };
        let mut out = Vec::new();
        for r in 0..rows.saturating_sub(1) {
            for c in 0..cols.saturating_sub(1) {
                let corners = [(r, c), (r, c + 1), (r + 1, c + 1), (r + 1, c)];
                let heights: Vec<f64> = corners.iter().filter_map(|&(r, c)| self.unit(r, c)).collect();
                if heights.len() < 4 {
                    continue;
                }
                let mean = 0.25 * heights.iter().sum::<f64>();
                let middle = (place(r as f64 + 0.5, c as f64 + 0.5), mean);
                let at = |k: usize| (place(corners[k].0 as f64, corners[k].1 as f64), heights[k]);
                for k in 0..4 {
                    out.extend(cross([at(k), at((k + 1) % 4), middle], level));
                }
            }
        }
        out
    }
}

// The segment on which a linear function over a triangle equals `level`.
fn cross(triangle: [(Point, f64); 3], level: f64) -> Option<Vec<Point>> {
    let mut ends = Vec::new();
    for k in 0..3 {
        let ((a, va), (b, vb)) = (triangle[k], triangle[(k + 1) % 3]);
        if (va < level) != (vb < level) {
            let t = (level - va) / (vb - va);
            ends.push((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)));
        }
    }
    (ends.len() == 2).then_some(ends)
}

fn draw_arrows(canvas: &mut Canvas, panel: &HeatmapPanel, axes: &Axes, style: &Style, plot: Rect) {
    let XAxis::Numbers(x_scale) = axes.x else { return };
    let (sx, sy) = (plot.width() / (x_scale.hi - x_scale.lo), plot.height() / (axes.y.hi - axes.y.lo));
    let spacing = (plot.width() * plot.height() / panel.arrows.len().max(1) as f64).sqrt();
    let length = (0.72 * spacing).clamp(0.8 * style.label, 2.6 * style.label);
    let (shaft, head) = ((0.075 * length).max(style.pt(0.9)), 0.4 * length);
    for &(x, y, dx, dy) in &panel.arrows {
        let Some(middle) = axes.place(plot, x, y) else { continue };
        let (px, py) = (dx * sx, -dy * sy);
        let norm = px.hypot(py);
        if !norm.is_finite() {
            continue;
        }
        if norm < 1e-290 {
            // No direction: a dot says that the field was looked at here.
            canvas.dot(middle, 2.0 * shaft, WHITE, 0.0);
            continue;
        }
        let (ux, uy) = (px / norm, py / norm);
        let along = |s: f64, across: f64| (middle.0 + s * ux - across * uy, middle.1 + s * uy + across * ux);
        let (tail, tip) = (along(-0.5 * length, 0.0), along(0.5 * length, 0.0));
        let neck = along(0.5 * length - 0.85 * head, 0.0);
        let corners =
            [tip, along(0.5 * length - head, 0.46 * head), along(0.5 * length - head, -0.46 * head)];
        // A dark rim keeps white arrows legible on light colors.
        let rim = style.pt(0.55);
        let outline = vec![corners[0], corners[1], corners[2], corners[0]];
        canvas.stroke(&[vec![tail, neck]], shaft + 2.0 * rim, INK, 0.7);
        canvas.stroke(&[outline], 2.0 * rim, INK, 0.7);
        canvas.stroke(&[vec![tail, neck]], shaft, WHITE, 1.0);
        canvas.fill_polygon(&corners, WHITE);
    }
}

fn draw_paths(canvas: &mut Canvas, panel: &HeatmapPanel, axes: &Axes, style: &Style, plot: Rect) {
    canvas.clip_to(Some(plot));
    for series in &panel.overlays {
        // A white rim separates the curve from the colors under it.
        let rim = style.line(series.width) + style.pt(1.6);
        if series.style != crate::LineStyle::Dots {
            canvas.stroke(&line::polylines(series, axes, plot), rim, WHITE, 0.85);
        }
    }
    line::draw(canvas, &panel.overlays, axes, style, plot);
}

fn draw_markers(canvas: &mut Canvas, panel: &HeatmapPanel, axes: &Axes, style: &Style, plot: Rect) {
    let size = 0.62 * style.label;
    for (x, y, label) in &panel.markers {
        let Some(at) = axes.place(plot, *x, *y).filter(|p| plot.contains(*p)) else { continue };
        canvas.dot(at, size, INK, style.pt(1.4));
        canvas.dot(at, 0.4 * size, WHITE, 0.0);
        // The label stands where it does not leave the picture.
        let wide = text::width(label, style.label);
        let left = at.0 + 1.0 * size + wide > plot.x1 - 0.3 * style.label;
        let (shift, anchor) = if left { (-0.95 * size, 1.0) } else { (0.95 * size, 0.0) };
        let y = at.1.clamp(plot.y0 + 0.8 * style.label, plot.y1 - 0.8 * style.label);
        text::draw_with_halo(canvas, label, (at.0 + shift, y), (anchor, 0.5), TextStyle::new(style.label));
    }
}

fn draw_color_bar(
    canvas: &mut Canvas,
    panel: &HeatmapPanel,
    values: &Scale,
    style: &Style,
    plot: Rect,
    shade: impl Fn(f64) -> Rgb,
) {
    let x0 = (plot.x1 + BAR_GAP * style.label).round();
    let bar = Rect::new(x0, plot.y0, (x0 + BAR * style.label).round(), plot.y1);
    for y in bar.y0 as usize..bar.y1 as usize {
        let u = (bar.y1 - y as f64 - 0.5) / bar.height();
        canvas.fill_rect(Rect::new(bar.x0, y as f64, bar.x1, y as f64 + 1.0), shade(u), 1.0);
    }
    let spine = style.pt(0.8);
    let half = 0.5 * spine;
    for y in [bar.y0, bar.y1] {
        canvas.rule((bar.x0 - half, y), (bar.x1 + half, y), spine, MUTED);
    }
    for x in [bar.x0, bar.x1] {
        canvas.rule((x, bar.y0), (x, bar.y1), spine, MUTED);
    }
    let ticks = values.ticks(5);
    let mut widest: f64 = 0.0;
    for (value, label) in ticks.values.iter().zip(&ticks.labels) {
        let y = bar.y1 - values.unit(*value).unwrap_or(0.0) * bar.height();
        canvas.rule((bar.x1, y), (bar.x1 + 0.25 * style.tick, y), spine, MUTED);
        let at = (bar.x1 + 0.5 * style.tick, y);
        text::draw(canvas, std::slice::from_ref(label), at, (0.0, 0.5), 0.0, TextStyle::new(style.tick));
        widest = widest.max(text::width(label, style.tick));
    }
    let name = [text::shorten(&panel.value_label, style.label, bar.height() * 1.05)];
    let x = bar.x1 + 0.5 * style.tick + widest + 0.4 * style.label;
    text::draw(canvas, &name, (x, 0.5 * (bar.y0 + bar.y1)), (0.5, 0.0), 90.0, TextStyle::new(style.label));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_is_crossed_at_the_level() {
        let triangle = [((0.0, 0.0), 0.0), ((1.0, 0.0), 1.0), ((0.0, 1.0), 0.0)];
        let ends = cross(triangle, 0.25).unwrap();
        assert!(ends.contains(&(0.25, 0.0)), "{ends:?}");
        assert!(cross(triangle, 2.0).is_none());
    }

    #[test]
    fn diverging_colors_are_centered_on_zero() {
        let panel = HeatmapPanel {
            values: vec![vec![-1.0, 4.0], vec![f64::NAN, 0.0]],
            colormap: Colormap::Diverging,
            ..Default::default()
        };
        let scale = value_scale(&panel).unwrap();
        assert_eq!((scale.lo, scale.hi), (-4.0, 4.0));
    }
}
