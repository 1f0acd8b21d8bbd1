//! The gradient of a quantity some steps ahead with respect to everything that leads there.

use std::time::Instant;

use pullback_core::layout::Section;
use pullback_core::rollout::{FinalState, Inputs, Rollout};
use pullback_core::{Described, Schedule};
use pullback_tasks::Scene;
use pullback_tasks::recording::Stage;
use serde::{Deserialize, Serialize};

use crate::command::Vector;
use crate::quantity::{Quantity, particles};

/// Steps ahead, at most.
pub const MOST_STEPS: usize = 2000;
/// Entries that are told of each vector, at most: those with the largest gradients.
const MOST_ENTRIES: usize = 24;
/// Arrows on particles, at most.
const MOST_ARROWS: usize = 400;
/// Bytes of states that are kept for the way back, at most.
const MOST_BYTES: usize = 256 << 20;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientRequest {
    /// Of what.
    pub quantity: Quantity,
    /// How many steps ahead.
    pub steps: usize,
}

/// d quantity / d entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryGradient {
    /// The vector of the entry.
    pub vector: Vector,
    /// Name of the entry.
    pub name: String,
    /// Unit of the entry.
    pub unit: String,
    /// The derivative; of a control that is held over all steps.
    pub gradient: f64,
}

/// d quantity / d place or force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arrow {
    /// The body whose origin it belongs to; of particles none.
    pub body: Option<usize>,
    /// Where it begins, m.
    pub position: [f64; 3],
    /// The derivative.
    pub vector: [f64; 3],
}

/// A gradient.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradientReport {
    /// Of what.
    pub request: GradientRequest,
    /// Its name.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Step at which it was computed.
    pub step: u64,
    /// The quantity then.
    pub now: f64,
    /// The quantity after the steps.
    pub ahead: f64,
    /// Seconds until then.
    pub seconds: f64,
    /// The largest derivatives with respect to controls, state and parameters, in this order.
    pub entries: Vec<EntryGradient>,
    /// Derivatives with respect to forces on bodies that are held over all steps, or to positions of particles.
    pub arrows: Vec<Arrow>,
    /// Unit of what arrows are derivatives by: `N` or `m`.
    pub arrows_by: String,
    /// How long it took, s.
    pub took: f64,
}

/// Where a gradient is computed.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub request: GradientRequest,
    pub step: u64,
    /// From the state at that step, with the controls of the steps ahead.
    pub inputs: Inputs<f64>,
}

/// Computes a gradient; an error says why there is none.
pub(crate) fn compute(
    scene: &dyn Scene,
    stage: &mut dyn Stage,
    bodies: &[String],
    job: &Job,
) -> Result<GradientReport, String> {
    let (begun, Job { request, step, inputs }) = (Instant::now(), job);
    let layout = scene.layout();
    let quantity = request.quantity.resolve(layout, bodies)?;
    let rollout = rollout(scene, request.steps)?;
    let mut ws = rollout.workspace::<f64>();
    let mut last = Vec::new();
    rollout
        .simulate(&mut ws, inputs, |at| {
            if at.last() {
                last.extend_from_slice(at.state);
            }
        })
        .map_err(|e| e.to_string())?;

    let mut weights = vec![0.0; layout.state.len()];
    let mut at_once = vec![0.0; layout.params.len()];
    quantity.add_gradient(stage, (&inputs.params, &last), (&mut at_once, &mut weights));
    rollout.gradient(&mut ws, inputs, &FinalState { weights }).map_err(|e| e.to_string())?;
    let mut params = std::mem::take(&mut ws.gradient.params);
    params.iter_mut().zip(&at_once).for_each(|(whole, part)| *whole += part);
    let mut control = vec![0.0; layout.control.len()];
    for of_step in ws.gradient.control.chunks(control.len().max(1)) {
        control.iter_mut().zip(of_step).for_each(|(sum, bar)| *sum += bar);
    }

    let pushes = pushes(&layout.control, bodies);
    let pushed = |i: usize| pushes.iter().flatten().any(|first| (*first..first + 6).contains(&i));
    let mut entries = largest(Vector::Control, &layout.control, &control, |i| !pushed(i));
    entries.extend(largest(Vector::State, &layout.state, &ws.gradient.state, |_| true));
    entries.extend(largest(Vector::Params, &layout.params, &params, |_| true));
    let (arrows, arrows_by) = if pushes.iter().any(Option::is_some) {
        (on_bodies(stage, inputs, &pushes, &control), "N")
    } else {
        (on_particles(scene, inputs, &ws.gradient.state), "m")
    };
    Ok(GradientReport {
        label: request.quantity.label(),
        unit: request.quantity.unit(layout).to_owned(),
        step: *step,
        now: quantity.value(stage, &inputs.params, &inputs.state)?,
        ahead: quantity.value(stage, &inputs.params, &last)?,
        seconds: request.steps as f64 * scene.dt(),
        entries,
        arrows,
        arrows_by: arrows_by.into(),
        took: begun.elapsed().as_secs_f64(),
        request: request.clone(),
    })
}

