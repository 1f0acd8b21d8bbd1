//! DiffMJX, Figs. 8 and S3: a white ball is pushed so that a black one comes to rest at a target.
//!
//! The push (4 N, u) fades over the first 0.01 s, so that it acts by half its size over that time. L is the squared
//! distance of the black ball from the target after 3 s. If the balls miss each other, dL/du is zero; with contacts
//! from distance it points to where they meet.
//!
//! *Fig. S3.* Without gravity and table nothing makes the forward steps small when the balls miss, but contacts
//! from distance are stiff on the way back. The discrete adjoint then differentiates steps that are too large. The
//! continuous adjoint chooses its own.

use pullback_core::integrator::{Adjoint, Integrated, Integrator, PidController};
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{Described, Rollout, Schedule};
use pullback_math::Real;
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use pullback_physics::articulated::Articulated;
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use rayon::prelude::*;

use super::{ExperimentError, tsit5};
use crate::part_log::PartLog;
use crate::results::{Goal, Results};

/// Seconds per control.
const DT: f64 = 0.01;
/// Controls of an episode.
const STEPS: usize = 300;
/// Push along x, N.
const ALONG: f64 = 4.0;
/// Largest push across, N.
pub const MOST: f64 = 4.0;
/// Where the search begins: the balls miss each other by a radius.
pub const START: f64 = 2.5;
/// Tolerance of the steps.
const TOLERANCE: f64 = 1e-8;
/// Change of velocity by a push of 1 N that fades over the first control, m/s.
const IMPULSE: f64 = 0.5 * DT / 0.17;
/// Learning rate of Adam, N, and its steps.
const RATE: f64 = 0.1;
/// Steps of Adam.
pub const ITERATIONS: usize = 30;
/// The task is solved when so much of what can be gained over a push that misses has been gained.
const GAINED: f64 = 0.9;

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Gravity, and a table with friction.
    Flat,
    /// Neither.
    None,
}

fn mjcf(table: Table) -> String {
    let (gravity, floor, law) = match table {
        Table::Flat => (
            "0 0 -9.81",
            "<geom name='table' type='plane' size='0 0 1' pos='0 0 0.0581'/>",
            "solref='0.01 0.2' solimp='0.9 0.95 0.01 0.5 2'",
        ),
        Table::None => ("0 0 0", "", "solref='0.1 0.2' solimp='0.01 0.95 0.1 0.5 2'"),
    };
    let ball = |name: &str, x: f64| {
        format!(
            "<body name='{name}' pos='{x} 0 0.1'><freejoint/><geom name='{name}' size='0.042' mass='0.17'/></body>"
        )
    };
    format!(
        "<mujoco model='billiard'><option timestep='{DT}' gravity='{gravity}'>
         <flag refsafe='disable'/></option>
         <default><geom friction='0.2 0.01 0.01' {law}/><joint damping='0.0001'/></default>
         <worldbody>{floor}{}{}</worldbody></mujoco>",
        ball("white", -0.375),
        ball("black", -0.2),
    )
}

/// |black ball − target|² at the end; the target is the origin of the table.
struct Distance;

impl<T: Real> Loss<T> for Distance {
    fn value(&self, at: Sample<'_, T>) -> T {
        if at.last() { at.state[7] * at.state[7] + at.state[8] * at.state[8] } else { T::zero() }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            for i in [7, 8] {
                state_bar[i] += T::lit(2.0) * at.state[i];
            }
        }
    }
}

/// How gradients are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradients {
    /// Those of the motion.
    Plain,
    /// With contacts from distance, through the steps taken.
    Distant,
    /// Those of the motion, by the adjoint equation.
    Continuous,
    /// With contacts from distance, by the adjoint equation.
    DistantContinuous,
}

/// A table with two balls.
#[derive(Clone, Debug)]
pub struct Billiard {
    system: Integrated<Articulated>,
}

