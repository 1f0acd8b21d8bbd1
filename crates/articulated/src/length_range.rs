//! Length ranges of muscles by simulation, as MuJoCo's compiler finds them: without gravity, contacts, springs, dampers
//! and dry friction, each actuator is pulled to its shortest and pushed to its longest.

use pullback_core::{ConfigError, Described, Point, VectorField};

use super::field::Articulated;
use super::model::{Actuator, Bias, Gain, Model, ModelIntegrator};
use super::workspace::ArticulatedWorkspace;
use pullback_math::Vec3;

/// How ranges are found (`lengthrange`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthRangeOptions {
    /// Acceleration that the force aims at.
    pub accel: f64,
    /// Largest force; 0 is none.
    pub maxforce: f64,
    /// Time in which velocity decays, s.
    pub timeconst: f64,
    /// Time step, s.
    pub timestep: f64,
    /// Time simulated for each end, s.
    pub inttotal: f64,
    /// Time at the end of it over which lengths are taken, s.
    pub interval: f64,
    /// Spread of the lengths over that time, in units of the range, above which the search has failed.
    pub tolrange: f64,
}

impl Default for LengthRangeOptions {
    fn default() -> Self {
        LengthRangeOptions {
            accel: 20.0,
            maxforce: 0.0,
            timeconst: 1.0,
            timestep: 0.01,
            inttotal: 10.0,
            interval: 2.0,
            tolrange: 0.05,
        }
    }
}

impl Model {
    /// The model with a length range for each of `actuators`, found by simulation.
    pub fn with_length_ranges(
        mut self,
        actuators: &[usize],
        options: &LengthRangeOptions,
    ) -> Result<Model, ConfigError> {
        if actuators.is_empty() {
            return Ok(self);
        }
        let robot = Articulated::new(bare(&self, options.timestep))?.with_time_step(options.timestep);
        let mut ws: ArticulatedWorkspace<f64> = robot.workspace();
        for &a in actuators {
            let (shortest, _, low_spread) = search(&robot, &mut ws, a, -1.0, options);
            let (_, longest, high_spread) = search(&robot, &mut ws, a, 1.0, options);
            let width = longest - shortest;
            let name = &self.actuators[a].name;
            if !(width > 0.0 && low_spread.max(high_spread) <= options.tolrange * width) {
                return Err(ConfigError::new(format!(
                    "actuator `{name}`: no length range was found (from {shortest} to {longest}); give `lengthrange`"
                )));
            }
            self.actuators[a].length_range = Some((shortest, longest));
        }
        Ok(self)
    }
}

/// The model with limits and equalities alone; controls are forces along the transmissions.
fn bare(model: &Model, timestep: f64) -> Model {
    let mut bare = model.clone();
    let o = &mut bare.options;
    (o.contact, o.frictionloss, o.gravity, o.timestep) = (false, false, Vec3::zero(), timestep);
    o.integrator = ModelIntegrator::Euler;
    for body in &mut bare.bodies {
        body.gravity_compensation = 0.0;
    }
    for joint in &mut bare.joints {
        (joint.stiffness, joint.damping, joint.actuator_force_range) = (0.0, 0.0, None);
    }
    for tendon in &mut bare.tendons {
        (tendon.stiffness, tendon.damping, tendon.actuator_force_range) = (0.0, 0.0, None);
    }
    for actuator in &mut bare.actuators {
        let (name, transmission, gear) = (actuator.name.clone(), actuator.transmission, actuator.gear);
        *actuator = Actuator { transmission, gear, ..Actuator::motor(name, 0, 1.0) };
        debug_assert_eq!((actuator.gain, actuator.bias), (Gain::Fixed(1.0), Bias::None));
    }
    bare
}

/// Shortest and longest length over the last interval, and the difference, where an actuator pushes with `sign`.
fn search(
    robot: &Articulated,
    ws: &mut ArticulatedWorkspace<f64>,
    actuator: usize,
    sign: f64,
    options: &LengthRangeOptions,
) -> (f64, f64, f64) {
    let h = options.timestep;
    let (params, mut control) = (robot.layout().params.defaults(), robot.layout().control.defaults());
    let nq = robot.coordinates().nq;
    let mut state = robot.layout().state.defaults();
    state[..nq].copy_from_slice(&robot.model().reference_configuration());
    state[nq..].fill(0.0);
    let mut rate = vec![0.0; 2 * robot.coordinates().nv];
    let mut next = state.clone();
    let (mut low, mut high, mut time) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let decay = (-h / options.timeconst.max(0.01)).exp();
    while time < options.inttotal {
        state[nq..].iter_mut().for_each(|v| *v *= decay);
        // The force along the moment J that accelerates by `accel`.
        let at = Point { params: &params, state: &state, control: &control };
        robot.accelerations(ws, at);
        let length = ws.actuators.length[actuator];
        let moment = robot.actuator_moment(ws, at, actuator);
        let mut solved = moment.clone();
        ws.mass.solve(robot.tree(), &mut solved);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut force = options.accel / norm(&solved).max(1e-15);
        if options.maxforce > 0.0 && force * norm(&moment) > options.maxforce {
            force = options.maxforce / norm(&moment);
        }
        control[actuator] = sign * force;
        robot.eval(ws, Point { params: &params, state: &state, control: &control }, time, &mut rate);
        control[actuator] = 0.0;
        // Semi-implicit Euler.
        let nv = robot.coordinates().nv;
        for k in 0..nv {
            rate[k] = state[nq + k] + h * rate[nv + k];
        }
        VectorField::<f64>::advance(robot, &state, &rate, h, &mut next);
        std::mem::swap(&mut state, &mut next);
        time += h;
        if time > options.inttotal - options.interval {
            (low, high) = (low.min(length), high.max(length));
        }
    }
    (low, high, high - low)
}
