//! Readers of robots and meshes.
