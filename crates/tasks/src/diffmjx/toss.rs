//! DiffMJX, Figs. 5, S5 and S6: five shapes thrown on a floor with stiff contacts.
//!
//! A shape starts 0.2 m above a floor with velocity (0, −0.1, u) m/s, u ∈ [−3, −1], under a gravity of 2 m/s². The
//! loss is how far it has gone after 1 s, L = y(1 s). dL/du by the adjoint is compared with central differences of
//! the same motion at a tolerance that leaves no error to see. Fixed steps of 0.01 s, as in the paper, differentiate
//! the steps instead of the motion.
//!
//! The adjoint equation is solved with error control of its own: steps that are small enough for the motion are not
//! for its derivative, which has kinks where the motion is still smooth. The rim point on which a cylinder stands
//! jumps to the other side as it passes the upright, so that its features are chosen softly.

use std::time::Instant;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Described, Rollout, Schedule};
use pullback_physics::articulated::{Articulated, ImplicitTerms};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ExperimentError, tsit5, tsit5_continuous};
use crate::part_log::PartLog;
use crate::results::{Goal, Results};

/// Seconds simulated.
const SPAN: f64 = 1.0;
/// Seconds per fixed step.
pub const FIXED_STEP: f64 = 0.01;
/// Tolerance of adaptive steps. The motion of the cube goes one way or another at some velocities: below 1e-9 it is
/// always that of the reference.
const TOLERANCE: f64 = 1e-10;
/// Tolerance of the adjoint equation.
const ADJOINT_TOLERANCE: f64 = 1e-8;
/// Tolerance of the motions whose differences are the reference, and difference of velocities, m/s.
const REFERENCE: (f64, f64) = (1e-12, 1e-5);
/// Parts of that difference that are taken besides, the first always, the others where the first two disagree by more
/// than `SAME`: of single motions some miss that a corner grazes the floor, so that the median counts.
const SPANS: [f64; 4] = [0.5, 0.7, 0.35, 0.25];
const SAME: f64 = 1e-3;
/// A gradient is right when it is within this fraction of the reference, or of a hundredth of the root mean square
/// of all references where that is larger.
const WITHIN: f64 = 0.01;

/// A shape of the paper: its name, and its geom.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name.
    pub name: &'static str,
    geom: &'static str,
    turn: &'static str,
    /// Length over which features that touch are chosen softly, m.
    pub softness: f64,
}

/// The five shapes.
pub const SHAPES: [Shape; 5] = [
    Shape { name: "ball", geom: "type='sphere' size='0.05' density='1'", turn: "", softness: 0.0 },
    Shape {
        name: "cube",
        geom: "type='box' size='0.05 0.05 0.05' density='100'",
        turn: "euler='60 0 0'",
        softness: 0.0,
    },
    Shape {
        name: "capsule",
        geom: "type='capsule' size='0.05 0.07' density='50'",
        turn: "euler='60 0 0'",
        softness: 0.0,
    },
    Shape {
        name: "cylinder",
        geom: "type='cylinder' size='0.04 0.05' density='100'",
        turn: "euler='60 0 0'",
        softness: 1e-3,
    },
    Shape {
        name: "ellipsoid",
        geom: "type='ellipsoid' size='0.05 0.05 0.1' density='200'",
        turn: "euler='60 0 0'",
        softness: 0.0,
    },
];

impl Shape {
    /// The scene as a model file.
    fn mjcf(&self) -> String {
        let Shape { geom, turn, .. } = self;
        format!(
            "<mujoco model='toss'><option timestep='{FIXED_STEP}' gravity='0 0 -2' tolerance='1e-8'>
             <flag refsafe='disable' eulerdamp='disable'/></option>
             <default><geom solref='0.005 1' solimp='0 0.95 0.001 0.5 2'/></default>
             <worldbody><geom name='floor' type='plane' size='0 0 1'/>
             <body name='thrown' pos='0 0 0.2' {turn}><freejoint/><geom {geom}/></body></worldbody></mujoco>"
        )
    }
}

/// A thrown shape under an integrator.
#[derive(Clone, Debug)]
pub struct Toss {
    system: Integrated<Articulated>,
    steps: usize,
    start: Inputs<f64>,
}

/// Loss, its derivative, and what they took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Throw {
    /// y(1 s), m.
    pub loss: f64,
    /// dL/du, s.
    pub gradient: f64,
    /// Seconds for both.
    pub seconds: f64,
    /// Inner steps that were accepted.
    pub accepted: usize,
}

