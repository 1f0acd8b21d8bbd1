//! A body in free fall: the smallest system, for examples and tests.

use pullback_math::Real;

use crate::field::{FieldShape, VectorField};
use crate::integrator::{Integrated, Integrator, Method};
use crate::layout::{Layout, Slice};
use crate::point::{Bars, Point};
use crate::system::Described;

/// ẍ = −g.
#[derive(Clone, Debug)]
pub struct FreeFall {
    layout: Layout,
}

/// Free fall stepped by semi-implicit Euler.
pub fn falling(dt: f64) -> Integrated<FreeFall> {
    let layout = Layout::builder()
        .state(Slice::new("height", 1, "m"))
        .state(Slice::new("velocity", 1, "m/s"))
        .param(Slice::new("gravity", 1, "m/s^2").default(&[9.81]))
        .build()
        .expect("names differ");
    Integrated::new(FreeFall { layout }, dt, Integrator::fixed(Method::SemiImplicitEuler))
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
        rate[1] = -at.params[0];
    }
    fn eval_vjp(&self, _ws: &mut (), _at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        bars.state[1] += rate_bar[0];
        bars.params[0] -= rate_bar[1];
        T::zero()
    }
}
