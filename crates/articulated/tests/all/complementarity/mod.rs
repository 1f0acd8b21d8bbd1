//! The complementarity model: exact gradients of every row over one step and many, laws of impacts and
//! friction, and the same numbers on lanes.

mod gradients;
mod laws;
mod scenes;
