//! DiffMJX, Fig. 9: the side of a cube from motion capture of its tosses, and more of its parameters.
//!
//! A recording is cut into segments of five samples. From the first, the next four are simulated, and the residuals
//! are differences of position, rotation matrix, velocity and angular velocity, velocities over the time between
//! samples. Where the cube is too small in simulation it misses the floor within a segment, and only contacts from
//! distance have a gradient; where fixed steps are as long as the time between samples, gradients are those of the
//! steps.
//!
//! The mass of a single body leaves no trace in its motion: all forces of soft contact scale with it. What can be
//! told is inertia over mass.

use std::path::Path;

use faer::Mat;
use faer::linalg::solvers::Solve;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_math::{Dual, Flat, Mat3, Quat, Real, Vec3};
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::{Articulated, ImplicitTerms};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use rayon::prelude::*;

use super::{ExperimentError, tsit5};

/// Half width of the block, m: the unit of length of the recordings.
const UNIT: f64 = 0.0524;
/// Seconds between samples.
pub const SAMPLE: f64 = 1.0 / 148.0;
/// Samples of a segment, the first included.
const SEGMENT: usize = 5;
/// Published side, m.
pub const SIDE: f64 = 2.0 * UNIT;
/// Published mass, kg.
const MASS: f64 = 0.37;
/// Length over which a rotation moves what it turns, m.
const LEVER: f64 = UNIT;
/// Entries of a state: position, orientation, velocity, angular velocity in the body.
const STATE: usize = 13;
/// Residuals of a sample: position, rotation matrix, velocity, angular velocity.
const RESIDUALS: usize = 18;

/// States of the cube in meters, seconds and radians, one toss after the other.
pub type Toss = Vec<[f64; STATE]>;

/// Reads tosses from a file with the columns toss, t, px, py, pz, qw, qx, qy, qz, vx, vy, vz, wx, wy, wz; lengths in
/// half widths of the block.
pub fn read_tosses(path: &Path) -> Result<Vec<Toss>, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        ConfigError::new(format!("{}: {e}; give the path of a CSV file of tosses", path.display()))
    })?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    let names = ["px", "py", "pz", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz"];
    let column = |name: &str| {
        let found = header.iter().position(|h| *h == name);
        found.ok_or_else(|| ConfigError::new(format!("{}:1: no column `{name}`", path.display())))
    };
    let toss_column = column("toss")?;
    let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let mut tosses: Vec<Toss> = Vec::new();
    let mut last = None;
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |column: usize| {
            let value = cells.get(column).and_then(|x| x.parse::<f64>().ok()).filter(|x| x.is_finite());
            value.ok_or_else(|| {
                let place = format!("{}:{}", path.display(), number + 2);
                ConfigError::new(format!("{place}: `{}` is not a number", header[column]))
            })
        };
        let toss = cell(toss_column)?;
        let mut state = [0.0; STATE];
        for (i, column) in columns.iter().enumerate() {
            // Positions and velocities are in half widths.
            state[i] = cell(*column)? * if i < 3 || (7..10).contains(&i) { UNIT } else { 1.0 };
        }
        if last != Some(toss) {
            tosses.push(Vec::new());
            last = Some(toss);
        }
        if let Some(toss) = tosses.last_mut() {
            toss.push(state);
        }
    }
    if tosses.iter().all(|t| t.len() < SEGMENT) {
        return Err(ConfigError::new(format!("{}: no toss has {SEGMENT} samples", path.display())));
    }
    Ok(tosses)
}

/// Five samples in a row.
#[derive(Clone, Debug)]
pub struct Segment {
    samples: Vec<[f64; STATE]>,
}

/// `count` segments of some tosses, drawn at random from those whose motion the floor may change: a corner of the
/// recorded cube comes within 5 mm of it.
pub fn segments(tosses: &[Toss], count: usize, seed: u64) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for toss in tosses {
        all.extend(toss.chunks_exact(SEGMENT).map(|samples| Segment { samples: samples.to_vec() }));
    }
    all.retain(|segment| segment.samples.iter().any(|s| lowest_corner(s) < 0.005));
    let mut random = Random::new(seed);
    for i in (1..all.len()).rev() {
        let j = random.uniform(0.0, (i + 1) as f64) as usize;
        all.swap(i, j.min(i));
    }
    all.truncate(count);
    all
}

