//! [`Filmed`]: a soft scene in front of a camera, and the problems that its videos and its motions pose.

use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Variable};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{Bars, ConfigError, Described, FieldShape, Point, Schedule, System, VectorField};
use pullback_math::{Dual, Real};
use pullback_optim::least_squares::{Compare, GaussNewton, LeastSquares, Loss, Part, RolloutResiduals};
use pullback_physics::world::World;
use pullback_render::Image;
use pullback_video::{Footage, Frame, Pixels, Shot, Visible, VisibleWorld, film};
use serde::{Deserialize, Serialize};

use crate::experiment::ExperimentError;

/// Steps per second of all soft scenes, at which frames are taken.
pub const RATE: f64 = 60.0;

/// A soft scene in front of a camera.
pub struct Filmed<F, V = VisibleWorld> {
    /// The motion, one step per possible frame.
    pub rollout: Rollout<Integrated<F>>,
    /// What is seen of it.
    pub visible: V,
    /// From where.
    pub shot: Shot,
    /// Steps that have a frame, in ascending order.
    pub frames: Vec<usize>,
}

/// A field whose motion can be fitted.
pub trait Field: FieldShape + VectorField<f64> + VectorField<Dual<f64>> {}
impl<F: FieldShape + VectorField<f64> + VectorField<Dual<f64>>> Field for F {}

/// Videos of a soft scene as residuals.
pub type FromVideo<'a, F, V, M> = RolloutResiduals<&'a Integrated<F>, Footage<V>, M>;
/// Its motion as residuals.
pub type FromMotion<'a, F, M> = RolloutResiduals<&'a Integrated<F>, Tracks, M>;

/// What a camera sees of a field, on numbers and on dual numbers.
pub trait Seen: Visible<f64> + Visible<Dual<f64>> + Clone {}
impl<V: Visible<f64> + Visible<Dual<f64>> + Clone> Seen for V {}

