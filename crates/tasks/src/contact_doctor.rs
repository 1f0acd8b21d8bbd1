//! Which settings make the gradient of a motion with contacts right, and what they cost.
//!
//! A scene is a model, a span of time, states that should reach targets at its end, and initial states that may
//! change. Every setting (integrator, step or tolerance, softness of collision, contacts from distance) gives a
//! gradient at random starts. The reference is one motion, of adaptive steps at a tolerance that leaves no error to
//! see: its central differences along the gradient tell whether that is right, and its loss after a step against the
//! gradient whether that goes down. So a setting is judged by the physics, not by its own approximation of it.
//!
//! Contacts from distance give a surrogate on purpose. They are judged by going down alone.

use std::time::Instant;

use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController};
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_math::Real;
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::{Articulated, ContactModel, ImplicitTerms, Model};
use rayon::prelude::*;
use serde::Serialize;

use crate::diffmjx::ExperimentError;

/// Tolerance of the reference.
const REFERENCE: f64 = 1e-11;
/// Part of a change of the start over which differences are taken.
const DIFFERENCE: f64 = 1e-4;
/// A gradient agrees when the difference along it is within this part of it.
const WITHIN: f64 = 0.05;
/// Length of the step that should go down, in units of the change of the start.
const STEP: f64 = 0.02;
/// Share of starts at which a recommended gradient must be right.
const MOST: f64 = 0.95;

/// A motion and what is asked of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The model.
    pub model: Model,
    /// Seconds.
    pub time: f64,
    /// Entries of the state and the values that they should have at the end.
    pub targets: Vec<(usize, f64)>,
    /// Entries of the initial state that may change, and by how much.
    pub varied: Vec<(usize, f64)>,
    /// The start around which they vary.
    pub start: Vec<f64>,
    /// The control, constant.
    pub control: Vec<f64>,
}

impl Case {
    /// A model from its first keyframe, or its reference pose. `targets` are entries of the state by name, such as
    /// `ball.position[0]`, with their values; `varied` entries of the initial state with their changes, or all
    /// velocities by `by` if there are none.
    pub fn new(
        model: Model,
        time: f64,
        targets: &[(String, f64)],
        varied: &[(String, f64)],
        by: f64,
    ) -> Result<Self, ConfigError> {
        if !(time > 0.0 && time.is_finite()) {
            return Err(ConfigError::new(format!("the time must be positive, got {time}")));
        }
        let robot = Articulated::new(model.clone())?;
        let layout = robot.layout();
        let (mut start, mut control) = (layout.state.defaults(), layout.control.defaults());
        if let Some(key) = model.keyframes.first() {
            (start, control) = (key.state(), key.controls());
        }
        let entries = |list: &[(String, f64)]| -> Result<Vec<(usize, f64)>, ConfigError> {
            list.iter().map(|(name, x)| Ok((layout.state.index_of(name)?, *x))).collect()
        };
        let (targets, mut varied) = (entries(targets)?, entries(varied)?);
        if varied.is_empty() {
            let (nq, nv) = (robot.coordinates().nq, robot.coordinates().nv);
            varied = (nq..nq + nv).map(|i| (i, by)).collect();
        }
        Ok(Case { model, time, targets, varied, start, control })
    }
}

/// How a gradient is computed.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// What a user would write.
    pub name: String,
    /// Seconds per fixed step; none for adaptive steps over the whole time.
    pub step: Option<f64>,
    /// Tolerance of adaptive steps.
    pub tolerance: Option<f64>,
    /// Whether the adjoint equation is solved with error control of its own.
    pub continuous: bool,
    /// Softness of collision, m.
    pub softness: f64,
    /// Distance from which contacts act on the way back, m.
    pub distance: f64,
}

/// How a setting did.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The setting.
    pub setting: Setting,
    /// Share of starts where the difference of the reference along the gradient is within 5 % of it.
    pub agreeing: f64,
    /// Share of starts where the reference goes down along the gradient.
    pub downhill: f64,
    /// Share of starts without a gradient.
    pub zero: f64,
    /// Share of starts where the simulation failed.
    pub failed: f64,
    /// Seconds per gradient, the median.
    pub seconds: f64,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// All settings.
    pub judged: Vec<Judged>,
    /// The one to use, by its place.
    pub recommended: usize,
    /// Why.
    pub advice: String,
}

