//! Forces of the contacts of an evaluation, for looking at.

use pullback_collision::{Contact, INACTIVE};
use pullback_math::Vec3;

use super::ContactSolverWorkspace;
use super::penalty::contact_force;
use crate::constraint::contact::contact_frame;
use crate::constraint::set::{ConstraintSet, Source};
use crate::field::Articulated;
use crate::model::FrictionDirections;
use crate::workspace::ArticulatedWorkspace;

/// A contact and its force.
#[derive(Clone, Copy, Debug)]
pub struct ContactForce {
    /// The two geoms; the normal points from the first to the second.
    pub geoms: (usize, usize),
    /// Where and how deep they touch.
    pub contact: Contact<f64>,
    /// The force on the body of the second geom, N; the first one's has the opposite sign.
    pub force: Vec3<f64>,
}

impl Articulated {
    /// The contacts of the last evaluation that overlap or push, with their forces. Where impulses of friction
    /// follow the slip, whose direction is not kept, the force is the normal one.
    pub fn contact_forces(&self, ws: &ArticulatedWorkspace<f64>, params: &[f64]) -> Vec<ContactForce> {
        let geoms = self.geoms(&ws.kinematics, params);
        let mut forces = vec![Vec3::zero(); ws.contacts.contacts().len()];
        match &ws.resolve {
            ContactSolverWorkspace::Penalty(_) => {
                for pair in ws.contacts.pairs() {
                    for slot in pair.contacts() {
                        let contact = &ws.contacts.contacts()[slot];
                        forces[slot] = contact_force(&geoms, pair, contact, &ws.sweep.velocities);
                    }
                }
            }
            ContactSolverWorkspace::Convex(convex) => {
                self.row_forces(ws, params, (&convex.set, 3), &mut forces)
            }
            ContactSolverWorkspace::Complementarity(solved) => {
                let along_slip = self.model.options.complementarity.friction == FrictionDirections::AlongSlip;
                let rows = if along_slip { 1 } else { 3 };
                self.row_forces(ws, params, (&solved.set, rows), &mut forces);
            }
        }
        let found =
            ws.contacts.pairs().iter().flat_map(|pair| pair.contacts().map(|slot| (pair.geoms, slot)));
        found
            .map(|(geoms, slot)| ContactForce {
                geoms,
                contact: ws.contacts.contacts()[slot],
                force: forces[slot],
            })
            .filter(|found| found.contact.distance < 0.5 * INACTIVE)
            .filter(|found| found.contact.distance < 0.0 || found.force != Vec3::zero())
            .collect()
    }

    /// Forces of the contacts of a set by slot, from at most so many rows along the axes of each.
    fn row_forces(
        &self,
        ws: &ArticulatedWorkspace<f64>,
        params: &[f64],
        (set, rows): (&ConstraintSet<f64>, usize),
        forces: &mut [Vec3<f64>],
    ) {
        let geoms = self.geoms(&ws.kinematics, params);
        for block in &set.blocks {
            let Source::Contact { pair, slot } = block.source else { continue };
            let axes = contact_frame(&geoms, &ws.contacts, &ws.contacts.pairs()[pair], slot);
            let along = set.force[block.row..block.row + block.dim.min(rows)].iter();
            forces[slot] = along.zip(axes).fold(Vec3::zero(), |sum, (force, axis)| sum + axis * *force);
        }
    }
}
