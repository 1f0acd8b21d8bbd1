//! [`DivergenceFree`]: first velocities as the variables of a search.
//!
//! A search may come up with any velocities at open faces. The first step moves smoke by them before anything
//! projects them, and smoke could be made and destroyed where they diverge. So they are projected first, by the
//! map that is its own pullback.

use pullback_core::input_map::{InputMap, Variable};
use pullback_core::rollout::{Gradient, Inputs};
use pullback_core::{ConfigError, Described};
use pullback_math::Real;

use super::conjugate_gradients::Solver;
use super::padded::Place;
use super::pressure::project;
use super::system::Smoke;

/// A variable per open face: its velocity before a projection.
#[derive(Clone, Debug)]
pub struct DivergenceFree<const D: usize> {
    smoke: Smoke<D>,
    variables: Vec<Variable>,
    /// Entry of the state that each variable stands for, and of a padded array, with its axis.
    faces: Vec<(usize, usize, usize)>,
}

impl<const D: usize> DivergenceFree<D> {
    /// The velocities of all open faces, each between −`most` and `most`, m/s, and at first zero.
    pub fn new(smoke: &Smoke<D>, most: f64) -> Result<Self, ConfigError> {
        if !(most > 0.0 && most.is_finite()) {
            return Err(ConfigError::new(format!("velocities need a positive bound, got {most} m/s")));
        }
        let (mut variables, mut faces) = (Vec::new(), Vec::new());
        let state = &smoke.layout().state;
        for (axis, slice) in state.slices().iter().take(D).enumerate() {
            for i in (0..slice.len()).filter(|i| smoke.is_open(axis, *i)) {
                variables.push(Variable::new(slice.entry_name(i), "m/s", (-most, most), 0.0));
                faces.push((slice.range.start + i, smoke.padded.index(i), axis));
            }
        }
        Ok(DivergenceFree { smoke: smoke.clone(), variables, faces })
    }

    /// Projects velocities given face by face, and hands on the results.
    fn projected<T: Real>(&self, at: impl Fn(usize) -> T, mut visit: impl FnMut(usize, T)) {
        let padded = &self.smoke.padded;
        let mut velocity: [Vec<T>; D] = std::array::from_fn(|_| vec![T::zero(); padded.len]);
        for (i, (_, place, axis)) in self.faces.iter().enumerate() {
            velocity[*axis][*place] = at(i);
        }
        for (a, velocity) in velocity.iter_mut().enumerate() {
            padded.fill_halo(Place::Face(a), velocity);
        }
        let mut solver = Solver::<D>::new(padded, self.smoke.fluid());
        project(padded, self.smoke.closed(), &mut solver, self.smoke.settings().pressure, &mut velocity);
        for (i, (_, place, axis)) in self.faces.iter().enumerate() {
            visit(i, velocity[*axis][*place]);
        }
    }
}

impl<const D: usize> InputMap for DivergenceFree<D> {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }
    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>) {
        self.projected(|i| x[i], |i, u| inputs.state[self.faces[i].0] = u);
    }
    fn apply_vjp<T: Real>(&self, _x: &[T], bars: &Gradient<T>, x_bar: &mut [T]) {
        self.projected(|i| bars.state[self.faces[i].0], |i, bar| x_bar[i] += bar);
    }
}
