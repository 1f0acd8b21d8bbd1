//! Systems for tests: a linear one, and a pendulum to swing up.

use pullback_control::task::{Planning, Success, Task};
use pullback_control::{ControlBox, Interpolation, PlannerConfig, Problem, RunOptions, build_planner};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::layout::{Layout, Slice};
use pullback_core::losses::{Effort, Norm, StateTarget, Weights};
use pullback_core::{Bars, Described, Info, Manifold, Point, StepError, System};
use pullback_math::Real;
use pullback_physics::pendulum::SimplePendulum;

/// x′ = A x + B u.
pub struct Linear {
    pub a: Vec<Vec<f64>>,
    pub b: Vec<Vec<f64>>,
    layout: Layout,
}

impl Linear {
    pub fn new(a: &[&[f64]], b: &[&[f64]]) -> Self {
        let layout = Layout::builder()
            .state(Slice::new("x", a.len(), "1"))
            .control(Slice::new("u", b[0].len(), "1"))
            .build()
            .unwrap();
        let rows = |m: &[&[f64]]| m.iter().map(|row| row.to_vec()).collect();
        Linear { a: rows(a), b: rows(b), layout }
    }

    /// Two coupled double integrators with two controls.
    pub fn coupled() -> Self {
        Linear::new(
            &[&[1.0, 0.1, 0.0, 0.0], &[-0.2, 0.98, 0.1, 0.0], &[0.0, 0.0, 1.0, 0.1], &[0.1, 0.0, -0.1, 1.01]],
            &[&[0.0, 0.0], &[0.1, 0.02], &[0.0, 0.0], &[-0.03, 0.1]],
        )
    }
}

impl Described for Linear {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Manifold for Linear {}

impl<T: Real> System<T> for Linear {
    type Workspace = ();
    fn workspace(&self) {}
    fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        for (i, next) in next.iter_mut().enumerate() {
            *next = T::zero();
            self.a[i].iter().zip(at.state).for_each(|(a, x)| *next += T::lit(*a) * *x);
            self.b[i].iter().zip(at.control).for_each(|(b, u)| *next += T::lit(*b) * *u);
        }
        Ok(Info::one())
    }
    fn step_vjp(
        &self,
        _ws: &mut (),
        _at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        for (i, bar) in next_bar.iter().enumerate() {
            self.a[i].iter().zip(bars.state.iter_mut()).for_each(|(a, x)| *x += T::lit(*a) * *bar);
            self.b[i].iter().zip(bars.control.iter_mut()).for_each(|(b, u)| *u += T::lit(*b) * *bar);
        }
        Ok(())
    }
}

/// Σ x² + 0.1 u², and 5 x² at the end.
pub type Quadratic = (StateTarget, Effort);

pub fn quadratic(system: &Linear) -> Quadratic {
    let weights = Weights { running: 1.0, terminal: 5.0 };
    let layout = system.layout();
    (StateTarget::new(layout, "x", Norm::Square, weights).unwrap(), Effort::new(layout, 0.1))
}

pub fn problem<'a>(
    system: &'a Linear,
    loss: &'a Quadratic,
    bounds: &'a ControlBox,
    horizon: usize,
) -> Problem<'a, Linear, Quadratic> {
    Problem { system, loss, params: &[], bounds, horizon, substeps: 1, threads: 1 }
}

pub type Pendulum = Task<Integrated<SimplePendulum>, (Vec<StateTarget>, Effort)>;

/// A pendulum of 1 kg and 1 m whose motor, 4 N m, cannot lift it at once.
pub fn pendulum() -> Pendulum {
    let system = Integrated::new(SimplePendulum::default(), 0.05, Integrator::fixed(Method::Rk4)).unwrap();
    let layout = system.layout();
    let target = |pattern, norm, weight| {
        StateTarget::new(layout, pattern, norm, Weights { running: weight, terminal: 4.0 * weight }).unwrap()
    };
    let up = target("angle", Norm::Cosine, 1.0).at(&[std::f64::consts::PI]).unwrap();
    let loss = (vec![up, target("rate", Norm::Square, 0.02)], Effort::new(layout, 1e-3));
    let params = layout.params.defaults();
    Task {
        name: "pendulum".into(),
        params,
        start: vec![0.0, 0.0],
        nominal: vec![0.0],
        bounds: vec![(-4.0, 4.0)],
        loss,
        substeps: 1,
        dt: 0.05,
        planning: Planning {
            horizon: 40,
            apply: 2,
            spacing: 4,
            interpolation: Interpolation::Linear,
            steps: 120,
        },
        success: Success {
            what: "angle from the top".into(),
            unit: "rad",
            measure: Box::new(|state| {
                let angle = state[0] - std::f64::consts::PI;
                angle.sin().atan2(angle.cos()).abs()
            }),
            limit: 0.2,
            hold: 10,
        },
        system,
    }
}

pub fn planner(name: &str, settings: serde_json::Value) -> PlannerConfig {
    build_planner(name, &settings).unwrap()
}

/// The task's own planning on one thread, with `steps` of the episode.
pub fn options(task: &Pendulum, steps: usize) -> RunOptions {
    RunOptions {
        planning: Planning { steps, ..task.planning },
        threads: 1,
        seed: 3,
        folder: None,
        inputs: Vec::new(),
    }
}
