//! [`InputMap`]: from the variables of a search to the inputs of a rollout, and cotangents back.
//!
//! A variable need not be an entry of the inputs. [`LinearMap`] makes entries weighted sums of variables, so
//! that one stiffness holds for two thousand particles; [`Transformed`] puts a [`Transform`] before any map,
//! so that a mass is searched by its logarithm. Objectives, planners and identification read inputs through
//! such a map.

use std::borrow::Cow;

use pullback_math::Real;

use crate::error::ConfigError;
use crate::inputs::Inputs;
use crate::layout::{Layout, Section};
use crate::rollout::Gradient;

/// One variable of a search.
///
/// ```
/// use pullback_core::input_map::Variable;
/// let mass = Variable::new("mass", "kg", (0.1, 10.0), 1.0);
/// assert!(mass.bounds.0 < mass.start && mass.start < mass.bounds.1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its unit; `1` for pure numbers.
    pub unit: Cow<'static, str>,
    /// Its bounds.
    pub bounds: (f64, f64),
    /// Its value when nothing else is said.
    pub start: f64,
}

impl Variable {
    /// A variable by name, unit, bounds and start.
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<Cow<'static, str>>,
        bounds: (f64, f64),
        start: f64,
    ) -> Self {
        Variable { name: name.into(), unit: unit.into(), bounds, start }
    }
}

/// A differentiable map from variables x to the inputs of a rollout.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::Inputs;
/// use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Variable};
/// // One variable throws a body up from where it is.
/// let mut map = LinearMap::new(vec![Variable::new("throw", "m/s", (0.0, 5.0), 1.0)]);
/// map.tie(InputEntry::State(1), 0.0, [(0, 1.0)]);
/// let mut inputs = Inputs::<f64>::defaults(&falling(0.01), 10);
/// map.apply(&[3.0], &mut inputs);
/// assert_eq!(inputs.state, [0.0, 3.0]);
/// ```
pub trait InputMap: Send + Sync {
    /// The variables, in order.
    fn variables(&self) -> &[Variable];
    /// Sets the entries of `inputs` that depend on x.
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>);
    /// The pullback of [`InputMap::apply`]: *adds* to the cotangent of x.
    fn apply_vjp<T: Real>(&self, x: &[T], bars: &Gradient<T>, x_bar: &mut [T]);
}

/// An entry of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEntry {
    /// Of the initial state.
    State(usize),
    /// Of the parameters.
    Params(usize),
    /// Of the controls of all steps.
    Control(usize),
}

impl InputEntry {
    /// The entry of `inputs`.
    pub fn of<T>(self, inputs: &mut Inputs<T>) -> &mut T {
        match self {
            InputEntry::State(i) => &mut inputs.state[i],
            InputEntry::Params(i) => &mut inputs.params[i],
            InputEntry::Control(i) => &mut inputs.controls[i],
        }
    }
    /// Its cotangent.
    pub fn bar<T: Copy>(self, gradient: &Gradient<T>) -> T {
        match self {
            InputEntry::State(i) => gradient.state[i],
            InputEntry::Params(i) => gradient.params[i],
            InputEntry::Control(i) => gradient.control[i],
        }
    }
}

/// Entries of the inputs that are linear in the variables: entry = offset + Σ weight·variable.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Described, Inputs};
/// use pullback_core::input_map::{InputMap, LinearMap};
/// let system = falling(0.01);
/// let base = Inputs::defaults(&system, 10);
/// let map = LinearMap::select(system.layout(), 10, &base, "state.height, params.gravity")?;
/// let map = map.with_bounds(&[(0.0, 5.0), (1.0, 20.0)])?;
/// assert_eq!(map.variables()[1].name, "params.gravity");
/// # Ok::<(), pullback_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LinearMap {
    variables: Vec<Variable>,
    /// Every entry that is set, and its offset.
    offsets: Vec<(InputEntry, f64)>,
    /// Entry, variable, weight.
    weights: Vec<(InputEntry, usize, f64)>,
}

impl LinearMap {
    /// Variables on which no entry depends yet.
    pub fn new(variables: Vec<Variable>) -> Self {
        LinearMap { variables, ..LinearMap::default() }
    }

