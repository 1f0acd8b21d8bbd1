//! Bodies together: center of mass, momentum, energy.

use pullback_math::{Force, Motion, MulVjp, Quat, Real, SpatialInertia, Vec3, differentiable};

use super::{Sensed, SensorBars};
use crate::joint_forces::{rest_of, rotation_from, rotation_from_vjp};
use crate::kinematic_params::BodyPose;
use crate::model::{JointKind, SubtreeQuantity};
use crate::params::JointParams;
use crate::tendon::TendonSpring;

/// Energy of the spring of a tendon.
#[differentiable]
fn tendon_energy<T: Real>(length: T, p: TendonSpring<T>) -> T {
    let [lower, upper] = p.springlength;
    let stretch = (length - upper).max(T::zero()) + (length - lower).min(T::zero());
    p.stiffness * stretch * stretch * T::lit(0.5)
}

/// Mass, Σ m c and momentum of bodies.
struct Together<T> {
    mass: T,
    moment: Vec3<T>,
    momentum: Vec3<T>,
}

impl<T: Real> Together<T> {
    fn center(&self) -> Vec3<T> {
        self.moment * self.mass.recip()
    }
}

impl<T: Real> Sensed<'_, T> {
    fn together(&self, bodies: &[usize]) -> Together<T> {
        let mut sum = Together { mass: T::zero(), moment: Vec3::zero(), momentum: Vec3::zero() };
        for &b in bodies {
            let inertia = self.kinematics.inertias[b];
            sum.mass += inertia.mass;
            sum.moment += inertia.first_moment + self.kinematics.origins[b] * inertia.mass;
            sum.momentum += (inertia * self.velocities[b]).force;
        }
        sum
    }

    /// A quantity of `bodies`.
    pub(super) fn subtree_value(&self, bodies: &[usize], what: SubtreeQuantity) -> Vec3<T> {
        let sum = self.together(bodies);
        match what {
            SubtreeQuantity::Center => sum.center(),
            SubtreeQuantity::LinearVelocity => sum.momentum * sum.mass.recip(),
            SubtreeQuantity::AngularMomentum => {
                // Σ n − (c − o) × f of the momenta (n, f) about the points o of the trees
                let mut total = Vec3::zero();
                for &b in bodies {
                    let momentum = self.kinematics.inertias[b] * self.velocities[b];
                    let arm = sum.center() - self.kinematics.origins[b];
                    total += momentum.moment - arm.cross(momentum.force);
                }
                total
            }
        }
    }

    /// The pullback of [`Sensed::subtree_value`]: *adds* to `bars`.
    pub(super) fn subtree_value_vjp(
        &self,
        bodies: &[usize],
        what: SubtreeQuantity,
        bar: Vec3<T>,
        bars: &mut SensorBars<'_, T>,
    ) {
        let sum = self.together(bodies);
        let per_mass = sum.mass.recip();
        let (mut center_bar, mut mass_bar, mut momentum_bar) = (Vec3::zero(), T::zero(), Vec3::zero());
        match what {
            SubtreeQuantity::Center => center_bar = bar,
            SubtreeQuantity::LinearVelocity => {
                momentum_bar = bar * per_mass;
                mass_bar -= bar.dot(sum.momentum) * per_mass * per_mass;
            }
            SubtreeQuantity::AngularMomentum => {
                for &b in bodies {
                    let momentum = self.kinematics.inertias[b] * self.velocities[b];
                    let arm = sum.center() - self.kinematics.origins[b];
                    let (arm_bar, force_bar) = arm.cross_vjp(momentum.force, -bar);
                    center_bar += arm_bar;
                    self.momentum_vjp(b, Force::new(bar, force_bar), bars);
                }
            }
        }
        // c = Σ (h + o m) / Σ m
        let moment_bar = center_bar * per_mass;
        mass_bar -= center_bar.dot(sum.center()) * per_mass;
        for &b in bodies {
            let origin = self.kinematics.origins[b];
            bars.inertias[b] += SpatialInertia {
                mass: mass_bar + moment_bar.dot(origin),
                first_moment: moment_bar,
                ..SpatialInertia::zero()
            };
            self.momentum_vjp(b, Force::new(Vec3::zero(), momentum_bar), bars);
        }
    }

    /// The pullback of a body's momentum I v.
    fn momentum_vjp(&self, b: usize, bar: Force<T>, bars: &mut SensorBars<'_, T>) {
        let (inertia_bar, motion_bar) = self.kinematics.inertias[b].mul_vjp(self.velocities[b], bar);
        bars.inertias[b] += inertia_bar;
        bars.velocities[b] += Force::new(motion_bar.angular, motion_bar.linear);
    }

    /// ½ vᵀ M v.
    pub(super) fn kinetic_energy(&self) -> T {
        let half = T::lit(0.5);
        let mut energy = self.kinematics.kinetic_energy(self.velocities);
        for (j, joint) in self.robot.model.joints.iter().enumerate() {
            let armature = self.robot.index.joints[j].params.read(self.params).armature;
            for k in joint.v..joint.v + joint.kind.velocities() {
                energy += half * armature * self.v[k] * self.v[k];
            }
        }
        energy
    }

    /// The pullback of [`Sensed::kinetic_energy`]: *adds* to `bars`.
    pub(super) fn kinetic_energy_vjp(&self, bar: T, bars: &mut SensorBars<'_, T>) {
        // d ½ v·(I v) = ½ v·(dI v) + dv·(I v)
        for b in 1..self.velocities.len() {
            let (inertia, velocity) = (self.kinematics.inertias[b], self.velocities[b]);
            let along = Force::new(velocity.angular, velocity.linear);
            let (inertia_bar, _): (_, Motion<T>) = inertia.mul_vjp(velocity, along * (bar * T::lit(0.5)));
            bars.inertias[b] += inertia_bar;
            bars.velocities[b] += (inertia * velocity) * bar;
        }
        for (j, joint) in self.robot.model.joints.iter().enumerate() {
            let block = self.robot.index.joints[j].params;
            let mut own = JointParams::default();
            for k in joint.v..joint.v + joint.kind.velocities() {
                own.armature += bar * T::lit(0.5) * self.v[k] * self.v[k];
                bars.v[k] += bar * block.read(self.params).armature * self.v[k];
            }
            block.add(own, bars.params);
        }
    }

    /// −Σ m g·c, and ½ k x² of the springs of joints and tendons.
    pub(super) fn potential_energy(&self) -> T {
        let mut energy = self.kinematics.potential_energy(self.robot.index.gravity.read(self.params));
        for (j, joint) in self.robot.model.joints.iter().enumerate() {
            let p = self.robot.index.joints[j].params.read(self.params);
            energy += p.stiffness * T::lit(0.5) * self.stretch(j, joint.kind, p.springref);
        }
        for (t, blocks) in self.robot.index.tendons.iter().enumerate() {
            let Some(spring) = blocks.spring else { continue };
            energy += tendon_energy(self.tendons.length[t], spring.read(self.params));
        }
        energy
    }

    /// x² of the spring of a joint.
    fn stretch(&self, j: usize, kind: JointKind, springref: T) -> T {
        let (model, joint) = (&self.robot.model, &self.robot.model.joints[j]);
        match kind {
            JointKind::Hinge | JointKind::Slide => {
                let x = self.q[joint.q] - springref;
                x * x
            }
            JointKind::Ball | JointKind::Free if joint.stiffness > 0.0 => {
                let (at, rest, moved) = rest_of(model, &self.robot.index, self.params, joint, self.q);
                rotation_from(at, rest).norm_squared() + moved.map_or(T::zero(), |d| d.norm_squared())
            }
            JointKind::Ball | JointKind::Free => T::zero(),
        }
    }

    /// The pullback of [`Sensed::potential_energy`]: *adds* to `bars`.
    pub(super) fn potential_energy_vjp(&self, bar: T, bars: &mut SensorBars<'_, T>) {
        let (model, index) = (&self.robot.model, &self.robot.index);
        let gravity = index.gravity.read(self.params);
        let mut moment = Vec3::zero();
        for (b, inertia_bar) in bars.inertias.iter_mut().enumerate().skip(1) {
            let (inertia, origin) = (self.kinematics.inertias[b], self.kinematics.origins[b]);
            moment += inertia.first_moment + origin * inertia.mass;
            *inertia_bar += SpatialInertia {
                mass: -(gravity.dot(origin) * bar),
                first_moment: -(gravity * bar),
                ..SpatialInertia::zero()
            };
        }
        index.gravity.add(-(moment * bar), bars.params);
        for (t, blocks) in index.tendons.iter().enumerate() {
            let Some(spring) = blocks.spring else { continue };
            let (length_bar, spring_bar) =
                tendon_energy_vjp(self.tendons.length[t], spring.read(self.params), bar);
            bars.tendons.0[t] += length_bar;
            spring.add(spring_bar, bars.params);
        }
        for (j, joint) in model.joints.iter().enumerate() {
            let block = index.joints[j].params;
            let p = block.read(self.params);
            let stiffness = bar * T::lit(0.5) * self.stretch(j, joint.kind, p.springref);
            let mut own = JointParams { stiffness, ..JointParams::default() };
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => {
                    let x_bar = bar * p.stiffness * (self.q[joint.q] - p.springref);
                    bars.q[joint.q] += x_bar;
                    own.springref -= x_bar;
                }
                JointKind::Ball | JointKind::Free if joint.stiffness > 0.0 => {
                    let (at, rest, moved) = rest_of(model, index, self.params, joint, self.q);
                    let scale = bar * p.stiffness;
                    let (at_bar, rest_bar) = rotation_from_vjp(at, rest, rotation_from(at, rest) * scale);
                    let first = joint.q + joint.kind.coordinates() - 4;
                    add(at_bar, &mut bars.q[first..]);
                    if let Some(moved) = moved {
                        let position = moved * scale;
                        for (i, x) in [position.x, position.y, position.z].into_iter().enumerate() {
                            bars.q[joint.q + i] += x;
                        }
                        if let Some(k) = &index.kinematics {
                            let pose = BodyPose { position: -position, orientation: rest_bar };
                            k.body(joint.body).add(pose, bars.params);
                        }
                    }
                }
                JointKind::Ball | JointKind::Free => {}
            }
            block.add(own, bars.params);
        }
    }
}

fn add<T: Real>(quat: Quat<T>, to: &mut [T]) {
    for (to, x) in to.iter_mut().zip([quat.w, quat.x, quat.y, quat.z]) {
        *to += x;
    }
}
