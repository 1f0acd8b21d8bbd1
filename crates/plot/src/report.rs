//! A report: one HTML file with text, figures, tables and key figures, and no outside resources.
//!
//! A pointer over a figure that was drawn here shows the nearest value; long tables are folded.
//! Pictures are embedded as data URIs, the style sheet is inline, fonts are the reader's own. The page
//! follows the reader's light or dark setting, narrows to a phone and prints in black on white. All text is
//! escaped.

use std::fmt::Write as _;
use std::path::Path;

use crate::files::{base64, write_atomically};
use crate::{Figure, PlotError};

/// A whole page.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Heading of the page.
    pub title: String,
    /// A sentence under the heading.
    pub subtitle: String,
    /// The parts, in order.
    pub sections: Vec<Section>,
    /// A line at the end, such as the command that made the page.
    pub footer: String,
}

/// A part of a page with its own heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Heading; empty for none.
    pub heading: String,
    /// Content, in order.
    pub blocks: Vec<Block>,
}

/// One piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Running text.
    Paragraph(String),
    /// A picture with its caption and a description for those who cannot see it.
    Figure {
        /// The encoded picture, PNG or GIF.
        image: Vec<u8>,
        /// Text under the picture.
        caption: String,
        /// What the picture shows.
        alt: String,
        /// Values under the pointer, as the script of the page takes them; empty for none.
        hover: String,
    },
    /// Rows and columns.
    Table(Table),
    /// Key figures side by side.
    Stats(Vec<Stat>),
    /// Text in a fixed-width face, kept as it is.
    Code(String),
    /// Other pages, each a text and a file beside this one.
    Links(Vec<(String, String)>),
}

/// Rows and columns; a column whose cells are all numbers is aligned right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Text over the table; empty for none.
    pub caption: String,
    /// Column names.
    pub header: Vec<String>,
    /// Cells; short rows are filled with empty cells.
    pub rows: Vec<Vec<String>>,
}

/// Whether a key figure is good news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neither.
    #[default]
    Neutral,
    /// A goal that is met.
    Good,
    /// A goal that is missed.
    Bad,
}

/// One key figure.
#[derive(Clone, Debug, Default)]
pub struct Stat {
    /// What was measured.
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// Context, such as the limit or the peer's number; empty for none.
    pub note: String,
    /// Whether it is good news.
    pub tone: Tone,
}

impl Stat {
    /// A neutral key figure.
    pub fn new(label: impl Into<String>, value: impl Into<String>, note: impl Into<String>) -> Self {
        Stat { label: label.into(), value: value.into(), note: note.into(), tone: Tone::Neutral }
    }
}

impl Section {
    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Section { heading: heading.into(), blocks: Vec::new() }
    }

    /// Adds running text.
    pub fn paragraph(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Paragraph(text.into()));
        self
    }

    /// Draws `figure` and adds it.
    pub fn figure(
        self,
        figure: &Figure,
        caption: impl Into<String>,
        alt: impl Into<String>,
    ) -> Result<Self, PlotError> {
        let (image, hover) = (figure.to_png_bytes()?, figure.hover()?);
        Ok(self.push(Block::Figure { image, caption: caption.into(), alt: alt.into(), hover }))
    }

    /// Adds an encoded picture, PNG or GIF.
    pub fn image(mut self, image: Vec<u8>, caption: impl Into<String>, alt: impl Into<String>) -> Self {
        let hover = String::new();
        self.blocks.push(Block::Figure { image, caption: caption.into(), alt: alt.into(), hover });
        self
    }

    fn push(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Adds a table.
    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// Adds key figures.
    pub fn stats(mut self, stats: Vec<Stat>) -> Self {
        self.blocks.push(Block::Stats(stats));
        self
    }

    /// Adds other pages, each a text and a file beside this one.
    pub fn links(mut self, links: Vec<(String, String)>) -> Self {
        self.blocks.push(Block::Links(links));
        self
    }

    /// Adds text in a fixed-width face.
    pub fn code(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Code(text.into()));
        self
    }
}

