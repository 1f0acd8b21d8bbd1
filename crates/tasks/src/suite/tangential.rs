//! [`Tangential`]: particles whose velocity is made tangential where they touch a surface (BO-Leap A.2.3,
//! A.2.4).
//!
//! One step of semi-implicit Euler: v′ = v + h f/m under the forces of a [`World`] without contacts; then,
//! for every particle below a surface that it still approaches, v′ loses its component along the normal (no
//! restitution); then x′ = x + h v′. A particle can thus sink in by h v before the surface is felt, as in the
//! source.
//!
//! Particles held by the world's `fix` keep their velocity until they touch something. *Led* particles move
//! at a velocity that is a control. The pullback of a step evaluates the forces again only where something is
//! near a surface.

use pullback_core::layout::{LayoutBuilder, Slice};
use pullback_core::rollout::Inputs;
use pullback_core::{
    Bars, Block, ConfigError, Described, Info, Layout, Point, StepError, System, VectorField, Workspace,
};
use pullback_math::{Flat, Real, Rescale, Vec3};
use pullback_physics::world::{World, WorldWorkspace};
use pullback_replay::Replay;

use crate::motion::{Visual, VisualField};

/// What particles slide on.
pub(crate) trait Surface: Sized + Send + Sync {
    /// Its controls, such as where it is.
    type Control: Rescale;
    /// Its parameters, such as friction.
    type Params: Rescale;
    /// Slices of [`Surface::Control`].
    fn control_slices(&self) -> Vec<Slice>;
    /// Slices of [`Surface::Params`].
    fn param_slices(&self) -> Vec<Slice>;
    /// Whether a particle may be below it; exact on no side, but never false where [`Surface::slide`] changes
    /// a velocity.
    fn near<T: Real>(&self, control: Over<Self::Control, T>, x: Vec3<T>) -> bool;
    /// The velocity after contact, if there is any.
    fn slide<T: Real>(
        &self,
        params: Over<Self::Params, T>,
        control: Over<Self::Control, T>,
        x: Vec3<T>,
        v: Vec3<T>,
    ) -> Vec3<T>;
    /// The pullback of [`Surface::slide`].
    fn slide_vjp<T: Real>(
        &self,
        params: Over<Self::Params, T>,
        control: Over<Self::Control, T>,
        x: Vec3<T>,
        v: Vec3<T>,
        out_bar: Vec3<T>,
    ) -> SlideBars<Self, T>;
}

/// A block over the scalar `T`.
pub type Over<B, T> = <B as Rescale>::With<T>;

/// Cotangents of the arguments of [`Surface::slide`].
pub struct SlideBars<S: Surface, T: Real> {
    /// Cotangent of the parameters.
    pub params: Over<S::Params, T>,
    /// Cotangent of the controls.
    pub control: Over<S::Control, T>,
    /// Cotangent of the position.
    pub x: Vec3<T>,
    /// Cotangent of the velocity before contact.
    pub v: Vec3<T>,
}

/// A world of particles and a surface. State: positions, then velocities; controls: those of the surface,
/// then the velocities of the led particles; parameters: those of the world, then of the surface.
#[derive(Clone, Debug)]
pub(crate) struct Tangential<C: Surface> {
    world: World,
    surface: C,
    dt: f64,
    led: Vec<usize>,
    layout: Layout,
    particles: usize,
    world_params: usize,
    surface_params: Block<C::Params>,
}

impl<C: Surface> Visual for Tangential<C> {
    fn seconds(&self) -> f64 {
        self.dt
    }
    fn page(&self, inputs: &Inputs<f64>, dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        self.world.page(inputs, dt, rows)
    }
}

impl<C: Surface> Tangential<C> {
    /// Steps of `dt` seconds. The world has no robots and no controls.
    pub fn new(world: World, surface: C, dt: f64, led: Vec<usize>) -> Result<Self, ConfigError> {
        let particles = world.soft().body().particles();
        let inner = world.layout();
        if inner.state.len() != 6 * particles || !inner.control.is_empty() {
            return Err(ConfigError::new("particles on a surface go without robots and driven elements"));
        }
        if led.iter().any(|p| *p >= particles || !world.soft().body().fixed[*p]) {
            return Err(ConfigError::new("a led particle must be there and be fixed"));
        }
        let world_params = inner.params.len();
        let mut builder = LayoutBuilder::from(inner.clone());
        builder = surface.control_slices().into_iter().fold(builder, |b, s| b.control(s));
        if !led.is_empty() {
            builder = builder.control(Slice::new("lead", 3 * led.len(), "m/s"));
        }
        let surface_params = builder.param_block(surface.param_slices());
        let layout = builder.build()?;
        Ok(Tangential { world, surface, dt, led, layout, particles, world_params, surface_params })
    }

