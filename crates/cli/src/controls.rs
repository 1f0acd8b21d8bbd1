//! Sequences of controls as files: what a search found or a simulation applied, to be played again by
//! `simulate --controls`.
//!
//! `controls.csv` has a column `time` (s) and one for each control, a row for each step. `controls.npz` has `time` (T),
//! `control` (T × m) and `control_names`, and the initial state and the parameters they belong to, `start` and `params`
//! with `start_names` and `params_names`. Numbers come back to the last bit from both.

use std::path::{Path, PathBuf};

use pullback_core::layout::{Layout, Section};
use pullback_core::registry::nearest;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, csv};

use crate::npz::{Array, Npz, arrays};
use crate::output::{CliError, Output};

/// More numbers than this are not written as text.
const MOST_IN_TEXT: usize = 5_000_000;

/// A sequence that was read.
pub struct Sequence {
    /// Steps.
    pub steps: usize,
    /// Controls of all steps, in the order of the layout.
    pub controls: Vec<f64>,
    /// The initial state, if the file has it.
    pub start: Option<Vec<f64>>,
    /// The parameters, if the file has them.
    pub params: Option<Vec<f64>>,
}

/// Writes the controls of inputs with a control every `dt` seconds into a folder; the files.
pub fn write(
    folder: &Path,
    layout: &Layout,
    inputs: &Inputs<f64>,
    (dt, steps): (f64, usize),
    output: &Output,
) -> Result<Vec<PathBuf>, CliError> {
    let (width, mut files) = (layout.control.len(), Vec::new());
    let names = layout.control.entry_names();
    let times: Vec<f64> = (0..steps).map(|step| step as f64 * dt).collect();
    if width > 0 && inputs.controls.len() <= MOST_IN_TEXT {
        let mut table = format!("time,{}\n", csv::line(&names));
        for (time, row) in times.iter().zip(inputs.controls.chunks(width)) {
            let row: Vec<String> = row.iter().map(f64::to_string).collect();
            table += &format!("{time},{}\n", row.join(","));
        }
        let file = folder.join("controls.csv");
        output.write(&file, table.as_bytes())?;
        files.push(file);
    }
    let file = folder.join("controls.npz");
    let packed = || {
        let mut archive = Npz::default();
        archive.numbers("time", &[steps], &times)?;
        archive.numbers("control", &[steps, width], &inputs.controls)?;
        archive.texts("control_names", &names)?;
        archive.numbers("start", &[inputs.state.len()], &inputs.state)?;
        archive.texts("start_names", &layout.state.entry_names())?;
        archive.numbers("params", &[inputs.params.len()], &inputs.params)?;
        archive.texts("params_names", &layout.params.entry_names())?;
        archive.finish()
    };
    let packed = packed().map_err(|source| CliError::Write { path: file.clone(), source })?;
    output.write(&file, &packed)?;
    files.push(file);
    Ok(files)
}

/// Reads a sequence for a layout whose steps take `dt` seconds.
pub fn read(path: &Path, layout: &Layout, dt: f64) -> Result<Sequence, ConfigError> {
    let name = path.display();
    let wrong = |what: String| ConfigError::new(format!("{name}: {what}"));
    let bytes =
        pullback_core::files::read(path).map_err(|e| ConfigError::new(format!("cannot read {name}: {e}")))?;
    let columns = match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => columns_of_csv(&bytes),
        Some("npz") => columns_of_npz(&bytes),
        _ => Err("controls are read from a .csv or .npz file".into()),
    }
    .map_err(wrong)?;
    let Columns { times, names, values, start, params } = columns;
    check_times(&times, dt).map_err(wrong)?;
    let own = places(&names, &layout.control, "control").map_err(wrong)?;
    let (width, steps) = (names.len(), times.len());
    let mut controls = vec![0.0; values.len()];
    for (step, row) in values.chunks(width.max(1)).enumerate() {
        for (place, value) in own.iter().zip(row) {
            controls[step * width + place] = *value;
        }
        let row = &controls[step * width..][..row.len()];
        layout.control.check(&format!("{name}: row {}", step + 1), row)?;
    }
    let whole = |what: &str, section: &Section, given: Option<(Vec<String>, Vec<f64>)>| {
        let Some((names, values)) = given else { return Ok(None) };
        let places = places(&names, section, what).map_err(wrong)?;
        let mut ordered = vec![0.0; section.len()];
        places.iter().zip(&values).for_each(|(place, value)| ordered[*place] = *value);
        if let Some(i) = ordered.iter().position(|x: &f64| !x.is_finite()) {
            return Err(wrong(format!("{what}: {} is {}", section.entry_name(i), ordered[i])));
        }
        Ok(Some(ordered))
    };
    let (start, params) = (whole("start", &layout.state, start)?, whole("params", &layout.params, params)?);
    Ok(Sequence { steps, controls, start, params })
}

