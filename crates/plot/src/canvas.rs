//! An RGB picture and the few marks a figure is made of, all antialiased at fractional positions.
//!
//! A stroke first gathers its coverage in a mask, by the distance of each pixel to the nearest segment, and
//! is blended once: joints are round, a sharp sawtooth has no spikes, and a translucent line does not darken
//! where it meets itself. Coordinates are pixels, x to the right, y down; a pixel's center is at its index
//! plus one half.

use ab_glyph::point;
use ab_glyph_rasterizer::Rasterizer;

use crate::color::{Rgb, WHITE};

pub(crate) type Point = (f64, f64);

/// An axis-aligned rectangle, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub x0: f64,
    pub y0: f64,
    pub x1: f64,
    pub y1: f64,
}

impl Rect {
    pub fn new(x0: f64, y0: f64, x1: f64, y1: f64) -> Self {
        Rect { x0, y0, x1, y1 }
    }

    pub fn width(&self) -> f64 {
        self.x1 - self.x0
    }

    pub fn height(&self) -> f64 {
        self.y1 - self.y0
    }

    pub fn grow(&self, by: f64) -> Self {
        Rect::new(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)
    }

    pub fn contains(&self, (x, y): Point) -> bool {
        x >= self.x0 && x <= self.x1 && y >= self.y0 && y <= self.y1
    }

    fn intersect(&self, o: &Rect) -> Self {
        Rect::new(self.x0.max(o.x0), self.y0.max(o.y0), self.x1.min(o.x1), self.y1.min(o.y1))
    }
}

/// The picture under construction.
pub(crate) struct Canvas {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
    clip: Rect,
}

// Coverage in [0, 1] over a box of whole pixels.
struct Mask {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    coverage: Vec<f32>,
}

impl Canvas {
    pub fn new(width: usize, height: usize) -> Self {
        let clip = Rect::new(0.0, 0.0, width as f64, height as f64);
        Canvas { width, height, pixels: vec![255; width * height * 3], clip }
    }

    /// Limits what follows to `rect`; `None` lifts the limit.
    pub fn clip_to(&mut self, rect: Option<Rect>) {
        let whole = Rect::new(0.0, 0.0, self.width as f64, self.height as f64);
        self.clip = rect.map_or(whole, |r| r.intersect(&whole));
    }

    pub fn blend(&mut self, x: usize, y: usize, color: Rgb, alpha: f64) {
        if x < self.width && y < self.height {
            let at = (y * self.width + x) * 3;
            for c in 0..3 {
                let old = f64::from(self.pixels[at + c]);
                self.pixels[at + c] =
                    (old + (f64::from(color[c]) - old) * alpha.clamp(0.0, 1.0)).round() as u8;
            }
        }
    }

    // An empty mask over the part of `bounds` that the clip leaves visible.
    fn mask(&self, bounds: Rect) -> Option<Mask> {
        let r = bounds.intersect(&self.clip);
        // Written so that NaN bounds fall through to `None`.
        if !(r.x1 > r.x0 && r.y1 > r.y0) {
            return None;
        }
        let (x, y) = (r.x0.floor() as usize, r.y0.floor() as usize);
        let (width, height) = (r.x1.ceil() as usize - x, r.y1.ceil() as usize - y);
        Some(Mask { x, y, width, height, coverage: vec![0.0; width * height] })
    }

    fn blend_mask(&mut self, mask: &Mask, color: Rgb, alpha: f64) {
        for row in 0..mask.height {
            for col in 0..mask.width {
                let c = mask.coverage[row * mask.width + col];
                if c > 0.0 {
                    self.blend(mask.x + col, mask.y + row, color, f64::from(c) * alpha);
                }
            }
        }
    }

    /// Fills a rectangle, with partial coverage along fractional edges.
    pub fn fill_rect(&mut self, rect: Rect, color: Rgb, alpha: f64) {
        let Some(mut mask) = self.mask(rect) else { return };
        for row in 0..mask.height {
            let y = (mask.y + row) as f64;
            let high = ((y + 1.0).min(rect.y1) - y.max(rect.y0)).clamp(0.0, 1.0);
            for col in 0..mask.width {
                let x = (mask.x + col) as f64;
                let wide = ((x + 1.0).min(rect.x1) - x.max(rect.x0)).clamp(0.0, 1.0);
                mask.coverage[row * mask.width + col] = (high * wide) as f32;
            }
        }
        self.blend_mask(&mask, color, alpha);
    }

