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
    let center = 0.5 * (plot.x0 + plot.x1 - w);
    let places = [
        (right, top),
        (left, top),
        (right, bottom),
        (left, bottom),
        (right, middle),
        (left, middle),
        (center, top),
        (center, bottom),
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

// A legend below a panel `width` pixels wide: shortened entries, columns, and the width of each column.
fn columns(entries: &[Entry], style: &Style, width: f64) -> (Vec<Entry>, usize, f64) {
    let gap = 1.8 * style.tick;
    let entries = shortened(entries, style, width);
    let widest = entries.iter().map(|e| entry_width(e, style.tick)).fold(1.0, f64::max);
    let fit = (((width + gap) / (widest + gap)) as usize).clamp(1, entries.len().max(1));
    // As few rows as fit, then as few columns as those rows need: no row ends nearly empty.
    let rows = entries.len().div_ceil(fit).max(1);
    let count = entries.len().div_ceil(rows).max(1);
    (entries, count, widest)
}

/// Height of a legend below a panel, pixels.
pub(crate) fn below_height(entries: &[Entry], style: &Style, width: f64) -> f64 {
    let (entries, count, _) = columns(entries, style, width);
    entries.len().div_ceil(count) as f64 * ROW * style.tick + 0.5 * style.tick
}

/// Draws the legend in columns centered between `x0` and `x1`, from `top` down.
pub(crate) fn draw_below(canvas: &mut Canvas, entries: &[Entry], style: &Style, (x0, x1): Point, top: f64) {
    let em = style.tick;
    let (entries, count, widest) = columns(entries, style, x1 - x0);
    let pitch = widest + 1.8 * em;
    let left = 0.5 * (x0 + x1 - (count as f64 * pitch - 1.8 * em));
    for (i, entry) in entries.iter().enumerate() {
        let y = top + 0.5 * em + ((i / count) as f64 + 0.5) * ROW * em;
        draw_entry(canvas, entry, style, (left + (i % count) as f64 * pitch, y));
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
