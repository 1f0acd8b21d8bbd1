//! `bionic-tennis` (DiffMJX, Figs. 1 and 10): a ball that would fly past is hit back with a racket and caught with a hand.
//!
//! The distance of the ball from its goal is all that is told. As the task begins, the ball misses racket and hand, so
//! there is no gradient but for contacts from distance.
//!
//! *With MyoSuite's files* (`--model DIR/arm/myoarm.xml`, fetched by `cargo xtask assets`): an arm of 63 muscles on the
//! right, a prosthetic arm of 17 servos with the racket on the left. The racket weighs nothing. Places and speeds of
//! the ball, the goal and the start are ours: the paper does not give them.
//!
//! *Without*: `models/muscle_arm.xml`, nine muscles with a paddle that hits the ball to a place in the air.

use std::path::Path;
use std::sync::Arc;

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_core::{ConfigError, Described};
use pullback_math::{Quat, Vec3};
use pullback_physics::articulated::losses::PointTarget;
use pullback_physics::articulated::{Articulated, Chain, Geom, Model, Shape, Softness, candidate_pairs};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::swap::{from_distance, softness};
use super::{BuiltTask, Robot, RobotTask, TaskOptions, distance, model_of, set_joint};
use crate::files;
use crate::scenes::SceneOptions;

const OWN: &str = pullback_models::MUSCLE_ARM;
/// Seconds per step.
const DT: f64 = 0.0025;
/// Distance from which contacts act on the way back, m.
const FROM: f64 = 0.3;
/// Racket: stiff and elastic, as the paper has it.
const RACKET: Softness = Softness { solref: [-100_000.0, 0.0], solimp: [0.9, 0.95, 0.001, 0.5, 2.0] };

/// What differs between the two scenes.
struct Scene {
    model: Model,
    /// Joints at the start, rad.
    pose: &'static [(&'static str, f64)],
    /// Place and velocity of the ball at the start, m and m/s.
    ball: ([f64; 3], [f64; 3]),
    /// Where it is to come, m.
    goal: [f64; 3],
    /// Control of muscles at the start.
    tone: f64,
    /// Geoms that the ball is meant to touch.
    touched: fn(&Model, &Geom) -> bool,
    /// Distance that counts as there, m, and for how many steps at the end, 0 for once.
    within: (f64, usize),
    /// Control steps of the episode.
    steps: usize,
}

/// Arm, prosthesis and ball; paths are relative to the folder of `myoarm.xml`.
const BIONIC: &str = "
<mujoco model='bionic tennis'>
  <include file='assets/myoarm_assets.xml'/>
  <include file='../MPL_sim/assets/left_arm_assets.xml'/>
  <include file='../MPL_sim/assets/handL_assets.xml'/>
  <compiler angle='radian' autolimits='true' balanceinertia='true' boundmass='0.001' boundinertia='0.0001'
            meshdir='../myo_sim' texturedir='../myo_sim'/>
  <worldbody>
    <body name='full_body' pos='-0.025 0.1 1.4'><include file='assets/myoarm_body.xml'/></body>
    <include file='../MPL_sim/assets/left_arm_chain_myochallenge.xml'/>
    <body name='ball'>
      <freejoint name='ball'/>
      <geom name='ball' type='sphere' size='0.03' mass='0.02' contype='1' conaffinity='1' rgba='0.9 0.9 0.2 1'/>
    </body>
  </worldbody>
</mujoco>";
/// What all names of the prosthesis begin with, and the body that holds the racket.
const PROSTHESIS: &str = "prosthesis/";
const HOLDS_RACKET: &str = "prosthesis/palm";
/// Center of the racket at the start in the world, m; its axis is along x.
const RACKET_CENTER: [f64; 3] = [0.21, -0.38, 1.25];

fn bionic(file: &str) -> Result<Scene, ConfigError> {
    let folder = Path::new(file).parent().unwrap_or(Path::new("."));
    let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() };
    let mut model = parse_mjcf(BIONIC, Some(folder), &options).map_err(|e| {
        ConfigError::new(format!(
            "{e}; --model takes the file arm/myoarm.xml that `cargo xtask assets` fetches"
        ))
    })?;
    // Of the prosthesis the racket alone is touched.
    for i in 0..model.geoms.len() {
        if model.bodies[model.geoms[i].body].name.starts_with(PROSTHESIS) {
            (model.geoms[i].collision_bits, model.geoms[i].collides_with) = (0, 0);
        }
    }
    Ok(Scene {
        model,
        pose: &[
            ("elbow_flexion", 1.5),
            ("pro_sup", -1.57),
            ("prosthesis/Lshoulder_fe", 0.5),
            ("prosthesis/Lshoulder_abad", -0.24),
            ("prosthesis/Lhumeral_rot", 0.2),
            ("prosthesis/Lelbow", 1.4),
        ],
        ball: ([-0.05, -0.36, 1.2], [1.0, 0.0, 2.0]),
        goal: [-0.2, -0.27, 1.14],
        tone: 0.05,
        touched: |model, geom| {
            geom.name == "racket" || {
                let name = &model.bodies[geom.body].name;
                ["firstmc", "secondmc", "thirdmc", "fourthmc", "fifthmc"].contains(&&name[..])
                    || ["thumb", "proxph", "midph", "distph"].iter().any(|part| name.contains(part))
            }
        },
        within: (0.05, 40),
        steps: 480,
    })
}