/// Height of the lowest corner of the published cube, m.
fn lowest_corner(state: &[f64; STATE]) -> f64 {
    let turn = Quat::read(&state[3..]).normalize();
    let up = turn.inverse_rotate(Vec3::new(0.0, 0.0, 1.0));
    state[2] - 0.5 * SIDE * (up.x.abs() + up.y.abs() + up.z.abs())
}

/// What is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Length of an edge, m. The inertia follows, at uniform density.
    Side,
    /// Inertia over that of uniform density.
    Inertia,
    /// Mass, kg, with inertia over mass held.
    Mass,
    /// Sliding friction.
    Friction,
    /// Time constant of contacts, s (`solref`).
    TimeConstant,
    /// Damping ratio of contacts (`solref`); the larger, the less the cube bounces.
    DampingRatio,
    /// Height of the floor, m.
    Floor,
}

impl Quantity {
    /// Name and unit.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Side => ("side", "m"),
            Quantity::Inertia => ("inertia over that of uniform density", "1"),
            Quantity::Mass => ("mass", "kg"),
            Quantity::Friction => ("friction", "1"),
            Quantity::TimeConstant => ("time constant of contacts", "s"),
            Quantity::DampingRatio => ("damping ratio of contacts", "1"),
            Quantity::Floor => ("height of the floor", "m"),
        }
    }
}

/// Values of all quantities, in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cube<T> {
    /// Values.
    pub values: [T; 7],
}

/// All quantities.
pub const QUANTITIES: [Quantity; 7] = [
    Quantity::Side,
    Quantity::Inertia,
    Quantity::Mass,
    Quantity::Friction,
    Quantity::TimeConstant,
    Quantity::DampingRatio,
    Quantity::Floor,
];

impl Default for Cube<f64> {
    /// The settings of the paper.
    fn default() -> Self {
        Cube { values: [SIDE, 1.0, MASS, 0.4, 0.02, 1.0, 0.0] }
    }
}

/// How segments are simulated and differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Euler steps as long as the time between samples.
    Fixed,
    /// The same, with contacts from distance on the way back.
    FixedDistant,
    /// Adaptive steps.
    Adaptive,
    /// The same, with contacts from distance on the way back.
    AdaptiveDistant,
}

impl Way {
    /// As the paper calls it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Fixed => "MJX",
            Way::FixedDistant => "MJX with contacts from distance",
            Way::Adaptive => "DiffMJX",
            Way::AdaptiveDistant => "DiffMJX with contacts from distance",
        }
    }
}

