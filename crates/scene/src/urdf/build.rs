//! From links and joints to a model.

use std::collections::HashMap;
use std::path::Path;

use pullback_articulated::model::{
    Actuator, Body, ContactModel, Joint as ModelJoint, JointKind, Mimic, Model, Shape, Site,
};
use pullback_math::{SymMat3, Vec3, symmetric_eigenvalues};

use super::collide::Collider;
use super::read::{Joint, Link, Motion, Pose, Robot};
use super::{UrdfOptions, tree};
use crate::{ImportError, Place};

/// Slack of the checks of an inertia relative to its trace; files are written with few digits.
const INERTIA_SLACK: f64 = 1e-6;

/// Where a link ended up.
#[derive(Clone, Copy)]
struct Placed {
    body: usize,
    body_from_link: Pose,
}

pub(super) fn model(robot: &Robot, folder: &Path, options: &UrdfOptions) -> Result<Model, ImportError> {
    let at = |place: &Place| {
        let place = place.clone();
        move |why: String| ImportError::new(&place, why)
    };
    let order = tree::order(robot)?;
    let mut model = Model::new(robot.name.clone());
    let mut collider = Collider::new(folder, options);
    let mut placed: HashMap<&str, Placed> = HashMap::new();
    for (l, by) in order {
        let link = &robot.links[l];
        check_inertia(link, options).map_err(at(&link.place))?;
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
    check_masses(&model, robot)?;
    mimics(&mut model, robot)?;
    limit_efforts(&mut model, robot);
    model.options.contact_model = ContactModel::Convex;
    if options.effort_motors {
        motors(&mut model, robot);
    }
    model.compile().map_err(|e| ImportError::new(&robot.place, e.0))
}

fn check_inertia(link: &Link, options: &UrdfOptions) -> Result<(), String> {
    let moments = symmetric_eigenvalues(link.inertia);
    let slack = INERTIA_SLACK * (moments.x.abs() + moments.y.abs() + moments.z.abs());
    if options.allow_unphysical_inertia {
        return Ok(());
    }
    if moments.z < -slack {
        return Err(format!(
            "link `{}` has the negative principal moment {:e} kg m²; correct it or set `allow_unphysical_inertia`",
            link.name, moments.z
        ));
    }
    if moments.x > moments.y + moments.z + slack {
        return Err(format!(
            "link `{}` has principal moments {:e}, {:e}, {:e} kg m²; no body has one above the sum of the others; correct \
             them or set `allow_unphysical_inertia`",
            link.name, moments.x, moments.y, moments.z
        ));
    }
    Ok(())
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
        Motion::Floating => {
            let world_from_link = fixed_in_world(model, parent.body)
                .ok_or("a floating joint needs a parent that is fixed to the world")?
                .compose(parent_from_link);
            model.joints.push(new(&by.name, JointKind::Free, Vec3::zero()));
            model.bodies.push(body(link, 0, world_from_link));
            return Ok(here);
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
        name: link.name.clone(),
        body: into,
        position: body_from_link.position,
        orientation: body_from_link.orientation,
        shape: Shape::Sphere { radius: 0.005 },
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

/// What a joint moves has a mass, somewhere.
fn check_masses(model: &Model, robot: &Robot) -> Result<(), ImportError> {
    let mut below: Vec<f64> = model.bodies.iter().map(|b| b.mass).collect();
    for i in (1..below.len()).rev() {
        below[model.bodies[i].parent] += below[i];
    }
    match model.joints.iter().find(|j| below[j.body] == 0.0) {
        None => Ok(()),
        Some(joint) => {
            let name = &model.bodies[joint.body].name;
            let place = robot.links.iter().find(|l| l.name == *name).map_or(&robot.place, |l| &l.place);
            let reason =
                format!("joint `{}` moves `{name}`, which has no mass; give it an `inertial`", joint.name);
            Err(ImportError::new(place, reason))
        }
    }
}

fn mimics(model: &mut Model, robot: &Robot) -> Result<(), ImportError> {
    let index_of: HashMap<String, usize> =
        model.joints.iter().enumerate().map(|(i, j)| (j.name.clone(), i)).collect();
    for joint in &robot.joints {
        let Some((leader, multiplier, offset)) = &joint.mimic else { continue };
        let scalar =
            |name: &str| index_of.get(name).copied().filter(|i| model.joints[*i].kind.coordinates() == 1);
        match (scalar(&joint.name), scalar(leader)) {
            (Some(follower), Some(of)) if follower != of => {
                model.mimics.push(Mimic { joint: follower, of, multiplier: *multiplier, offset: *offset });
            }
            _ => {
                let reason = format!(
                    "joint `{}` cannot mimic `{leader}`: both must exist, differ, and turn or slide; correct it or allow \
                     `mimic` to let it move freely",
                    joint.name
                );
                return Err(ImportError::new(&joint.place, reason));
            }
        }
    }
    // Leaders of leaders end at a joint that follows none.
    let leader: HashMap<usize, usize> = model.mimics.iter().map(|m| (m.joint, m.of)).collect();
    for mimic in &model.mimics {
        let (mut at, mut steps) = (mimic.joint, 0);
        while let Some(next) = leader.get(&at) {
            (at, steps) = (*next, steps + 1);
            if steps > leader.len() {
                let name = &model.joints[mimic.joint].name;
                let place = robot.joints.iter().find(|j| j.name == *name).map_or(&robot.place, |j| &j.place);
                let reason =
                    format!("joint `{name}` mimics itself through others; let one of them move freely");
                return Err(ImportError::new(place, reason));
            }
        }
    }
    Ok(())
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
