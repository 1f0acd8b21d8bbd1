//! The frame around a panel: limits, margins, grid, spines, ticks and labels.
//!
//! Layout runs in two passes so that panels of a grid line up. First every panel says how much room its
//! labels need; each row then shares the largest heights and each column the largest widths; only then is it
//! drawn.

use crate::canvas::{Canvas, Point, Rect};
use crate::color::{GRID, GRID_MINOR, INK, MUTED};
use crate::legend::{self, Entry};
use crate::scale::{Scale, Ticks};
use crate::style::Style;
use crate::text::{self, LINE_HEIGHT, TextStyle};

/// A horizontal axis: numbers or names.
#[derive(Clone, Debug)]
pub(crate) enum XAxis {
    Numbers(Scale),
    Names(Vec<String>),
}

/// Everything about a panel that is not its content.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub x: XAxis,
    pub y: Scale,
    /// Whether the frame closes around the content, as for a picture, and has no grid.
    pub boxed: bool,
    /// Room right of the plot for a color bar, pixels.
    pub right_room: f64,
    pub legend: Vec<Entry>,
    /// Whether the legend stands below the panel; decided in the first pass.
    pub legend_below: bool,
}

/// Room around the plot rectangle, pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Margins {
    pub fn inner(&self, cell: Rect) -> Rect {
        let (x0, y0) = ((cell.x0 + self.left).round(), (cell.y0 + self.top).round());
        let (x1, y1) = ((cell.x1 - self.right).round(), (cell.y1 - self.bottom).round());
        Rect::new(x0, y0, x1.max(x0 + 8.0), y1.max(y0 + 8.0))
    }

    /// A first guess, before any label is measured.
    pub fn guess(style: &Style) -> Self {
        Margins {
            left: 5.5 * style.label,
            right: 1.4 * style.label,
            top: 2.8 * style.label,
            bottom: 4.2 * style.label,
        }
    }
}

/// How category names are set under the bars.
struct NameLayout {
    lines: Vec<Vec<String>>,
    degrees: f64,
    height: f64,
}

impl Axes {
    /// Heights above and below the plot when it and its color bar are about `width` pixels wide.
    pub fn heights(&self, style: &Style, width: f64) -> (f64, f64) {
        let width = (width - self.right_room).max(8.0);
        let title = self.title_lines(style, width).len() as f64 * LINE_HEIGHT * style.title;
        let top = title + if title > 0.0 { 0.75 } else { 0.6 } * style.label;
        let ticks = match &self.x {
            XAxis::Numbers(_) => 1.15 * style.tick,
            XAxis::Names(names) => name_layout(names, style, width).height,
        };
        let label = self.x_label_lines(style, width).len() as f64 * LINE_HEIGHT * style.label;
        let mut bottom =
            0.65 * style.tick + ticks + if label > 0.0 { 0.35 * style.label } else { 0.0 } + label;
        if self.legend_below {
            bottom += legend::below_height(&self.legend, style, width);
        }
        (top, bottom + 0.5 * style.label)
    }

    /// Widths left of a plot and right of it and its color bar, `height` pixels high and about `width` wide.
    pub fn widths(&self, style: &Style, height: f64, width: f64) -> (f64, f64) {
        let ticks = self.y_ticks(style, height);
        let widest = ticks.labels.iter().map(|l| text::width(l, style.tick)).fold(0.0, f64::max);
        let lines = text::wrap(&self.y_label, style.label, height * 1.05, 2).len() as f64;
        let label = if lines > 0.0 { lines * LINE_HEIGHT * style.label + 0.55 * style.label } else { 0.0 };
        let right = (1.3 * style.label).max(self.overhang(style) - self.right_room);
        let left = 0.65 * style.label + label + widest + 0.6 * style.tick;
        (left.max(self.slant(style, width)), right)
    }

    // How far a label at the right end of the horizontal axis may reach past the plot.
    fn overhang(&self, style: &Style) -> f64 {
        let XAxis::Numbers(scale) = &self.x else { return 0.0 };
        let widths = scale.ticks(5).labels.into_iter().map(|l| text::width(&l, style.tick));
        0.5 * widths.fold(0.0, f64::max) + 0.6 * style.tick
    }

    // How far a slanted name reaches left of the plot.
    fn slant(&self, style: &Style, width: f64) -> f64 {
        let XAxis::Names(names) = &self.x else { return 0.0 };
        let layout = name_layout(names, style, width);
        if layout.degrees == 0.0 {
            return 0.0;
        }
        let cos = layout.degrees.to_radians().cos();
        let reach = |(i, lines): (usize, &Vec<String>)| {
            let longest = lines.iter().map(|l| text::width(l, style.tick)).fold(0.0, f64::max);
            longest * cos - width * (i as f64 + 0.5) / names.len() as f64 + 0.6 * style.tick
        };
        layout.lines.iter().enumerate().map(reach).fold(0.0, f64::max)
    }

