//! DiffMJX, Fig. 7: a quadruped hovers on contacts from distance, unless they act on the way back alone.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::Inputs;
use pullback_core::{Described, Rollout, Schedule};
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::{Articulated, ImplicitTerms};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::ExperimentError;
use crate::results::{Goal, Results};

const QUADRUPED: &str = pullback_models::LAIKAGO;
/// Seconds simulated.
const SPAN: f64 = 1.0;
/// Distance from which contacts act, m.
const WIDTH: f64 = 0.1;

/// Heights of the trunk over time, m, and the motions.
#[derive(Clone, Debug)]
pub struct Hover {
    /// The quadruped.
    pub robot: Articulated,
    /// Times and states without contacts from distance.
    pub plain: Vec<(f64, Vec<f64>)>,
    /// With contacts from distance in the motion itself.
    pub hovering: Vec<(f64, Vec<f64>)>,
    /// With contacts from distance on the way back alone.
    pub straight: Vec<(f64, Vec<f64>)>,
}

/// Lets the quadruped stand three times.
pub fn run() -> Result<Hover, ExperimentError> {
    let model = parse_mjcf(QUADRUPED, None, &ImportOptions::default())?;
    let (dt, key) = (model.options.timestep, model.keyframes.first().cloned());
    let robot = Articulated::new(model)?.with_implicit(ImplicitTerms::Damping, dt);
    let (mut state, mut control) = (robot.layout().state.defaults(), robot.layout().control.defaults());
    if let Some(key) = key {
        (state, control) = (key.state(), key.controls());
    }
    let steps = (SPAN / dt).round() as usize;
    let inputs = Inputs { state, controls: control.repeat(steps), params: robot.layout().params.defaults() };
    let motion = |robot: Articulated| -> Result<Vec<(f64, Vec<f64>)>, ExperimentError> {
        let system = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
        let rollout = Rollout::new(&system, steps, Schedule::StoreAll)?;
        let mut rows = Vec::new();
        rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| {
            rows.push((at.step as f64 * dt, at.state.to_vec()));
        })?;
        Ok(rows)
    };
    let distant = |straight_through: bool| {
        let distant = ContactsFromDistance {
            solimp: [0.0, 0.9, WIDTH, 1.0, 2.0],
            straight_through,
            ..ContactsFromDistance::new(WIDTH)
        };
        robot.clone().with_contacts_from_distance(distant)
    };
    Ok(Hover {
        plain: motion(robot.clone())?,
        hovering: motion(distant(false)?)?,
        straight: motion(distant(true)?)?,
        robot,
    })
}

impl Hover {
    /// Height of the trunk at the end of a motion, m.
    fn height(rows: &[(f64, Vec<f64>)]) -> f64 {
        rows.last().map_or(0.0, |(_, state)| state[2])
    }

    /// Adds heights and goals.
    pub fn add_results(&self, results: &mut Results) {
        let plain = Hover::height(&self.plain);
        results.row("quadruped", "height of the trunk after 1 s", plain, "m");
        let lifted = Hover::height(&self.hovering) - plain;
        results.row("quadruped on contacts from distance", "height above that", lifted, "m");
        results.goals.push(Goal::at_least(
            "contacts from distance in the motion lift the quadruped, m",
            lifted,
            0.005,
        ));
        let same = self.plain.iter().zip(&self.straight).all(|(a, b)| a.1 == b.1);
        let name = "straight through, the motion is the same to the last bit";
        results.goals.push(Goal::at_least(name, if same { 1.0 } else { 0.0 }, 1.0));
    }
}
