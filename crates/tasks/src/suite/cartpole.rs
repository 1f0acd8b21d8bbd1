//! `cartpole` and `cartpole-3link`: bring the tip of a pole on a cart to a target (BO-Leap A.1.1).
//!
//! Links of 1 m hang from a cart on a rail along x; z is up. The one-link task pushes the cart, one force per
//! step, and the pole has to be swung up. In the three-link task the cart follows a velocity and each joint
//! has a motor: 4 controls for each of 100 steps, 400 variables. (The paper's appendix says 200 steps, its
//! text 100; only 100 × 4 gives its 400.)
//!
//! The cart's velocity u is driven by a strong servo, f = k (u − v), whose damping is stepped implicitly, so
//! that it is stiff and stable at once. Loss: distance of the tip from the target at the end. Links do not
//! touch anything: the loss is smooth.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Loss, Sample};
use pullback_core::{ConfigError, Rollout, Schedule};
use pullback_math::{Flat, Quat, Real, SymMat3, Vec3};
use pullback_physics::articulated::{Actuator, Articulated, Body, Gain, Joint, JointKind, Model};

use crate::objectives::Built;
use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_optim::RolloutObjective;

/// Control steps of an episode (the paper).
pub const STEPS: usize = 100;
/// Seconds per control step (ours).
pub const DT: f64 = 0.02;
/// Inner steps per control step (ours).
pub const SUBSTEPS: usize = 4;
/// Length of a link, m (the paper).
const LENGTH: f64 = 1.0;
/// Mass of the cart, kg (ours).
const CART: f64 = 1.0;
/// Masses of the links from the cart on, kg (ours; the paper: farther ones are lighter).
const LINKS: [f64; 3] = [0.5, 0.3, 0.15];
/// Damping of the joint of one link, N m s/rad (ours).
const DAMPING_1: f64 = 0.05;
/// Damping of the joints of three links, N m s/rad (ours): a triple pendulum with less of it is chaotic
/// within an episode, where the paper's landscape is very smooth.
const DAMPING_3: f64 = 0.2;
/// Gain of the cart's velocity servo, N s/m (ours).
const SERVO: f64 = 500.0;
/// Largest force on the cart of the one-link task, N (ours).
const FORCE: f64 = 20.0;
/// Largest velocity of the cart of the three-link task, m/s (ours).
const SPEED: f64 = 2.0;
/// Largest torque of a joint, N m (ours).
const TORQUE: f64 = 5.0;
/// Where the tip is to be, m from the start of the cart's pivot: one link (ours).
const TARGET_1: [f64; 2] = [0.5, 0.9];
/// Three links (ours).
const TARGET_3: [f64; 2] = [1.0, 2.0];

type Task<const N: usize> = RolloutObjective<Integrated<Articulated>, TipAt<N>, LinearMap>;

/// One link, one force per step: 100 variables.
pub fn cartpole() -> Built {
    Ok(Box::new(one_link()?))
}

/// Three links, cart velocity and three torques per step: 400 variables.
pub(crate) fn cartpole_3link() -> Built {
    Ok(Box::new(three_links()?))
}

fn one_link() -> Result<Task<1>, ConfigError> {
    let mut model = cart_with_links::<1>(DAMPING_1);
    model.actuators.push(motor("cart", 0, 1.0));
    task(model, TARGET_1, vec![("cart.force", "N", FORCE)])
}

fn three_links() -> Result<Task<3>, ConfigError> {
    let mut model = cart_with_links::<3>(DAMPING_3);
    // f = k u − k v: the second term is the slide's damping.
    model.joints[0].damping = SERVO;
    model.actuators.push(motor("cart", 0, SERVO));
    for k in 1..=3 {
        model.actuators.push(motor(&format!("torque_{k}"), k, 1.0));
    }
    let torques = ["joint_1.torque", "joint_2.torque", "joint_3.torque"].map(|name| (name, "N m", TORQUE));
    task(model, TARGET_3, [("cart.velocity", "m/s", SPEED)].into_iter().chain(torques).collect())
}

/// The task whose variables are all controls, within ± the bounds given, step after step.
fn task<const N: usize>(
    model: Model,
    target: [f64; 2],
    controls: Vec<(&'static str, &'static str, f64)>,
) -> Result<Task<N>, ConfigError> {
    let inner = DT / SUBSTEPS as f64;
    let robot = Articulated::new(model.compile()?)?.with_implicit_damping(inner);
    let system = Integrated::new(robot, inner, Integrator::fixed(Method::SemiImplicitEuler))?;
    let rollout = Rollout::new(system, STEPS, Schedule::StoreAll)?.with_substeps(SUBSTEPS)?;
    let variable = |step: usize, (name, unit, limit): &(&str, &'static str, f64)| {
        Variable::new(format!("{name}[step {step}]"), *unit, (-limit, *limit), 0.0)
    };
    let variables: Vec<_> =
        (0..STEPS).flat_map(|step| controls.iter().map(move |c| variable(step, c))).collect();
    let entries = (0..variables.len()).map(InputEntry::Control);
    Ok(RolloutObjective::new(rollout, TipAt { target }, LinearMap::direct(variables, entries))
        .with_floor(0.0))
}