    pub fn y_ticks(&self, style: &Style, height: f64) -> Ticks {
        self.y.ticks((height / (3.0 * style.tick)).clamp(2.0, 7.0) as usize)
    }

    // The finest horizontal ticks whose labels keep a clear distance.
    fn x_ticks(&self, scale: &Scale, style: &Style, width: f64) -> Ticks {
        let crowded = |ticks: &Ticks| {
            let mut end = f64::NEG_INFINITY;
            ticks.values.iter().zip(&ticks.labels).any(|(v, label)| {
                let half = 0.5 * text::width(label, style.tick);
                let x = scale.unit(*v).unwrap_or(0.0) * width;
                let clash = x - half < end + 0.9 * style.tick;
                end = x + half;
                clash
            })
        };
        let choices = (2..=8).rev().map(|n| scale.ticks(n));
        choices.into_iter().find(|t| !crowded(t)).unwrap_or_else(|| {
            let mut ticks = scale.ticks(2);
            // Even two do not fit: keep the first.
            ticks.values.truncate(1);
            ticks.labels.truncate(1);
            ticks
        })
    }

    fn title_lines(&self, style: &Style, width: f64) -> Vec<String> {
        text::wrap(&self.title, style.title * text::BOLD_WIDTH, width + self.right_room, 2)
    }

    fn x_label_lines(&self, style: &Style, width: f64) -> Vec<String> {
        text::wrap(&self.x_label, style.label, width * 1.05, 2)
    }

    /// Page position of a value; `None` for a gap.
    pub fn place(&self, plot: Rect, x: f64, y: f64) -> Option<Point> {
        let XAxis::Numbers(scale) = &self.x else { return None };
        Some((plot.x0 + scale.unit(x)? * plot.width(), self.place_y(plot, y)?))
    }

    /// Page height of a value; `None` for a gap.
    pub fn place_y(&self, plot: Rect, y: f64) -> Option<f64> {
        Some(plot.y1 - self.y.unit(y)? * plot.height())
    }

    /// Page position of the middle of category `index` of `count`.
    pub fn place_name(plot: Rect, index: usize, count: usize) -> f64 {
        plot.x0 + plot.width() * (index as f64 + 0.5) / count.max(1) as f64
    }

    /// Draws the grid, which lies under the content.
    pub fn draw_grid(&self, canvas: &mut Canvas, style: &Style, plot: Rect) {
        if self.boxed {
            return;
        }
        let width = style.pt(0.55);
        let y_ticks = self.y_ticks(style, plot.height());
        let lines = [(&y_ticks.minor, GRID_MINOR), (&y_ticks.values, GRID)];
        if let XAxis::Numbers(scale) = &self.x {
            let x_ticks = self.x_ticks(scale, style, plot.width());
            for (values, color) in [(&x_ticks.minor, GRID_MINOR), (&x_ticks.values, GRID)] {
                for x in values.iter().filter_map(|v| scale.unit(*v)).map(|u| plot.x0 + u * plot.width()) {
                    canvas.rule((x, plot.y0), (x, plot.y1), width, color);
                }
            }
        }
        for (values, color) in lines {
            for y in values.iter().filter_map(|v| self.place_y(plot, *v)) {
                canvas.rule((plot.x0, y), (plot.x1, y), width, color);
            }
        }
    }

    /// Draws spines, ticks and labels, which lie over the content.
    pub fn draw_frame(&self, canvas: &mut Canvas, style: &Style, plot: Rect) {
        let spine = style.pt(0.8);
        canvas.rule((plot.x0 - 0.5 * spine, plot.y1), (plot.x1 + 0.5 * spine, plot.y1), spine, MUTED);
        canvas.rule((plot.x0, plot.y0), (plot.x0, plot.y1), spine, MUTED);
        if self.boxed {
            canvas.rule((plot.x0 - 0.5 * spine, plot.y0), (plot.x1 + 0.5 * spine, plot.y0), spine, MUTED);
            canvas.rule((plot.x1, plot.y0), (plot.x1, plot.y1), spine, MUTED);
        }
        let depth = self.draw_x_labels(canvas, style, plot);
        self.draw_y_labels(canvas, style, plot);

        // Axis and panel names.
        let middle = 0.5 * (plot.x0 + plot.x1);
        let y = plot.y1 + 0.65 * style.tick + depth + 0.35 * style.label;
        let lines = self.x_label_lines(style, plot.width());
        text::draw(canvas, &lines, (middle, y), (0.5, 0.0), 0.0, TextStyle::new(style.label));
        let title = self.title_lines(style, plot.width());
        let bold = TextStyle::new(style.title).bold();
        text::draw(canvas, &title, (plot.x0, plot.y0 - 0.75 * style.label), (0.0, 1.0), 0.0, bold);
        if self.legend_below {
            let label = lines.len() as f64 * LINE_HEIGHT * style.label;
            legend::draw_below(canvas, &self.legend, style, (plot.x0, plot.x1), y + label);
        }
    }

