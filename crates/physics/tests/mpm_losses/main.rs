//! Losses of the material point method, checked as one program: to compile the method takes longer than all
//! of its tests.

mod common;
mod contact;
mod place;
mod shape;
mod target;
