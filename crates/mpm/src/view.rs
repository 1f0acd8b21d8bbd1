//! The parts of a state: coordinates of colliders, their velocities where they are coupled, then all positions, velocities, affine
//! velocities and deformations.

use std::ops::Range;

use super::system::Mpm;

/// q, u, x, v, C, F of a state.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// Coordinates of the colliders' joints.
    pub q: &'a [T],
    /// Velocities of the joints of coupled colliders; empty for driven ones.
    pub u: &'a [T],
    /// Positions, m.
    pub x: &'a [[T; 3]],
    /// Velocities, m/s.
    pub v: &'a [[T; 3]],
    /// Affine velocities column by column, 1/s.
    pub c: &'a [[T; 9]],
    /// Deformations column by column.
    pub f: &'a [[T; 9]],
}

/// q, u, x, v, C, F of a state to write to.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    /// Coordinates of the colliders' joints.
    pub q: &'a mut [T],
    /// Speeds of the colliders' joints, if they are coupled.
    pub u: &'a mut [T],
    /// Positions, m.
    pub x: &'a mut [[T; 3]],
    /// Velocities, m/s.
    pub v: &'a mut [[T; 3]],
    /// Affine velocities column by column, 1/s.
    pub c: &'a mut [[T; 9]],
    /// Deformations column by column.
    pub f: &'a mut [[T; 9]],
}

impl<T> View<'_, T> {
    /// Some of the particles.
    pub(super) fn of(&self, of: Range<usize>) -> Self {
        View {
            q: self.q,
            u: self.u,
            x: &self.x[of.clone()],
            v: &self.v[of.clone()],
            c: &self.c[of.clone()],
            f: &self.f[of],
        }
    }
}

impl<T> ViewMut<'_, T> {
    /// Some of the particles.
    pub(super) fn of(&mut self, of: Range<usize>) -> ViewMut<'_, T> {
        ViewMut {
            q: self.q,
            u: self.u,
            x: &mut self.x[of.clone()],
            v: &mut self.v[of.clone()],
            c: &mut self.c[of.clone()],
            f: &mut self.f[of],
        }
    }
}

impl Mpm {
    /// q, u, x, v, C, F of a state.
    pub fn split<'a, T>(&self, state: &'a [T]) -> View<'a, T> {
        let n = self.cloud().particles();
        let (q, rest) = state.split_at(self.robot().coordinates().nq);
        let (u, rest) = rest.split_at(self.joint_velocities());
        let (x, rest) = rest.split_at(3 * n);
        let (v, rest) = rest.split_at(3 * n);
        let (c, f) = rest.split_at(9 * n);
        View { q, u, x: x.as_chunks().0, v: v.as_chunks().0, c: c.as_chunks().0, f: f.as_chunks().0 }
    }

    /// Number of joint velocities in a state.
    fn joint_velocities(&self) -> usize {
        if self.is_coupled() { self.robot().coordinates().nv } else { 0 }
    }

    pub(super) fn split_mut<'a, T>(&self, state: &'a mut [T]) -> ViewMut<'a, T> {
        let n = self.cloud().particles();
        let (q, rest) = state.split_at_mut(self.robot().coordinates().nq);
        let (u, rest) = rest.split_at_mut(self.joint_velocities());
        let (x, rest) = rest.split_at_mut(3 * n);
        let (v, rest) = rest.split_at_mut(3 * n);
        let (c, f) = rest.split_at_mut(9 * n);
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
