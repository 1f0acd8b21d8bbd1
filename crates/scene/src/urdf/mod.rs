//! URDF.
