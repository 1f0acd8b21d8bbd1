//! [`Table`]: a recording as named columns of numbers, some of which may be missing.

use std::path::Path;

use pullback_core::{ConfigError, csv};

/// Named columns over time; the time itself is apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Where it is from, for messages.
    pub name: String,
    /// Names of the columns, without `time`.
    pub header: Vec<String>,
    /// Time of each row, s, increasing.
    pub times: Vec<f64>,
    /// Cells of each row; empty ones are none.
    pub rows: Vec<Vec<Option<f64>>>,
}

impl Table {
    /// Reads a CSV file with a header, one column of which is `time`. Empty lines and lines that begin with `#` are
    /// skipped.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = pullback_core::files::read_to_string(path).map_err(|e| {
            ConfigError::new(format!("{name}: {e}; give the path of a CSV file with a header"))
        })?;
        Table::parse(&name, &text)
    }

    /// Parses the text of such a file.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let wrong = |line: usize, what: String| ConfigError::new(format!("{name}:{line}: {what}"));
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = csv::lines(text).map(|(number, line)| (number, line.trim()));
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((first, header)) = lines.next() else {
            return Err(wrong(
                1,
                "the file is empty; the first line names the columns, one of them `time`".into(),
            ));
        };
        let mut header = csv::split(header).map_err(|what| wrong(first, what))?;
        for (i, column) in header.iter().enumerate() {
            if header[..i].contains(column) {
                return Err(wrong(first, format!("two columns are called `{column}`")));
            }
        }
        let Some(time) = header.iter().position(|column| column == "time") else {
            return Err(wrong(first, format!("no column is called `time`; there is {}", header.join(", "))));
        };
        let columns = header.len();
        header.remove(time);
        let (mut times, mut rows) = (Vec::<f64>::new(), Vec::new());
        for (number, line) in lines {
            let cells = csv::split(line).map_err(|what| wrong(number, what))?;
            if cells.len() != columns {
                let found = cells.len();
                return Err(wrong(number, format!("{found} cells for {columns} columns")));
            }
            let parse = |cell: &str, column: &str| match cell {
                "" => Ok(None),
                cell if cell.eq_ignore_ascii_case("nan") => Ok(None),
                cell => match cell.parse::<f64>() {
                    Ok(x) if x.is_finite() => Ok(Some(x)),
                    _ => Err(wrong(number, format!("`{cell}` in column `{column}` is not a finite number"))),
                },
            };
            let Some(now) = parse(&cells[time], "time")? else {
                return Err(wrong(number, "the time is missing".into()));
            };
            if let Some(before) = times.last().filter(|before| **before >= now) {
                return Err(wrong(number, format!("time {now} does not come after {before}")));
            }
            let others = cells.iter().enumerate().filter(|(i, _)| *i != time).zip(&header);
            let row = others.map(|((_, cell), column)| parse(cell, column)).collect::<Result<_, _>>()?;
            times.push(now);
            rows.push(row);
        }
        if times.len() < 2 {
            return Err(wrong(first, "a recording needs at least two rows".into()));
        }
        Ok(Table { name: name.to_owned(), header, times, rows })
    }
}