impl<F: Field, V: Seen> Filmed<F, V>
where
    Integrated<F>: System<f64> + System<Dual<f64>>,
{
    /// A scene of `steps` steps of 1/60 s, each of `substeps` steps of semi-implicit Euler.
    pub fn new(
        field: F,
        (steps, substeps): (usize, usize),
        visible: V,
        shot: Shot,
        frames: Vec<usize>,
    ) -> Result<Self, ConfigError> {
        let euler = Integrator::fixed(Method::SemiImplicitEuler);
        let system = Integrated::new(field, 1.0 / (RATE * substeps as f64), euler)?;
        let rollout = Rollout::new(system, steps, Schedule::Revolve { slots: 1 })?.with_substeps(substeps)?;
        Ok(Filmed { rollout, visible, shot, frames })
    }

    /// What the scene starts from when nothing else is said.
    pub fn inputs(&self) -> Inputs<f64> {
        Inputs::defaults(&self.rollout.system, self.rollout.steps())
    }

    /// The video of a motion.
    pub fn film(&self, inputs: &Inputs<f64>) -> Result<Vec<Frame>, ExperimentError> {
        Ok(film(&self.rollout, inputs, &self.visible, &self.shot, &self.frames)?)
    }

    /// Means of groups of entries of the state at the steps that have a frame.
    pub fn track(&self, inputs: &Inputs<f64>, groups: Vec<Vec<usize>>) -> Result<Tracks, ExperimentError> {
        let mut tracks = Tracks { groups, moments: Vec::new() };
        let mut ws = self.rollout.workspace::<f64>();
        self.rollout.simulate(&mut ws, inputs, |at| {
            if self.frames.binary_search(&at.step).is_ok() {
                tracks.moments.push((at.step, tracks.means(at.state)));
            }
        })?;
        Ok(tracks)
    }

    /// The picture at the end of a motion, and means of groups of entries of the state there.
    pub fn last(
        &self,
        inputs: &Inputs<f64>,
        groups: Vec<Vec<usize>>,
    ) -> Result<(Image<f64>, Vec<f64>), ExperimentError> {
        let (mut ws, mut state) = (self.rollout.workspace::<f64>(), Vec::new());
        self.rollout.simulate(&mut ws, inputs, |at| {
            if at.last() {
                state = at.state.to_vec();
            }
        })?;
        let means = Tracks { groups, moments: Vec::new() }.means(&state);
        let steps = self.rollout.steps();
        let controls = inputs.controls[inputs.controls.len() / steps * (steps - 1)..].to_vec();
        let one = Rollout::new(&self.rollout.system, 1, Schedule::StoreAll)?;
        let end = Inputs { state, controls, params: inputs.params.clone() };
        Ok((film(&one, &end, &self.visible, &self.shot, &[0])?.swap_remove(0).image, means))
    }

    /// A video as a problem: the pixels of its frames.
    pub fn video_problem<M: InputMap>(
        &self,
        map: (M, Vec<Transform>),
        base: Inputs<f64>,
        video: Vec<Frame>,
        pixels: Pixels,
    ) -> Result<FromVideo<'_, F, V, M>, ExperimentError> {
        let footage = Footage::new(self.visible.clone(), self.shot, pixels, vec![video])?;
        let residuals = footage.residual_count(0);
        self.residuals(footage, residuals, map, base)
    }

    /// A motion as a problem: positions at the steps that have a frame.
    pub fn motion_problem<M: InputMap>(
        &self,
        map: (M, Vec<Transform>),
        base: Inputs<f64>,
        tracks: Tracks,
    ) -> Result<FromMotion<'_, F, M>, ExperimentError> {
        let residuals = tracks.groups.len() * tracks.moments.len();
        let last = tracks.moments.last().map_or(1, |(step, _)| (*step).max(1));
        self.residuals_until(last, (tracks, residuals), map, base)
    }

    /// Anything compared at the steps of a motion as a problem of so many residuals.
    pub fn residuals<C: Compare<f64>, M: InputMap>(
        &self,
        compare: C,
        residuals: usize,
        map: (M, Vec<Transform>),
        base: Inputs<f64>,
    ) -> Result<RolloutResiduals<&Integrated<F>, C, M>, ExperimentError> {
        self.residuals_until(self.rollout.steps(), (compare, residuals), map, base)
    }

    /// The same for the first `steps` steps.
    fn residuals_until<C: Compare<f64>, M: InputMap>(
        &self,
        steps: usize,
        (compare, residuals): (C, usize),
        map: (M, Vec<Transform>),
        base: Inputs<f64>,
    ) -> Result<RolloutResiduals<&Integrated<F>, C, M>, ExperimentError> {
        let Inputs { state, mut controls, params } = base;
        controls.truncate(controls.len() / self.rollout.steps() * steps);
        let part = Part { state, controls, steps, residuals, ..Part::default() };
        let problem = RolloutResiduals::new(&self.rollout.system, compare, map, params, vec![part])?;
        Ok(problem.with_substeps(self.rollout.substeps()))
    }

    /// One variable for all entries of each of these slices of the parameters, within a factor of their defaults.
    pub fn tied_params(&self, slices: &[&str], factor: f64) -> Result<LinearMap, ConfigError> {
        let params = &self.rollout.system.layout().params;
        let variables = slices.iter().map(|name| {
            let slice = params.slice(name)?;
            let usual = slice.default[0];
            Ok(Variable::new(*name, slice.unit.clone(), (usual / factor, usual * factor), usual))
        });
        let mut map = LinearMap::new(variables.collect::<Result<_, ConfigError>>()?);
        for (i, name) in slices.iter().enumerate() {
            for entry in params.slice(name)?.range.clone() {
                map.tie(InputEntry::Params(entry), 0.0, [(i, 1.0)]);
            }
        }
        Ok(map)
    }
}

/// Entries of the state of every coordinate of the particles, one by one.
pub fn every_coordinate(world: &World) -> Vec<Vec<usize>> {
    world.particle_entries().map(|entry| vec![entry]).collect()
}

/// Entries of the state whose means are the center of all particles, x, y and z.
pub fn center(world: &World) -> Vec<Vec<usize>> {
    (0..3).map(|k| world.particle_entries().skip(k).step_by(3).collect()).collect()
}

/// Means of groups of entries of the state at some steps.
#[derive(Clone, Debug)]
pub struct Tracks {
    groups: Vec<Vec<usize>>,
    /// Step, and the mean of each group.
    moments: Vec<(usize, Vec<f64>)>,
}

