//! Sizes that follow from the page: one place decides how large text and lines are.
//!
//! Text is at least 2.3 % of a panel's width, and ten points where the panel has room, so that a figure is
//! still readable at half size. Line widths are given in points and grow with the text.

/// Text sizes and the pixel length of a point for one figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Tick labels and legends, pixels per em.
    pub tick: f64,
    /// Axis labels, pixels per em.
    pub label: f64,
    /// Panel titles, pixels per em.
    pub title: f64,
    /// The figure's heading, pixels per em.
    pub heading: f64,
    point: f64,
}

impl Style {
    /// For panels of `cell` pixels width at `dpi` pixels per inch.
    pub fn new(cell: f64, dpi: f64) -> Self {
        let ten_points = dpi * 10.0 / 72.0;
        let label = (0.026 * cell).max(ten_points.min(0.037 * cell)).max(8.0);
        Style { tick: 0.9 * label, label, title: 1.12 * label, heading: 1.35 * label, point: label / 10.0 }
    }

    /// A length in points, pixels; never below one pixel.
    pub fn pt(&self, points: f64) -> f64 {
        (points * self.point).max(1.0)
    }

    /// A data line's width, pixels: at least two, at most twelve points.
    pub fn line(&self, points: f64) -> f64 {
        let points = if points.is_finite() { points.clamp(0.5, 12.0) } else { 1.8 };
        self.pt(points).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_readable_at_any_panel_size() {
        for (cell, dpi) in [(400.0, 100.0), (840.0, 200.0), (1280.0, 200.0), (4000.0, 300.0)] {
            let style = Style::new(cell, dpi);
            assert!(style.tick >= 0.022 * cell, "{cell}");
            assert!(style.line(0.1) >= 2.0);
        }
        assert_eq!(Style::new(800.0, 200.0).line(f64::NAN), Style::new(800.0, 200.0).line(1.8));
    }
}
