//! The adjoint of articulated bodies (Qiao et al., ICML 2021): quadrupeds that stand, a throw, a golf shot,
//! a car that slides.
//!
//! | module | results of the paper |
//! |---|---|
//! | [`standing`] | Tables 1 to 3, Figs. 3 and 8: memory and time of gradients over 50 to 5,000 steps |
//! | [`throw`] | Fig. 6 a: an arm with nine degrees of freedom throws a ball to a target |
//! | [`golf`] | Fig. 6 b: a linkage hits a ball to a target |
//! | [`racecar`] | Fig. 7: the friction with which a car slides to a target |
//! | [`contest`] | gradient descent beside CMA-ES on one of these |
//!
//! Contacts are linear complementarity over impulses (50 sweeps, erp 0.01, cfm 10⁻⁵), steps are
//! semi-implicit Euler, as in the paper's code.

pub mod contest;
pub mod golf;
pub mod racecar;
pub mod standing;
pub mod throw;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{ConfigError, Described};
use pullback_math::Real;
use pullback_physics::articulated::{Articulated, ContactModel, ImplicitTerms, Model};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use crate::recording;

pub use crate::diffmjx::ExperimentError;
pub use pullback_replay::Replay;

/// A robot under the contact model of the paper.
pub type Robot = Integrated<Articulated>;

/// A model file, with settings changed by `adjust`, in motion.
fn robot(mjcf: &str, adjust: impl FnOnce(&mut Model)) -> Result<Robot, ExperimentError> {
    let mut model = parse_mjcf(mjcf, None, &ImportOptions::default())?;
    model.options.contact_model = ContactModel::Complementarity;
    adjust(&mut model);
    let dt = model.options.timestep;
    let robot = Articulated::new(model)?.with_implicit(ImplicitTerms::Damping, dt);
    Ok(Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler))?)
}

/// A model file without its keyframes, with more bodies.
fn with_bodies(mjcf: &str, bodies: &str) -> String {
    let kept = mjcf.split("<keyframe>").next().unwrap_or(mjcf).trim_end_matches("</mujoco>");
    kept.replace("</worldbody>", &format!("{bodies}</worldbody>")) + "</mujoco>"
}

/// Where an entry of the state lies.
fn state_entry(robot: &Robot, name: &str) -> Result<usize, ExperimentError> {
    let found = robot.layout().state.select(name)?;
    found.first().copied().ok_or_else(|| ConfigError::new(format!("no state is called `{name}`")).into())
}

/// The page of a motion under inputs.
fn replay(robot: &Robot, inputs: &Inputs<f64>, states: Vec<Vec<f64>>) -> Replay {
    let rows = states.into_iter().enumerate().map(|(i, state)| (i as f64 * robot.dt(), state));
    recording::replay(robot.field(), (inputs, robot.dt()), &rows.collect::<Vec<_>>())
}

/// How the distance to a target counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// |x − target|.
    Distance,
    /// |x − target|².
    Squared,
}

/// Distance of some entries of the final state from a target.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Entries of the state, m.
    pub entries: Vec<usize>,
    /// Where they are to be, m.
    pub target: Vec<f64>,
    /// How the distance counts.
    pub measure: Measure,
}

impl Reach {
    fn squared<T: Real>(&self, state: &[T]) -> T {
        let mut sum = T::zero();
        for (i, target) in self.entries.iter().zip(&self.target) {
            let d = state[*i] - T::lit(*target);
            sum += d * d;
        }
        sum
    }
}

impl<T: Real> Loss<T> for Reach {
    fn value(&self, at: Sample<'_, T>) -> T {
        match (at.last(), self.measure) {
            (false, _) => T::zero(),
            (true, Measure::Distance) => self.squared(at.state).sqrt(),
            (true, Measure::Squared) => self.squared(at.state),
        }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if !at.last() {
            return;
        }
        // d√s = ds / (2 √s); on the target itself no direction is downhill.
        let scale = match self.measure {
            Measure::Distance => self.squared(at.state).sqrt().max(T::lit(f64::MIN_POSITIVE)).recip(),
            Measure::Squared => T::lit(2.0),
        };
        for (i, target) in self.entries.iter().zip(&self.target) {
            state_bar[*i] += scale * (at.state[*i] - T::lit(*target));
        }
    }
}
