//! Soft bodies.
pub mod air;
pub mod element;
pub mod hinge;
pub mod membrane;
pub mod solid;
pub mod spring;
