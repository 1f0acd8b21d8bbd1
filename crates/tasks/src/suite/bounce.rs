//! `bounce`: with what velocity must a ball be thrown at the ground to be at a target after 2 s (BO-Leap B.1,
//! Warp's contact)?
//!
//! The ball is a particle of 1 kg, z is up. Contact is Warp's relaxed model with the constants of its bounce
//! example, stiffness ke, damping kd and no friction (kf = 0, so that μ plays no part):
//!
//! f = n (ke c₋ + kd min(v·n, 0)) for penetration c₋ < 0.
//!
//! Steps are semi-implicit Euler of 1/480 s. The damping sets in at touch at once, so the force jumps there
//! and the discrete motion is discontinuous in the velocity: each step more or less in contact is a jump of
//! the loss. The gradient is that of the discrete steps taken.

use pullback_core::layout::{Layout, Slice};
use pullback_core::rollout::Inputs;
use pullback_core::{Bars, Described, Info, Point, Rollout, Schedule, StepError, System};
use pullback_math::{Flat, Real, Vec3, constant, differentiable, select};
use pullback_physics::collision::{ContactDamping, normal_force, normal_force_vjp};

use pullback_replay::Replay;

use super::losses::PointAt;
use crate::motion::Visual;
use crate::objectives::Built;
use crate::recording::ball_page;
use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_optim::RolloutObjective;

/// Stiffness of contact, N/m (Warp's example).
const STIFFNESS: f64 = 1e4;
/// Damping of contact, N s/m (Warp's example).
const DAMPING: f64 = 10.0;
/// Seconds per step (Warp's example).
pub const DT: f64 = 1.0 / 480.0;
/// Seconds of an episode (the paper).
pub const HORIZON: f64 = 2.0;
/// Radius of the ball, m (ours).
const RADIUS: f64 = 0.1;
/// Mass of the ball, kg (ours).
const MASS: f64 = 1.0;
/// Where the ball starts, m (Warp's example, z up).
const FROM: [f64; 3] = [-0.5, 0.0, 1.0];
/// Where it is to be, m (Warp's example, z up).
const TARGET: [f64; 3] = [-2.0, 0.0, 1.5];
/// Gravity, m/s² (Warp's example).
pub const GRAVITY: f64 = 9.81;

/// One semi-implicit Euler step of position and velocity.
#[differentiable]
#[inline(always)]
fn bounce_step<T: Real>(x: Vec3<T>, v: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    // c₋ = min(z − r, 0)
    let depth = x.z - T::lit(RADIUS);
    let touches = constant(depth.lt(T::zero()));
    // f = ke c₋ + kd min(v·n, 0)
    let approach = v.z.min(T::zero());
    let form = constant(ContactDamping::Plain);
    let force = normal_force(-depth, approach, T::lit(STIFFNESS), T::lit(DAMPING), form);
    let push = select(touches, force, T::zero());
    let vz = v.z + (push * T::lit(1.0 / MASS) - T::lit(GRAVITY)) * T::lit(DT);
    let moved = Vec3::new(v.x, v.y, vz);
    (x + moved * T::lit(DT), moved)
}

/// The ball above the ground.
#[derive(Clone, Debug)]
pub struct Ball {
    layout: Layout,
}

impl Described for Ball {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Visual for Ball {
    fn seconds(&self) -> f64 {
        DT
    }
    fn page(&self, _inputs: &Inputs<f64>, _dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        let place = |state: &[f64]| [state[0], state[1], state[2]];
        Some(ball_page("bounce", RADIUS, Vec::new(), rows, place))
    }
}

impl<T: Real> System<T> for Ball {
    type Workspace = ();
    fn workspace(&self) {}

    fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { state, .. } = at;
        let (x, v) = bounce_step(Vec3::read(state), Vec3::read(&state[3..]));
        x.write(next);
        v.write(&mut next[3..]);
        Ok(Info::one())
    }

