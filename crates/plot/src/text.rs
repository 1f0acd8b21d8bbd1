//! Text from two embedded fonts, at any angle, with superscripts, subscripts and line breaking.
//!
//! Ubuntu Light sets everything; Hack lends the signs it lacks. Glyph outlines are placed at fractional
//! positions and rasterized with exact coverage; stems are thickened a little, since a light face fades at
//! half size. Sizes are pixels per em.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, GlyphId, OutlineCurve};

use crate::PlotError;
use crate::canvas::{Canvas, Point, Rect};
use crate::color::{INK, Rgb, WHITE};

/// Size, weight and color of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextStyle {
    pub size: f64,
    pub bold: bool,
    pub color: Rgb,
}

impl TextStyle {
    pub fn new(size: f64) -> Self {
        TextStyle { size, bold: false, color: INK }
    }

    pub fn bold(self) -> Self {
        TextStyle { bold: true, ..self }
    }

    pub fn color(self, color: Rgb) -> Self {
        TextStyle { color, ..self }
    }
}

/// Which point of a text's box is put at the given position, in [0, 1] from the left and from the top.
pub(crate) type Anchor = (f64, f64);

/// Distance between baselines, ems.
pub(crate) const LINE_HEIGHT: f64 = 1.22;

/// Extra distance between the letters of bold text, ems.
const BOLD_TRACKING: f64 = 0.022;

/// Bold text is wider than the measure of [`width`] by about this factor.
pub(crate) const BOLD_WIDTH: f64 = 1.06;

struct Fonts([FontRef<'static>; 2]);

static FONTS: OnceLock<Result<Fonts, String>> = OnceLock::new();

fn load() -> &'static Result<Fonts, String> {
    FONTS.get_or_init(|| {
        let read = |bytes| FontRef::try_from_slice(bytes).map_err(|e| e.to_string());
        Ok(Fonts([read(epaint_default_fonts::UBUNTU_LIGHT)?, read(epaint_default_fonts::HACK_REGULAR)?]))
    })
}

/// Reads the embedded fonts, so that later calls cannot fail.
pub(crate) fn check_fonts() -> Result<(), PlotError> {
    load().as_ref().map(|_| ()).map_err(|e| PlotError::Font(e.clone()))
}

// A glyph with its place on the baseline, pixels, before rotation.
struct Placed {
    font: usize,
    id: GlyphId,
    x: f64,
    y: f64,
    em: f64,
}

// Lays out one line: runs of normal, raised and lowered text.
fn layout(fonts: &Fonts, text: &str, size: f64, tracking: f64) -> (Vec<Placed>, f64) {
    let mut glyphs = Vec::new();
    let mut x = 0.0;
    for (run, level) in runs(text) {
        let (em, y) = match level {
            Level::Base => (size, 0.0),
            Level::Raised => (0.72 * size, -0.36 * size),
            Level::Lowered => (0.72 * size, 0.16 * size),
        };
        let mut previous: Option<(usize, GlyphId)> = None;
        for character in run.chars().filter(|c| !c.is_control()) {
            // In an exponent a hyphen is a minus sign.
            let character = if level == Level::Base || character != '-' { character } else { '−' };
            let found = fonts.0.iter().position(|f| f.glyph_id(character).0 != 0);
            let (font, character) = found.map_or((0, '?'), |f| (f, character));
            let face = &fonts.0[font];
            let id = face.glyph_id(character);
            let scale = em / f64::from(face.units_per_em().unwrap_or(1000.0));
            if let Some((f, before)) = previous
                && f == font
            {
                x += scale * f64::from(face.kern_unscaled(before, id));
            }
            glyphs.push(Placed { font, id, x, y, em });
            x += scale * f64::from(face.h_advance_unscaled(id)) + tracking * em;
            previous = Some((font, id));
        }
    }
    (glyphs, x)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    Base,
    Raised,
    Lowered,
}

// Splits "m s^{-2}" into runs; braces without ^ or _ are ordinary characters.
fn runs(text: &str) -> Vec<(&str, Level)> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        let next = [("^{", Level::Raised), ("_{", Level::Lowered)]
            .into_iter()
            .filter_map(|(open, level)| {
                let start = rest.find(open)?;
                let end = start + 2 + rest[start + 2..].find('}')?;
                Some((start, end, level))
            })
            .min_by_key(|found| found.0);
        let Some((start, end, level)) = next else { break };
        out.push((&rest[..start], Level::Base));
        out.push((&rest[start + 2..end], level));
        rest = &rest[end + 1..];
    }
    out.push((rest, Level::Base));
    out.retain(|(run, _)| !run.is_empty());
    out
}

