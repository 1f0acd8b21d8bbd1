//! Videos of simulations, as pictures and as losses.
//!
//! [`Visible`] says what a camera sees of a state, with its pullback; [`film`] makes the frames of a rollout; [`Footage`]
//! compares frames with those of a recorded video, as residuals of
//! [`RolloutResiduals`](pullback_optim::least_squares::RolloutResiduals). So gradients flow from pixels to states, controls
//! and parameters, for searches by gradients (the mean square of the residuals) and for Gauss-Newton.
//!
//! Physics and pictures have rates of their own: a frame is a picture of one step of a rollout, and any steps may have one.
//!
//! | module | what |
//! |---|---|
//! | `visible` | the trait that joins physics and pictures |
//! | `world`, `robot`, `rods`, `balls` | soft bodies; robots and meshes on their bodies; pendula; particles |
//! | `shot` | camera and settings; frames of a rollout; pictures of single states with their pullback |
//! | `footage` | recorded videos, compared |
//! | `look` | what plain pictures show: materials, textures, lights and cameras of models |
//! | `encode` | files of videos |
//! | `colors` | colors of things that have none |

mod balls;
mod colors;
pub mod encode;
mod error;
mod footage;
mod geom;
pub mod look;
mod robot;
mod rods;
mod shot;
mod visible;
mod world;

pub use balls::VisibleBalls;
pub use error::VideoError;
pub use footage::{Channels, Difference, Footage, FootageWorkspace, Pixels};
pub use robot::{RobotView, VisibleRobot};
pub use rods::VisibleRods;
pub use shot::{Frame, Shot, Stage, film};
pub use visible::Visible;
pub use world::VisibleWorld;
