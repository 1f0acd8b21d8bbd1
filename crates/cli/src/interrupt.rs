//! Ctrl-C: the first asks work to end at its next safe point, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pullback_core::interrupt;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::output::CliError;

/// Exit code of a program that Ctrl-C ended: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Signals that come together are one: `timeout` sends its signal twice.
const SAME: Duration = Duration::from_millis(250);

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// From here on the first Ctrl-C asks work to stop.
pub fn listen() -> Result<(), CliError> {
    let pressed = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, pressed.clone()).map_err(CliError::Signals)?;
    // A handler may hardly do anything; a thread does the rest.
    std::thread::spawn(move || {
        while !pressed.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        interrupt::ask();
        eprintln!("\nstopping at the next safe point; Ctrl-C again ends at once");
        std::thread::sleep(SAME);
        // Where this fails the first press still holds.
        let _ = flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), pressed);
    });
    Ok(())
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