    /// Strokes polylines of one width and color; a polyline of one point is a dot.
    pub fn stroke(&mut self, lines: &[Vec<Point>], width: f64, color: Rgb, alpha: f64) {
        let half = 0.5 * width;
        let reach = half + 1.0;
        let window = self.clip.grow(reach);
        // Cut every segment to the visible window first, so that far-away points cost nothing.
        let mut segments = Vec::new();
        for line in lines {
            if let [only] = line[..] {
                segments.extend(cut(only, only, &window));
            }
            segments.extend(line.windows(2).filter_map(|w| cut(w[0], w[1], &window)));
        }
        let Some(mut mask) = self.mask(bounds(segments.iter().flat_map(|s| [s.0, s.1])).grow(reach)) else {
            return;
        };
        for (a, b) in segments {
            mask.add_segment(a, b, half);
        }
        self.blend_mask(&mask, color, alpha);
    }

    /// A horizontal or vertical hairline, snapped to whole pixels so that it is crisp.
    pub fn rule(&mut self, a: Point, b: Point, width: f64, color: Rgb) {
        let w = width.round().max(1.0);
        let start = |v: f64| (v - 0.5 * w).round();
        let rect = if (a.1 - b.1).abs() < (a.0 - b.0).abs() {
            Rect::new(a.0.min(b.0).round(), start(a.1), a.0.max(b.0).round(), start(a.1) + w)
        } else {
            Rect::new(start(a.0), a.1.min(b.1).round(), start(a.0) + w, a.1.max(b.1).round())
        };
        self.fill_rect(rect, color, 1.0);
    }

    /// Fills the area between two curves given as `(x, upper y, lower y)` with x increasing.
    pub fn fill_band(&mut self, band: &[(f64, f64, f64)], color: Rgb, alpha: f64) {
        let corners = band.iter().flat_map(|b| [(b.0, b.1), (b.0, b.2)]);
        let Some(mut mask) = self.mask(bounds(corners).grow(1.0)) else { return };
        for pair in band.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if a.0.is_nan() || b.0.is_nan() || b.0 <= a.0 {
                continue;
            }
            let first = (a.0.floor().max(mask.x as f64)) as usize;
            let last = (b.0.ceil().min((mask.x + mask.width) as f64)).max(0.0) as usize;
            for x in first..last {
                let t = ((x as f64 + 0.5 - a.0) / (b.0 - a.0)).clamp(0.0, 1.0);
                let (top, bottom) = (a.1 + (b.1 - a.1) * t, a.2 + (b.2 - a.2) * t);
                let (top, bottom) = (top.min(bottom), top.max(bottom));
                let from = top.floor().max(mask.y as f64) as usize;
                let to = bottom.ceil().min((mask.y + mask.height) as f64).max(0.0) as usize;
                for y in from..to {
                    let high = ((y + 1) as f64).min(bottom) - (y as f64).max(top);
                    mask.raise(x, y, high.clamp(0.0, 1.0) as f32);
                }
            }
        }
        self.blend_mask(&mask, color, alpha);
    }

    /// Fills a simple polygon.
    pub fn fill_polygon(&mut self, corners: &[Point], color: Rgb) {
        let path: Vec<(Point, Point)> =
            (0..corners.len()).map(|i| (corners[i], corners[(i + 1) % corners.len()])).collect();
        self.fill_outline(bounds(corners.iter().copied()), color, 1.0, |raster, shift| {
            for &(a, b) in &path {
                raster.draw_line(shift(a), shift(b));
            }
        });
    }

    /// Fills closed outlines that `draw` adds to a rasterizer covering `bounds`; `boldness` > 1 thickens thin
    /// stems.
    pub fn fill_outline(
        &mut self,
        bounds: Rect,
        color: Rgb,
        boldness: f64,
        draw: impl FnOnce(&mut Rasterizer, &dyn Fn(Point) -> ab_glyph::Point),
    ) {
        let page = Rect::new(0.0, 0.0, self.width as f64, self.height as f64);
        let (x0, y0) = (bounds.x0.floor() - 1.0, bounds.y0.floor() - 1.0);
        let (w, h) = (bounds.x1.ceil() + 1.0 - x0, bounds.y1.ceil() + 1.0 - y0);
        // Outlines are glyphs and arrow heads: anything larger than the page comes from a meaningless
        // coordinate.
        if !(w <= page.width() && h <= page.height() && w > 0.0 && h > 0.0) {
            return;
        }
        let mut raster = Rasterizer::new(w as usize, h as usize);
        draw(&mut raster, &|(x, y)| point((x - x0) as f32, (y - y0) as f32));
        let clip = self.clip;
        raster.for_each_pixel_2d(|col, row, coverage| {
            let (x, y) = (x0 + f64::from(col), y0 + f64::from(row));
            if coverage > 0.002 && clip.contains((x + 0.5, y + 0.5)) {
                let c = 1.0 - (1.0 - f64::from(coverage.min(1.0))).powf(boldness);
                self.blend(x as usize, y as usize, color, c);
            }
        });
    }

    /// A filled disc with a ring around it.
    pub fn dot(&mut self, at: Point, diameter: f64, color: Rgb, ring: f64) {
        if ring > 0.0 {
            self.stroke(&[vec![at]], diameter + 2.0 * ring, WHITE, 1.0);
        }
        self.stroke(&[vec![at]], diameter, color, 1.0);
    }
}

