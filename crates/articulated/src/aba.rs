//! Forward dynamics by the articulated-body algorithm (Featherstone, Rigid Body Dynamics Algorithms, chapter
//! 7).
//!
//! v̇ = ABA(q, v, τ) without forming the mass matrix: O(n) in the number of bodies, where composite bodies
//! with a sparse factorization cost O(n·depth). At the size of a robot the two are close;
//! [`Articulated`](super::Articulated) uses the latter, whose factors the pullback needs anyway, and this is
//! the independent check and the choice for long chains.
//!
//! In world axes about one point per tree, as everywhere here, articulated inertias are passed on by plain
//! sums.

use pullback_math::{Force, Motion, Real, Vec3};

use super::kinematics::Kinematics;
use super::rnea::{Sweep, SweepInputs};

/// A symmetric 6×6 matrix from motions to forces, stored whole: rows are (moment, force), columns (angular,
/// linear).
type Matrix6<T> = [[T; 6]; 6];

/// Memory of the sweeps.
#[derive(Clone, Debug)]
pub struct ArticulatedBodies<T> {
    inertias: Vec<Matrix6<T>>,
    biases: Vec<Force<T>>,
    /// U = I^A S, D⁻¹, and u = τ − S·p^A of each degree of freedom.
    columns: Vec<Force<T>>,
    inverses: Vec<T>,
    drives: Vec<T>,
    accelerations: Vec<Motion<T>>,
}

impl<T: Real> ArticulatedBodies<T> {
    /// Memory for a model of `bodies` bodies and `dofs` degrees of freedom.
    pub fn new(bodies: usize, dofs: usize) -> Self {
        ArticulatedBodies {
            inertias: vec![[[T::zero(); 6]; 6]; bodies],
            biases: vec![Force::zero(); bodies],
            columns: vec![Force::zero(); dofs],
            inverses: vec![T::zero(); dofs],
            drives: vec![T::zero(); dofs],
            accelerations: vec![Motion::zero(); bodies],
        }
    }
}

/// v̇ for generalized forces `tau`; `armature` is added to the diagonal, `sweep` lends its velocities.
pub fn forward_dynamics<T: Real>(
    at: &SweepInputs<'_, T>,
    armature: &[T],
    tau: &[T],
    sweep: &mut Sweep<T>,
    bodies: &mut ArticulatedBodies<T>,
    acceleration: &mut [T],
) {
    let SweepInputs { tree, kinematics, v, gravity, external, .. } = *at;
    let n = tree.bodies();

    // Outwards: velocities and rigid-body forces.
    for b in 1..n {
        let mut velocity = sweep.velocities[tree.parent[b]];
        for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
            velocity += kinematics.axes[k] * v[k];
        }
        sweep.velocities[b] = velocity;
        let inertia = kinematics.inertias[b];
        bodies.inertias[b] = rigid_body_inertia(kinematics, b);
        bodies.biases[b] = velocity.cross_force(inertia * velocity);
        if let Some(part) = at.compensation.get(b) {
            bodies.biases[b] += inertia * Motion::new(Vec3::zero(), gravity * *part);
        }
        if let Some(push) = external.get(b) {
            let arm = kinematics.arm(b);
            bodies.biases[b] -= Force::new(push.torque + arm.cross(push.force), push.force);
        }
    }

    // Inwards: articulated inertias. c = v₀ × S v of a group goes to the degree of freedom nearest the
    // parent.
    for b in (1..n).rev() {
        let (mut inertia, mut bias) = (bodies.inertias[b], bodies.biases[b]);
        for group in tree.groups[b].iter().rev() {
            for k in group.dofs.clone().rev() {
                let axis = kinematics.axes[k];
                let column = apply(&inertia, axis);
                let inverse = (axis.dot(column) + armature[k]).recip();
                let drive = tau[k] - axis.dot(bias);
                (bodies.columns[k], bodies.inverses[k], bodies.drives[k]) = (column, inverse, drive);
                // I^a = I^A − U Uᵀ / D,  p^a = p^A + U u / D
                subtract_outer(&mut inertia, column, inverse);
                bias += column * (drive * inverse);
            }
            bias += apply(&inertia, velocity_product(at, sweep, b, group));
        }
        let parent = tree.parent[b];
        if parent != 0 {
            add(&mut bodies.inertias[parent], &inertia);
            bodies.biases[parent] += bias;
        }
    }

    // Outwards: accelerations.
    bodies.accelerations[0] = Motion::new(Vec3::zero(), -gravity);
    for b in 1..n {
        let mut accel = bodies.accelerations[tree.parent[b]];
        for group in &tree.groups[b] {
            accel += velocity_product(at, sweep, b, group);
            for k in group.dofs.clone() {
                // v̇ = (u − U·a) / D
                acceleration[k] = (bodies.drives[k] - accel.dot(bodies.columns[k])) * bodies.inverses[k];
                accel += kinematics.axes[k] * acceleration[k];
            }
        }
        bodies.accelerations[b] = accel;
    }
}

/// v₀ × S v, with v₀ the velocity before the group.
fn velocity_product<T: Real>(
    at: &SweepInputs<'_, T>,
    sweep: &Sweep<T>,
    body: usize,
    group: &super::tree::Group,
) -> Motion<T> {
    let mut before = sweep.velocities[at.tree.parent[body]];
    let mut own = Motion::zero();
    for k in at.tree.groups[body].iter().flat_map(|g| g.dofs.clone()) {
        let part = at.kinematics.axes[k] * at.v[k];
        if k < group.dofs.start {
            before += part;
        } else if k < group.dofs.end {
            own += part;
        }
    }
    before.cross_motion(own)
}

/// [I, [h]; −[h], m 1] of a rigid body.
fn rigid_body_inertia<T: Real>(kinematics: &Kinematics<T>, body: usize) -> Matrix6<T> {
    let i = kinematics.inertias[body];
    let (h, m, r, o) = (i.first_moment, i.mass, i.rotational, T::zero());
    [
        [r.xx, r.xy, r.xz, o, -h.z, h.y],
        [r.xy, r.yy, r.yz, h.z, o, -h.x],
        [r.xz, r.yz, r.zz, -h.y, h.x, o],
        [o, h.z, -h.y, m, o, o],
        [-h.z, o, h.x, o, m, o],
        [h.y, -h.x, o, o, o, m],
    ]
}

fn apply<T: Real>(a: &Matrix6<T>, m: Motion<T>) -> Force<T> {
    let x = [m.angular.x, m.angular.y, m.angular.z, m.linear.x, m.linear.y, m.linear.z];
    let row = |i: usize| {
        let mut sum = a[i][0] * x[0];
        for j in 1..6 {
            sum += a[i][j] * x[j];
        }
        sum
    };
    Force::new(Vec3::new(row(0), row(1), row(2)), Vec3::new(row(3), row(4), row(5)))
}

fn subtract_outer<T: Real>(a: &mut Matrix6<T>, f: Force<T>, scale: T) {
    let x = [f.moment.x, f.moment.y, f.moment.z, f.force.x, f.force.y, f.force.z];
    for i in 0..6 {
        let scaled = x[i] * scale;
        for j in 0..6 {
            a[i][j] -= scaled * x[j];
        }
    }
}

fn add<T: Real>(a: &mut Matrix6<T>, b: &Matrix6<T>) {
    for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
        *a += *b;
    }
}
