//! Systems, integrators, adjoints, rollouts, batches, and the gradient validator.
//!
//! Three traits carry everything: [`System`] (a discrete step with its pullback), [`VectorField`] (continuous
//! dynamics, which [`Integrated`] turns into a system) and [`Loss`](rollout::Loss) (read along a
//! [`Rollout`]).

extern crate self as pullback_core;

pub mod batch;
mod block;
pub mod checkpoint;
#[doc(hidden)]
pub mod compiled;
pub mod cpu;
pub mod csv;
pub mod directions;
#[doc(hidden)]
pub mod doc_example;
pub mod drive;
pub mod erased;
pub mod error;
pub mod field;
pub mod files;
pub mod gradcheck;
pub mod input_map;
mod inputs;
pub mod integrator;
pub mod interrupt;
pub mod layout;
pub mod linearize;
mod loss;
pub mod losses;
pub mod manifold;
pub mod memory;
pub mod picture;
pub mod point;
pub mod random;
pub mod registry;
pub mod rollout;
pub mod settings;
pub mod sources;
pub mod stability;
pub mod step_check;
pub mod system;
pub mod workspace;

pub use batch::Batch;
pub use block::Block;
pub use checkpoint::Schedule;
pub use erased::Erased;
pub use error::{ConfigError, StepError};
pub use field::{FieldShape, VectorField};
pub use integrator::{Integrated, Integrator};
pub use layout::{Layout, Slice};
pub use linearize::{Linearization, linearize};
pub use manifold::Manifold;
pub use point::{Bars, Point};
/// ```
/// use pullback_core::Workspace;
///
/// #[derive(Clone, Copy)]
/// struct Grid {
///     nodes: [usize; 3],
/// }
///
/// #[derive(Workspace)]
/// struct Scratch<T> {
///     #[workspace(plain)]
///     grid: Grid,
///     rate: Vec<T>,
///     rate_bar: Vec<T>,
/// }
///
/// let grid = Grid { nodes: [8; 3] };
/// let scratch = Scratch { grid, rate: vec![0.0; 4], rate_bar: vec![0.0; 4] };
/// assert_eq!(scratch.heap_bytes(), 8 * size_of::<f64>());
/// # assert_eq!(scratch.grid.nodes[0], 8);
/// ```
#[doc(inline)]
pub use pullback_macros::Workspace;
#[doc(hidden)]
pub use pullback_math as math;
pub use rollout::{Inputs, Rollout};
pub use system::{Described, Info, SolverInfo, System};
pub use workspace::Workspace;