/// The steps ahead, with as many states kept as there is room for.
fn rollout(scene: &dyn Scene, steps: usize) -> Result<Rollout<&pullback_core::Erased>, String> {
    let substeps = scene.substeps();
    let slots = (MOST_BYTES / (8 * scene.layout().state.len().max(1))).max(2);
    let schedule = if steps * substeps < slots { Schedule::StoreAll } else { Schedule::Revolve { slots } };
    let rollout = Rollout::new(scene.system(), steps, schedule).map_err(|e| e.to_string())?;
    rollout.with_substeps(substeps).map_err(|e| e.to_string())
}

/// Where the push on each body begins in the control: `BODY.force`, then `BODY.torque`.
pub(crate) fn pushes(control: &Section, bodies: &[String]) -> Vec<Option<usize>> {
    let slices = control.slices();
    let first = |name: &String| {
        let (force, torque) = (format!("{name}.force"), format!("{name}.torque"));
        let found = slices.windows(2).find(|pair| pair[0].name == force && pair[1].name == torque)?;
        (found[0].len() == 3 && found[1].len() == 3).then_some(found[0].range.start)
    };
    bodies.iter().map(first).collect()
}

/// The largest derivatives, the largest first.
fn largest(
    vector: Vector,
    section: &Section,
    gradient: &[f64],
    told: impl Fn(usize) -> bool,
) -> Vec<EntryGradient> {
    let mut order: Vec<usize> = (0..gradient.len()).filter(|i| told(*i) && gradient[*i] != 0.0).collect();
    order.sort_by(|i, j| gradient[*j].abs().total_cmp(&gradient[*i].abs()));
    order.truncate(MOST_ENTRIES);
    let entry = |i: usize| EntryGradient {
        vector,
        name: section.entry_name(i),
        unit: section.unit(i).to_owned(),
        gradient: gradient[i],
    };
    order.into_iter().map(entry).collect()
}

/// Arrows at the origins of bodies: derivatives with respect to forces.
fn on_bodies(
    stage: &mut dyn Stage,
    inputs: &Inputs<f64>,
    pushes: &[Option<usize>],
    control: &[f64],
) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for (body, first) in pushes.iter().enumerate().filter_map(|(body, first)| Some((body, (*first)?))) {
        let Some(position) = stage.body_position(body, &inputs.params, &inputs.state) else { continue };
        let vector = std::array::from_fn(|k| control[first + k]);
        if stage.felt_mass(body).is_some() {
            arrows.push(Arrow { body: Some(body), position, vector });
        }
    }
    arrows
}

/// Arrows at particles, some of them where there are many: derivatives with respect to their positions.
fn on_particles(scene: &dyn Scene, inputs: &Inputs<f64>, gradient: &[f64]) -> Vec<Arrow> {
    let count: usize = particles(scene.system().layout()).map(|slice| slice.len() / 3).sum();
    let every = count.div_ceil(MOST_ARROWS).max(1);
    let first = particles(scene.layout()).flat_map(|slice| slice.range.clone().step_by(3));
    let arrow = |i: usize| Arrow {
        body: None,
        position: std::array::from_fn(|k| inputs.state[i + k]),
        vector: std::array::from_fn(|k| gradient[i + k]),
    };
    first.step_by(every).map(arrow).collect()
}
