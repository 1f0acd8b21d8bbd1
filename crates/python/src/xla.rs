//! Rollouts and their pullbacks as functions that programs of JAX call: `pullback.jax` registers them.
//!
//! Leading axes of all arrays are environments. Single precision is that of JAX alone: the physics runs in double, and
//! the way back runs it again, so that no state is rounded in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pullback::core::Schedule;
use pullback::core::batch::{BatchGradients, BatchInputs};
use pullback_xla::{Array, Call, Handler, Numbers, NumbersMut, address};
use pyo3::prelude::*;

use crate::batch::{Run, Sizes};
use crate::error::Error;
use crate::system::{Loaded, System};
use crate::trajectories::Bars;

/// A system as programs of JAX know it: by a number, which such a program may outlive.
struct Operator {
    system: Arc<Loaded>,
    substeps: usize,
    threads: usize,
    lanes: bool,
    /// Memory of calls of the same sizes.
    kept: Mutex<Vec<(Memory, Box<dyn Run>)>>,
}

/// What memory is for.
type Memory = (Sizes, Schedule);

/// Memories that an operator keeps.
const KEPT: usize = 4;

static OPERATORS: RwLock<Option<HashMap<i64, Arc<Operator>>>> = RwLock::new(None);

/// The number by which programs of JAX call a system.
#[pyfunction]
pub fn xla_operator(system: &System, substeps: usize, threads: usize, lanes: bool) -> i64 {
    let mut operators = OPERATORS.write().unwrap_or_else(PoisonError::into_inner);
    let operators = operators.get_or_insert_default();
    let number = operators.len() as i64;
    let kept = Mutex::new(Vec::new());
    operators.insert(number, Arc::new(Operator { system: system.0.clone(), substeps, threads, lanes, kept }));
    number
}

/// Addresses of the functions that XLA calls, by the names under which they are registered.
#[pyfunction]
pub fn xla_handlers() -> [(&'static str, usize); 2] {
    [("pullback_rollout", address::<Rollout>()), ("pullback_rollout_vjp", address::<RolloutVjp>())]
}

/// States of a rollout from state, controls and parameters.
struct Rollout;

/// Cotangents of state, controls and parameters from these and cotangents of all states.
struct RolloutVjp;

impl Handler for Rollout {
    fn call(mut call: Call<'_>) -> Result<(), String> {
        let operator = Operator::of(&call)?;
        let [state, controls, params] = &call.arguments[..] else {
            return Err("a rollout takes state, controls and params".into());
        };
        let (state, controls, params) = (&double(state), &double(controls), &double(params));
        let sizes = operator.sizes(&call.arguments)?;
        let [states] = &mut call.results[..] else { return Err("a rollout gives states".into()) };
        operator.with(sizes, Schedule::Revolve { slots: 1 }, |run| {
            let shape = operator.system.shape(sizes);
            let inputs = BatchInputs { states: state, controls, params };
            match &mut states.numbers {
                NumbersMut::F64(out) => run.trajectories(inputs, shape, out).map_err(Error::from),
                single => {
                    let mut out = vec![0.0; length(&states.shape)];
                    run.trajectories(inputs, shape, &mut out)?;
                    write(single, &out);
                    Ok(())
                }
            }
        })
    }
}

impl Handler for RolloutVjp {
    fn call(mut call: Call<'_>) -> Result<(), String> {
        let operator = Operator::of(&call)?;
        let [state, controls, params, states_bar] = &call.arguments[..] else {
            return Err(
                "the pullback of a rollout takes state, controls, params and cotangents of the states".into(),
            );
        };
        let (state, controls, params) = (&double(state), &double(controls), &double(params));
        let bars = Bars { states: &double(states_bar), controls: &[] };
        let sizes = operator.sizes(&call.arguments)?;
        let [state_bar, controls_bar, params_bar] = &mut call.results[..] else {
            return Err("the pullback of a rollout gives cotangents of state, controls and params".into());
        };
        operator.with(sizes, Schedule::StoreAll, |run| {
            let inputs = BatchInputs { states: state, controls, params };
            let mut out = BatchGradients::default();
            run.pullback(inputs, operator.system.shape(sizes), bars, &mut out)?;
            write(&mut state_bar.numbers, &out.states);
            write(&mut controls_bar.numbers, &out.controls);
            write(&mut params_bar.numbers, &out.params);
            Ok(())
        })
    }
}

impl Operator {
    /// The system that a call is for.
    fn of(call: &Call<'_>) -> Result<Arc<Operator>, String> {
        let number = call.integer("operator")?;
        let operators = OPERATORS.read().unwrap_or_else(PoisonError::into_inner);
        let found = operators.as_ref().and_then(|operators| operators.get(&number)).cloned();
        found.ok_or_else(|| format!("no system has the number {number} in this process"))
    }

    /// Sizes of a call; an error where the shapes do not fit the system and each other.
    fn sizes(&self, arguments: &[Array<'_, Numbers<'_>>]) -> Result<Sizes, String> {
        let layout = self.system.scene.layout();
        let (n, m, p) = (layout.state.len(), layout.control.len(), layout.params.len());
        let (state, controls) = (&arguments[0].shape, &arguments[1].shape);
        let envs = length(&state[..state.len().saturating_sub(1)]);
        let steps = controls.len().checked_sub(2).map_or(0, |at| controls[at]);
        let wanted: [(&str, &[usize]); 4] = [
            ("state", &[n]),
            ("controls", &[steps, m]),
            ("params", &[p]),
            ("the cotangents of the states", &[steps + 1, n]),
        ];
        for ((what, last), Array { shape, .. }) in wanted.into_iter().zip(arguments) {
            let lead = shape.len().checked_sub(last.len());
            if lead.is_none_or(|lead| shape[lead..] != *last || length(&shape[..lead]) != envs) {
                return Err(format!(
                    "{what} of {envs} environments must end in {last:?}, got shape {shape:?}"
                ));
            }
        }
        let Operator { substeps, threads, lanes, .. } = *self;
        let lanes = lanes && envs > 1;
        Ok(Sizes { envs, steps, substeps, threads: if envs > 1 { threads } else { 1 }, lanes })
    }

    /// Runs `work` on memory of these sizes.
    fn with(
        &self,
        sizes: Sizes,
        schedule: Schedule,
        work: impl FnOnce(&mut dyn Run) -> Result<(), Error>,
    ) -> Result<(), String> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = {
            let mut kept = kept();
            let at = kept.iter().position(|(of, _)| *of == (sizes, schedule));
            at.map(|at| kept.remove(at).1)
        };
        let mut run = match found {
            Some(run) => run,
            None => self.system.batch(sizes, schedule).map_err(|e| e.to_string())?,
        };
        let result = work(run.as_mut()).map_err(|e| e.to_string());
        let mut kept = kept();
        kept.push(((sizes, schedule), run));
        if kept.len() > KEPT {
            kept.remove(0);
        }
        result
    }
}

fn length(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Numbers in double precision.
fn double<'a>(array: &Array<'a, Numbers<'a>>) -> std::borrow::Cow<'a, [f64]> {
    match array.numbers {
        Numbers::F64(values) => values.into(),
        Numbers::F32(values) => values.iter().map(|x| f64::from(*x)).collect(),
    }
}

/// Writes numbers in the precision of the result.
fn write(to: &mut NumbersMut<'_>, from: &[f64]) {
    match to {
        NumbersMut::F64(to) => to.copy_from_slice(from),
        NumbersMut::F32(to) => to.iter_mut().zip(from).for_each(|(to, x)| *to = *x as f32),
    }
}
