//! A loss over a sensor, for rollouts.

use std::ops::Range;

use pullback_core::rollout::{Loss, Sample};
use pullback_core::{Bars, ConfigError, Point};
use pullback_math::Real;

use super::Sensing;

/// L = w Σₜ ½ |y(xₜ, uₜ) − target|² over the samples of a trajectory, where y is the reading of a sensor.
///
/// At the end of a trajectory no control acts any more; [`SensorLoss::final_control`] stands for it. Memory is
/// allocated for each sample.
#[derive(Clone, Debug)]
pub struct SensorLoss {
    sensing: Sensing,
    range: Range<usize>,
    /// What the sensor should read.
    pub target: Vec<f64>,
    /// Weight w.
    pub weight: f64,
    /// Whether the end of the trajectory alone counts.
    pub at_end: bool,
    /// The control at the end.
    pub final_control: Vec<f64>,
}

impl SensorLoss {
    /// The loss of the sensor called `name`, over all samples, with weight 1.
    pub fn new(
        sensing: &Sensing,
        name: &str,
        target: &[f64],
        final_control: &[f64],
    ) -> Result<Self, ConfigError> {
        let range = sensing.range(name)?;
        if target.len() != range.len() {
            let (need, got) = (range.len(), target.len());
            return Err(ConfigError::new(format!("sensor `{name}` has {need} entries, its target {got}")));
        }
        Ok(SensorLoss {
            sensing: sensing.clone(),
            range,
            target: target.to_vec(),
            weight: 1.0,
            at_end: false,
            final_control: final_control.to_vec(),
        })
    }

    /// Runs `visit` with the residual w (y − target), the memory and the point of a sample that counts.
    fn with_residual<T: Real, R>(
        &self,
        at: Sample<'_, T>,
        none: R,
        visit: impl FnOnce(&mut super::SensingWorkspace<T>, Point<'_, T>, Vec<T>) -> R,
    ) -> R {
        if self.at_end && !at.last() {
            return none;
        }
        let end: Vec<T> = self.final_control.iter().map(|x| T::lit(*x)).collect();
        let control = if at.control.is_empty() { &end[..] } else { at.control };
        let point = Point { params: at.params, state: at.state, control };
        let mut ws = self.sensing.workspace();
        let mut out = vec![T::zero(); self.sensing.len()];
        self.sensing.sensors(&mut ws, point, T::zero(), &mut out);
        let mut residual = vec![T::zero(); out.len()];
        for (i, target) in self.range.clone().zip(&self.target) {
            residual[i] = (out[i] - T::lit(*target)) * T::lit(self.weight);
        }
        visit(&mut ws, point, residual)
    }
}

impl<T: Real> Loss<T> for SensorLoss {
    fn value(&self, at: Sample<'_, T>) -> T {
        self.with_residual(at, T::zero(), |_, _, residual| {
            let mut sum = T::zero();
            for r in residual {
                sum += r * r;
            }
            sum * T::lit(0.5 / self.weight)
        })
    }

    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        self.with_residual(at, (), |ws, point, residual| {
            let mut params = vec![T::zero(); point.params.len()];
            let mut control = vec![T::zero(); point.control.len()];
            let bars = Bars { params: &mut params, state: state_bar, control: &mut control };
            self.sensing.sensors_vjp(ws, point, &residual, bars);
            control_bar.iter_mut().zip(control).for_each(|(bar, own)| *bar += own);
        });
    }

    fn params_vjp(&self, at: Sample<'_, T>, params_bar: &mut [T]) {
        self.with_residual(at, (), |ws, point, residual| {
            let mut state = vec![T::zero(); point.state.len()];
            let mut control = vec![T::zero(); point.control.len()];
            let bars = Bars { params: params_bar, state: &mut state, control: &mut control };
            self.sensing.sensors_vjp(ws, point, &residual, bars);
        });
    }
}