/// Settings worth a try for a model: its own step and shorter ones, adaptive steps of two tolerances with either
/// adjoint, soft collision, and contacts from distance.
pub fn settings(model: &Model, distance: f64) -> Vec<Setting> {
    let plain = Setting {
        name: String::new(),
        step: None,
        tolerance: None,
        continuous: false,
        softness: 0.0,
        distance: 0.0,
    };
    let dt = model.options.timestep;
    let mut all = Vec::new();
    for part in [1.0, 0.1, 0.01] {
        let step = Some(part * dt);
        all.push(Setting { name: format!("Euler steps of {:.3e} s", part * dt), step, ..plain.clone() });
    }
    if model.options.contact_model == ContactModel::Complementarity {
        return all;
    }
    for tolerance in [1e-6, 1e-8] {
        for continuous in [false, true] {
            let adjoint = if continuous { "continuous" } else { "discrete" };
            let name = format!("adaptive steps, tolerance {tolerance:.0e}, {adjoint} adjoint");
            all.push(Setting { name, tolerance: Some(tolerance), continuous, ..plain.clone() });
        }
    }
    let best = Setting { tolerance: Some(1e-8), continuous: true, ..plain };
    all.push(Setting { name: "the same, soft collision over 1 mm".into(), softness: 1e-3, ..best.clone() });
    all.push(Setting { name: format!("the same, contacts from {distance} m"), distance, ..best });
    all
}

/// Σ (x − target)² at the end.
struct Misses<'a> {
    targets: &'a [(usize, f64)],
}

impl<T: Real> Loss<T> for Misses<'_> {
    fn value(&self, at: Sample<'_, T>) -> T {
        let miss = |(i, x): &(usize, f64)| at.state[*i] - T::lit(*x);
        let last = at.last();
        self.targets.iter().filter(|_| last).fold(T::zero(), |sum, t| sum + miss(t) * miss(t))
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        for (i, x) in self.targets.iter().filter(|_| at.last()) {
            state_bar[*i] += T::lit(2.0) * (at.state[*i] - T::lit(*x));
        }
    }
}

/// A case under a setting.
struct Trial<'a> {
    case: &'a Case,
    system: Integrated<Articulated>,
    steps: usize,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case, setting: &Setting) -> Result<Self, ConfigError> {
        let mut model = case.model.clone();
        model.options.collision_softness = setting.softness;
        let own = model.options.timestep;
        let mut robot = Articulated::new(model)?;
        if setting.distance > 0.0 {
            robot = robot.with_contacts_from_distance(ContactsFromDistance::new(setting.distance))?;
        }
        let controller = |tolerance| PidController::new(tolerance).gains(0.2, 0.4, 0.0);
        let (integrator, steps) = match (setting.step, setting.tolerance) {
            (Some(dt), _) => {
                // Constraints are as stiff as with the model's own step.
                robot = robot.with_implicit(ImplicitTerms::Damping, dt).with_time_step(own);
                (Integrator::fixed(Method::SemiImplicitEuler), (case.time / dt).round().max(1.0) as usize)
            }
            (None, tolerance) => {
                let controller = controller(tolerance.unwrap_or(REFERENCE));
                let mut integrator = Integrator::adaptive(Method::Tsit5, controller);
                if setting.continuous {
                    integrator.adjoint = Adjoint::Continuous(controller);
                }
                (integrator, 1)
            }
        };
        let system = Integrated::new(robot, case.time / steps as f64, integrator)?;
        Ok(Trial { case, system, steps })
    }

    fn inputs(&self, z: &[f64]) -> Inputs<f64> {
        let mut state = self.case.start.clone();
        for ((i, by), z) in self.case.varied.iter().zip(z) {
            state[*i] += by * z;
        }
        let params = self.system.layout().params.defaults();
        Inputs { state, controls: self.case.control.repeat(self.steps), params }
    }

    fn rollout(&self) -> Result<Rollout<&Integrated<Articulated>>, ExperimentError> {
        Ok(Rollout::new(&self.system, self.steps, Schedule::StoreAll)?)
    }

    fn value(&self, z: &[f64]) -> Result<f64, ExperimentError> {
        let rollout = self.rollout()?;
        let loss = Misses { targets: &self.case.targets };
        Ok(rollout.value(&mut rollout.workspace::<f64>(), &self.inputs(z), &loss)?)
    }

    /// Gradient by the entries that vary, in units of their changes, and seconds.
    fn gradient(&self, z: &[f64]) -> Result<(Vec<f64>, f64), ExperimentError> {
        let rollout = self.rollout()?;
        let mut ws = rollout.workspace::<f64>();
        let start = Instant::now();
        rollout.gradient(&mut ws, &self.inputs(z), &Misses { targets: &self.case.targets })?;
        let gradient = self.case.varied.iter().map(|(i, by)| by * ws.gradient.state[*i]).collect();
        Ok((gradient, start.elapsed().as_secs_f64()))
    }
}

