//! Cells of CSV files (RFC 4180): names with commas, quotes and line breaks are quoted, and read back.

use std::borrow::Cow;

/// A text as one cell.
pub fn cell(text: &str) -> Cow<'_, str> {
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text && !text.starts_with('#');
    if plain { Cow::Borrowed(text) } else { Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))) }
}

/// Texts as cells of a line.
pub fn line<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> String {
    texts.into_iter().map(|text| cell(text.as_ref()).into_owned()).collect::<Vec<_>>().join(",")
}

/// The cells of a line, without spaces around those that are not quoted; what is wrong with it otherwise.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let after = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (text, after) = unquote(quoted)?;
                cells.push(text);
                after.trim_start()
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                cells.push(rest[..end].trim().to_owned());
                &rest[end..]
            }
        };
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(cells),
            None => return Err(format!("`{after}` follows a quoted cell; quotes inside cells are doubled")),
        }
    }
}

/// The text up to the closing quote, and what follows it.
fn unquote(quoted: &str) -> Result<(String, &str), String> {
    let (mut text, mut rest) = (String::new(), quoted);
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err("a quoted cell has no end".into());
        };
        text += before;
        match after.strip_prefix('"') {
            Some(next) => {
                text.push('"');
                rest = next;
            }
            None => return Ok((text, after)),
        }
    }
}

/// The lines of a text with their numbers, from 1. A line break inside a quoted cell ends no line; lines that begin with
/// `#` have no cells.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut rest, mut next) = (text, 1);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, after) = match line_end(rest) {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, ""),
        };
        let number = next;
        next += 1 + line.matches('\n').count();
        rest = after;
        Some((number, line.strip_suffix('\r').unwrap_or(line)))
    })
}

/// Where the first line of a text ends.
fn line_end(text: &str) -> Option<usize> {
    if text.trim_start_matches([' ', '\t']).starts_with('#') {
        return text.find('\n');
    }
    let (mut quoted, mut at_start, mut closed) = (false, true, false);
    for (i, c) in text.char_indices() {
        match c {
            // A quote opens a cell where it begins; doubled it is part of it.
            '"' if quoted => (quoted, closed) = (false, true),
            '"' if at_start || closed => (quoted, at_start, closed) = (true, false, false),
            _ if quoted => {}
            '\n' => return Some(i),
            ',' => (at_start, closed) = (true, false),
            _ => (at_start, closed) = (at_start && c.is_whitespace(), false),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let names = ["angle", "a,b", "say \"hi\"", "", " spaced ", "two\nlines", "\"", "# 1", "θ,\"\","];
        let written = line(names);
        assert_eq!(split(&written).unwrap(), names);
        let text = format!("{written}\r\n1,2\n\n{written}");
        let all: Vec<(usize, &str)> = lines(&text).collect();
        assert_eq!(all, [(1, written.as_str()), (3, "1,2"), (4, ""), (5, written.as_str())]);
        assert_eq!(cell("state.x[0]"), "state.x[0]");
        let plain: Vec<(usize, &str)> = lines("# it's \"\n5\",b\n1,2").collect();
        assert_eq!(plain, [(1, "# it's \""), (2, "5\",b"), (3, "1,2")]);
    }

    #[test]
    fn plain_lines_are_split_at_commas() {
        assert_eq!(split(" a, b ,,\"c\" ").unwrap(), ["a", "b", "", "c"]);
        assert_eq!(split("").unwrap(), [""]);
        assert_eq!(split("1,").unwrap(), ["1", ""]);
        assert!(split("\"a").unwrap_err().contains("no end"));
        assert!(split("\"a\"b,c").unwrap_err().contains("doubled"));
    }
}
