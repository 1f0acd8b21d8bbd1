//! The smooth maximum of walls in one environment, ε log Σ exp(g / ε), with its derivatives.

use pullback_math::{Mat3, Transform, Vec3};

use super::walls::{Walls, bend, walls};
use crate::collider::Kind;

/// Exponents below this are round-off.
const FAINT: f64 = -90.0;

/// A smooth maximum at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    /// ε log Σ exp(g / ε), m, and the largest wall, m.
    pub value: f64,
    pub highest: f64,
    /// Σ q ∇g with q ∝ exp(g / ε), and its derivative.
    pub slope: Vec3<f64>,
    pub hessian: Mat3<f64>,
}

impl Peak {
    /// Of flat walls, each a height and a slope.
    pub fn of_flat(walls: impl Iterator<Item = (f64, Vec3<f64>)> + Clone, softness: f64) -> Self {
        let highest = walls.clone().map(|w| w.0).fold(f64::NEG_INFINITY, f64::max);
        let rate = 1.0 / softness;
        let (mut total, mut sum, mut square) = (0.0, Vec3::zero(), Mat3::zero());
        for (height, slope) in walls {
            let exponent = (height - highest) * rate;
            if exponent > FAINT {
                let weight = exponent.exp();
                total += weight;
                sum += slope * weight;
                square += Mat3::outer(slope, slope) * weight;
            }
        }
        let slope = sum * (1.0 / total);
        let hessian = (square * (1.0 / total) - Mat3::outer(slope, slope)) * (1.0 / softness);
        Peak { value: highest + softness * total.ln(), highest, slope, hessian }
    }

    /// Of the walls of some solids at the world point x.
    pub fn of_solids<const N: usize>(
        solids: [(Kind, Vec3<f64>, Transform<f64>); N],
        x: Vec3<f64>,
        softness: f64,
    ) -> Self {
        let each: [Walls<f64>; N] = solids.map(|(kind, size, pose)| walls(kind, size, pose, x, softness));
        let all = each.iter().flat_map(|w| w.height.into_iter().zip(w.slope));
        let mut peak = Peak::of_flat(all, softness);
        // The first wall of each bends.
        for ((kind, size, pose), walls) in solids.into_iter().zip(&each) {
            let exponent = (walls.height[0] - peak.value) / softness;
            if exponent > FAINT {
                peak.hessian += bend(kind, size, pose, x, softness) * exponent.exp();
            }
        }
        peak
    }

    /// The same with its derivatives in another frame.
    pub fn in_frame(self, rotation: Mat3<f64>) -> Self {
        let hessian = rotation * self.hessian * rotation.transpose();
        Peak { slope: rotation * self.slope, hessian, ..self }
    }
}
