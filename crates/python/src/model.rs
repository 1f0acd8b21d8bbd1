//! What the file of a robot describes: its tree, by names.

use pullback::physics::articulated::JointKind;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::refuse;
use crate::system::System;

/// The model of a robot, as JSON.
#[pyfunction]
pub fn model(system: &System) -> PyResult<String> {
    let Some(robot) = &system.0.robot else {
        let name = system.0.scene.name();
        return Err(
            refuse(format!("{name} is a built-in scene; only the robots of files have a model")).into()
        );
    };
    let (robot, dt) = (robot.field(), robot.dt());
    let (model, coordinates) = (robot.model(), robot.coordinates());
    let body = |b: usize| &model.bodies[b].name;
    let names = |names: &mut dyn Iterator<Item = &String>| names.map(|n| json!(n)).collect::<Vec<Value>>();
    let bodies = model.bodies.iter().skip(1).map(|b| {
        let inertia = [b.inertia.xx, b.inertia.yy, b.inertia.zz, b.inertia.xy, b.inertia.xz, b.inertia.yz];
        json!({
            "name": b.name, "parent": body(b.parent), "mass": b.mass, "com": [b.com.x, b.com.y, b.com.z],
            "inertia": inertia,
        })
    });
    let joints = model.joints.iter().zip(&coordinates.joints).map(|(joint, place)| {
        let kind = match joint.kind {
            JointKind::Free => "free",
            JointKind::Ball => "ball",
            JointKind::Hinge => "hinge",
            JointKind::Slide => "slide",
        };
        json!({
            "name": joint.name, "body": body(joint.body), "kind": kind, "qpos": place.map(|(q, _)| q),
            "qvel": place.map(|(_, v)| v), "range": joint.range, "damping": joint.damping,
            "stiffness": joint.stiffness, "armature": joint.armature,
        })
    });
    let geoms = model.geoms.iter().map(|geom| {
        json!({ "name": geom.name, "body": body(geom.body), "friction": geom.friction, "rgba": geom.rgba })
    });
    let told = json!({
        "name": model.name,
        "timestep": dt,
        "nq": coordinates.nq,
        "nv": coordinates.nv,
        "nu": model.actuators.len(),
        "na": coordinates.activations(),
        "bodies": bodies.collect::<Vec<_>>(),
        "joints": joints.collect::<Vec<_>>(),
        "geoms": geoms.collect::<Vec<_>>(),
        "sites": names(&mut model.sites.iter().map(|x| &x.name)),
        "tendons": names(&mut model.tendons.iter().map(|x| &x.name)),
        "actuators": names(&mut model.actuators.iter().map(|x| &x.name)),
        "sensors": names(&mut model.sensors.iter().map(|x| &x.name)),
        "cameras": names(&mut model.cameras.iter().map(|x| &x.name)),
        "keyframes": names(&mut model.keyframes.iter().map(|x| &x.name)),
        "notes": model.notes,
    });
    Ok(told.to_string())
}
