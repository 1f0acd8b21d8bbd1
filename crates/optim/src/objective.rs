//! [`Objective`]: a loss over a few chosen numbers, what optimisers and landscapes consume.

use std::sync::Mutex;

use pullback_core::rollout::{Inputs, Loss, Rollout, RolloutWorkspace};
use pullback_core::{ConfigError, StepError, System};

/// A function of R^n with bounds and a gradient.
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
    /// A value that none is below, if one is known: zero for distances. Descents take no steps that promise less.
    fn floor(&self) -> Option<f64> {
        None
    }
    /// The value at `x`.
    fn value(&self, x: &[f64]) -> Result<f64, StepError>;
    /// The value and gradient at `x`.
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError>;
}

/// One entry of the inputs that is free to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    State(usize),
    Params(usize),
    Control(usize),
}

/// The loss of a rollout as a function of selected initial states, controls and parameters.
pub struct RolloutObjective<S: System<f64>, L> {
    rollout: Rollout<S>,
    loss: L,
    base: Inputs<f64>,
    variables: Vec<Variable>,
    names: Vec<String>,
    units: Vec<String>,
    bounds: Vec<(f64, f64)>,
    memory: Mutex<Vec<RolloutWorkspace<f64, S::Workspace>>>,
}

impl<S: System<f64>, L: Loss<f64>> RolloutObjective<S, L> {
    /// Frees every entry matched by `pattern`, such as `state.angle[0], params.*.mass, control.torque`; the rest stays at
    /// `base`.
    pub fn new(rollout: Rollout<S>, loss: L, base: Inputs<f64>, pattern: &str) -> Result<Self, ConfigError> {
        let layout = rollout.system.layout();
        let (mut variables, mut names) = (Vec::new(), Vec::new());
        let (mut units, mut bounds) = (Vec::new(), Vec::new());
        for part in pattern.split(',').map(str::trim) {
            let (vector, rest) = part.split_once('.').unwrap_or((part, "*"));
            match vector {
                "state" => {
                    for i in layout.state.select(rest)? {
                        variables.push(Variable::State(i));
                        names.push(format!("state.{}", layout.state.entry_name(i)));
                        units.push(layout.state.unit(i).to_owned());
                        bounds.push(layout.state.bounds(i));
                    }
                }
                "params" => {
                    for i in layout.params.select(rest)? {
                        variables.push(Variable::Params(i));
                        names.push(format!("params.{}", layout.params.entry_name(i)));
                        units.push(layout.params.unit(i).to_owned());
                        bounds.push(layout.params.bounds(i));
                    }
                }
                "control" => {
                    for i in layout.control.select(rest)? {
                        for step in 0..rollout.steps {
                            variables.push(Variable::Control(step * layout.control.len() + i));
                            names.push(format!("control.{}[step {step}]", layout.control.entry_name(i)));
                            units.push(layout.control.unit(i).to_owned());
                            bounds.push(layout.control.bounds(i));
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
        Ok(RolloutObjective {
            rollout,
            loss,
            base,
            variables,
            names,
            units,
            bounds,
            memory: Mutex::new(Vec::new()),
        })
    }

    /// The inputs with the variables set to `x`.
    pub fn inputs(&self, x: &[f64]) -> Inputs<f64> {
        let mut inputs = self.base.clone();
        for (variable, x) in self.variables.iter().zip(x) {
            match *variable {
                Variable::State(i) => inputs.state[i] = *x,
                Variable::Params(i) => inputs.params[i] = *x,
                Variable::Control(i) => inputs.controls[i] = *x,
            }
        }
        inputs
    }

    /// Runs `work` with a workspace of its own; workspaces are kept for the next call.
    fn with_workspace<R>(&self, work: impl FnOnce(&mut RolloutWorkspace<f64, S::Workspace>) -> R) -> R {
        let kept = self.memory.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut ws = kept.unwrap_or_else(|| self.rollout.workspace::<f64>());
        let result = work(&mut ws);
        self.memory.lock().unwrap_or_else(|e| e.into_inner()).push(ws);
        result
    }
}

impl<S: System<f64>, L: Loss<f64>> Objective for RolloutObjective<S, L> {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }
    fn units(&self) -> Vec<String> {
        self.units.clone()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.bounds.clone()
    }
    fn start(&self) -> Vec<f64> {
        let value = |variable: &Variable| match *variable {
            Variable::State(i) => self.base.state[i],
            Variable::Params(i) => self.base.params[i],
            Variable::Control(i) => self.base.controls[i],
        };
        self.variables.iter().map(value).collect()
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        let inputs = self.inputs(x);
        self.with_workspace(|ws| self.rollout.value(ws, &inputs, &self.loss))
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        let inputs = self.inputs(x);
        self.with_workspace(|ws| {
            self.rollout.gradient(ws, &inputs, &self.loss)?;
            for (g, variable) in grad.iter_mut().zip(&self.variables) {
                *g = match *variable {
                    Variable::State(i) => ws.gradient.state[i],
                    Variable::Params(i) => ws.gradient.params[i],
                    Variable::Control(i) => ws.gradient.control[i],
                };
            }
            Ok(ws.gradient.loss)
        })
    }
}
