//! Whether a scene's step is stable, and whether its energy grows by itself.
//!
//! The largest stable step is that of the linearized step ([`pullback_core::stability`]); that of material
//! points has a closed form ([`pullback_physics::mpm::stability`]). Both are about one point of a motion, so
//! [`warnings`] looks at several.

use std::sync::Mutex;

use pullback_core::integrator::{Integrated, Integrator, StepControl};
use pullback_core::layout::Section;
use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_core::stability::{growth, largest_stable_step};
use pullback_core::{ConfigError, Described, FieldShape, Point, StepError, System, VectorField};
use pullback_math::Dual;
use pullback_physics::articulated::{Articulated, Sensor, SensorKind};
use pullback_physics::mpm::Mpm;
use pullback_physics::mpm::stability::SubstepBound;
use pullback_physics::world::World;
use serde::{Serialize, Serializer};

use crate::files;
use crate::scene::Scene;
use crate::scenes::SceneOptions;

/// The step of a scene beside the largest that is stable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepLimit {
    /// The step that is taken, s: a scene may take several for each of its own.
    pub step: f64,
    /// The largest stable one, s; infinite, `null` in JSON, if none that was tried is too large.
    #[serde(serialize_with = "null_where_infinite")]
    pub largest: f64,
    /// What sets it: an entry of the state, or what travels.
    pub what: String,
}

/// Change of every velocity before a step is looked at, m/s or rad/s.
const SLIP: f64 = 0.5;

/// A state whose velocities are shaken, so that what touches slips. Friction at rest is a stiff damper up to a
/// small bound: where it is too stiff for a step it chatters within that bound, and nothing grows. Where it
/// slips it has that bound and no stiffness.
fn slipping(section: &Section, state: &[f64]) -> Vec<f64> {
    let mut random = Random::new(1);
    let mut moving = state.to_vec();
    for slice in section.slices().iter().filter(|slice| slice.unit.ends_with("/s")) {
        moving[slice.range.clone()].iter_mut().for_each(|v| *v += random.uniform(-SLIP, SLIP));
    }
    moving
}

fn null_where_infinite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Some(*value).filter(|value| value.is_finite()).serialize(serializer)
}

impl StepLimit {
    /// In words.
    pub fn sentence(&self) -> String {
        let StepLimit { step, largest, what } = self;
        match largest.is_finite() {
            true => format!(
                "steps of {step:.3e} s; the largest stable one here is about {largest:.3e} s, set by {what}"
            ),
            false => format!("steps of {step:.3e} s; no step that was tried is too large here"),
        }
    }
}

/// Finds the [`StepLimit`] of a scene at a point.
pub struct StepLimitOf {
    step: f64,
    find: Box<Find>,
    /// Whether the step is too large, where that is told faster.
    exceeded: Option<Box<Exceeded>>,
}

