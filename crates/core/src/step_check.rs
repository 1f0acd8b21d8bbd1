//! Systems, losses and rollouts as maps that [`gradcheck`] can check.

use std::cell::RefCell;
use std::ops::Range;

use pullback_math::Dual;

use crate::directions::{gradcheck_along, random_directions};
use crate::gradcheck::{Differentiable, Options, Report, gradcheck};
use crate::layout::Layout;
use crate::point::{Bars, Point};
use crate::random::Random;
use crate::rollout::{Inputs, Loss, Rollout, RolloutWorkspace, Sample};
use crate::system::System;

/// Splits one vector of state, controls and parameters.
struct Split {
    state: usize,
    control: usize,
}

impl Split {
    fn point<'x, T>(&self, x: &'x [T]) -> Point<'x, T> {
        let (state, rest) = x.split_at(self.state);
        let (control, params) = rest.split_at(self.control);
        Point { params, state, control }
    }
    fn bars<'x, T>(&self, x: &'x mut [T]) -> Bars<'x, T> {
        let (state, rest) = x.split_at_mut(self.state);
        let (control, params) = rest.split_at_mut(self.control);
        Bars { params, state, control }
    }
    fn inputs<T: Clone>(&self, x: &[T]) -> Inputs<T> {
        let Point { params, state, control } = self.point(x);
        Inputs { state: state.to_vec(), controls: control.to_vec(), params: params.to_vec() }
    }
}

fn input_names(layout: &Layout, steps: Option<usize>) -> Vec<String> {
    let mut names: Vec<String> = layout.state.entry_names().iter().map(|n| format!("state.{n}")).collect();
    match steps {
        None => names.extend(layout.control.entry_names().iter().map(|n| format!("control.{n}"))),
        Some(steps) => {
            for step in 0..steps {
                names
                    .extend(layout.control.entry_names().iter().map(|n| format!("control.{n}[step {step}]")));
            }
        }
    }
    names.extend(layout.params.entry_names().iter().map(|n| format!("params.{n}")));
    names
}

/// Parameters that are inertias: a step of a tenth could make a light body negative, so their size is the largest
/// entry of their slice. Where that is zero, as armature often is, it is the least of the others.
const INERTIAS: [&str; 3] = ["mass", "inertia", "armature"];

/// Size of every input: of a state, controls of any number of steps and parameters, which come last.
fn sizes(layout: &Layout, x: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = x.iter().map(|x| x.abs().max(0.1)).collect();
    let params = x.len() - layout.params.len();
    let is_inertia = |name: &str| INERTIAS.contains(&name.rsplit('.').next().unwrap_or(name));
    let inertias = layout.params.slices().iter().filter(|slice| is_inertia(&slice.name));
    let ranges: Vec<_> = inertias.map(|s| params + s.range.start..params + s.range.end).collect();
    let largest = |range: &Range<usize>| x[range.clone()].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let least = ranges.iter().map(largest).filter(|size| *size > 0.0).fold(0.1, f64::min);
    for range in ranges {
        let size = largest(&range);
        sizes[range].fill(if size > 0.0 { size } else { least });
    }
    sizes
}

fn dual(x: &[f64], x_dot: &[f64]) -> Vec<Dual<f64>> {
    x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect()
}

