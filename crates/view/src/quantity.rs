//! What is differentiated: an entry of the state, a coordinate of a body, or the mean of one over particles.

use pullback_core::layout::Layout;
use pullback_tasks::recording::Stage;
use serde::{Deserialize, Serialize};

/// Entries of the state that are offered by name; others can be asked for.
const MOST_OFFERED: usize = 400;

/// A number that a state gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Quantity {
    /// An entry of the state.
    State {
        /// Its name.
        entry: String,
    },
    /// A coordinate of the origin of a body, m.
    Body {
        /// Name of the body.
        body: String,
        /// Which coordinate.
        axis: Axis,
    },
    /// The mean of a coordinate over the particles of a slice of the state, m.
    Mean {
        /// Name of the slice.
        slice: String,
        /// Which coordinate.
        axis: Axis,
    },
}

/// A coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

/// A quantity whose names are looked up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resolved {
    /// The mean of these entries.
    Entries(Vec<usize>),
    /// A coordinate of a body.
    Body(usize, usize),
}

impl Quantity {
    /// Looks up the names among the states of a layout and the bodies of a stage.
    pub(crate) fn resolve(&self, layout: &Layout, bodies: &[String]) -> Result<Resolved, String> {
        let named = |e: pullback_core::ConfigError| e.to_string();
        match self {
            Quantity::State { entry } => {
                Ok(Resolved::Entries(vec![layout.state.index_of(entry).map_err(named)?]))
            }
            Quantity::Mean { slice, axis } => {
                let found = layout.state.slice(slice).map_err(named)?;
                if !found.len().is_multiple_of(3) {
                    return Err(format!("`{slice}` does not hold three coordinates for each particle"));
                }
                Ok(Resolved::Entries(found.range.clone().skip(*axis as usize).step_by(3).collect()))
            }
            Quantity::Body { body, axis } => {
                let found = bodies.iter().position(|name| name == body);
                let found = found.ok_or_else(|| format!("no body is called `{body}`"))?;
                Ok(Resolved::Body(found, *axis as usize))
            }
        }
    }

    /// Name, as it is shown.
    pub fn label(&self) -> String {
        let letter = |axis: &Axis| ["x", "y", "z"][*axis as usize];
        match self {
            Quantity::State { entry } => entry.clone(),
            Quantity::Body { body, axis } => format!("{} of {body}", letter(axis)),
            Quantity::Mean { slice, axis } => format!("mean {} of {slice}", letter(axis)),
        }
    }

    /// Unit of its values.
    pub(crate) fn unit<'a>(&self, layout: &'a Layout) -> &'a str {
        match self {
            Quantity::State { entry } => {
                layout.state.index_of(entry).map_or("1", |entry| layout.state.unit(entry))
            }
            _ => "m",
        }
    }

    /// Those of a scene: heights of bodies and particles first.
    pub(crate) fn offered(layout: &Layout, bodies: &[String], stage: &mut dyn Stage) -> Vec<Quantity> {
        let axes = [Axis::Z, Axis::X, Axis::Y];
        let (params, state) = (layout.params.defaults(), layout.state.defaults());
        let known = |b: &usize| stage.felt_mass(*b).is_some();
        let moving: Vec<usize> = (0..bodies.len()).filter(known).collect();
        let known = moving.first().is_some_and(|b| stage.body_position(*b, &params, &state).is_some());
        let mut all = Vec::new();
        for b in moving.into_iter().filter(|_| known) {
            all.extend(axes.map(|axis| Quantity::Body { body: bodies[b].clone(), axis }));
        }
        for slice in particles(layout) {
            all.extend(axes.map(|axis| Quantity::Mean { slice: slice.name.clone(), axis }));
        }
        let alone = layout.state.slices().iter().filter(|slice| slice.len() <= 6);
        let entries = alone.flat_map(|slice| (0..slice.len()).map(|i| slice.entry_name(i)));
        all.extend(entries.take(MOST_OFFERED).map(|entry| Quantity::State { entry }));
        all
    }
}

/// Slices of the state that hold the positions of particles.
pub(crate) fn particles(layout: &Layout) -> impl Iterator<Item = &pullback_core::layout::Slice> {
    let positions =
        |s: &&pullback_core::layout::Slice| s.unit == "m" && s.len() > 6 && s.len().is_multiple_of(3);
    layout.state.slices().iter().filter(positions)
}

impl Resolved {
    /// The value at a state.
    pub(crate) fn value(&self, stage: &mut dyn Stage, params: &[f64], state: &[f64]) -> Result<f64, String> {
        match self {
            Resolved::Entries(entries) => {
                Ok(entries.iter().map(|i| state[*i]).sum::<f64>() / entries.len().max(1) as f64)
            }
            Resolved::Body(body, axis) => {
                let position = stage.body_position(*body, params, state);
                position.map(|p| p[*axis]).ok_or_else(|| "this scene does not place bodies".into())
            }
        }
    }

    /// Its gradient with respect to the state and, where it depends on them at once, the parameters; *added*.
    pub(crate) fn add_gradient(
        &self,
        stage: &mut dyn Stage,
        at: (&[f64], &[f64]),
        (params_bar, state_bar): (&mut [f64], &mut [f64]),
    ) {
        match self {
            Resolved::Entries(entries) => {
                entries.iter().for_each(|i| state_bar[*i] += 1.0 / entries.len().max(1) as f64);
            }
            Resolved::Body(body, axis) => {
                let position_bar = std::array::from_fn(|k| f64::from(k == *axis));
                stage.body_position_vjp(*body, at, position_bar, (params_bar, state_bar));
            }
        }
    }
}
