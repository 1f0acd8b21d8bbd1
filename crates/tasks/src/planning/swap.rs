//! `in-hand-swap` (DiffMJX, Fig. 10): two balls lie in a hand of 39 muscles, and each is to come where the other lies.
//!
//! The cost is the distance of each ball from its goal, a point that moves with the hand. Nothing else is told:
//! neither which finger to use nor how.
//!
//! The hand is our own, `models/muscle_hand.xml`, or that of a file: MyoSuite's `hand/myohand_baoding.xml`, which
//! `cargo xtask assets` fetches, begins palm up with open fingers, as its environment has it.

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_math::Vec3;
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::losses::PointTarget;
use pullback_physics::articulated::{Articulated, Chain, Model, Softness, candidate_pairs};

use super::{BuiltTask, Robot, RobotTask, TaskOptions, distance, model_of, set_joint};
use crate::files;
use crate::scenes::SceneOptions;

const OWN: &str = pullback_models::MUSCLE_HAND;
/// Balls, and sites on the body whose frame the goals are fixed in; the first name that a model has counts.
const BALLS: [&str; 2] = ["ball1", "ball2"];
const FRAMES: [&str; 2] = ["target1", "target1_site"];
/// Forearm turned palm up, rad: how MyoSuite starts its hand, whose file has no keyframe.
const PALM_UP: (&str, f64) = ("pro_sup", -1.57);
/// Seconds per step.
const DT: f64 = 0.0025;
/// Steps after which a ball lies where it was put down.
const LAID: usize = 40;
/// Distance from which contacts act on the way back, m. Bones of the fingers are centimeters apart; from 10 cm on, as
/// many of them push a ball as there are, and the gradient of MyoSuite's hand no longer leads down.
pub const FROM: f64 = 0.02;
/// A ball is at its goal within this, m; the two goals are more than four centimeters apart.
const WITHIN: f64 = 0.015;

/// Contacts of the paper's hands: `solimp` begins at 0.1 where contacts act from distance, at 0 otherwise.
pub(super) fn softness(distant: bool) -> Softness {
    let touch = if distant { 0.1 } else { 0.0 };
    Softness { solref: [0.02, 1.0], solimp: [touch, 0.95, 0.001, 0.5, 2.0] }
}

/// Contacts from distance by the paper's spline, `solimp-CFD` (0, 0.1, width, 1, 4).
pub(super) fn from_distance(width: f64, pairs: Vec<(usize, usize)>) -> ContactsFromDistance {
    ContactsFromDistance {
        solimp: [0.0, 0.1, width, 1.0, 4.0],
        pairs: Some(pairs),
        ..ContactsFromDistance::new(width)
    }
}

/// The task of our own hand, or of that of a file.
pub fn task(options: &TaskOptions) -> BuiltTask {
    let mut model = model_of(options, OWN)?;
    let width = options.from_distance.unwrap_or(FROM);
    model.options.timestep = DT;
    for geom in &mut model.geoms {
        geom.contact.softness = softness(width > 0.0);
    }
    let balls = [geom(&model, BALLS[0])?, geom(&model, BALLS[1])?];
    let pairs = pairs_of_balls(&model, balls);
    let mut robot = Articulated::new(model)?;
    if width > 0.0 {
        robot = robot.with_contacts_from_distance(from_distance(width, pairs))?;
    }
    let robot = files::system(robot, SceneOptions::default())?;

    let start = start(&robot)?;
    let goals = goals(&robot, &start)?;
    let [first, second] = [Chain::named(robot.field(), BALLS[0])?, Chain::named(robot.field(), BALLS[1])?];
    let pairs = [(first, goals[0].clone()), (second, goals[1].clone())];
    let measured = pairs.clone();
    let success = Success {
        what: "distance of the farther ball from its goal".into(),
        unit: "m",
        measure: Box::new(move |state| {
            let miss = |(ball, goal): &(Chain, Chain)| {
                let (a, b) = (ball.position(state), goal.position(state));
                distance([a.x, a.y, a.z], [b.x, b.y, b.z])
            };
            measured.iter().map(miss).fold(0.0, f64::max)
        }),
        limit: WITHIN,
        hold: 40,
    };
    // The paper's: 256 steps ahead, 16 applied, every step has a control of its own. 2 s in all.
    let planning =
        Planning { horizon: 256, apply: 16, spacing: 1, interpolation: Interpolation::Linear, steps: 800 };
    let name = format!("in-hand-swap{}", options.label());
    let mut task = RobotTask::new(name, robot, None, 1, planning, success);
    (task.0.start, task.0.nominal) = start;
    for (ball, goal) in pairs {
        task =
            task.point(PointTarget::new(ball, Norm::Smooth(0.002), Weights::always(1.0)).relative_to(goal));
    }
    Ok(task)
}

fn geom(model: &Model, name: &str) -> Result<usize, ConfigError> {
    model.geoms.iter().position(|geom| geom.name == name).ok_or_else(|| {
        ConfigError::new(format!("the model `{}` has no geom `{name}`, as in-hand-swap needs it", model.name))
    })
}

/// Balls with each other and with all of the hand that they can touch.
fn pairs_of_balls(model: &Model, balls: [usize; 2]) -> Vec<(usize, usize)> {
    let in_hand = |geom: usize| model.geoms[geom].body != 0;
    let with_ball = |(a, b): &(usize, usize)| balls.contains(a) || balls.contains(b);
    candidate_pairs(model).into_iter().filter(|p| with_ball(p) && in_hand(p.0) && in_hand(p.1)).collect()
}

/// State and control of the first keyframe; without one, the pose in the file with the palm turned up.
fn start(robot: &Robot) -> Result<(Vec<f64>, Vec<f64>), ConfigError> {
    let field = robot.field();
    if let Some(key) = field.model().keyframes.first() {
        return Ok((key.state(), key.controls()));
    }
    let mut state = robot.layout().state.defaults();
    set_joint(robot, &mut state, PALM_UP.0, PALM_UP.1)?;
    Ok((state, robot.layout().control.defaults()))
}

/// Where each ball is to be, fixed in the hand: where the other lies shortly after the start.
fn goals(robot: &Robot, (start, control): &(Vec<f64>, Vec<f64>)) -> Result<[Chain; 2], ConfigError> {
    let field = robot.field();
    let site = field.model().sites.iter().find(|site| FRAMES.contains(&&site.name[..])).ok_or_else(|| {
        let why = "its body is the frame of the goals";
        ConfigError::new(format!("the model `{}` has no site `target1`: {why}", field.model().name))
    })?;
    let rollout = Rollout::new(robot, LAID, Schedule::Revolve { slots: 1 })?;
    let params = robot.layout().params.defaults();
    let inputs = Inputs { state: start.clone(), controls: control.repeat(LAID), params };
    let mut state = start.clone();
    let ran =
        rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| state.copy_from_slice(at.state));
    ran.map_err(|e| ConfigError::new(e.to_string()))?;
    let hand = site.body;
    let world_from_hand = Chain::new(field, hand, Vec3::zero())?.world_from_body(&state);
    let in_hand = |ball: &str| -> Result<Chain, ConfigError> {
        let place = Chain::named(field, ball)?.position(&state);
        Chain::new(field, hand, world_from_hand.rotation.transpose_mul(place - world_from_hand.translation))
    };
    Ok([in_hand(BALLS[1])?, in_hand(BALLS[0])?])
}
