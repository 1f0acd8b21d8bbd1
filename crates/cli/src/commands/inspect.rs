//! `pullback inspect`: what was loaded, and the dynamics at a state.

use std::collections::BTreeMap;

use pullback_core::{ConfigError, Described, Point, SolverInfo, VectorField};
use pullback_math::{Quat, Vec3};
use pullback_physics::articulated::constraint::contact::contact_frame;
use pullback_physics::articulated::sensor::SensorReading;
use pullback_physics::articulated::{Articulated, ContactModel, JointKind, Keyframe};
use pullback_tasks::files::{FileOptions, find_keyframe, read_model_with};
use pullback_tasks::scenes::SceneOptions;
use pullback_tasks::stability::{StepLimit, StepLimitOf};
use serde::Serialize;

use crate::args::InspectOptions;
use crate::output::{CliError, Output, note_keyframes, print_notes};

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
    /// Normal, then two tangents.
    frame: [[f64; 3]; 3],
    distance: f64,
}

/// Largest matrix that is printed, entries: a thousand degrees of freedom.
const MOST_ENTRIES: usize = 1_000_000;

/// What the constraint solver took.
#[derive(Serialize)]
pub struct SolverReport {
    iterations: usize,
    /// Gradient over the trace of the mass matrix.
    residual: f64,
    constraints: usize,
    rows: usize,
    active: usize,
    islands: usize,
    converged: bool,
}

impl SolverReport {
    pub fn new(info: SolverInfo) -> Self {
        let SolverInfo { iterations, residual, constraints, rows, active, islands, converged } = info;
        SolverReport { iterations, residual, constraints, rows, active, islands, converged }
    }
}

