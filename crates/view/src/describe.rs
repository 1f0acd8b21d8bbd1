//! What the page is told once: shapes, names, units, bounds.

use pullback_core::layout::Section;
use pullback_replay::{Frame, Replay, ReplayError};
use serde_json::{Value, json};

use crate::command::Vector;
use crate::quantity::Quantity;
use crate::simulation::Simulation;

/// Slices of up to so many entries show each of them; of longer ones all are set together.
const MOST_SEPARATE: usize = 6;

/// The description of a scene, with its first picture as a recording of one frame.
pub(crate) fn describe(simulation: &mut Simulation<'_>) -> Result<Value, ReplayError> {
    let scene = simulation.scene();
    let params = simulation.values(Vector::Params);
    let instant = simulation.instant();
    let mut picture = Replay {
        title: scene.name().into(),
        fps: 60.0,
        frames: vec![Frame { time: 0.0, poses: instant.poses, contacts: instant.contacts }],
        ..simulation.stage().shapes(&params)
    };
    for (shape, vertices) in picture.soft.iter_mut().zip(instant.soft) {
        shape.vertices.push(vertices);
    }
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