/// Checks one step at a point, with respect to state, control and every parameter.
pub fn check_step<S>(system: &S, at: Point<'_, f64>, options: &Options) -> Report
where
    S: System<f64> + System<Dual<f64>>,
{
    let map = StepMap::new(system, at);
    gradcheck(&map, &[at.state, at.control, at.params].concat(), options)
}

/// Checks one step at a point along one random direction per slice of the layout, for systems too large for
/// [`check_step`].
pub fn check_step_along<S>(system: &S, at: Point<'_, f64>, options: &Options) -> Report
where
    S: System<f64> + System<Dual<f64>>,
{
    let map = StepMap::new(system, at);
    let x = [at.state, at.control, at.params].concat();
    let directions = random_directions(system.layout(), 1, &x, &mut Random::new(options.seed));
    gradcheck_along(&map, &x, &directions, options)
}

struct StepMap<'a, S: System<f64> + System<Dual<f64>>> {
    system: &'a S,
    split: Split,
    plain: RefCell<<S as System<f64>>::Workspace>,
    duals: RefCell<<S as System<Dual<f64>>>::Workspace>,
}

impl<'a, S: System<f64> + System<Dual<f64>>> StepMap<'a, S> {
    fn new(system: &'a S, at: Point<'_, f64>) -> Self {
        StepMap {
            system,
            split: Split { state: at.state.len(), control: at.control.len() },
            plain: RefCell::new(<S as System<f64>>::workspace(system)),
            duals: RefCell::new(<S as System<Dual<f64>>>::workspace(system)),
        }
    }
}

impl<S: System<f64> + System<Dual<f64>>> Differentiable for StepMap<'_, S> {
    fn input_names(&self) -> Vec<String> {
        input_names(self.system.layout(), None)
    }
    fn outputs(&self) -> usize {
        self.system.layout().state.len()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        let ws = &mut *self.plain.borrow_mut();
        self.system.step(ws, self.split.point(x), y).map(|_| ()).map_err(|e| e.to_string())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x = dual(x, x_dot);
        let mut next = vec![Dual::default(); y.len()];
        let ws = &mut *self.duals.borrow_mut();
        self.system.step(ws, self.split.point(&x), &mut next).map_err(|e| e.to_string())?;
        for (i, next) in next.iter().enumerate() {
            (y[i], y_dot[i]) = (next.value, next.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let ws = &mut *self.plain.borrow_mut();
        let (at, bars) = (self.split.point(x), self.split.bars(x_bar));
        self.system.step_vjp(ws, at, y_bar, bars).map_err(|e| e.to_string())
    }
    fn sizes(&self, x: &[f64]) -> Vec<f64> {
        sizes(self.system.layout(), x)
    }
}

/// Checks the gradient of a loss over a whole rollout, with respect to initial state, all controls and every
/// parameter.
pub fn check_rollout<S, L>(rollout: &Rollout<S>, inputs: &Inputs<f64>, loss: &L, options: &Options) -> Report
where
    S: System<f64> + System<Dual<f64>>,
    L: Loss<f64> + Loss<Dual<f64>>,
{
    let map = RolloutMap::new(rollout, loss, inputs);
    gradcheck(&map, &joined(inputs), options)
}

/// Checks the gradient of a loss over a rollout along one random direction per slice of the layout, for
/// systems too large for [`check_rollout`].
pub fn check_rollout_along<S, L>(
    rollout: &Rollout<S>,
    inputs: &Inputs<f64>,
    loss: &L,
    options: &Options,
) -> Report
where
    S: System<f64> + System<Dual<f64>>,
    L: Loss<f64> + Loss<Dual<f64>>,
{
    let map = RolloutMap::new(rollout, loss, inputs);
    let x = joined(inputs);
    let layout = rollout.system.layout();
    let directions = random_directions(layout, rollout.steps(), &x, &mut Random::new(options.seed));
    gradcheck_along(&map, &x, &directions, options)
}

/// Checks the pullback of a loss at one sample, along the way or at the end, where there is no control; `layout` names
/// the entries.
pub fn check_loss<L>(loss: &L, layout: &Layout, at: Point<'_, f64>, last: bool, options: &Options) -> Report
where
    L: Loss<f64> + Loss<Dual<f64>>,
{
    let control = if last { &[] } else { at.control };
    let split = Split { state: at.state.len(), control: control.len() };
    let map = LossMap { loss, layout, last, split, params: at.params.len() };
    gradcheck(&map, &[at.state, control, at.params].concat(), options)
}

struct LossMap<'a, L> {
    loss: &'a L,
    layout: &'a Layout,
    last: bool,
    split: Split,
    params: usize,
}

impl<L> LossMap<'_, L> {
    fn sample<'x, T>(&self, x: &'x [T]) -> Sample<'x, T> {
        let Point { params, state, control } = self.split.point(x);
        Sample { step: usize::from(self.last), steps: 1, state, control, params }
    }
}

