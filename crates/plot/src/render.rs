//! From a [`Figure`] to pixels: check, lay out, draw, encode.

use crate::PlotError;
use crate::axes::{Axes, Margins};
use crate::canvas::{Canvas, Point, Rect};
use crate::data::{Figure, Panel};
use crate::files::{self, write_atomically};
use crate::style::Style;
use crate::text::{self, LINE_HEIGHT, TextStyle};
use crate::{bars, heatmap, legend, line};

use std::path::Path;

/// A figure before it is drawn.
pub(crate) struct Arranged {
    pub style: Style,
    /// Lines of the title.
    pub heading: Vec<String>,
    pub axes: Vec<Axes>,
    /// Where the content of each panel is, pixels.
    pub plots: Vec<Rect>,
}

impl Figure {
    /// Draws the figure and writes it as a PNG, to a temporary name in the same folder first.
    pub fn save_png(&self, path: &Path) -> Result<(), PlotError> {
        write_atomically(path, &self.to_png_bytes()?)
    }

    /// Draws the figure and encodes it as a PNG.
    pub fn to_png_bytes(&self) -> Result<Vec<u8>, PlotError> {
        let canvas = self.draw()?;
        files::encode_png(canvas.width, canvas.height, &canvas.pixels, self.dpi)
    }

    /// Width and height of the picture, pixels.
    pub fn pixel_size(&self) -> Result<(usize, usize), PlotError> {
        let (width, height) = ((self.width * self.dpi).round(), (self.height * self.dpi).round());
        let sensible = 64.0..=16000.0;
        if !(sensible.contains(&width) && sensible.contains(&height)) {
            return Err(PlotError::Size { width, height });
        }
        Ok((width as usize, height as usize))
    }

    fn draw(&self) -> Result<Canvas, PlotError> {
        let (width, height) = self.pixel_size()?;
        let Arranged { style, heading, axes, plots } = self.arrange()?;
        let mut canvas = Canvas::new(width, height);
        let at = (0.5 * width as f64, 0.35 * style.label + 0.7 * style.heading);
        text::draw(&mut canvas, &heading, at, (0.5, 0.0), 0.0, TextStyle::new(style.heading).bold());
        for (i, panel) in self.panels.iter().enumerate() {
            draw_panel(&mut canvas, panel, &axes[i], &style, plots[i]);
        }
        Ok(canvas)
    }

    /// Where everything stands.
    pub(crate) fn arrange(&self) -> Result<Arranged, PlotError> {
        text::check_fonts()?;
        let (width, height) = self.pixel_size()?;
        if self.panels.is_empty() || self.panels.len() > self.rows.saturating_mul(self.cols) {
            return Err(PlotError::Grid { rows: self.rows, cols: self.cols, panels: self.panels.len() });
        }
        let style = Style::new(width as f64 / self.cols as f64, self.dpi);

        // Cells below the heading, inside an outer margin.
        let edge = 0.35 * style.label;
        let lines =
            text::wrap(&self.title, style.heading * text::BOLD_WIDTH, width as f64 - 4.0 * style.label, 2);
        let room =
            if lines.is_empty() { 0.0 } else { (lines.len() as f64 * LINE_HEIGHT + 1.1) * style.heading };
        let page = Rect::new(edge, edge + room, width as f64 - edge, height as f64 - edge);
        let cells: Vec<Rect> = (0..self.panels.len()).map(|i| self.cell(page, i)).collect();

        // First pass: what each panel needs; second pass: rows and columns share it.
        let mut axes = Vec::with_capacity(self.panels.len());
        for (i, panel) in self.panels.iter().enumerate() {
            axes.push(prepare(panel, &self.panel_name(i), &style, cells[i])?);
        }
        let plots = self.plots(&axes, page, &style);
        Ok(Arranged { style, heading: lines, axes, plots })
    }

    fn cell(&self, page: Rect, index: usize) -> Rect {
        let (w, h) = (page.width() / self.cols as f64, page.height() / self.rows as f64);
        let (row, col) = ((index / self.cols) as f64, (index % self.cols) as f64);
        let (x, y) = (page.x0 + col * w, page.y0 + row * h);
        Rect::new(x, y, x + w, y + h)
    }

    fn panel_name(&self, index: usize) -> String {
        match self.panels[index].title() {
            "" => format!("{} (row {}, column {})", index + 1, index / self.cols + 1, index % self.cols + 1),
            title => format!("\"{title}\""),
        }
    }

