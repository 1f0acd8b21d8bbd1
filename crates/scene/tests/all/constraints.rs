//! Constraints against MuJoCo: contacts, rows, accelerations and motion; `reference/constraints.py` made the
//! golden files, with the solver run to convergence.

use std::fs;
use std::path::{Path, PathBuf};

use pullback_articulated::constraint::contact::contact_frame;
use pullback_articulated::constraint::cost::Cost;
use pullback_articulated::constraint::inverse_weight::InverseWeights;
use pullback_articulated::constraint::set::{ConstraintSet, Source};
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{Articulated, ArticulatedWorkspace, FrictionCone, ImplicitTerms, Model};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Point, System, VectorField};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("numbers").iter().map(|x| x.as_f64().expect("number")).collect()
}

/// Largest difference over the largest entry of what is expected, or over `least` where that is small.
fn relative(ours: &[f64], theirs: &[f64], least: f64) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(least, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs() / scale))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A constraint row as MuJoCo has it.
struct Row {
    pos: f64,
    aref: f64,
    regularization: f64,
    products: [f64; 2],
}

/// The rows of a block as MuJoCo has them: a pyramid has a row per edge.
fn rows(set: &ConstraintSet<f64>, block: usize, vectors: &[Vec<f64>; 2]) -> Vec<Row> {
    let b = &set.blocks[block];
    let products = [0, 1].map(|i| {
        let mut out = vec![0.0; b.dim];
        set.multiply(block, &vectors[i], &mut out);
        out
    });
    let (pos, aref) = (&set.position[b.row..], &set.reference[b.row..]);
    let weights = &set.weights[block];
    let row = |combine: &dyn Fn(&[f64]) -> f64, pos: f64, weight: f64| Row {
        pos,
        aref: combine(aref),
        regularization: 1.0 / weight,
        products: [combine(&products[0]), combine(&products[1])],
    };
    if b.cost == Cost::Pyramid {
        let edges = (1..b.dim).flat_map(|k| [(k, weights.friction[k - 1]), (k, -weights.friction[k - 1])]);
        edges.map(|(k, mu)| row(&|x| x[0] + mu * x[k], pos[0], weights.rows[0])).collect()
    } else {
        (0..b.dim).map(|i| row(&|x| x[i], pos[i], weights.rows[i])).collect()
    }
}

/// Largest relative error of rows; signs of a row may differ where `either` says so.
fn compare_rows(ours: &[Row], theirs: &[Value], either: bool) -> f64 {
    assert_eq!(ours.len(), theirs.len(), "number of rows");
    let mut worst = 0.0_f64;
    for (row, g) in ours.iter().zip(theirs) {
        let expected = numbers(&g["J"]);
        let number = |key: &str| g[key].as_f64().expect("number");
        let flipped = either && row.products[0] * expected[0] < 0.0;
        let sign = if flipped { -1.0 } else { 1.0 };
        worst = worst
            .max(relative(&row.products.map(|x| sign * x), &expected, 1e-3))
            .max(relative(&[sign * row.pos], &[number("pos")], 1e-3))
            .max(relative(&[sign * row.aref], &[number("aref")], 1e-3))
            .max(relative(&[row.regularization], &[number("R")], 0.0));
    }
    worst
}

