//! What the columns of a recording measure: entries of the state, sensors, controls.

use pullback_core::ConfigError;
use pullback_core::layout::Layout;
use pullback_core::registry::did_you_mean;
use pullback_optim::least_squares::Channel;
use pullback_physics::articulated::sensor::Sensing;

use super::table::Table;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// An entry of the state.
    State(usize),
    /// An entry of the readings of sensors.
    Sensor(usize),
    /// An entry of the control.
    Control(usize),
}

/// Every name that a column may have.
struct Names(Vec<(String, Column)>);

impl Names {
    fn new(layout: &Layout, sensing: Option<&Sensing>) -> Self {
        let mut names = Vec::new();
        let mut add = |all: Vec<String>, column: fn(usize) -> Column| {
            names.extend(all.into_iter().enumerate().map(|(i, name)| (name, column(i))));
        };
        add(layout.state.entry_names(), Column::State);
        add(layout.control.entry_names(), Column::Control);
        add(sensor_names(sensing), Column::Sensor);
        Names(names)
    }

    /// The columns called so; `state.`, `sensor.` and `control.` in front choose among equal names.
    fn find(&self, name: &str) -> Vec<Column> {
        let plain: Vec<Column> = self.0.iter().filter(|n| n.0 == name).map(|n| n.1).collect();
        if !plain.is_empty() {
            return plain;
        }
        let Some((kind, rest)) = name.split_once('.') else { return plain };
        let of_kind = |column: &Column| match column {
            Column::State(_) => kind == "state",
            Column::Sensor(_) => kind == "sensor",
            Column::Control(_) => kind == "control",
        };
        self.0.iter().filter(|n| n.0 == rest && of_kind(&n.1)).map(|n| n.1).collect()
    }
}

/// Names of all entries of the readings of sensors.
pub fn sensor_names(sensing: Option<&Sensing>) -> Vec<String> {
    let entries = |reading: &pullback_physics::articulated::sensor::SensorReading| match reading.range.len() {
        1 => vec![reading.name.clone()],
        n => (0..n).map(|i| format!("{}[{i}]", reading.name)).collect(),
    };
    sensing.map_or(Vec::new(), |s| s.readings().iter().flat_map(entries).collect())
}

/// What each column of a recording measures; `scene` is what `pullback list` takes.
pub fn resolve(
    table: &Table,
    layout: &Layout,
    sensing: Option<&Sensing>,
    scene: &str,
) -> Result<Vec<Column>, ConfigError> {
    let names = Names::new(layout, sensing);
    let column = |name: &String| {
        let wrong = |what: String| Err(ConfigError::new(format!("{}:1: {what}", table.name)));
        match names.find(name)[..] {
            [column] => Ok(column),
            [] => {
                let near = did_you_mean(name, names.0.iter().map(|n| n.0.as_str()));
                wrong(format!(
                    "no state, sensor or control is called `{name}`{near}; `pullback list {scene}` has the names"
                ))
            }
            _ => wrong(format!(
                "`{name}` is a state, a sensor or a control; write state.{name}, sensor.{name} or control.{name}"
            )),
        }
    };
    table.header.iter().map(column).collect()
}

/// First output and name of every orientation among states and sensors; outputs are states, then readings.
pub fn rotations(layout: &Layout, sensing: Option<&Sensing>) -> Vec<(usize, String)> {
    let states = layout.state.slices().iter().filter(|s| s.len() == 4 && s.name.ends_with("orientation"));
    let states = states.map(|s| (s.range.start, s.name.clone()));
    let first = layout.state.len();
    let readings = sensing.map_or(&[][..], |s| s.readings()).iter().filter(|r| r.range.len() == 4);
    states.chain(readings.map(|r| (first + r.range.start, r.name.clone()))).collect()
}

/// Channels of the outputs that some recording has: four columns of an orientation are one channel.
pub fn channels(
    measured: &[usize],
    rotations: &[(usize, String)],
    output_name: impl Fn(usize) -> String,
) -> Result<Vec<Channel>, ConfigError> {
    let mut channels = Vec::new();
    for &output in measured {
        match rotations.iter().find(|(first, _)| (*first..first + 4).contains(&output)) {
            None => channels.push(Channel::Output(output)),
            Some((first, name)) => {
                if let Some(missing) = (*first..first + 4).find(|i| !measured.contains(i)) {
                    let missing = output_name(missing);
                    let why = format!("`{name}` is an orientation: its column `{missing}` is missing");
                    return Err(ConfigError::new(why));
                }
                if !channels.contains(&Channel::Rotation(*first)) {
                    channels.push(Channel::Rotation(*first));
                }
            }
        }
    }
    Ok(channels)
}
