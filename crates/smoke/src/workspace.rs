//! [`SmokeWorkspace`]: scratch of a step, allocated once.

use pullback_core::Workspace;
use pullback_math::Scalar;

use super::advection::MoverScratch;
use super::conjugate_gradients::Solver;
use super::padded::Place;
use super::system::Smoke;
use super::vorticity::VorticityScratch;

/// Scratch of [`Smoke`]: arrays with halos.
#[derive(Clone, Debug)]
pub struct SmokeWorkspace<T: Scalar, const D: usize> {
    /// The state, with the source's smoke.
    pub(crate) velocity: [Vec<T>; D],
    pub(crate) density: Vec<T>,
    /// After advection.
    pub(crate) moved: [Vec<T>; D],
    pub(crate) moved_density: Vec<T>,
    /// After all forces, then after the projection.
    pub(crate) pushed: [Vec<T>; D],
    /// Cotangents.
    pub(crate) pushed_bar: [Vec<T>; D],
    pub(crate) moved_bar: [Vec<T>; D],
    pub(crate) moved_density_bar: Vec<T>,
    /// Scratch of every velocity and of the density, which is last.
    pub(crate) movers: Vec<MoverScratch<T, D>>,
    pub(crate) vorticity: Option<VorticityScratch<T>>,
    pub(crate) solver: Solver<D>,
    /// A number per row.
    pub(crate) sums: Vec<T>,
}

impl<T: Scalar, const D: usize> SmokeWorkspace<T, D> {
    pub(crate) fn new(smoke: &Smoke<D>) -> Self {
        let padded = &smoke.padded;
        let zeros = vec![T::zero(); padded.len];
        let vectors = || std::array::from_fn(|_| zeros.clone());
        let settings = smoke.settings();
        SmokeWorkspace {
            velocity: vectors(),
            density: zeros.clone(),
            moved: vectors(),
            moved_density: zeros.clone(),
            pushed: vectors(),
            pushed_bar: vectors(),
            moved_bar: vectors(),
            moved_density_bar: zeros.clone(),
            movers: (0..=D)
                .map(|field| MoverScratch::new(padded, settings.scheme, Place::of_field(field, D)))
                .collect(),
            vorticity: settings.confinement.map(|_| VorticityScratch::new(padded.len)),
            solver: Solver::new(padded, smoke.fluid()),
            sums: vec![T::zero(); padded.rows],
        }
    }
}

impl<T: Scalar, const D: usize> Workspace for SmokeWorkspace<T, D> {
    fn heap_bytes(&self) -> usize {
        let vectors = [&self.velocity, &self.moved, &self.pushed, &self.pushed_bar, &self.moved_bar];
        let fields = [&self.density, &self.moved_density, &self.moved_density_bar, &self.sums];
        let movers = self.movers.capacity() * size_of::<MoverScratch<T, D>>();
        vectors.iter().map(|v| v.heap_bytes()).sum::<usize>()
            + fields.iter().map(|v| v.heap_bytes()).sum::<usize>()
            + movers
            + self.movers.iter().map(Workspace::heap_bytes).sum::<usize>()
            + self.vorticity.heap_bytes()
            + self.solver.heap_bytes()
    }
}
