//! From links and joints to a model.

use std::collections::HashMap;
use std::path::Path;

use pullback_articulated::model::{
    Actuator, Body, ContactModel, Joint as ModelJoint, JointKind, Model, Site,
};
use pullback_math::{SymMat3, Vec3};

use super::collide::Collider;
use super::joint::{Joint, Motion};
use super::link::Link;
use super::pose::Pose;
use super::read::{Reader, Robot};
use super::{UrdfOptions, inertia, mimic, tree};
use crate::{ImportError, Place};

/// Where a link ended up.
#[derive(Clone, Copy)]
struct Placed {
    body: usize,
    body_from_link: Pose,
}

pub(super) fn model(mut robot: Robot, folder: &Path, reader: &Reader) -> Result<Model, ImportError> {
    let options = reader.options;
    let at = |place: &Place| {
        let place = place.clone();
        move |why: String| ImportError::new(&place, why)
    };
    let order = tree::order(&robot)?;
    mimic::settle(&mut robot, reader)?;
    inertia::settle(&mut robot, &order, reader)?;
    let mut model = Model::new(robot.name.clone());
    let mut collider = Collider::new(folder, reader);
    let mut placed: HashMap<&str, Placed> = HashMap::new();
    for (l, by) in order {
        let link = &robot.links[l];
        let here = match by.map(|j| &robot.joints[j]) {
            None => root(&mut model, link, options).map_err(at(&link.place))?,
            Some(joint) => {
                let parent = placed[joint.parent.as_str()];
                child(&mut model, link, joint, parent, options).map_err(at(&joint.place))?
            }
        };
        if options.collisions {
            collider.add(&mut model, link, here.body, here.body_from_link)?;
        }
        placed.insert(&link.name, here);
    }
    // Fused links may add geoms to bodies that already have younger brothers.
    model.geoms.sort_by_key(|g| g.body);
    inertia::settle_joints(&mut model, &robot, reader)?;
    mimic::add(&mut model, &robot);
    limit_efforts(&mut model, &robot);
    model.options.contact_model = ContactModel::Convex;
    if options.effort_motors {
        motors(&mut model, &robot);
    }
    model.compile().map_err(|e| ImportError::new(&robot.place, e.0))
}

fn body(link: &Link, parent: usize, parent_from_link: Pose) -> Body {
    Body {
        name: link.name.clone(),
        parent,
        position: parent_from_link.position,
        orientation: parent_from_link.orientation,
        mass: link.mass,
        com: link.com,
        inertia: link.inertia,
        ..Body::default()
    }
}

fn root(model: &mut Model, link: &Link, options: &UrdfOptions) -> Result<Placed, String> {
    let body_from_link = Pose::identity();
    if link.name == "world" {
        return match options.floating_base {
            true => Err("the root `world` cannot float; join the robot by a floating joint instead".into()),
            // What is fixed in the world has no use for a mass.
            false => Ok(Placed { body: 0, body_from_link }),
        };
    }
    model.bodies.push(body(link, 0, Pose::identity()));
    if options.floating_base {
        model.joints.push(ModelJoint::new("floating_base", 1, JointKind::Free, Vec3::zero()));
    }
    Ok(Placed { body: 1, body_from_link })
}

fn child(
    model: &mut Model,
    link: &Link,
    by: &Joint,
    parent: Placed,
    options: &UrdfOptions,
) -> Result<Placed, String> {
    if link.name == "world" {
        return Err("the link `world` must be the root; rename it or turn the joint round".into());
    }
    let parent_from_link = parent.body_from_link.compose(by.parent_from_child);
    if by.motion == Motion::Fixed && options.fuse_fixed {
        fuse(model, link, parent.body, parent_from_link);
        return Ok(Placed { body: parent.body, body_from_link: parent_from_link });
    }

    let index = model.bodies.len();
    let new = |name: &str, kind, axis| ModelJoint {
        damping: by.damping,
        frictionloss: by.friction,
        range: by.range,
        ..ModelJoint::new(name, index, kind, axis)
    };
    let here = Placed { body: index, body_from_link: Pose::identity() };
    match by.motion {
        Motion::Fixed => {}
        Motion::Revolute | Motion::Continuous => model.joints.push(new(&by.name, JointKind::Hinge, by.axis)),
        Motion::Prismatic => model.joints.push(new(&by.name, JointKind::Slide, by.axis)),
        Motion::Planar => {
            let (x, y) = orthogonal_axes(by.axis);
            model.joints.push(new(&format!("{}_x", by.name), JointKind::Slide, x));
            model.joints.push(new(&format!("{}_y", by.name), JointKind::Slide, y));
            model.joints.push(new(&by.name, JointKind::Hinge, by.axis));
        }
        Motion::Spherical => model.joints.push(new(&by.name, JointKind::Ball, Vec3::zero())),
        Motion::Floating => {
            if let Some(world_from_parent) = fixed_in_world(model, parent.body) {
                let world_from_link = world_from_parent.compose(parent_from_link);
                model.joints.push(new(&by.name, JointKind::Free, Vec3::zero()));
                model.bodies.push(body(link, 0, world_from_link));
                return Ok(here);
            }
            // Free joints are children of the world; below what moves, three slides and a ball do the same.
            for (suffix, axis) in [("x", [1.0, 0.0, 0.0]), ("y", [0.0, 1.0, 0.0]), ("z", [0.0, 0.0, 1.0])] {
                let name = format!("{}_{suffix}", by.name);
                model.joints.push(new(&name, JointKind::Slide, Vec3::new(axis[0], axis[1], axis[2])));
            }
            model.joints.push(new(&by.name, JointKind::Ball, Vec3::zero()));
        }
    }
    model.bodies.push(body(link, parent.body, parent_from_link));
    Ok(here)
}

