//! The same standing quadrupeds in CasADi: the step as one expression, differentiated by its reverse mode.

use pullback_physics::articulated::{Gain, JointKind, Model, Shape};
use pullback_tasks::articulated_adjoint::standing::{Cost, Standing};
use pullback_tasks::{Goal, Results};
use serde_json::{Value, json};

use crate::bench::peer;
use crate::output::Output;

/// What a gradient costs there.
#[derive(Clone, Debug)]
pub struct PeerCost {
    pub version: String,
    pub robots: usize,
    pub steps: usize,
    /// Growth of the process beyond the bare library, MB.
    pub megabytes: f64,
    /// Milliseconds of a step of all robots.
    pub forward: f64,
    pub backward: f64,
    /// Sum of the heights at the end, m.
    pub loss: f64,
}

/// Runs `bench/casadi_adjoint` on so many robots and steps.
pub fn run(standing: &Standing, cases: &[(usize, usize)], output: &Output) -> Result<Vec<PeerCost>, String> {
    let model = export(standing.robot().field().model(), standing)?.to_string();
    let cases: Vec<String> = cases.iter().map(|(robots, steps)| format!("{robots}x{steps}")).collect();
    let bench = ("reproduce-articulated-adjoint", "casadi_adjoint");
    let said = peer::run(output, bench, ("quadruped.json", &model), &cases)?;
    let version = said["version"].as_str().unwrap_or("CasADi").to_owned();
    let rows = said["rows"].as_array().ok_or("it printed no rows")?;
    let row = |row: &Value| {
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        PeerCost {
            version: version.clone(),
            robots: number("robots") as usize,
            steps: number("steps") as usize,
            megabytes: number("megabytes"),
            forward: number("forward_ms"),
            backward: number("backward_ms"),
            loss: number("loss"),
        }
    };
    Ok(rows.iter().map(row).collect())
}

/// Rows of the peer, and ours over its.
pub fn add_results(peer: &[PeerCost], ours: &[Cost], results: &mut Results) {
    for row in peer {
        let who = if row.robots == 1 { "1 quadruped".into() } else { format!("{} quadrupeds", row.robots) };
        let case = format!("{who}, {} steps, {}", row.steps, row.version);
        results.row(&case, "peak memory", row.megabytes, "MB");
        results.row(&case, "forward step", row.forward, "ms");
        results.row(&case, "backward step", row.backward, "ms");
        let Some(cost) = ours.iter().find(|c| c.robots == row.robots && c.steps == row.steps) else {
            continue;
        };
        let name = |what: &str| format!("{case}: {what}");
        let (forward, backward) = (1e3 * cost.forward, 1e3 * cost.backward);
        let megabytes = cost.measured as f64 / 1e6;
        results.goals.push(Goal::at_most(name("our memory over its"), megabytes / row.megabytes, 1.0));
        results.goals.push(Goal::at_most(name("our forward step over its"), forward / row.forward, 1.0));
        results.goals.push(Goal::at_most(name("our backward step over its"), backward / row.backward, 1.0));
        let off = (cost.loss - row.loss).abs();
        results.goals.push(Goal::at_most(name("difference of the final height (m)"), off, 1e-9));
    }
}

/// The model as `bench/casadi_adjoint/measure.py` reads it.
fn export(model: &Model, standing: &Standing) -> Result<Value, String> {
    let mut bodies = Vec::new();
    for joint in &model.joints {
        let body = &model.bodies[joint.body];
        let turned = (body.orientation.w - 1.0).abs() > 0.0;
        if model.joints_of(joint.body).count() != 1 || joint.anchor.norm() > 0.0 || turned {
            return Err("the export knows one centered joint per body, along its parent's axes".into());
        }
        let kind = match joint.kind {
            JointKind::Free => "free",
            JointKind::Hinge => "hinge",
            _ => return Err("the export knows free and hinge joints".into()),
        };
        let (a, p, c, i) = (joint.axis, body.position, body.com, body.inertia);
        bodies.push(json!({
            // Bodies and joints are one to one, after the world.
            "parent": body.parent as i64 - 1,
            "kind": kind,
            "axis": [a.x, a.y, a.z],
            "position": [p.x, p.y, p.z],
            "mass": body.mass,
            "com": [c.x, c.y, c.z],
            "inertia": [i.xx, i.yy, i.zz, i.xy, i.xz, i.yz],
        }));
    }
    let toes = model.geoms.iter().filter_map(|geom| match geom.shape {
        Shape::Sphere { radius } => {
            let p = geom.position;
            Some(json!({ "body": geom.body - 1, "position": [p.x, p.y, p.z], "radius": radius }))
        }
        _ => None,
    });
    let actuator = model.actuators.first().ok_or("the export knows position servos")?;
    let Gain::Fixed(kp) = actuator.gain else { return Err("the export knows position servos".into()) };
    let limit = actuator.force_range.map_or(f64::INFINITY, |(_, high)| high);
    let home = standing.inputs(1).map_err(|e| e.to_string())?.state[..model.nq].to_vec();
    let law = model.options.complementarity;
    let friction = model.geoms.iter().map(|g| g.friction[0]).fold(0.0, f64::max);
    Ok(json!({
        "bodies": bodies,
        "toes": toes.collect::<Vec<_>>(),
        "home": home,
        "servo": { "kp": kp, "kv": -actuator.affine_bias()[2], "limit": limit },
        "law": {
            "gravity": -model.options.gravity.z,
            "dt": model.options.timestep,
            "friction": friction,
            "erp": law.erp,
            "cfm": law.cfm,
            "iterations": law.iterations,
        },
    }))
}
