//! Plain data that describes a figure. Nothing here draws.
//!
//! A [`Figure`] is a grid of [`Panel`]s. Every struct has a `Default`, so that a caller names only what
//! matters: `LinePanel { title: "…".into(), series, ..Default::default() }`. Values that are not finite are
//! gaps, never errors. Labels understand `^{…}` and `_{…}`, as in `"m s^{-2}"`.

/// A page of panels, drawn row by row.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Heading over all panels; empty for none.
    pub title: String,
    /// Panels in row-major order; cells without a panel stay white.
    pub panels: Vec<Panel>,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// Width of the page, inches.
    pub width: f64,
    /// Height of the page, inches.
    pub height: f64,
    /// Pixels per inch; 200 is twice what a screen shows.
    pub dpi: f64,
}

impl Figure {
    /// One panel at the size of a text column, 6.4 by 4.4 inches.
    pub fn single(panel: Panel) -> Self {
        Figure {
            title: String::new(),
            panels: vec![panel],
            rows: 1,
            cols: 1,
            width: 6.4,
            height: 4.4,
            dpi: 200.0,
        }
    }

    /// A grid with `cols` columns and as many rows as the panels need, 4.2 by 3.3 inches per cell.
    pub fn grid(title: impl Into<String>, cols: usize, panels: Vec<Panel>) -> Self {
        let cols = cols.max(1);
        let rows = panels.len().div_ceil(cols).max(1);
        let title = title.into();
        let heading = if title.is_empty() { 0.0 } else { 0.45 };
        let (width, height) = (4.2 * cols as f64, 3.3 * rows as f64 + heading);
        Figure { title, panels, rows, cols, width, height, dpi: 200.0 }
    }

    /// The same figure on a page of `width` by `height` inches.
    pub fn sized(mut self, width: f64, height: f64) -> Self {
        (self.width, self.height) = (width, height);
        self
    }
}

/// One set of axes with its content.
#[derive(Clone, Debug)]
pub enum Panel {
    /// Curves, points and bands over two numeric axes.
    Line(LinePanel),
    /// A scalar field in color.
    Heatmap(HeatmapPanel),
    /// Bars over named categories.
    Bars(BarsPanel),
}

impl Panel {
    /// The panel's title, empty if it has none.
    pub fn title(&self) -> &str {
        match self {
            Panel::Line(panel) => &panel.title,
            Panel::Heatmap(panel) => &panel.title,
            Panel::Bars(panel) => &panel.title,
        }
    }
}

impl From<LinePanel> for Panel {
    fn from(panel: LinePanel) -> Self {
        Panel::Line(panel)
    }
}

impl From<HeatmapPanel> for Panel {
    fn from(panel: HeatmapPanel) -> Self {
        Panel::Heatmap(panel)
    }
}

impl From<BarsPanel> for Panel {
    fn from(panel: BarsPanel) -> Self {
        Panel::Bars(panel)
    }
}

/// How the points of a [`Series`] are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineStyle {
    /// An unbroken line.
    #[default]
    Solid,
    /// A dashed line.
    Dashed,
    /// Separate dots: a scatter plot.
    Dots,
}

/// One curve, or one cloud of dots.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; empty keeps it out of the legend.
    pub label: String,
    /// `(x, y)` in drawing order; a point that is not finite breaks the line.
    pub points: Vec<(f64, f64)>,
    /// `(x, low, high)` of a shaded band behind the curve, x increasing; empty for none.
    pub band: Vec<(f64, f64, f64)>,
    /// Index into [`PALETTE`](crate::PALETTE), taken modulo its length.
    pub color: usize,
    /// How the points are joined.
    pub style: LineStyle,
    /// Line width in points of 1/72 inch; a dot is 2.4 times as wide.
    pub width: f64,
}

impl Default for Series {
    fn default() -> Self {
        let (label, style) = (String::new(), LineStyle::Solid);
        Series { label, points: Vec::new(), band: Vec::new(), color: 0, style, width: 1.8 }
    }
}

impl Series {
    /// A solid curve in palette color `color`.
    pub fn new(label: impl Into<String>, color: usize, points: Vec<(f64, f64)>) -> Self {
        Series { label: label.into(), color, points, ..Default::default() }
    }

