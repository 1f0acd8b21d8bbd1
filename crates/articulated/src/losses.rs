//! Losses of robots: points and centers of mass that should be somewhere.

use pullback_core::ConfigError;
use pullback_core::losses::{Norm, Weights};
use pullback_core::rollout::{Loss, Sample};
use pullback_math::{Real, Vec3};

use super::chain::Chain;
use super::field::Articulated;

/// A point, or the center of mass of several bodies, that should be at a place, or at another point of the robot.
///
/// Masses and places on bodies are those of the model; sensors ([`SensorLoss`](crate::sensor::SensorLoss)) read them from
/// the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PointTarget {
    /// Points with weights whose sum is 1.
    points: Vec<(f64, Chain)>,
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
        PointTarget { points: vec![(1.0, point)], relative_to: None, target, axes, norm, weights }
    }

    /// The center of mass of the body called `name` and all that hangs on it; `world` for the whole robot.
    pub fn center_of_mass(
        robot: &Articulated,
        name: &str,
        norm: Norm,
        weights: Weights,
    ) -> Result<Self, ConfigError> {
        let model = robot.model();
        let root = model.bodies.iter().position(|body| body.name == name);
        let root = root
            .or((name == "world").then_some(0))
            .ok_or_else(|| ConfigError::new(format!("no body of `{}` is called `{name}`", model.name)))?;
        let bodies = robot.subtree(root);
        let mass: f64 = bodies.iter().map(|b| model.bodies[*b].mass).sum();
        if mass <= 0.0 {
            return Err(ConfigError::new(format!("body `{name}` and all that hangs on it have no mass")));
        }
        let heavy = bodies.into_iter().filter(|b| model.bodies[*b].mass > 0.0);
        let point = |b: usize| Ok((model.bodies[b].mass / mass, Chain::new(robot, b, model.bodies[b].com)?));
        let points = heavy.map(point).collect::<Result<Vec<_>, ConfigError>>()?;
        let (target, axes) = (Vec3::zero(), Vec3::new(1.0, 1.0, 1.0));
        Ok(PointTarget { points, relative_to: None, target, axes, norm, weights })
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
        let mut place = -self.target.map(T::lit);
        for (weight, point) in &self.points {
            place += point.position(state) * T::lit(*weight);
        }
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
        for (weight, point) in &self.points {
            point.position_vjp(at.state, bar * T::lit(*weight), state_bar);
        }
        if let Some(other) = &self.relative_to {
            other.position_vjp(at.state, -bar, state_bar);
        }
    }
}
