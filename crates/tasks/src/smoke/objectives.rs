//! Tasks of smoke: first velocities so that a disc or ball becomes another shape.
//!
//! Variables are the velocities of all open faces at the start, before a projection that makes them free of
//! divergence ([`DivergenceFree`]). Nothing acts afterwards but the flow itself.
//!
//! | task | cells | steps | loss |
//! |---|---|---|---|
//! | `smoke-shape-2d` | 64 × 64 of 1/64 m, MacCormack | 40 of 1/40 s | Σ(ρ − ρ*)²/Σρ*² with a star |
//! | `smoke-shape-3d` | 20³ of 1/20 m | 20 of 1/20 s | the same with three crossing bars |
//! | `smoke-view-3d` | the same | the same | mean over the pixels of two pictures of the squared difference from those of the bars |

use pullback_core::picture::Picture;
use pullback_core::registry::Entry;
use pullback_core::rollout::{Loss, Rollout};
use pullback_core::sources::GRADSIM;
use pullback_core::{ConfigError, Described, Schedule, StepError, System};
use pullback_math::Vec3;
use pullback_optim::{Objective, RolloutObjective};
use pullback_physics::smoke::camera::{Camera, Lens};
use pullback_physics::smoke::losses::{DensityLoss, ViewLoss};
use pullback_physics::smoke::march::Marcher;
use pullback_physics::smoke::start::DivergenceFree;
use pullback_physics::smoke::{Grid, Scheme, Settings, Smoke, SolveTolerance};

use super::{LOOK, picture, shapes};
use crate::motion::Shown;
use crate::objectives::{Build, Task};

/// The tasks of this file.
pub const TASKS: &[Task] = &[
    Entry::cited(
        "smoke-shape-2d",
        "first velocities so that a disc of smoke becomes a star after 1 s",
        GRADSIM.at("C.4"),
        Build::Plain(|| Ok(Box::new(shape_2d(64, 40)?))),
    ),
    Entry::cited(
        "smoke-shape-3d",
        "first velocities so that a ball of smoke becomes three crossing bars after 1 s",
        GRADSIM.at("C.4"),
        Build::Plain(|| Ok(Box::new(shape_3d(20, 20)?))),
    ),
    Entry::cited(
        "smoke-view-3d",
        "first velocities so that a ball of smoke looks like three crossing bars from two sides after 1 s",
        GRADSIM.at("C.4"),
        Build::Plain(|| Ok(Box::new(view_3d(20, 20)?))),
    ),
];

/// Seconds of an episode.
const TIME: f64 = 1.0;
/// Largest velocity before the projection, m/s.
const MOST: f64 = 2.0;
/// So exact that losses are smooth to 9 digits.
const PRESSURE: SolveTolerance = SolveTolerance { relative: 1e-11, iterations: 100 };

/// A search for first velocities, which can be looked at.
pub struct ShapeTask<const D: usize, L>
where
    Smoke<D>: System<f64>,
{
    objective: RolloutObjective<Smoke<D>, L, DivergenceFree<D>>,
    target: Vec<f64>,
}

impl<const D: usize, L: Loss<f64>> ShapeTask<D, L>
where
    Smoke<D>: System<f64>,
{
    /// From a round start of the mass of the target to the target.
    fn new(
        smoke: Smoke<D>,
        steps: usize,
        target: Vec<f64>,
        loss: impl FnOnce(&Smoke<D>, &[f64]) -> Result<L, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let (loss, map) = (loss(&smoke, &target)?, DivergenceFree::new(&smoke, MOST)?);
        let rollout = Rollout::new(smoke, steps, Schedule::StoreAll)?;
        let smoke = &rollout.system;
        let mut base = pullback_core::Inputs::defaults(smoke, steps);
        let first = smoke.layout().state.len() - target.len();
        base.state[first..].copy_from_slice(&shapes::round(smoke.grid(), &target));
        let objective = RolloutObjective::new(rollout, loss, map).with_base(base).with_floor(0.0);
        Ok(ShapeTask { objective, target })
    }

    /// The search itself.
    pub fn objective(&self) -> &RolloutObjective<Smoke<D>, L, DivergenceFree<D>> {
        &self.objective
    }
}

