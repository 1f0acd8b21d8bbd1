//! Style and scripts of pages that draw scenes, for pages besides that of a [`Replay`](crate::Replay).

/// Colors, cards, buttons and the bar of pages, light and dark.
pub const STYLE: &str = include_str!("web/style.css");

/// The parts that draw, in the order in which they build on each other.
const DRAWING: [&str; 14] = [
    include_str!("web/dom.js"),
    include_str!("web/math.js"),
    include_str!("web/decode.js"),
    include_str!("web/shapes.js"),
    include_str!("web/mesh.js"),
    include_str!("web/soft.js"),
    include_str!("web/shaders.js"),
    include_str!("web/gpu.js"),
    include_str!("web/theme.js"),
    include_str!("web/camera.js"),
    include_str!("web/overlay.js"),
    include_str!("web/renderer.js"),
    include_str!("web/framing.js"),
    include_str!("web/pointers.js"),
];

/// The parts that draw, then those of a page, as one script whose names stay its own.
pub fn page_script(parts: &[&str]) -> String {
    let parts: Vec<&str> = DRAWING.iter().chain(parts).copied().collect();
    format!("(() => {{\n\"use strict\";\n{}}})();", parts.join("\n"))
}