    /// Makes `entry` = offset + Σ weight·variable.
    pub fn tie(&mut self, entry: InputEntry, offset: f64, weights: impl IntoIterator<Item = (usize, f64)>) {
        self.offsets.push((entry, offset));
        self.weights.extend(weights.into_iter().map(|(variable, weight)| (entry, variable, weight)));
    }

    /// Makes each entry the variable of the same number.
    pub fn direct(variables: Vec<Variable>, entries: impl IntoIterator<Item = InputEntry>) -> Self {
        let mut map = LinearMap::new(variables);
        for (i, entry) in entries.into_iter().enumerate() {
            map.tie(entry, 0.0, [(i, 1.0)]);
        }
        map
    }

    /// One variable per entry matched by `pattern`, such as `state.angle[0], params.*.mass, control.torque`,
    /// with the layout's bounds; variables start at `base`, which spans `steps` steps.
    pub fn select(
        layout: &Layout,
        steps: usize,
        base: &Inputs<f64>,
        pattern: &str,
    ) -> Result<Self, ConfigError> {
        let (mut variables, mut entries) = (Vec::new(), Vec::new());
        let mut base = base.clone();
        let mut add = |vector: &str, section: &Section, i: usize, when: &str, entry: InputEntry| {
            let name = format!("{vector}.{}{when}", section.entry_name(i));
            let unit = section.unit(i).to_owned();
            variables.push(Variable::new(name, unit, section.bounds(i), *entry.of(&mut base)));
            entries.push(entry);
        };
        for part in pattern.split(',').map(str::trim) {
            let (vector, rest) = part.split_once('.').unwrap_or((part, "*"));
            match vector {
                "state" => {
                    for i in layout.state.select(rest)? {
                        add(vector, &layout.state, i, "", InputEntry::State(i));
                    }
                }
                "params" => {
                    for i in layout.params.select(rest)? {
                        add(vector, &layout.params, i, "", InputEntry::Params(i));
                    }
                }
                "control" => {
                    for i in layout.control.select(rest)? {
                        for step in 0..steps {
                            let entry = InputEntry::Control(step * layout.control.len() + i);
                            add(vector, &layout.control, i, &format!("[step {step}]"), entry);
                        }
                    }
                }
                other => {
                    return Err(ConfigError::new(format!(
                        "`{other}` is not one of state, params, control (in `{part}`)"
                    )));
                }
            }
        }
        Ok(LinearMap::direct(variables, entries))
    }

    /// The same map with other bounds, one pair per variable.
    pub fn with_bounds(mut self, bounds: &[(f64, f64)]) -> Result<Self, ConfigError> {
        if bounds.len() != self.variables.len() {
            let (given, wanted) = (bounds.len(), self.variables.len());
            return Err(ConfigError::new(format!("{given} bounds for {wanted} variables")));
        }
        for (variable, bounds) in self.variables.iter_mut().zip(bounds) {
            variable.bounds = *bounds;
        }
        Ok(self)
    }

    /// The same map of the first `period` variables: variable i takes the place of i + period, i + 2 period, ... .
    /// One velocity of all particles, for example, is a period of 3 of the map of all their velocities.
    pub fn with_period(mut self, period: usize) -> Self {
        self.variables.truncate(period);
        self.weights.iter_mut().for_each(|(_, variable, _)| *variable %= period);
        self
    }
}

impl InputMap for LinearMap {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>) {
        for (entry, offset) in &self.offsets {
            *entry.of(inputs) = T::lit(*offset);
        }
        for (entry, variable, weight) in &self.weights {
            *entry.of(inputs) += x[*variable] * T::lit(*weight);
        }
    }
    fn apply_vjp<T: Real>(&self, _x: &[T], bars: &Gradient<T>, x_bar: &mut [T]) {
        for (entry, variable, weight) in &self.weights {
            x_bar[*variable] += entry.bar(bars) * T::lit(*weight);
        }
    }
}

/// A monotone map from a search variable z to a physical quantity x.
///
/// ```
/// use pullback_core::input_map::Transform;
/// let (mass, slope) = Transform::Log.eval(2.0f64.ln());
/// assert!((mass - 2.0).abs() < 1e-15 && (slope - 2.0).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Transform {
    /// x = z.
    #[default]
    Identity,
    /// x = exp z: positive quantities over orders of magnitude.
    Log,
    /// x = log(1 + exp z): positive, and linear for large z.
    Softplus,
    /// x = lower + (upper − lower)/(1 + exp(−z)): inside a box, for searches without bounds.
    Box {
        /// Lower end.
        lower: f64,
        /// Upper end.
        upper: f64,
    },
}

