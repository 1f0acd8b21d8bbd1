//! [`Setup`]: recordings as rollouts of a scene with measured samples.
//!
//! A recording is simulated from its first row to its last with the scene's own step. Controls hold from the row that
//! gives them until the next (zero-order hold); measured values are compared at their times (`least_squares::Recorded`).

use pullback_core::ConfigError;
use pullback_core::files::{Fingerprint, InputFile};
use pullback_core::input_map::LinearMap;
use pullback_core::input_map::Transform;
use pullback_core::layout::Layout;
use pullback_math::Quat;
use pullback_optim::least_squares::{Channel, Freed, Part, Recorded, Sample, moment};

use super::columns::{Column, channels, resolve, rotations, sensor_names};
use super::outputs::SceneOutputs;
use super::table::Table;
use super::unknowns::{Asked, Unknowns};
use crate::scene::Scene;

/// What is asked about recordings of a scene.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What to find.
    pub asked: Asked,
    /// Patterns of states whose initial values are found too, for every recording.
    pub free: Vec<String>,
    /// Standard deviations of columns by name; `*` for all. Others are found from the residuals.
    pub noise: Vec<(String, f64)>,
    /// State and control where the recording says nothing; the scene's defaults if none.
    pub from: Option<(Vec<f64>, Vec<f64>)>,
}

/// Recordings beside what simulates them.
pub struct RecordedMotion {
    /// From the quantities to the parameters.
    pub map: LinearMap,
    /// How each is searched.
    pub transforms: Vec<Transform>,
    /// Parameters where the map does not set them.
    pub params: Vec<f64>,
    /// Rollouts.
    pub parts: Vec<Part>,
    /// What was measured.
    pub recorded: Recorded<SceneOutputs>,
}

/// A channel in words.
#[derive(Clone, Debug)]
pub struct ChannelInfo {
    /// Name of the column, or of the orientation.
    pub name: String,
    /// Unit; rad of an orientation.
    pub unit: String,
    /// Standard deviation of the noise, if it is given.
    pub noise: Option<f64>,
    /// Standard deviation of the measured values; not less than a millionth of the largest one of the same unit.
    pub spread: f64,
}

/// Recordings ready to be compared.
pub struct Setup {
    /// What they are compared with.
    pub unknowns: Unknowns,
    /// Channels in words.
    pub channels: Vec<ChannelInfo>,
    /// Names of the recordings.
    pub recordings: Vec<String>,
    /// Seconds per step.
    pub dt: f64,
    /// Time of the first row of each recording.
    pub begins: Vec<f64>,
    params: Vec<f64>,
    parts: Vec<Part>,
    kinds: Vec<Channel>,
    samples: Vec<(usize, Vec<Sample>)>,
    outputs: SceneOutputs,
}

/// The spread of a channel is taken to be at least this part of the largest one of the same unit.
const LEAST_SPREAD: f64 = 1e-6;

/// More steps than this are surely a slip in the column of times.
const MOST_STEPS: f64 = 1e7;

impl Setup {
    /// The recordings in `tables` of a scene; `name` is what `pullback list` takes.
    pub fn new(
        scene: &dyn Scene,
        name: &str,
        tables: &[Table],
        question: &Question,
    ) -> Result<Self, ConfigError> {
        let (layout, sensing) = (scene.layout(), scene.sensing());
        let unknowns = Unknowns::new(&question.asked, layout)?;
        let columns: Vec<Vec<Column>> =
            tables.iter().map(|table| resolve(table, layout, sensing, name)).collect::<Result<_, _>>()?;
        let names = OutputNames { layout, sensors: sensor_names(sensing) };

        // Channels of all recordings, in the order of the outputs.
        let output = |column: &Column| match *column {
            Column::State(i) => Some(i),
            Column::Sensor(i) => Some(layout.state.len() + i),
            Column::Control(_) => None,
        };
        // A state that the first row alone has is the start of the motion.
        let mut measured: Vec<usize> = Vec::new();
        for (table, columns) in tables.iter().zip(&columns) {
            let later = |c: usize| table.rows[1..].iter().any(|row| row[c].is_some());
            measured
                .extend(columns.iter().enumerate().filter(|(c, _)| later(*c)).filter_map(|(_, c)| output(c)));
        }
        measured.sort_unstable();
        measured.dedup();
        let turning = rotations(layout, sensing);
        let kinds = channels(&measured, &turning, |i| names.of(i))?;
        if kinds.is_empty() {
            let why = "no column is a state or a sensor: nothing is measured";
            return Err(ConfigError::new(format!("{}:1: {why}", tables.first().map_or("", |t| &t.name))));
        }
        let uses_sensors = measured.iter().any(|i| *i >= layout.state.len());
        let outputs =
            SceneOutputs { state: layout.state.len(), sensing: sensing.filter(|_| uses_sensors).cloned() };

        let mut is_free = vec![false; layout.state.len()];
        for pattern in &question.free {
            layout.state.select(pattern)?.into_iter().for_each(|i| is_free[i] = true);
        }
        let mut setup = Setup {
            unknowns,
            channels: Vec::new(),
            recordings: tables.iter().map(|t| t.name.clone()).collect(),
            dt: scene.dt(),
            begins: tables.iter().map(|t| t.times[0]).collect(),
            params: layout.params.defaults(),
            parts: Vec::new(),
            kinds,
            samples: Vec::new(),
            outputs,
        };
        for (table, columns) in tables.iter().zip(&columns) {
            let column_of = |i: usize| columns.iter().position(|c| output(c) == Some(i));
            let samples = setup.samples_of(table, column_of, &is_free)?;
            setup.samples.push(samples);
        }
        setup.channels = setup.infos(&names, &turning, question)?;
        for (number, (table, columns)) in tables.iter().zip(&columns).enumerate() {
            let part = setup.part(scene, (table, columns), number, (question, &is_free))?;
            setup.parts.push(part);
        }
        Ok(setup)
    }

