//! Robots from files as scenes: MJCF and URDF.

use std::path::Path;
use std::sync::Arc;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::{ConfigError, Described, VectorField};
use pullback_physics::articulated::{Articulated, JointKind, Model};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use pullback_scene::urdf::{self, UrdfOptions};

use crate::recording;
use crate::scene::{BuiltIn, Scene};
use crate::scenes::SceneOptions;

/// Whether a scene name is the path of a model file.
pub fn is_file_name(name: &str) -> bool {
    [".xml", ".mjcf", ".urdf"].iter().any(|ending| name.ends_with(ending))
}

/// Reads a model file by its ending.
pub fn read_model(file: &str) -> Result<Model, ConfigError> {
    let path = Path::new(file);
    let model = if file.ends_with(".urdf") {
        urdf::load(path, &UrdfOptions::default()).map_err(|e| ConfigError::new(e.to_string()))?
    } else {
        let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() };
        read_mjcf(path, &options).map_err(|e| ConfigError::new(e.to_string()))?
    };
    match model.mimics.first() {
        None => Ok(model),
        Some(_) => Err(ConfigError::new(format!("{file}: mimic joints cannot be simulated yet"))),
    }
}

/// The robot of a file as a scene, stepped as the file asks unless `options` say otherwise.
pub fn build(file: &str, options: SceneOptions) -> Result<Box<dyn Scene>, ConfigError> {
    let model = read_model(file)?;
    let dt = options.dt.unwrap_or(model.options.timestep);
    let asked = match model.options.integrator {
        pullback_physics::articulated::model::Integrator::Rk4 => Method::Rk4,
        _ => Method::SemiImplicitEuler,
    };
    let integrator = options.integrator.unwrap_or(Integrator::fixed(asked));
    let implicit = model.options.implicit_damping && integrator.method == Method::SemiImplicitEuler;
    let mut robot = Articulated::new(model)?;
    if implicit {
        robot = robot.with_implicit_damping(dt);
    }
    let probes = (0..2).map(|seed| (format!("at random state {seed}"), random_state(&robot, seed))).collect();
    let summary =
        format!("{} bodies, {} degrees of freedom", robot.model().bodies.len() - 1, robot.model().nv);
    let shown = robot.clone();
    Ok(Box::new(BuiltIn {
        // Not from the pose in the file: a robot that just touches the ground at rest stands on a kink.
        rollout_from: ("random state 2".to_owned(), random_state(&robot, 2)),
        recorder: Some(Box::new(move |rows| recording::replay(&shown, rows))),
        name: Path::new(file).file_stem().map_or(file.into(), |s| s.to_string_lossy().into_owned()),
        summary,
        settle: 0,
        small: None,
        system: Integrated::new(robot, dt, integrator)?,
        dt,
        probes,
        difference_tolerance: 1e-5,
    }))
}

/// A configuration around the reference one, with moderate velocities.
pub fn random_state(robot: &Articulated, seed: u64) -> Vec<f64> {
    let random = &mut Random::new(seed);
    let model = robot.model();
    let state = robot.layout().state.defaults();
    let mut rate: Vec<f64> = (0..2 * model.nv).map(|_| random.uniform(-0.5, 0.5)).collect();
    // Keep limited joints inside their ranges, where the force is smooth.
    for joint in model.joints.iter().filter(|j| matches!(j.kind, JointKind::Hinge | JointKind::Slide)) {
        if let Some((low, high)) = joint.range {
            let target = low + (high - low) * random.uniform(0.3, 0.7);
            rate[joint.v] = target - state[joint.q];
        }
    }
    let mut moved = state.clone();
    VectorField::<f64>::advance(robot, &state, &rate, 1.0, &mut moved);
    moved
}
