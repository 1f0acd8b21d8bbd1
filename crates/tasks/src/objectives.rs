//! The built-in tasks by name: a scene, a loss and what may be changed.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Inputs, Loss, Moment, Rollout};
use pullback_core::{ConfigError, Schedule};
use pullback_math::Real;
use pullback_optim::{Objective, RolloutObjective};
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_physics::point_mass::{DampingOnset, PenaltyPointMass};

use crate::mpm;
use crate::soft::{self, Size};

/// Name and one line of every task, in the order `pullback list` shows them.
pub const TASKS: [(&str, &str); 5] = [
    ("bounce", "height and stiffness so that a bouncing point ends 1 m above the surface (paper 4, Fig. 4)"),
    ("pendulum-identify", "length and damping of a pendulum from a recorded swing (paper 1, C.3)"),
    (
        "double-pendulum-reach",
        "initial angles so that the tip of a double pendulum ends at a target after 2 s",
    ),
    (
        "gear-reach",
        "weights of a network so that a soft gear's centre is at a target after 1.5 s (paper 1, Table 6)",
    ),
    ("ball-mass", "masses of a soft ball's particles from a recorded bounce (paper 1, Table 6)"),
];

/// The task called `name`.
pub fn build(name: &str) -> Result<Box<dyn Objective>, ConfigError> {
    if let Some(task) = mpm::objectives::build(name) {
        return task;
    }
    match name {
        "bounce" => {
            let integrator = Integrator::fixed(Method::SemiImplicitEuler);
            let system = Integrated::new(PenaltyPointMass::new(DampingOnset::WithDepth), 0.001, integrator)?;
            let rollout = Rollout::new(system, 2000, Schedule::StoreAll)?;
            let base = Inputs::defaults(&rollout.system, rollout.steps);
            bounded(
                RolloutObjective::new(rollout, EndHeight, base, "state.height, params.stiffness")?,
                &[(0.0, 3.0), (10.0, 200.0)],
            )
        }
        "pendulum-identify" => {
            let system = Integrated::new(SimplePendulum::default(), 0.02, Integrator::fixed(Method::Rk4))?;
            let rollout = Rollout::new(system, 200, Schedule::StoreAll)?;
            let base = Inputs::defaults(&rollout.system, rollout.steps);
            let mut recorded = Vec::new();
            let mut ws = rollout.workspace::<f64>();
            rollout
                .simulate(&mut ws, &base.params, &base.state, &base.controls, |at| recorded.push(at.state[0]))
                .map_err(|e| ConfigError::new(e.to_string()))?;
            bounded(
                RolloutObjective::new(
                    rollout,
                    FollowAngle { recorded },
                    base,
                    "params.length, params.damping",
                )?,
                &[(0.5, 2.0), (0.0, 1.0)],
            )
        }
        "double-pendulum-reach" => {
            let system = Integrated::new(DoublePendulum::default(), 0.01, Integrator::fixed(Method::Rk4))?;
            let rollout = Rollout::new(system, 200, Schedule::StoreAll)?;
            let base = Inputs::defaults(&rollout.system, rollout.steps);
            bounded(
                RolloutObjective::new(rollout, TipAt { target: (1.0, -0.5) }, base, "state.angle")?,
                &[(-3.0, 3.0), (-3.0, 3.0)],
            )
        }
        "gear-reach" => {
            let task = soft::objectives::gear_reach(Size::Full)?;
            let bounds = vec![(-2.0, 2.0); task.start().len()];
            bounded(task, &bounds)
        }
        "ball-mass" => {
            let task = soft::objectives::ball_mass(Size::Full)?;
            let bounds: Vec<_> = task.start().iter().map(|m| (0.5 * m, 2.0 * m)).collect();
            bounded(task, &bounds)
        }
        other => {
            let names: Vec<&str> =
                TASKS.iter().chain(&mpm::objectives::TASKS).map(|(name, _)| *name).collect();
            Err(ConfigError::new(format!("no task is called `{other}`; there is {}", names.join(", "))))
        }
    }
}

/// Gives a task the box it is looked at in.
fn bounded(
    objective: impl Objective + 'static,
    bounds: &[(f64, f64)],
) -> Result<Box<dyn Objective>, ConfigError> {
    Ok(Box::new(Bounded { objective, bounds: bounds.to_vec() }))
}

struct Bounded<O> {
    objective: O,
    bounds: Vec<(f64, f64)>,
}

impl<O: Objective> Objective for Bounded<O> {
    fn names(&self) -> Vec<String> {
        self.objective.names()
    }
    fn units(&self) -> Vec<String> {
        self.objective.units()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.bounds.clone()
    }
    fn start(&self) -> Vec<f64> {
        self.objective.start()
    }
    fn value(&self, x: &[f64]) -> Result<f64, pullback_core::StepError> {
        self.objective.value(x)
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, pullback_core::StepError> {
        self.objective.value_grad(x, grad)
    }
}

/// L = |q_N − 1|: the loss of paper 4, Fig. 4.
#[derive(Clone, Copy, Debug)]
pub struct EndHeight;

impl<T: Real> Loss<T> for EndHeight {
    fn value(&self, at: Moment<'_, T>) -> T {
        if at.last() { (at.state[0] - T::one()).abs() } else { T::zero() }
    }
    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            state_bar[0] += (at.state[0] - T::one()).abs_vjp(T::one());
        }
    }
}

/// L = mean over the moments of (θ − recorded θ)².
#[derive(Clone, Debug)]
pub struct FollowAngle {
    /// The angle to follow, one per moment.
    pub recorded: Vec<f64>,
}

impl<T: Real> Loss<T> for FollowAngle {
    fn value(&self, at: Moment<'_, T>) -> T {
        let error = at.state[0] - T::lit(self.recorded[at.step]);
        error * error * T::lit(1.0 / self.recorded.len() as f64)
    }
    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        let error = at.state[0] - T::lit(self.recorded[at.step]);
        state_bar[0] += error * T::lit(2.0 / self.recorded.len() as f64);
    }
}

/// L = squared distance of a double pendulum's tip (unit rods) from a target at the end.
#[derive(Clone, Copy, Debug)]
pub struct TipAt {
    /// Horizontal and vertical position, m, from the pivot.
    pub target: (f64, f64),
}

impl TipAt {
    fn error<T: Real>(&self, state: &[T]) -> (T, T) {
        let x = state[0].sin() + state[1].sin() - T::lit(self.target.0);
        let z = -state[0].cos() - state[1].cos() - T::lit(self.target.1);
        (x, z)
    }
}

impl<T: Real> Loss<T> for TipAt {
    fn value(&self, at: Moment<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let (x, z) = self.error(at.state);
        x * x + z * z
    }
    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let (x, z) = self.error(at.state);
            for i in 0..2 {
                let (sin, cos) = at.state[i].sin_cos();
                state_bar[i] += T::lit(2.0) * (x * cos + z * sin);
            }
        }
    }
}
