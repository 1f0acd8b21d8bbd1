//! What a gradient costs: `step_vjp` over `step` on the double pendulum, the adjoint written by
//! `#[differentiable]` beside the one written by hand, and lanes beside scalars.

use std::hint::black_box;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::Inputs;
use pullback_core::{Bars, Point, System, VectorField};
use pullback_math::{Real, f32x8, f32x16, f64x4, f64x8};
use pullback_physics::pendulum::{DoublePendulum, DoublePendulumByHand};
use pullback_tasks::{Goal, Results};

use crate::output::CliError;
use crate::progress;
use crate::timing::{Contender, race};

const ROUNDS: usize = 60;

/// The integrators compared: one evaluation per step, and four.
const METHODS: [(Method, &str); 2] =
    [(Method::SemiImplicitEuler, "semi-implicit Euler"), (Method::Rk4, "RK4")];

pub fn run() -> Result<Results, CliError> {
    let mut results = Results::new("core");
    let bar = progress::bar(ROUNDS * METHODS.len(), "double pendulum");
    for (method, name) in METHODS {
        let by_macro = Integrated::new(DoublePendulum::default(), 0.005, Integrator::fixed(method))?;
        let by_hand = Integrated::new(DoublePendulumByHand::default(), 0.005, Integrator::fixed(method))?;
        let mut contenders = Vec::new();
        add::<f64, _, _>(&mut contenders, "f64", &by_macro, &by_hand);
        add::<f64x4, _, _>(&mut contenders, "f64x4", &by_macro, &by_hand);
        add::<f64x8, _, _>(&mut contenders, "f64x8", &by_macro, &by_hand);
        add::<f32, _, _>(&mut contenders, "f32", &by_macro, &by_hand);
        add::<f32x8, _, _>(&mut contenders, "f32x8", &by_macro, &by_hand);
        add::<f32x16, _, _>(&mut contenders, "f32x16", &by_macro, &by_hand);
        race(&mut contenders, ROUNDS, || bar.inc(1));
        report(&mut results, name, &contenders);
    }
    bar.finish_and_clear();
    results.notes.push(
        "best of 60 interleaved repetitions; nanoseconds are per environment, that is per call over the lanes".into(),
    );
    Ok(results)
}

/// Forward step, and both pullbacks, at scalar type `T`.
fn add<'a, T, A, B>(
    contenders: &mut Vec<Contender<'a>>,
    scalar: &str,
    by_macro: &'a Integrated<A>,
    by_hand: &'a Integrated<B>,
) where
    T: Real,
    A: VectorField<T>,
    B: VectorField<T>,
{
    contenders.push(Contender::new(format!("{scalar} step"), forward::<T, _>(by_macro)));
    contenders.push(Contender::new(format!("{scalar} step_vjp by macro"), backward::<T, _>(by_macro)));
    contenders.push(Contender::new(format!("{scalar} step_vjp by hand"), backward::<T, _>(by_hand)));
}

fn forward<T: Real, S: System<T>>(system: &S) -> impl FnMut(usize) {
    let mut ws = system.workspace();
    let inputs = Inputs::<T>::defaults(system, 1);
    let mut next = inputs.state.clone();
    move |calls| {
        for _ in 0..calls {
            let state = black_box(&inputs.state[..]);
            let _ = black_box(system.step(
                &mut ws,
                Point { params: &inputs.params, state, control: &inputs.controls },
                &mut next,
            ));
            black_box(&mut next);
        }
    }
}

fn backward<T: Real, S: System<T>>(system: &S) -> impl FnMut(usize) {
    let mut ws = system.workspace();
    let inputs = Inputs::<T>::defaults(system, 1);
    let layout = system.layout();
    let next_bar = vec![T::lit(0.7); layout.state.len()];
    let mut state_bar = vec![T::zero(); layout.state.len()];
    let mut control_bar = vec![T::zero(); layout.control.len()];
    let mut params_bar = vec![T::zero(); layout.params.len()];
    move |calls| {
        for _ in 0..calls {
            let state = black_box(&inputs.state[..]);
            state_bar.fill(T::zero());
            let done = system.step_vjp(
                &mut ws,
                Point { params: &inputs.params, state, control: &inputs.controls },
                &next_bar,
                Bars { params: &mut params_bar, state: &mut state_bar, control: &mut control_bar },
            );
            let _ = black_box(done);
            black_box(&mut state_bar);
        }
    }
}

/// Nanoseconds per environment, ratios, goals.
fn report(results: &mut Results, method: &str, contenders: &[Contender<'_>]) {
    let lanes = |scalar: &str| scalar.split_once('x').map_or(1.0, |(_, n)| n.parse().unwrap_or(1.0));
    let per_env = |scalar: &str, what: &str| {
        let name = format!("{scalar} {what}");
        contenders.iter().find(|c| c.name == name).map_or(f64::NAN, |c| c.best) / lanes(scalar)
    };
    for scalar in ["f64", "f64x4", "f64x8", "f32", "f32x8", "f32x16"] {
        let case = format!("{method}, {scalar}");
        let (step, by_macro, by_hand) = (
            per_env(scalar, "step"),
            per_env(scalar, "step_vjp by macro"),
            per_env(scalar, "step_vjp by hand"),
        );
        results.row(&case, "step", step, "ns");
        results.row(&case, "step_vjp by macro", by_macro, "ns");
        results.row(&case, "step_vjp by hand", by_hand, "ns");
        results.row(&case, "macro over hand", by_macro / by_hand, "1");
        results.row(&case, "gradient over forward", by_macro / step, "1");
        if scalar == "f64" || scalar == "f64x8" {
            results.goals.push(Goal::at_most(format!("{case}: macro over hand"), by_macro / by_hand, 1.3));
            results.goals.push(Goal::at_most(format!("{case}: gradient over forward"), by_macro / step, 3.0));
        }
    }
    for what in ["step", "step_vjp by macro"] {
        let gain = per_env("f64", what) / per_env("f64x8", what);
        results.row(method, &format!("f64x8 over f64 per environment, {what}"), gain, "1");
        results.goals.push(Goal::at_least(format!("{method}: f64x8 over f64, {what}"), gain, 3.0));
    }
}