impl Mask {
    fn raise(&mut self, x: usize, y: usize, coverage: f32) {
        if x >= self.x && y >= self.y && x < self.x + self.width && y < self.y + self.height {
            let at = &mut self.coverage[(y - self.y) * self.width + (x - self.x)];
            *at = at.max(coverage);
        }
    }

    // Raises the coverage of every pixel near the segment a-b, row by row.
    fn add_segment(&mut self, a: Point, b: Point, half: f64) {
        let reach = half + 1.0;
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length2 = dx * dx + dy * dy;
        let top = (a.1.min(b.1) - reach).max(self.y as f64) as usize;
        let bottom = (a.1.max(b.1) + reach).ceil().clamp(0.0, (self.y + self.height) as f64) as usize;
        for y in top..bottom {
            let yc = y as f64 + 0.5;
            // The stretch of the segment that is within reach of this row.
            let (mut t0, mut t1) = (0.0, 1.0);
            if dy.abs() > 1e-9 {
                let (u, v) = ((yc - reach - a.1) / dy, (yc + reach - a.1) / dy);
                (t0, t1) = (u.min(v).clamp(0.0, 1.0), u.max(v).clamp(0.0, 1.0));
            }
            let (u, v) = (a.0 + dx * t0, a.0 + dx * t1);
            let left = (u.min(v) - reach).max(self.x as f64) as usize;
            let right = (u.max(v) + reach).ceil().clamp(0.0, (self.x + self.width) as f64) as usize;
            for x in left..right {
                let (px, py) = (x as f64 + 0.5 - a.0, yc - a.1);
                let t = if length2 > 0.0 { ((px * dx + py * dy) / length2).clamp(0.0, 1.0) } else { 0.0 };
                let distance = (px - t * dx).hypot(py - t * dy);
                self.raise(x, y, (half + 0.5 - distance).clamp(0.0, 1.0) as f32);
            }
        }
    }
}

fn bounds(points: impl Iterator<Item = Point>) -> Rect {
    let none = Rect::new(f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
    points.fold(none, |r, (x, y)| Rect::new(r.x0.min(x), r.y0.min(y), r.x1.max(x), r.y1.max(y)))
}

// The part of a-b inside `window` (Liang and Barsky 1984); `None` if it misses, or is not finite.
pub(crate) fn cut(a: Point, b: Point, window: &Rect) -> Option<(Point, Point)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    if !(dx.is_finite() && dy.is_finite() && a.0.is_finite() && a.1.is_finite()) {
        return None;
    }
    let (mut t0, mut t1) = (0.0f64, 1.0f64);
    let sides =
        [(-dx, a.0 - window.x0), (dx, window.x1 - a.0), (-dy, a.1 - window.y0), (dy, window.y1 - a.1)];
    for (p, q) in sides {
        if p == 0.0 {
            if q < 0.0 {
                return None;
            }
        } else if p < 0.0 {
            t0 = t0.max(q / p);
        } else {
            t1 = t1.min(q / p);
        }
    }
    let at = |t: f64| (a.0 + t * dx, a.1 + t * dy);
    (t0 <= t1).then(|| (at(t0), at(t1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stroke_covers_its_width() {
        let mut canvas = Canvas::new(20, 20);
        canvas.stroke(&[vec![(2.0, 10.0), (18.0, 10.0)]], 4.0, [0, 0, 0], 1.0);
        let dark = (0..20).filter(|y| canvas.pixels[(y * 20 + 10) * 3] < 40).count();
        assert_eq!(dark, 4);
    }

    #[test]
    fn meaningless_coordinates_draw_nothing_and_do_not_panic() {
        let mut canvas = Canvas::new(16, 16);
        let bad = [f64::NAN, f64::INFINITY, -1e300, 1e300];
        for v in bad {
            canvas.stroke(&[vec![(v, 3.0), (v, v)]], 2.0, [0; 3], 1.0);
            canvas.fill_rect(Rect::new(v, v, v, v), [0; 3], 1.0);
            canvas.fill_polygon(&[(v, 0.0), (1.0, v), (3.0, 3.0)], [0; 3]);
            canvas.fill_band(&[(v, 0.0, v), (3.0, v, 1.0)], [0; 3], 1.0);
        }
        assert!(canvas.pixels.len() == 16 * 16 * 3);
    }

    #[test]
    fn clipping_keeps_the_inside_part() {
        let window = Rect::new(0.0, 0.0, 10.0, 10.0);
        let ((x0, _), (x1, _)) = cut((-100.0, 5.0), (100.0, 5.0), &window).unwrap();
        assert!((x0 - 0.0).abs() < 1e-9 && (x1 - 10.0).abs() < 1e-9);
        assert!(cut((-5.0, -5.0), (-1.0, 20.0), &window).is_none());
    }
}