/// Largest relative error at a state: contacts, rows, acceleration and force.
fn compare_state(
    robot: &Articulated,
    ws: &mut ArticulatedWorkspace<f64>,
    params: &[f64],
    g: &Value,
) -> [f64; 4] {
    let state = [numbers(&g["qpos"]), numbers(&g["qvel"])].concat();
    let control = [numbers(&g["ctrl"]), numbers(&g["mocap"])].concat();
    robot.accelerations(ws, Point { params, state: &state, control: &control });
    let ContactSolverWorkspace::Convex(convex) = &ws.resolve else { panic!("the model is not convex") };
    assert!(convex.newton.info.converged, "{:?}", convex.newton.info);
    let set = &convex.set;
    let nv = robot.model().nv;
    let vectors = [
        (0..nv).map(|k| (1.0 + 0.7 * k as f64).cos()).collect::<Vec<_>>(),
        (0..nv).map(|k| (0.3 + 1.3 * k as f64).sin()).collect(),
    ];

    // Equalities, dry friction, limits: in the same order.
    let mut others = Vec::new();
    let mut welds = false;
    let mut contacts = Vec::new();
    for (i, block) in set.blocks.iter().enumerate() {
        match block.source {
            Source::Contact { pair, slot } => contacts.push((pair, slot, i)),
            source => {
                welds |= matches!(source, Source::Equality(_));
                others.extend(rows(set, i, &vectors));
            }
        }
    }
    let mut row_error = compare_rows(&others, g["rows"].as_array().expect("rows"), welds);

    // Contacts: those of a pair in any order; geoms that are paired twice by the dimension of each law.
    let geoms = robot.geoms(&ws.kinematics, params);
    let theirs: Vec<&Value> = g["contacts"].as_array().expect("contacts").iter().collect();
    let acting = theirs.iter().filter(|c| !c["rows"].as_array().expect("rows").is_empty()).count();
    assert_eq!(contacts.len(), acting, "number of contacts that act");
    let mut contact_error = 0.0_f64;
    for c in theirs {
        let pair_of = numbers(&c["geoms"]);
        let (position, frame) = (numbers(&c["pos"]), numbers(&c["frame"]));
        let distance = c["dist"].as_f64().expect("distance");
        let found = ws
            .contacts
            .pairs()
            .iter()
            .enumerate()
            .flat_map(|(p, pair)| pair.contacts().map(move |slot| (p, *pair, slot)));
        let error = |pair: &pullback_articulated::contact::FoundPair, slot: usize| {
            let contact = ws.contacts.contacts()[slot];
            let axes = contact_frame(&geoms, &ws.contacts, pair, slot);
            let axes: Vec<f64> = axes.iter().flat_map(|a| [a.x, a.y, a.z]).collect();
            let p = contact.position;
            (contact.distance - distance)
                .abs()
                .max(relative(&[p.x, p.y, p.z], &position, 1.0))
                .max(relative(&axes, &frame, 1.0))
        };
        let same = |pair: &pullback_articulated::contact::FoundPair| {
            let of_pair = |number: usize| c["dim"] == robot.model().pairs[number].condim;
            [pair.geoms.0 as f64, pair.geoms.1 as f64] == pair_of[..] && pair.explicit.is_none_or(of_pair)
        };
        let best = found
            .filter(|(_, pair, _)| same(pair))
            .min_by(|(_, p, s), (_, q, t)| error(p, *s).total_cmp(&error(q, *t)));
        let (number, pair, slot) = best.unwrap_or_else(|| panic!("no pair of geoms {pair_of:?} was found"));
        contact_error = contact_error.max(error(&pair, slot));
        let expected = c["rows"].as_array().expect("rows");
        if !expected.is_empty() {
            let block = contacts.iter().find(|(p, s, _)| (*p, *s) == (number, slot));
            let (_, _, block) = block.unwrap_or_else(|| panic!("the contact of {pair_of:?} does not act"));
            row_error = row_error.max(compare_rows(&rows(set, *block, &vectors), expected, false));
        }
    }
    let force = robot.constraint_force(ws);
    [
        contact_error,
        row_error,
        relative(&ws.constrained, &numbers(&g["qacc"]), 1.0),
        relative(&force, &numbers(&g["qfrc_constraint"]), 1.0),
    ]
}

fn read(file: &Path, cone: &str) -> Model {
    let options =
        ImportOptions { mesh_loader: Some(std::sync::Arc::new(MeshFiles)), ..ImportOptions::default() };
    let mut model = read_mjcf(file, &options).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    model.options.cone = if cone == "elliptic" { FrictionCone::Elliptic } else { FrictionCone::Pyramidal };
    model.options.solver.tolerance = 1e-12;
    model
}

