//! `soft-jumper`: an elastic quadruped that tetrahedra drive jumps along x (Rewarped, SoftJumper).
//!
//! The quadruped is our own, [`table`]: 204 vertices and 444 tetrahedra as in the source, *4.95 m³ (source:
//! 4.90) in a box of 2.5 × 2.5 × 1.8 m (2.48 × 2.48 × 1.77)*. Action k drives tetrahedra 2k and 2k + 1 by
//! 0.3 a: P gets λ (J − α + 0.3 a) cof F. Contact with the ground is Warp's: damping acts at once, and bounds
//! friction with the rest of the normal force.
//!
//! R = v_x + 3 (z − z₀) − c Σa² of the mean over vertices, with z₀ its height before noise. The paper prints
//! other c and z₀: [`Options::as_paper`].

use pullback_core::ConfigError;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::{Quat, Real, Vec3};
use pullback_physics::articulated::{ContactDamping, Geom, Model, Shape};
use pullback_physics::soft::mesh::{Split, TetMesh, box_grid, table};
use pullback_physics::soft::{Placement, SoftBody, SoftContact, Solid, SolidLaw};
use pullback_physics::world::World;

use super::planar::{effort, effort_vjp};

/// Seconds per action.
pub const ACTION: f64 = 1.0 / 60.0;
/// Height at which the feet start, m.
const LIFT: f64 = 0.2;
const MATERIAL: Solid = Solid { law: SolidLaw::NeoHookean, density: 1.0, mu: 1e3, lambda: 1e3, damping: 1.0 };
const CONTACT: SoftContact = SoftContact { stiffness: 2e3, damping: 0.1, friction_slope: 10.0, radius: 0.05 };
const FRICTION: f64 = 0.7;
/// Activation of a full action.
const ACTIVATION: f64 = 0.3;
/// Tetrahedra per action.
const DRIVEN: usize = 2;
/// Scale of positions and velocities in observations.
const SEEN: f64 = 0.1;
/// Weight of height in the reward.
const HEIGHT: f64 = 3.0;
/// Noise at the start: level, upwards, m, and scale about the origin.
const NOISE: (f64, f64, f64) = (0.8, 0.4, 0.1);

/// Where paper and code differ.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Cost c of Σa².
    pub effort: f64,
    /// Height z₀ that earns nothing, m; if none, that of the quadruped before noise.
    pub height: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { effort: 1e-3, height: None }
    }
}

impl Options {
    /// As the paper prints them.
    pub fn as_paper() -> Self {
        Options { effort: 1e-4, height: Some(0.2) }
    }
}

/// The task.
pub struct SoftJumper {
    system: Integrated<World>,
    substeps: usize,
    vertices: usize,
    actions: usize,
    /// Cost of Σa².
    effort: f64,
    /// Height that earns nothing, m.
    height: f64,
}

impl SoftJumper {
    /// The quadruped, or where `small` says so a block of few tetrahedra.
    pub fn new(options: Options, small: bool) -> Result<Self, ConfigError> {
        let (mesh, substeps) = if small { (block()?, 20) } else { (table(), 80) };
        let mut body = SoftBody::new();
        body.contact = CONTACT;
        let part = body.add_solid("jumper", &mesh, MATERIAL, Placement::at(0.0, 0.0, LIFT))?;
        let actions = body.actuate(part, |tet| tet / DRIVEN);
        let vertices = body.particles();
        let stands = body.positions.iter().map(|x| x.z).sum::<f64>() / vertices as f64;
        let dt = ACTION / substeps as f64;
        let world = World::new(ground()?, body)?;
        let system = Integrated::new(world, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
        let Options { effort, height } = options;
        let height = height.unwrap_or(stands);
        Ok(SoftJumper { system, substeps, vertices, actions, effort, height })
    }

    /// Quadruped and ground.
    pub fn world(&self) -> &World {
        self.system.field()
    }

    /// Positions and velocities of all vertices in a state.
    fn split<'a, T>(&self, state: &'a [T]) -> (&'a [[T; 3]], &'a [[T; 3]]) {
        let (x, v) = state.split_at(3 * self.vertices);
        (x.as_chunks().0, v.as_chunks().0)
    }

    /// The mean over vertices.
    fn mean<T: Real>(&self, vectors: &[[T; 3]]) -> [T; 3] {
        let sum = |sum: [T; 3], x: &[T; 3]| std::array::from_fn(|k| sum[k] + x[k]);
        vectors.iter().fold([T::zero(); 3], sum).map(|sum| sum * T::lit(1.0 / self.vertices as f64))
    }

    /// The pullback of [`SoftJumper::mean`]: *adds* to the cotangents of the vertices, flat.
    fn mean_vjp<T: Real>(&self, mean_bar: [T; 3], bars: &mut [T]) {
        let share = mean_bar.map(|bar| bar * T::lit(1.0 / self.vertices as f64));
        bars.iter_mut().enumerate().for_each(|(i, bar)| *bar += share[i % 3]);
    }
}

/// A block of two cells, for checks of gradients.
fn block() -> Result<TetMesh, ConfigError> {
    let edges = Vec3::new(1.0, 0.5, 0.5);
    let mesh = box_grid(2, 1, 1, edges, Split::Six).map_err(|e| ConfigError::new(e.to_string()))?;
    Ok(mesh.moved(Quat::identity(), Vec3::new(0.0, 0.0, 0.5 * edges.z)))
}