/// All ways.
pub const WAYS: [Way; 4] = [Way::Fixed, Way::FixedDistant, Way::Adaptive, Way::AdaptiveDistant];

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
    /// A cube above a floor.
    pub fn new(way: Way) -> Result<Self, ExperimentError> {
        let half = 0.5 * SIDE;
        let text = format!(
            "<mujoco model='cube'><option timestep='{SAMPLE}'><flag refsafe='disable'/></option>
             <default><geom solref='0.02 1' solimp='0.05 0.95 0.01 0.5 2' friction='0.4 0.01 0.1'/></default>
             <worldbody><geom name='floor' type='plane' size='0 0 1'/>
             <body name='cube' pos='0 0 1'><freejoint name='cube'/>
             <geom name='box' type='box' size='{half} {half} {half}' mass='{MASS}'/></body></worldbody></mujoco>"
        );
        let mut robot = Articulated::new(parse_mjcf(&text, None, &ImportOptions::default())?)?;
        let mut integrator: Integrator = tsit5(1e-5);
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

    /// The parameters of the simulation for a cube.
    fn params<T: Real>(&self, cube: &Cube<T>) -> Vec<T> {
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
    fn residuals(
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

/// The side after each step of Adam.
#[derive(Clone, Debug)]
pub struct Descent {
    /// How gradients were computed.
    pub way: Way,
    /// Sides, m; shorter if the search failed.
    pub sides: Vec<f64>,
}

/// Range of sides that the search stays in, m.
const SIDES: (f64, f64) = (0.04, 0.16);
/// First step of Adam, m.
const RATE: f64 = 0.002;

/// The side by Adam with the paper's settings, β = (0.5, 0.9); the step is halved every third of the way.
pub fn descend(
    simulator: &Simulator,
    way: Way,
    segments: &[Segment],
    start: f64,
    steps: usize,
) -> Result<Descent, ExperimentError> {
    let (middle, half) = (0.5 * (SIDES.0 + SIDES.1), 0.5 * (SIDES.1 - SIDES.0));
    let config = AdamConfig { beta1: 0.5, beta2: 0.9, ..AdamConfig::default() };
    let (mut adam, mut z) = (AdamState::new(1), [(start - middle) / half]);
    let mut sides = vec![start];
    for step in 0..steps {
        let mut cube = Cube::default();
        cube.values[0] = middle + half * z[0];
        let (loss, gradient) = simulator.loss_gradient(segments, &cube)?;
        let rate = RATE / half * 0.5f64.powi((3 * step / steps) as i32);
        // What is round-off of the free flight is no gradient.
        let slope = gradient.values[0] * half;
        adam.step(&config, rate, &mut z, &[if slope.abs() > 1e-9 * loss { slope } else { 0.0 }]);
        sides.push(middle + half * z[0]);
    }
    Ok(Descent { way, sides })
}

/// What Gauss-Newton found for one quantity.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Which.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// Standard error; infinite where the motion does not depend on it.
    pub error: f64,
}

/// The result of Gauss-Newton.
#[derive(Clone, Debug)]
pub struct Fit {
    /// All quantities.
    pub estimates: Vec<Estimate>,
    /// Correlations of those that can be told, row by row.
    pub correlations: Vec<Vec<f64>>,
    /// Which these are.
    pub told: Vec<Quantity>,
    /// The cube.
    pub cube: Cube<f64>,
    /// Root mean square of the residuals, m: before, after, and after on segments that were held back.
    pub misfits: [f64; 3],
    /// Steps taken.
    pub iterations: usize,
}

/// Residuals and Jacobian of some segments, by the quantities listed.
fn linearize(
    simulator: &Simulator,
    segments: &[Segment],
    cube: &Cube<f64>,
) -> Result<(Vec<f64>, Vec<Vec<f64>>), ExperimentError> {
    let columns: Result<Vec<Vec<Dual<f64>>>, ExperimentError> = (0..QUANTITIES.len())
        .map(|quantity| {
            let parts: Result<Vec<_>, ExperimentError> =
                segments.par_iter().map(|segment| simulator.residuals(segment, cube, quantity)).collect();
            Ok(parts?.concat())
        })
        .collect();
    let columns = columns?;
    let residuals = columns[0].iter().map(|x| x.value).collect();
    Ok((residuals, columns.iter().map(|c| c.iter().map(|x| x.tangent).collect()).collect()))
}

fn root_mean_square(x: &[f64]) -> f64 {
    (x.iter().map(|x| x * x).sum::<f64>() / x.len().max(1) as f64).sqrt()
}

/// Fits some quantities by Gauss-Newton with Levenberg's damping in logarithms, the floor in meters. Segments come
/// as those to fit and those to judge the fit by. Quantities whose column of the Jacobian is zero to round-off keep
/// their value.
pub fn fit(
    simulator: &Simulator,
    (segments, held_back): (&[Segment], &[Segment]),
    start: Cube<f64>,
    fitted: &[Quantity],
    most: usize,
    mut tick: impl FnMut(),
) -> Result<Fit, ExperimentError> {
    // Logarithms keep positive what is positive; the floor is a height.
    let is_length = |i: usize| QUANTITIES[i] == Quantity::Floor;
    let scale = |cube: &Cube<f64>, i: usize| if is_length(i) { 0.01 } else { cube.values[i] };
    let mut cube = start;
    let (mut residuals, mut jacobian) = linearize(simulator, segments, &cube)?;
    let before = root_mean_square(&residuals);
    let (mut damping, mut iterations) = (1e-3, 0);
    let told_at = |jacobian: &[Vec<f64>], cube: &Cube<f64>| -> Vec<usize> {
        let size = |i: usize| root_mean_square(&jacobian[i]) * scale(cube, i);
        let largest = (0..QUANTITIES.len()).map(size).fold(0.0, f64::max);
        let may = |i: &usize| fitted.contains(&QUANTITIES[*i]) && size(*i) > 1e-7 * largest;
        (0..QUANTITIES.len()).filter(may).collect()
    };
    for _ in 0..most {
        iterations += 1;
        tick();
        let told = told_at(&jacobian, &cube);
        let column = |i: usize, row: usize| jacobian[told[i]][row] * scale(&cube, told[i]);
        let n = told.len();
        let normal = Mat::from_fn(n, n, |i, j| {
            let sum: f64 = (0..residuals.len()).map(|r| column(i, r) * column(j, r)).sum();
            if i == j { sum * (1.0 + damping) } else { sum }
        });
        let step = Mat::from_fn(n, 1, |i, _| {
            -(0..residuals.len()).map(|r| column(i, r) * residuals[r]).sum::<f64>()
        });
        let step = normal.partial_piv_lu().solve(&step);
        let mut next = cube;
        for (i, &quantity) in told.iter().enumerate() {
            let by = step[(i, 0)].clamp(-0.5, 0.5);
            let value = &mut next.values[quantity];
            *value = if is_length(quantity) { *value + 0.01 * by } else { *value * by.exp() };
        }
        match linearize(simulator, segments, &next) {
            Ok((r, j)) if root_mean_square(&r) < root_mean_square(&residuals) => {
                let gain = 1.0 - root_mean_square(&r) / root_mean_square(&residuals);
                (cube, residuals, jacobian) = (next, r, j);
                damping = (damping * 0.3f64).max(1e-9);
                if gain < 1e-5 {
                    break;
                }
            }
            _ => damping *= 10.0,
        }
        if damping > 1e6 {
            break;
        }
    }
    let told = told_at(&jacobian, &cube);
    // Covariance σ² (Jᵀ J)⁻¹
    let n = told.len();
    let normal = Mat::from_fn(n, n, |i, j| {
        let (a, b) = (told[i], told[j]);
        let sum: f64 = (0..residuals.len()).map(|r| jacobian[a][r] * jacobian[b][r]).sum();
        sum * scale(&cube, a) * scale(&cube, b)
    });
    let inverse = normal.partial_piv_lu().solve(&Mat::<f64>::identity(n, n));
    let variance = residuals.iter().map(|x| x * x).sum::<f64>() / (residuals.len() - n) as f64;
    let deviation = |i: usize| (variance * inverse[(i, i)]).sqrt();
    let estimates = (0..QUANTITIES.len())
        .filter(|quantity| fitted.contains(&QUANTITIES[*quantity]))
        .map(|quantity| {
            let place = told.iter().position(|t| *t == quantity);
            let error = place.map_or(f64::INFINITY, |i| deviation(i) * scale(&cube, quantity));
            Estimate { quantity: QUANTITIES[quantity], value: cube.values[quantity], error }
        })
        .collect();
    let correlations = (0..n)
        .map(|i| (0..n).map(|j| variance * inverse[(i, j)] / (deviation(i) * deviation(j))).collect())
        .collect();
    let held = linearize(simulator, held_back, &cube)?.0;
    let misfits = [before, root_mean_square(&residuals), root_mean_square(&held)];
    let told = told.iter().map(|i| QUANTITIES[*i]).collect();
    Ok(Fit { estimates, correlations, told, cube, misfits, iterations })
}