impl Transform {
    /// x, and dx/dz.
    pub fn eval<T: Real>(self, z: T) -> (T, T) {
        let sigmoid = |z: T| (T::one() + (-z).exp()).recip();
        match self {
            Transform::Identity => (z, T::one()),
            Transform::Log => (z.exp(), z.exp()),
            // log(1 + exp z) = max(z, 0) + log(1 + exp(−|z|)), without overflow
            Transform::Softplus => (z.max(T::zero()) + (T::one() + (-z.abs()).exp()).ln(), sigmoid(z)),
            Transform::Box { lower, upper } => {
                let (s, width) = (sigmoid(z), T::lit(upper - lower));
                (T::lit(lower) + width * s, width * s * (T::one() - s))
            }
        }
    }

    /// z at which the quantity is x; infinite at the ends of its range.
    pub fn inverse(self, x: f64) -> f64 {
        match self {
            Transform::Identity => x,
            Transform::Log => x.ln(),
            Transform::Softplus => x + (-(-x).exp_m1()).ln(),
            Transform::Box { lower, upper } => ((x - lower) / (upper - x)).ln(),
        }
    }

    /// Bounds of z where those of x are given. Bounds beyond the range of the transform do not bound.
    pub fn bounds(self, (lower, upper): (f64, f64)) -> (f64, f64) {
        let bound = |x: f64, beyond: f64| Some(self.inverse(x)).filter(|z| !z.is_nan()).unwrap_or(beyond);
        (bound(lower, f64::NEG_INFINITY), bound(upper, f64::INFINITY))
    }
}

/// A map whose variables are transformed first.
///
/// ```
/// use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Transformed, Variable};
/// let mass = Variable::new("mass", "kg", (0.1, 10.0), 1.0);
/// let map = LinearMap::direct(vec![mass], [InputEntry::Params(0)]);
/// let map = Transformed::new(map, vec![Transform::Log])?;
/// assert_eq!((map.variables()[0].name.as_str(), map.variables()[0].start), ("log mass", 0.0));
/// # Ok::<(), pullback_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transformed<M> {
    map: M,
    transforms: Vec<Transform>,
    variables: Vec<Variable>,
}

impl<M: InputMap> Transformed<M> {
    /// Puts one transform before each variable of `map`; bounds and starts are those of `map` seen through
    /// them.
    pub fn new(map: M, transforms: Vec<Transform>) -> Result<Self, ConfigError> {
        if transforms.len() != map.variables().len() {
            let (given, wanted) = (transforms.len(), map.variables().len());
            return Err(ConfigError::new(format!("{given} transforms for {wanted} variables")));
        }
        let mut variables = map.variables().to_vec();
        for (variable, transform) in variables.iter_mut().zip(&transforms) {
            let start = transform.inverse(variable.start);
            if !start.is_finite() {
                return Err(ConfigError::new(format!(
                    "`{}` starts at {}, which {transform:?} does not reach",
                    variable.name, variable.start
                )));
            }
            variable.bounds = transform.bounds(variable.bounds);
            variable.start = start;
            match transform {
                Transform::Identity => {}
                Transform::Log => variable.name = format!("log {}", variable.name),
                Transform::Softplus => variable.name = format!("softplus⁻¹ {}", variable.name),
                Transform::Box { .. } => variable.name = format!("logit {}", variable.name),
            }
            if *transform != Transform::Identity {
                variable.unit = Cow::Borrowed("1");
            }
        }
        Ok(Transformed { map, transforms, variables })
    }

    /// The map behind the transforms, whose variables are the quantities themselves.
    pub fn map(&self) -> &M {
        &self.map
    }

    /// The transform of each variable.
    pub fn transforms(&self) -> &[Transform] {
        &self.transforms
    }

    /// The quantities at z.
    pub fn physical<T: Real>(&self, z: &[T]) -> Vec<T> {
        z.iter().zip(&self.transforms).map(|(z, transform)| transform.eval(*z).0).collect()
    }
}