impl Report {
    /// An empty page.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Report { title: title.into(), subtitle: subtitle.into(), ..Default::default() }
    }

    /// Writes the page, to a temporary name in the same folder first.
    pub fn save(&self, path: &Path) -> Result<(), PlotError> {
        write_atomically(path, self.to_html().as_bytes())
    }

    /// The page as text.
    pub fn to_html(&self) -> String {
        let mut out = String::new();
        let title = escape(&self.title);
        out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
            STYLE_SHEET
        );
        let _ = writeln!(out, "<header>\n<h1>{title}</h1>");
        if !self.subtitle.is_empty() {
            let _ = writeln!(out, "<p class=\"subtitle\">{}</p>", escape(&self.subtitle));
        }
        out.push_str("</header>\n");
        let mut figures = 0;
        for section in &self.sections {
            out.push_str("<section>\n");
            if !section.heading.is_empty() {
                let _ = writeln!(out, "<h2>{}</h2>", escape(&section.heading));
            }
            for block in &section.blocks {
                write_block(&mut out, block, &mut figures);
            }
            out.push_str("</section>\n");
        }
        if !self.footer.is_empty() {
            let _ = writeln!(out, "<footer>{}</footer>", escape(&self.footer));
        }
        out.push_str("</main>\n");
        let blocks = || self.sections.iter().flat_map(|section| &section.blocks);
        if blocks().any(|block| matches!(block, Block::Figure { hover, .. } if !hover.is_empty())) {
            let _ = write!(out, "<script>\n(() => {{\n\"use strict\";\n{SCRIPT}}})();\n</script>\n");
        }
        out.push_str("</body>\n</html>\n");
        out
    }
}

fn write_block(out: &mut String, block: &Block, figures: &mut usize) {
    let _ = match block {
        Block::Paragraph(text) => writeln!(out, "<p>{}</p>", escape(text)),
        Block::Code(text) => writeln!(out, "<pre><code>{}</code></pre>", escape(text)),
        Block::Links(links) => {
            out.push_str("<ul>\n");
            for (text, file) in links {
                let _ = writeln!(out, "<li><a href=\"{}\">{}</a></li>", escape(file), escape(text));
            }
            writeln!(out, "</ul>")
        }
        Block::Figure { image, caption, alt, hover } => {
            *figures += 1;
            let kind = if image.starts_with(b"GIF8") { "gif" } else { "png" };
            let (data, alt, caption) = (base64(image), escape(alt), escape(caption));
            let hover = match hover.as_str() {
                "" => String::new(),
                json => format!(" data-hover=\"{}\"", escape(json)),
            };
            let _ =
                writeln!(out, "<figure>\n<img alt=\"{alt}\"{hover} src=\"data:image/{kind};base64,{data}\">");
            writeln!(out, "<figcaption><b>Figure {figures}.</b> {caption}</figcaption>\n</figure>")
        }
        Block::Table(table) => {
            write_table(out, table);
            Ok(())
        }
        Block::Stats(stats) => {
            out.push_str("<div class=\"stats\">\n");
            for stat in stats {
                let tone = match stat.tone {
                    Tone::Neutral => "",
                    Tone::Good => " good",
                    Tone::Bad => " bad",
                };
                let (label, value) = (escape(&stat.label), escape(&stat.value));
                let _ = write!(out, "<div class=\"stat{tone}\"><span class=\"label\">{label}</span>");
                let _ = write!(out, "<span class=\"value\">{value}</span>");
                if !stat.note.is_empty() {
                    let _ = write!(out, "<span class=\"note\">{}</span>", escape(&stat.note));
                }
                out.push_str("</div>\n");
            }
            writeln!(out, "</div>")
        }
    };
}

