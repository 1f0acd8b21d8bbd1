//! A body in free fall and an oscillator: the smallest systems, for examples and tests.

use pullback_math::Real;

use crate::block::Block;
use crate::field::{FieldShape, VectorField};
use crate::integrator::{Integrated, Integrator, Method};
use crate::layout::{Layout, Slice};
use crate::point::{Bars, Point};
use crate::system::Described;

/// ẍ = −g.
#[derive(Clone, Debug)]
pub struct FreeFall {
    layout: Layout,
    gravity: Block<f64>,
}

/// Free fall stepped by semi-implicit Euler.
pub fn falling(dt: f64) -> Integrated<FreeFall> {
    let mut builder =
        Layout::builder().state(Slice::new("height", 1, "m")).state(Slice::new("velocity", 1, "m/s"));
    let gravity = builder.param_block([Slice::new("gravity", 1, "m/s^2").default(&[9.81])]);
    let layout = builder.build().expect("names differ");
    Integrated::new(FreeFall { layout, gravity }, dt, Integrator::fixed(Method::SemiImplicitEuler))
        .expect("a second-order system")
}

impl Described for FreeFall {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}
impl FieldShape for FreeFall {
    fn velocities(&self) -> Option<usize> {
        Some(1)
    }
}
impl<T: Real> VectorField<T> for FreeFall {
    type Workspace = ();
    fn workspace(&self) {}
    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        rate[0] = at.state[1];
        rate[1] = -self.gravity.read(at.params);
    }
    fn eval_vjp(&self, _ws: &mut (), _at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        bars.state[1] += rate_bar[0];
        self.gravity.add(-rate_bar[1], bars.params);
        T::zero()
    }
}

/// ẍ = −k x.
#[derive(Clone, Debug)]
pub struct Oscillator {
    layout: Layout,
    stiffness: Block<f64>,
}

/// An oscillator of mass 1 stepped by semi-implicit Euler.
pub fn oscillator(dt: f64) -> Integrated<Oscillator> {
    let mut builder = Layout::builder()
        .state(Slice::new("place", 1, "m").default(&[1.0]))
        .state(Slice::new("velocity", 1, "m/s"));
    let stiffness = builder.param_block([Slice::new("stiffness", 1, "N/m").default(&[100.0])]);
    let layout = builder.build().expect("names differ");
    Integrated::new(Oscillator { layout, stiffness }, dt, Integrator::fixed(Method::SemiImplicitEuler))
        .expect("a second-order system")
}

impl Described for Oscillator {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}
impl FieldShape for Oscillator {
    fn velocities(&self) -> Option<usize> {
        Some(1)
    }
}
impl<T: Real> VectorField<T> for Oscillator {
    type Workspace = ();
    fn workspace(&self) {}
    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        rate[0] = at.state[1];
        rate[1] = -self.stiffness.read(at.params) * at.state[0];
    }
    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        bars.state[1] += rate_bar[0];
        bars.state[0] -= self.stiffness.read(at.params) * rate_bar[1];
        self.stiffness.add(-rate_bar[1] * at.state[0], bars.params);
        T::zero()
    }
}
