//! [`SceneLoss`]: the terms of a loss file over a scene.
//!
//! Places and sensors are readings of the robot ([`Sensing`]), taken once for all terms of a sample, so that
//! their cotangents reach parameters too: a target of a foot knows how long the shin is. Everything else is a
//! sum of entries of the state or the control.

use std::ops::Range;
use std::sync::Mutex;

use pullback_core::layout::Section;
use pullback_core::losses::{Norm, Weights};
use pullback_core::registry::nearest;
use pullback_core::rollout::{Loss, Sample};
use pullback_core::{Bars, ConfigError, Described, Point};
use pullback_math::{Dual, Real};
use pullback_physics::articulated::sensor::{Sensing, SensingWorkspace};
use pullback_physics::articulated::{
    Articulated, FrameObject, FrameQuantity, Sensor, SensorKind, SubtreeQuantity,
};

use super::file::{LossFile, Quantity, Term};
use crate::scene::{RobotPart, Scene};

/// Where the entries of an error come from.
#[derive(Clone, Debug)]
enum Source {
    /// Of the state: sums of entries, each multiplied by a share.
    State { entries: Vec<Vec<usize>>, share: f64 },
    /// Of the control.
    Control(Vec<usize>),
    /// Of the readings, less other readings.
    Readings(Range<usize>, Option<Range<usize>>),
}

/// A term with names resolved.
#[derive(Clone, Debug)]
struct Resolved {
    source: Source,
    target: Vec<f64>,
    /// What each entry of the error is multiplied by.
    scale: Vec<f64>,
    norm: Norm,
    weights: Weights,
}

/// What reads the robot of a scene.
struct Reader {
    sensing: Sensing,
    part: RobotPart,
    /// The control that sensors see at the end.
    final_control: Vec<f64>,
}

/// Memory of one evaluation on a scalar.
struct Memory<T> {
    sensing: Option<SensingWorkspace<T>>,
    /// Of the robot.
    state: Vec<T>,
    control: Vec<T>,
    readings: Vec<T>,
    errors: Vec<T>,
    readings_bar: Vec<T>,
    state_bar: Vec<T>,
    control_bar: Vec<T>,
    params_bar: Vec<T>,
}

/// The sum of the terms of a loss file: running weights are per second, so that the loss does not depend on how
/// often it is sampled.
pub struct SceneLoss {
    terms: Vec<Resolved>,
    reader: Option<Reader>,
    plain: Mutex<Vec<Memory<f64>>>,
    duals: Mutex<Vec<Memory<Dual<f64>>>>,
}

/// What terms are resolved against.
struct Resolver<'a> {
    scene: &'a dyn Scene,
    sensors: Vec<Sensor>,
    nominal: &'a [f64],
    seconds: f64,
}

impl SceneLoss {
    /// The loss of `file` on a scene with a sample every so many seconds; `nominal` is the control of the
    /// start.
    pub fn new(
        scene: &dyn Scene,
        file: &LossFile,
        nominal: &[f64],
        seconds: f64,
    ) -> Result<Self, ConfigError> {
        let mut resolver = Resolver { scene, sensors: Vec::new(), nominal, seconds };
        let mut terms = Vec::new();
        for (i, term) in file.terms.iter().enumerate() {
            let resolved = resolver.resolve(term);
            terms
                .push(resolved.map_err(|e| ConfigError::new(format!("{}: term {}: {e}", file.name, i + 1)))?);
        }
        let reader = match (resolver.sensors.is_empty(), scene.robot()) {
            (false, Some(part)) => {
                let wrong = |e: ConfigError| ConfigError::new(format!("{}: {e}", file.name));
                let sensing = part.robot.sensing_of(&resolver.sensors).map_err(wrong)?;
                if let Some((name, why)) = sensing.unsupported().first() {
                    return Err(wrong(ConfigError::new(format!("`{name}` cannot be read: {why}"))));
                }
                let final_control = match part.is_whole() {
                    true => nominal.to_vec(),
                    false => part.robot.layout().control.defaults(),
                };
                Some(Reader { sensing, part: part.clone(), final_control })
            }
            _ => None,
        };
        Ok(SceneLoss { terms, reader, plain: Mutex::default(), duals: Mutex::default() })
    }