/// A level ground under contact that damps at once.
fn ground() -> Result<Model, ConfigError> {
    let mut model = Model::new("soft-jumper");
    model.options.contact_damping = ContactDamping::Plain;
    model.geoms.push(Geom { friction: [FRICTION, 0.0, 0.0], ..Geom::new("ground", 0, Shape::Plane) });
    model.compile()
}

impl TaskSpec for SoftJumper {
    fn spaces(&self) -> Spaces {
        Spaces { points: self.vertices, vector: 6 + self.actions, actions: self.actions }
    }
    fn substeps(&self) -> usize {
        self.substeps
    }
    fn episode_length(&self) -> usize {
        300
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        let (level, up, scale) = NOISE;
        let by = [random.uniform(-level, level), random.uniform(-level, level), random.uniform(0.0, up)];
        let scale = random.uniform(1.0 - scale, 1.0 + scale);
        for x in start.state[..3 * self.vertices].as_chunks_mut::<3>().0 {
            *x = std::array::from_fn(|k| scale * (x[k] + by[k]));
        }
    }
}

impl<T: Real> Task<T> for SoftJumper {
    type System = Integrated<World>;

    fn system(&self) -> &Self::System {
        &self.system
    }

    fn control(&self, _: View<'_, T>, action: &[T], control: &mut [T]) {
        control.iter_mut().zip(action).for_each(|(u, a)| *u = *a * T::lit(ACTIVATION));
    }
    fn control_vjp(&self, _: View<'_, T>, _: &[T], control_bar: &[T], action_bar: &mut [T], _: &mut [T]) {
        action_bar.iter_mut().zip(control_bar).for_each(|(bar, u)| *bar += *u * T::lit(ACTIVATION));
    }

    /// 0.1 (x₁ … xₙ, x̄, v̄), a
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        let (x, v) = self.split(at.state);
        let (scaled, action) = out.split_at_mut(out.len() - self.actions);
        let (points, means) = scaled.split_at_mut(3 * self.vertices);
        points.copy_from_slice(x.as_flattened());
        means[..3].copy_from_slice(&self.mean(x));
        means[3..].copy_from_slice(&self.mean(v));
        scaled.iter_mut().for_each(|seen| *seen *= T::lit(SEEN));
        action.copy_from_slice(at.action);
    }
    fn observe_vjp(&self, _: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        let (scaled, action) = out_bar.split_at(out_bar.len() - self.actions);
        let (points, means) = scaled.split_at(3 * self.vertices);
        let (x_bar, v_bar) = bars.state.split_at_mut(3 * self.vertices);
        x_bar.iter_mut().zip(points).for_each(|(bar, point)| *bar += *point * T::lit(SEEN));
        self.mean_vjp(std::array::from_fn(|k| means[k] * T::lit(SEEN)), x_bar);
        self.mean_vjp(std::array::from_fn(|k| means[3 + k] * T::lit(SEEN)), v_bar);
        bars.action.iter_mut().zip(action).for_each(|(bar, a)| *bar += *a);
    }

    /// R = v_x + 3 (z − z₀) − c Σa²
    fn reward(&self, step: Transition<'_, T>) -> T {
        let (x, v) = self.split(step.after);
        let rise = self.mean(x)[2] - T::lit(self.height);
        self.mean(v)[0] + rise * T::lit(HEIGHT) - effort(self.effort, step.action)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let (x_bar, v_bar) = bars.after.split_at_mut(3 * self.vertices);
        self.mean_vjp([T::zero(), T::zero(), reward_bar * T::lit(HEIGHT)], x_bar);
        self.mean_vjp([reward_bar, T::zero(), T::zero()], v_bar);
        effort_vjp(self.effort, step.action, reward_bar, bars.action);
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::Described;

    use super::*;

    fn reward(task: &SoftJumper, state: &[f64], action: &[f64]) -> f64 {
        task.reward(Transition { before: state, action, after: state, context: &[] })
    }

    #[test]
    fn speed_height_and_effort_are_what_counts() {
        let task = SoftJumper::new(Options::default(), false).unwrap();
        let mut state = task.system.layout().state.defaults();
        let (rest, full) = (vec![0.0; 222], vec![1.0; 222]);
        assert!(reward(&task, &state, &rest).abs() < 1e-12);
        let (x, v) = state.split_at_mut(3 * 204);
        x.as_chunks_mut::<3>().0.iter_mut().for_each(|x| x[2] += 0.5);
        v.as_chunks_mut::<3>().0.iter_mut().for_each(|v| v[0] = 2.0);
        assert!((reward(&task, &state, &full) - (2.0 + 3.0 * 0.5 - 0.222)).abs() < 1e-12);
        let paper = SoftJumper::new(Options::as_paper(), false).unwrap();
        let expected = 2.0 + 3.0 * (task.height + 0.5 - 0.2) - 0.0222;
        assert!((reward(&paper, &state, &full) - expected).abs() < 1e-12);
    }

    #[test]
    fn the_quadruped_has_the_size_of_the_source() {
        let task = SoftJumper::new(Options::default(), false).unwrap();
        let body = task.world().soft().body();
        assert_eq!((body.particles(), body.solids[0].corners.len()), (204, 444));
        let mass: f64 = body.masses.iter().sum();
        assert!((mass - 4.8975).abs() < 0.02 * 4.8975, "{mass} kg");
        // Two tetrahedra in a row per action.
        assert!(body.solids[0].controls.iter().enumerate().all(|(k, u)| *u as usize == k / 2));
    }
}
