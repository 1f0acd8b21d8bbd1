//! Named scenes, the tasks made of them, and the experiments of the papers.

pub mod diffmjx_toy;
pub mod files;
pub mod mpm;
pub mod objectives;
pub mod recording;
pub mod results;
pub mod scene;
pub mod scenes;
pub mod soft;

pub use results::{Goal, Results, Row};
pub use scene::Scene;
