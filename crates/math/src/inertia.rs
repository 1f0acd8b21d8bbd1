//! Spatial inertia of a rigid body, from motion to momentum.
//!
//! Stored as the ten numbers (m, h, I): mass, first moment h = m c, and rotational inertia about the *origin
//! of the frame*. In this form the inertia is linear in its parameters: the inertia of a composite body is a
//! plain sum, the momentum I v is linear in the ten numbers (so their cotangents are those of system
//! identification), and a massless body needs no division. Articulated-body sweeps add and transform inertias
//! in every step and ask for the center of mass almost never; [`com`](SpatialInertia::com) and
//! [`inertia_about_com`](SpatialInertia::inertia_about_com) recover it.
//!
//! Singular point: a mass of exactly zero has its center of mass at the origin, with zero pullback.

use std::ops::Mul;

use crate::linear::linear_space;
use crate::{Cotangent, Force, Motion, MulVjp, Real, SymMat3, Vec3, differentiable};

/// Inertia of a rigid body about the origin of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpatialInertia<T> {
    /// Mass m, kg.
    pub mass: T,
    /// First moment of mass h = m c, kg m.
    pub first_moment: Vec3<T>,
    /// Rotational inertia about the frame's origin, kg m².
    pub rotational: SymMat3<T>,
}

linear_space!(SpatialInertia { mass: T, first_moment: Vec3<T>, rotational: SymMat3<T> });

impl<T: Real> SpatialInertia<T> {
    /// A massless body.
    #[inline(always)]
    pub fn zero() -> Self {
        SpatialInertia { mass: T::zero(), first_moment: Vec3::zero(), rotational: SymMat3::zero() }
    }
    /// A body of `mass` (kg) with center of mass `com` (m) and inertia about it (kg m²).
    ///
    /// Parallel axes: I = I_c − m \[c\]²
    #[differentiable]
    #[inline(always)]
    pub fn from_com(mass: T, com: Vec3<T>, about_com: SymMat3<T>) -> Self {
        SpatialInertia {
            mass,
            first_moment: com * mass,
            rotational: about_com + SymMat3::point_inertia(com) * mass,
        }
    }

    /// Center of mass c = h / m (m), and 0 for a massless body.
    #[inline(always)]
    pub fn com(self) -> Vec3<T> {
        self.first_moment * self.inverse_mass()
    }
    /// dc = (dh − c dm) / m, and 0 for a massless body. By hand: 1/m is formed once.
    #[inline(always)]
    pub fn com_vjp(self, out_bar: Vec3<T>) -> Self {
        let mut bar = self.zero_like();
        bar.first_moment = out_bar * self.inverse_mass();
        bar.mass = -self.com().dot(bar.first_moment);
        bar
    }
    /// Rotational inertia about the center of mass (kg m²): I + m \[c\]²
    #[differentiable]
    #[inline(always)]
    pub fn inertia_about_com(self) -> SymMat3<T> {
        self.rotational - SymMat3::point_inertia(self.com()) * self.mass
    }
    /// 1/m, and 0 for a massless body.
    #[inline(always)]
    fn inverse_mass(self) -> T {
        let massive = self.mass.abs().ge(T::lit(T::MIN_POSITIVE));
        T::select(massive, T::select(massive, self.mass, T::one()).recip(), T::zero())
    }

    /// Kinetic energy (J) of a velocity: ½ v·(I v)
    #[inline(always)]
    pub fn kinetic_energy(self, velocity: Motion<T>) -> T {
        velocity.dot(self * velocity) * T::lit(0.5)
    }
    /// dE = (I v)·dv + ½ v·(dI v), since I is symmetric. By hand: one product serves both.
    #[inline(always)]
    pub fn kinetic_energy_vjp(self, velocity: Motion<T>, out_bar: T) -> (Self, Motion<T>) {
        let momentum = self * velocity;
        let half_velocity = Force::new(velocity.angular, velocity.linear) * (out_bar * T::lit(0.5));
        let (inertia_bar, _) = self.mul_vjp(velocity, half_velocity);
        (inertia_bar, Motion::new(momentum.moment, momentum.force) * out_bar)
    }
}

impl<T: Real> Mul<Motion<T>> for SpatialInertia<T> {
    type Output = Force<T>;
    // I v = (I ω + h × v, m v − h × ω)
    #[inline(always)]
    fn mul(self, m: Motion<T>) -> Force<T> {
        Force {
            moment: self.rotational * m.angular + self.first_moment.cross(m.linear),
            force: m.linear * self.mass - self.first_moment.cross(m.angular),
        }
    }
}
impl<T: Real> MulVjp<Motion<T>> for SpatialInertia<T> {
    // The inertia is symmetric: the motion's cotangent is I applied to the output's.
    #[inline(always)]
    fn mul_vjp(self, m: Motion<T>, out_bar: Force<T>) -> (Self, Motion<T>) {
        let (rotational, _) = self.rotational.mul_vjp(m.angular, out_bar.moment);
        let (h_bar, _) = self.first_moment.cross_vjp(m.linear, out_bar.moment);
        let (h_bar_f, _) = self.first_moment.cross_vjp(m.angular, -out_bar.force);
        let inertia_bar =
            SpatialInertia { mass: m.linear.dot(out_bar.force), first_moment: h_bar + h_bar_f, rotational };
        let as_force = self * Motion::new(out_bar.moment, out_bar.force);
        (inertia_bar, Motion::new(as_force.moment, as_force.force))
    }
}