impl<M: InputMap> InputMap for Transformed<M> {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }
    fn apply<T: Real>(&self, z: &[T], inputs: &mut Inputs<T>) {
        self.map.apply(&self.physical(z), inputs);
    }
    fn apply_vjp<T: Real>(&self, z: &[T], bars: &Gradient<T>, z_bar: &mut [T]) {
        let x = self.physical(z);
        let mut x_bar = vec![T::zero(); x.len()];
        self.map.apply_vjp(&x, bars, &mut x_bar);
        for (((z_bar, x_bar), z), transform) in z_bar.iter_mut().zip(x_bar).zip(z).zip(&self.transforms) {
            *z_bar += x_bar * transform.eval(*z).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;
    use crate::doc_example::falling;
    use crate::rollout::{FinalState, Rollout};

    #[test]
    fn transforms_and_their_inverses_agree() {
        let all = [
            Transform::Identity,
            Transform::Log,
            Transform::Softplus,
            Transform::Box { lower: -1.0, upper: 30.0 },
        ];
        for transform in all {
            for x in [0.01, 0.7, 3.0, 25.0] {
                let z = transform.inverse(x);
                let (back, slope) = transform.eval(z);
                assert!((back - x).abs() < 1e-12 * (1.0 + x), "{transform:?} at {x}: {back}");
                let h = 1e-6;
                let difference = (transform.eval(z + h).0 - transform.eval(z - h).0) / (2.0 * h);
                assert!((slope - difference).abs() < 1e-7 * (1.0 + slope.abs()), "{transform:?} at {x}");
            }
        }
    }

    #[test]
    fn gradients_go_back_through_ties_and_transforms() {
        // One variable sets height and velocity, another the logarithm of gravity.
        let variable = |name: &str, start| Variable::new(name, "1", (0.1, 20.0), start);
        let mut ties = LinearMap::new(vec![variable("throw", 2.0), variable("gravity", 9.81)]);
        ties.tie(InputEntry::State(0), 1.0, [(0, 0.5)]);
        ties.tie(InputEntry::State(1), 0.0, [(0, 3.0)]);
        ties.tie(InputEntry::Params(0), 0.0, [(1, 1.0)]);
        let map = Transformed::new(ties, vec![Transform::Identity, Transform::Log]).unwrap();
        assert_eq!(map.variables()[1].name, "log gravity");
        assert_eq!(map.variables()[1].bounds, (0.1f64.ln(), 20.0f64.ln()));

        let rollout = Rollout::new(falling(0.01), 30, Schedule::StoreAll).unwrap();
        let loss = FinalState { weights: vec![1.0, -0.5] };
        let mut ws = rollout.workspace::<f64>();
        let mut value = |x: &[f64], gradient: Option<&mut [f64]>| {
            let mut inputs = Inputs::defaults(&rollout.system, 30);
            map.apply(x, &mut inputs);
            rollout.gradient(&mut ws, &inputs, &loss).unwrap();
            if let Some(gradient) = gradient {
                map.apply_vjp(x, &ws.gradient, gradient);
            }
            ws.gradient.loss
        };
        let x: Vec<f64> = map.variables().iter().map(|v| v.start).collect();
        let mut gradient = vec![0.0; 2];
        value(&x, Some(&mut gradient));
        for i in 0..2 {
            let h = 1e-6;
            let mut moved = |by: f64| {
                let mut x = x.clone();
                x[i] += by;
                value(&x, None)
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((gradient[i] - difference).abs() < 1e-7, "{i}: {} against {difference}", gradient[i]);
        }
    }

    #[test]
    fn patterns_select_entries_with_their_bounds_and_starts() {
        let system = falling(0.01);
        let base = Inputs { state: vec![10.0, 0.3], controls: vec![], params: vec![9.0] };
        let layout = crate::Described::layout(&system);
        let map = LinearMap::select(layout, 5, &base, "state.height, params").unwrap();
        let found: Vec<_> = map.variables().iter().map(|v| (v.name.as_str(), v.start)).collect();
        assert_eq!(found, [("state.height", 10.0), ("params.gravity", 9.0)]);
        let error = LinearMap::select(layout, 5, &base, "mass").unwrap_err().to_string();
        assert_eq!(error, "`mass` is not one of state, params, control (in `mass`)");
        assert!(map.with_bounds(&[(0.0, 1.0)]).is_err());
    }
}
