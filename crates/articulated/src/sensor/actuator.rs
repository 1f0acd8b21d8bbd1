//! Actuators and tendons: lengths, velocities and forces.

use pullback_math::Real;

use super::{Sensed, SensorBars};
use crate::model::{ActuatorQuantity, TendonQuantity, Transmission};

impl<T: Real> Sensed<'_, T> {
    /// A quantity of an actuator.
    pub(super) fn actuator_value(&self, a: usize, what: ActuatorQuantity) -> T {
        match what {
            ActuatorQuantity::Length => self.actuators.length[a],
            ActuatorQuantity::Velocity => self.actuators.velocity[a],
            ActuatorQuantity::Force => self.actuators.force[a],
        }
    }

    /// The pullback of [`Sensed::actuator_value`]: *adds* to `bars`.
    pub(super) fn actuator_value_vjp(
        &self,
        a: usize,
        what: ActuatorQuantity,
        bar: T,
        bars: &mut SensorBars<'_, T>,
    ) {
        match what {
            ActuatorQuantity::Length => bars.actuators.length[a] += bar,
            ActuatorQuantity::Velocity => bars.actuators.velocity[a] += bar,
            ActuatorQuantity::Force => bars.actuators.force[a] += bar,
        }
    }

    /// A quantity of a tendon.
    pub(super) fn tendon_value(&self, t: usize, what: TendonQuantity) -> T {
        match what {
            TendonQuantity::Length => self.tendons.length[t],
            TendonQuantity::Velocity => self.tendons.velocity[t],
            TendonQuantity::ActuatorForce => {
                let mut sum = T::zero();
                self.for_each_on_tendon(t, |a| sum += self.actuators.force[a]);
                sum
            }
        }
    }

    /// The pullback of [`Sensed::tendon_value`]: *adds* to `bars`.
    pub(super) fn tendon_value_vjp(
        &self,
        t: usize,
        what: TendonQuantity,
        bar: T,
        bars: &mut SensorBars<'_, T>,
    ) {
        match what {
            TendonQuantity::Length => bars.tendons.0[t] += bar,
            TendonQuantity::Velocity => bars.tendons.1[t] += bar,
            TendonQuantity::ActuatorForce => {
                self.for_each_on_tendon(t, |a| bars.actuators.force[a] += bar);
            }
        }
    }

    /// Visits the actuators that pull on a tendon.
    fn for_each_on_tendon(&self, t: usize, visit: impl FnMut(usize)) {
        let actuators = self.robot.model.actuators.iter().enumerate();
        actuators.filter(|(_, a)| a.transmission == Transmission::Tendon(t)).map(|(a, _)| a).for_each(visit);
    }
}
