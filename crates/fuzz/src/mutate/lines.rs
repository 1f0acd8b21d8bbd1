//! Changes of lines: rows of tables, records of logs, statements of mesh files.

use pullback_core::random::Random;

use super::{below, stretch};

pub fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = split(input);
    let some = stretch(random, lines.len());
    let at = below(random, lines.len() + 1);
    match below(random, 6) {
        0 => {
            lines.drain(some);
        }
        1 => {
            let copied = lines[some].to_vec();
            lines.splice(at..at, copied);
        }
        2 => {
            let from = split(other);
            let copied = from[stretch(random, from.len())].to_vec();
            lines.splice(at..at, copied);
        }
        3 => lines[some].reverse(),
        // Ends of lines of other systems, and none.
        4 => {
            let end: &[u8] = [&b"\r\n"[..], b"\r", b"", b"\n\n"][below(random, 4)];
            if let Some(line) = lines.get_mut(at) {
                while line.last().is_some_and(|b| b"\r\n".contains(b)) {
                    line.pop();
                }
                line.extend(end);
            }
        }
        // A cell of one line goes to another.
        _ => {
            let Some(cell) =
                lines.get(some.start).and_then(|line| line.split(|b| b" ,\t".contains(b)).next_back())
            else {
                return;
            };
            let cell = cell.to_vec();
            if let Some(line) = lines.get_mut(at) {
                let place = line.iter().position(|b| b" ,\t".contains(b)).unwrap_or(line.len());
                line.splice(..place, cell);
            }
        }
    }
    *input = lines.concat();
}

/// Lines with their ends.
fn split(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}
