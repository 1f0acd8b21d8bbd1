//! What a [`World`](super::World) computes with, and the energy of its particles.

use pullback_articulated::ArticulatedWorkspace;
use pullback_articulated::rnea::Push;
use pullback_core::Workspace;
use pullback_math::{Force, RECORD, Real};
use pullback_soft::SoftScratch;

/// Energy of particles, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ParticleEnergy<T> {
    /// Of their motion.
    pub kinetic: T,
    /// Stored in elements.
    pub elastic: T,
    /// Of their height, −m g·x.
    pub gravitational: T,
}

impl<T: Real> ParticleEnergy<T> {
    /// All together.
    pub fn total(&self) -> T {
        self.kinetic + self.elastic + self.gravitational
    }
}

/// Scratch of a [`World`](super::World).
#[derive(Clone, Debug, Workspace)]
pub struct WorldWorkspace<T: Real> {
    /// That of the robots, with what was computed last.
    pub robot: ArticulatedWorkspace<T>,
    pub(super) soft: SoftScratch<T>,
    /// Positions and velocities side by side.
    pub(super) records: Vec<[T; RECORD]>,
    pub(super) robot_state: Vec<T>,
    pub(super) robot_control: Vec<T>,
    pub(super) robot_rate: Vec<T>,
    pub(super) robot_rate_bar: Vec<T>,
    /// Force on each particle, gravity aside, N.
    pub force: Vec<[T; 3]>,
    /// Push on each body.
    pub(super) pushes: Vec<Push<T>>,
    pub(super) force_bar: Vec<[T; 3]>,
    pub(super) work: Vec<T>,
    pub(super) robot_state_bar: Vec<T>,
    pub(super) robot_control_bar: Vec<T>,
    pub(super) velocity_bars: Vec<Force<T>>,
    pub(super) wrenches: Vec<Force<T>>,
}
