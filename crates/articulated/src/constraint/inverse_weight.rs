//! Inverse weights: how much a unit force accelerates each body and degree of freedom at the reference
//! configuration, by which constraints approximate the inertia they see (`body_invweight0`,
//! `dof_invweight0` of MuJoCo).

use pullback_math::{Motion, Vec3};

use crate::kinematics::Kinematics;
use crate::mass_matrix::MassMatrix;
use crate::model::{JointKind, Model};
use crate::params::ParamIndex;
use crate::tendon::{TendonInputs, TendonState, Tendons};
use crate::tree::Tree;

/// Inverse weights of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct InverseWeights {
    /// Translation and rotation of each body, 1/kg and 1/(kg m²); zeros for bodies that do not move.
    pub bodies: Vec<[f64; 2]>,
    /// Each degree of freedom, averaged over the three of a ball joint and over each three of a free joint.
    pub dofs: Vec<f64>,
    /// Each tendon, 1/kg.
    pub tendons: Vec<f64>,
    /// Length of each tendon in the reference configuration.
    pub tendon_lengths: Vec<f64>,
}

impl InverseWeights {
    /// Those of a compiled model whose parameters begin with `params`.
    pub fn new(model: &Model, tree: &Tree, index: &ParamIndex, tendons: &Tendons, params: &[f64]) -> Self {
        let mut kinematics = Kinematics::new(tree);
        let q = model.reference_configuration();
        kinematics.update(model, tree, index, params, (&q, &[]));
        let mut mass = MassMatrix::new(tree);
        mass.update(tree, &kinematics);
        for joint in &model.joints {
            for k in joint.v..joint.v + joint.kind.velocities() {
                mass.add_diagonal(tree, k, joint.armature);
            }
        }
        let (v, velocities) = (vec![0.0; model.nv], vec![Motion::zero(); model.bodies.len()]);
        let inputs = TendonInputs {
            model,
            tree,
            index,
            params,
            kinematics: &kinematics,
            q: &q,
            v: &v,
            velocities: &velocities,
        };
        let mut state = TendonState::new(tendons, tree);
        tendons.update(&inputs, &mut state);
        tendons.add_inertia(&inputs, &mut state, &mut mass);
        mass.factorize(tree);

        let mut bodies = vec![[0.0; 2]; model.bodies.len()];
        let mut dofs = vec![0.0; model.nv];
        // xᵀ M⁻¹ x
        let mut solved = vec![0.0; model.nv];
        let mut seen = |x: &[f64]| {
            solved.copy_from_slice(x);
            mass.solve(tree, &mut solved);
            x.iter().zip(&solved).map(|(x, y)| x * y).sum::<f64>()
        };
        let mut row = vec![0.0; model.nv];
        for b in 1..model.bodies.len() {
            let pose = kinematics.world_from_body[b];
            let at = pose.point(model.bodies[b].com) - kinematics.origins[b];
            for axis in 0..3 {
                let unit = Vec3::new(f64::from(axis == 0), f64::from(axis == 1), f64::from(axis == 2));
                let parts: [&dyn Fn(Motion<f64>) -> f64; 2] =
                    [&|s| s.velocity_at(at).dot(unit), &|s| s.angular.dot(unit)];
                for (total, part) in bodies[b].iter_mut().zip(parts) {
                    row.fill(0.0);
                    kinematics.for_each_dof_above(tree, b, |k| row[k] = part(kinematics.axes[k]));
                    *total += seen(&row) / 3.0;
                }
            }
        }
        for joint in &model.joints {
            let n = joint.kind.velocities();
            for first in (joint.v..joint.v + n).step_by(3) {
                let group = first..(first + 3).min(joint.v + n);
                let mut mean = 0.0;
                for k in group.clone() {
                    row.fill(0.0);
                    row[k] = 1.0;
                    mean += seen(&row) / group.len() as f64;
                }
                dofs[group].fill(mean);
            }
        }
        for b in (1..model.bodies.len()).filter(|b| is_point_mass(model, *b)) {
            bodies[b] = [1.0 / model.bodies[b].mass, 0.0];
            model.joints_of(b).for_each(|j| dofs[j.v] = 1.0 / model.bodies[b].mass);
        }
        let mut of_tendon = |t: usize| {
            row.fill(0.0);
            tendons.add_row(&inputs, &state.spans, t, 1.0, &mut row);
            seen(&row)
        };
        let of_tendons = (0..model.tendons.len()).map(&mut of_tendon).collect();
        InverseWeights { bodies, dofs, tendons: of_tendons, tendon_lengths: state.length }
    }
}

/// Whether a body only slides along the world's axes and carries nothing: MuJoCo then leaves armature out.
fn is_point_mass(model: &Model, b: usize) -> bool {
    let body = &model.bodies[b];
    let aligned = |v: Vec3<f64>| [v.x, v.y, v.z].iter().filter(|x| x.abs() > 0.0).count() == 1;
    let slides =
        model.joints_of(b).all(|j| j.kind == JointKind::Slide && aligned(j.axis) && j.anchor == Vec3::zero());
    let parent = &model.bodies[body.parent];
    let on_ground = body.parent == 0 || (parent.parent == 0 && model.joints_of(body.parent).next().is_none());
    let i = body.inertia;
    model.joints_of(b).next().is_some()
        && slides
        && on_ground
        && model.bodies.iter().skip(1).all(|other| other.parent != b)
        && body.com == Vec3::zero()
        && [i.xy, i.xz, i.yz] == [0.0; 3]
}
