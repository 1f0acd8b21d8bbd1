//! The legend: in the emptiest corner if one is empty enough, else in rows below the panel.
//!
//! Emptiness is measured: the drawn curves are sampled every few pixels, and each candidate place counts the
//! samples it would cover.

use crate::canvas::{Canvas, Point, Rect};
use crate::color::{GRID, Rgb, WHITE};
use crate::data::LineStyle;
use crate::line::stroke_styled;
use crate::style::Style;
use crate::text::{self, TextStyle};

/// What stands beside a legend's text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Swatch {
    Line(LineStyle, f64),
    Box,
}

/// One line of a legend.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub label: String,
    pub color: Rgb,
    pub swatch: Swatch,
}

const SWATCH: f64 = 2.1;
const GAP: f64 = 0.55;
const ROW: f64 = 1.45;
const PAD: f64 = 0.5;

/// Share of all samples a legend may cover before it moves below the panel.
const CROWDED: f64 = 0.004;

fn entry_width(entry: &Entry, size: f64) -> f64 {
    (SWATCH + GAP) * size + text::width(&entry.label, size)
}

fn shortened(entries: &[Entry], style: &Style, limit: f64) -> Vec<Entry> {
    let room = limit - (SWATCH + GAP + 2.0 * PAD) * style.tick;
    let fit = |e: &Entry| Entry { label: text::shorten(&e.label, style.tick, room), ..e.clone() };
    entries.iter().map(fit).collect()
}

/// The best inside place for a legend over `plot`, or `None` if it is too large or covers too much.
pub(crate) fn inside(entries: &[Entry], style: &Style, plot: Rect, samples: &[Point]) -> Option<Rect> {
    let (area, covered) = best(entries, style, plot, samples)?;
    let small = area.width() <= 0.7 * plot.width() && area.height() <= 0.55 * plot.height();
    (small && covered <= (CROWDED * samples.len() as f64) as usize).then_some(area)
}

/// The inside place that covers the fewest samples, and their number.
pub(crate) fn best(entries: &[Entry], style: &Style, plot: Rect, samples: &[Point]) -> Option<(Rect, usize)> {
    let em = style.tick;
    let entries = shortened(entries, style, plot.width() * 0.6);
    let widest = entries.iter().map(|e| entry_width(e, em)).fold(0.0, f64::max);
    let (w, h) = (widest + 2.0 * PAD * em, (entries.len() as f64 * ROW + 2.0 * PAD - 0.3) * em);
    let m = 0.5 * em;
    let (left, right) = (plot.x0 + m, plot.x1 - m - w);
    let (top, bottom, middle) = (plot.y0 + m, plot.y1 - m - h, 0.5 * (plot.y0 + plot.y1 - h));
    let centre = 0.5 * (plot.x0 + plot.x1 - w);
    let places = [
        (right, top),
        (left, top),
        (right, bottom),
        (left, bottom),
        (right, middle),
        (left, middle),
        (centre, top),
        (centre, bottom),
    ];
    let covered = |&(x, y): &Point| {
        let area = Rect::new(x, y, x + w, y + h).grow(0.35 * em);
        samples.iter().filter(|p| area.contains(**p)).count()
    };
    let (place, count) = places.iter().map(|p| (p, covered(p))).min_by_key(|(_, count)| *count)?;
    Some((Rect::new(place.0, place.1, place.0 + w, place.1 + h), count))
}

/// Draws the legend in a box found by [`inside`].
pub(crate) fn draw_inside(canvas: &mut Canvas, entries: &[Entry], style: &Style, plot: Rect, area: Rect) {
    canvas.fill_rect(area, WHITE, 0.86);
    let w = style.pt(0.5);
    for (a, b) in [
        ((area.x0, area.y0), (area.x1, area.y0)),
        ((area.x0, area.y1), (area.x1, area.y1)),
        ((area.x0, area.y0), (area.x0, area.y1)),
        ((area.x1, area.y0), (area.x1, area.y1)),
    ] {
        canvas.rule(a, b, w, GRID);
    }
    let em = style.tick;
    for (row, entry) in shortened(entries, style, plot.width() * 0.6).iter().enumerate() {
        let y = area.y0 + (PAD - 0.15 + (row as f64 + 0.5) * ROW) * em;
        draw_entry(canvas, entry, style, (area.x0 + PAD * em, y));
    }
}

// Entries per row of a legend below a panel `width` pixels wide.
fn rows(entries: &[Entry], style: &Style, width: f64) -> Vec<Vec<Entry>> {
    let em = style.tick;
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in shortened(entries, style, width) {
        let w = entry_width(&entry, em) + 1.6 * em;
        if used + w > width + 1.6 * em {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += w;
        if let Some(row) = rows.last_mut() {
            row.push(entry);
        }
    }
    rows
}

/// Height of a legend below a panel, pixels.
pub(crate) fn below_height(entries: &[Entry], style: &Style, width: f64) -> f64 {
    rows(entries, style, width).len() as f64 * ROW * style.tick + 0.5 * style.tick
}

/// Draws the legend in centred rows between `x0` and `x1`, from `top` down.
pub(crate) fn draw_below(canvas: &mut Canvas, entries: &[Entry], style: &Style, (x0, x1): Point, top: f64) {
    let em = style.tick;
    for (row, line) in rows(entries, style, x1 - x0).iter().enumerate() {
        let total: f64 = line.iter().map(|e| entry_width(e, em) + 1.6 * em).sum::<f64>() - 1.6 * em;
        let mut x = 0.5 * (x0 + x1 - total);
        let y = top + 0.5 * em + (row as f64 + 0.5) * ROW * em;
        for entry in line {
            draw_entry(canvas, entry, style, (x, y));
            x += entry_width(entry, em) + 1.6 * em;
        }
    }
}

fn draw_entry(canvas: &mut Canvas, entry: &Entry, style: &Style, (x, y): Point) {
    let em = style.tick;
    match entry.swatch {
        Swatch::Line(LineStyle::Dots, width) => {
            canvas.dot((x + 0.5 * SWATCH * em, y), 2.4 * width, entry.color, 0.0)
        }
        Swatch::Line(kind, width) => {
            // A dashed swatch shows two whole dashes whatever the width.
            let line = vec![(x + 0.5 * width, y), (x + SWATCH * em - 0.5 * width, y)];
            stroke_styled(canvas, &[line], kind, width, entry.color);
        }
        Swatch::Box => {
            let area = Rect::new(x + 0.5 * em, y - 0.42 * em, x + SWATCH * em, y + 0.42 * em);
            canvas.fill_rect(area, entry.color, 1.0);
        }
    }
    let label = [entry.label.clone()];
    text::draw(canvas, &label, (x + (SWATCH + GAP) * em, y), (0.0, 0.5), 0.0, TextStyle::new(em));
}