impl Toss {
    /// A shape in one outer step of an adaptive integrator, or in fixed steps of `dt` seconds.
    pub fn new(shape: &Shape, integrator: Integrator, dt: Option<f64>) -> Result<Self, ExperimentError> {
        let mut model = parse_mjcf(&shape.mjcf(), None, &ImportOptions::default())?;
        model.options.collision_softness = shape.softness;
        let dt = dt.unwrap_or(SPAN);
        let mut robot = Articulated::new(model)?;
        if integrator.method == Method::SemiImplicitEuler {
            robot = robot.with_implicit(ImplicitTerms::Damping, dt);
        }
        let mut state = robot.layout().state.defaults();
        state[8] = -0.1;
        let start = Inputs { state, controls: vec![], params: robot.layout().params.defaults() };
        Ok(Toss {
            system: Integrated::new(robot, dt, integrator)?,
            steps: (SPAN / dt).round() as usize,
            start,
        })
    }

    fn thrown(&self, velocity: f64) -> Inputs<f64> {
        let mut inputs = self.start.clone();
        inputs.state[9] = velocity;
        inputs
    }

    fn rollout(&self) -> Result<Rollout<&Integrated<Articulated>>, ExperimentError> {
        Ok(Rollout::new(&self.system, self.steps, Schedule::StoreAll)?)
    }

    fn loss(&self) -> FinalState {
        let mut weights = vec![0.0; self.start.state.len()];
        weights[1] = 1.0;
        FinalState { weights }
    }

    /// y(1 s) after a throw.
    pub fn value(&self, velocity: f64) -> Result<f64, ExperimentError> {
        let rollout = self.rollout()?;
        Ok(rollout.value(&mut rollout.workspace::<f64>(), &self.thrown(velocity), &self.loss())?)
    }

    /// Loss and gradient of a throw.
    pub fn throw(&self, velocity: f64) -> Result<Throw, ExperimentError> {
        let rollout = self.rollout()?;
        let mut ws = rollout.workspace::<f64>();
        let start = Instant::now();
        rollout.gradient(&mut ws, &self.thrown(velocity), &self.loss())?;
        Ok(Throw {
            loss: ws.gradient.loss,
            gradient: ws.gradient.state[9],
            seconds: start.elapsed().as_secs_f64(),
            accepted: ws.info.accepted,
        })
    }

    /// Times and states of a throw, at fixed steps, and the body they belong to.
    pub fn motion(&self, velocity: f64) -> Result<Vec<(f64, Vec<f64>)>, ExperimentError> {
        let rollout = self.rollout()?;
        let (dt, mut rows) = (self.system.dt(), Vec::new());
        rollout.simulate(&mut rollout.workspace::<f64>(), &self.thrown(velocity), |at| {
            rows.push((at.step as f64 * dt, at.state.to_vec()));
        })?;
        Ok(rows)
    }

    /// The thrown body.
    pub fn robot(&self) -> &Articulated {
        self.system.field()
    }

    /// dL/du by central differences over ±h.
    pub fn difference(&self, velocity: f64, h: f64) -> Result<f64, ExperimentError> {
        Ok((self.value(velocity + h)? - self.value(velocity - h)?) / (2.0 * h))
    }

    /// dL/du by central differences, of which a few may be wrong.
    fn reference(&self, velocity: f64) -> Result<f64, ExperimentError> {
        let difference = |part: f64| self.difference(velocity, part * REFERENCE.1);
        let mut found = vec![difference(1.0)?, difference(SPANS[0])?];
        if (found[0] - found[1]).abs() <= SAME * found[0].abs() {
            return Ok(found[0]);
        }
        for part in &SPANS[1..] {
            found.push(difference(*part)?);
        }
        found.sort_by(f64::total_cmp);
        Ok(found[found.len() / 2])
    }
}

/// One shape over all velocities.
#[derive(Clone, Debug)]
pub struct Throws {
    /// The shape's name.
    pub name: &'static str,
    /// Adaptive steps.
    pub adaptive: Vec<Throw>,
    /// Fixed steps of semi-implicit Euler.
    pub fixed: Vec<Throw>,
    /// dL/du of the motion, by central differences.
    pub reference: Vec<f64>,
}

impl Throws {
    /// Share of velocities at which the gradients are within 1 % of the reference.
    pub fn right(&self, throws: &[Throw]) -> f64 {
        let n = self.reference.len() as f64;
        let mean = (self.reference.iter().map(|g| g * g).sum::<f64>() / n).sqrt();
        let close = |(t, r): &(&Throw, &f64)| (t.gradient - **r).abs() <= WITHIN * r.abs().max(0.01 * mean);
        throws.iter().zip(&self.reference).filter(close).count() as f64 / n
    }
}

/// The throws of all shapes.
#[derive(Clone, Debug)]
pub struct Tosses {
    /// Velocities u, m/s.
    pub velocities: Vec<f64>,
    /// One entry per shape.
    pub shapes: Vec<Throws>,
}

