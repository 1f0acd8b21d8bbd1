//! Quantities of an evaluation under MuJoCo's names, for looking at: mass matrix, forces of joints, of gravity
//! compensation and of constraints.

use pullback_math::{Motion, Real, Vec3};

use super::contact::ContactSolverWorkspace;
use super::field::Articulated;
use super::rnea::Push;
use super::workspace::ArticulatedWorkspace;

impl<T: Real> ArticulatedWorkspace<T> {
    /// Generalized forces of springs, dampers, limits and actuators.
    pub fn joint_forces(&self) -> Vec<T> {
        self.passive.iter().zip(&self.actuation).map(|(passive, active)| *passive + *active).collect()
    }
}

impl Articulated {
    /// The mass matrix last computed, row by row.
    pub fn mass_matrix<T: Real>(&self, ws: &ArticulatedWorkspace<T>, params: &[T]) -> Vec<T> {
        match &self.coupling {
            None => ws.mass.dense(&self.tree),
            Some(coupling) => coupling.mass_matrix(&self.tree, params, &ws.mass),
        }
    }

    /// A generalized force on the velocities of the state, from one on those of all joints.
    pub fn generalized_force<T: Real>(&self, params: &[T], full: &[T]) -> Vec<T> {
        match &self.coupling {
            None => full.to_vec(),
            Some(coupling) => coupling.reduce(params, full),
        }
    }

    /// The generalized force that carries a part of the bodies' weight (`qfrc_gravcomp`), at the poses last
    /// computed.
    pub fn gravity_compensation<T: Real>(&self, ws: &ArticulatedWorkspace<T>, params: &[T]) -> Vec<T> {
        let mut force = vec![T::zero(); self.model.nv];
        let gravity = self.index.gravity.read(params);
        for (body, part) in &self.index.compensation {
            let acceleration = Motion::new(Vec3::zero(), gravity * part.read(params)[0]);
            let carried = ws.kinematics.inertias[*body] * acceleration;
            let axes = &ws.kinematics.axes;
            ws.kinematics.for_each_dof_above(&self.tree, *body, |k| force[k] -= axes[k].dot(carried));
        }
        force
    }

    /// The generalized force of the medium (`qfrc_fluid`), at the state last evaluated.
    pub fn fluid_force<T: Real>(&self, ws: &ArticulatedWorkspace<T>, params: &[T]) -> Vec<T> {
        let (mut force, kinematics) = (vec![T::zero(); self.model.nv], &ws.kinematics);
        let mut pushes = vec![Push::default(); self.tree.bodies()];
        self.fluid_push(kinematics, params, &ws.sweep.velocities, &mut pushes);
        for (body, push) in pushes.into_iter().enumerate() {
            let about = push.about(kinematics.arm(body));
            kinematics.for_each_dof_above(&self.tree, body, |k| force[k] += kinematics.axes[k].dot(about));
        }
        force
    }

    /// The generalized force of the constraints last solved (`qfrc_constraint`).
    pub fn constraint_force<T: Real>(&self, ws: &ArticulatedWorkspace<T>) -> Vec<T> {
        let mut force = vec![T::zero(); self.model.nv];
        match &ws.resolve {
            ContactSolverWorkspace::Penalty(_) => {}
            ContactSolverWorkspace::Convex(convex) => {
                let groups = convex.newton.islands.all_groups();
                convex.set.subtract_forces(groups, &mut vec![T::zero(); self.model.nv], &mut force);
            }
            ContactSolverWorkspace::Complementarity(complementarity) => {
                let set = &complementarity.set;
                for (i, block) in set.blocks.iter().enumerate() {
                    let (dofs, jacobian) = (set.dofs(i), set.jacobian(i));
                    for (row, f) in jacobian.chunks(dofs.len()).zip(&set.force[block.row..]) {
                        row.iter().zip(dofs).for_each(|(entry, k)| force[*k] -= *entry * *f);
                    }
                }
            }
        }
        force.into_iter().map(|f| -f).collect()
    }
}