    // Plot rectangles that line up: all of one size, with the margins of a row and of a column shared. A
    // color bar takes its room from its own panel.
    fn plots(&self, axes: &[Axes], page: Rect, style: &Style) -> Vec<Rect> {
        let guess = Margins::guess(style);
        let mut rows = vec![(guess.top, guess.bottom); self.rows];
        let mut cols = vec![(guess.left, guess.right); self.cols];
        let larger = |m: (f64, f64), n: (f64, f64)| (m.0.max(n.0), m.1.max(n.1));
        let share = |total: f64, used: &[(f64, f64)]| {
            let margins: f64 = used.iter().map(|m| m.0 + m.1).sum();
            ((total - margins) / used.len() as f64).max(8.0)
        };
        // Text wraps by width and ticks follow height, so each pass uses the other's last result.
        for _ in 0..2 {
            let width = share(page.width(), &cols);
            rows.fill((0.0, 0.0));
            for (i, a) in axes.iter().enumerate() {
                rows[i / self.cols] = larger(rows[i / self.cols], a.heights(style, width));
            }
            let height = share(page.height(), &rows);
            cols.fill((0.0, 0.0));
            for (i, a) in axes.iter().enumerate() {
                cols[i % self.cols] = larger(cols[i % self.cols], a.widths(style, height, width));
            }
        }
        let (width, height) = (share(page.width(), &cols), share(page.height(), &rows));
        let start = |used: &[(f64, f64)], size: f64, k: usize| {
            used[..k].iter().map(|m| m.0 + size + m.1).sum::<f64>() + used[k].0
        };
        let plot = |i: usize| {
            let x = page.x0 + start(&cols, width, i % self.cols);
            let y = page.y0 + start(&rows, height, i / self.cols);
            let inner = (width - axes[i].right_room).max(8.0);
            Rect::new(x.round(), y.round(), (x + inner).round(), (y + height).round())
        };
        (0..axes.len()).map(plot).collect()
    }
}

// Checks a panel, fits its axes and decides where its legend goes.
fn prepare(panel: &Panel, name: &str, style: &Style, cell: Rect) -> Result<Axes, PlotError> {
    let shape = |what: String| PlotError::Shape { panel: name.to_string(), what };
    match panel {
        Panel::Line(_) => {}
        Panel::Heatmap(p) => {
            let cols = p.values.first().map_or(0, Vec::len);
            if let Some(row) = p.values.iter().position(|r| r.len() != cols) {
                let found = p.values[row].len();
                return Err(shape(format!("row {row} has {found} values where row 0 has {cols}")));
            }
        }
        Panel::Bars(p) => {
            for s in &p.series {
                let (n, m) = (p.categories.len(), s.values.len());
                if n != m {
                    return Err(shape(format!("series \"{}\" has {m} values for {n} categories", s.label)));
                }
                if !s.intervals.is_empty() && s.intervals.len() != n {
                    let k = s.intervals.len();
                    return Err(shape(format!(
                        "series \"{}\" has {k} intervals for {n} categories",
                        s.label
                    )));
                }
            }
        }
    }
    let axes = match panel {
        Panel::Line(p) => line::axes(p, style),
        Panel::Heatmap(p) => heatmap::axes(p, style),
        Panel::Bars(p) => bars::axes(p),
    };
    let mut axes = axes.ok_or_else(|| PlotError::Empty { panel: name.to_string() })?;
    let plot = Margins::guess(style).inner(cell);
    if !axes.boxed && !axes.legend.is_empty() {
        axes.legend_below =
            legend::inside(&axes.legend, style, plot, &samples(panel, &axes, style, plot)).is_none();
    }
    Ok(axes)
}

fn samples(panel: &Panel, axes: &Axes, style: &Style, plot: Rect) -> Vec<Point> {
    match panel {
        Panel::Line(p) => line::samples(&p.series, axes, style, plot),
        Panel::Bars(p) => bars::samples(p, axes, style, plot),
        Panel::Heatmap(_) => Vec::new(),
    }
}

fn draw_panel(canvas: &mut Canvas, panel: &Panel, axes: &Axes, style: &Style, plot: Rect) {
    axes.draw_grid(canvas, style, plot);
    match panel {
        Panel::Line(p) => line::draw(canvas, &p.series, axes, style, plot),
        Panel::Heatmap(p) => heatmap::draw(canvas, p, axes, style, plot),
        Panel::Bars(p) => bars::draw(canvas, p, axes, style, plot),
    }
    axes.draw_frame(canvas, style, plot);
    if !axes.legend.is_empty() && !axes.legend_below {
        let points = samples(panel, axes, style, plot);
        // The guess of the first pass may have been a little roomier: then the best place is still the best.
        if let Some((area, _)) = legend::best(&axes.legend, style, plot, &points) {
            legend::draw_inside(canvas, &axes.legend, style, plot, area);
        }
    }
}