    /// Number of particles.
    pub fn particles(&self) -> usize {
        self.particles
    }

    /// v + h a, or what leads a particle, into `ws.velocity`.
    fn free_velocities<T: Real>(
        &self,
        ws: &mut TangentialWorkspace<T>,
        params: &[T],
        state: &[T],
        control: &[T],
    ) {
        let n = 3 * self.particles;
        self.world.eval(
            &mut ws.world,
            Point { params: &params[..self.world_params], state, control: &[] },
            T::zero(),
            &mut ws.rate,
        );
        for ((v, start), a) in ws.velocity.iter_mut().zip(&state[n..]).zip(&ws.rate[n..]) {
            *v = *start + *a * T::lit(self.dt);
        }
        for (particle, lead) in self.led.iter().zip(control[C::Control::LEN..].chunks_exact(3)) {
            Vec3::read(lead).write(&mut ws.velocity[3 * particle..]);
        }
    }
}

/// Scratch of [`Tangential`].
#[derive(Debug, Workspace)]
pub struct TangentialWorkspace<T: Real> {
    world: WorldWorkspace<T>,
    rate: Vec<T>,
    velocity: Vec<T>,
    rate_bar: Vec<T>,
    velocity_bar: Vec<T>,
}

impl<C: Surface> Described for Tangential<C> {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Real, C: Surface> System<T> for Tangential<C> {
    type Workspace = TangentialWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = |n: usize| vec![T::zero(); n];
        let n = 3 * self.particles;
        TangentialWorkspace {
            world: VectorField::<T>::workspace(&self.world),
            rate: zeros(2 * n),
            velocity: zeros(n),
            rate_bar: zeros(2 * n),
            velocity_bar: zeros(n),
        }
    }

    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, control } = at;
        self.free_velocities(ws, params, state, control);
        let (x_next, v_next) = next.split_at_mut(3 * self.particles);
        let (own_params, own_control) =
            (self.surface_params.read(params), Over::<C::Control, T>::read(control));
        for at in (0..x_next.len()).step_by(3) {
            let (x, mut v) = (Vec3::read(&state[at..]), Vec3::read(&ws.velocity[at..]));
            if self.surface.near(own_control, x) {
                v = self.surface.slide(own_params, own_control, x, v);
            }
            v.write(&mut v_next[at..]);
            (x + v * T::lit(self.dt)).write(&mut x_next[at..]);
        }
        Ok(Info::one())
    }

    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let n = 3 * self.particles;
        let (own_params, own_control) =
            (self.surface_params.read(params), Over::<C::Control, T>::read(control));
        let mut known = false;
        for at in (0..n).step_by(3) {
            // x′ = x + h v′:  x̄ += x̄′, v̄′ += h x̄′
            let x_next_bar = Vec3::read(&next_bar[at..]);
            x_next_bar.add_to(&mut state_bar[at..]);
            let mut v_bar = Vec3::read(&next_bar[n + at..]) + x_next_bar * T::lit(self.dt);
            let x = Vec3::read(&state[at..]);
            if self.surface.near(own_control, x) {
                if !known {
                    self.free_velocities(ws, params, state, control);
                    known = true;
                }
                let v = Vec3::read(&ws.velocity[at..]);
                let bars = self.surface.slide_vjp(own_params, own_control, x, v, v_bar);
                self.surface_params.add(bars.params, params_bar);
                bars.control.add_to(control_bar);
                bars.x.add_to(&mut state_bar[at..]);
                v_bar = bars.v;
            }
            v_bar.write(&mut ws.velocity_bar[at..]);
        }
        for (particle, bar) in self.led.iter().zip(control_bar[C::Control::LEN..].chunks_exact_mut(3)) {
            for (bar, x) in bar.iter_mut().zip(&mut ws.velocity_bar[3 * particle..]) {
                *bar += std::mem::take(x);
            }
        }
        // v + h a:  v̄ += v̄′, ā += h v̄′
        for ((v, a), bar) in state_bar[n..].iter_mut().zip(&mut ws.rate_bar[n..]).zip(&ws.velocity_bar) {
            *v += *bar;
            *a = *bar * T::lit(self.dt);
        }
        let TangentialWorkspace { world, rate_bar, .. } = ws;
        let (params, zero) = (&params[..self.world_params], T::zero());
        self.world.eval_vjp(
            world,
            Point { params, state, control: &[] },
            zero,
            rate_bar,
            Bars { params: &mut params_bar[..self.world_params], state: state_bar, control: &mut [] },
        );
        Ok(())
    }
}