/// Width of one line, pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    load().as_ref().map_or(0.0, |fonts| layout(fonts, text, size, 0.0).1)
}

/// Breaks `text` at spaces (else after `_`, `-`, `/`) into at most `max_lines` lines of at most `limit`
/// pixels, of about equal length; what still does not fit ends in an ellipsis.
pub(crate) fn wrap(text: &str, size: f64, limit: f64, max_lines: usize) -> Vec<String> {
    let full = fill(text, size, limit, max_lines);
    // The narrowest setting that needs no more lines leaves no lonely last word.
    let tighter = (10..20).map(|k| fill(text, size, limit * f64::from(k) / 20.0, max_lines));
    let whole = |lines: &Vec<String>| lines.len() == full.len() && !lines.iter().any(|l| l.ends_with('…'));
    if full.len() < 2 {
        return full;
    }
    tighter.into_iter().find(whole).unwrap_or(full)
}

fn fill(text: &str, size: f64, limit: f64, max_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words(text) {
        let current = lines.last().map_or("", String::as_str);
        let joined = format!("{current}{word}");
        if current.is_empty() || width(joined.trim_end(), size) <= limit || lines.len() >= max_lines.max(1) {
            lines.pop();
            lines.push(joined);
        } else {
            lines.push(word.to_string());
        }
    }
    lines.into_iter().map(|line| shorten(line.trim_end(), size, limit)).filter(|l| !l.is_empty()).collect()
}

// Pieces that may stand on different lines; a raised or lowered run is never broken.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut inside) = (0, false);
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '{' if previous == '^' || previous == '_' => inside = true,
            '}' => inside = false,
            _ => {}
        }
        let next = at + c.len_utf8();
        let opens = text[next..].starts_with('{');
        if !inside && !opens && (c.is_whitespace() || "_-/".contains(c)) {
            out.push(&text[start..next]);
            start = next;
        }
        previous = c;
    }
    out.push(&text[start..]);
    out
}

/// `text` if it fits `limit` pixels, else its beginning and an ellipsis.
pub(crate) fn shorten(text: &str, size: f64, limit: f64) -> String {
    let mut kept = text.to_string();
    if width(&kept, size) <= limit {
        return kept;
    }
    while kept.pop().is_some() && width(&format!("{kept}…"), size) > limit {}
    // A cut inside ^{…} would show its opening.
    if let Some(open) = kept.rfind("^{").or(kept.rfind("_{"))
        && !kept[open..].contains('}')
    {
        kept.truncate(open);
    }
    format!("{}…", kept.trim_end())
}

/// Draws lines of text as a block whose `anchor` is at `at`, turned by `degrees` counter-clockwise.
pub(crate) fn draw(
    canvas: &mut Canvas,
    lines: &[String],
    at: Point,
    anchor: Anchor,
    degrees: f64,
    style: TextStyle,
) {
    let Ok(fonts) = load() else { return };
    let block = (lines.len().saturating_sub(1)) as f64 * LINE_HEIGHT * style.size;
    // The first baseline lies below the anchor by the ascent at the top and by half a capital in the middle.
    let first = style.size * (0.74 - 0.78 * anchor.1) - block * anchor.1;
    let (sin, cos) = degrees.to_radians().sin_cos();
    for (row, line) in lines.iter().enumerate() {
        let (glyphs, wide) = layout(fonts, line, style.size, if style.bold { BOLD_TRACKING } else { 0.0 });
        let mut baseline = first + row as f64 * LINE_HEIGHT * style.size;
        if degrees == 0.0 {
            baseline = (at.1 + baseline).round() - at.1;
        }
        for glyph in glyphs {
            let origin = (glyph.x - anchor.0 * wide, baseline + glyph.y);
            let place = |(x, y): Point| (at.0 + x * cos + y * sin, at.1 - x * sin + y * cos);
            draw_glyph(canvas, fonts, &glyph, style, |x, y| place((origin.0 + x, origin.1 + y)));
        }
    }
}