impl<L: Loss<f64> + Loss<Dual<f64>>> Differentiable for LossMap<'_, L> {
    fn input_names(&self) -> Vec<String> {
        let all = input_names(self.layout, None);
        let (states, controls) = (self.layout.state.len(), self.layout.control.len());
        let (before, params) = all.split_at(states + controls);
        [&before[..states + self.split.control], &params[..self.params]].concat()
    }
    fn outputs(&self) -> usize {
        1
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        y[0] = self.loss.value(self.sample(x));
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let value: Dual<f64> = self.loss.value(self.sample(&dual(x, x_dot)));
        (y[0], y_dot[0]) = (value.value, value.tangent);
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let mut bar = vec![0.0; x.len()];
        let Bars { params, state, control } = self.split.bars(&mut bar);
        self.loss.vjp(self.sample(x), state, control);
        self.loss.params_vjp(self.sample(x), params);
        x_bar.iter_mut().zip(bar).for_each(|(x_bar, bar)| *x_bar += y_bar[0] * bar);
        Ok(())
    }
}

/// State, controls and parameters as one vector.
fn joined(inputs: &Inputs<f64>) -> Vec<f64> {
    [&inputs.state[..], &inputs.controls, &inputs.params].concat()
}

/// Memory of a rollout of `S` on scalars `T`.
type Memory<T, S> = RefCell<RolloutWorkspace<T, <S as System<T>>::Workspace>>;

struct RolloutMap<'a, S: System<f64> + System<Dual<f64>>, L> {
    rollout: &'a Rollout<S>,
    loss: &'a L,
    split: Split,
    plain: Memory<f64, S>,
    duals: Memory<Dual<f64>, S>,
}

impl<'a, S: System<f64> + System<Dual<f64>>, L> RolloutMap<'a, S, L> {
    fn new(rollout: &'a Rollout<S>, loss: &'a L, inputs: &Inputs<f64>) -> Self {
        RolloutMap {
            rollout,
            loss,
            split: Split { state: inputs.state.len(), control: inputs.controls.len() },
            plain: RefCell::new(rollout.workspace::<f64>()),
            duals: RefCell::new(rollout.workspace::<Dual<f64>>()),
        }
    }
}

impl<S, L> Differentiable for RolloutMap<'_, S, L>
where
    S: System<f64> + System<Dual<f64>>,
    L: Loss<f64> + Loss<Dual<f64>>,
{
    fn input_names(&self) -> Vec<String> {
        input_names(self.rollout.system.layout(), Some(self.rollout.steps()))
    }
    fn sizes(&self, x: &[f64]) -> Vec<f64> {
        sizes(self.rollout.system.layout(), x)
    }
    fn outputs(&self) -> usize {
        1
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        let ws = &mut *self.plain.borrow_mut();
        y[0] = self.rollout.value(ws, &self.split.inputs(x), self.loss).map_err(|e| e.to_string())?;
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x = dual(x, x_dot);
        let ws = &mut *self.duals.borrow_mut();
        let value = self.rollout.value(ws, &self.split.inputs(&x), self.loss).map_err(|e| e.to_string())?;
        (y[0], y_dot[0]) = (value.value, value.tangent);
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let ws = &mut *self.plain.borrow_mut();
        self.rollout.gradient(ws, &self.split.inputs(x), self.loss).map_err(|e| e.to_string())?;
        let g = &ws.gradient;
        for (bar, g) in x_bar.iter_mut().zip(g.state.iter().chain(&g.control).chain(&g.params)) {
            *bar += y_bar[0] * g;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Slice;

    #[test]
    fn steps_of_differences_leave_light_bodies_positive() {
        let layout = Layout::builder()
            .state(Slice::new("finger.q", 1, "rad"))
            .control(Slice::new("force", 1, "N"))
            .param(Slice::new("finger.inertia", 3, "kg m^2"))
            .param(Slice::new("ghost.mass", 1, "kg"))
            .param(Slice::new("finger.damping", 1, "N m s"))
            .build()
            .unwrap();
        let x = [1e-7, 3.0, 2e-6, 1e-7, 0.0, 0.0, 1e-3];
        assert_eq!(sizes(&layout, &x), [0.1, 3.0, 2e-6, 2e-6, 2e-6, 2e-6, 0.1]);
    }
}