/// A cart on a rail along x with N links that hang from it, each a thin rod.
fn cart_with_links<const N: usize>(damping: f64) -> Model {
    let mut model = Model::new("cartpole");
    let body = |name: String, parent, mass: f64, below: f64, length: f64| {
        let across = mass * length * length / 12.0;
        Body {
            name,
            parent,
            position: Vec3::new(0.0, 0.0, -below),
            orientation: Quat::identity(),
            mass,
            com: Vec3::new(0.0, 0.0, -0.5 * length),
            inertia: SymMat3::diagonal(Vec3::new(across, across, 1e-4 * mass)),
            ..Body::default()
        }
    };
    let joint =
        |name: String, body, kind, axis, damping| Joint { damping, ..Joint::new(name, body, kind, axis) };
    model.bodies.push(body("cart".into(), 0, CART, 0.0, 0.0));
    model.joints.push(joint("slide".into(), 1, JointKind::Slide, Vec3::new(1.0, 0.0, 0.0), 0.0));
    for (k, mass) in LINKS.into_iter().enumerate().take(N) {
        let below = if k == 0 { 0.0 } else { LENGTH };
        model.bodies.push(body(format!("link_{}", k + 1), k + 1, mass, below, LENGTH));
        // About −y, so that a positive angle swings the tip towards +x.
        let axis = Vec3::new(0.0, -1.0, 0.0);
        model.joints.push(joint(format!("joint_{}", k + 1), k + 2, JointKind::Hinge, axis, damping));
    }
    model
}

fn motor(name: &str, joint: usize, gain: f64) -> Actuator {
    Actuator { gain: Gain::Fixed(gain), ..Actuator::motor(name, joint, 1.0) }
}

/// L = distance of the tip of N links from a target (x, z) at the end; the state starts with the cart's place
/// and N angles.
#[derive(Clone, Copy, Debug)]
struct TipAt<const N: usize> {
    target: [f64; 2],
}

impl<const N: usize> TipAt<N> {
    /// tip = (x_cart + Σ l sin φₖ, −Σ l cos φₖ), φₖ = θ₁ + … + θₖ; with the sines and cosines of all φ.
    fn error<T: Real>(&self, state: &[T]) -> (T, T, [(T, T); N]) {
        let (cart, angles) = <(T, [T; N])>::read(state);
        let (mut x, mut z, mut angle) = (cart - T::lit(self.target[0]), T::lit(-self.target[1]), T::zero());
        let mut turns = [(T::zero(), T::zero()); N];
        for (turn, joint) in turns.iter_mut().zip(angles) {
            angle += joint;
            *turn = angle.sin_cos();
            x += turn.0 * T::lit(LENGTH);
            z -= turn.1 * T::lit(LENGTH);
        }
        (x, z, turns)
    }
}

impl<T: Real, const N: usize> Loss<T> for TipAt<N> {
    fn value(&self, at: Sample<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let (x, z, _) = self.error(at.state);
        (x * x + z * z).sqrt()
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let (x, z, turns) = self.error(at.state);
            let squared_bar = (x * x + z * z).sqrt_vjp(T::lit(2.0));
            // θ̄ₖ = Σ of φ̄ⱼ over j ≥ k
            let (mut bar, mut angle_bars) = (T::zero(), [T::zero(); N]);
            for (angle_bar, (sin, cos)) in angle_bars.iter_mut().zip(turns).rev() {
                bar += (x * cos + z * sin) * squared_bar * T::lit(LENGTH);
                *angle_bar = bar;
            }
            (x * squared_bar, angle_bars).add_to(state_bar);
        }
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_core::{Described, VectorField};
    use pullback_optim::{BfgsConfig, Objective, bfgs};

    use super::super::check;
    use super::*;

    #[test]
    fn three_links_have_400_exact_derivatives() {
        let task = three_links().unwrap();
        check::well_posed(&task, 400);
        let x: Vec<f64> = check::random_point(&task, 3).iter().map(|x| 0.3 * x).collect();
        // Round-off over 400 inner steps of a chaotic chain.
        let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        check::smooth(&check::along(&task, &x, 6, 0.05, &options));
        check::smooth(&check::along(&task, &task.start(), 2, 0.05, &options));
    }

    #[test]
    fn one_link_has_100_exact_derivatives() {
        let task = one_link().unwrap();
        check::well_posed(&task, 100);
        let options = Options { forward_tolerance: 1e-9, difference_tolerance: 1e-5, ..Options::default() };
        check::smooth(&check::every_entry(&task, &check::random_point(&task, 1), &options));
    }

    #[test]
    fn the_tip_is_where_the_kinematics_say() {
        let robot = Articulated::new(cart_with_links::<3>(DAMPING_3).compile().unwrap()).unwrap();
        let state = [0.3, 0.5, -1.1, 2.0, 0.0, 0.0, 0.0, 0.0];
        let mut ws = VectorField::<f64>::workspace(&robot);
        ws.kinematics.update(
            robot.model(),
            robot.tree(),
            robot.index(),
            &robot.layout().params.defaults(),
            (&state, &[]),
        );
        let tip = ws.kinematics.world_from_body[4].point(Vec3::new(0.0, 0.0, -LENGTH));
        let (x, z, _) = TipAt::<3> { target: [0.0, 0.0] }.error(&state);
        assert!((tip.x - x).abs() < 1e-12 && (tip.z - z).abs() < 1e-12 && tip.y == 0.0, "{tip:?} {x} {z}");
    }

    #[test]
    fn the_cart_follows_its_velocity() {
        let task = three_links().unwrap();
        let x: Vec<f64> = (0..400).map(|i| if i % 4 == 0 { 0.5 } else { 0.0 }).collect();
        let end = task.states(&x).unwrap().pop().unwrap();
        assert!((end[0] - 0.5 * DT * STEPS as f64).abs() < 0.02, "{end:?}");
    }

    #[test]
    fn gradients_lead_three_links_to_the_target() {
        let task = three_links().unwrap();
        let config = BfgsConfig { max_steps: 60, first_step: 0.5, ..BfgsConfig::default() };
        let way = bfgs(&task, &task.start(), &config).unwrap();
        assert!(
            way.path[0].value > 3.0 && way.best().value < 0.1,
            "{} to {}",
            way.path[0].value,
            way.best().value
        );
    }
}
