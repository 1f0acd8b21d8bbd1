//! The variables of a loss file as a map to the inputs of a rollout.

use pullback_control::Interpolation;
use pullback_core::ConfigError;
use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Transformed, Variable};
use pullback_core::layout::{Layout, Section};
use pullback_core::rollout::{Gradient, Inputs};
use pullback_math::Real;

use super::file::{InputVector, LossFile, Tie, Vary};
use super::loss::select;
use crate::identify::TransformName;

/// From the variables of a loss file to inputs.
pub type GoalMap = Transformed<Clamped<LinearMap>>;

/// A logistic curve ends this part of its width before its bounds.
const INSIDE: f64 = 1e-4;

/// A map some of whose entries are taken into their limits: cubics leave them between knots.
#[derive(Clone, Debug)]
pub struct Clamped<M> {
    map: M,
    limits: Vec<(InputEntry, (f64, f64))>,
}

impl<M: InputMap> Clamped<M> {
    /// Entries at their places before they are clamped.
    fn unclamped<T: Real>(&self, x: &[T], bars: &Gradient<T>) -> Inputs<T> {
        let zeros = |like: &[T]| vec![T::zero(); like.len()];
        let (state, controls) = (zeros(&bars.state), zeros(&bars.control));
        let mut inputs = Inputs { state, controls, params: zeros(&bars.params) };
        self.map.apply(x, &mut inputs);
        inputs
    }
}

impl<M: InputMap> InputMap for Clamped<M> {
    fn variables(&self) -> &[Variable] {
        self.map.variables()
    }
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>) {
        self.map.apply(x, inputs);
        for (entry, (low, high)) in &self.limits {
            let of = entry.of(inputs);
            *of = of.max(T::lit(*low)).min(T::lit(*high));
        }
    }
    fn apply_vjp<T: Real>(&self, x: &[T], bars: &Gradient<T>, x_bar: &mut [T]) {
        if self.limits.is_empty() {
            return self.map.apply_vjp(x, bars, x_bar);
        }
        let (mut at, mut bars) = (self.unclamped(x, bars), bars.clone());
        for (entry, (low, high)) in &self.limits {
            // Beyond a limit nothing depends on the variables any more.
            let InputEntry::Control(i) = *entry else { continue };
            let (u, bar) = (*entry.of(&mut at), bars.control[i]);
            let (below, _) = u.max(T::lit(*low)).min_vjp(T::lit(*high), bar);
            (bars.control[i], _) = u.max_vjp(T::lit(*low), below);
        }
        self.map.apply_vjp(x, &bars, x_bar);
    }
}

/// The variables of a loss file for a motion of so many controls from `base`.
pub(super) fn variables(
    file: &LossFile,
    layout: &Layout,
    base: &Inputs<f64>,
    steps: usize,
) -> Result<GoalMap, ConfigError> {
    let mut made = Made { layout, base, steps, entries: Vec::new(), parts: Vec::new() };
    for (i, vary) in file.vary.iter().enumerate() {
        let added = made.add(vary);
        added.map_err(|e| ConfigError::new(format!("{}: vary {}: {e}", file.name, i + 1)))?;
    }
    let Made { entries, parts, .. } = made;
    let mut taken: Vec<InputEntry> = entries.iter().map(|e| e.entry).collect();
    let key = |e: &InputEntry| match *e {
        InputEntry::State(i) => (0, i),
        InputEntry::Control(i) => (1, i),
        InputEntry::Params(i) => (2, i),
    };
    taken.sort_unstable_by_key(key);
    if let Some(twice) = taken.windows(2).find(|pair| pair[0] == pair[1]) {
        let name = match twice[0] {
            InputEntry::State(i) => format!("state.{}", layout.state.entry_name(i)),
            InputEntry::Control(i) => {
                format!("control.{}", layout.control.entry_name(i % layout.control.len()))
            }
            InputEntry::Params(i) => format!("params.{}", layout.params.entry_name(i)),
        };
        return Err(ConfigError::new(format!("{}: `{name}` is set by two of [[vary]]", file.name)));
    }
    let (variables, transforms) = parts.into_iter().unzip();
    let mut map = LinearMap::new(variables);
    let mut limits = Vec::new();
    for Entry { entry, weights, limit } in entries {
        map.tie(entry, 0.0, weights);
        limits.extend(limit.map(|limit| (entry, limit)));
    }
    Transformed::new(Clamped { map, limits }, transforms)
}

