//! Fields side by side, on one scale of colors.

use pullback_core::picture::Picture;
use pullback_plot::{Figure, HeatmapPanel, Panel};

/// Height of a field, inches.
const HEIGHT: f64 = 2.4;
/// Room beside a field for ticks and color bar, and above and below it, inches.
const MARGINS: (f64, f64) = (1.5, 1.0);

/// The fields in rows of `columns`; none if there are none.
pub fn figure(title: &str, columns: usize, pictures: Vec<Picture>) -> Option<Figure> {
    let first = pictures.first()?;
    let (rows, columns_of_field) = (first.values.len().max(1), first.values.first()?.len());
    let aspect = columns_of_field as f64 / rows as f64;
    let all = pictures.iter().flat_map(|p| p.values.iter().flatten().copied());
    let range = all.fold((0.0f64, f64::MIN_POSITIVE), |(low, high), x| (low.min(x), high.max(x)));
    let panel = |picture: Picture| -> Panel {
        HeatmapPanel {
            title: picture.title,
            x_label: picture.across.1,
            y_label: picture.up.1,
            x_range: picture.across.0,
            y_range: picture.up.0,
            values: picture.values,
            value_range: Some(range),
            ..HeatmapPanel::default()
        }
        .into()
    };
    let panels: Vec<Panel> = pictures.into_iter().map(panel).collect();
    let (columns, rows) = (columns.min(panels.len()), panels.len().div_ceil(columns));
    let width = (HEIGHT * aspect + MARGINS.0) * columns as f64;
    let height = (HEIGHT + MARGINS.1) * rows as f64 + 0.5;
    Some(Figure::grid(title, columns, panels).sized(width, height))
}