    fn memory<T: Real>(&self) -> Memory<T> {
        let zeros = |n: usize| vec![T::zero(); n];
        let (mut readings, mut state, mut control, mut params) = (0, 0, 0, 0);
        if let Some(Reader { sensing, part, .. }) = &self.reader {
            let layout = part.robot.layout();
            (state, control, params) = (layout.state.len(), layout.control.len(), layout.params.len());
            readings = sensing.len();
        }
        let longest = self.terms.iter().map(|term| term.target.len()).max().unwrap_or(0);
        Memory {
            sensing: self.reader.as_ref().map(|reader| reader.sensing.workspace()),
            state: zeros(state),
            control: zeros(control),
            readings: zeros(readings),
            errors: Vec::with_capacity(longest),
            readings_bar: zeros(readings),
            state_bar: zeros(state),
            control_bar: zeros(control),
            params_bar: zeros(params),
        }
    }

    /// Runs `work` with memory of its own, which is kept for the next call.
    fn with_memory<T: Pooled, R>(&self, work: impl FnOnce(&mut Memory<T>) -> R) -> R {
        let pool = T::pool(self);
        let kept = pool.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut memory = kept.unwrap_or_else(|| self.memory());
        let result = work(&mut memory);
        pool.lock().unwrap_or_else(|e| e.into_inner()).push(memory);
        result
    }

    /// Whether some term with a weight at this sample reads the robot.
    fn reads<T>(&self, at: &Sample<'_, T>) -> Option<&Reader> {
        let reads =
            |term: &Resolved| matches!(term.source, Source::Readings(..)) && term.weights.at(at) != 0.0;
        self.reader.as_ref().filter(|_| self.terms.iter().any(reads))
    }

    /// The value of the sample; into `bars`, if asked for, the slopes along readings, states and controls.
    fn sweep<T: Real>(
        &self,
        memory: &mut Memory<T>,
        at: &Sample<'_, T>,
        mut bars: Option<(&mut [T], &mut [T])>,
    ) -> T {
        if let Some(reader) = self.reads(at) {
            reader.read(memory, at);
        }
        memory.readings_bar.fill(T::zero());
        let mut total = T::zero();
        for term in &self.terms {
            let weight = term.weights.at(at);
            if weight == 0.0 {
                continue;
            }
            term.errors(at, &memory.readings, &mut memory.errors);
            let errors = memory.errors.iter().copied();
            match &mut bars {
                None => total += term.norm.value(errors) * T::lit(weight),
                Some((state_bar, control_bar)) => {
                    let readings_bar = &mut memory.readings_bar;
                    term.norm.slope(errors, |i, slope| {
                        let bar = slope * T::lit(weight * term.scale[i]);
                        term.source.pull(i, bar, state_bar, control_bar, readings_bar);
                    });
                }
            }
        }
        total
    }
}

impl Reader {
    /// The state and control of the robot at a sample.
    fn place<T: Real>(&self, memory: &mut Memory<T>, at: &Sample<'_, T>) {
        self.part.state_of(at.state, &mut memory.state);
        if self.part.is_whole() && !at.control.is_empty() {
            memory.control.copy_from_slice(at.control);
        } else {
            memory.control.iter_mut().zip(&self.final_control).for_each(|(u, x)| *u = T::lit(*x));
        }
    }

    fn read<T: Real>(&self, memory: &mut Memory<T>, at: &Sample<'_, T>) {
        self.place(memory, at);
        let Memory { sensing: Some(ws), state, control, readings, .. } = memory else { return };
        let params = &at.params[..self.part.robot.layout().params.len()];
        self.sensing.sensors(ws, Point { params, state, control }, T::zero(), readings);
    }

