//! Robots from files as scenes: MJCF and URDF.

use std::path::Path;
use std::sync::Arc;

use pullback_core::integrator::Integrated;
use pullback_core::random::Random;
use pullback_core::{ConfigError, Described, Erased, VectorField};
use pullback_physics::articulated::contact::ContactsFromDistance;
use pullback_physics::articulated::{Articulated, ContactModel, JointKind, Model};
use pullback_scene::robot::{self, Stepping};
pub use pullback_scene::robot::{
    FileOptions, Package, check_urdf_options, find_keyframe, is_file_name, keyframe_names, read_model,
    read_model_with, set_contact_model,
};

use crate::depict::depict_robot;
use crate::recording::{Recorder, RobotStage};
use crate::scene::{About, BuiltIn, RobotPart};
use crate::scenes::{BuiltScene, HORIZON, SceneOptions};
use crate::stability::{StepLimitOf, robot_energy};

/// Seconds that a robot falls and settles before gradients of its motion are checked.
const SETTLING: f64 = 0.5;

/// A robot in motion, stepped as its model asks unless `options` say otherwise.
pub fn system(robot: Articulated, options: SceneOptions) -> Result<Integrated<Articulated>, ConfigError> {
    robot::system(robot, Stepping { dt: options.dt, integrator: options.integrator })
}

/// The robot of a file as a scene, with every parameter.
pub fn build(file: &str, options: SceneOptions) -> BuiltScene {
    robot_scene(stem(file), read_model_with(file, options.file.clone())?, options)
}

/// The name of a file without folders and ending.
pub fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or(file.into(), |s| s.to_string_lossy().into_owned())
}

/// A robot as a scene, with every parameter.
pub fn robot_scene(name: String, model: Model, options: SceneOptions) -> BuiltScene {
    robot_in_motion(name, Arc::new(robot(model, &options)?), &options)
}

/// A robot with every parameter, stepped as its model asks unless `options` say otherwise.
pub fn robot(mut model: Model, options: &SceneOptions) -> Result<Integrated<Articulated>, ConfigError> {
    let SceneOptions { collision_softness, from_distance, pushes, .. } = *options;
    model.options.collision_softness = collision_softness;
    let mut robot = Articulated::new(model)?;
    if from_distance != 0.0 {
        robot = robot.with_contacts_from_distance(ContactsFromDistance::new(from_distance))?;
    }
    robot = robot.with_kinematic_params()?;
    if pushes {
        let bodies: Vec<String> = robot.model().bodies.iter().skip(1).map(|b| b.name.clone()).collect();
        robot = robot.with_pushes(&bodies.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    system(robot, options.clone())
}

/// The scene of a robot that [`robot()`] has made with the same options.
pub fn robot_in_motion(
    name: String,
    system: Arc<Integrated<Articulated>>,
    options: &SceneOptions,
) -> BuiltScene {
    // Contacts from distance are a surrogate on the way back: stability is that of the motion itself.
    let plain = match options.from_distance != 0.0 {
        true => {
            let options = SceneOptions { from_distance: 0.0, ..options.clone() };
            self::robot(system.field().model().clone(), &options)?.field().clone()
        }
        false => system.field().clone(),
    };
    let step_limit = StepLimitOf::of_robot(plain, options);
    let (robot, dt) = (system.field().clone(), system.dt());
    let notes = robot.model().notes.clone();
    let probes = (0..2).map(|seed| (format!("at random state {seed}"), random_state(&robot, seed))).collect();
    let summary =
        format!("{} bodies, {} degrees of freedom", robot.model().bodies.len() - 1, robot.coordinates().nv);
    // Under the penalty model joints that follow others have no sensors.
    let sensing = robot.sensing().ok().filter(|sensing| !sensing.is_empty());
    let (shown, seen, title) = (robot.clone(), robot.clone(), robot.model().name.clone());
    // Not from the pose in the file itself: a robot that just touches the ground at rest stands on a kink.
    let (rollout_from, settle) = if robot.model().options.contact_model != ContactModel::Penalty {
        let start = match robot.model().keyframes.first() {
            Some(key) => key.state(),
            None => robot.layout().state.defaults(),
        };
        (("the ground".to_owned(), start), (SETTLING / dt) as usize)
    } else {
        (("random state 2".to_owned(), random_state(&robot, 2)), 0)
    };
    Ok(Box::new(BuiltIn {
        about: About { name, summary, horizon: HORIZON, notes },
        rollout_from,
        keyframes: robot.model().keyframes.clone(),
        recorder: Some(Recorder::new(title, dt, move || RobotStage::new(shown.clone()))),
        depiction: Some(Box::new(move || depict_robot(&seen))),
        sensing,
        energy: robot_energy(&robot),
        robot: Some(RobotPart::whole(robot)),
        step_limit,
        settle,
        small: None,
        system: Erased::from(system),
        dt,
        substeps: 1,
        probes,
        // Contacts from distance are a surrogate that no difference shows.
        difference_tolerance: if options.from_distance > 0.0 { f64::INFINITY } else { 1e-5 },
    }))
}

/// A configuration around the reference one, with moderate velocities.
pub fn random_state(robot: &Articulated, seed: u64) -> Vec<f64> {
    let random = &mut Random::new(seed);
    let state = robot.layout().state.defaults();
    let mut rate: Vec<f64> = (0..2 * robot.coordinates().nv).map(|_| random.uniform(-0.5, 0.5)).collect();
    // Keep limited joints inside their ranges, where the force is smooth.
    for (joint, place) in robot.model().joints.iter().zip(&robot.coordinates().joints) {
        let directed = matches!(joint.kind, JointKind::Hinge | JointKind::Slide);
        if let (true, Some((low, high)), Some((q, v))) = (directed, joint.range, *place) {
            let target = low + (high - low) * random.uniform(0.3, 0.7);
            rate[v] = target - state[q];
        }
    }
    // Activations well inside the range of a muscle.
    rate.extend((0..robot.coordinates().activations()).map(|_| random.uniform(0.2, 0.8)));
    let mut moved = state.clone();
    VectorField::<f64>::advance(robot, &state, &rate, 1.0, &mut moved);
    moved
}