/// An entry of the inputs and the variables it is a sum of.
struct Entry {
    entry: InputEntry,
    weights: Vec<(usize, f64)>,
    limit: Option<(f64, f64)>,
}

/// Variables and entries so far.
struct Made<'a> {
    layout: &'a Layout,
    base: &'a Inputs<f64>,
    steps: usize,
    entries: Vec<Entry>,
    parts: Vec<(Variable, Transform)>,
}

/// A quantity before it has variables: entries of its vector with a factor each.
struct Quantity {
    name: String,
    unit: String,
    entries: Vec<(usize, f64)>,
    start: f64,
    bounds: (f64, f64),
}

impl Made<'_> {
    fn add(&mut self, vary: &Vary) -> Result<(), ConfigError> {
        let (section, values) = match vary.vector {
            InputVector::State => (&self.layout.state, &self.base.state[..]),
            InputVector::Params => (&self.layout.params, &self.base.params[..]),
            // Those of the first step.
            InputVector::Control => (
                &self.layout.control,
                &self.base.controls[..self.layout.control.len().min(self.base.controls.len())],
            ),
        };
        let chosen = select(section, vary.vector.name(), &vary.pattern)?;
        for quantity in quantities(vary, section, values, chosen)? {
            match vary.vector {
                InputVector::Control => self.control(vary, &quantity)?,
                InputVector::State => self.plain(vary, &quantity, InputEntry::State)?,
                InputVector::Params => self.plain(vary, &quantity, InputEntry::Params)?,
            }
        }
        Ok(())
    }

    /// One variable.
    fn variable(&mut self, vary: &Vary, quantity: &Quantity, when: &str) -> Result<usize, ConfigError> {
        let name = format!("{}{when}", quantity.name);
        let wrong = |what: String| Err(ConfigError::new(format!("`{name}`: {what}")));
        let (low, high) = vary.bounds.unwrap_or(quantity.bounds);
        let start = quantity.start;
        if !(low..=high).contains(&start) {
            return wrong(format!(
                "its start {start} is outside its bounds {low} and {high}; give `start` or `bounds`"
            ));
        }
        let positive = |what: &str| match low > 0.0 {
            true => Ok(()),
            false => Err(ConfigError::new(format!(
                "`{name}`: its lower bound is {low}; {what} needs one above 0: give `bounds`"
            ))),
        };
        let (transform, bounds) = match vary.transform {
            TransformName::Identity => (Transform::Identity, (low, high)),
            TransformName::Log => {
                positive("log")?;
                (Transform::Log, (low, high))
            }
            TransformName::Softplus => {
                positive("softplus")?;
                (Transform::Softplus, (low, high))
            }
            TransformName::Box if low.is_finite() && high.is_finite() => {
                let inside = INSIDE * (high - low);
                (Transform::Box { lower: low, upper: high }, (low + inside, high - inside))
            }
            TransformName::Box => return wrong("a box needs `bounds`".into()),
        };
        let start = start.clamp(bounds.0, bounds.1);
        self.parts.push((Variable::new(name, quantity.unit.clone(), bounds, start), transform));
        Ok(self.parts.len() - 1)
    }

    /// A state or parameter.
    fn plain(
        &mut self,
        vary: &Vary,
        quantity: &Quantity,
        entry: fn(usize) -> InputEntry,
    ) -> Result<(), ConfigError> {
        let variable = self.variable(vary, quantity, "")?;
        for (i, factor) in &quantity.entries {
            self.entries.push(Entry { entry: entry(*i), weights: vec![(variable, *factor)], limit: None });
        }
        Ok(())
    }

    /// A control: a variable for each step, or knots.
    fn control(&mut self, vary: &Vary, quantity: &Quantity) -> Result<(), ConfigError> {
        let width = self.layout.control.len();
        let (count, word) = match vary.knots {
            None => (self.steps, "step"),
            Some(knots) if knots <= self.steps => (knots, "knot"),
            Some(knots) => {
                return Err(ConfigError::new(format!("{knots} knots for {} control steps", self.steps)));
            }
        };
        let mut variables = Vec::with_capacity(count);
        for k in 0..count {
            variables.push(self.variable(vary, quantity, &format!("[{word} {k}]"))?);
        }
        let cubic = vary.knots.is_some() && vary.interpolation == Interpolation::Cubic;
        for step in 0..self.steps {
            let weights = match vary.knots {
                None => vec![(step, 1.0)],
                Some(knots) => knot_weights(vary.interpolation, step, self.steps, knots),
            };
            for (i, factor) in &quantity.entries {
                let limit = vary.bounds.unwrap_or(self.layout.control.bounds(*i));
                self.entries.push(Entry {
                    entry: InputEntry::Control(step * width + i),
                    weights: weights.iter().map(|(k, w)| (variables[*k], w * factor)).collect(),
                    limit: (cubic && vary.tie != Tie::Factor).then_some(limit),
                });
            }
        }
        Ok(())
    }
}

