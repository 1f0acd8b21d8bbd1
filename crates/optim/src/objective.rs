//! [`Objective`]: a loss over a few chosen numbers, what optimizers and landscapes consume.

use std::sync::Mutex;

use pullback_core::gradcheck::Differentiable;
use pullback_core::input_map::{InputMap, LinearMap};
use pullback_core::picture::Picture;
use pullback_core::rollout::{Gradient, Inputs, Loss, Rollout, RolloutWorkspace};
use pullback_core::{ConfigError, StepError, System};
use pullback_math::{Dual, Real};

/// A function of R^n with bounds and a gradient.
///
/// ```
/// use pullback_core::StepError;
/// use pullback_optim::Objective;
/// /// L = (x − 1)².
/// struct Bowl;
/// impl Objective for Bowl {
///     fn names(&self) -> Vec<String> {
///         vec!["x".into()]
///     }
///     fn bounds(&self) -> Vec<(f64, f64)> {
///         vec![(-2.0, 2.0)]
///     }
///     fn start(&self) -> Vec<f64> {
///         vec![0.0]
///     }
///     fn value(&self, x: &[f64]) -> Result<f64, StepError> {
///         Ok((x[0] - 1.0).powi(2))
///     }
///     fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
///         grad[0] = 2.0 * (x[0] - 1.0);
///         self.value(x)
///     }
/// }
/// assert_eq!(Bowl.value(&[1.0])?, 0.0);
/// # Ok::<(), StepError>(())
/// ```
pub trait Objective: Sync {
    /// A name for each variable; their number is the dimension.
    fn names(&self) -> Vec<String>;
    /// A unit for each variable; `1` for pure numbers.
    fn units(&self) -> Vec<String> {
        vec!["1".into(); self.names().len()]
    }
    /// Bounds of each variable.
    fn bounds(&self) -> Vec<(f64, f64)>;
    /// The variables' values when nothing else is said.
    fn start(&self) -> Vec<f64>;
    /// A value that none is below, if one is known: zero for distances. Descents take no steps that promise
    /// less.
    fn floor(&self) -> Option<f64> {
        None
    }
    /// The value at `x`.
    fn value(&self, x: &[f64]) -> Result<f64, StepError>;
    /// What there is to see at `x`, if anything: fields beside what they are to become.
    fn pictures(&self, _x: &[f64]) -> Result<Vec<Picture>, StepError> {
        Ok(Vec::new())
    }
    /// The value and gradient at `x`.
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError>;
}

/// Memory of one evaluation, kept for the next.
struct Memory<S: System<T>, T: Real> {
    inputs: Inputs<T>,
    workspace: RolloutWorkspace<T, S::Workspace>,
    /// The gradient in double precision, so that sums over many tied entries keep it.
    gradient: Gradient<f64>,
}

/// The loss of a rollout as a function of the variables of an [`InputMap`], computed on scalars `T`.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::input_map::{InputEntry, LinearMap, Transform, Transformed, Variable};
/// use pullback_core::losses::{Norm, StateTarget, Weights};
/// use pullback_core::{Described, Rollout, Schedule};
/// use pullback_optim::{Objective, RolloutObjective};
/// // One variable sets height and velocity, bounded; another the logarithm of gravity.
/// let throw = Variable::new("throw", "1", (0.0, 5.0), 1.0);
/// let gravity = Variable::new("gravity", "m/s^2", (1.0, 20.0), 9.81);
/// let mut ties = LinearMap::new(vec![throw, gravity]);
/// ties.tie(InputEntry::State(0), 0.0, [(0, 0.5)]);
/// ties.tie(InputEntry::State(1), 0.0, [(0, 3.0)]);
/// ties.tie(InputEntry::Params(0), 0.0, [(1, 1.0)]);
/// let map = Transformed::new(ties, vec![Transform::Identity, Transform::Log])?;
/// let rollout = Rollout::new(falling(0.01), 50, Schedule::StoreAll)?;
/// let high = StateTarget::new(rollout.system.layout(), "height", Norm::Square, Weights::at_end(1.0))?.at(&[2.0])?;
/// let objective = RolloutObjective::<_, _, _, f64>::new(rollout, high, map);
/// let mut gradient = [0.0; 2];
/// objective.value_grad(&objective.start(), &mut gradient)?;
/// assert!(gradient[0] < 0.0 && gradient[1] > 0.0, "throw harder, weigh less");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RolloutObjective<S: System<T>, L, M = LinearMap, T: Real = f64> {
    rollout: Rollout<S>,
    loss: L,
    base: Inputs<T>,
    map: M,
    floor: Option<f64>,
    memory: Mutex<Vec<Memory<S, T>>>,
}

impl<S: System<f64>, L: Loss<f64>> RolloutObjective<S, L> {
    /// Frees every entry matched by `pattern`, such as `state.angle[0], params.*.mass, control.torque`; the
    /// rest stays at `base`.
    pub fn select(
        rollout: Rollout<S>,
        loss: L,
        base: Inputs<f64>,
        pattern: &str,
    ) -> Result<Self, ConfigError> {
        let map = LinearMap::select(rollout.system.layout(), rollout.steps(), &base, pattern)?;
        Ok(RolloutObjective::new(rollout, loss, map).with_base(base))
    }