    /// The pullback of [`Reader::read`] at the sample that was read: into the memory's own cotangents.
    fn read_vjp<T: Real>(&self, memory: &mut Memory<T>, at: &Sample<'_, T>) {
        let Memory { sensing: Some(ws), state, control, readings_bar, .. } = memory else { return };
        let params = &at.params[..self.part.robot.layout().params.len()];
        memory.state_bar.fill(T::zero());
        memory.control_bar.fill(T::zero());
        memory.params_bar.fill(T::zero());
        let bars = Bars {
            params: &mut memory.params_bar,
            state: &mut memory.state_bar,
            control: &mut memory.control_bar,
        };
        self.sensing.sensors_vjp(ws, Point { params, state, control }, readings_bar, bars);
    }
}

impl Resolved {
    /// (x − target) scale.
    fn errors<T: Real>(&self, at: &Sample<'_, T>, readings: &[T], errors: &mut Vec<T>) {
        errors.clear();
        for (i, (target, scale)) in self.target.iter().zip(&self.scale).enumerate() {
            let x = match &self.source {
                Source::State { entries, share } => {
                    let mut sum = T::zero();
                    entries[i].iter().for_each(|entry| sum += at.state[*entry]);
                    sum * T::lit(*share)
                }
                Source::Control(entries) => at.control[entries[i]],
                Source::Readings(range, other) => {
                    let x = readings[range.start + i];
                    other.as_ref().map_or(x, |other| x - readings[other.start + i])
                }
            };
            errors.push((x - T::lit(*target)) * T::lit(*scale));
        }
    }
}

impl Source {
    /// Adds the cotangent of entry i to where it comes from.
    fn pull<T: Real>(&self, i: usize, bar: T, state: &mut [T], control: &mut [T], readings: &mut [T]) {
        match self {
            Source::State { entries, share } => {
                entries[i].iter().for_each(|entry| state[*entry] += bar * T::lit(*share));
            }
            Source::Control(entries) => control[entries[i]] += bar,
            Source::Readings(range, other) => {
                readings[range.start + i] += bar;
                if let Some(other) = other {
                    readings[other.start + i] -= bar;
                }
            }
        }
    }
}

/// A scalar whose memory a loss keeps.
trait Pooled: Real {
    fn pool(loss: &SceneLoss) -> &Mutex<Vec<Memory<Self>>>;
}
impl Pooled for f64 {
    fn pool(loss: &SceneLoss) -> &Mutex<Vec<Memory<f64>>> {
        &loss.plain
    }
}
impl Pooled for Dual<f64> {
    fn pool(loss: &SceneLoss) -> &Mutex<Vec<Memory<Dual<f64>>>> {
        &loss.duals
    }
}

impl<T: Pooled> Loss<T> for SceneLoss {
    fn value(&self, at: Sample<'_, T>) -> T {
        self.with_memory(|memory| self.sweep(memory, &at, None))
    }

    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        self.with_memory(|memory: &mut Memory<T>| {
            self.sweep(memory, &at, Some((state_bar, control_bar)));
            if let Some(reader) = self.reads(&at) {
                reader.read_vjp(memory, &at);
                reader.part.add_state(&memory.state_bar, state_bar);
                if reader.part.is_whole() {
                    control_bar.iter_mut().zip(&memory.control_bar).for_each(|(bar, own)| *bar += *own);
                }
            }
        });
    }

    fn params_vjp(&self, at: Sample<'_, T>, params_bar: &mut [T]) {
        let Some(reader) = self.reads(&at) else { return };
        self.with_memory(|memory: &mut Memory<T>| {
            // The slopes along states and controls are not wanted here, and have room of their own.
            let (mut state, mut control) =
                (vec![T::zero(); at.state.len()], vec![T::zero(); at.control.len()]);
            self.sweep(memory, &at, Some((&mut state, &mut control)));
            reader.read_vjp(memory, &at);
            params_bar.iter_mut().zip(&memory.params_bar).for_each(|(bar, own)| *bar += *own);
        });
    }
}

