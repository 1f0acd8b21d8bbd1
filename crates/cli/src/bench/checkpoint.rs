//! What a long gradient costs in memory and recomputed steps, by checkpoint schedule.

use std::time::Instant;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::memory::peak_of;
use pullback_core::rollout::{FinalState, Gradient, Inputs};
use pullback_core::{Rollout, Schedule};
use pullback_physics::pendulum::DoublePendulum;
use pullback_tasks::{Goal, Results};

use crate::output::CliError;
use crate::progress;

/// One schedule's figures.
pub struct Measured {
    pub name: String,
    pub predicted_bytes: usize,
    pub measured_bytes: usize,
    pub recompute_factor: f64,
    pub predicted_factor: f64,
    pub seconds: f64,
    pub gradient: Gradient<f64>,
}

/// The gradient of a double pendulum's final angles over `steps` steps of 0.1 ms, under each schedule.
pub fn measure(steps: usize, mut tick: impl FnMut()) -> Result<Vec<Measured>, CliError> {
    let system = Integrated::new(DoublePendulum::default(), 1e-4, Integrator::fixed(Method::Rk4))?;
    let loss = FinalState { weights: vec![1.0, 1.0, 0.0, 0.0] };
    let k = steps.isqrt().max(1);
    let schedules = [
        ("store-all".to_owned(), Schedule::StoreAll),
        (format!("every {k}"), Schedule::Every(k)),
        ("revolve, 64 slots".to_owned(), Schedule::Revolve { slots: 64 }),
        ("two-level, frames of 100, 64 slots".to_owned(), Schedule::TwoLevel { frame: 100, slots: 64 }),
    ];
    let mut all = Vec::new();
    for (name, schedule) in schedules {
        let rollout = Rollout::new(&system, steps, schedule)?;
        let inputs = Inputs::<f64>::defaults(&system, steps);
        let predicted_bytes = rollout.predict_bytes::<f64>();
        let start = Instant::now();
        let (done, measured_bytes) = peak_of(|| {
            let mut ws = rollout.workspace::<f64>();
            rollout.gradient(&mut ws, &inputs, &loss).map(|()| ws)
        });
        let ws = done?;
        all.push(Measured {
            name,
            predicted_bytes,
            measured_bytes,
            recompute_factor: ws.forward_steps as f64 / steps as f64,
            predicted_factor: rollout.plan().forward_steps() as f64 / steps as f64,
            seconds: start.elapsed().as_secs_f64(),
            gradient: ws.gradient,
        });
        tick();
    }
    Ok(all)
}

pub fn run(steps: usize) -> Result<Results, CliError> {
    let bar = progress::bar(4, "double pendulum");
    let all = measure(steps, || bar.inc(1))?;
    bar.finish_and_clear();
    let mut results = Results::new("checkpoint");
    for m in &all {
        results.row(&m.name, "predicted peak", m.predicted_bytes as f64, "bytes");
        results.row(&m.name, "measured peak", m.measured_bytes as f64, "bytes");
        results.row(&m.name, "recompute factor", m.recompute_factor, "1");
        results.row(&m.name, "predicted recompute factor", m.predicted_factor, "1");
        results.row(&m.name, "value and gradient", m.seconds, "s");
        let off = (m.measured_bytes as f64 / m.predicted_bytes as f64 - 1.0).abs();
        results.goals.push(Goal::at_most(format!("{}: measured over predicted peak - 1", m.name), off, 0.05));
        let differing = bits(&m.gradient).zip(bits(&all[0].gradient)).filter(|(a, b)| a != b).count();
        results.goals.push(Goal::at_most(
            format!("{}: entries whose bits differ from store-all", m.name),
            differing as f64,
            0.0,
        ));
    }
    let gradient = &all[0].gradient;
    results.notes.push(format!(
        "{steps} steps of 1e-4 s; {} gradient entries compared, d(final angles)/d(initial angles) = {:.3e}, {:.3e}",
        bits(gradient).count(),
        gradient.state[0],
        gradient.state[1]
    ));
    Ok(results)
}

fn bits(g: &Gradient<f64>) -> impl Iterator<Item = u64> + '_ {
    let all = std::iter::once(&g.loss).chain(&g.state).chain(&g.control).chain(&g.params);
    all.map(|x| x.to_bits())
}
