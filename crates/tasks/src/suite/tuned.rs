//! [`Tuned`]: the loss of a rollout as a function of a task's variables, which need not be entries of its inputs.
//!
//! [`Knobs`] turn the variables x into initial state, controls and parameters, and pull their cotangents back to x. [`Ties`] are
//! the linear ones: every tied entry is a weighted sum of variables, so one velocity can throw a hundred particles and one
//! stiffness can hold for a patch of springs.

use std::sync::Mutex;

use pullback_core::rollout::{Gradient, Inputs, Loss, Rollout, RolloutWorkspace};
use pullback_core::{StepError, System};
use pullback_math::Real;
use pullback_optim::Objective;

/// One variable of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its unit; `1` for pure numbers.
    pub unit: &'static str,
    /// Its bounds.
    pub bounds: (f64, f64),
    /// Its value when nothing else is said.
    pub start: f64,
}

impl Variable {
    /// A variable by name, unit, bounds and start.
    pub fn new(name: impl Into<String>, unit: &'static str, bounds: (f64, f64), start: f64) -> Self {
        Variable { name: name.into(), unit, bounds, start }
    }
}

/// How variables become inputs.
pub trait Knobs: Send + Sync {
    /// The variables, in order.
    fn variables(&self) -> &[Variable];
    /// Sets the entries of `inputs` that depend on x.
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>);
    /// The pullback of [`Knobs::apply`]: *adds* to the cotangent of x.
    fn apply_vjp<T: Real>(&self, x: &[T], bars: &Gradient<T>, x_bar: &mut [T]);
}

/// An entry of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Of the initial state.
    State(usize),
    /// Of the parameters.
    Params(usize),
    /// Of the controls of all steps.
    Control(usize),
}

impl Entry {
    fn of<T>(self, inputs: &mut Inputs<T>) -> &mut T {
        match self {
            Entry::State(i) => &mut inputs.state[i],
            Entry::Params(i) => &mut inputs.params[i],
            Entry::Control(i) => &mut inputs.controls[i],
        }
    }
    fn bar<T: Copy>(self, gradient: &Gradient<T>) -> T {
        match self {
            Entry::State(i) => gradient.state[i],
            Entry::Params(i) => gradient.params[i],
            Entry::Control(i) => gradient.control[i],
        }
    }
}

/// Linear knobs: each tied entry is offset + Σ weight · variable.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    variables: Vec<Variable>,
    /// Every tied entry and its offset.
    offsets: Vec<(Entry, f64)>,
    /// Entry, variable, weight.
    ties: Vec<(Entry, usize, f64)>,
}

impl Ties {
    /// Variables that nothing hangs on yet.
    pub fn new(variables: Vec<Variable>) -> Self {
        Ties { variables, ..Ties::default() }
    }
    /// Makes `entry` = offset + Σ weight · variable.
    pub fn tie(&mut self, entry: Entry, offset: f64, weights: impl IntoIterator<Item = (usize, f64)>) {
        self.offsets.push((entry, offset));
        self.ties.extend(weights.into_iter().map(|(variable, weight)| (entry, variable, weight)));
    }
    /// Makes each entry the variable of the same number.
    pub fn direct(variables: Vec<Variable>, entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut ties = Ties::new(variables);
        for (i, entry) in entries.into_iter().enumerate() {
            ties.tie(entry, 0.0, [(i, 1.0)]);
        }
        ties
    }
}

impl Knobs for Ties {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>) {
        for (entry, offset) in &self.offsets {
            *entry.of(inputs) = T::lit(*offset);
        }
        for (entry, variable, weight) in &self.ties {
            *entry.of(inputs) += x[*variable] * T::lit(*weight);
        }
    }
    fn apply_vjp<T: Real>(&self, _x: &[T], bars: &Gradient<T>, x_bar: &mut [T]) {
        for (entry, variable, weight) in &self.ties {
            x_bar[*variable] += entry.bar(bars) * T::lit(*weight);
        }
    }
}

/// Memory of one evaluation, kept for the next.
type Memory<S> = (Inputs<f64>, RolloutWorkspace<f64, <S as System<f64>>::Workspace>);

/// A rollout, its loss and the knobs that set its inputs.
pub struct Tuned<S: System<f64>, L, K> {
    rollout: Rollout<S>,
    loss: L,
    base: Inputs<f64>,
    knobs: K,
    memory: Mutex<Vec<Memory<S>>>,
}

impl<S: System<f64>, L: Loss<f64>, K: Knobs> Tuned<S, L, K> {
    /// What the knobs do not set stays at the defaults of the system.
    pub fn new(rollout: Rollout<S>, loss: L, knobs: K) -> Self {
        let base = Inputs::defaults(&rollout.system, rollout.steps);
        Tuned { rollout, loss, base, knobs, memory: Mutex::new(Vec::new()) }
    }

    /// With other inputs where the knobs do not set them.
    pub fn with_base(mut self, base: Inputs<f64>) -> Self {
        self.base = base;
        self
    }

    /// The rollout.
    pub fn rollout(&self) -> &Rollout<S> {
        &self.rollout
    }

    /// The inputs at `x`.
    pub fn inputs(&self, x: &[f64]) -> Inputs<f64> {
        let mut inputs = self.base.clone();
        self.knobs.apply(x, &mut inputs);
        inputs
    }