impl Resolver<'_> {
    fn resolve(&mut self, term: &Term) -> Result<Resolved, ConfigError> {
        let layout = self.scene.layout();
        let mut preset = Vec::new();
        let source = match &term.quantity {
            Quantity::State(pattern) => {
                let entries = select(&layout.state, "state", pattern)?;
                Source::State { entries: entries.into_iter().map(|i| vec![i]).collect(), share: 1.0 }
            }
            Quantity::Particles(name) => self.particles(name)?,
            Quantity::Control(pattern) => {
                let entries = select(&layout.control, "control", pattern)?;
                preset = entries.iter().map(|i| self.nominal[*i]).collect();
                Source::Control(entries)
            }
            Quantity::Sensor(name) => {
                let there = self.scene.sensing().map_or(Vec::new(), |s| s.readings().to_vec());
                let found = self.whole_robot(name)?.sensors.iter().find(|s| s.name == *name).cloned();
                let sensor = found.ok_or_else(|| {
                    nothing("sensor", name, &there.iter().map(|r| r.name.clone()).collect::<Vec<_>>())
                })?;
                Source::Readings(self.read(sensor), None)
            }
            Quantity::Body(name) => self.place(term, "body", name)?,
            Quantity::Site(name) => self.place(term, "site", name)?,
            Quantity::Geom(name) => self.place(term, "geom", name)?,
            Quantity::CenterOfMass(name) => self.place(term, "center of mass", name)?,
        };
        let len = match &source {
            Source::State { entries, .. } => entries.len(),
            Source::Control(entries) => entries.len(),
            Source::Readings(range, _) => range.len(),
        };
        let target = match term.target.len() {
            0 if preset.is_empty() => vec![0.0; len],
            0 => preset,
            1 => vec![term.target[0]; len],
            n if n == len => term.target.clone(),
            n => return Err(ConfigError::new(format!("{n} target values for {len} entries"))),
        };
        let three = matches!(source, Source::Readings(..) | Source::State { .. }) && len == 3;
        let scale = if three { term.axes.to_vec() } else { vec![1.0; len] };
        let weights = Weights { running: term.running * self.seconds, terminal: term.last };
        Ok(Resolved { source, target, scale, norm: term.norm, weights })
    }

    /// The mean of positions.
    fn particles(&self, name: &str) -> Result<Source, ConfigError> {
        let state = &self.scene.layout().state;
        let groups = || {
            let positions =
                state.slices().iter().filter(|s| s.name.ends_with(".position") && s.len() % 3 == 0);
            positions.filter(|s| {
                state.slices().iter().any(|v| v.name == format!("{}velocity", &s.name[..s.name.len() - 8]))
            })
        };
        let slice = groups().find(|s| s.name.strip_suffix(".position") == Some(name)).ok_or_else(|| {
            let names: Vec<String> =
                groups().map(|s| s.name[..s.name.len() - ".position".len()].to_owned()).collect();
            nothing("part of particles", name, &names)
        })?;
        let entries = (0..3).map(|k| slice.range.clone().skip(k).step_by(3).collect()).collect();
        Ok(Source::State { entries, share: 3.0 / slice.len() as f64 })
    }

    /// The robot, where it is all there is in the scene.
    fn whole_robot(&self, what: &str) -> Result<&pullback_physics::articulated::Model, ConfigError> {
        match self.scene.robot() {
            Some(part) if part.is_whole() => Ok(part.robot.model()),
            _ => Err(ConfigError::new(format!("`{what}`: this scene has no sensors"))),
        }
    }

    /// A place, or where it is seen from another.
    fn place(&mut self, term: &Term, kind: &str, name: &str) -> Result<Source, ConfigError> {
        let Some(part) = self.scene.robot() else {
            let why = "this scene has no robot; name a state, or the particles of a part";
            return Err(ConfigError::new(format!("{kind} `{name}`: {why}")));
        };
        let robot = &part.robot;
        let sensor = match kind {
            "center of mass" => SensorKind::Subtree(body(robot, name)?, SubtreeQuantity::Center),
            "body" => frame(FrameObject::Body(body(robot, name)?)),
            "site" => frame(site(robot, name).ok_or_else(|| nothing("site", name, &sites(robot)))?),
            _ => frame(geom(robot, name).ok_or_else(|| nothing("geom", name, &geoms(robot)))?),
        };
        let other = match &term.relative_to {
            None => None,
            Some(other) => {
                let of_body =
                    || robot.model().bodies.iter().position(|b| b.name == *other).map(FrameObject::Body);
                let found = site(robot, other).or_else(of_body).or_else(|| geom(robot, other));
                Some(frame(found.ok_or_else(|| {
                    let all = [sites(robot), bodies(robot), geoms(robot)].concat();
                    nothing("site, body or geom", other, &all)
                })?))
            }
        };
        let mut read = |of| self.read(Sensor { name: format!("{kind} `{name}`"), kind: of, cutoff: 0.0 });
        Ok(Source::Readings(read(sensor), other.map(read)))
    }

    /// Where the reading of a sensor will be.
    fn read(&mut self, sensor: Sensor) -> Range<usize> {
        let first = self.sensors.iter().map(|s| s.kind.len()).sum();
        let range = first..first + sensor.kind.len();
        self.sensors.push(sensor);
        range
    }
}