/// Two unit vectors that make a right-handed frame with the axis; x and y for the axis z.
fn orthogonal_axes(axis: Vec3<f64>) -> (Vec3<f64>, Vec3<f64>) {
    let near_x = axis.x.abs() > 0.9;
    let start = if near_x { Vec3::new(0.0, 1.0, 0.0) } else { Vec3::new(1.0, 0.0, 0.0) };
    let x = (start - axis * axis.dot(start)).normalize();
    (x, axis.cross(x))
}

/// The placement of a body that no joint moves.
fn fixed_in_world(model: &Model, body: usize) -> Option<Pose> {
    let mut world_from_body = Pose::identity();
    let mut b = body;
    while b != 0 {
        if model.joints_of(b).next().is_some() {
            return None;
        }
        let here = &model.bodies[b];
        let parent_from_b = Pose { position: here.position, orientation: here.orientation };
        world_from_body = parent_from_b.compose(world_from_body);
        b = here.parent;
    }
    Some(world_from_body)
}

/// Adds mass and inertia of a link to a body and leaves a site where the link was.
fn fuse(model: &mut Model, link: &Link, into: usize, body_from_link: Pose) {
    model.sites.push(Site {
        position: body_from_link.position,
        orientation: body_from_link.orientation,
        ..Site::new(link.name.clone(), into)
    });
    let body = &mut model.bodies[into];
    let added = link.inertia.congruence(body_from_link.orientation.to_mat3());
    let mass = body.mass + link.mass;
    if into == 0 {
        return;
    }
    if mass == 0.0 {
        body.inertia += added;
        return;
    }
    let added_com = body_from_link.position + body_from_link.orientation.rotate(link.com);
    let com = (body.com * body.mass + added_com * link.mass) * (1.0 / mass);
    // Steiner: I + m (|d|² 1 − d dᵀ)
    let moved = |inertia: SymMat3<f64>, m: f64, at: Vec3<f64>| inertia + SymMat3::point_inertia(at - com) * m;
    body.inertia = moved(body.inertia, body.mass, body.com) + moved(added, link.mass, added_com);
    (body.mass, body.com) = (mass, com);
}

/// A positive effort limits the sum of all actuator forces on a joint; of a planar joint, as in MuJoCo, those
/// on its first slide.
fn limit_efforts(model: &mut Model, robot: &Robot) {
    let name_of = |j: &Joint| match j.motion {
        Motion::Planar => format!("{}_x", j.name),
        _ => j.name.clone(),
    };
    let limited = robot.joints.iter().filter_map(|j| Some((name_of(j), j.effort.filter(|e| *e > 0.0)?)));
    let efforts: HashMap<String, f64> = limited.collect();
    for joint in model.joints.iter_mut().filter(|j| j.kind.coordinates() == 1) {
        joint.actuator_force_range = efforts.get(&joint.name).map(|effort| (-effort, *effort));
    }
}

fn motors(model: &mut Model, robot: &Robot) {
    for joint in &robot.joints {
        let Some(effort) = joint.effort.filter(|e| *e > 0.0) else { continue };
        let Some(target) = model.joints.iter().position(|j| j.name == joint.name) else { continue };
        if model.joints[target].kind.coordinates() != 1
            || joint.motion == Motion::Planar
            || joint.mimic.is_some()
        {
            continue;
        }
        model.actuators.push(Actuator {
            control_range: Some((-effort, effort)),
            force_range: Some((-effort, effort)),
            ..Actuator::motor(joint.name.clone(), target, 1.0)
        });
    }
}
