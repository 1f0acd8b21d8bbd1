//! The simulated cube: its parameters by quantity, residuals of a segment, and their derivatives.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{Described, Rollout, Schedule};
use pullback_math::{Dual, Flat, Mat3, Quat, Real, Vec3};
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::{Articulated, ImplicitTerms};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use rayon::prelude::*;

use super::super::{ExperimentError, tsit5};
use super::{Cube, LEVER, MASS, RESIDUALS, SAMPLE, SEGMENT, SIDE, STATE, Segment, Way};

/// The simulated cube, with the places of what is identified among its parameters.
pub struct Simulator {
    system: Integrated<Articulated>,
    defaults: Vec<f64>,
    size: usize,
    mass: usize,
    inertia: usize,
    friction: [usize; 2],
    solref: [usize; 2],
    floor: usize,
    weight: usize,
}

impl Simulator {
    /// A cube above a floor, and the tolerance of adaptive steps.
    pub fn new(way: Way, tolerance: f64) -> Result<Self, ExperimentError> {
        let half = 0.5 * SIDE;
        let text = format!(
            "<mujoco model='cube'><option timestep='{SAMPLE}'><flag refsafe='disable'/></option>
             <default><geom solref='0.02 1' solimp='0.05 0.95 0.01 0.5 2' friction='0.4 0.01 0.1'/></default>
             <worldbody><geom name='floor' type='plane' size='0 0 1'/>
             <body name='cube' pos='0 0 1'><freejoint name='cube'/>
             <geom name='box' type='box' size='{half} {half} {half}' mass='{MASS}'/></body></worldbody></mujoco>"
        );
        let mut robot = Articulated::new(parse_mjcf(&text, None, &ImportOptions::default())?)?;
        let mut integrator: Integrator = tsit5(tolerance);
        if matches!(way, Way::Fixed | Way::FixedDistant) {
            robot = robot.with_implicit(ImplicitTerms::Damping, SAMPLE);
            integrator = Integrator::fixed(Method::SemiImplicitEuler);
        }
        if matches!(way, Way::FixedDistant | Way::AdaptiveDistant) {
            let distant = ContactsFromDistance {
                solimp: [0.0, 0.05, 0.1, 1.0, 4.0],
                softplus: 0.005,
                ..ContactsFromDistance::new(0.1)
            };
            robot = robot.with_contacts_from_distance(distant)?;
        }
        let params = &robot.layout().params;
        let at = |name: &str| params.slice(name).map(|slice| slice.range.start);
        Ok(Simulator {
            defaults: params.defaults(),
            size: at("box.size")?,
            mass: at("cube.mass")?,
            inertia: at("cube.inertia")?,
            friction: [at("floor.friction")?, at("box.friction")?],
            solref: [at("floor.solref")?, at("box.solref")?],
            floor: at("floor.position")?,
            weight: at("cube.body_invweight")?,
            system: Integrated::new(robot, SAMPLE, integrator)?,
        })
    }

    pub(super) fn system(&self) -> &Integrated<Articulated> {
        &self.system
    }

    /// The parameters of the simulation for a cube.
    pub(super) fn params<T: Real>(&self, cube: &Cube<T>) -> Vec<T> {
        let mut params: Vec<T> = self.defaults.iter().map(|x| T::lit(*x)).collect();
        let [side, ratio, mass, friction, time, damping, floor] = cube.values;
        let half = side * T::lit(0.5);
        params[self.size..self.size + 3].fill(half);
        params[self.mass] = mass;
        // I = m s²/6; softness scales with the inverses of both
        let inertia = ratio * mass * side * side / T::lit(6.0);
        params[self.inertia..self.inertia + 3].fill(inertia);
        (params[self.weight], params[self.weight + 1]) = (mass.recip(), inertia.recip());
        for i in 0..2 {
            params[self.friction[i]] = friction;
            (params[self.solref[i]], params[self.solref[i] + 1]) = (time, damping);
        }
        params[self.floor + 2] = floor;
        params
    }

    /// The pullback of [`Simulator::params`].
    fn params_vjp(&self, cube: &Cube<f64>, params_bar: &[f64]) -> Cube<f64> {
        let [side, ratio, mass, ..] = cube.values;
        let size: f64 = params_bar[self.size..self.size + 3].iter().sum();
        let whole = ratio * mass * side * side / 6.0;
        let inertia: f64 = params_bar[self.inertia..self.inertia + 3].iter().sum::<f64>()
            - params_bar[self.weight + 1] / (whole * whole);
        let both = |at: [usize; 2], offset: usize| params_bar[at[0] + offset] + params_bar[at[1] + offset];
        Cube {
            values: [
                0.5 * size + inertia * ratio * mass * side / 3.0,
                inertia * mass * side * side / 6.0,
                params_bar[self.mass] - params_bar[self.weight] / (mass * mass)
                    + inertia * ratio * side * side / 6.0,
                both(self.friction, 0),
                both(self.solref, 0),
                both(self.solref, 1),
                params_bar[self.floor + 2],
            ],
        }
    }

