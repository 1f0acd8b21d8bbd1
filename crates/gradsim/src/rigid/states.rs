//! [`States`]: positions and orientations in space at the frames, the supervision of the paper's "diff. physics" rows.

use pullback_core::{Bars, Point, StepError};
use pullback_math::Real;
use pullback_optim::least_squares::Compare;

use super::toss::Toss;

/// Entries of the pose of a free body: position and quaternion.
const POSE: usize = 7;

/// Recorded poses by step.
#[derive(Clone, Debug)]
pub struct States(Vec<(usize, [f64; POSE])>);

impl States {
    /// Poses of a toss at these steps.
    pub fn of(toss: &Toss, frames: &[usize]) -> Result<Self, StepError> {
        let mut poses = Vec::new();
        let mut ws = toss.rollout.workspace::<f64>();
        toss.rollout.simulate(&mut ws, &toss.inputs, |at| {
            if frames.binary_search(&at.step).is_ok() {
                poses.push((at.step, std::array::from_fn(|i| at.state[i])));
            }
        })?;
        Ok(States(poses))
    }

    /// Number of residuals.
    pub fn residual_count(&self) -> usize {
        POSE * self.0.len()
    }

    fn at(&self, step: usize) -> Option<usize> {
        self.0.binary_search_by_key(&step, |(step, _)| *step).ok()
    }
}

impl<T: Real> Compare<T> for States {
    type Workspace = ();

    fn workspace(&self) {}

    fn compare(&self, _ws: &mut (), step: (usize, usize), at: Point<'_, T>, residuals: &mut [T]) {
        let Some(frame) = self.at(step.1) else { return };
        for i in 0..POSE {
            residuals[POSE * frame + i] += at.state[i] - T::lit(self.0[frame].1[i]);
        }
    }

    fn compare_vjp(
        &self,
        _ws: &mut (),
        step: (usize, usize),
        _at: Point<'_, T>,
        residuals_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Some(frame) = self.at(step.1) else { return };
        for i in 0..POSE {
            bars.state[i] += residuals_bar[POSE * frame + i];
        }
    }
}