    /// States along the motion at `x`, one per moment.
    pub fn states(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, StepError> {
        let inputs = self.inputs(x);
        let mut ws = self.rollout.workspace::<f64>();
        let mut states = Vec::with_capacity(self.rollout.steps + 1);
        self.rollout.simulate(&mut ws, &inputs, |at| {
            states.push(at.state.to_vec());
        })?;
        Ok(states)
    }

    fn with_memory<R>(&self, work: impl FnOnce(&mut Memory<S>) -> R) -> R {
        let kept = self.memory.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut memory = kept.unwrap_or_else(|| (self.base.clone(), self.rollout.workspace::<f64>()));
        let result = work(&mut memory);
        self.memory.lock().unwrap_or_else(|e| e.into_inner()).push(memory);
        result
    }
}

impl<S: System<f64>, L: Loss<f64>, K: Knobs> Objective for Tuned<S, L, K> {
    fn names(&self) -> Vec<String> {
        self.knobs.variables().iter().map(|v| v.name.clone()).collect()
    }
    fn units(&self) -> Vec<String> {
        self.knobs.variables().iter().map(|v| v.unit.to_owned()).collect()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.knobs.variables().iter().map(|v| v.bounds).collect()
    }
    fn start(&self) -> Vec<f64> {
        self.knobs.variables().iter().map(|v| v.start).collect()
    }
    /// All losses of the suite are distances.
    fn floor(&self) -> Option<f64> {
        Some(0.0)
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        self.with_memory(|(inputs, ws)| {
            self.knobs.apply(x, inputs);
            self.rollout.value(ws, &inputs, &self.loss)
        })
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        self.with_memory(|(inputs, ws)| {
            self.knobs.apply(x, inputs);
            self.rollout.gradient(ws, &inputs, &self.loss)?;
            grad.fill(0.0);
            self.knobs.apply_vjp(x, &ws.gradient, grad);
            Ok(ws.gradient.loss)
        })
    }
}

#[cfg(test)]
pub(super) mod check {
    //! The shared gradient validator on a whole task: variables in, loss out.

    use pullback_core::directions::{Direction, gradcheck_along};
    use pullback_core::gradcheck::{Differentiable, Options, Report, Verdict, gradcheck};
    use pullback_core::random::Random;
    use pullback_math::Dual;

    use super::*;

    impl<S, L, K> Differentiable for Tuned<S, L, K>
    where
        S: System<f64> + System<Dual<f64>>,
        L: Loss<f64> + Loss<Dual<f64>>,
        K: Knobs,
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
            let lit = |v: &[f64]| v.iter().map(|x| Dual::lit(*x)).collect::<Vec<_>>();
            let mut inputs = Inputs {
                state: lit(&self.base.state),
                controls: lit(&self.base.controls),
                params: lit(&self.base.params),
            };
            let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
            self.knobs.apply(&x, &mut inputs);
            let mut ws = self.rollout.workspace::<Dual<f64>>();
            let loss = self.rollout.value(&mut ws, &inputs, &self.loss).map_err(|e| e.to_string())?;
            (y[0], y_dot[0]) = (loss.primal(), loss.tangent());
            Ok(())
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
            let mut grad = vec![0.0; x.len()];
            self.value_grad(x, &mut grad).map_err(|e| e.to_string())?;
            x_bar.iter_mut().zip(&grad).for_each(|(bar, g)| *bar += y_bar[0] * g);
            Ok(())
        }
    }

    /// Every variable at `x`.
    pub fn every_entry(task: &impl Differentiable, x: &[f64], options: &Options) -> Report {
        gradcheck(task, x, options)
    }

    /// Along `count` random directions, each entry up to `scale` of its range.
    pub fn along<T: Differentiable + Objective>(
        task: &T,
        x: &[f64],
        count: usize,
        scale: f64,
        options: &Options,
    ) -> Report {
        let mut random = Random::new(options.seed + 5);
        let bounds = task.bounds();
        let mut direction =
            || bounds.iter().map(|(low, high)| scale * (high - low) * random.uniform(-1.0, 1.0)).collect();
        let directions: Vec<_> =
            (0..count).map(|i| Direction { name: format!("direction {i}"), entries: direction() }).collect();
        gradcheck_along(task, x, &directions, options)
    }

    /// All three ways agree, and no kink excuses any of them.
    #[track_caller]
    pub fn smooth(report: &Report) {
        report.assert_passed();
        assert!(report.entries.iter().all(|e| e.verdict == Verdict::Ok), "{report}");
    }

    /// A point of the box by its seed.
    pub fn random_point(task: &impl Objective, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        task.bounds().iter().map(|(low, high)| random.uniform(*low, *high)).collect()
    }

    /// Bounds are finite and in order, the start is inside, and every list has one entry per variable.
    #[track_caller]
    pub fn well_posed(task: &dyn Objective, dimension: usize) {
        let (bounds, start) = (task.bounds(), task.start());
        assert_eq!([task.names().len(), task.units().len(), bounds.len(), start.len()], [dimension; 4]);
        for ((low, high), x) in bounds.iter().zip(&start) {
            assert!(low.is_finite() && high.is_finite() && low <= x && x <= high, "{x} in [{low}, {high}]");
        }
    }
}