fn frame(object: FrameObject) -> SensorKind {
    SensorKind::Frame { object, reference: None, what: FrameQuantity::Position }
}
fn body(robot: &Articulated, name: &str) -> Result<usize, ConfigError> {
    let found = robot.model().bodies.iter().position(|b| b.name == name);
    found.or((name == "world").then_some(0)).ok_or_else(|| nothing("body", name, &bodies(robot)))
}
fn site(robot: &Articulated, name: &str) -> Option<FrameObject> {
    robot.model().sites.iter().position(|s| s.name == name).map(FrameObject::Site)
}
fn geom(robot: &Articulated, name: &str) -> Option<FrameObject> {
    robot.model().geoms.iter().position(|g| g.name == name).map(FrameObject::Geom)
}
fn bodies(robot: &Articulated) -> Vec<String> {
    robot.model().bodies.iter().map(|b| b.name.clone()).collect()
}
fn sites(robot: &Articulated) -> Vec<String> {
    robot.model().sites.iter().map(|s| s.name.clone()).collect()
}
fn geoms(robot: &Articulated) -> Vec<String> {
    robot.model().geoms.iter().map(|g| g.name.clone()).filter(|name| !name.is_empty()).collect()
}

/// Entries of a vector that match a pattern, with or without the name of the vector before them.
pub(super) fn select(section: &Section, vector: &str, pattern: &str) -> Result<Vec<usize>, ConfigError> {
    let mut all = vec![false; section.len()];
    for part in pattern.split(',').map(str::trim) {
        let part = part.strip_prefix(vector).and_then(|rest| rest.strip_prefix('.')).unwrap_or(part);
        let names = || section.slices().iter().map(|s| s.name.clone()).collect::<Vec<_>>();
        let found = section.select(part).map_err(|_| nothing(vector, part, &names()))?;
        found.into_iter().for_each(|i| all[i] = true);
    }
    Ok((0..all.len()).filter(|i| all[*i]).collect())
}

/// The error that nothing has a name.
fn nothing(kind: &str, name: &str, there: &[String]) -> ConfigError {
    /// More names than this are not listed.
    const LISTED: usize = 24;
    let near = nearest(name, there.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    let all = match there.len() {
        0 => "there is none".to_owned(),
        n if n <= LISTED => format!("there is {}", there.join(", ")),
        n => format!("there are {n}, which `pullback list` names"),
    };
    ConfigError::new(format!("no {kind} is called `{name}`{near}; {all}"))
}
