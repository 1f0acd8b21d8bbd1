//! Ideal elastic contact: the velocity flips at the surface, with or without correcting for the time of
//! impact.

use pullback_core::error::StepError;
use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, Block, ConfigError, Described, Info, Point, System};
use pullback_math::{Cotangent, Real, constant, differentiable, select};

/// Parameters of an [`ElasticPointMass`].
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct ElasticPointMassParams<T> {
    /// Coefficient of restitution; 1 is ideal.
    pub restitution: T,
    /// Gravity, m/s².
    pub gravity: T,
}

/// One step of (height, velocity). Where the point would end below the surface, the velocity flips.
///
/// Without correction the point moves with the new velocity for the whole step, q′ = q + h v′, and dq′/dq =
/// 1: the gradient never learns that a higher start now means a later bounce. With it, the step is split at
/// the time of impact t* = −q/v, and q′ = (h − t*) v′.
#[differentiable]
#[inline(always)]
pub fn elastic_step<T: Real>(
    height: T,
    velocity: T,
    params: ElasticPointMassParams<T>,
    #[constant] dt: T,
    #[constant] time_of_impact: bool,
) -> (T, T) {
    let falling = velocity - params.gravity * dt;
    let free = height + falling * dt;
    let hits = constant(free.lt(T::zero()) & falling.lt(T::zero()));
    let bounced = -(params.restitution * falling);
    // Keeps the division finite where nothing hits.
    let speed = select(hits, falling, -T::one());
    let after = if time_of_impact { (dt + height / speed) * bounced } else { height + bounced * dt };
    (select(hits, after, free), select(hits, bounced, falling))
}

/// State: height and velocity; parameters: restitution (1 is ideal) and gravity.
#[derive(Clone, Debug)]
pub struct ElasticPointMass {
    layout: Layout,
    params: Block<ElasticPointMassParams<f64>>,
    dt: f64,
    time_of_impact: bool,
}

impl ElasticPointMass {
    /// Steps of `dt` seconds; `time_of_impact` splits the step at the bounce.
    pub fn new(dt: f64, time_of_impact: bool) -> Result<Self, ConfigError> {
        if !(dt.is_finite() && dt > 0.0) {
            return Err(ConfigError::new(format!("the time step must be positive, got {dt}")));
        }
        let mut builder = Layout::builder()
            .state(Slice::new("height", 1, "m").default(&[1.0]).bounds(-10.0, 10.0))
            .state(Slice::new("velocity", 1, "m/s").default(&[-1.0]));
        let params = builder.param_block([
            Slice::new("restitution", 1, "1").bounds(0.0, 1.0).default(&[1.0]),
            Slice::new("gravity", 1, "m/s^2").bounds(-1e3, 1e3).default(&[0.0]),
        ]);
        Ok(ElasticPointMass { layout: builder.build()?, params, dt, time_of_impact })
    }

    /// Where the parameters lie.
    pub fn param_block(&self) -> Block<ElasticPointMassParams<f64>> {
        self.params
    }

    /// Seconds per step.
    pub fn dt(&self) -> f64 {
        self.dt
    }
}

impl Described for ElasticPointMass {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Real> System<T> for ElasticPointMass {
    type Workspace = ();
    fn workspace(&self) {}

    #[inline(always)]
    fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, .. } = at;
        let params = self.params.read(params);
        (next[0], next[1]) = elastic_step(state[0], state[1], params, T::lit(self.dt), self.time_of_impact);
        Ok(Info::one())
    }

    #[inline(always)]
    fn step_vjp(
        &self,
        _ws: &mut (),
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let Point { params, state, .. } = at;
        let Bars { params: params_bar, state: state_bar, .. } = bars;
        let (height, velocity, params, (), ()) = elastic_step_vjp(
            state[0],
            state[1],
            self.params.read(params),
            T::lit(self.dt),
            self.time_of_impact,
            (next_bar[0], next_bar[1]),
        );
        state_bar[0] += height;
        state_bar[1] += velocity;
        self.params.add(params, params_bar);
        Ok(())
    }
}
