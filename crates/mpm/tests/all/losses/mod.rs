//! Losses of the material point method.

mod common;
mod contact;
mod place;
mod shape;
mod target;
