//! Placements and mass matrix of a model in the plainest way: body by body, M = Σ m JᵀJ + JωᵀIJω.

use pullback_articulated::model::{JointKind, Model};
use pullback_math::{Quat, Vec3};

/// A placement in the frame of a parent.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    pub position: Vec3<f64>,
    pub orientation: Quat<f64>,
}

impl Placement {
    pub fn then(self, inner: Placement) -> Placement {
        Placement { position: self.point(inner.position), orientation: self.orientation * inner.orientation }
    }
    pub fn point(self, p: Vec3<f64>) -> Vec3<f64> {
        self.position + self.orientation.rotate(p)
    }
}

/// Whether some joint moves the body.
pub fn moves(model: &Model, mut body: usize) -> bool {
    while body != 0 {
        if model.joints_of(body).next().is_some() {
            return true;
        }
        body = model.bodies[body].parent;
    }
    false
}

/// Placements of all bodies in the world.
pub fn placements(model: &Model, q: &[f64]) -> Vec<Placement> {
    let mut placed = vec![Placement { position: Vec3::zero(), orientation: Quat::identity() }];
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let described = Placement { position: body.position, orientation: body.orientation };
        let mut here = placed[body.parent].then(described);
        for joint in model.joints_of(b) {
            let c = &q[joint.q..];
            let zero = Vec3::zero();
            match joint.kind {
                JointKind::Free => {
                    here.position = Vec3::new(c[0], c[1], c[2]);
                    here.orientation = Quat::new(c[3], c[4], c[5], c[6]);
                }
                JointKind::Slide => {
                    here =
                        here.then(Placement { position: joint.axis * c[0], orientation: Quat::identity() });
                }
                JointKind::Hinge => {
                    let orientation = Quat::from_axis_angle(joint.axis, c[0]);
                    here = here.then(Placement { position: zero, orientation });
                }
                JointKind::Ball => {
                    let orientation = Quat::new(c[0], c[1], c[2], c[3]);
                    here = here.then(Placement { position: zero, orientation });
                }
            }
        }
        placed.push(here);
    }
    placed
}

/// Linear velocity of a point of `body` and angular velocity, per unit of velocity `v`, both in the world.
fn columns(
    model: &Model,
    placed: &[Placement],
    body: usize,
    point: Vec3<f64>,
) -> Vec<(usize, Vec3<f64>, Vec3<f64>)> {
    let mut columns = Vec::new();
    let mut b = body;
    while b != 0 {
        for joint in model.joints_of(b) {
            let (here, zero) = (placed[b], Vec3::zero());
            let arm = point - here.position;
            let axis = here.orientation.rotate(joint.axis);
            match joint.kind {
                JointKind::Hinge => columns.push((joint.v, axis.cross(arm), axis)),
                JointKind::Slide => {
                    // In URDF slides come before what turns the same body.
                    let before = placed[model.bodies[b].parent].orientation * model.bodies[b].orientation;
                    columns.push((joint.v, before.rotate(joint.axis), zero));
                }
                JointKind::Free | JointKind::Ball => {
                    let first_turn = joint.v + joint.kind.velocities() - 3;
                    for k in 0..3 {
                        let mut unit = zero;
                        unit[k] = 1.0;
                        let turn = here.orientation.rotate(unit);
                        if joint.kind == JointKind::Free {
                            columns.push((joint.v + k, unit, zero));
                        }
                        columns.push((first_turn + k, turn.cross(arm), turn));
                    }
                }
            }
        }
        b = model.bodies[b].parent;
    }
    columns
}

/// The joint-space mass matrix.
pub fn mass_matrix(model: &Model, q: &[f64]) -> Vec<Vec<f64>> {
    let placed = placements(model, q);
    let mut matrix = vec![vec![0.0; model.nv]; model.nv];
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let columns = columns(model, &placed, b, placed[b].point(body.com));
        let inertia = body.inertia.congruence(placed[b].orientation.to_mat3());
        for (i, linear_i, angular_i) in &columns {
            for (j, linear_j, angular_j) in &columns {
                matrix[*i][*j] += body.mass * linear_i.dot(*linear_j) + angular_i.dot(inertia * *angular_j);
            }
        }
    }
    matrix
}
