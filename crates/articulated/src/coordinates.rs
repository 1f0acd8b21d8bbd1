//! Where the coordinates and velocities of joints lie in a state, and motion along them.
//!
//! Hinges, slides and translations are *straight*: q ← q + h v. Orientations turn: q ← q ⊗ exp(h ω).

use pullback_math::{Flat, MulVjp, Quat, Real, Vec3};

use super::actuator::law::{clamped, clamped_vjp};
use super::model::{JointKind, Model};

/// The coordinates of a state.
#[derive(Clone, Debug)]
pub struct Coordinates {
    /// Number of coordinates.
    pub nq: usize,
    /// Number of velocities.
    pub nv: usize,
    /// First coordinate and velocity of each joint of the model; none for a joint that follows another.
    pub joints: Vec<Option<(usize, usize)>>,
    /// Coordinate and velocity of every straight degree of freedom.
    straight: Vec<(usize, usize)>,
    /// First coordinate and velocity of every orientation.
    rotations: Vec<(usize, usize)>,
    /// Range of each activation, which follow the velocities.
    activations: Vec<Option<(f64, f64)>>,
}

impl Coordinates {
    /// Those of the joints of a model that `moves` says yes to, one after the other.
    pub fn new(model: &Model, moves: impl Fn(usize) -> bool) -> Self {
        let (mut nq, mut nv) = (0, 0);
        let (mut joints, mut straight, mut rotations) = (Vec::new(), Vec::new(), Vec::new());
        for (j, joint) in model.joints.iter().enumerate() {
            joints.push(moves(j).then_some((nq, nv)));
            if !moves(j) {
                continue;
            }
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => straight.push((nq, nv)),
                JointKind::Ball => rotations.push((nq, nv)),
                JointKind::Free => {
                    straight.extend((0..3).map(|i| (nq + i, nv + i)));
                    rotations.push((nq + 3, nv + 3));
                }
            }
            nq += joint.kind.coordinates();
            nv += joint.kind.velocities();
        }
        let activations =
            model.actuators.iter().filter(|a| a.has_activation()).map(|a| a.activation_range).collect();
        Coordinates { nq, nv, joints, straight, rotations, activations }
    }

    /// Number of activations.
    pub fn activations(&self) -> usize {
        self.activations.len()
    }

    /// Whether motion along a rate is plain addition.
    pub fn flat(&self) -> bool {
        self.nq == self.nv && self.activations.iter().all(Option::is_none)
    }

    /// First coordinate and velocity of every orientation.
    pub fn rotations(&self) -> &[(usize, usize)] {
        &self.rotations
    }

    /// Moves the state (q, v, activations) along a rate for `h`; activations stay in their ranges.
    pub fn advance<T: Real>(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        self.advance_positions(state, rate, h, next);
        for k in 0..self.nv {
            next[self.nq + k] = state[self.nq + k] + h * rate[self.nv + k];
        }
        for (i, range) in self.activations.iter().enumerate() {
            let (at, along) = (self.nq + self.nv + i, 2 * self.nv + i);
            next[at] = clamped(state[at] + h * rate[along], *range);
        }
    }

    /// q′ = q ⊕ h v; reads and writes only the first entries of its arguments.
    pub fn advance_positions<T: Real>(&self, at: &[T], rate: &[T], h: T, next: &mut [T]) {
        for &(q, v) in &self.straight {
            next[q] = at[q] + h * rate[v];
        }
        for &(q, v) in &self.rotations {
            Quat::read(&at[q..]).integrate(Vec3::read(&rate[v..]), h).write(&mut next[q..]);
        }
    }

    /// The pullback of [`Coordinates::advance`]: *adds* to the cotangents of state and rate.
    pub fn advance_vjp<T: Real>(
        &self,
        state: &[T],
        rate: &[T],
        h: T,
        next_bar: &[T],
        state_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        self.advance_positions_vjp(state, rate, h, next_bar, state_bar, rate_bar);
        for k in 0..self.nv {
            state_bar[self.nq + k] += next_bar[self.nq + k];
            rate_bar[self.nv + k] += h * next_bar[self.nq + k];
        }
        for (i, range) in self.activations.iter().enumerate() {
            let (at, along) = (self.nq + self.nv + i, 2 * self.nv + i);
            let bar = clamped_vjp(state[at] + h * rate[along], *range, next_bar[at]);
            state_bar[at] += bar;
            rate_bar[along] += h * bar;
        }
    }

    /// The pullback of [`Coordinates::advance_positions`]: *adds* to the cotangents of q and v.
    pub fn advance_positions_vjp<T: Real>(
        &self,
        at: &[T],
        rate: &[T],
        h: T,
        next_bar: &[T],
        at_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        for &(q, v) in &self.straight {
            at_bar[q] += next_bar[q];
            rate_bar[v] += h * next_bar[q];
        }
        for &(q, v) in &self.rotations {
            let (orientation, turn) = (Quat::read(&at[q..]), Vec3::read(&rate[v..]));
            let (q_bar, turn_bar, _) = orientation.integrate_vjp(turn, h, Quat::read(&next_bar[q..]));
            q_bar.add_to(&mut at_bar[q..]);
            turn_bar.add_to(&mut rate_bar[v..]);
        }
    }

    /// A rate as the rate of change of the state: q̇ = v, and ½ q ⊗ (0, ω) for an orientation. What follows the
    /// coordinates is straight.
    pub fn embed<T: Real>(&self, state: &[T], rate: &[T], out: &mut [T]) {
        for &(q, v) in &self.straight {
            out[q] = rate[v];
        }
        for &(q, v) in &self.rotations {
            let turn = Quat::from_parts(T::zero(), Vec3::read(&rate[v..]) * T::lit(0.5));
            (Quat::read(&state[q..]) * turn).write(&mut out[q..]);
        }
        out[self.nq..].copy_from_slice(&rate[self.nv..]);
    }

    /// The pullback of [`Coordinates::embed`]: *adds* to the cotangents of state and rate.
    pub fn embed_vjp<T: Real>(
        &self,
        state: &[T],
        rate: &[T],
        out_bar: &[T],
        state_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        for &(q, v) in &self.straight {
            rate_bar[v] += out_bar[q];
        }
        for &(q, v) in &self.rotations {
            let turn = Quat::from_parts(T::zero(), Vec3::read(&rate[v..]) * T::lit(0.5));
            let (q_bar, turn_bar) = Quat::read(&state[q..]).mul_vjp(turn, Quat::read(&out_bar[q..]));
            q_bar.add_to(&mut state_bar[q..]);
            (turn_bar.vector() * T::lit(0.5)).add_to(&mut rate_bar[v..]);
        }
        for (bar, out_bar) in rate_bar[self.nv..].iter_mut().zip(&out_bar[self.nq..]) {
            *bar += *out_bar;
        }
    }

    /// Adds a cotangent in the tangent space of the velocities to that of the coordinates.
    pub(crate) fn add_tangent<T: Real>(&self, q: &[T], tangent: &[T], q_bar: &mut [T]) {
        for &(at, v) in &self.straight {
            q_bar[at] += tangent[v];
        }
        for &(at, v) in &self.rotations {
            // δq = ½ q ⊗ δφ of a unit quaternion, which is all that the kinematics sees of q.
            let quat = Quat::read(&q[at..]);
            let turned = quat.normalize() * Quat::from_parts(T::zero(), Vec3::read(&tangent[v..]));
            let scale = T::lit(2.0) * quat.norm_squared().sqrt().recip();
            (turned * scale).add_to(&mut q_bar[at..]);
        }
    }
}
