//! The built-in tasks by name: a scene, a loss and what may be changed.
//!
//! A family of tasks is a table of [`Task`]s beside the code that builds them; [`TASKS`] joins the tables. To
//! add a task, add an entry to its table.

use std::ops::Range;
use std::path::Path;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::registry::{Entry, Registry};
use pullback_core::rollout::{Inputs, Loss, Rollout, Sample};
use pullback_core::sources::{DIFFMJX, GRADSIM};
use pullback_core::{ConfigError, Described, Schedule};
use pullback_math::{Flat, Real};
use pullback_optim::RolloutObjective;
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_physics::point_mass::{ContactDamping, PenaltyPointMass};

use crate::motion::Shown;
use crate::{mpm, smoke, soft, suite};

/// What a builder of a task returns.
pub(crate) type Built = Result<Box<dyn Shown>, ConfigError>;

/// How a task is built.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// From nothing.
    Plain(fn() -> Built),
    /// From a file of the user, or without one from data of our own; asked for by `NAME:PATH`.
    WithFile(fn(Option<&Path>) -> Built),
}

/// A task that can be asked for by name.
pub type Task = Entry<Build>;

/// All tasks, family by family, in the order `pullback list` shows them.
pub const TASKS: Registry<Build> = Registry::new(
    "task",
    &[
        POINTS_AND_PENDULA,
        suite::TASKS,
        mpm::objectives::TASKS,
        mpm::objectives::FULL_TASKS,
        soft::objectives::TASKS,
        smoke::objectives::TASKS,
    ],
);

/// Tasks of few variables.
const POINTS_AND_PENDULA: &[Task] = &[
    Entry::cited(
        "point-bounce",
        "height and stiffness so that a bouncing point ends 1 m above the surface",
        DIFFMJX.at("Fig. 4"),
        Build::Plain(point_bounce),
    ),
    Entry::cited(
        "pendulum-identify",
        "length and damping of a pendulum from a recorded swing",
        GRADSIM.at("C.3"),
        Build::Plain(pendulum_identify),
    ),
    Entry::new(
        "double-pendulum-reach",
        "initial angles so that the tip of a double pendulum ends at a target after 2 s",
        Build::Plain(double_pendulum_reach),
    ),
];

/// The task called `name`; `NAME:PATH` hands it a file.
pub fn build(name: &str) -> Built {
    let (wanted, file) = match name.split_once(':') {
        Some((wanted, file)) => (wanted, Some(Path::new(file))),
        None => (name, None),
    };
    match (TASKS.find(wanted)?.value, file) {
        (Build::Plain(build), None) => build(),
        (Build::WithFile(build), file) => build(file),
        (Build::Plain(_), Some(file)) => {
            Err(ConfigError::new(format!("task `{wanted}` takes no file; leave out `:{}`", file.display())))
        }
    }
}

fn point_bounce() -> Built {
    let integrator = Integrator::fixed(Method::SemiImplicitEuler);
    let system = Integrated::new(PenaltyPointMass::new(ContactDamping::ByDepth), 0.001, integrator)?;
    let rollout = Rollout::new(system, 2000, Schedule::StoreAll)?;
    let base = Inputs::defaults(&rollout.system, rollout.steps());
    let loss = EndHeight { height: rollout.system.layout().state.index_of("height")? };
    let task = RolloutObjective::select(rollout, loss, base, "state.height, params.stiffness")?;
    Ok(Box::new(task.with_bounds(&[(0.0, 3.0), (10.0, 200.0)])?))
}

fn pendulum_identify() -> Built {
    let system = Integrated::new(SimplePendulum::default(), 0.02, Integrator::fixed(Method::Rk4))?;
    let rollout = Rollout::new(system, 200, Schedule::StoreAll)?;
    let base = Inputs::defaults(&rollout.system, rollout.steps());
    let angle = rollout.system.layout().state.index_of("angle")?;
    let mut recorded = Vec::new();
    let mut ws = rollout.workspace::<f64>();
    rollout
        .simulate(&mut ws, &base, |at| recorded.push(at.state[angle]))
        .map_err(|e| ConfigError::new(e.to_string()))?;
    let loss = FollowAngle { angle, recorded };
    let task = RolloutObjective::select(rollout, loss, base, "params.length, params.damping")?;
    Ok(Box::new(task.with_bounds(&[(0.5, 2.0), (0.0, 1.0)])?))
}

fn double_pendulum_reach() -> Built {
    let system = Integrated::new(DoublePendulum::default(), 0.01, Integrator::fixed(Method::Rk4))?;
    let rollout = Rollout::new(system, 200, Schedule::StoreAll)?;
    let base = Inputs::defaults(&rollout.system, rollout.steps());
    let angles = rollout.system.layout().state.slice("angle")?.range.clone();
    let loss = TipAt { angles, target: (1.0, -0.5) };
    let task = RolloutObjective::select(rollout, loss, base, "state.angle")?;
    Ok(Box::new(task.with_bounds(&[(-3.0, 3.0), (-3.0, 3.0)])?))
}

/// L = |q_N − 1|: the loss of DiffMJX, Fig. 4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndHeight {
    /// Entry of the height in the state.
    pub height: usize,
}

impl<T: Real> Loss<T> for EndHeight {
    fn value(&self, at: Sample<'_, T>) -> T {
        if at.last() { (at.state[self.height] - T::one()).abs() } else { T::zero() }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            state_bar[self.height] += (at.state[self.height] - T::one()).abs_vjp(T::one());
        }
    }
}

/// L = mean over the moments of (θ − recorded θ)².
#[derive(Clone, Debug)]
struct FollowAngle {
    /// Entry of the angle in the state.
    angle: usize,
    /// The angle to follow, one per moment.
    pub recorded: Vec<f64>,
}

impl<T: Real> Loss<T> for FollowAngle {
    fn value(&self, at: Sample<'_, T>) -> T {
        let error = at.state[self.angle] - T::lit(self.recorded[at.step]);
        error * error * T::lit(1.0 / self.recorded.len() as f64)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        let error = at.state[self.angle] - T::lit(self.recorded[at.step]);
        state_bar[self.angle] += error * T::lit(2.0 / self.recorded.len() as f64);
    }
}

/// L = squared distance of a double pendulum's tip (unit rods) from a target at the end.
#[derive(Clone, Debug)]
struct TipAt {
    /// Entries of the two angles in the state.
    angles: Range<usize>,
    /// Horizontal and vertical position, m, from the pivot.
    pub target: (f64, f64),
}

impl TipAt {
    fn error<T: Real>(&self, state: &[T]) -> (T, T) {
        let [upper, lower] = <[T; 2]>::read(&state[self.angles.clone()]);
        let x = upper.sin() + lower.sin() - T::lit(self.target.0);
        let z = -upper.cos() - lower.cos() - T::lit(self.target.1);
        (x, z)
    }
}

impl<T: Real> Loss<T> for TipAt {
    fn value(&self, at: Sample<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let (x, z) = self.error(at.state);
        x * x + z * z
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let (x, z) = self.error(at.state);
            for i in self.angles.clone() {
                let (sin, cos) = at.state[i].sin_cos();
                state_bar[i] += T::lit(2.0) * (x * cos + z * sin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_remedy() {
        let message = |name| build(name).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message("nothing").contains("there is point-bounce, pendulum-identify"));
        assert!(
            message("pinbal-2").starts_with("no task is called `pinbal-2` (did you mean `pinball-2`?); ")
        );
        assert!(message("point-bounce:a.csv").contains("takes no file; leave out `:a.csv`"));
    }
}
