//! Objectives, the landscapes they make, and the way down.

pub mod bfgs;
pub mod doctor;
pub mod gp;
pub mod landscape;
pub mod least_squares;
mod line_log;
pub mod methods;
pub mod objective;
pub mod run;
mod run_log;
pub mod search;
pub mod test_functions;
mod two_loop;

pub use bfgs::{BfgsConfig, bfgs};
pub use doctor::{DoctorConfig, Examination, Verdict, examine};
pub use landscape::{Landscape, LandscapeConfig};
pub use line_log::{LineLog, LogError, RunName};
pub use methods::build as build_method;
pub use objective::{Objective, RolloutObjective};
pub use run::{Best, Failures, Run, SearchMethod, Stop, optimize};
pub use run_log::{Episode, RunLog};
pub use test_functions::TestFunction;
