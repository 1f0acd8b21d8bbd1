//! [`CornerTrack`]: where the four corners of a sheet were over time, from a file.
//!
//! A CSV file: time (s), then x, y, z (m) of each corner; 13 columns. z is up and the table is z = 0. Corners
//! 1 and 2 are gripped, 3 and 4 are free, 3 beside 1. Lines that are empty or start with `#` are skipped, and
//! so is one line of column names at the top.

use std::path::Path;

use pullback_core::ConfigError;
use pullback_math::Vec3;

/// Numbers per line.
const COLUMNS: usize = 13;

/// Corners over time.
#[derive(Clone, Debug, PartialEq)]
pub struct CornerTrack {
    /// Times, s, increasing.
    pub times: Vec<f64>,
    /// The four corners at each time, m.
    pub corners: Vec<[Vec3<f64>; 4]>,
}

impl CornerTrack {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = pullback_core::files::read_to_string(path)
            .map_err(|e| ConfigError::new(format!("{}: {e}; give the path of a CSV file", path.display())))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Parses the text of the file called `name`.
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        let mut track = CornerTrack { times: Vec::new(), corners: Vec::new() };
        let mut header_allowed = true;
        for (number, line) in text.lines().enumerate() {
            let refuse = |why: String| Err(ConfigError::new(format!("{name}, line {}: {why}", number + 1)));
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if std::mem::take(&mut header_allowed) && cells[0].parse::<f64>().is_err() {
                continue;
            }
            if cells.len() != COLUMNS {
                return refuse(format!(
                    "{} columns where {COLUMNS} are needed: time, then x, y, z of four corners",
                    cells.len()
                ));
            }
            let mut values = [0.0; COLUMNS];
            for (column, (value, cell)) in values.iter_mut().zip(&cells).enumerate() {
                match cell.parse::<f64>() {
                    Ok(x) if x.is_finite() => *value = x,
                    _ => {
                        return refuse(format!("column {} is `{cell}`, not a finite number", column + 1));
                    }
                }
            }
            if track.times.last().is_some_and(|last| *last >= values[0]) {
                return refuse(format!(
                    "time {} does not come after the line before; sort the rows",
                    values[0]
                ));
            }
            track.times.push(values[0]);
            let corner = |k: usize| Vec3::new(values[1 + 3 * k], values[2 + 3 * k], values[3 + 3 * k]);
            track.corners.push([0, 1, 2, 3].map(corner));
        }
        if track.times.len() < 2 {
            return Err(ConfigError::new(format!(
                "{name}: {} rows of numbers; at least 2 are needed",
                track.times.len()
            )));
        }
        Ok(track)
    }

    /// The text of a file with this track.
    #[cfg(test)]
    pub(crate) fn to_csv(&self) -> String {
        let mut text = String::from("time,x1,y1,z1,x2,y2,z2,x3,y3,z3,x4,y4,z4\n");
        for (time, corners) in self.times.iter().zip(&self.corners) {
            text += &time.to_string();
            for x in corners {
                text += &format!(",{},{},{}", x.x, x.y, x.z);
            }
            text.push('\n');
        }
        text
    }

    /// Seconds from the first row to the last.
    pub fn duration(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0) - self.times.first().copied().unwrap_or(0.0)
    }

    /// The corners `t` seconds after the first row, in straight lines between rows.
    pub fn at(&self, t: f64) -> [Vec3<f64>; 4] {
        let time = self.times[0] + t;
        let after = self.times.partition_point(|x| *x < time).clamp(1, self.times.len() - 1);
        let (start, end) = (self.times[after - 1], self.times[after]);
        let fraction = ((time - start) / (end - start)).clamp(0.0, 1.0);
        let (from, to) = (self.corners[after - 1], self.corners[after]);
        std::array::from_fn(|k| from[k] + (to[k] - from[k]) * fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = ",0,0,0,1,0,0,0,1,0,1,1,0";

    #[test]
    fn a_track_comes_back_from_its_file() {
        let text =
            format!("time,a,b,c,d,e,f,g,h,i,j,k,l\n# a comment\n\n0.5{ROW}\n1.0,0,0,2,1,0,2,0,1,0,1,1,0\n");
        let track = CornerTrack::parse(&text, "t").unwrap();
        assert_eq!(track.duration(), 0.5);
        assert_eq!(track.at(0.25)[1], Vec3::new(1.0, 0.0, 1.0));
        assert_eq!(CornerTrack::parse(&track.to_csv(), "t").unwrap(), track);
    }

    #[test]
    fn errors_say_where_and_what() {
        let message = |text: String| CornerTrack::parse(&text, "lift.csv").unwrap_err().to_string();
        assert!(message(format!("0{ROW}\n1,2,3\n")).starts_with("lift.csv, line 2: 3 columns where 13"));
        assert!(
            message(format!("0{ROW}\n1{}\n", ROW.replace("1,1,0", "1,x,0")))
                .contains("line 2: column 12 is `x`")
        );
        assert!(message(format!("0{ROW}\n0{ROW}\n")).contains("line 2: time 0 does not come after"));
        assert!(
            message(format!("0{ROW}\n1{}\n", ROW.replace("1,1,0", "1,nan,0")))
                .contains("not a finite number")
        );
        assert!(message(format!("0{ROW}\n")).contains("1 rows of numbers; at least 2"));
        let missing = CornerTrack::read(Path::new("no/such.csv")).unwrap_err().to_string();
        assert!(missing.starts_with("no/such.csv: "), "{missing}");
    }
}