    fn inputs<T: Real>(&self, segment: &Segment, cube: &Cube<T>) -> Inputs<T> {
        let state = segment.samples[0].iter().map(|x| T::lit(*x)).collect();
        Inputs { state, controls: vec![], params: self.params(cube) }
    }

    /// Half the mean square of the residuals of some segments, and its gradient.
    pub fn loss_gradient(
        &self,
        segments: &[Segment],
        cube: &Cube<f64>,
    ) -> Result<(f64, Cube<f64>), ExperimentError> {
        let rollout = Rollout::new(&self.system, SEGMENT - 1, Schedule::StoreAll)?;
        let parts: Result<Vec<(f64, Vec<f64>)>, ExperimentError> = segments
            .par_iter()
            .map_init(
                || rollout.workspace::<f64>(),
                |ws, segment| {
                    rollout.gradient(ws, &self.inputs(segment, cube), &Misfit { segment })?;
                    Ok((ws.gradient.loss, ws.gradient.params.clone()))
                },
            )
            .collect();
        let scale = 1.0 / segments.len() as f64;
        let (mut loss, mut total) = (0.0, vec![0.0; self.defaults.len()]);
        for (part, params) in parts? {
            loss += scale * part;
            total.iter_mut().zip(&params).for_each(|(t, x)| *t += scale * x);
        }
        Ok((loss, self.params_vjp(cube, &total)))
    }

    /// Residuals of a segment, and their derivatives by one quantity.
    pub(super) fn residuals(
        &self,
        segment: &Segment,
        cube: &Cube<f64>,
        quantity: usize,
    ) -> Result<Vec<Dual<f64>>, ExperimentError> {
        let rollout = Rollout::new(&self.system, SEGMENT - 1, Schedule::StoreAll)?;
        let seed = |i: usize| if i == quantity { 1.0 } else { 0.0 };
        let cube = Cube { values: std::array::from_fn(|i| Dual::new(cube.values[i], seed(i))) };
        let mut all = Vec::new();
        rollout.simulate(&mut rollout.workspace::<Dual<f64>>(), &self.inputs(segment, &cube), |at| {
            if at.step > 0 {
                all.extend(residual(at.state, &segment.samples[at.step]));
            }
        })?;
        Ok(all)
    }
}

/// Differences of a simulated and a recorded state, m.
fn residual<T: Real>(state: &[T], recorded: &[f64; STATE]) -> [T; RESIDUALS] {
    let mut out = [T::zero(); RESIDUALS];
    let matrix = Quat::read(&state[3..]).normalize().to_mat3();
    let seen = Quat::read(&recorded[3..]).normalize().to_mat3();
    for i in 0..3 {
        out[i] = state[i] - T::lit(recorded[i]);
        for j in 0..3 {
            out[3 + 3 * i + j] = (matrix.col(i)[j] - T::lit(seen.col(i)[j])) * T::lit(LEVER);
        }
        out[12 + i] = (state[7 + i] - T::lit(recorded[7 + i])) * T::lit(SAMPLE);
        out[15 + i] = (state[10 + i] - T::lit(recorded[10 + i])) * T::lit(SAMPLE * LEVER);
    }
    out
}

/// Half the mean square of the residuals of a segment, m².
struct Misfit<'a> {
    segment: &'a Segment,
}

const WEIGHT: f64 = 1.0 / (SEGMENT - 1) as f64;

impl<T: Real> Loss<T> for Misfit<'_> {
    fn value(&self, at: Sample<'_, T>) -> T {
        if at.step == 0 {
            return T::zero();
        }
        let r = residual(at.state, &self.segment.samples[at.step]);
        r.iter().fold(T::zero(), |sum, x| sum + *x * *x) * T::lit(0.5 * WEIGHT)
    }

    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.step == 0 {
            return;
        }
        let bar = residual(at.state, &self.segment.samples[at.step]).map(|x| x * T::lit(WEIGHT));
        let quat = Quat::read(&at.state[3..]);
        let unit = quat.normalize();
        let mut columns = [Vec3::zero(); 3];
        for i in 0..3 {
            state_bar[i] += bar[i];
            let column = Vec3::read(&bar[3 + 3 * i..]) * T::lit(LEVER);
            columns[i] = column;
            state_bar[7 + i] += bar[12 + i] * T::lit(SAMPLE);
            state_bar[10 + i] += bar[15 + i] * T::lit(SAMPLE * LEVER);
        }
        let matrix_bar = Mat3::from_cols(columns[0], columns[1], columns[2]);
        quat.normalize_vjp(unit.to_mat3_vjp(matrix_bar)).add_to(&mut state_bar[3..]);
    }
}