type Find = dyn Fn(Point<'_, f64>) -> Result<(f64, String), ConfigError> + Send + Sync;
type Exceeded = dyn Fn(Point<'_, f64>) -> bool + Send + Sync;

impl StepLimitOf {
    /// Of whatever steps by `step`; `system_of` makes it with another one.
    pub fn new<S: System<Dual<f64>> + 'static>(
        step: f64,
        system_of: impl Fn(f64) -> Result<S, ConfigError> + Clone + Send + Sync + 'static,
    ) -> Self {
        let of_step = system_of.clone();
        StepLimitOf {
            step,
            find: Box::new(move |at| {
                let state = &system_of(step)?.layout().state.clone();
                let moving = &slipping(state, at.state);
                let found = largest_stable_step(&system_of, Point { state: moving, ..at }, step)?;
                Ok((found.seconds, format!("`{}`", state.entry_name(found.entry))))
            }),
            exceeded: Some(Box::new(move |at| {
                of_step(step).is_ok_and(|system| {
                    let moving = &slipping(&system.layout().state, at.state);
                    growth(&system, Point { state: moving, ..at }).is_ok_and(|found| found.unstable())
                })
            })),
        }
    }

    /// Of a field in fixed steps; adaptive ones see to it themselves.
    pub fn of_field<F>(field: F, step: f64, integrator: Integrator) -> Option<Self>
    where
        F: FieldShape + VectorField<Dual<f64>> + Clone + 'static,
    {
        let fixed = integrator.control == StepControl::Fixed;
        fixed.then(|| StepLimitOf::new(step, move |step| Integrated::new(field.clone(), step, integrator)))
    }

    /// Of a robot as `options` have it stepped.
    pub fn of_robot(robot: Articulated, options: &SceneOptions) -> Option<Self> {
        if options.integrator.is_some_and(|integrator| integrator.control != StepControl::Fixed) {
            return None;
        }
        let step = options.dt.unwrap_or(robot.model().options.timestep);
        let options = options.clone();
        Some(StepLimitOf::new(step, move |step| {
            files::system(robot.clone(), SceneOptions { dt: Some(step), ..options.clone() })
        }))
    }

    /// Of material points.
    pub fn of_particles(mpm: Mpm) -> Self {
        let step = mpm.dt();
        let find = move |at: Point<'_, f64>| {
            let found = mpm.stable_substep(at.params, at.state);
            let group = mpm.particles().groups.iter().find(|group| group.range().contains(&found.particle));
            let name = group.map_or("particles", |group| &group.name);
            let what = match found.bound {
                SubstepBound::Sound => format!("sound in `{name}`, {:.3} m/s", found.speed),
                SubstepBound::Travel => format!("the fastest particle of `{name}`, {:.3} m/s", found.speed),
            };
            Ok((found.seconds, what))
        };
        StepLimitOf { step, find: Box::new(find), exceeded: None }
    }

    /// The limit at a point.
    pub fn find(&self, at: Point<'_, f64>) -> Result<StepLimit, ConfigError> {
        let (largest, what) = (self.find)(at)?;
        Ok(StepLimit { step: self.step, largest, what })
    }

    /// Whether the step is too large at a point.
    pub fn exceeded(&self, at: Point<'_, f64>) -> bool {
        match &self.exceeded {
            Some(exceeded) => exceeded(at),
            None => (self.find)(at).is_ok_and(|(largest, _)| self.step > largest),
        }
    }
}

/// Energy of a scene, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Of motion.
    pub kinetic: f64,
    /// Of weight and of what is strained.
    pub potential: f64,
}

impl Energy {
    fn total(self) -> f64 {
        self.kinetic + self.potential
    }
}

/// The energy at a point.
pub type EnergyOf = Box<dyn Fn(Point<'_, f64>) -> Energy + Send + Sync>;

/// The energy of a robot that nothing drives.
pub fn robot_energy(robot: &Articulated) -> Option<EnergyOf> {
    let wind = robot.model().options.wind;
    if !robot.layout().control.is_empty() || [wind.x, wind.y, wind.z] != [0.0; 3] {
        return None;
    }
    let sensor = |name: &str, kind| Sensor { name: name.into(), kind, cutoff: 0.0 };
    let both =
        [sensor("kinetic", SensorKind::KineticEnergy), sensor("potential", SensorKind::PotentialEnergy)];
    let sensing = robot.sensing_of(&both).ok()?;
    let memory = Mutex::new(sensing.workspace::<f64>());
    Some(Box::new(move |at| {
        let mut out = [0.0; 2];
        sensing.sensors(&mut memory.lock().unwrap_or_else(|e| e.into_inner()), at, 0.0, &mut out);
        Energy { kinetic: out[0], potential: out[1] }
    }))
}

/// The energy of a world that nothing drives.
pub fn world_energy(world: World) -> Option<EnergyOf> {
    let defaults = world.layout().params.defaults();
    let wind = world.soft().wind(&defaults);
    if !world.layout().control.is_empty() || [wind.x, wind.y, wind.z] != [0.0; 3] {
        return None;
    }
    // The robot of a world has its pushes as controls: it counts without them.
    let robot = match world.robot().coordinates().nq {
        0 => None,
        _ => Some(robot_energy(&Articulated::new(world.robot().model().clone()).ok()?)?),
    };
    let params = world.robot().layout().params.len();
    Some(Box::new(move |at| {
        let own = world.particle_energy(at.params, at.state, at.control);
        let mut energy = Energy { kinetic: own.kinetic, potential: own.elastic + own.gravitational };
        if let Some(robot) = &robot {
            let state = world.robot_state(at.state);
            let of_robot = robot(Point { params: &at.params[..params], state: &state, control: &[] });
            energy.kinetic += of_robot.kinetic;
            energy.potential += of_robot.potential;
        }
        energy
    }))
}

/// Energy that appears from nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyGrowth {
    /// When it is first above what there was at the start, by [`RISE`] of all that moves, s.
    pub time: f64,
    /// At the start, J.
    pub start: f64,
    /// At the highest, J.
    pub highest: f64,
}

