//! Losses of robots: points of bodies that should be somewhere.

use pullback_core::losses::{Norm, Weights};
use pullback_core::rollout::{Loss, Sample};
use pullback_math::{Real, Vec3};

use super::chain::Chain;

/// A point that should be at a place, or another point of the robot.
#[derive(Clone, Debug, PartialEq)]
pub struct PointTarget {
    point: Chain,
    relative_to: Option<Chain>,
    target: Vec3<f64>,
    axes: Vec3<f64>,
    norm: Norm,
    weights: Weights,
}

impl PointTarget {
    /// `point` at the world's origin, unless [told otherwise](PointTarget::at).
    pub fn new(point: Chain, norm: Norm, weights: Weights) -> Self {
        let (target, axes) = (Vec3::zero(), Vec3::new(1.0, 1.0, 1.0));
        PointTarget { point, relative_to: None, target, axes, norm, weights }
    }

    /// At a place, m.
    pub fn at(mut self, target: [f64; 3]) -> Self {
        self.target = Vec3::new(target[0], target[1], target[2]);
        self
    }

    /// Seen from another point, in the world's axes.
    pub fn relative_to(mut self, other: Chain) -> Self {
        self.relative_to = Some(other);
        self
    }

    /// Multiplies the error along each of the world's axes; 0 leaves an axis out.
    pub fn along(mut self, axes: [f64; 3]) -> Self {
        self.axes = Vec3::new(axes[0], axes[1], axes[2]);
        self
    }

    fn error<T: Real>(&self, state: &[T]) -> [T; 3] {
        let mut place = self.point.position(state) - self.target.map(T::lit);
        if let Some(other) = &self.relative_to {
            place -= other.position(state);
        }
        let Vec3 { x, y, z } = place.zip(self.axes.map(T::lit), |d, a| d * a);
        [x, y, z]
    }
}

impl<T: Real> Loss<T> for PointTarget {
    fn value(&self, at: Sample<'_, T>) -> T {
        match self.weights.at(&at) {
            0.0 => T::zero(),
            weight => self.norm.value(self.error(at.state).into_iter()) * T::lit(weight),
        }
    }

    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        let weight = self.weights.at(&at);
        if weight == 0.0 {
            return;
        }
        let mut bar = [T::zero(); 3];
        self.norm.slope(self.error(at.state).into_iter(), |i, slope| bar[i] = slope * T::lit(weight));
        let bar = Vec3::new(bar[0], bar[1], bar[2]).zip(self.axes.map(T::lit), |d, a| d * a);
        self.point.position_vjp(at.state, bar, state_bar);
        if let Some(other) = &self.relative_to {
            other.position_vjp(at.state, -bar, state_bar);
        }
    }
}
