//! Iterative LQR with control limits (box-DDP; Tassa et al. 2014).
//!
//! An iteration linearizes every step about the present motion ([`expansion`]), goes backward through quadratic
//! problems in the box of the controls ([`mod@backward`]), and forward with eight step lengths at once on lanes.
//! The control z ← z + α k + K (x ⊖ x̄) has a feedback gain K, which keeps the motion together where it is unstable.
//! x ⊖ x̄ is E(x̄)⁺ (x − x̄), so that orientations are seen in their tangent space.
//!
//! Regularization adds μ to the diagonal of Q_uu, relative to its mean; it starts at zero, grows where Q_uu is not
//! positive definite or no step length lowers the cost, and shrinks after each step that does.

pub mod backward;
pub mod box_qp;
pub mod expansion;

use pullback_core::rollout::{Loss, Sample};
use pullback_core::settings::{Range, check_ranges};
use pullback_core::{ConfigError, Point, Schedule, StepError, System};
use pullback_math::{Real, f64x8};
use pullback_optim::methods::Settings;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::planner::{Moment, Outcome, Planner, ROUNDS};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::{Interpolation, Plan, Spline};
use backward::{Backward, Gains, backward};
use expansion::{Expander, Expansion, embedding, expand_loss};

/// Settings of [`Ilqr`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IlqrConfig {
    /// Iterations per plan at most (10).
    pub iterations: usize,
    /// Decrease of the cost, expected or found and relative to it, at which a plan is done (1e-6).
    pub tolerance: f64,
    /// Smallest regularization other than zero (1e-6).
    pub least_regularization: f64,
    /// Regularization at which a plan is given up (1e6).
    pub most_regularization: f64,
}

impl Default for IlqrConfig {
    fn default() -> Self {
        IlqrConfig { iterations: 10, tolerance: 1e-6, least_regularization: 1e-6, most_regularization: 1e6 }
    }
}

impl Settings for IlqrConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let ranges = [
            ("iterations", self.iterations as f64, ROUNDS),
            ("tolerance", self.tolerance, Range::Below(0.0, 1.0)),
            ("least_regularization", self.least_regularization, Range::Above(0.0, self.most_regularization)),
            ("most_regularization", self.most_regularization, Range::Positive),
        ];
        check_ranges(name, &ranges)
    }
}

/// Factor by which regularization grows and shrinks.
const REGULARIZATION_STEP: f64 = 10.0;
/// Lanes of a pack: step lengths 1, ½, ¼, … that are tried at once.
const LANES: usize = <f64x8 as Real>::LANES;

/// A motion and the controls that make it.
struct Motion {
    cost: f64,
    /// States, one per control step and the last.
    states: Vec<Vec<f64>>,
    /// Scaled controls, one per control step.
    scaled: Vec<Vec<f64>>,
}

/// The planner.
pub struct Ilqr<'a, S: PlanSystem, L> {
    problem: Problem<'a, S, L>,
    config: IlqrConfig,
    spline: Spline,
    pool: rayon::ThreadPool,
    workers: Vec<Expander<S>>,
    expansions: Vec<Expansion>,
    last: Expansion,
}

