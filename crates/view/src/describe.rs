//! What the page is told once: shapes, names, units, bounds.

use std::time::{Duration, Instant};

use pullback_core::layout::Section;
use pullback_replay::{Frame, Replay, ReplayError};
use serde_json::{Value, json};

use crate::command::{Command, Vector};
use crate::quantity::Quantity;
use crate::simulation::Simulation;

/// Slices of up to so many entries show each of them; of longer ones all are set together.
const MOST_SEPARATE: usize = 6;

/// How far the preview goes, s, and how long it may take.
const PREVIEW: (f64, Duration) = (2.0, Duration::from_millis(300));
/// Frames of the preview.
const FRAMES: f64 = 10.0;

/// The description of a scene, with what comes first as a recording: the page shows its first frame and sets the
/// camera so that all of it is seen. The simulation is at its start again afterwards.
pub(crate) fn describe(
    simulation: &mut Simulation<'_>,
    keyframe: Option<&str>,
) -> Result<Value, ReplayError> {
    let scene = simulation.scene();
    let params = simulation.values(Vector::Params);
    let mut picture = Replay { title: scene.name().into(), fps: 60.0, ..simulation.stage().shapes(&params) };
    let (begun, every) = (Instant::now(), (PREVIEW.0 / FRAMES / scene.dt()).ceil() as u64);
    while simulation.time() < PREVIEW.0 && begun.elapsed() < PREVIEW.1 {
        if simulation.step().is_multiple_of(every) {
            add_frame(&mut picture, simulation);
        }
        if simulation.advance().is_err() {
            break;
        }
    }
    // The same start was found before.
    let _ = simulation.obey(&Command::Reset { keyframe: keyframe.map(String::from) });
    let bodies = simulation.bodies().to_vec();
    let pulled: Vec<bool> = (0..bodies.len()).map(|body| simulation.can_be_pulled(body)).collect();
    let layout = scene.layout();
    let quantities = Quantity::offered(layout, &bodies, simulation.stage());
    let quantities: Vec<Value> =
        quantities.iter().map(|q| json!({ "label": q.label(), "quantity": q })).collect();
    let control = simulation.values(Vector::Control);
    Ok(json!({
        "title": scene.name(),
        "summary": scene.summary(),
        "dt": scene.dt(),
        "recording": picture.to_json()?,
        "pulled": pulled,
        "keyframes": scene.keyframes().iter().map(|key| &key.name).collect::<Vec<_>>(),
        "control": inputs(&layout.control, &control, |entry| !simulation.is_push(entry)),
        "params": inputs(&layout.params, &params, |_| true),
        "quantities": quantities,
        // About a third of a second.
        "steps": (0.3 / scene.dt()).round().clamp(1.0, 200.0),
    }))
}

/// Adds what is seen now.
fn add_frame(picture: &mut Replay, simulation: &mut Simulation<'_>) {
    let instant = simulation.instant();
    let (time, poses, contacts) = (simulation.time(), instant.poses, instant.contacts);
    picture.frames.push(Frame { time, poses, contacts });
    for (shape, vertices) in picture.soft.iter_mut().zip(instant.soft) {
        shape.vertices.push(vertices);
    }
}

/// What can be set of a vector: an item per entry, or per slice where it is long.
fn inputs(section: &Section, values: &[f64], shown: impl Fn(usize) -> bool) -> Vec<Value> {
    let slices = section.slices().iter().filter(|slice| !slice.is_empty() && shown(slice.range.start));
    let items = slices.flat_map(|slice| {
        let item = |name: String, entry: usize, count: usize| {
            json!({
                "name": name, "unit": slice.unit, "doc": slice.doc, "count": count,
                "entry": entry, "value": values[entry], "lower": slice.lower, "upper": slice.upper,
            })
        };
        let separate = slice.len() <= MOST_SEPARATE;
        let count = if separate { slice.len() } else { 1 };
        (0..count).map(move |i| match separate {
            true => item(slice.entry_name(i), slice.range.start + i, 1),
            false => item(slice.name.clone(), slice.range.start, slice.len()),
        })
    });
    items.collect()
}
