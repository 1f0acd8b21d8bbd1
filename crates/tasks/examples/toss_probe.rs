//! Probe.
use pullback_core::integrator::*;
use pullback_tasks::diffmjx::toss::*;
use pullback_tasks::diffmjx::tsit5;
fn main() {
    let n: usize = std::env::args().nth(1).map_or(20, |x| x.parse().unwrap());
    let pid = |t: f64| PidController::new(t).gains(0.2, 0.4, 0.0);
    for shape in [&SHAPES[1], &SHAPES[3]] {
        let exact = Toss::new(shape, tsit5(1e-12), None).unwrap();
        let us: Vec<f64> = (0..n).map(|i| -3.0 + 2.0 * i as f64 / (n - 1) as f64).collect();
        let fd: Vec<f64> = us.iter().map(|u| exact.difference(*u).unwrap()).collect();
        for (name, integ) in [("continuous 1e-8 1e-7", Integrator { adjoint: Adjoint::Continuous(pid(1e-7)), ..tsit5(1e-8) }),
            ("discrete 1e-8", tsit5(1e-8)),
            ("continuous 1e-8 1e-6", Integrator { adjoint: Adjoint::Continuous(pid(1e-6)), ..tsit5(1e-8) }),
            ("continuous 1e-8 1e-8", Integrator { adjoint: Adjoint::Continuous(pid(1e-8)), ..tsit5(1e-8) }),
            (
                "continuous 1e-12 1e-10",
                Integrator { adjoint: Adjoint::Continuous(pid(1e-10)), ..tsit5(1e-12) },
            ),
        ] {
            let toss = Toss::new(shape, integ, None).unwrap();
            let t: Vec<_> = us.iter().map(|u| toss.throw(*u).unwrap()).collect();
            let err: Vec<f64> = t.iter().zip(&fd).map(|(t, f)| (t.gradient - f).abs() / f.abs()).collect();
            let mut sorted = err.clone();
            sorted.sort_by(f64::total_cmp);
            println!(
                "{:10} {name:24} within 1% {:.2} median {:.1e} worst {:.1e} at {:.3} time {:.4} steps {}",
                shape.name,
                err.iter().filter(|e| **e < 0.01).count() as f64 / n as f64,
                sorted[n / 2],
                sorted[n - 1],
                us[err.iter().position(|e| *e == sorted[n - 1]).unwrap()],
                t.iter().map(|t| t.seconds).sum::<f64>() / n as f64,
                t.iter().map(|t| t.accepted).sum::<usize>() / n
            );
        }
    }
}