fn write_table(out: &mut String, table: &Table) {
    let columns = table.rows.iter().map(Vec::len).chain([table.header.len()]).max().unwrap_or(0);
    let cell = |row: &Vec<String>, c: usize| row.get(c).cloned().unwrap_or_default();
    // A column of dashes alone stands for numbers that are not there yet.
    let numeric = |c: usize| {
        let mut cells = table.rows.iter().map(|r| cell(r, c)).filter(|t| !t.trim().is_empty()).peekable();
        cells.peek().is_some() && cells.all(|t| is_blank(&t) || is_number(&t))
    };
    let class: Vec<&str> = (0..columns).map(|c| if numeric(c) { " class=\"number\"" } else { "" }).collect();
    let folded = table.rows.len() > MOST_ROWS;
    if folded {
        let caption = if table.caption.is_empty() { "Table" } else { &table.caption };
        let _ = writeln!(out, "<details><summary>{} ({} rows)</summary>", escape(caption), table.rows.len());
    }
    out.push_str("<div class=\"table\"><table>\n");
    if !table.caption.is_empty() && !folded {
        let _ = writeln!(out, "<caption>{}</caption>", escape(&table.caption));
    }
    out.push_str("<thead><tr>");
    for (c, class) in class.iter().enumerate() {
        let _ = write!(out, "<th{class}>{}</th>", escape(&cell(&table.header, c)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (c, class) in class.iter().enumerate() {
            let _ = write!(out, "<td{class}>{}</td>", escape(&cell(row, c)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    if folded {
        out.push_str("</details>\n");
    }
}

fn is_blank(text: &str) -> bool {
    matches!(text.trim(), "" | "-" | "–" | "—" | "n/a" | "NaN")
}

// "3.2e-5", "−1.5 ± 0.2", "12 %", "3.1×" and "450 ms" count as numbers; "3 of 4 runs" does not.
fn is_number(text: &str) -> bool {
    let text = text.trim().replace('−', "-");
    let mut parts = text.split_whitespace();
    let strip = |t: &str| {
        t.trim_start_matches(['<', '>', '≤', '≥', '~', '±'])
            .trim_end_matches(['%', '×', 'x'])
            .replace([',', '_'], "")
    };
    let parses = |t: &str| strip(t).parse::<f64>().is_ok();
    let first = parts.next().is_some_and(parses);
    // After the number: "± number", or one short unit.
    let rest: Vec<&str> = parts.collect();
    let unit = |t: &str| t.chars().count() <= 5 && !t.starts_with(|c: char| c.is_ascii_digit());
    let tail = match rest[..] {
        [] => true,
        [u] => unit(u) || parses(u),
        ["±", n] => parses(n),
        ["±", n, u] => parses(n) && unit(u),
        _ => false,
    };
    first && tail
}

/// Escapes the five characters that HTML gives a meaning, and drops control characters it forbids.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

const STYLE_SHEET: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Tables of more rows are folded.
const MOST_ROWS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_everywhere() {
        let bad = "<script>alert(\"x\") & 'y'</script>";
        let table = Table { caption: bad.into(), header: vec![bad.into()], rows: vec![vec![bad.into()]] };
        let figure = Block::Figure {
            image: vec![1, 2, 3],
            caption: bad.into(),
            alt: bad.into(),
            hover: String::new(),
        };
        let mut section =
            Section::new(bad).paragraph(bad).code(bad).links(vec![(bad.into(), bad.into())]).table(table);
        section = section.stats(vec![Stat::new(bad, bad, bad)]);
        section.blocks.push(figure);
        let report = Report { sections: vec![section], footer: bad.into(), ..Report::new(bad, bad) };
        let html = report.to_html();
        assert!(!html.contains("<script"));
        // The title stands twice, in the head and on the page.
        assert_eq!(html.matches("&lt;script&gt;alert(&quot;x&quot;) &amp; &#39;y&#39;").count(), 17);
    }

    #[test]
    fn the_page_loads_nothing() {
        let html = Report::new("t", "s").to_html();
        for word in ["http:", "https:", "src=\"/", "@import", "url("] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn number_columns_are_recognized() {
        for yes in
            ["3", "-1.5", "3.2e-5", "−2 ± 0.1", "12 %", "3.1×", "450 ms", "1,024", "0.4 ± 0.1 s", "< 1e-6"]
        {
            let joined = yes.replace("< ", "<");
            assert!(is_number(&joined), "{yes}");
        }
        for no in ["pendulum", "", "3 of 4 runs", "12 pendulums"] {
            assert!(!is_number(no), "{no}");
        }
    }

    #[test]
    fn short_rows_are_filled() {
        let rows = vec![vec!["a".into()], vec!["b".into(), "2".into()]];
        let mut out = String::new();
        write_table(&mut out, &Table { header: vec!["name".into(), "n".into()], rows, ..Default::default() });
        assert_eq!(out.matches("<td").count(), 4);
        assert_eq!(out.matches("class=\"number\"").count(), 3);
    }
}
