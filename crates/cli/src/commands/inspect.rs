//! `pullback inspect`: what was loaded, and the dynamics at a state.

use pullback_core::{ConfigError, Described, VectorField};
use pullback_math::Quat;
use pullback_physics::articulated::{Articulated, JointKind};
use pullback_tasks::files::read_model_ignoring;
use serde::Serialize;

use crate::args::InspectOptions;
use crate::output::{CliError, Output};

#[derive(Serialize)]
struct BodyReport {
    name: String,
    parent: String,
    mass: f64,
    xpos: [f64; 3],
    xquat: [f64; 4],
}

#[derive(Serialize)]
struct ContactReport {
    /// From the first to the second.
    geoms: (String, String),
    position: [f64; 3],
    normal: [f64; 3],
    distance: f64,
}

#[derive(Serialize)]
struct JointReport {
    name: String,
    body: String,
    kind: &'static str,
    qpos: usize,
    qvel: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct Summary {
    file: String,
    nq: usize,
    nv: usize,
    nu: usize,
    bodies: Vec<BodyReport>,
    joints: Vec<JointReport>,
    actuators: Vec<String>,
    geoms: Vec<String>,
    sites: Vec<String>,
    keyframes: Vec<String>,
    total_mass: f64,
    centre_of_mass: [f64; 3],
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    ctrl: Vec<f64>,
    /// Mass matrix, row by row.
    #[serde(rename = "qM")]
    mass_matrix: Vec<Vec<f64>>,
    qfrc_bias: Vec<f64>,
    qfrc_joint: Vec<f64>,
    qacc: Vec<f64>,
    qacc_without_contact: Vec<f64>,
    contacts: Vec<ContactReport>,
    potential_energy: f64,
    kinetic_energy: f64,
}

pub fn run(options: &InspectOptions, output: &Output) -> Result<bool, CliError> {
    let loaded = read_model_ignoring(&options.file, &options.allow_ignored)?;
    let mut isolated = loaded.clone();
    isolated.options.contact = false;
    let robot = Articulated::new(loaded)?;
    let model = robot.model();
    let qpos = values("--qpos", &options.qpos, model.reference_configuration())?;
    let qvel = values("--qvel", &options.qvel, vec![0.0; model.nv])?;
    let ctrl = values("--ctrl", &options.ctrl, vec![0.0; model.actuators.len()])?;
    let params = robot.layout().params.defaults();
    let mut ws = VectorField::<f64>::workspace(&robot);
    let state = [&qpos[..], &qvel].concat();
    robot.accelerations(&mut ws, &params, &state, &ctrl);

    let mut contacts = Vec::new();
    robot.for_each_contact(&ws, &params, |(a, b), contact| {
        if contact.distance < 0.0 {
            let (p, n) = (contact.position, contact.normal);
            contacts.push(ContactReport {
                geoms: (model.geoms[a].name.clone(), model.geoms[b].name.clone()),
                position: [p.x, p.y, p.z],
                normal: [n.x, n.y, n.z],
                distance: contact.distance,
            });
        }
    });
    let untouched = Articulated::new(isolated)?;
    let mut without = VectorField::<f64>::workspace(&untouched);
    untouched.accelerations(&mut without, &untouched.layout().params.defaults(), &state, &ctrl);

    let body_name = |b: usize| model.bodies[b].name.clone();
    let poses = &ws.kinematics.world_from_body;
    let bodies = (1..model.bodies.len()).map(|b| {
        let (p, q) = (poses[b].translation, Quat::from_mat3(poses[b].rotation));
        BodyReport {
            name: body_name(b),
            parent: body_name(model.bodies[b].parent),
            mass: model.bodies[b].mass,
            xpos: [p.x, p.y, p.z],
            xquat: [q.w, q.x, q.y, q.z],
        }
    });
    let joints = model.joints.iter().map(|j| JointReport {
        name: j.name.clone(),
        body: body_name(j.body),
        kind: match j.kind {
            JointKind::Free => "free",
            JointKind::Ball => "ball",
            JointKind::Hinge => "hinge",
            JointKind::Slide => "slide",
        },
        qpos: j.q,
        qvel: j.v,
        range: j.range,
    });
    let (total_mass, com) = ws.kinematics.centre_of_mass();
    let dense = ws.mass.dense(robot.tree());
    let summary = Summary {
        file: options.file.clone(),
        nq: model.nq,
        nv: model.nv,
        nu: model.actuators.len(),
        bodies: bodies.collect(),
        joints: joints.collect(),
        actuators: model.actuators.iter().map(|a| a.name.clone()).collect(),
        geoms: model.geoms.iter().map(|g| g.name.clone()).collect(),
        sites: model.sites.iter().map(|s| s.name.clone()).collect(),
        keyframes: model.keyframes.iter().map(|k| k.name.clone()).collect(),
        total_mass,
        centre_of_mass: [com.x, com.y, com.z],
        mass_matrix: dense.chunks(model.nv.max(1)).map(<[f64]>::to_vec).collect(),
        qfrc_bias: without.bias.clone(),
        qfrc_joint: ws.tau.clone(),
        qacc: ws.acceleration.clone(),
        qacc_without_contact: without.acceleration.clone(),
        contacts,
        potential_energy: ws.kinematics.potential_energy(model.options.gravity),
        kinetic_energy: ws.kinematics.kinetic_energy(&ws.sweep.velocities),
        qpos,
        qvel,
        ctrl,
    };
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

/// Numbers separated by commas or spaces, or the default.
fn values(what: &str, given: &Option<String>, default: Vec<f64>) -> Result<Vec<f64>, ConfigError> {
    let Some(given) = given else { return Ok(default) };
    let mut values = Vec::new();
    for part in given.split([',', ' ']).filter(|p| !p.is_empty()) {
        match part.parse::<f64>() {
            Ok(x) if x.is_finite() => values.push(x),
            _ => return Err(ConfigError::new(format!("{what}: `{part}` is not a finite number"))),
        }
    }
    if values.len() != default.len() {
        let (need, got) = (default.len(), values.len());
        return Err(ConfigError::new(format!("{what} needs {need} numbers, got {got}")));
    }
    Ok(values)
}

fn text(s: &Summary) -> String {
    let mut text = format!(
        "{}: {} coordinates, {} velocities, {} controls, {:.4} kg\n\n",
        s.file, s.nq, s.nv, s.nu, s.total_mass
    );
    text += "body                 parent               mass (kg)  position\n";
    for b in &s.bodies {
        let [x, y, z] = b.xpos;
        text += &format!("{:20} {:20} {:9.4}  ({x:.4}, {y:.4}, {z:.4})\n", b.name, b.parent, b.mass);
    }
    text += "\njoint                kind   body                 acceleration\n";
    for j in &s.joints {
        let accelerations: Vec<String> = (j.qvel..s.nv)
            .take(match j.kind {
                "free" => 6,
                "ball" => 3,
                _ => 1,
            })
            .map(|k| format!("{:.4}", s.qacc[k]))
            .collect();
        text += &format!("{:20} {:6} {:20} {}\n", j.name, j.kind, j.body, accelerations.join(" "));
    }
    for c in &s.contacts {
        text += &format!("\ncontact: {} and {}, {:.6} m deep", c.geoms.0, c.geoms.1, -c.distance);
    }
    text + &format!("\nenergy: {:.6} J potential, {:.6} J kinetic\n", s.potential_energy, s.kinetic_energy)
}