    /// The same series, dashed.
    pub fn dashed(self) -> Self {
        Series { style: LineStyle::Dashed, ..self }
    }

    /// The same series as dots.
    pub fn dots(self) -> Self {
        Series { style: LineStyle::Dots, ..self }
    }

    /// The same series with a shaded band of `(x, low, high)`.
    pub fn with_band(self, band: Vec<(f64, f64, f64)>) -> Self {
        Series { band, ..self }
    }
}

/// Curves over two numeric axes.
#[derive(Clone, Debug, Default)]
pub struct LinePanel {
    /// Heading of the panel.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x_label: String,
    /// Name and unit of the vertical axis.
    pub y_label: String,
    /// What is drawn; later series lie over earlier ones.
    pub series: Vec<Series>,
    /// Limits of the horizontal axis; `None` fits the data.
    pub x_range: Option<(f64, f64)>,
    /// Limits of the vertical axis; `None` fits the data.
    pub y_range: Option<(f64, f64)>,
    /// Whether the horizontal axis is logarithmic (values that are not positive are gaps).
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic (values that are not positive are gaps).
    pub log_y: bool,
}

/// Which colors a [`HeatmapPanel`] uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colormap {
    /// Dark violet to light yellow with even steps in lightness.
    #[default]
    Sequential,
    /// Blue through near-white to red; its center is the value zero.
    Diverging,
}

/// A scalar field in color with a color bar.
#[derive(Clone, Debug, Default)]
pub struct HeatmapPanel {
    /// Heading of the panel.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x_label: String,
    /// Name and unit of the vertical axis.
    pub y_label: String,
    /// x of the first and of the last column of samples.
    pub x_range: (f64, f64),
    /// y of the first and of the last row of samples.
    pub y_range: (f64, f64),
    /// Samples, `values[row][col]`; row 0 is at `y_range.0`, the bottom. Samples that are not finite are
    /// gray.
    pub values: Vec<Vec<f64>>,
    /// Name and unit of the color bar.
    pub value_label: String,
    /// Values at the ends of the color bar; `None` fits the data.
    pub value_range: Option<(f64, f64)>,
    /// Whether colors follow the logarithm of the value (ignored when diverging).
    pub log_values: bool,
    /// Which colors are used.
    pub colormap: Colormap,
    /// Whether colors are interpolated between samples instead of filling one cell each.
    pub smooth: bool,
    /// How many contour lines to draw; 0 for none.
    pub contours: usize,
    /// `(x, y, dx, dy)`: arrows of one common length centered on (x, y) that point along the displacement (dx,
    /// dy).
    pub arrows: Vec<(f64, f64, f64, f64)>,
    /// `(x, y, label)`: ringed points with a label beside them.
    pub markers: Vec<(f64, f64, String)>,
    /// Curves on top, such as an optimizer's path.
    pub overlays: Vec<Series>,
}

/// One color of bars: a value per category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// Name in the legend; empty keeps it out of the legend.
    pub label: String,
    /// Height per category; a height that is not finite leaves a gap.
    pub values: Vec<f64>,
    /// `(low, high)` ends of each bar's whisker, such as a 95 % interval; empty for none.
    pub intervals: Vec<(f64, f64)>,
    /// Index into [`PALETTE`](crate::PALETTE), taken modulo its length.
    pub color: usize,
}

/// Bars over named categories, grouped when there are several series.
#[derive(Clone, Debug, Default)]
pub struct BarsPanel {
    /// Heading of the panel.
    pub title: String,
    /// Name of the categories.
    pub x_label: String,
    /// Name and unit of the heights.
    pub y_label: String,
    /// Names under the bars.
    pub categories: Vec<String>,
    /// The bars.
    pub series: Vec<BarSeries>,
    /// Limits of the vertical axis; `None` fits the data and includes zero.
    pub y_range: Option<(f64, f64)>,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Whether each bar carries its value as text.
    pub show_values: bool,
}

impl BarsPanel {
    /// One series of bars, with `(low, high)` whiskers if `intervals` is not empty.
    pub fn simple(categories: Vec<String>, values: Vec<f64>, intervals: Vec<(f64, f64)>) -> Self {
        let series = vec![BarSeries { label: String::new(), values, intervals, color: 0 }];
        BarsPanel { categories, series, ..Default::default() }
    }
}
