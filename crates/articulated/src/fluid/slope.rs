//! The derivative of the medium's forces over velocity, for implicit steps, and its pullback.
//!
//! With B the derivative of the force on a body over its motion, Q = Σ Jᵀ B J. MuJoCo's `implicit` takes B as
//! it is; `implicitfast` takes (B + Bᵀ)/2, except of bodies that float alone.
//!
//! *Pullback.* For motions m along μ and w along v̇, d(m·B w) is the tangent along w of the pullback of the
//! force with cotangent m: one pullback over dual numbers.

use pullback_core::Workspace;
use pullback_math::{Dual, Flat, Force, Motion, Real, Vec3};

use super::{FluidPart, Immersed, MOTION, Numbers};
use crate::contact::MotionBars;
use crate::field::Articulated;
use crate::implicit::{Implicit, ImplicitTerms, Slope};
use crate::kinematics::Kinematics;
use crate::rnea::{HeldMotions, SweepInputs, as_cotangent, body_motions, body_velocities_vjp};

/// Memory of the pullback; empty unless a step is implicit in the forces of a medium.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct FluidWorkspace<T> {
    /// Motions of the bodies along μ and v̇.
    virtuals: Vec<Motion<T>>,
    accelerations: Vec<Motion<T>>,
    /// Cotangents of the motions along v, μ and v̇, and wrenches on displacements.
    velocity_bars: Vec<Force<T>>,
    virtual_bars: Vec<Force<T>>,
    acceleration_bars: Vec<Force<T>>,
    wrenches: Vec<Force<T>>,
}

impl<T: Real> FluidWorkspace<T> {
    pub fn new(bodies: usize) -> Self {
        FluidWorkspace {
            virtuals: vec![Motion::zero(); bodies],
            accelerations: vec![Motion::zero(); bodies],
            velocity_bars: vec![Force::zero(); bodies],
            virtual_bars: vec![Force::zero(); bodies],
            acceleration_bars: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
        }
    }
}

/// Cotangents that the pullback adds to.
pub(crate) struct SlopeBars<'a, T> {
    pub tangent: &'a mut [T],
    pub v: &'a mut [T],
    pub axes: &'a mut [Force<T>],
    /// Wrench that each body and everything beyond it exert on a small motion of them.
    pub carried: &'a mut [Force<T>],
    pub params: &'a mut [T],
}

impl FluidPart {
    /// x with the motion moving along `w`.
    fn along<T: Real>(x: &Numbers<T>, w: Motion<T>) -> Numbers<Dual<T>> {
        let mut along: Numbers<Dual<T>> = std::array::from_fn(|i| Dual::fixed(x[i]));
        let mut tangents = [T::zero(); 6];
        w.write(&mut tangents);
        for (x, w) in along[MOTION..].iter_mut().zip(tangents) {
            x.tangent = w;
        }
        along
    }

    /// B: motion to force.
    fn slope<T: Real>(&self, x: &Numbers<T>) -> Slope<T> {
        Slope::of_columns(|motion| tangent(self.force(&FluidPart::along(x, motion))))
    }

    /// Cotangents of m·B w: of x, of m and of w.
    fn slope_vjp<T: Real>(
        &self,
        x: &Numbers<T>,
        m: Motion<T>,
        w: Motion<T>,
    ) -> (Numbers<T>, Force<T>, Force<T>) {
        let along = FluidPart::along(x, w);
        let fixed = |v: Vec3<T>| v.map(Dual::fixed);
        let bars = self.force_vjp(&along, Force::new(fixed(m.angular), fixed(m.linear)));
        let values: Numbers<T> = std::array::from_fn(|i| bars[i].value);
        let w_bar = as_cotangent(Motion::read(&values[MOTION..]));
        (std::array::from_fn(|i| bars[i].tangent), tangent(self.force(&along)), w_bar)
    }
}

fn tangent<T: Real>(force: Force<Dual<T>>) -> Force<T> {
    let of = |v: Vec3<Dual<T>>| v.map(|x| x.tangent);
    Force::new(of(force.moment), of(force.force))
}

impl Articulated {
    /// Memory for implicit steps through a medium.
    pub(crate) fn fluid_workspace<T: Real>(&self) -> FluidWorkspace<T> {
        let implicit = self.implicit.is_some_and(|step| step.terms != ImplicitTerms::Damping);
        FluidWorkspace::new(if self.is_immersed() && implicit { self.tree.bodies() } else { 0 })
    }