/// Judges settings at so many random starts; `tick` is called once per setting and start, from any thread.
pub fn judge(
    case: &Case,
    settings: &[Setting],
    points: usize,
    seed: u64,
    tick: impl Fn() + Sync,
) -> Result<Verdict, ConfigError> {
    if points == 0 || case.targets.is_empty() || case.varied.is_empty() {
        return Err(ConfigError::new(
            "a target, a state that varies and a start are needed to judge gradients",
        ));
    }
    let mut random = Random::new(seed);
    let starts: Vec<Vec<f64>> =
        (0..points).map(|_| case.varied.iter().map(|_| random.uniform(-1.0, 1.0)).collect()).collect();
    let mut judged = Vec::new();
    for setting in settings {
        // Soft collision is other physics, and has a reference of its own.
        let exact =
            Setting { step: None, tolerance: None, continuous: false, distance: 0.0, ..setting.clone() };
        let exact = if case.model.options.contact_model == ContactModel::Complementarity {
            Setting { step: setting.step.map(|_| 1e-2 * case.model.options.timestep), ..exact }
        } else {
            exact
        };
        let (trial, exact) = (Trial::new(case, setting)?, Trial::new(case, &exact)?);
        let outcomes: Vec<Option<Outcome>> = starts
            .par_iter()
            .map(|z| {
                let outcome = outcome(&trial, &exact, z).ok();
                tick();
                outcome
            })
            .collect();
        judged.push(summary(setting.clone(), &outcomes));
    }
    Ok(recommend(judged))
}

/// What a gradient is worth at one start.
struct Outcome {
    zero: bool,
    agrees: bool,
    downhill: bool,
    seconds: f64,
}

fn outcome(trial: &Trial<'_>, exact: &Trial<'_>, z: &[f64]) -> Result<Outcome, ExperimentError> {
    let (gradient, seconds) = trial.gradient(z)?;
    let size = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let at = |by: f64| {
        let moved: Vec<f64> = z.iter().zip(&gradient).map(|(z, g)| z + by * g / size).collect();
        exact.value(&moved)
    };
    let here = exact.value(z)?;
    if size <= 1e-12 * here.abs() {
        return Ok(Outcome { zero: true, agrees: false, downhill: false, seconds });
    }
    let slope = (at(DIFFERENCE)? - at(-DIFFERENCE)?) / (2.0 * DIFFERENCE);
    let downhill = at(-STEP)? < here;
    Ok(Outcome { zero: false, agrees: (slope - size).abs() <= WITHIN * size, downhill, seconds })
}

fn summary(setting: Setting, outcomes: &[Option<Outcome>]) -> Judged {
    let share = |is: fn(&Outcome) -> bool| {
        outcomes.iter().flatten().filter(|o| is(o)).count() as f64 / outcomes.len() as f64
    };
    let mut seconds: Vec<f64> = outcomes.iter().flatten().map(|o| o.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    Judged {
        agreeing: share(|o| o.agrees),
        downhill: share(|o| o.downhill),
        zero: share(|o| o.zero),
        failed: outcomes.iter().filter(|o| o.is_none()).count() as f64 / outcomes.len() as f64,
        seconds: seconds.get(seconds.len() / 2).copied().unwrap_or(f64::INFINITY),
        setting,
    }
}

/// The cheapest setting that is right wherever there is a gradient; where there is often none, contacts from
/// distance if they go down; else the one that goes down most often.
fn recommend(judged: Vec<Judged>) -> Verdict {
    let cheapest = |keep: &dyn Fn(&Judged) -> bool| {
        let kept = judged.iter().enumerate().filter(|(_, j)| keep(j));
        kept.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds)).map(|(i, _)| i)
    };
    let right = cheapest(&|j| {
        j.setting.distance == 0.0
            && j.failed < 0.05
            && j.zero < 1.0
            && j.agreeing >= MOST * (1.0 - j.zero - j.failed)
    });
    let plateau = right.is_none_or(|i| judged[i].zero > 0.2);
    let distant = cheapest(&|j| j.setting.distance > 0.0 && j.downhill > 0.5);
    let (recommended, advice) = match (right, distant) {
        (_, Some(i)) if plateau && right.is_none_or(|r| judged[i].downhill > judged[r].downhill) => {
            (i, "There is often no gradient, since nothing touches: let contacts act from distance.")
        }
        (Some(i), _) => (i, "The cheapest setting whose gradients are those of the motion."),
        _ => {
            let most = judged.iter().enumerate().max_by(|a, b| a.1.downhill.total_cmp(&b.1.downhill));
            let advice = "No setting gives right gradients at 95 % of the starts; this one goes down most often. \
                          The motion may be chaotic: try a shorter time, or a search that needs no gradients.";
            (most.map_or(0, |(i, _)| i), advice)
        }
    };
    Verdict { judged, recommended, advice: advice.into() }
}
