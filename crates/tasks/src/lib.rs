//! Named scenes, the tasks made of them, and the experiments of the papers.

pub mod articulated_adjoint;
pub mod bo_leap;
pub mod contact_doctor;
pub mod depict;
pub mod diffmjx;
pub mod environments;
pub mod files;
pub mod goal;
pub mod identify;
pub mod motion;
pub mod mpm;
pub mod objectives;
pub mod part_log;
pub mod planning;
pub mod recording;
pub mod results;
pub mod scene;
pub mod scenes;
pub mod smoke;
pub mod soft;
pub mod stability;
pub mod suite;

pub use results::{Goal, Results, Row};
pub use scene::{Checking, Scene};
