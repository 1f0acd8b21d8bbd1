//! Toss of a cube on a hard floor: loss and gradient of one second, with nothing to compile first.

use pullback_tasks::diffmjx::toss::{SHAPES, Toss};
use pullback_tasks::diffmjx::{tsit5, tsit5_continuous};
use pullback_tasks::{Goal, Results, Row};

use crate::output::CliError;

/// Tolerance of the motion and of its adjoint.
const TOLERANCE: f64 = 1e-8;
/// Velocities of the toss, m/s.
const VELOCITIES: [f64; 5] = [-3.0, -2.5, -2.0, -1.5, -1.0];
/// Repetitions; the shortest counts.
const TIMES: usize = 5;
/// Seconds that DiffMJX takes on a GPU, and to compile before.
const PAPER: (f64, f64) = (16.5, 67.0);

pub fn run() -> Result<Results, CliError> {
    let mut results = Results::new("toss");
    let ways = [
        ("continuous adjoint", tsit5_continuous(TOLERANCE, TOLERANCE)),
        ("discrete adjoint", tsit5(TOLERANCE)),
    ];
    for (name, integrator) in ways {
        for shape in &SHAPES {
            let toss = Toss::new(shape, integrator, None)?;
            let (mut seconds, mut steps) = (0.0, 0.0);
            for velocity in VELOCITIES {
                let mut best = f64::INFINITY;
                let times = if shape.softness > 0.0 { 1 } else { TIMES };
                for _ in 0..times {
                    let throw = toss.throw(velocity)?;
                    best = best.min(throw.seconds);
                    steps += throw.accepted as f64 / (times * VELOCITIES.len()) as f64;
                }
                seconds += best / VELOCITIES.len() as f64;
            }
            let case = format!("{}, {name}", shape.name);
            results.rows.push(Row {
                case: case.clone(),
                metric: "loss and gradient of 1 s at tolerance 1e-8".into(),
                value: seconds,
                unit: "s".into(),
                peer: (shape.name == "cube").then_some(PAPER.0),
                peer_name: (shape.name == "cube").then(|| "DiffMJX on a GPU, as published".into()),
            });
            results.row(&case, "accepted steps", steps, "1");
            if shape.name == "cube" {
                results.goals.push(Goal::at_most(format!("{case}: seconds"), seconds, 0.1));
            }
        }
    }
    results.notes.push(format!(
        "DiffMJX compiles for {} s before its first gradient. The cylinder chooses its features softly, by a search.",
        PAPER.1
    ));
    Ok(results)
}