    /// Number of steps and measured values of a recording.
    fn samples_of(
        &self,
        table: &Table,
        column_of: impl Fn(usize) -> Option<usize>,
        is_free: &[bool],
    ) -> Result<(usize, Vec<Sample>), ConfigError> {
        let begin = table.times[0];
        let steps = ((table.times[table.times.len() - 1] - begin) / self.dt - 1e-6).ceil().max(1.0);
        if steps > MOST_STEPS {
            let why = format!("{steps:e} steps of {} s: is the time in seconds?", self.dt);
            return Err(ConfigError::new(format!("{}: {why}", table.name)));
        }
        let steps = steps as usize;
        let mut samples = Vec::new();
        for (number, (time, row)) in table.times.iter().zip(&table.rows).enumerate() {
            let cell = |i: usize| column_of(i).and_then(|c| row[c]);
            let moment = moment((time - begin) / self.dt, steps);
            for (channel, kind) in self.kinds.iter().enumerate() {
                // A start that is known is met by definition.
                let (Channel::Output(first) | Channel::Rotation(first)) = *kind;
                if number == 0 && is_free.get(first) == Some(&false) {
                    continue;
                }
                let value = match *kind {
                    Channel::Output(i) => cell(i).map(|x| [x, 0.0, 0.0, 0.0]),
                    Channel::Rotation(first) => quaternion(|i| cell(first + i)),
                };
                samples.extend(value.map(|value| Sample { channel, moment, value }));
            }
        }
        if samples.is_empty() {
            return Err(ConfigError::new(format!("{}: every measured cell is empty", table.name)));
        }
        Ok((steps, samples))
    }

    /// Channels in words, with their spread and the noise that is given.
    fn infos(
        &self,
        names: &OutputNames<'_>,
        turning: &[(usize, String)],
        question: &Question,
    ) -> Result<Vec<ChannelInfo>, ConfigError> {
        let mut infos = Vec::new();
        for (channel, kind) in self.kinds.iter().enumerate() {
            let own = self.samples.iter().flat_map(|s| &s.1).filter(|s| s.channel == channel);
            let values: Vec<[f64; 4]> = own.map(|s| s.value).collect();
            let (name, unit) = match *kind {
                Channel::Output(i) => (names.of(i), names.unit(i)),
                Channel::Rotation(first) => {
                    let name = turning.iter().find(|t| t.0 == first).map_or(String::new(), |t| t.1.clone());
                    (name, "rad".to_owned())
                }
            };
            let count = values.len() as f64;
            let spread = (0..4)
                .map(|k| {
                    let mean = values.iter().map(|v| v[k]).sum::<f64>() / count;
                    values.iter().map(|v| (v[k] - mean).powi(2)).sum::<f64>() / count
                })
                .sum::<f64>()
                .sqrt();
            // A channel that never changes is measured in its own size.
            let size = values.iter().map(|v| v[0].abs()).fold(0.0, f64::max);
            let spread = if spread > 1e-12 * size {
                spread
            } else if size > 0.0 {
                size
            } else {
                1.0
            };
            let given = |n: &&(String, f64)| pullback_core::layout::glob(&n.0, &name);
            let noise = question.noise.iter().rev().find(given).map(|n| n.1);
            infos.push(ChannelInfo { name, unit, noise, spread });
        }
        // Round-off of what stands still is no measure of its residuals: beside channels of the same unit that move it weighs
        // little.
        let largest = |unit: &str| {
            infos.iter().filter(|info| info.unit == unit).map(|info| info.spread).fold(0.0, f64::max)
        };
        let floors: Vec<f64> = infos.iter().map(|info| LEAST_SPREAD * largest(&info.unit)).collect();
        for (info, floor) in infos.iter_mut().zip(floors) {
            info.spread = info.spread.max(floor);
        }
        for (pattern, sigma) in &question.noise {
            if !infos.iter().any(|info| pullback_core::layout::glob(pattern, &info.name)) {
                let all: Vec<&str> = infos.iter().map(|info| info.name.as_str()).collect();
                let why = format!("--noise: no channel matches `{pattern}`; there is {}", all.join(", "));
                return Err(ConfigError::new(why));
            }
            if !(*sigma > 0.0 && sigma.is_finite()) {
                return Err(ConfigError::new(format!("--noise {pattern}={sigma}: it must be positive")));
            }
        }
        Ok(infos)
    }