impl Billiard {
    /// Balls on a table, and how gradients are computed.
    pub fn new(table: Table, gradients: Gradients, tolerance: f64) -> Result<Self, ExperimentError> {
        let model = parse_mjcf(&mjcf(table), None, &ImportOptions::default())?;
        let mut robot = Articulated::new(model)?.with_pushes(&["white"])?;
        let distant = ContactsFromDistance {
            pairs: Some(vec![balls(&robot)]),
            softplus: 0.01,
            ..ContactsFromDistance::new(0.1)
        };
        if matches!(gradients, Gradients::Distant | Gradients::DistantContinuous) {
            robot = robot.with_contacts_from_distance(distant)?;
        }
        let mut integrator: Integrator = tsit5(tolerance);
        if matches!(gradients, Gradients::Continuous | Gradients::DistantContinuous) {
            integrator.adjoint = Adjoint::Continuous(PidController::new(tolerance).gains(0.2, 0.4, 0.0));
        }
        // Without a table one step may be as long as the motion.
        Ok(Billiard {
            system: Integrated::new(robot, if table == Table::Flat { DT } else { 1.0 }, integrator)?,
        })
    }

    /// The balls.
    pub fn robot(&self) -> &Articulated {
        self.system.field()
    }

    /// Seconds and states after a push.
    pub fn motion(&self, across: f64) -> Result<Vec<(f64, Vec<f64>)>, ExperimentError> {
        let (rollout, inputs) = self.pushed(across)?;
        let mut rows = Vec::new();
        rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| {
            rows.push((at.step as f64 * self.system.dt(), at.state.to_vec()));
        })?;
        Ok(rows)
    }

    fn pushes_by_control(&self) -> bool {
        self.system.dt() == DT
    }

    fn pushed(
        &self,
        across: f64,
    ) -> Result<(Rollout<&Integrated<Articulated>>, Inputs<f64>), ExperimentError> {
        let steps = (STEPS as f64 * DT / self.system.dt()).round() as usize;
        let rollout = Rollout::new(&self.system, steps, Schedule::StoreAll)?;
        let robot = self.system.field();
        let mut state = robot.layout().state.defaults();
        let mut controls = vec![0.0; steps * robot.layout().control.len()];
        // Half the push over the first 0.01 s, or its impulse at once.
        if self.pushes_by_control() {
            (controls[0], controls[1]) = (0.5 * ALONG, 0.5 * across);
        } else {
            (state[14], state[15]) = (IMPULSE * ALONG, IMPULSE * across);
        }
        Ok((rollout, Inputs { state, controls, params: robot.layout().params.defaults() }))
    }

    /// Loss and dL/du of a push.
    pub fn push(&self, across: f64) -> Result<(f64, f64), ExperimentError> {
        let (rollout, inputs) = self.pushed(across)?;
        let mut ws = rollout.workspace::<f64>();
        rollout.gradient(&mut ws, &inputs, &Distance)?;
        let by_control = 0.5 * ws.gradient.control.get(1).copied().unwrap_or(0.0);
        let by_impulse = IMPULSE * ws.gradient.state[15];
        Ok((ws.gradient.loss, if self.pushes_by_control() { by_control } else { by_impulse }))
    }

    /// Push and loss after each step of Adam, with losses and gradients of pushes from `push`.
    pub fn search(
        mut push: impl FnMut(f64) -> Result<(f64, f64), ExperimentError>,
    ) -> Result<Vec<(f64, f64)>, ExperimentError> {
        let config = AdamConfig::default();
        let (mut adam, mut z) = (AdamState::new(1), [START / MOST]);
        let mut trace = Vec::new();
        for _ in 0..=ITERATIONS {
            let (loss, gradient) = push(MOST * z[0])?;
            trace.push((MOST * z[0], loss));
            adam.step(&config, RATE / MOST, &mut z, &[MOST * gradient]);
        }
        Ok(trace)
    }
}

