//! Views of a state: coordinates of colliders, their velocities where they are coupled, then positions,
//! velocities, affine velocities and deformations of all particles.

use std::ops::Range;

use pullback_math::Vec3;

use super::particles::{ParticleGroup, Particles};
use super::system::Mpm;

/// A quantity of every particle in the state.
pub(super) struct ParticleField {
    /// Its name, behind that of the group.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Numbers per particle.
    pub len: usize,
    /// Initial values of a group, flat.
    pub initial: fn(&Particles, &ParticleGroup) -> Vec<f64>,
}

/// Numbers of a vector and of a matrix.
const VECTOR: usize = 3;
const MATRIX: usize = 9;

/// The quantities in the order of the state: x, v, C, F.
pub(super) const PARTICLE_FIELDS: [ParticleField; 4] = [
    ParticleField {
        name: "position",
        unit: "m",
        len: VECTOR,
        initial: |all, group| flat(&all.positions, group),
    },
    ParticleField {
        name: "velocity",
        unit: "m/s",
        len: VECTOR,
        initial: |all, group| flat(&all.velocities, group),
    },
    ParticleField {
        name: "affine",
        unit: "1/s",
        len: MATRIX,
        initial: |_, group| vec![0.0; MATRIX * group.count],
    },
    ParticleField {
        name: "deformation",
        unit: "1",
        len: MATRIX,
        initial: |_, group| [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].repeat(group.count),
    },
];

fn flat(vectors: &[Vec3<f64>], group: &ParticleGroup) -> Vec<f64> {
    vectors[group.range()].iter().flat_map(|v| [v.x, v.y, v.z]).collect()
}

/// q, u, x, v, C, F of a state.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// Coordinates of the colliders' joints.
    pub q: &'a [T],
    /// Joint velocities of coupled colliders; empty for kinematic ones.
    pub u: &'a [T],
    /// Positions, m.
    pub x: &'a [[T; VECTOR]],
    /// Velocities, m/s.
    pub v: &'a [[T; VECTOR]],
    /// Affine velocities column by column, 1/s.
    pub c: &'a [[T; MATRIX]],
    /// Deformations column by column.
    pub f: &'a [[T; MATRIX]],
}

/// q, u, x, v, C, F of a state to write to.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    /// Coordinates of the colliders' joints.
    pub q: &'a mut [T],
    /// Joint velocities of coupled colliders; empty for kinematic ones.
    pub u: &'a mut [T],
    /// Positions, m.
    pub x: &'a mut [[T; VECTOR]],
    /// Velocities, m/s.
    pub v: &'a mut [[T; VECTOR]],
    /// Affine velocities column by column, 1/s.
    pub c: &'a mut [[T; MATRIX]],
    /// Deformations column by column.
    pub f: &'a mut [[T; MATRIX]],
}

impl<T> View<'_, T> {
    /// The view of some of the particles.
    pub(super) fn particles(&self, range: Range<usize>) -> Self {
        View {
            q: self.q,
            u: self.u,
            x: &self.x[range.clone()],
            v: &self.v[range.clone()],
            c: &self.c[range.clone()],
            f: &self.f[range],
        }
    }
}

impl<T> ViewMut<'_, T> {
    /// The view of some of the particles.
    pub(super) fn particles(&mut self, range: Range<usize>) -> ViewMut<'_, T> {
        ViewMut {
            q: self.q,
            u: self.u,
            x: &mut self.x[range.clone()],
            v: &mut self.v[range.clone()],
            c: &mut self.c[range.clone()],
            f: &mut self.f[range],
        }
    }
}

impl Mpm {
    /// q, u, x, v, C, F of a state.
    pub fn split<'a, T>(&self, state: &'a [T]) -> View<'a, T> {
        let n = self.particles().len();
        let (q, rest) = state.split_at(self.robot().coordinates().nq);
        let (u, rest) = rest.split_at(self.joint_velocities());
        let (x, rest) = rest.split_at(VECTOR * n);
        let (v, rest) = rest.split_at(VECTOR * n);
        let (c, f) = rest.split_at(MATRIX * n);
        View { q, u, x: x.as_chunks().0, v: v.as_chunks().0, c: c.as_chunks().0, f: f.as_chunks().0 }
    }

    /// Number of joint velocities in a state.
    fn joint_velocities(&self) -> usize {
        if self.is_coupled() { self.robot().coordinates().nv } else { 0 }
    }

    /// q, u, x, v, C, F of a state to write to.
    pub fn split_mut<'a, T>(&self, state: &'a mut [T]) -> ViewMut<'a, T> {
        let n = self.particles().len();
        let (q, rest) = state.split_at_mut(self.robot().coordinates().nq);
        let (u, rest) = rest.split_at_mut(self.joint_velocities());
        let (x, rest) = rest.split_at_mut(VECTOR * n);
        let (v, rest) = rest.split_at_mut(VECTOR * n);
        let (c, f) = rest.split_at_mut(MATRIX * n);
        ViewMut {
            q,
            u,
            x: x.as_chunks_mut().0,
            v: v.as_chunks_mut().0,
            c: c.as_chunks_mut().0,
            f: f.as_chunks_mut().0,
        }
    }
}
