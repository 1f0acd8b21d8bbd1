//! Inertias that no rigid body has: refused by name, or corrected on request.
//!
//! The second moments of mass of a body, Σ = ½ tr(I) 1 − I, have no negative eigenvalue; so no principal
//! moment of I is negative or above the sum of the others. [`UrdfOptions::fix_inertia`] sets the negative
//! eigenvalues of Σ to zero, which is the nearest Σ of a body, and takes I = tr(Σ) 1 − Σ. Mass, center and
//! principal axes stay; of moments a ≤ b < c with c > a + b, c stays and a and b rise by (c − a − b) / 2.
//!
//! A joint that moves no mass, or turns what has no inertia about its axis, leaves the mass matrix singular.
//! `fix_inertia` gives the body of such a joint at least [`LEAST_MASS`] and adds [`LEAST_MOMENT`] about every
//! axis.
//!
//! Links that do not move are not looked at: their inertia acts on nothing.

use std::collections::HashSet;

use pullback_articulated::model::{Joint, JointKind, Model};
use pullback_math::{SymMat3, Vec3, symmetric_eigen, symmetric_eigenvalues};

use super::joint::Motion;
use super::link::Link;
use super::read::{Reader, Robot};
use crate::ImportError;

/// Slack of the checks relative to the trace; files are written with few digits.
const SLACK: f64 = 1e-6;
/// Mass given to what has none, kg.
const LEAST_MASS: f64 = 1e-3;
/// Principal moments given to what has none, kg m².
const LEAST_MOMENT: f64 = 1e-6;
/// Inertia about an axis, relative to that about a point a meter away, below which it counts as none.
const NO_INERTIA: f64 = 1e-15;

const REMEDY: &str = "correct it or let --fix-inertia do so";

/// Checks or corrects the inertia of every link that moves; `order` holds parents before children.
pub(super) fn settle(
    robot: &mut Robot,
    order: &[(usize, Option<usize>)],
    reader: &Reader,
) -> Result<(), ImportError> {
    let (mut moving, mut corrected) = (HashSet::new(), Vec::new());
    for &(l, by) in order {
        let moves = match by.map(|j| &robot.joints[j]) {
            None => reader.options.floating_base,
            Some(joint) => joint.motion != Motion::Fixed || moving.contains(joint.parent.as_str()),
        };
        let link = &mut robot.links[l];
        if !moves {
            continue;
        }
        moving.insert(link.name.clone());
        let Err(why) = check(link) else { continue };
        if !reader.options.fix_inertia {
            return Err(ImportError::new(&link.place, format!("link `{}` {why}; {REMEDY}", link.name)));
        }
        corrected.push(link.name.clone());
        link.inertia = nearest(link.inertia);
    }
    note(&corrected, "had an inertia that no body has", robot, reader);
    Ok(())
}

/// One note for all links that were corrected for the same reason.
fn note(links: &[String], why: &str, robot: &Robot, reader: &Reader) {
    if !links.is_empty() {
        let names = links.iter().map(|l| format!("`{l}`")).collect::<Vec<_>>().join(", ");
        reader.notes.add(&robot.place, format!("corrected by --fix-inertia, since it {why}: {names}"));
    }
}

/// What is wrong with an inertia, if something is.
fn check(link: &Link) -> Result<(), String> {
    let moments = symmetric_eigenvalues(link.inertia);
    let Vec3 { x, y, z } = moments;
    let slack = SLACK * (x.abs() + y.abs() + z.abs());
    if z < -slack {
        return Err(format!("has the negative principal moment {z:e} kg m²"));
    }
    if x > y + z + slack {
        return Err(format!(
            "has principal moments {x:e}, {y:e}, {z:e} kg m², and no body has one above the sum of the others"
        ));
    }
    Ok(())
}

