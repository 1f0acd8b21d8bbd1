//! Ctrl-C: the first asks work to end at its next safe point, the second ends the program at once.

use std::process::exit;

use pullback_core::interrupt;

use crate::output::CliError;

/// Exit code of a program that Ctrl-C ended: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// From here on the first Ctrl-C asks work to stop.
pub fn listen() -> Result<(), CliError> {
    ctrlc::set_handler(|| {
        if interrupt::asked() {
            exit(INTERRUPTED.into());
        }
        interrupt::ask();
        eprintln!("\nstopping at the next safe point; Ctrl-C again ends at once");
    })
    .map_err(CliError::Signals)
}

/// The command line that was given, as a shell takes it.
pub fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(|argument| quoted(&argument));
    std::iter::once("pullback".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// An argument in single quotes where it has characters that shells take for their own.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_the_shell() {
        assert_eq!(quoted("--set=a.b=1"), "--set=a.b=1");
        assert_eq!(quoted("{\"steps\": 2}"), "'{\"steps\": 2}'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