/// A rise of energy below this part of what is exchanged is the error of a step that is small enough.
pub const RISE: f64 = 0.1;

/// Whether energy grows in a motion that nothing adds energy to. What is let loose at the start, as by parts
/// that overlap, does not count: the second half must rise above the first.
pub fn energy_growth(rows: &[(f64, Energy)]) -> Option<EnergyGrowth> {
    let (first, second) = rows.split_at_checked(rows.len() / 2)?;
    let start = first.first()?.1.total();
    let highest =
        |rows: &[(f64, Energy)]| rows.iter().map(|(_, e)| e.total()).fold(f64::NEG_INFINITY, f64::max);
    let exchanged = rows.iter().map(|(_, e)| e.kinetic).fold(0.0, f64::max);
    let (before, after) = (highest(first), highest(second));
    if !(after - before > RISE * exchanged && after - start > RISE * exchanged) {
        return None;
    }
    let above = rows.iter().find(|(_, e)| e.total() > start + RISE * exchanged);
    above.map(|(time, _)| EnergyGrowth { time: *time, start, highest: after })
}

/// Rows of a motion at which its energy is looked at.
const ENERGY_ROWS: usize = 400;
/// Points of a motion at which its step is looked at, at most, and steps of the system for which there is one.
const POINTS: usize = 5;
const STEPS_PER_POINT: usize = 400;

/// The smallest of the largest stable steps at some points of a motion, and when that was; `rows` are times and
/// states under `inputs`. None for scenes whose step is bounded by nothing.
pub fn step_limit(
    scene: &dyn Scene,
    inputs: &Inputs<f64>,
    rows: &[(f64, Vec<f64>)],
) -> Result<Option<(f64, StepLimit)>, ConfigError> {
    let mut least: Option<(f64, StepLimit)> = None;
    for k in spread(rows, POINTS) {
        let (mut time, mut found): (f64, Option<StepLimit>) = (0.0, None);
        for (at, state) in around(rows, k) {
            let Some(limit) = scene.step_limit(point(scene, inputs, *at, state)) else { return Ok(None) };
            let limit = limit?;
            if found.as_ref().is_none_or(|found| limit.largest > found.largest) {
                (time, found) = (*at, Some(limit));
            }
        }
        let Some(found) = found else { continue };
        if least.as_ref().is_none_or(|(_, least)| found.largest < least.largest) {
            least = Some((time, found));
        }
    }
    Ok(least)
}