fn own() -> Result<Scene, ConfigError> {
    Ok(Scene {
        model: model_of(&TaskOptions::default(), OWN)?,
        pose: &[],
        ball: ([0.75, 0.08, 1.15], [-1.2, 0.0, 1.6]),
        goal: [0.5, -0.05, 1.38],
        tone: 0.05,
        touched: |_, geom| geom.name == "paddle",
        within: (0.05, 0),
        steps: 400,
    })
}

/// The task with MyoSuite's arm, or with our own.
pub fn task(options: &TaskOptions) -> BuiltTask {
    let scene = match &options.model {
        Some(file) => bionic(file)?,
        None => own()?,
    };
    let Scene { mut model, ball: (place, speed), goal, within: (limit, hold), .. } = scene;
    let width = options.from_distance.unwrap_or(FROM);
    model.options.timestep = DT;
    for geom in &mut model.geoms {
        geom.contact.softness = if geom.name == "paddle" { RACKET } else { softness(width > 0.0) };
        geom.contact.priority = i32::from(geom.name == "paddle");
    }
    if options.model.is_some() {
        let racket = racket(&model, scene.pose)?;
        model.geoms.push(racket);
    }
    let ball = model.geoms.iter().position(|geom| geom.name == "ball").unwrap_or(0);
    let meant = |geom: usize| (scene.touched)(&model, &model.geoms[geom]);
    let with_ball = |(a, b): &(usize, usize)| (*a == ball && meant(*b)) || (*b == ball && meant(*a));
    let pairs = candidate_pairs(&model).into_iter().filter(with_ball).collect();
    let mut robot = Articulated::new(model)?;
    if width > 0.0 {
        robot = robot.with_contacts_from_distance(from_distance(width, pairs))?;
    }
    let robot = files::system(robot, SceneOptions::default())?;
    let (mut start, nominal) = start(&robot, scene.pose, scene.tone)?;
    put_ball(&robot, &mut start, (place, speed))?;

    let point = Chain::named(robot.field(), "ball")?;
    let seen = point.clone();
    let success = Success {
        what: "distance of the ball from its goal".into(),
        unit: "m",
        measure: Box::new(move |state| {
            let p = seen.position(state);
            distance([p.x, p.y, p.z], goal)
        }),
        limit,
        hold,
    };
    let planning = Planning {
        horizon: 256,
        apply: 16,
        spacing: 1,
        interpolation: Interpolation::Linear,
        steps: scene.steps,
    };
    let name = format!("bionic-tennis{}", options.label());
    let mut task = RobotTask::new(name, robot, None, 1, planning, success);
    (task.0.start, task.0.nominal) = (start, nominal);
    Ok(task.point(PointTarget::new(point, Norm::Smooth(0.01), Weights::always(1.0)).at(goal)))
}

/// A disk fixed to the prosthesis so that it stands upright at the start.
fn racket(model: &Model, pose: &[(&str, f64)]) -> Result<Geom, ConfigError> {
    let robot = files::system(Articulated::new(model.clone())?, SceneOptions::default())?;
    let (state, _) = start(&robot, pose, 0.0)?;
    let holds = Chain::named(robot.field(), HOLDS_RACKET)?;
    let world_from_palm = holds.world_from_body(&state);
    let body = model.bodies.iter().position(|body| body.name == HOLDS_RACKET).unwrap_or(0);
    // The axis of a cylinder is z; turned about y it is x.
    let turned = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), std::f64::consts::FRAC_PI_2);
    let mut geom = Geom::new("racket", body, Shape::Cylinder { radius: 0.1, half_length: 0.008 });
    let [x, y, z] = RACKET_CENTER;
    geom.position = world_from_palm.inverse_point(Vec3::new(x, y, z));
    geom.orientation = Quat::from_mat3(world_from_palm.rotation).conjugate() * turned;
    geom.contact.softness = RACKET;
    geom.contact.priority = 1;
    geom.rgba = [0.8, 0.2, 0.15, 1.0];
    Ok(geom)
}

/// State and control: joints as told, servos that hold theirs, muscles at the tone.
fn start(robot: &Robot, pose: &[(&str, f64)], tone: f64) -> Result<(Vec<f64>, Vec<f64>), ConfigError> {
    let (layout, model) = (robot.layout(), robot.field().model());
    let mut state = model.keyframes.first().map_or_else(|| layout.state.defaults(), |key| key.state());
    for (joint, value) in pose {
        set_joint(robot, &mut state, joint, *value)?;
    }
    let first = robot.field().coordinates().nq + robot.field().coordinates().nv;
    state[first..].fill(tone);
    let mut control = layout.control.defaults();
    for (u, actuator) in control.iter_mut().zip(&model.actuators) {
        let servo = pose.iter().find(|(joint, _)| *joint == actuator.name);
        *u = if actuator.has_activation() { tone } else { servo.map_or(*u, |(_, value)| *value) };
    }
    Ok((state, control))
}

/// Puts the ball somewhere, with a velocity.
fn put_ball(
    robot: &Robot,
    state: &mut [f64],
    (place, speed): ([f64; 3], [f64; 3]),
) -> Result<(), ConfigError> {
    let field = robot.field();
    let joint = field.model().joints.iter().position(|joint| joint.name == "ball");
    let (q, v) = joint
        .and_then(|joint| field.coordinates().joints[joint])
        .ok_or_else(|| ConfigError::new("bionic-tennis needs a free joint called `ball`"))?;
    let v = field.coordinates().nq + v;
    state[q..q + 3].copy_from_slice(&place);
    state[v..v + 3].copy_from_slice(&speed);
    Ok(())
}
