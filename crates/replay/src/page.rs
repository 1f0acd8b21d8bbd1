//! Stitches style, script, shaders and data into one page.

use crate::encode;
use crate::error::ReplayError;
use crate::model::Replay;
use crate::validate::validate;
use crate::web::{STYLE, page_script};
use pullback_core::files::write_atomically;
use std::path::Path;

const TEMPLATE: &str = include_str!("web/page.html");

/// The player, on top of the parts that draw.
const PLAYER: [&str; 4] = [
    include_str!("web/playback.js"),
    include_str!("web/plots.js"),
    include_str!("web/controls.js"),
    include_str!("web/main.js"),
];

impl Replay {
    /// The page, complete in itself.
    pub fn to_html(&self) -> Result<String, ReplayError> {
        validate(self)?;
        let title = escape_html(&self.title);
        let data = escape_json(&serde_json::to_string(&encode::scene(self))?);
        let script = page_script(&PLAYER);
        Ok(fill(TEMPLATE, |key| match key {
            "title" => &title,
            "style" => STYLE,
            "data" => &data,
            "script" => &script,
            _ => "",
        }))
    }

    /// What the page reads: shapes as JSON, everything per frame as base64.
    pub fn to_json(&self) -> Result<serde_json::Value, ReplayError> {
        validate(self)?;
        Ok(encode::scene(self))
    }

    /// Writes the page; the file appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ReplayError> {
        write_atomically(path, self.to_html()?.as_bytes())?;
        Ok(())
    }
}

/// Replaces each `{{key}}` of the template in one pass, so that inserted text is never searched again.
fn fill<'a>(template: &'a str, value: impl Fn(&str) -> &'a str) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((key, remaining)) = after.split_once("}}") else { break };
        page.push_str(before);
        page.push_str(value(key));
        rest = remaining;
    }
    page.push_str(rest);
    page
}

/// Text for the body or an attribute of an element.
fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON for the inside of a script element. `<` stands only in strings, where its escape means the same, so
/// neither `</script>` nor `<!--` can end or change the element.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, ReplayGeom, ReplayShape};

    fn hostile() -> Replay {
        let mut replay = Replay::new("</title><script>alert('{{data}}')</script> & \"more\"", 10.0);
        replay.bodies = vec!["</script><!--<script>".into()];
        replay.geoms = vec![ReplayGeom::new("{{script}}", 0, ReplayShape::Sphere { radius: 1.0 })];
        let poses = vec![([0.0; 3], [1.0, 0.0, 0.0, 0.0])];
        replay.frames = vec![Frame { time: 0.0, poses, contacts: Vec::new() }];
        replay
    }

    #[test]
    fn names_and_titles_cannot_break_out() {
        let page = hostile().to_html().unwrap();
        // Only the page's own two script elements open and close.
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert!(page.contains("&lt;/title&gt;&lt;script&gt;alert(&#39;{{data}}&#39;)"));
    }

    #[test]
    fn escaped_json_means_the_same() {
        let page = hostile().to_html().unwrap();
        let start = page.find("application/json\">").unwrap() + "application/json\">".len();
        let end = start + page[start..].find("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
        assert_eq!(data["bodies"][0], "</script><!--<script>");
        assert_eq!(data["geoms"][0]["name"], "{{script}}");
    }

    #[test]
    fn the_page_refers_to_nothing_outside() {
        let page = hostile().to_html().unwrap();
        for reference in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(reference), "{reference}");
        }
    }

    #[test]
    fn every_part_of_the_template_is_filled() {
        let filled = fill("a{{x}}b{{y}}c", |key| if key == "x" { "{{y}}" } else { "2" });
        assert_eq!(filled, "a{{y}}b2c");
    }
}