/// What a file holds, in its own order.
struct Columns {
    times: Vec<f64>,
    names: Vec<String>,
    values: Vec<f64>,
    start: Option<(Vec<String>, Vec<f64>)>,
    params: Option<(Vec<String>, Vec<f64>)>,
}

fn columns_of_csv(bytes: &[u8]) -> Result<Columns, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no text")?;
    let filled = |(_, line): &(usize, &str)| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = csv::lines(text).filter(filled);
    let (_, header) = lines.next().ok_or("it is empty")?;
    let header = csv::split(header.trim_start_matches('\u{feff}'))?;
    let time = header.iter().position(|name| name == "time").ok_or("it has no column `time`")?;
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for (number, line) in lines {
        let cells = csv::split(line).map_err(|e| format!("line {number}: {e}"))?;
        if cells.len() != header.len() {
            return Err(format!("line {number} has {} cells for {} columns", cells.len(), header.len()));
        }
        for (column, cell) in cells.iter().enumerate() {
            let value: f64 = cell
                .parse()
                .map_err(|_| format!("line {number}: `{cell}` of `{}` is no number", header[column]))?;
            if column == time { times.push(value) } else { values.push(value) }
        }
    }
    let names = header.into_iter().enumerate().filter(|(i, _)| *i != time).map(|(_, name)| name).collect();
    Ok(Columns { times, names, values, start: None, params: None })
}

fn columns_of_npz(bytes: &[u8]) -> Result<Columns, String> {
    let mut found = arrays(bytes)?;
    let mut numbers = |name: &str| match found.remove(name) {
        Some(Array::Numbers(shape, values)) => Ok(Some((shape, values))),
        Some(Array::Texts(_)) => Err(format!("`{name}` holds texts, not numbers")),
        None => Ok(None),
    };
    let (time, control) = (numbers("time")?, numbers("control")?);
    let (start, params) = (numbers("start")?, numbers("params")?);
    let mut texts = |name: &str| match found.remove(name) {
        Some(Array::Texts(texts)) => Ok(texts),
        _ => Err(format!("it has no `{name}`: a list of texts, the names of its columns")),
    };
    let ([rows], times) = shaped("time", time)?;
    let ([steps, width], values) = shaped("control", control)?;
    if rows != steps {
        return Err(format!("`time` has {rows} entries and `control` {steps} rows"));
    }
    let names = texts("control_names")?;
    if names.len() != width {
        return Err(format!("`control_names` has {} names and `control` {width} columns", names.len()));
    }
    let mut named = |what: &str, array: Option<(Vec<usize>, Vec<f64>)>| match array {
        None => Ok(None),
        Some(array) => {
            let ([len], values) = shaped(what, Some(array))?;
            let names = texts(&format!("{what}_names"))?;
            match names.len() == len {
                true => Ok(Some((names, values))),
                false => Err(format!("`{what}_names` has {} names and `{what}` {len} entries", names.len())),
            }
        }
    };
    let (start, params) = (named("start", start)?, named("params", params)?);
    Ok(Columns { times, names, values, start, params })
}

/// An array of so many axes.
fn shaped<const N: usize>(
    name: &str,
    array: Option<(Vec<usize>, Vec<f64>)>,
) -> Result<([usize; N], Vec<f64>), String> {
    let (shape, values) = array.ok_or_else(|| format!("it has no array `{name}`"))?;
    let axes = shape.len();
    let shape = shape.try_into().map_err(|_| format!("`{name}` has {axes} axes, not {N}"))?;
    Ok((shape, values))
}