    /// Start, controls and freed states of a recording.
    fn part(
        &self,
        scene: &dyn Scene,
        (table, columns): (&Table, &[Column]),
        number: usize,
        (question, is_free): (&Question, &[bool]),
    ) -> Result<Part, ConfigError> {
        let layout = scene.layout();
        let (mut state, mut control) =
            question.from.clone().unwrap_or_else(|| (layout.state.defaults(), layout.control.defaults()));
        for (cell, column) in table.rows[0].iter().zip(columns) {
            let Column::State(i) = *column else { continue };
            match cell {
                Some(x) => state[i] = *x,
                None if is_free[i] => {}
                None => {
                    let name = layout.state.entry_name(i);
                    let why = format!(
                        "`{name}` is empty where the motion begins; fill the cell, or use --free {name}"
                    );
                    return Err(ConfigError::new(format!("{}: first row: {why}", table.name)));
                }
            }
        }
        let turning = rotations(layout, None);
        for (first, _) in &turning {
            if let Some(q) = quaternion(|i| Some(state[first + i])) {
                state[*first..first + 4].copy_from_slice(&q);
            }
        }

        // The last control before each step.
        let (steps, samples) = &self.samples[number];
        let (mut controls, mut row) = (Vec::with_capacity(steps * control.len()), 0);
        for step in 0..*steps {
            let now = table.times[0] + (step as f64 + 1e-6) * self.dt;
            while row < table.times.len() && table.times[row] <= now {
                for (cell, column) in table.rows[row].iter().zip(columns) {
                    if let (Some(u), Column::Control(i)) = (cell, column) {
                        control[*i] = *u;
                    }
                }
                row += 1;
            }
            controls.extend_from_slice(&control);
        }

        let scale = |i: usize| {
            let name = layout.state.entry_name(i);
            self.channels.iter().find(|c| c.name == name).map_or(1.0, |c| 0.1 * c.spread)
        };
        let mut freed = Vec::new();
        for i in (0..state.len()).filter(|i| is_free[*i]) {
            match turning.iter().find(|(first, _)| (*first..first + 4).contains(&i)) {
                None => freed.push(Freed::Entry { entry: i, scale: scale(i) }),
                Some((first, _)) => {
                    let rotation = Freed::Rotation { first: *first, scale: 0.1 };
                    if !freed.contains(&rotation) {
                        freed.push(rotation);
                    }
                }
            }
        }
        let residuals = samples.iter().map(|s| self.kinds[s.channel].residuals()).sum();
        Ok(Part { state, controls, steps: *steps, residuals, freed, cluster: number })
    }

    /// The measured samples with standard deviations of the channels.
    pub fn recorded(&self, noise: Vec<f64>) -> Recorded<SceneOutputs> {
        Recorded::new(self.outputs.clone(), self.kinds.clone(), noise, self.samples.clone())
    }

    /// Everything, for [`Scene::residuals`].
    pub fn motion(&self, noise: Vec<f64>) -> RecordedMotion {
        RecordedMotion {
            map: self.unknowns.map.clone(),
            transforms: self.unknowns.transforms.clone(),
            params: self.params.clone(),
            parts: self.parts.clone(),
            recorded: self.recorded(noise),
        }
    }

    /// Time of a sample, s.
    pub fn time(&self, part: usize, sample: &Sample) -> f64 {
        let m = &sample.moment;
        let at: f64 = (0..m.count).map(|k| m.weights[k] * (m.first + k) as f64).sum();
        self.begins[part] + at * self.dt
    }

    /// The data by their content: logs of other data are not continued.
    pub fn data(&self) -> InputFile {
        let mut hash = Fingerprint::default().numbers(&self.params);
        for (part, (steps, samples)) in self.parts.iter().zip(&self.samples) {
            hash = hash.numbers(&[*steps as f64]).numbers(&part.state).numbers(&part.controls);
            for sample in samples {
                hash = hash.numbers(&[sample.channel as f64, sample.moment.first as f64]);
                hash = hash.numbers(&sample.moment.weights).numbers(&sample.value);
            }
        }
        InputFile::new("the recordings", hash)
    }
}

/// A unit quaternion of four numbers, if all are there.
fn quaternion(entry: impl Fn(usize) -> Option<f64>) -> Option<[f64; 4]> {
    let [w, x, y, z] = [entry(0)?, entry(1)?, entry(2)?, entry(3)?];
    let q = Quat::new(w, x, y, z).normalize();
    Some([q.w, q.x, q.y, q.z])
}

/// Names and units of outputs.
struct OutputNames<'a> {
    layout: &'a Layout,
    sensors: Vec<String>,
}

impl OutputNames<'_> {
    fn of(&self, i: usize) -> String {
        let states = self.layout.state.len();
        if i < states { self.layout.state.entry_name(i) } else { self.sensors[i - states].clone() }
    }
    fn unit(&self, i: usize) -> String {
        if i < self.layout.state.len() { self.layout.state.unit(i).to_owned() } else { "SI".to_owned() }
    }
}