    fn step_vjp(
        &self,
        _ws: &mut (),
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let Point { state, .. } = at;
        let Bars { state: state_bar, .. } = bars;
        let bars = (Vec3::read(next_bar), Vec3::read(&next_bar[3..]));
        let (x_bar, v_bar) = bounce_step_vjp(Vec3::read(state), Vec3::read(&state[3..]), bars);
        x_bar.add_to(state_bar);
        v_bar.add_to(&mut state_bar[3..]);
        Ok(())
    }
}

/// Three components of the initial velocity; the vertical one points down.
pub fn bounce() -> Built {
    Ok(Box::new(task()?))
}

fn task() -> Result<RolloutObjective<Ball, PointAt<3>, LinearMap>, pullback_core::ConfigError> {
    let layout = Layout::builder()
        .state(Slice::new("position", 3, "m").default(&FROM))
        .state(Slice::new("velocity", 3, "m/s"))
        .build()?;
    let steps = (HORIZON / DT).round() as usize;
    let rollout = Rollout::new(Ball { layout }, steps, Schedule::StoreAll)?;
    let variables = vec![
        Variable::new("velocity.x", "m/s", (-10.0, 10.0), 2.0),
        Variable::new("velocity.y", "m/s", (-10.0, 10.0), 1.0),
        Variable::new("velocity.z", "m/s", (-10.0, 0.0), -5.0),
    ];
    let state = &rollout.system.layout().state;
    let velocity = state.slice("velocity")?.range.clone();
    let map = LinearMap::direct(variables, velocity.map(InputEntry::State));
    let loss = PointAt { entries: state.slice("position")?.range.clone(), target: TARGET };
    Ok(RolloutObjective::new(rollout, loss, map).with_floor(0.0))
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::{Options, Verdict};
    use pullback_optim::Objective;

    use super::super::check;
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_steps_taken() {
        let task = task().unwrap();
        check::well_posed(&task, 3);
        let options = Options { difference_tolerance: 1e-5, ..Options::default() };
        // Differences step over a jump of the vertical velocity at some points; where they do not, all three
        // ways agree.
        let mut smooth = 0;
        for seed in 0..20 {
            let report = check::every_entry(&task, &check::random_point(&task, seed), &options);
            report.assert_passed();
            smooth += usize::from(report.entries.iter().all(|e| e.verdict == Verdict::Ok));
        }
        assert!(smooth >= 5, "{smooth} of 20");
    }

    #[test]
    fn every_throw_bounces_at_least_once() {
        let task = task().unwrap();
        for seed in 0..20 {
            let states = task.states(&check::random_point(&task, seed)).unwrap();
            let bounces = states.windows(2).filter(|w| w[0][5] < 0.0 && w[1][5] > 0.0).count();
            assert!(bounces >= 1, "seed {seed}");
        }
    }

    #[test]
    fn sideways_the_motion_is_free_and_up_and_down_the_loss_jumps() {
        let task = task().unwrap();
        // Without friction x_N = x₀ + T vₓ.
        let x = [1.3, -0.8, -4.0];
        let end = task.states(&x).unwrap().pop().unwrap();
        assert!((end[0] - (FROM[0] + HORIZON * x[0])).abs() < 1e-9);
        // Between neighboring vertical speeds the slope explains most changes; some are jumps.
        let (mut jumps, h) = (0, 1e-4);
        for i in 0..2000 {
            let at = |dz: f64| task.value(&[1.3, -0.8, -9.0 + i as f64 * 4e-3 + dz]).unwrap();
            let mut grad = [0.0; 3];
            task.value_grad(&[1.3, -0.8, -9.0 + i as f64 * 4e-3], &mut grad).unwrap();
            jumps += usize::from(((at(h) - at(0.0)) - h * grad[2]).abs() > 1e-3);
        }
        assert!((1..500).contains(&jumps), "{jumps}");
    }
}