impl<const D: usize, L: Loss<f64> + Sync> Objective for ShapeTask<D, L>
where
    Smoke<D>: System<f64>,
{
    fn names(&self) -> Vec<String> {
        self.objective.names()
    }
    fn units(&self) -> Vec<String> {
        self.objective.units()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.objective.bounds()
    }
    fn start(&self) -> Vec<f64> {
        self.objective.start()
    }
    fn floor(&self) -> Option<f64> {
        self.objective.floor()
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        self.objective.value(x)
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        self.objective.value_grad(x, grad)
    }
    fn pictures(&self, x: &[f64]) -> Result<Vec<Picture>, StepError> {
        let (states, smoke) = (self.objective.states(x)?, &self.objective.rollout().system);
        let at = |k: usize| smoke.density(&states[k]);
        let last = states.len() - 1;
        let shown = [
            ("start", at(0)),
            ("half way", at(last / 2)),
            ("fitted", at(last)),
            ("target", &self.target[..]),
        ];
        Ok(shown.map(|(title, density)| picture(smoke.grid(), title.to_owned(), density)).into())
    }
}

impl<const D: usize, L: Loss<f64> + Sync> Shown for ShapeTask<D, L> where Smoke<D>: System<f64> {}

/// Still smoke in a cube of so many cells, with steps of `TIME` in all.
fn still<const D: usize>(cells: usize, steps: usize, scheme: Scheme) -> Result<Smoke<D>, ConfigError> {
    let grid = Grid::new([cells; D], 1.0 / cells as f64);
    let settings = Settings { scheme, pressure: PRESSURE, ..Settings::default() };
    Smoke::new(grid, settings, TIME / steps as f64)
}

/// A disc that becomes a star.
pub fn shape_2d(cells: usize, steps: usize) -> Result<ShapeTask<2, DensityLoss>, ConfigError> {
    let smoke = still(cells, steps, Scheme::MacCormack)?;
    let target = shapes::star(smoke.grid());
    ShapeTask::new(smoke, steps, target, |smoke, target| DensityLoss::new(smoke, target.to_vec()))
}

/// A ball that becomes three crossing bars.
pub fn shape_3d(cells: usize, steps: usize) -> Result<ShapeTask<3, DensityLoss>, ConfigError> {
    let smoke = still(cells, steps, Scheme::MacCormack)?;
    let target = shapes::jack(smoke.grid());
    ShapeTask::new(smoke, steps, target, |smoke, target| DensityLoss::new(smoke, target.to_vec()))
}

/// A ball that looks like three crossing bars from two sides.
pub fn view_3d(cells: usize, steps: usize) -> Result<ShapeTask<3, ViewLoss>, ConfigError> {
    let smoke = still(cells, steps, Scheme::MacCormack)?;
    let target = shapes::jack(smoke.grid());
    ShapeTask::new(smoke, steps, target, |smoke, target| {
        let mut views = Vec::new();
        for (x, y) in [(1.2, -2.6), (2.8, 1.6)] {
            let camera = Camera {
                position: Vec3::new(x, y, 1.3),
                target: Vec3::new(0.5, 0.5, 0.5),
                lens: Lens::Perspective(0.4),
                pixels: (2 * cells, 2 * cells),
            };
            let marcher = Marcher::new(smoke.grid().clone(), camera)?;
            let mut wanted = marcher.image();
            marcher.render(&mut marcher.workspace(), target, LOOK, &mut wanted);
            views.push((marcher, wanted));
        }
        ViewLoss::new(smoke, LOOK, views)
    })
}

#[cfg(test)]
mod tests {
    use pullback_core::directions::{Direction, gradcheck_along};
    use pullback_core::gradcheck::Options;
    use pullback_core::random::Random;

    use super::*;

    /// Gradients through projection, rollout and loss, along random directions in a random flow.
    #[test]
    fn gradients_of_tasks_are_exact() {
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() };
        let mut random = Random::new(4);
        macro_rules! check {
            ($task:expr) => {{
                let task = $task.unwrap();
                let mut some = |n: usize| (0..n).map(|_| random.uniform(-0.5, 0.5)).collect::<Vec<f64>>();
                let n = task.names().len();
                let (x, directions) = (some(n), [Direction { name: "along".to_owned(), entries: some(n) }]);
                gradcheck_along(task.objective(), &x, &directions, &options).assert_passed();
            }};
        }
        check!(shape_2d(16, 4));
        check!(shape_3d(8, 3));
        check!(view_3d(8, 3));
    }

    /// A few steps down the gradient from rest lower the loss of a small task by far.
    #[test]
    fn descent_moves_smoke_towards_the_shape() {
        let task = shape_2d(16, 8).unwrap();
        let mut x = task.start();
        let mut grad = vec![0.0; x.len()];
        let first = task.value(&x).unwrap();
        for _ in 0..30 {
            task.value_grad(&x, &mut grad).unwrap();
            let length = grad.iter().map(|g| g * g).sum::<f64>().sqrt();
            x.iter_mut().zip(&grad).for_each(|(x, g)| *x -= 0.3 * g / length);
        }
        let last = task.value(&x).unwrap();
        assert!(last < 0.5 * first, "{first} became {last}");
    }
}
