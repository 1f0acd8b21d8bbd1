//! The largest substep at which explicit material points are stable, in closed form (Courant, Friedrichs and Lewy).
//!
//! Within a substep neither sound nor a particle may travel much farther than a cell. Sound has the speed
//! c = √((λ + 2μ)/ρ) of compression waves in a particle's material, with λ multiplied by J (2J − 1) where the pressure
//! is λ J (J − 1) and the material is stretched. Inside a body the shortest waves on a grid of quadratic B-splines with
//! lumped masses and affine momenta have ω² ≈ 2 (c/Δx)², which Δt < 2/ω lets travel 1.4 cells; at free surfaces, where
//! nodes carry little mass, waves are shorter still. Blocks of all materials hold up to 0.9 … 1.2 cells, whence
//! [`CELLS_OF_SOUND`].
//!
//! *Limits.* Shear waves of a material that is stretched far are faster than this says. Contact with colliders is a
//! projection, and bounds no step.

use pullback_math::{Flat, Mat3};

use super::material::Material;
use super::material::lame::lame;
use super::system::Mpm;

/// Cells that sound may travel within a stable substep.
pub const CELLS_OF_SOUND: f64 = 1.0;

/// What bounds a substep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubstepBound {
    /// Waves of compression.
    Sound,
    /// The way of the fastest particle.
    Travel,
}

/// The largest stable substep, and why it is no larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StableSubstep {
    /// s.
    pub seconds: f64,
    /// What bounds it.
    pub bound: SubstepBound,
    /// The particle that bounds it.
    pub particle: usize,
    /// Its speed of sound, or its own, m/s.
    pub speed: f64,
}

impl Mpm {
    /// The largest stable substep for the particles of a state.
    pub fn stable_substep(&self, params: &[f64], state: &[f64]) -> StableSubstep {
        let (at, spacing) = (self.split(state), self.grid().spacing);
        let mut found =
            StableSubstep { seconds: f64::INFINITY, bound: SubstepBound::Sound, particle: 0, speed: 0.0 };
        let mut bounded = |bound, particle, speed: f64, seconds: f64| {
            if seconds < found.seconds {
                found = StableSubstep { seconds, bound, particle, speed };
            }
        };
        for (group, block) in self.particles().groups.iter().zip(&self.index.groups) {
            // Density, then the parameters of the material, each with a number per particle.
            let values: Vec<&[f64]> = params[block.clone()].chunks(group.count).collect();
            for i in 0..group.count {
                let (density, (mu, lambda)) = (values[0][i], lame(values[1][i], values[2][i]));
                let f = at.f[group.first + i];
                let j = Mat3::read(&f).determinant().max(1.0);
                let stretched = match group.material {
                    Material::FixedCorotated(_) | Material::Plasticine(_) | Material::Fluid(_) => {
                        j * (2.0 * j - 1.0)
                    }
                    Material::NeoHookean(_) | Material::VonMises(_) | Material::Sand(_) => 1.0,
                };
                let shear = if matches!(group.material, Material::Fluid(_)) { 0.0 } else { mu };
                let sound = ((lambda * stretched + 2.0 * shear) / density).sqrt();
                bounded(SubstepBound::Sound, group.first + i, sound, CELLS_OF_SOUND * spacing / sound);
                let [x, y, z] = at.v[group.first + i];
                let speed = (x * x + y * y + z * z).sqrt();
                bounded(SubstepBound::Travel, group.first + i, speed, spacing / speed);
            }
        }
        found
    }
}
