//! [`MetricsTable`]: `metrics.csv` as it is read back.
//!
//! The first line names the columns, every further line is a report. An empty field is NaN. A last line without
//! its end was cut off with the process that wrote it and does not count.

use std::path::Path;

use pullback_core::files;

use super::RunError;

/// Columns that depend on the speed of the machine.
pub const TIME_COLUMNS: [&str; 2] = ["seconds", "steps_per_second"];

/// Rows of numbers under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One number per column.
    pub rows: Vec<Vec<f64>>,
}

impl MetricsTable {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let text = files::read_to_string(path).map_err(RunError::file(path))?;
        Self::parse(&text).map_err(|what| RunError::content(path, what))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = whole_lines(text);
        let Some(header) = lines.next() else { return Ok(MetricsTable::default()) };
        let columns: Vec<String> = header.split(',').map(str::to_owned).collect();
        let row = |(i, line): (usize, &str)| {
            let place = |what: String| format!("line {}: {what}", i + 2);
            let row = line.split(',').map(number).collect::<Result<Vec<f64>, _>>().map_err(place)?;
            if row.len() != columns.len() {
                return Err(place(format!("{} fields, but {} columns", row.len(), columns.len())));
            }
            Ok(row)
        };
        let rows = lines.enumerate().map(row).collect::<Result<_, _>>()?;
        Ok(MetricsTable { columns, rows })
    }

    /// Values of a column; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let at = self.columns.iter().position(|column| column == name)?;
        Some(self.rows.iter().map(|row| row[at]).collect())
    }

    /// The first place at which two tables differ, in words; columns of wall time are left out. `None` if all
    /// other numbers have the same bits.
    pub fn first_difference(&self, other: &Self) -> Option<String> {
        if self.columns != other.columns {
            return Some(format!("columns {} and {}", self.columns.join(","), other.columns.join(",")));
        }
        let counted = |(_, name): &(usize, &String)| !TIME_COLUMNS.contains(&name.as_str());
        for (i, (a, b)) in self.rows.iter().zip(&other.rows).enumerate() {
            for (c, name) in self.columns.iter().enumerate().filter(counted) {
                if a[c].to_bits() != b[c].to_bits() && !(a[c].is_nan() && b[c].is_nan()) {
                    return Some(format!("row {}, {name}: {} and {}", i + 1, a[c], b[c]));
                }
            }
        }
        let (a, b) = (self.rows.len(), other.rows.len());
        (a != b).then(|| format!("{a} and {b} rows"))
    }
}

/// Lines that end with a line feed.
pub(crate) fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    whole.lines()
}

fn number(field: &str) -> Result<f64, String> {
    match field.trim() {
        "" => Ok(f64::NAN),
        text => text.parse().map_err(|_| format!("`{text}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_and_gaps_are_nan() {
        let table = MetricsTable::parse("epoch,loss\n1,\n2,-3.5\n3,4").unwrap();
        assert_eq!(table.column("epoch").unwrap(), [1.0, 2.0]);
        let loss = table.column("loss").unwrap();
        assert!(loss[0].is_nan() && loss[1] == -3.5);
        assert_eq!(table.column("return"), None);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(MetricsTable::parse("a,b\n1,2\n3\n").unwrap_err(), "line 3: 1 fields, but 2 columns");
        assert_eq!(MetricsTable::parse("a\nx\n").unwrap_err(), "line 2: `x` is not a number");
    }

    #[test]
    fn wall_time_does_not_count_as_a_difference() {
        let read = |text| MetricsTable::parse(text).unwrap();
        let a = read("epoch,seconds,loss\n1,0.5,2\n2,1.0,\n");
        assert_eq!(a.first_difference(&read("epoch,seconds,loss\n1,0.7,2\n2,9,\n")), None);
        let other = a.first_difference(&read("epoch,seconds,loss\n1,0.5,2.5\n2,1,\n"));
        assert_eq!(other.unwrap(), "row 1, loss: 2 and 2.5");
        assert_eq!(a.first_difference(&read("epoch,seconds,loss\n1,0.5,2\n")).unwrap(), "2 and 1 rows");
    }
}
