//! Losses of the suite: distances at the end, L2 as the paper has them, not squared.
//!
//! A distance has a kink at the target; there its derivative is taken as 0.

use std::ops::Range;

use pullback_core::rollout::{Loss, Sample};
use pullback_math::{Flat, Real, Vec3};

/// L = |x_N − target| of N neighboring state entries, m.
#[derive(Clone, Debug)]
pub(crate) struct PointAt<const N: usize> {
    /// The entries.
    pub entries: Range<usize>,
    /// Where the point is to be, m.
    pub target: [f64; N],
}

impl<const N: usize> PointAt<N> {
    /// The error, and its square.
    fn error<T: Real>(&self, state: &[T]) -> ([T; N], T) {
        let position = <[T; N]>::read(&state[self.entries.clone()]);
        let error: [T; N] = std::array::from_fn(|k| position[k] - T::lit(self.target[k]));
        let mut squared = T::zero();
        for e in error {
            squared += e * e;
        }
        (error, squared)
    }
}

impl<T: Real, const N: usize> Loss<T> for PointAt<N> {
    fn value(&self, at: Sample<'_, T>) -> T {
        if at.last() { self.error(at.state).1.sqrt() } else { T::zero() }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let (error, squared) = self.error(at.state);
            let squared_bar = squared.sqrt_vjp(T::lit(2.0));
            for (bar, e) in state_bar[self.entries.clone()].iter_mut().zip(error) {
                *bar += e * squared_bar;
            }
        }
    }
}

/// L = mean over particles of |x_N − target|, m. Positions are the first entries of the state.
#[derive(Clone, Debug)]
pub(crate) struct ParticlesAt {
    /// Particle and where it is to be, m.
    pub targets: Vec<(usize, Vec3<f64>)>,
}

impl<T: Real> Loss<T> for ParticlesAt {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        if at.last() {
            for (particle, target) in &self.targets {
                sum += offset(at.state, *particle, *target).norm();
            }
        }
        sum * T::lit(1.0 / self.targets.len() as f64)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let share = T::lit(1.0 / self.targets.len() as f64);
            for (particle, target) in &self.targets {
                let bar = offset(at.state, *particle, *target).norm_vjp(share);
                bar.add_to(&mut state_bar[3 * particle..]);
            }
        }
    }
}

/// L = |mean of all particles − target| at the end, m. Positions are the first entries of the state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeanAt {
    /// Number of particles.
    pub particles: usize,
    /// Where their mean is to be, m.
    pub target: Vec3<f64>,
}

impl MeanAt {
    fn error<T: Real>(&self, state: &[T]) -> Vec3<T> {
        let mut sum = Vec3::zero();
        for particle in 0..self.particles {
            sum += offset(state, particle, self.target);
        }
        sum * T::lit(1.0 / self.particles as f64)
    }
}

impl<T: Real> Loss<T> for MeanAt {
    fn value(&self, at: Sample<'_, T>) -> T {
        if at.last() { self.error(at.state).norm() } else { T::zero() }
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let bar = self.error(at.state).norm_vjp(T::lit(1.0 / self.particles as f64));
            (0..self.particles).for_each(|particle| bar.add_to(&mut state_bar[3 * particle..]));
        }
    }
}

/// L = mean over moments and followed particles of |x − recorded x|, m. Positions are the first entries of
/// the state.
#[derive(Clone, Debug)]
pub(crate) struct FollowTracks {
    /// The particles that were tracked.
    pub particles: Vec<usize>,
    /// Where each was, m, at every `stride` steps from the start.
    pub recorded: Vec<Vec<Vec3<f64>>>,
    /// Steps from one recorded moment to the next.
    pub stride: usize,
}

impl FollowTracks {
    /// The row that belongs to a step, if one does.
    fn row(&self, step: usize) -> Option<&[Vec3<f64>]> {
        if step.is_multiple_of(self.stride) {
            self.recorded.get(step / self.stride).map(Vec::as_slice)
        } else {
            None
        }
    }
    fn share(&self) -> f64 {
        1.0 / (self.recorded.len() * self.particles.len()) as f64
    }
}

impl<T: Real> Loss<T> for FollowTracks {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        for (particle, target) in self.particles.iter().zip(self.row(at.step).unwrap_or_default()) {
            sum += offset(at.state, *particle, *target).norm();
        }
        sum * T::lit(self.share())
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        for (particle, target) in self.particles.iter().zip(self.row(at.step).unwrap_or_default()) {
            let bar = offset(at.state, *particle, *target).norm_vjp(T::lit(self.share()));
            bar.add_to(&mut state_bar[3 * particle..]);
        }
    }
}

fn offset<T: Real>(state: &[T], particle: usize, target: Vec3<f64>) -> Vec3<T> {
    Vec3::read(&state[3 * particle..]) - target.map(T::lit)
}