    /// Whether a step takes the slope of the medium's force on a body as it is, and not its symmetric part.
    fn takes_whole_slope(&self, terms: ImplicitTerms, body: usize) -> bool {
        terms == ImplicitTerms::Full || self.floats_alone[self.tree.root[body]]
    }

    /// Sets `slopes` to Σ B over everything that each body carries; whether there is any.
    pub(crate) fn fluid_slopes<T: Real>(
        &self,
        terms: ImplicitTerms,
        (kinematics, params, velocities): (&Kinematics<T>, &[T], &[Motion<T>]),
        slopes: &mut [Slope<T>],
    ) -> bool {
        let Some(at) = self.immersed(kinematics, params) else { return false };
        slopes.fill(Slope::zero());
        for part in &at.fluid.parts {
            let slope = part.slope(&at.gather(part, velocities[part.body]));
            let whole = self.takes_whole_slope(terms, part.body);
            slopes[part.body].add(if whole { slope } else { slope.symmetric() });
        }
        for b in (1..self.tree.bodies()).rev() {
            let slope = slopes[b];
            slopes[self.tree.parent[b]].add(slope);
        }
        true
    }

    /// The pullback of the medium's part of M − h Q with cotangent −μ v̇ᵀ of the matrix, at the velocities of
    /// `inputs` with body velocities `velocities`: *adds* to `bars`.
    pub(crate) fn fluid_slopes_vjp<T: Real>(
        &self,
        ws: &mut FluidWorkspace<T>,
        step: &Implicit,
        (inputs, params, velocities): (&SweepInputs<'_, T>, &[T], &[Motion<T>]),
        (mu, acceleration): (&[T], &[T]),
        bars: SlopeBars<'_, T>,
    ) {
        let kinematics: &Kinematics<T> = inputs.kinematics;
        let Some(at) = self.immersed(kinematics, params) else { return };
        if step.terms == ImplicitTerms::Damping {
            return;
        }
        body_motions(&self.tree, kinematics, mu, &mut ws.virtuals);
        body_motions(&self.tree, kinematics, acceleration, &mut ws.accelerations);
        for own in [&mut ws.velocity_bars, &mut ws.virtual_bars, &mut ws.acceleration_bars, &mut ws.wrenches]
        {
            own.fill(Force::zero());
        }
        for part in &at.fluid.parts {
            self.part_slope_vjp(&at, part, step, velocities[part.body], ws, bars.params);
        }
        let held = HeldMotions {
            motions: [(mu, &mut ws.virtual_bars), (acceleration, &mut ws.acceleration_bars)],
            axis_bars: &[],
        };
        let (velocity_bars, wrenches) = (&mut ws.velocity_bars, &mut ws.wrenches);
        body_velocities_vjp(inputs, velocity_bars, held, wrenches, bars.tangent, bars.v, bars.axes);
        bars.carried.iter_mut().zip(&ws.wrenches).for_each(|(carried, wrench)| *carried += *wrench);
    }

    /// What one part gives: h μ·dQ v̇.
    fn part_slope_vjp<T: Real>(
        &self,
        at: &Immersed<'_, T>,
        part: &FluidPart,
        step: &Implicit,
        velocity: Motion<T>,
        ws: &mut FluidWorkspace<T>,
        params_bar: &mut [T],
    ) {
        let (b, x) = (part.body, at.gather(part, velocity));
        let whole = self.takes_whole_slope(step.terms, b);
        let h = T::lit(if whole { step.dt } else { 0.5 * step.dt });
        let (m, w) = (ws.virtuals[b], ws.accelerations[b]);
        let (mut x_bar, m_bar, w_bar) = part.slope_vjp(&x, m, w);
        ws.virtual_bars[b] += m_bar * h;
        ws.acceleration_bars[b] += w_bar * h;
        if !whole {
            let (other, w_bar, m_bar) = part.slope_vjp(&x, w, m);
            ws.virtual_bars[b] += m_bar * h;
            ws.acceleration_bars[b] += w_bar * h;
            x_bar.iter_mut().zip(other).for_each(|(bar, other)| *bar += other);
        }
        let scaled: Numbers<T> = x_bar.map(|bar| bar * h);
        let (velocities, wrenches) = (&mut ws.velocity_bars[..], &mut ws.wrenches[..]);
        at.scatter(part, &scaled, &mut MotionBars { velocities, wrenches, params: params_bar });
    }
}