/// The inertia of the nearest second moments that a body has.
fn nearest(inertia: SymMat3<f64>) -> SymMat3<f64> {
    let found = symmetric_eigen(inertia);
    let half = inertia.trace() / 2.0;
    // Σ = ½ tr(I) 1 − I shares the axes of I.
    let second = found.values.map(|moment| (half - moment).max(0.0));
    let trace = second.x + second.y + second.z;
    SymMat3::diagonal(second.map(|s| trace - s)).congruence(found.vectors)
}

/// Checks or corrects that every joint of the model moves a mass and turns an inertia.
pub(super) fn settle_joints(model: &mut Model, robot: &Robot, reader: &Reader) -> Result<(), ImportError> {
    let mut corrected = Vec::new();
    for (joint, lack) in idle(model) {
        let (name, body) = (model.joints[joint].name.clone(), model.joints[joint].body);
        let link = &model.bodies[body].name;
        let place = robot.links.iter().find(|l| l.name == *link).map_or(&robot.place, |l| &l.place);
        let why = format!("joint `{name}` moves `{link}`, which has no {lack}");
        if !reader.options.fix_inertia {
            return Err(ImportError::new(
                place,
                format!("{why}; give it an `inertial` or let --fix-inertia do so"),
            ));
        }
        corrected.push(link.clone());
        let body = &mut model.bodies[body];
        body.mass = body.mass.max(LEAST_MASS);
        body.inertia += SymMat3::identity() * LEAST_MOMENT;
    }
    note(&corrected, "had no mass or no inertia for its joint to move", robot, reader);
    Ok(())
}

/// Joints that, where the robot stands as described, move no mass or turn no inertia.
fn idle(model: &Model) -> Vec<(usize, &'static str)> {
    // Mass, first moment and inertia about the origin of the world of what hangs on each body.
    let poses = model.reference_poses();
    let mut hanging: Vec<(f64, Vec3<f64>, SymMat3<f64>)> = Vec::new();
    for (body, (position, orientation)) in model.bodies.iter().zip(&poses) {
        let com = *position + orientation.rotate(body.com);
        let inertia = body.inertia.congruence(orientation.to_mat3());
        hanging.push((body.mass, com * body.mass, inertia + SymMat3::point_inertia(com) * body.mass));
    }
    for i in (1..model.bodies.len()).rev() {
        let ((mass, first, inertia), parent) = (hanging[i], &mut hanging[model.bodies[i].parent]);
        *parent = (parent.0 + mass, parent.1 + first, parent.2 + inertia);
    }
    let lacks = |joint: &Joint| {
        let (mass, first, inertia) = hanging[joint.body];
        let (position, orientation) = poses[joint.body];
        if mass == 0.0 && matches!(joint.kind, JointKind::Slide | JointKind::Free) {
            return Some("mass");
        }
        let about = |p: Vec3<f64>| {
            // P(c − p) = P(c) − [P(c + p) − P(c) − P(p)] + P(p), summed over masses at c
            let crossed =
                SymMat3::point_inertia(first + p) - SymMat3::point_inertia(first) - SymMat3::point_inertia(p);
            inertia - crossed + SymMat3::point_inertia(p) * mass
        };
        let anchor = position + orientation.rotate(joint.anchor);
        let axis = orientation.rotate(joint.axis);
        let least = match joint.kind {
            JointKind::Slide => return None,
            JointKind::Hinge => axis.dot(about(anchor).to_mat3() * axis),
            JointKind::Ball => symmetric_eigenvalues(about(anchor)).z,
            JointKind::Free => symmetric_eigenvalues(about(first * (1.0 / mass))).z,
        };
        let scale = inertia.trace().abs() + mass * (1.0 + anchor.dot(anchor));
        (least <= NO_INERTIA * scale).then_some(if mass == 0.0 { "mass" } else { "inertia about its axis" })
    };
    model.joints.iter().enumerate().filter_map(|(i, joint)| Some((i, lacks(joint)?))).collect()
}
