//! [`Pyramid`]: pictures compared at several softnesses at once.
//!
//! Sharp pictures of two bodies that do not overlap tell no direction: moving one changes no difference. Soft ones reach
//! farther. The residuals of all levels stand side by side, so that their mean square is the mean of those of the levels.

use pullback_core::{Bars, Point};
use pullback_math::Scalar;
use pullback_optim::least_squares::Compare;
use pullback_video::{Footage, FootageWorkspace, Frame, Pixels, VisibleWorld};

use super::shots::softened;
use crate::experiment::ExperimentError;

/// Videos compared at several softnesses.
pub struct Pyramid {
    levels: Vec<Footage<VisibleWorld>>,
}

impl Pyramid {
    /// The frames that `film` makes at each of these softnesses (pixels) are what is to be seen.
    pub fn new(
        visible: &VisibleWorld,
        shot: pullback_video::Shot,
        softnesses: &[f64],
        pixels: Pixels,
        mut film: impl FnMut(pullback_video::Shot) -> Result<Vec<Frame>, ExperimentError>,
    ) -> Result<Self, ExperimentError> {
        let level = |softness: &f64| {
            let shot = softened(shot, *softness);
            Ok(Footage::new(visible.clone(), shot, pixels, vec![film(shot)?])?)
        };
        Ok(Pyramid { levels: softnesses.iter().map(level).collect::<Result<_, ExperimentError>>()? })
    }

    /// Number of residuals.
    pub fn residual_count(&self) -> usize {
        self.levels.iter().map(|level| level.residual_count(0)).sum()
    }
}

impl<T: Scalar> Compare<T> for Pyramid {
    type Workspace = Vec<FootageWorkspace<T, ()>>;

    fn workspace(&self) -> Self::Workspace {
        self.levels.iter().map(Compare::<T>::workspace).collect()
    }

    fn compare(
        &self,
        ws: &mut Self::Workspace,
        step: (usize, usize),
        at: Point<'_, T>,
        mut residuals: &mut [T],
    ) {
        for (level, ws) in self.levels.iter().zip(ws) {
            let (own, others) = residuals.split_at_mut(level.residual_count(0));
            level.compare(ws, step, at, own);
            residuals = others;
        }
    }

    fn compare_vjp(
        &self,
        ws: &mut Self::Workspace,
        step: (usize, usize),
        at: Point<'_, T>,
        mut residuals_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Bars { params, state, control } = bars;
        for (level, ws) in self.levels.iter().zip(ws) {
            let (own, others) = residuals_bar.split_at(level.residual_count(0));
            let bars = Bars { params: &mut *params, state: &mut *state, control: &mut *control };
            level.compare_vjp(ws, step, at, own, bars);
            residuals_bar = others;
        }
    }
}
