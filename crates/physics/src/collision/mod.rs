//! Where shapes touch: a broad phase that lists pairs and a narrow phase that hands out contacts, not forces.
pub mod box_box;
pub mod broad_phase;
pub mod capsule_box;
pub mod collider;
pub mod contact;
pub mod convex;
pub mod dispatch;
mod epa;
mod gjk;
mod lanes;
pub mod plane;
pub mod rounded;
pub mod sphere_solid;
mod support;
pub use collider::{Collider, Kind};
pub use contact::{Contact, INACTIVE, tangent_frame, tangent_frame_vjp};
pub use dispatch::{MAX_CONTACTS, ShapeBar, collide, collide_vjp, max_contacts};
