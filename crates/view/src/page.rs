//! The page: its own parts on top of those that draw replays.

use pullback_replay::web;

/// The document.
pub const DOCUMENT: &str = include_str!("web/view.html");

const STYLE: &str = include_str!("web/view.css");

/// The viewer, in the order in which its parts build on each other.
const PARTS: [&str; 6] = [
    include_str!("web/stream.js"),
    include_str!("web/pick.js"),
    include_str!("web/panels.js"),
    include_str!("web/gradient.js"),
    include_str!("web/controls.js"),
    include_str!("web/main.js"),
];

/// Style of the page.
pub fn style() -> String {
    format!("{}\n{STYLE}", web::STYLE)
}

/// The script of the page.
pub fn script() -> String {
    web::page_script(&PARTS)
}