impl<'a, S: PlanSystem, L: PlanLoss> Ilqr<'a, S, L>
where
    <S as System<f64>>::Workspace: Send,
    <S as System<f64x8>>::Workspace: Send,
{
    /// Memory for plans of a problem.
    pub fn new(problem: Problem<'a, S, L>, config: IlqrConfig) -> Result<Self, ConfigError> {
        config.check("ilqr")?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(problem.threads)
            .build()
            .map_err(|e| ConfigError::new(format!("cannot start {} threads: {e}", problem.threads)))?;
        let (n, m) = (problem.system.tangent_len(), problem.bounds.len());
        let spline = Spline::new(problem.bounds, problem.horizon, 1, Interpolation::Zero);
        Ok(Ilqr {
            config,
            spline,
            pool,
            workers: (0..problem.threads).map(|_| Expander::new(&problem)).collect(),
            expansions: vec![Expansion::new(n, m); problem.horizon],
            last: Expansion::new(n, 0),
            problem,
        })
    }

    /// Expansions of all steps, in parallel, and of the loss at the end.
    fn linearize(&mut self, motion: &Motion) -> Result<(), StepError> {
        let Ilqr { problem, pool, workers, expansions, last, .. } = self;
        let share = expansions.len().div_ceil(workers.len()).max(1);
        let work = |(part, (worker, expansions)): (usize, (&mut Expander<S>, &mut [Expansion]))| {
            for (i, expansion) in expansions.iter_mut().enumerate() {
                let step = part * share + i;
                let control = controls(problem, &motion.scaled[step]);
                worker.expand(problem, step, (&motion.states[step], &control), expansion)?;
            }
            Ok(())
        };
        let results: Vec<Result<(), StepError>> = pool.install(|| {
            let parts = workers.par_iter_mut().zip(expansions.par_chunks_mut(share));
            parts.enumerate().map(work).collect()
        });
        results.into_iter().collect::<Result<(), StepError>>()?;
        let steps = problem.horizon;
        let state = &motion.states[steps];
        let e = (!problem.system.flat()).then(|| embedding(problem.system, state));
        let at = Sample { step: steps, steps, state, control: &[], params: problem.params };
        expand_loss(problem, at, e.as_ref(), last);
        Ok(())
    }

    /// The motion under a plan.
    fn simulate(&self, from: &[f64], scaled: Vec<Vec<f64>>) -> Result<Motion, StepError> {
        let rollout = self
            .problem
            .rollout(Schedule::Revolve { slots: 1 })
            .unwrap_or_else(|_| unreachable!("checked when the problem was made"));
        let inputs = pullback_core::Inputs {
            state: from.to_vec(),
            controls: scaled.iter().flat_map(|z| controls(&self.problem, z)).collect(),
            params: self.problem.params.to_vec(),
        };
        let (mut states, mut cost) = (Vec::with_capacity(scaled.len() + 1), 0.0);
        rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| {
            cost += Loss::<f64>::value(self.problem.loss, at);
            states.push(at.state.to_vec());
        })?;
        Ok(Motion { cost, states, scaled })
    }

    /// The best of eight step lengths along the gains; none where no simulation succeeds.
    fn forward(&self, motion: &Motion, gains: &[Gains]) -> Option<Motion> {
        let Problem { system, loss, params, bounds, horizon, substeps, .. } = self.problem;
        let (n, m) = (motion.states[0].len(), bounds.len());
        let splat = |x: &[f64]| -> Vec<f64x8> { x.iter().map(|x| f64x8::splat(*x)).collect() };
        let lengths = f64x8::from_lanes(|lane| 0.5f64.powi(lane as i32));
        let params = splat(params);
        let mut ws = System::<f64x8>::workspace(system);
        let (mut state, mut next) = (splat(&motion.states[0]), vec![f64x8::splat(0.0); n]);
        let (mut states, mut scaled) = (vec![state.clone()], Vec::with_capacity(horizon));
        let (mut control, mut cost) = (vec![f64x8::splat(0.0); m], f64x8::splat(0.0));
        let mut difference = vec![f64x8::splat(0.0); n];
        for step in 0..horizon {
            let Gains { k, feedback } = &gains[step];
            for (d, (x, x0)) in difference.iter_mut().zip(state.iter().zip(&motion.states[step])) {
                *d = *x - f64x8::splat(*x0);
            }
            let mut z = vec![f64x8::splat(0.0); m];
            for i in 0..m {
                let mut sum = f64x8::splat(motion.scaled[step][i]) + lengths * f64x8::splat(k[i]);
                for (j, d) in difference.iter().enumerate() {
                    sum += f64x8::splat(feedback[(i, j)]) * *d;
                }
                let (low, high) = bounds.limits(i);
                z[i] = Real::min(Real::max(sum, f64x8::splat(low)), f64x8::splat(high));
                control[i] = bounds.control(i, z[i]);
            }
            let params = &params;
            cost += loss.value(Sample { step, steps: horizon, state: &state, control: &control, params });
            for _ in 0..substeps {
                let at = Point { params, state: &state, control: &control };
                System::<f64x8>::step(system, &mut ws, at, &mut next).ok()?;
                std::mem::swap(&mut state, &mut next);
            }
            states.push(state.clone());
            scaled.push(z);
        }
        let end = Sample { step: horizon, steps: horizon, state: &state, control: &[], params: &params };
        cost += loss.value(end);
        let finite =
            |lane: &usize| cost.lane(*lane).is_finite() && state.iter().all(|x| x.lane(*lane).is_finite());
        let best = (0..LANES).filter(finite).min_by(|a, b| cost.lane(*a).total_cmp(&cost.lane(*b)))?;
        let lane = |rows: &[Vec<f64x8>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|x| x.lane(best)).collect()).collect()
        };
        Some(Motion { cost: cost.lane(best), states: lane(&states), scaled: lane(&scaled) })
    }
}

/// Controls of one step from scaled ones.
fn controls<S, L>(problem: &Problem<'_, S, L>, scaled: &[f64]) -> Vec<f64> {
    scaled.iter().enumerate().map(|(i, z)| problem.bounds.control(i, *z)).collect()
}

impl<S: PlanSystem, L: PlanLoss> Planner for Ilqr<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let config = self.config;
        let m = self.problem.bounds.len();
        let scaled = plan.knots.chunks(m.max(1)).map(<[f64]>::to_vec).collect();
        let mut motion = self.simulate(from, scaled)?;
        let (before, mut rollouts, mut linearized) = (motion.cost, 1, 0);
        let mut μ = 0.0;
        for iteration in 0..config.iterations {
            self.linearize(&motion)?;
            linearized += 1;
            // Regularization grows until some step length lowers the cost.
            let better = loop {
                let found = backward(&self.expansions, &self.last, &motion.scaled, self.problem.bounds, μ);
                let mut promising = true;
                let tried = found.and_then(|Backward { gains, expected }| {
                    promising = expected > config.tolerance * motion.cost.abs();
                    rollouts += usize::from(promising) * LANES;
                    if promising { self.forward(&motion, &gains) } else { None }
                });
                match tried.filter(|tried| tried.cost < motion.cost) {
                    Some(better) => break Some(better),
                    None if !promising || μ >= config.most_regularization => break None,
                    None => μ = (μ * REGULARIZATION_STEP).max(config.least_regularization),
                }
            };
            let Some(better) = better else { break };
            let gained = motion.cost - better.cost;
            motion = better;
            μ /= REGULARIZATION_STEP;
            if μ < config.least_regularization {
                μ = 0.0;
            }
            (moment.watch)(iteration, motion.cost);
            if gained <= config.tolerance * motion.cost.abs() {
                break;
            }
        }
        plan.knots = motion.scaled.concat();
        Ok(Outcome { before, after: motion.cost, rollouts, gradients: linearized })
    }
}