/// Knots and their weights for the control of a step. Held controls split the motion into equal segments; lines
/// and cubics go from the first step to the last.
fn knot_weights(interpolation: Interpolation, step: usize, steps: usize, knots: usize) -> Vec<(usize, f64)> {
    if knots == 1 || steps == 1 {
        return vec![(0, 1.0)];
    }
    if interpolation == Interpolation::Zero {
        return vec![(step * knots / steps, 1.0)];
    }
    let place = step as f64 * (knots - 1) as f64 / (steps - 1) as f64;
    let first = (place as usize).min(knots - 2);
    let t = place - first as f64;
    if interpolation == Interpolation::Linear {
        return vec![(first, 1.0 - t), (first + 1, t)];
    }
    // Catmull and Rom; knots beyond the ends are those at the ends.
    let (t2, t3) = (t * t, t * t * t);
    let four =
        [-0.5 * t + t2 - 0.5 * t3, 1.0 - 2.5 * t2 + 1.5 * t3, 0.5 * t + 2.0 * t2 - 1.5 * t3, 0.5 * (t3 - t2)];
    let knot = |k: usize| (first + k).saturating_sub(1).min(knots - 1);
    four.iter().enumerate().map(|(k, weight)| (knot(k), *weight)).collect()
}

/// The quantities that entries are made of.
fn quantities(
    vary: &Vary,
    section: &Section,
    values: &[f64],
    chosen: Vec<usize>,
) -> Result<Vec<Quantity>, ConfigError> {
    let vector = vary.vector.name();
    let starts = |len: usize| match &vary.start {
        None => Ok(None),
        Some(one) if one.len() == 1 => Ok(Some(vec![one[0]; len])),
        Some(all) if all.len() == len => Ok(Some(all.clone())),
        Some(all) => Err(ConfigError::new(format!("{} starts for {len} variables", all.len()))),
    };
    match vary.tie {
        Tie::Free => {
            let starts = starts(chosen.len())?;
            let quantity = |(k, i): (usize, usize)| Quantity {
                name: format!("{vector}.{}", section.entry_name(i)),
                unit: section.unit(i).to_owned(),
                entries: vec![(i, 1.0)],
                start: starts.as_ref().map_or(values[i], |starts| starts[k]),
                bounds: section.bounds(i),
            };
            Ok(chosen.into_iter().enumerate().map(quantity).collect())
        }
        Tie::Equal => {
            let mean = chosen.iter().map(|i| values[*i]).sum::<f64>() / chosen.len() as f64;
            let ends = chosen.iter().map(|i| section.bounds(*i));
            let bounds = ends
                .fold((f64::NEG_INFINITY, f64::INFINITY), |(low, high), (l, h)| (low.max(l), high.min(h)));
            Ok(vec![Quantity {
                name: format!("{vector}.{}", vary.pattern),
                unit: section.unit(chosen[0]).to_owned(),
                start: starts(1)?.map_or(mean, |starts| starts[0]),
                entries: chosen.into_iter().map(|i| (i, 1.0)).collect(),
                bounds,
            }])
        }
        Tie::Factor => {
            let entries: Vec<(usize, f64)> =
                chosen.into_iter().map(|i| (i, values[i])).filter(|(_, value)| *value != 0.0).collect();
            if entries.is_empty() {
                return Err(ConfigError::new(format!(
                    "all of `{}` are zero, and so is any multiple",
                    vary.pattern
                )));
            }
            Ok(vec![Quantity {
                name: format!("{vector}.{} times", vary.pattern),
                unit: "1".into(),
                entries,
                start: starts(1)?.map_or(1.0, |starts| starts[0]),
                bounds: (0.0, f64::INFINITY),
            }])
        }
    }
}