/// What is to be said of a motion under `inputs`: `rows` are its times and states, `failed` is why it ended, if
/// it did.
pub fn warnings(
    scene: &dyn Scene,
    inputs: &Inputs<f64>,
    rows: &[(f64, Vec<f64>)],
    failed: Option<&StepError>,
) -> Vec<String> {
    let mut found = Vec::new();
    let seconds = rows.last().map_or(0.0, |(time, _)| *time);
    let steps = (seconds / scene.dt()).round() as usize * scene.substeps();
    let points = if failed.is_some() { POINTS } else { (steps / STEPS_PER_POINT).clamp(1, POINTS) };
    let unstable = |(time, state): &&(f64, Vec<f64>)| scene.unstable(point(scene, inputs, *time, state));
    let lasting = spread(rows, points).find(|k| around(rows, *k).iter().all(|row| unstable(&row)));
    let limit = lasting.map(|k| &rows[k]).and_then(|(time, state)| {
        let limit = scene.step_limit(point(scene, inputs, *time, state))?.ok()?;
        Some((*time, limit))
    });
    if let Some((time, StepLimit { step, largest, what })) = &limit {
        let remedy = remedy(scene, *step, *largest);
        found.push(format!(
            "at {time:.4} s steps of {step:.3e} s are above the largest stable one, about {largest:.3e} s, \
             set by {what}: {remedy}"
        ));
    }
    let stride = rows.len().div_ceil(ENERGY_ROWS).max(1);
    let energies = rows
        .iter()
        .step_by(stride)
        .map(|(time, state)| scene.energy(point(scene, inputs, *time, state)).map(|energy| (*time, energy)));
    if let Some(growth) = energies.collect::<Option<Vec<_>>>().and_then(|rows| energy_growth(&rows)) {
        let EnergyGrowth { time, start, highest } = growth;
        let fastest = fastest(scene, rows, time);
        let remedy =
            if limit.is_some() { "see the note on its step" } else { "make the step smaller, with --dt" };
        found.push(format!(
            "energy grows though nothing drives the scene: {start:.4} J at the start, more by {:.0} % of the motion's at \
             {time:.4} s, {highest:.4} J later; fastest is {fastest} then: {remedy}",
            100.0 * RISE
        ));
    }
    found
}

/// What to do about a step that is too large.
fn remedy(scene: &dyn Scene, step: f64, largest: f64) -> String {
    let (per_step, own) = (scene.substeps(), scene.dt());
    // A tenth below the limit, with one digit less than it is known to.
    let safe = 0.9 * largest;
    if per_step == 1 && own == step {
        format!("give --dt {safe:.1e}, or make what is stiff softer or heavier")
    } else if own > 2.0 * largest {
        format!(
            "its {per_step} inner steps are fixed: give --dt {safe:.1e} to take no longer ones, or make what is stiff softer or heavier"
        )
    } else {
        "make what is stiff softer or heavier".into()
    }
}

/// The velocity, or else the entry, that is largest at a time.
fn fastest(scene: &dyn Scene, rows: &[(f64, Vec<f64>)], time: f64) -> String {
    let state = &scene.layout().state;
    let Some((_, at)) = rows.iter().find(|(t, _)| *t >= time) else { return "nothing".into() };
    let moving = |i: &usize| state.unit(*i).contains("/s");
    let entry = (0..at.len()).filter(moving).max_by(|a, b| at[*a].abs().total_cmp(&at[*b].abs()));
    entry.map_or("nothing".into(), |i| format!("`{}`, {:.3e} {}", state.entry_name(i), at[i], state.unit(i)))
}

/// A row and its neighbors. An impact is stiff for a step and gone in the next: what is unstable lasts.
fn around(rows: &[(f64, Vec<f64>)], k: usize) -> &[(f64, Vec<f64>)] {
    &rows[k.saturating_sub(1)..(k + 2).min(rows.len())]
}

/// Numbers of some rows from the first to the last whose states, and those of the next, are finite.
fn spread(rows: &[(f64, Vec<f64>)], count: usize) -> impl Iterator<Item = usize> {
    let finite = rows.iter().take_while(|(_, state)| state.iter().all(|x| x.is_finite())).count();
    let usable = if finite < rows.len() { finite.saturating_sub(1) } else { finite };
    let mut shown: Vec<usize> =
        (0..count).map(|k| if count == 1 { 0 } else { k * usable.saturating_sub(1) / (count - 1) }).collect();
    shown.dedup();
    shown.into_iter().filter(move |k| *k < usable)
}

/// A point of a motion.
fn point<'a>(scene: &dyn Scene, inputs: &'a Inputs<f64>, time: f64, state: &'a [f64]) -> Point<'a, f64> {
    let width = scene.layout().control.len();
    let steps = inputs.controls.len().checked_div(width).unwrap_or(0);
    let step = ((time / scene.dt()).round() as usize).min(steps.saturating_sub(1));
    Point { params: &inputs.params, state, control: &inputs.controls[step * width..][..width] }
}