impl Tracks {
    /// The same groups at other places.
    pub fn to(groups: Vec<Vec<usize>>, moments: Vec<(usize, Vec<f64>)>) -> Self {
        Tracks { groups, moments }
    }

    /// The last means.
    pub fn last(&self) -> &[f64] {
        self.moments.last().map_or(&[], |(_, means)| means)
    }

    fn means<T: Real>(&self, state: &[T]) -> Vec<T> {
        let mean = |group: &Vec<usize>| {
            let sum = group.iter().fold(T::zero(), |sum, entry| sum + state[*entry]);
            sum * T::lit(1.0 / group.len() as f64)
        };
        self.groups.iter().map(mean).collect()
    }

    fn moment(&self, step: usize) -> Option<usize> {
        self.moments.binary_search_by_key(&step, |(step, _)| *step).ok()
    }
}

impl<T: Real> Compare<T> for Tracks {
    type Workspace = ();

    fn workspace(&self) {}

    fn compare(&self, _ws: &mut (), step: (usize, usize), at: Point<'_, T>, residuals: &mut [T]) {
        let Some(moment) = self.moment(step.1) else { return };
        let own = &mut residuals[moment * self.groups.len()..][..self.groups.len()];
        for ((r, mean), wanted) in own.iter_mut().zip(self.means(at.state)).zip(&self.moments[moment].1) {
            *r += mean - T::lit(*wanted);
        }
    }

    fn compare_vjp(
        &self,
        _ws: &mut (),
        step: (usize, usize),
        _at: Point<'_, T>,
        residuals_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Some(moment) = self.moment(step.1) else { return };
        for (bar, group) in residuals_bar[moment * self.groups.len()..].iter().zip(&self.groups) {
            let share = *bar * T::lit(1.0 / group.len() as f64);
            group.iter().for_each(|entry| bars.state[*entry] += share);
        }
    }
}

/// A fit by Gauss-Newton.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fit {
    /// The quantities found.
    pub found: Vec<f64>,
    /// Mean square of the residuals at the start and after each step.
    pub losses: Vec<f64>,
}

impl Fit {
    /// The mean square that remains.
    pub fn last(&self) -> f64 {
        self.losses[self.losses.len() - 1]
    }
}

/// Fits from a start of the quantities, in at most `steps` steps.
pub fn fit(problem: &dyn LeastSquares, start: &[f64], steps: usize) -> Result<Fit, ExperimentError> {
    let config = GaussNewton { steps, ..GaussNewton::default() };
    let unknowns = problem.unknowns();
    let searched: Vec<f64> = unknowns.iter().zip(start).map(|(u, x)| u.transform.inverse(*x)).collect();
    let share = 2.0 / (0..problem.parts()).map(|part| problem.residual_count(part)).sum::<usize>() as f64;
    let mut state = config.begin(problem, searched)?;
    let mut losses = vec![share * state.cost];
    while state.end.is_none() {
        config.step(problem, &mut state)?;
        losses.push(share * state.cost);
    }
    let found = unknowns.iter().zip(&state.at.shared).map(|(u, z)| u.eval(*z).0).collect();
    Ok(Fit { found, losses })
}

/// Fits from one start after the other until one leaves next to nothing of the residuals; the lowest.
pub fn fit_from(
    problem: &dyn LeastSquares,
    starts: &[Vec<f64>],
    steps: usize,
) -> Result<Fit, ExperimentError> {
    let mut best = fit(problem, &starts[0], steps)?;
    for start in &starts[1..] {
        if best.last() <= NOTHING * best.losses[0] {
            break;
        }
        let next = fit(problem, start, steps)?;
        if next.last() < best.last() {
            best = next;
        }
    }
    Ok(best)
}

/// Part of the first mean square at which a fit is done.
const NOTHING: f64 = 1e-8;

/// The mean square of a problem as a loss of its search variables.
pub fn loss(problem: &dyn LeastSquares) -> Loss<'_> {
    let start = problem.unknowns().iter().map(|u| u.start()).collect();
    Loss { problem, start }
}
