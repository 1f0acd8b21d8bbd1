//! Least squares: quantities found from measurements, with errors, and a plain word on what cannot be told.
//!
//! [`LeastSquares`] is the seam: residuals r(x) in parts, each weighted to unit noise, with their derivatives. A recording
//! compared with its simulation ([`RolloutResiduals`]) is one kind of residuals, frames of a video are another.
//!
//! | file | what |
//! |---|---|
//! | `problem.rs` | the trait, and sums and gradients over all parts |
//! | `rollout.rs`, `recorded.rs` | residuals of rollouts against recordings |
//! | `triangle.rs` | \[J r\] compressed to a triangle, part by part; unknowns of one part alone are eliminated there |
//! | `gauss_newton.rs` | Gauss-Newton steps with Levenberg-Marquardt damping in a box |
//! | `laplace.rs` | errors, intervals and correlations at the minimum |
//! | `identifiability.rs` | combinations that the data do not tell, in words |
//! | `methods.rs`, `fit.rs` | the table of methods; several starts, resumed after an interruption |

mod fit;
mod gauss_newton;
mod identifiability;
mod laplace;
mod methods;
mod problem;
mod recorded;
mod rollout;
mod triangle;

pub use fit::{FitError, FitLog, FitSettings, Fitted, StartResult, fit};
pub use gauss_newton::{End, GaussNewton, GaussNewtonState};
pub use identifiability::Untold;
pub use laplace::{Errors, Estimate, Laplace, laplace};
pub use methods::{BuildFitMethod, FIT_METHODS, FitMethod, build_fit_method};
pub use problem::{LeastSquares, Loss, PartMap, Place, Unknown, residuals};
pub use recorded::{Channel, Moment, Outputs, Recorded, Sample, StateOutputs, moment};
pub use rollout::{Compare, Freed, Part, RolloutResiduals, Sweep};
pub use triangle::triangle;

#[cfg(test)]
mod tests;
