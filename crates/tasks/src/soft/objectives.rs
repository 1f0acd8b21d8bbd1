//! Tasks of gradSim on soft scenes: weights that take the gear to a place, masses that explain a trajectory.

use std::ops::Range;

use pullback_core::drive::{Driven, SineNetwork};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_core::rollout::{Inputs, Loss, Rollout, Sample};
use pullback_core::sources::GRADSIM;
use pullback_core::{ConfigError, Described, FieldShape, Schedule};
use pullback_math::Real;
use pullback_optim::{Objective, RolloutObjective};
use pullback_physics::world::World;

use super::{STEP, Size, solids};
use crate::objectives::{Build, Task};

/// The tasks of this file.
pub const TASKS: &[Task] = &[
    Entry::cited(
        "gear-reach",
        "weights of a network so that a soft gear's center is at a target after 1.5 s",
        GRADSIM.at("Table 6"),
        Build::Plain(|| {
            let task = gear_reach(Size::Full)?;
            let bounds = vec![(-2.0, 2.0); task.start().len()];
            Ok(Box::new(task.with_bounds(&bounds)?))
        }),
    ),
    Entry::cited(
        "ball-mass",
        "masses of a soft ball's particles from a recorded bounce",
        GRADSIM.at("Table 6"),
        Build::Plain(|| {
            let task = ball_mass(Size::Full)?;
            let bounds: Vec<_> = task.start().iter().map(|m| (0.5 * m, 2.0 * m)).collect();
            Ok(Box::new(task.with_bounds(&bounds)?))
        }),
    ),
];

/// Steps of 1/60 s that the gear has to reach its target.
const GEAR_STEPS: usize = 90;
/// Where the gear's center is to be, m.
const GEAR_TARGET: [f64; 3] = [-1.7, 0.0, 1.3];
/// Steps of 1/60 s over which the ball is watched.
const BALL_STEPS: usize = 60;

/// Substeps per step.
const SUBSTEPS: usize = 32;

/// One substep of a field.
fn substep<F: FieldShape>(field: F) -> Result<Integrated<F>, ConfigError> {
    Integrated::new(field, STEP / SUBSTEPS as f64, Integrator::fixed(Method::SemiImplicitEuler))
}

/// Weights W so that the gear's center of mass is at a target after 1.5 s (Table 6, `gear`).
pub fn gear_reach(
    size: Size,
) -> Result<RolloutObjective<Integrated<Driven<World, SineNetwork>>, CenterAt>, ConfigError> {
    let system = substep(solids::gear(size)?)?;
    let particles = system.layout().state.slice("gear.position")?.range.clone();
    let rollout = Rollout::new(system, GEAR_STEPS, Schedule::Every(SUBSTEPS))?.with_substeps(SUBSTEPS)?;
    let base = Inputs::defaults(&rollout.system, rollout.steps());
    RolloutObjective::select(
        rollout,
        CenterAt { particles, target: GEAR_TARGET },
        base,
        "params.network.weight",
    )
}

/// Masses of a ball's particles from a recorded bounce of 1 s (Table 6, `elastic-ball`); the guess is off by
/// up to a tenth.
pub fn ball_mass(size: Size) -> Result<RolloutObjective<Integrated<World>, FollowParticles>, ConfigError> {
    let system = substep(solids::ball(size)?)?;
    let particles = system.layout().state.slice("ball.position")?.range.clone();
    let masses = system.layout().params.slice("ball.mass")?.range.clone();
    let rollout = Rollout::new(system, BALL_STEPS, Schedule::Every(SUBSTEPS))?.with_substeps(SUBSTEPS)?;
    let mut base = Inputs::defaults(&rollout.system, rollout.steps());
    let mut recorded = Vec::new();
    let mut ws = rollout.workspace::<f64>();
    rollout
        .simulate(&mut ws, &base, |at| {
            recorded.push(at.state[particles.clone()].to_vec());
        })
        .map_err(|e| ConfigError::new(e.to_string()))?;
    let mut random = Random::new(1);
    base.params[masses].iter_mut().for_each(|m| *m *= 1.0 + random.uniform(0.0, 0.1));
    RolloutObjective::select(rollout, FollowParticles { particles, recorded }, base, "params.ball.mass")
}

/// L = squared distance, m², of the mean of particles from a target at the end.
#[derive(Clone, Debug)]
pub struct CenterAt {
    /// Where the positions of the particles lie in the state.
    pub particles: Range<usize>,
    /// Where their mean is to be, m.
    pub target: [f64; 3],
}

impl CenterAt {
    fn error<T: Real>(&self, state: &[T]) -> [T; 3] {
        let share = T::lit(3.0 / self.particles.len() as f64);
        std::array::from_fn(|k| {
            let mut sum = T::zero();
            for x in state[self.particles.clone()].iter().skip(k).step_by(3) {
                sum += *x;
            }
            sum * share - T::lit(self.target[k])
        })
    }
}

impl<T: Real> Loss<T> for CenterAt {
    fn value(&self, at: Sample<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let [x, y, z] = self.error(at.state);
        x * x + y * y + z * z
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let slope = T::lit(6.0 / self.particles.len() as f64);
            let error = self.error(at.state);
            for (i, bar) in state_bar[self.particles.clone()].iter_mut().enumerate() {
                *bar += error[i % 3] * slope;
            }
        }
    }
}

/// L = mean over moments and coordinates of (x − recorded x)², m².
#[derive(Clone, Debug)]
pub struct FollowParticles {
    /// Where the positions of the particles lie in the state.
    pub particles: Range<usize>,
    /// What to follow, one row per moment.
    pub recorded: Vec<Vec<f64>>,
}

impl FollowParticles {
    fn weight(&self) -> f64 {
        1.0 / (self.recorded.len() * self.particles.len()) as f64
    }
}

impl<T: Real> Loss<T> for FollowParticles {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        for (x, recorded) in at.state[self.particles.clone()].iter().zip(&self.recorded[at.step]) {
            let error = *x - T::lit(*recorded);
            sum += error * error;
        }
        sum * T::lit(self.weight())
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        let particles = at.state[self.particles.clone()].iter().zip(&self.recorded[at.step]);
        for (bar, (x, recorded)) in state_bar[self.particles.clone()].iter_mut().zip(particles) {
            *bar += (*x - T::lit(*recorded)) * T::lit(2.0 * self.weight());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_optim::{BfgsConfig, bfgs};

    fn descend(objective: &dyn Objective, config: BfgsConfig) -> (f64, f64) {
        let way = bfgs(objective, &objective.start(), &config).unwrap();
        (way.path[0].value, way.best().value)
    }

    #[test]
    fn weights_take_a_gear_to_its_target() {
        let config = BfgsConfig { max_steps: 15, first_step: 0.5, ..BfgsConfig::default() };
        let (first, last) = descend(&gear_reach(Size::Small).unwrap(), config);
        assert!(last < 0.1 * first, "{first} to {last}");
    }

    #[test]
    fn masses_come_out_of_a_trajectory() {
        let config = BfgsConfig { max_steps: 25, first_step: 0.1, ..BfgsConfig::default() };
        let (first, last) = descend(&ball_mass(Size::Small).unwrap(), config);
        assert!(last < 0.01 * first, "{first} to {last}");
    }
}
