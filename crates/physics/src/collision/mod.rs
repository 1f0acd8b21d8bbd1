//! Where shapes touch: a broad phase that lists pairs and a narrow phase that hands out contacts, not forces.
pub mod box_box;
pub mod capsule_box;
pub mod collider;
pub mod contact;
mod lanes;
pub mod plane;
pub mod rounded;
pub mod sphere_solid;
pub use collider::{Collider, Kind};
pub use contact::{Contact, INACTIVE, tangent_frame, tangent_frame_vjp};
