//! Where the plasticine of each PlasticineLab scene should be: our own shapes, for the source's are its own
//! files.
//!
//! Sizes and places are the source's, y up, as in [`super::plasticine`]. Volumes are close to those of the
//! material, so that targets can be reached; particles that fill them weigh as much as the material does.

use pullback_core::ConfigError;
use pullback_math::{Quat, Vec3};
use pullback_physics::mpm::Mpm;
use pullback_physics::mpm::losses::target::THRESHOLD;
use pullback_physics::mpm::losses::{Cells, Solid, Target};

use super::blueprint::SourceFrame;
use super::plasticine::LEGS;

/// Axes of the world.
const X: Vec3<f64> = Vec3 { x: 1.0, y: 0.0, z: 0.0 };
const Z: Vec3<f64> = Vec3 { x: 0.0, y: 0.0, z: 1.0 };

/// The target of a scene for particles on `mpm`'s grid.
pub(super) fn target(name: &str, mpm: &Mpm) -> Result<Target, ConfigError> {
    let (grid, particles) = (mpm.grid(), mpm.particles());
    let shape = shape(name, SourceFrame::new(grid, 0.0)).ok_or_else(|| {
        ConfigError::new(format!("{name} has no target shape; only PlasticineLab's scenes do"))
    })?;
    let cells = Cells { nodes: grid.nodes, spacing: grid.spacing, flat: false };
    let mass = particles.groups.iter().map(|p| p.count as f64 * p.volume * p.density).sum();
    // Enough particles for a smooth target; nodes of a coarse grid have more mass.
    let threshold = THRESHOLD * (64.0 * grid.spacing).powi(3);
    Target::from_solid(cells, &shape, mass, 20_000, 1, threshold)
}

/// The shape of a scene's target.
fn shape(name: &str, frame: SourceFrame) -> Option<Solid> {
    let block = |edges: [f64; 3], [x, y, z]: [f64; 3]| {
        let half = Vec3::new(0.5 * edges[0], 0.5 * edges[2], 0.5 * edges[1]);
        Solid::Box { half }.at(frame.at(x, y, z))
    };
    let ball = |radius: f64, [x, y, z]: [f64; 3]| Solid::Sphere { radius }.at(frame.at(x, y, z));
    // A rounded bar from a place to another.
    let bar = |radius: f64, a: [f64; 3], b: [f64; 3]| {
        let [a, b] = [a, b].map(|[x, y, z]| frame.at(x, y, z));
        let (between, middle) = (b - a, (a + b) * 0.5);
        let turn = rotation_of_z(between.normalize());
        Solid::Capsule { radius, half_length: 0.5 * between.norm() }.rotated(turn).at(middle)
    };
    let dough = || block([0.3, 0.1, 0.3], [0.5, 0.05, 0.5]);
    Some(match name {
        "plb-move" => ball(0.1025, [0.68, 0.25, 0.5]),
        // Printed half as deep as its tube is thick.
        "plb-torus" => {
            dough().difference(Solid::Torus { ring: 0.05, tube: 0.03 }.at(frame.at(0.5, 0.095, 0.5)))
        }
        "plb-rope" => {
            // Around the near half of the pole, ends along its sides.
            let (ring, tube, [x, y, z]) = (0.14, 0.033, [0.39, 0.033, 0.5]);
            let far = block([1.0, 1.0, 0.5], [x, y, z - 0.25]);
            let arc = Solid::Torus { ring, tube }.at(frame.at(x, y, z)).difference(far);
            let legs = [-ring, ring].map(|d| bar(tube, [x + d, y, z], [x + d, y, z - 0.05]));
            Solid::Union([vec![arc], legs.to_vec()].concat())
        }
        "plb-writer" => {
            // The letter V.
            let groove = |a: [f64; 2], b: [f64; 2]| bar(0.03, [a[0], 0.1, a[1]], [b[0], 0.1, b[1]]);
            let strokes = groove([0.42, 0.42], [0.5, 0.58]).union(groove([0.5, 0.58], [0.58, 0.42]));
            dough().difference(strokes)
        }
        "plb-pinch" => {
            let dent = ball(0.045, [0.5, 0.13, 0.5]).union(bar(0.04, [0.5, 0.13, 0.5], [0.5, 0.25, 0.5]));
            block([0.2; 3], [0.5, 0.1, 0.5]).difference(dent)
        }
        "plb-rollingpin" => block([0.4, 0.075, 0.3], [0.5, 0.0375, 0.5]),
        "plb-chopsticks" => {
            // Held in the middle, ends still on the floor.
            let (high, low) = (0.12, 0.022);
            let held = bar(0.022, [0.5, high, 0.4], [0.5, high, 0.6]);
            let hangs = |z: f64, end: f64| bar(0.022, [0.5, high, z], [0.5, low, end]);
            Solid::Union(vec![held, hangs(0.4, 0.24), hangs(0.6, 0.76)])
        }
        "plb-table" => {
            let leg = |(x, z): (f64, f64)| block([0.04, 0.1, 0.04], [x, 0.05, z]);
            let mut parts: Vec<Solid> = LEGS[..3].iter().copied().map(leg).collect();
            // The fourth leg leans outwards.
            let (x, z) = LEGS[3];
            parts.push(bar(0.022, [x, 0.09, z], [x + 0.05, 0.022, z + 0.05]));
            parts.push(block([0.2, 0.05, 0.2], [0.5, 0.125, 0.5]));
            Solid::Union(parts)
        }
        "plb-triplemove" => {
            let positions = [[0.3, 0.05, 0.4], [0.5, 0.05, 0.6], [0.7, 0.05, 0.4]];
            Solid::Union(positions.map(|at| block([0.1; 3], at)).to_vec())
        }
        "plb-assembly" => block([0.16; 3], [0.6, 0.08, 0.5]).union(ball(0.06, [0.6, 0.22, 0.5])),
        _ => return None,
    })
}

/// A rotation that takes z to a unit vector.
fn rotation_of_z(to: Vec3<f64>) -> Quat<f64> {
    let axis = Z.cross(to);
    let (sin, cos) = (axis.norm(), Z.dot(to));
    let axis = if sin > 1e-9 { axis * sin.recip() } else { X };
    Quat::from_axis_angle(axis, sin.atan2(cos))
}
