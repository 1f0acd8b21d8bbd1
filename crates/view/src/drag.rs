//! The spring that pulls a point of a body to where the pointer is.
//!
//! F = m ω² (target − p) − 2 m ω ṗ with the mass m that a force on the body feels: critically damped, and as quick
//! for a finger as for a house. Stiffness follows the mass as that of MuJoCo's `mjv_applyPerturbForce`.

use pullback_replay::Pose;

/// Frequency ω of the spring, rad/s.
const FREQUENCY: f64 = 10.0;

/// ω·dt stays below this, so that an explicit force is stable.
const MOST_PER_STEP: f64 = 0.1;

/// A point of a body that is pulled.
#[derive(Clone, Debug, PartialEq)]
pub struct Drag {
    /// Index of the body.
    pub body: usize,
    /// The point in the body's frame, m.
    pub point: [f64; 3],
    /// Where it is pulled, m.
    pub target: [f64; 3],
    /// Mass that the force feels, kg.
    pub mass: f64,
    /// Where the point was a step ago, m.
    before: Option<[f64; 3]>,
    /// The last force, N.
    pub force: [f64; 3],
}

/// Force at the origin of a body and torque about it, in world axes.
pub type Wrench = [f64; 6];

impl Drag {
    /// A point of a body that feels `mass`.
    pub fn new(body: usize, point: [f64; 3], target: [f64; 3], mass: f64) -> Self {
        Drag { body, point, target, mass, before: None, force: [0.0; 3] }
    }

    /// Where the point is, m.
    pub fn place(&self, pose: &Pose) -> [f64; 3] {
        add(pose.0, rotate(pose.1, self.point))
    }

    /// The push on the body at a pose over a step of `dt` seconds.
    pub fn wrench(&mut self, pose: &Pose, dt: f64) -> Wrench {
        let arm = rotate(pose.1, self.point);
        let place = add(pose.0, arm);
        let before = self.before.replace(place).unwrap_or(place);
        let ω = FREQUENCY.min(MOST_PER_STEP / dt);
        let force: [f64; 3] = std::array::from_fn(|k| {
            let velocity = (place[k] - before[k]) / dt;
            self.mass * (ω * ω * (self.target[k] - place[k]) - 2.0 * ω * velocity)
        });
        self.force = force;
        let torque = cross(arm, force);
        [force[0], force[1], force[2], torque[0], torque[1], torque[2]]
    }
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] + b[k])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// v turned by a unit quaternion wxyz: v + 2 u × (u × v + w v).
fn rotate([w, x, y, z]: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let u = [x, y, z];
    let inner = cross(u, v);
    let twice = cross(u, std::array::from_fn(|k| inner[k] + w * v[k]));
    std::array::from_fn(|k| v[k] + 2.0 * twice[k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_off_the_origin_turns_the_body() {
        // A quarter turn about z takes the point from x to y; a pull along −x then turns it about z.
        let quarter = [0.5f64.sqrt(), 0.0, 0.0, 0.5f64.sqrt()];
        let mut drag = Drag::new(1, [2.0, 0.0, 0.0], [-1.0, 2.0, 0.0], 3.0);
        let wrench = drag.wrench(&([0.0; 3], quarter), 0.001);
        let expected = [-300.0, 0.0, 0.0, 0.0, 0.0, 600.0];
        for (found, expected) in wrench.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{wrench:?}");
        }
    }

    #[test]
    fn a_mass_comes_to_rest_where_it_is_pulled() {
        let (dt, mass) = (0.01, 0.2);
        let mut drag = Drag::new(0, [0.0; 3], [1.0, 0.0, 0.0], mass);
        let (mut x, mut v, mut farthest) = (0.0, 0.0, 0.0f64);
        for _ in 0..200 {
            let wrench = drag.wrench(&([x, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]), dt);
            v += dt * wrench[0] / mass;
            x += dt * v;
            farthest = farthest.max(x);
        }
        assert!((x - 1.0).abs() < 1e-3 && farthest < 1.05, "{x}, at most {farthest}");
    }
}