/// The geoms of the two balls.
fn balls(robot: &Articulated) -> (usize, usize) {
    let geom = |name: &str| robot.model().geoms.iter().position(|g| g.name == name).unwrap_or(0);
    (geom("white"), geom("black"))
}

/// Loss and gradients over a range of pushes, and two searches.
#[derive(Clone, Debug)]
pub struct Game {
    /// Which table.
    pub table: Table,
    /// Pushes across, N.
    pub pushes: Vec<f64>,
    /// Loss at each push, m².
    pub losses: Vec<f64>,
    /// dL/du at each push, one list per way to compute it.
    pub gradients: Vec<(Gradients, Vec<f64>)>,
    /// Push and loss after each step of Adam, one list per way to compute gradients.
    pub searches: Vec<(Gradients, Vec<(f64, f64)>)>,
}

/// Plays at `points` pushes; `tick` is told of each motion that is done, `log` holds what each gave.
pub fn run(
    table: Table,
    points: usize,
    log: &PartLog,
    tick: impl Fn() + Sync,
) -> Result<Game, ExperimentError> {
    let pushes: Vec<f64> = (0..points).map(|i| MOST * (2.0 * i as f64 / (points - 1) as f64 - 1.0)).collect();
    let ways: &[Gradients] = match table {
        Table::Flat => &[Gradients::Continuous, Gradients::DistantContinuous],
        Table::None => &[Gradients::Plain, Gradients::Distant, Gradients::DistantContinuous],
    };
    let (mut losses, mut gradients, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    for way in ways {
        let billiard = Billiard::new(table, *way, TOLERANCE)?;
        let push = |u: f64| {
            let pair = log.part(&format!("billiard {table:?} {way:?} at {u:?}"), || billiard.push(u));
            tick();
            pair
        };
        let all = pushes.par_iter().map(|u| push(*u)).collect::<Result<Vec<_>, _>>()?;
        losses = all.iter().map(|x| x.0).collect();
        gradients.push((*way, all.iter().map(|x| x.1).collect()));
        if table == Table::Flat {
            searches.push((*way, Billiard::search(push)?));
        }
    }
    Ok(Game { table, pushes, losses, gradients, searches })
}

impl Game {
    /// The loss at which the task is solved, m².
    fn solved(&self, trace: &[(f64, f64)]) -> f64 {
        let least = self.losses.iter().copied().fold(f64::INFINITY, f64::min);
        trace[0].1 - GAINED * (trace[0].1 - least)
    }

    /// Steps of Adam after which the search with contacts from distance has solved the task.
    pub fn steps_to_solve(&self) -> Option<usize> {
        let (_, trace) = self.searches.iter().find(|(way, _)| *way == Gradients::DistantContinuous)?;
        trace.iter().position(|x| x.1 <= self.solved(trace))
    }

    /// Adds figures and goals.
    pub fn add_results(&self, results: &mut Results) {
        let least = self.losses.iter().copied().fold(f64::INFINITY, f64::min);
        for (way, trace) in &self.searches {
            let solved = self.solved(trace);
            let best = trace.iter().map(|x| x.1).fold(f64::INFINITY, f64::min);
            let first = trace.iter().position(|x| x.1 <= solved).map_or(f64::INFINITY, |i| i as f64);
            let case = match way {
                Gradients::Plain | Gradients::Continuous => "billiard without contacts from distance",
                _ => "billiard with contacts from distance",
            };
            results.row(case, "least squared distance from the target in 30 Adam steps", best, "m²");
            if *way == Gradients::Continuous {
                results.goals.push(Goal::at_least(format!("{case}: not solved, m²"), best, solved));
            } else {
                results.row(case, "Adam steps until 90 % of what can be gained is gained", first, "1");
                results.goals.push(Goal::at_most(
                    format!("{case}: steps to solve"),
                    first,
                    ITERATIONS as f64,
                ));
            }
        }
        results.row("billiard", "least squared distance over all pushes", least, "m²");
    }
}