#[derive(Serialize)]
struct JointReport {
    name: String,
    body: String,
    kind: &'static str,
    /// Its place among the coordinates and velocities, unless it follows another joint.
    #[serde(skip_serializing_if = "Option::is_none")]
    qpos: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qvel: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct Summary {
    file: String,
    nq: usize,
    nv: usize,
    nu: usize,
    na: usize,
    bodies: Vec<BodyReport>,
    joints: Vec<JointReport>,
    actuators: Vec<String>,
    tendons: Vec<String>,
    geoms: Vec<String>,
    sites: Vec<String>,
    keyframes: Vec<String>,
    /// What the file says that is not used.
    notes: Vec<String>,
    total_mass: f64,
    /// Nothing without mass.
    center_of_mass: Option<[f64; 3]>,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    act: Vec<f64>,
    ctrl: Vec<f64>,
    /// Mass matrix, row by row; left out of large models.
    #[serde(rename = "qM", skip_serializing_if = "Option::is_none")]
    mass_matrix: Option<Vec<Vec<f64>>>,
    qfrc_bias: Vec<f64>,
    /// Springs, dampers, weight that is carried, and the medium.
    qfrc_passive: Vec<f64>,
    /// Force of the medium.
    qfrc_fluid: Vec<f64>,
    qfrc_actuator: Vec<f64>,
    /// Force of each actuator before its gear.
    actuator_force: Vec<f64>,
    actuator_length: Vec<f64>,
    actuator_velocity: Vec<f64>,
    /// How each length changes with the velocities; left out of large models.
    #[serde(skip_serializing_if = "Option::is_none")]
    actuator_moment: Option<Vec<Vec<f64>>>,
    act_dot: Vec<f64>,
    ten_length: Vec<f64>,
    ten_velocity: Vec<f64>,
    #[serde(rename = "ten_J", skip_serializing_if = "Option::is_none")]
    ten_moment: Option<Vec<Vec<f64>>>,
    /// Matrices that are left out because they are too large.
    left_out: Vec<String>,
    /// Empty under the penalty model.
    qfrc_constraint: Vec<f64>,
    /// What the constraint solver took.
    #[serde(skip_serializing_if = "Option::is_none")]
    solver: Option<SolverReport>,
    qacc: Vec<f64>,
    qacc_without_contact: Vec<f64>,
    contacts: Vec<ContactReport>,
    /// Readings of all sensors; left out where one is not supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    sensordata: Option<Vec<f64>>,
    /// Readings by name.
    sensors: BTreeMap<String, Vec<f64>>,
    /// Sensors that are not read, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unsupported_sensors: BTreeMap<String, String>,
    potential_energy: f64,
    kinetic_energy: f64,
    /// The step of the file beside the largest that is stable here; not for joints that follow others without equations.
    #[serde(skip_serializing_if = "Option::is_none")]
    step_limit: Option<StepLimit>,
}

pub fn run(options: &InspectOptions, output: &Output) -> Result<bool, CliError> {
    let contact = options.contact.map(|entry| entry.value);
    let loaded = read_model_with(&options.file, FileOptions { contact, ..options.reading.file_options() })?;
    let stepped = Articulated::new(loaded.clone())?;
    let mut isolated = loaded.clone();
    isolated.options.contact = false;
    let robot = Articulated::new(loaded)?.with_instantaneous_activations();
    let model = robot.model();
    let (nq, nv) = (robot.coordinates().nq, robot.coordinates().nv);
    let start = match &options.keyframe {
        Some(wanted) => find_keyframe(&model.keyframes, wanted)?.clone(),
        None => Keyframe {
            name: String::new(),
            q: robot.layout().state.defaults()[..nq].to_vec(),
            v: vec![0.0; nv],
            activation: vec![0.0; model.activations()],
            control: vec![0.0; model.actuators.len()],
            mocap: model.mocap_poses(),
        },
    };
    let qpos = values("--qpos", &options.qpos, start.q)?;
    let qvel = values("--qvel", &options.qvel, start.v)?;
    let act = values("--act", &options.act, start.activation)?;
    let ctrl = values("--ctrl", &options.ctrl, start.control)?;
    let params = robot.layout().params.defaults();
    let mut ws = VectorField::<f64>::workspace(&robot);
    let state = [&qpos[..], &qvel, &act].concat();
    robot.layout().state.check_directions("--qpos", &state)?;
    let mut rate = vec![0.0; 2 * nv + act.len()];
    let inputs = [&ctrl[..], &start.mocap].concat();
    let at = Point { params: &params, state: &state, control: &inputs };
    robot.eval(&mut ws, at, 0.0, &mut rate);

    let mut contacts = Vec::new();
    let constrained = robot.model().options.contact_model != ContactModel::Penalty;
    for pair in ws.contacts.pairs() {
        let (a, b) = pair.geoms;
        for slot in pair.contacts() {
            let contact = ws.contacts.contacts()[slot];
            let found = if constrained {
                contact.distance <= ws.contacts.reach(pair)
            } else {
                contact.distance < 0.0
            };
            if !found {
                continue;
            }
            let numbers = |v: Vec3<f64>| [v.x, v.y, v.z];
            let geoms = robot.geoms(&ws.kinematics, &params);
            contacts.push(ContactReport {
                geoms: (model.geoms[a].name.clone(), model.geoms[b].name.clone()),
                position: numbers(contact.position),
                normal: numbers(contact.normal),
                frame: contact_frame(&geoms, &ws.contacts, pair, slot).map(numbers),
                distance: contact.distance,
            });
        }
    }
    let fluid = robot.fluid_force(&ws, &params);
    // Forces that the sweeps count as part of the bias.
    let compensation = robot.gravity_compensation(&ws, &params);
    let carried = sum(&compensation, &fluid);
    let mut by_actuators = vec![0.0; compensation.len()];
    for joint in robot.model().joints.iter().filter(|j| j.gravity_by_actuator) {
        let dofs = joint.v..joint.v + joint.kind.velocities();
        by_actuators[dofs.clone()].copy_from_slice(&compensation[dofs]);
    }
    let actuation = sum(&ws.actuation, &by_actuators);
    let passive: Vec<f64> =
        sum(&ws.passive, &carried).iter().zip(&by_actuators).map(|(all, part)| all - part).collect();
    let solver = constrained.then(|| SolverReport::new(VectorField::<f64>::solver_info(&robot, &ws)));
    let untouched = Articulated::new(isolated)?;
    let mut without = VectorField::<f64>::workspace(&untouched);
    let mut untouched_rate = vec![0.0; 2 * nv + act.len()];
    let untouched_params = untouched.layout().params.defaults();
    untouched.eval(
        &mut without,
        Point { params: &untouched_params, state: &state, control: &inputs },
        0.0,
        &mut untouched_rate,
    );

    let (sensordata, sensors, unsupported_sensors) = read_sensors(&robot, at)?;
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
    let follows = |j: usize| model.mimics.iter().find(|m| m.joint == j);
    let joints = model.joints.iter().enumerate().map(|(i, j)| JointReport {
        name: j.name.clone(),
        body: body_name(j.body),
        kind: match j.kind {
            JointKind::Free => "free",
            JointKind::Ball => "ball",
            JointKind::Hinge => "hinge",
            JointKind::Slide => "slide",
        },
        qpos: robot.coordinates().joints[i].map(|(q, _)| q),
        qvel: robot.coordinates().joints[i].map(|(_, v)| v),
        follows: follows(i).map(|m| model.joints[m.of].name.clone()),
        range: j.range,
    });
    let (total_mass, com) = ws.kinematics.center_of_mass();
    let mut left_out = Vec::new();
    let mut dense = |name: &str, rows: usize, make: &dyn Fn() -> Vec<Vec<f64>>| {
        if rows * nv <= MOST_ENTRIES {
            return Some(make());
        }
        left_out.push(format!("{name}, {rows} by {nv}"));
        None
    };
    let mass_matrix =
        dense("qM", nv, &|| robot.mass_matrix(&ws, &params).chunks(nv.max(1)).map(<[f64]>::to_vec).collect());
    let (actuators, tendons) = (model.actuators.len(), model.tendons.len());
    let actuator_moment = dense("actuator_moment", actuators, &|| {
        (0..actuators).map(|a| robot.actuator_moment(&ws, at, a)).collect()
    });
    let ten_moment =
        dense("ten_J", tendons, &|| (0..tendons).map(|t| robot.tendon_moment(&ws, at, t)).collect());
    let summary = Summary {
        file: options.file.clone(),
        nq,
        nv,
        nu: model.actuators.len(),
        na: act.len(),
        bodies: bodies.collect(),
        joints: joints.collect(),
        actuators: model.actuators.iter().map(|a| a.name.clone()).collect(),
        tendons: model.tendons.iter().map(|t| t.name.clone()).collect(),
        geoms: model.geoms.iter().map(|g| g.name.clone()).collect(),
        sites: model.sites.iter().map(|s| s.name.clone()).collect(),
        keyframes: model.keyframes.iter().map(|k| k.name.clone()).collect(),
        notes: model.notes.clone(),
        total_mass,
        center_of_mass: (total_mass > 0.0).then_some([com.x, com.y, com.z]),
        mass_matrix,
        qfrc_bias: untouched.generalized_force(&untouched_params, &sum(&without.bias, &carried)),
        qfrc_passive: robot.generalized_force(&params, &passive),
        qfrc_fluid: robot.generalized_force(&params, &fluid),
        qfrc_actuator: robot.generalized_force(&params, &actuation),
        actuator_force: ws.actuators.force.clone(),
        actuator_length: ws.actuators.length.clone(),
        actuator_velocity: ws.actuators.velocity.clone(),
        actuator_moment,
        act_dot: ws.actuators.activation_rate.clone(),
        ten_length: ws.tendons.length.clone(),
        ten_velocity: ws.tendons.velocity.clone(),
        ten_moment,
        left_out,
        qfrc_constraint: if constrained { robot.constraint_force(&ws) } else { Vec::new() },
        solver,
        qacc: rate[nv..2 * nv].to_vec(),
        qacc_without_contact: if constrained {
            ws.smooth.clone()
        } else {
            untouched_rate[nv..2 * nv].to_vec()
        },
        contacts,
        sensordata,
        sensors,
        unsupported_sensors,
        potential_energy: ws.kinematics.potential_energy(model.options.gravity),
        kinetic_energy: ws.kinematics.kinetic_energy(&ws.sweep.velocities),
        step_limit: StepLimitOf::of_robot(stepped, &SceneOptions::default())
            .and_then(|limit| limit.find(at).ok()),
        qpos,
        qvel,
        act,
        ctrl,
    };
    if options.keyframe.is_none() && options.qpos.is_none() {
        note_keyframes(&model.keyframes);
    }
    print_notes(&summary.notes);
    for matrix in &summary.left_out {
        eprintln!(
            "note: {matrix} entries, is left out: at most {MOST_ENTRIES} entries of a matrix are printed"
        );
    }
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

/// Readings of all sensors, by name, and what is not read.
type Readings = (Option<Vec<f64>>, BTreeMap<String, Vec<f64>>, BTreeMap<String, String>);

fn read_sensors(robot: &Articulated, at: Point<'_, f64>) -> Result<Readings, ConfigError> {
    if robot.model().sensors.is_empty() {
        return Ok((Some(Vec::new()), BTreeMap::new(), BTreeMap::new()));
    }
    let sensing = robot.sensing()?;
    let mut data = vec![0.0; sensing.len()];
    sensing.sensors(&mut sensing.workspace(), at, 0.0, &mut data);
    let of = |r: &SensorReading| (r.name.clone(), data[r.range.clone()].to_vec());
    let named = sensing.readings().iter().map(of).collect();
    let unsupported = sensing.unsupported().iter().cloned().collect();
    Ok((sensing.unsupported().is_empty().then_some(data), named, unsupported))
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
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
        let accelerations = match (j.qvel, &j.follows) {
            (Some(first), _) => (first..s.nv)
                .take(match j.kind {
                    "free" => 6,
                    "ball" => 3,
                    _ => 1,
                })
                .map(|k| format!("{:.4}", s.qacc[k]))
                .collect::<Vec<_>>()
                .join(" "),
            (None, leader) => format!("follows {}", leader.as_deref().unwrap_or_default()),
        };
        text += &format!("{:20} {:6} {:20} {accelerations}\n", j.name, j.kind, j.body);
    }
    for c in &s.contacts {
        text += &format!("\ncontact: {} and {}, {:.6} m deep", c.geoms.0, c.geoms.1, -c.distance);
    }
    for (name, reading) in &s.sensors {
        let numbers: Vec<String> = reading.iter().map(|x| format!("{x:.4}")).collect();
        text += &format!("\nsensor {name}: {}", numbers.join(" "));
    }
    for (name, why) in &s.unsupported_sensors {
        text += &format!("\nsensor {name} is not read: {why}");
    }
    text += &format!("\nenergy: {:.6} J potential, {:.6} J kinetic\n", s.potential_energy, s.kinetic_energy);
    text + &s.step_limit.as_ref().map_or(String::new(), |limit| format!("{}\n", limit.sentence()))
}
