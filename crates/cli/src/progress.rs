//! Progress on standard error: a bar on a terminal, silence in a pipe.

use std::sync::LazyLock;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Bars that move at the same time stand below each other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// No bars from here on.
pub fn hide() {
    BARS.set_draw_target(ProgressDrawTarget::hidden());
}

/// A bar of `len` parts with a message.
pub fn bar(len: usize, message: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:32} [{bar:30}] {pos}/{len} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    BARS.add(ProgressBar::new(len as u64)).with_style(style).with_message(message.to_owned())
}
