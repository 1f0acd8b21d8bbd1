//! Soft bodies: cloth and elastic solids.

pub mod mesh;