/// Throws every shape at `points` velocities, two or more; `tick` is told of each throw that is done, `log` holds
/// what each gave.
pub fn run(points: usize, log: &PartLog, tick: impl Fn() + Sync) -> Result<Tosses, ExperimentError> {
    let velocities: Vec<f64> = (0..points).map(|i| -3.0 + 2.0 * i as f64 / (points - 1) as f64).collect();
    let shapes = SHAPES
        .iter()
        .map(|shape| {
            let adaptive = Toss::new(shape, tsit5_continuous(TOLERANCE, ADJOINT_TOLERANCE), None)?;
            let exact = Toss::new(shape, tsit5(REFERENCE.0), None)?;
            let fixed = Toss::new(shape, Integrator::fixed(Method::SemiImplicitEuler), Some(FIXED_STEP))?;
            let throws: Result<Vec<_>, ExperimentError> = velocities
                .par_iter()
                .map(|u| {
                    let part = format!("toss of the {} at {u:?}", shape.name);
                    let throw = log.part(&part, || {
                        let throw = (adaptive.throw(*u)?, fixed.throw(*u)?, exact.reference(*u)?);
                        Ok::<(Throw, Throw, f64), ExperimentError>(throw)
                    });
                    tick();
                    throw
                })
                .collect();
            let throws = throws?;
            Ok(Throws {
                name: shape.name,
                adaptive: throws.iter().map(|t| t.0).collect(),
                fixed: throws.iter().map(|t| t.1).collect(),
                reference: throws.iter().map(|t| t.2).collect(),
            })
        })
        .collect::<Result<Vec<_>, ExperimentError>>()?;
    Ok(Tosses { velocities, shapes })
}

impl Tosses {
    /// Adds shares and goals.
    pub fn add_results(&self, results: &mut Results) {
        for shape in &self.shapes {
            let (adaptive, fixed) = (shape.right(&shape.adaptive), shape.right(&shape.fixed));
            let name = format!("toss, {}", shape.name);
            results.row(&name, "share of gradients within 1 % of differences, adaptive steps", adaptive, "1");
            results.row(&name, "share of gradients within 1 % of differences, steps of 0.01 s", fixed, "1");
            results.goals.push(Goal::at_least(
                format!("{name}: adaptive gradients are right"),
                adaptive,
                0.99,
            ));
            results.goals.push(Goal::at_most(format!("{name}: fixed steps fail"), fixed, 0.9));
        }
    }
}

/// One integrator on the toss of the cube at u = −2 m/s.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Integrator.
    pub name: &'static str,
    /// Tolerance, or seconds per step.
    pub size: f64,
    /// Whether that is a tolerance.
    pub adaptive: bool,
    /// Seconds for loss and gradient, the best of three.
    pub seconds: f64,
    /// Error of the loss, m.
    pub loss_error: f64,
    /// Relative error of the gradient.
    pub gradient_error: f64,
}

/// Error against run time of integrators (Fig. S6); `tick` is told of each that is done, `log` holds what each gave.
pub fn integrators(quick: bool, log: &PartLog, tick: impl Fn()) -> Result<Vec<Timing>, ExperimentError> {
    let (cube, velocity) = (&SHAPES[1], -2.0);
    let exact = Toss::new(cube, tsit5(REFERENCE.0), None)?;
    let (loss, gradient) = log.part("reference of integrators", || {
        let reference = (exact.value(velocity)?, exact.difference(velocity, REFERENCE.1)?);
        Ok::<(f64, f64), ExperimentError>(reference)
    })?;
    let steps: &[f64] = if quick { &[1e-2, 1e-3, 1e-4] } else { &[1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5] };
    let tolerances: &[f64] =
        if quick { &[1e-4, 1e-7, 1e-10] } else { &[1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10] };
    let mut timings = Vec::new();
    let mut add = |name, integrator, adaptive: bool, size: f64| -> Result<(), ExperimentError> {
        let best = log.part(&format!("integrator {name} at {size:?}"), || {
            let toss = Toss::new(cube, integrator, (!adaptive).then_some(size))?;
            let mut best = toss.throw(velocity)?;
            for _ in 0..2 {
                let again = toss.throw(velocity)?;
                best.seconds = best.seconds.min(again.seconds);
            }
            Ok::<Throw, ExperimentError>(best)
        })?;
        timings.push(Timing {
            name,
            size,
            adaptive,
            seconds: best.seconds,
            loss_error: (best.loss - loss).abs(),
            gradient_error: (best.gradient - gradient).abs() / gradient.abs(),
        });
        tick();
        Ok(())
    };
    for &dt in steps {
        add("semi-implicit Euler", Integrator::fixed(Method::SemiImplicitEuler), false, dt)?;
        add("RK4", Integrator::fixed(Method::Rk4), false, dt)?;
        add("Tsit5, fixed", Integrator::fixed(Method::Tsit5), false, dt)?;
    }
    for &tolerance in tolerances {
        let dopri5 = Integrator { method: Method::Dopri5, ..tsit5(tolerance) };
        add("Tsit5, adaptive", tsit5(tolerance), true, tolerance)?;
        add("Dopri5, adaptive", dopri5, true, tolerance)?;
        add("Tsit5, adaptive, continuous adjoint", tsit5_continuous(tolerance, tolerance), true, tolerance)?;
    }
    Ok(timings)
}