    /// With other bounds, one pair per variable.
    pub fn with_bounds(mut self, bounds: &[(f64, f64)]) -> Result<Self, ConfigError> {
        self.map = self.map.with_bounds(bounds)?;
        Ok(self)
    }
}

impl<T: Real, S: System<T>, L: Loss<T>, M: InputMap> RolloutObjective<S, L, M, T> {
    /// The loss of `rollout` through `map`. What the map does not set stays at the defaults of the system.
    pub fn new(rollout: Rollout<S>, loss: L, map: M) -> Self {
        let base = Inputs::defaults(&rollout.system, rollout.steps());
        RolloutObjective { rollout, loss, base, map, floor: None, memory: Mutex::default() }
    }

    /// With other inputs where the map does not set them.
    pub fn with_base(mut self, base: Inputs<T>) -> Self {
        self.base = base;
        self
    }

    /// With a value that no loss is below.
    pub fn with_floor(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    /// The rollout.
    pub fn rollout(&self) -> &Rollout<S> {
        &self.rollout
    }
    /// The loss.
    pub fn loss(&self) -> &L {
        &self.loss
    }
    /// The map from variables to inputs.
    pub fn map(&self) -> &M {
        &self.map
    }
    /// The inputs that the map changes.
    pub fn base(&self) -> &Inputs<T> {
        &self.base
    }

    /// The inputs at `x`.
    pub fn inputs(&self, x: &[f64]) -> Inputs<T> {
        let mut inputs = self.base.clone();
        self.map.apply(&lit(x), &mut inputs);
        inputs
    }

    /// States along the motion at `x`, one per sample.
    pub fn states(&self, x: &[f64]) -> Result<Vec<Vec<T>>, StepError> {
        let mut ws = self.rollout.workspace::<T>();
        let mut states = Vec::with_capacity(self.rollout.steps() + 1);
        self.rollout.simulate(&mut ws, &self.inputs(x), |at| states.push(at.state.to_vec()))?;
        Ok(states)
    }

    /// Runs `work` with memory of its own, which is kept for the next call.
    fn with_memory<R>(&self, work: impl FnOnce(&mut Memory<S, T>) -> R) -> R {
        let kept = self.memory.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut memory = kept.unwrap_or_else(|| Memory {
            inputs: self.base.clone(),
            workspace: self.rollout.workspace::<T>(),
            gradient: Gradient::default(),
        });
        let result = work(&mut memory);
        self.memory.lock().unwrap_or_else(|e| e.into_inner()).push(memory);
        result
    }
}

/// Plain numbers in the scalar of a rollout.
fn lit<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|x| T::lit(*x)).collect()
}

/// The first lane of each entry.
fn first_lanes<T: Real>(from: &[T], to: &mut Vec<f64>) {
    to.clear();
    to.extend(from.iter().map(|x| x.lane(0)));
}

impl<T: Real, S: System<T>, L: Loss<T>, M: InputMap> Objective for RolloutObjective<S, L, M, T> {
    fn names(&self) -> Vec<String> {
        self.map.variables().iter().map(|v| v.name.clone()).collect()
    }
    fn units(&self) -> Vec<String> {
        self.map.variables().iter().map(|v| v.unit.clone().into_owned()).collect()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.map.variables().iter().map(|v| v.bounds).collect()
    }
    fn start(&self) -> Vec<f64> {
        self.map.variables().iter().map(|v| v.start).collect()
    }
    fn floor(&self) -> Option<f64> {
        self.floor
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        self.with_memory(|Memory { inputs, workspace, .. }| {
            self.map.apply(&lit(x), inputs);
            self.rollout.value(workspace, inputs, &self.loss).map(|loss| loss.lane(0))
        })
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        self.with_memory(|Memory { inputs, workspace, gradient }| {
            self.map.apply(&lit(x), inputs);
            self.rollout.gradient(workspace, inputs, &self.loss)?;
            let found = &workspace.gradient;
            first_lanes(&found.state, &mut gradient.state);
            first_lanes(&found.control, &mut gradient.control);
            first_lanes(&found.params, &mut gradient.params);
            grad.fill(0.0);
            self.map.apply_vjp(x, gradient, grad);
            Ok(found.loss.lane(0))
        })
    }
}

/// The gradient of an objective is checked by the one validator: variables in, loss out.
impl<S, L, M> Differentiable for RolloutObjective<S, L, M>
where
    S: System<f64> + System<Dual<f64>>,
    L: Loss<f64> + Loss<Dual<f64>>,
    M: InputMap,
{
    fn input_names(&self) -> Vec<String> {
        self.names()
    }
    fn outputs(&self) -> usize {
        1
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        y[0] = self.value(x).map_err(|e| e.to_string())?;
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let Inputs { state, controls, params } = &self.base;
        let mut inputs = Inputs { state: lit(state), controls: lit(controls), params: lit(params) };
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        self.map.apply(&x, &mut inputs);
        let mut ws = self.rollout.workspace::<Dual<f64>>();
        let loss = self.rollout.value(&mut ws, &inputs, &self.loss).map_err(|e| e.to_string())?;
        (y[0], y_dot[0]) = (loss.value, loss.tangent);
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let mut grad = vec![0.0; x.len()];
        self.value_grad(x, &mut grad).map_err(|e| e.to_string())?;
        x_bar.iter_mut().zip(&grad).for_each(|(bar, g)| *bar += y_bar[0] * g);
        Ok(())
    }
}