/// Refuses times other than 0, dt, 2 dt, ... .
fn check_times(times: &[f64], dt: f64) -> Result<(), String> {
    if times.is_empty() {
        return Err("it has no controls".into());
    }
    let off = |(step, time): &(usize, &f64)| {
        let expected = *step as f64 * dt;
        let close = 0.0..=1e-6 * dt.max(expected);
        !close.contains(&(**time - expected).abs())
    };
    match times.iter().enumerate().find(off) {
        None => Ok(()),
        Some((1, time)) => Err(format!("its controls are {time} s apart, steps {dt} s: give --dt {time}")),
        Some((step, time)) => Err(format!(
            "control {} is for {time} s; steps of {dt} s from 0 have it at {} s",
            step + 1,
            step as f64 * dt
        )),
    }
}

/// Where each column belongs.
fn places(names: &[String], section: &Section, what: &str) -> Result<Vec<usize>, String> {
    let known = section.entry_names();
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let Some(place) = known.iter().position(|own| own == name) else {
            let near = nearest(name, known.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            return Err(format!("{what}: this scene has no `{name}`{near}"));
        };
        if places.contains(&place) {
            return Err(format!("{what}: `{name}` is there twice"));
        }
        places.push(place);
    }
    match (0..known.len()).find(|i| !places.contains(i)) {
        None => Ok(places),
        Some(missing) => Err(format!("{what}: `{}` is missing", known[missing])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::Slice;

    fn layout() -> Layout {
        let builder = Layout::builder().state(Slice::new("x", 2, "m"));
        let builder = builder.control(Slice::new("lift", 1, "N").bounds(-1.0, 1.0));
        builder.control(Slice::new("turn, slow", 1, "N")).param(Slice::new("mass", 1, "kg")).build().unwrap()
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("pullback-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn controls_come_back_to_the_last_bit() {
        let (layout, folder) = (layout(), folder("controls"));
        let inputs = Inputs {
            state: vec![0.1 + 0.2, -1.0 / 3.0],
            controls: vec![1.0 / 7.0, 1e-17, -0.3, 2.0f64.sqrt(), 0.0, -0.0],
            params: vec![1.0 / 9.0],
        };
        let output = Output { json: false, quiet: true, out: None };
        let files = write(&folder, &layout, &inputs, (0.01, 3), &output).unwrap();
        assert_eq!(files.len(), 2);
        for file in files {
            let found = read(&file, &layout, 0.01).unwrap();
            let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!((found.steps, bits(&found.controls)), (3, bits(&inputs.controls)));
            if file.ends_with("controls.npz") {
                assert_eq!(
                    (found.start.unwrap(), found.params.unwrap()),
                    (inputs.state.clone(), inputs.params.clone())
                );
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let (layout, folder) = (layout(), folder("misfits"));
        let file = folder.join("c.csv");
        for (text, says) in [
            ("time,lift,\"turn, slow\"\n0,0,0\n0.02,0,0\n", "give --dt 0.02"),
            ("time,lift,\"turn, slow\"\n0,0,0\n0.01,0,0\n0.025,0,0\n", "control 3 is for 0.025 s"),
            ("time,lift\n0,0\n", "`turn, slow` is missing"),
            ("time,lif,\"turn, slow\"\n0,0,0\n", "did you mean `lift`?"),
            ("time,lift,lift,\"turn, slow\"\n0,0,0,0\n", "`lift` is there twice"),
            ("time,lift,\"turn, slow\"\n0,2,0\n", "row 1: lift = 2 is outside [-1, 1]"),
            ("time,lift,\"turn, slow\"\n0,NaN,0\n", "lift = NaN"),
            ("time,lift,\"turn, slow\"\n0,x,0\n", "`x` of `lift` is no number"),
            ("time,lift,\"turn, slow\"\n0,0\n", "line 2 has 2 cells"),
            ("lift,\"turn, slow\"\n0,0\n", "no column `time`"),
            ("time,lift,\"turn, slow\"\n", "no controls"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = read(&file, &layout, 0.01).err().unwrap().to_string();
            assert!(error.contains(says) && error.contains("c.csv"), "{says}: {error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
