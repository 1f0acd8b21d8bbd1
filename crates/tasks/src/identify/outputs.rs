//! [`SceneOutputs`]: the state of a scene, then the readings of its sensors.

use pullback_core::{Bars, Point};
use pullback_math::Real;
use pullback_optim::least_squares::Outputs;
use pullback_physics::articulated::sensor::{Sensing, SensingWorkspace};

/// Outputs that recordings are compared with.
#[derive(Clone, Debug)]
pub struct SceneOutputs {
    /// Entries of the state.
    pub state: usize,
    /// The sensors, where some are recorded.
    pub sensing: Option<Sensing>,
}

impl<T: Real> Outputs<T> for SceneOutputs {
    type Workspace = Option<SensingWorkspace<T>>;

    fn workspace(&self) -> Self::Workspace {
        self.sensing.as_ref().map(Sensing::workspace)
    }

    fn output_count(&self) -> usize {
        self.state + self.sensing.as_ref().map_or(0, Sensing::len)
    }

    fn outputs(&self, ws: &mut Self::Workspace, at: Point<'_, T>, out: &mut [T]) {
        let (state, readings) = out.split_at_mut(self.state);
        state.copy_from_slice(at.state);
        if let (Some(sensing), Some(ws)) = (&self.sensing, ws) {
            // No clock is compared.
            sensing.sensors(ws, at, T::zero(), readings);
        }
    }

    fn outputs_vjp(&self, ws: &mut Self::Workspace, at: Point<'_, T>, out_bar: &[T], bars: Bars<'_, T>) {
        let (state_bar, readings_bar) = out_bar.split_at(self.state);
        bars.state.iter_mut().zip(state_bar).for_each(|(x, bar)| *x += *bar);
        if let (Some(sensing), Some(ws)) = (&self.sensing, ws) {
            sensing.sensors_vjp(ws, at, readings_bar, bars);
        }
    }
}