    fn draw_x_labels(&self, canvas: &mut Canvas, style: &Style, plot: Rect) -> f64 {
        let small = TextStyle::new(style.tick);
        let top = plot.y1 + 0.65 * style.tick;
        match &self.x {
            XAxis::Numbers(scale) => {
                let ticks = self.x_ticks(scale, style, plot.width());
                for (value, label) in ticks.values.iter().zip(&ticks.labels) {
                    let x = plot.x0 + scale.unit(*value).unwrap_or(0.0) * plot.width();
                    canvas.rule((x, plot.y1), (x, plot.y1 + 0.28 * style.tick), style.pt(0.8), MUTED);
                    // The top edge of a raised exponent is higher than that of a digit: keep the digits
                    // aligned.
                    text::draw(canvas, std::slice::from_ref(label), (x, top), (0.5, 0.0), 0.0, small);
                }
                1.15 * style.tick
            }
            XAxis::Names(names) => {
                let layout = name_layout(names, style, plot.width());
                for (i, lines) in layout.lines.iter().enumerate() {
                    let x = Axes::place_name(plot, i, names.len());
                    if layout.degrees == 0.0 {
                        text::draw(canvas, lines, (x, top), (0.5, 0.0), 0.0, small);
                    } else {
                        text::draw(
                            canvas,
                            lines,
                            (x + 0.3 * style.tick, top),
                            (1.0, 0.2),
                            layout.degrees,
                            small,
                        );
                    }
                }
                layout.height
            }
        }
    }

    fn draw_y_labels(&self, canvas: &mut Canvas, style: &Style, plot: Rect) {
        let ticks = self.y_ticks(style, plot.height());
        let mut widest: f64 = 0.0;
        for (value, label) in ticks.values.iter().zip(&ticks.labels) {
            let Some(y) = self.place_y(plot, *value) else { continue };
            canvas.rule((plot.x0 - 0.28 * style.tick, y), (plot.x0, y), style.pt(0.8), MUTED);
            let at = (plot.x0 - 0.6 * style.tick, y);
            text::draw(canvas, std::slice::from_ref(label), at, (1.0, 0.5), 0.0, TextStyle::new(style.tick));
            widest = widest.max(text::width(label, style.tick));
        }
        let lines = text::wrap(&self.y_label, style.label, plot.height() * 1.05, 2);
        let at = (plot.x0 - 0.6 * style.tick - widest - 0.55 * style.label, 0.5 * (plot.y0 + plot.y1));
        text::draw(canvas, &lines, at, (0.5, 1.0), 90.0, TextStyle::new(style.label).color(INK));
    }
}

/// Longest slanted name, ems.
const NAME_LIMIT: f64 = 13.0;

// Names stand upright on up to three lines if they fit their bar, and slant if they do not.
fn name_layout(names: &[String], style: &Style, width: f64) -> NameLayout {
    let slot = width / names.len().max(1) as f64 - 0.5 * style.tick;
    let lines: Vec<Vec<String>> = names.iter().map(|n| text::wrap(n, style.tick, slot, 3)).collect();
    let fits = lines.iter().flatten().all(|l| !l.ends_with('…'));
    if fits {
        let rows = lines.iter().map(Vec::len).max().unwrap_or(1);
        return NameLayout { lines, degrees: 0.0, height: (rows as f64 * LINE_HEIGHT - 0.05) * style.tick };
    }
    let lines: Vec<Vec<String>> =
        names.iter().map(|n| vec![text::shorten(n, style.tick, NAME_LIMIT * style.tick)]).collect();
    let longest = lines.iter().flatten().map(|l| text::width(l, style.tick)).fold(0.0, f64::max);
    let degrees = if slot > 0.9 * style.tick { 35.0 } else { 90.0f64 };
    let height = longest * degrees.to_radians().sin() + 0.9 * style.tick;
    NameLayout { lines, degrees, height }
}