/// Draws one line with a white halo, for text over a picture.
pub(crate) fn draw_with_halo(canvas: &mut Canvas, text: &str, at: Point, anchor: Anchor, style: TextStyle) {
    let reach = 0.11 * style.size;
    let line = [text.to_string()];
    for k in 0..12 {
        let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 12.0).sin_cos();
        let shifted = (at.0 + reach * cos, at.1 + reach * sin);
        draw(canvas, &line, shifted, anchor, 0.0, style.color(WHITE));
    }
    draw(canvas, &line, at, anchor, 0.0, style);
}

fn draw_glyph(
    canvas: &mut Canvas,
    fonts: &Fonts,
    glyph: &Placed,
    style: TextStyle,
    place: impl Fn(f64, f64) -> Point,
) {
    let face = &fonts.0[glyph.font];
    let Some(outline) = face.outline(glyph.id) else { return };
    let scale = glyph.em / f64::from(face.units_per_em().unwrap_or(1000.0));
    // A bold face is two copies of the light one, a stem's width apart.
    let copies: &[f64] = if style.bold { &[0.0, 0.022, 0.044] } else { &[0.0] };
    for shift in copies {
        let to_page =
            |p: ab_glyph::Point| place(scale * f64::from(p.x) + shift * glyph.em, -scale * f64::from(p.y));
        let corners = outline.curves.iter().flat_map(|curve| match *curve {
            OutlineCurve::Line(a, b) => vec![a, b],
            OutlineCurve::Quad(a, b, c) => vec![a, b, c],
            OutlineCurve::Cubic(a, b, c, d) => vec![a, b, c, d],
        });
        let mut bounds = Rect::new(f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (x, y) in corners.map(to_page) {
            bounds = Rect::new(bounds.x0.min(x), bounds.y0.min(y), bounds.x1.max(x), bounds.y1.max(y));
        }
        canvas.fill_outline(bounds, style.color, 1.7, |raster, local| {
            let at = |p| local(to_page(p));
            for curve in &outline.curves {
                match *curve {
                    OutlineCurve::Line(a, b) => raster.draw_line(at(a), at(b)),
                    OutlineCurve::Quad(a, b, c) => raster.draw_quad(at(a), at(b), at(c)),
                    OutlineCurve::Cubic(a, b, c, d) => raster.draw_cubic(at(a), at(b), at(c), at(d)),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_splits_into_runs() {
        use Level::{Base, Lowered, Raised};
        assert_eq!(runs("m s^{-2}"), [("m s", Base), ("-2", Raised)]);
        assert_eq!(runs("x_{0} {y}"), [("x", Base), ("0", Lowered), (" {y}", Base)]);
        assert_eq!(runs("a_b^{open"), [("a_b^{open", Base)]);
        assert!(runs("").is_empty());
    }

    #[test]
    fn the_signs_of_mechanics_are_in_the_fonts() {
        let Ok(fonts) = load() else { panic!("fonts do not load") };
        for sign in "αβλμτθωΔ∂∇∞≤≥±×·−°²³√→…‖".chars() {
            assert!(fonts.0.iter().any(|f| f.glyph_id(sign).0 != 0), "{sign} is missing");
        }
    }

    #[test]
    fn wrapping_respects_the_limit() {
        let limit = width("a fairly long", 20.0);
        let lines = wrap("a fairly long label that must break", 20.0, limit, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|l| width(l, 20.0) <= limit), "{lines:?}");
        assert!(lines[1].ends_with('…'));
    }

    #[test]
    fn an_exponent_stays_in_one_piece() {
        assert_eq!(words("slope m s^{-2} of a-b"), ["slope ", "m ", "s^{-2} ", "of ", "a-", "b"]);
        assert_eq!(words("v_{x y} z"), ["v_{x y} ", "z"]);
    }

    #[test]
    fn shortening_never_leaves_half_a_superscript() {
        for limit in 0..200 {
            let text = shorten("gradient m s^{-2} long", 20.0, f64::from(limit));
            assert!(!text.contains("^{") || text.contains('}'), "{text}");
        }
    }
}
