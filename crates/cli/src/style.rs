//! Colors of text: on a terminal, unless `NO_COLOR` is set or the terminal has none.

use std::io::{IsTerminal, stderr, stdout};

/// Colors that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Errors and goals that are missed.
    Red,
    /// Goals that are met.
    Green,
}

/// Text for standard output.
pub fn out(color: Color, text: &str) -> String {
    paint(stdout().is_terminal() && wanted(), color, text)
}

/// Text for standard error.
pub fn err(color: Color, text: &str) -> String {
    paint(stderr().is_terminal() && wanted(), color, text)
}

/// Whether the environment allows colors (no-color.org).
fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn paint(colored: bool, color: Color, text: &str) -> String {
    let code = match color {
        Color::Red => 31,
        Color::Green => 32,
    };
    if colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_left_out_where_it_is_not_wanted() {
        assert_eq!(paint(false, Color::Red, "error"), "error");
        assert_eq!(paint(true, Color::Green, "met"), "\x1b[32mmet\x1b[0m");
    }
}