/// The state after 200 steps from the first keyframe, or from the pose of the file.
fn motion(mut model: Model, integrator: &str) -> Vec<f64> {
    // Round-off would decide after how many sweeps a gain is below the tolerance.
    model.options.solver.noslip_tolerance = 0.0;
    let (dt, key) = (model.options.timestep, model.keyframes.first().cloned());
    let (nq, implicit_damping) = (model.nq, model.options.implicit_damping);
    let robot = Articulated::new(model).expect("a robot").with_plain_rotations();
    let (method, robot) = match integrator {
        "Euler" if implicit_damping => {
            (Method::SemiImplicitEuler, robot.with_implicit(ImplicitTerms::Damping, dt))
        }
        "Euler" => (Method::SemiImplicitEuler, robot),
        "implicit" => (Method::SemiImplicitEuler, robot.with_implicit(ImplicitTerms::Full, dt)),
        "implicitfast" => (Method::SemiImplicitEuler, robot.with_implicit(ImplicitTerms::Fast, dt)),
        _ => (Method::Rk4, robot),
    };
    let (mut state, mut control) = (robot.layout().state.defaults(), robot.layout().control.defaults());
    if let Some(key) = key {
        state = [key.q, key.v].concat();
        control = [key.control, key.mocap].concat();
    }
    // Some files start exactly where a contact begins.
    for (k, v) in state[nq..].iter_mut().enumerate() {
        *v += 0.02 * (1.0 + 0.7 * k as f64).cos();
    }
    let params = robot.layout().params.defaults();
    let system = Integrated::new(robot, dt, Integrator::fixed(method)).expect("a system");
    let mut ws = System::<f64>::workspace(&system);
    let mut next = state.clone();
    for _ in 0..200 {
        system
            .step(&mut ws, Point { params: &params, state: &state, control: &control }, &mut next)
            .expect("a step");
        std::mem::swap(&mut state, &mut next);
    }
    state
}

#[test]
fn constraints_are_those_of_mujoco() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/constraints");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("golden files").map(|f| f.expect("file").path()).collect();
    files.sort();
    assert!(files.len() >= 15);
    let (mut states, mut touching, mut failures) = (0, 0, Vec::new());
    for file in files {
        let golden: Value = serde_json::from_str(&fs::read_to_string(&file).expect("golden")).expect("JSON");
        assert!(golden["source"].as_str().expect("source").starts_with("mujoco "));
        let name = file.file_stem().expect("name").to_string_lossy().into_owned();
        for cone in ["pyramidal", "elliptic"] {
            let g = &golden["cones"][cone];
            let model = read(&root().join(golden["file"].as_str().expect("file")), cone);
            let robot = Articulated::new(model.clone()).expect("a robot");
            let params = robot.layout().params.defaults();

            let weights =
                InverseWeights::new(robot.model(), robot.tree(), robot.index(), robot.tendons(), &params);
            let bodies: Vec<f64> = weights.bodies.iter().flatten().copied().collect();
            let expected: Vec<f64> =
                g["invweight"]["body"].as_array().expect("weights").iter().flat_map(numbers).collect();
            let weight_error = relative(&bodies, &expected, 0.0).max(relative(
                &weights.dofs,
                &numbers(&g["invweight"]["dof"]),
                0.0,
            ));
            if weight_error > 1e-10 {
                failures.push(format!("{name} {cone}: inverse weights {weight_error:.1e}"));
            }

            let mut ws = VectorField::<f64>::workspace(&robot);
            let mut worst = [0.0_f64; 4];
            for state in g["states"].as_array().expect("states") {
                states += 1;
                touching += usize::from(!state["contacts"].as_array().expect("contacts").is_empty());
                for (worst, error) in worst.iter_mut().zip(compare_state(&robot, &mut ws, &params, state)) {
                    *worst = worst.max(error);
                }
            }
            let [contacts, rows, acceleration, force] = worst;
            let line = format!(
                "{name} {cone}: contacts {contacts:.1e}, rows {rows:.1e}, qacc {acceleration:.1e}, force {force:.1e}"
            );
            println!("{line}");
            if contacts > 1e-9 || rows > 1e-8 || acceleration > 1e-8 || force > 1e-8 {
                failures.push(line);
            }
            for integrator in ["Euler", "RK4", "implicit", "implicitfast"] {
                let golden = &g["motion"][integrator];
                let expected = [numbers(&golden["qpos"]), numbers(&golden["qvel"])].concat();
                let nq = model.nq;
                let ours = motion(model.clone(), integrator);
                let error = relative(&ours[..nq], &expected[..nq], 1.0);
                println!("{name} {cone} {integrator}: {error:.1e}");
                if error > 1e-6 {
                    failures.push(format!("{name} {cone} {integrator}: q after 200 steps {error:.1e}"));
                }
            }
        }
    }
    println!("{touching} of {states} states in contact");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
