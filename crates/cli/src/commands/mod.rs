//! One file per command.

pub mod compare;
pub mod completions;
pub mod demo;
pub mod doctor;
mod filming;
pub mod gradcheck;
pub mod identify;
pub mod inspect;
pub mod landscape;
pub mod list;
pub mod mpc;
mod objective;
pub mod optimize;
mod pictures;
pub mod play;
pub mod reproduce;
pub mod simulate;
pub mod train;
pub mod trajectory;
pub mod view;
