//! Collision shapes and the mesh files they name.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pullback_articulated::model::{ContactSoftness, Geom, Model, Shape};
use pullback_math::{Quat, Vec3};

use super::find::{Found, find};
use super::link::{Friction, Geometry, Link};
use super::pose::Pose;
use super::read::Reader;
use crate::{ImportError, Place, mesh};

/// Adds geoms to a model; a mesh file used twice at one scale is read once.
pub(super) struct Collider<'a> {
    folder: &'a Path,
    reader: &'a Reader<'a>,
    meshes: HashMap<(PathBuf, [u64; 3]), usize>,
    names: HashSet<String>,
}

impl<'a> Collider<'a> {
    pub fn new(folder: &'a Path, reader: &'a Reader<'a>) -> Self {
        Collider { folder, reader, meshes: HashMap::new(), names: HashSet::new() }
    }

    pub fn add(
        &mut self,
        model: &mut Model,
        link: &Link,
        body: usize,
        body_from_link: Pose,
    ) -> Result<(), ImportError> {
        for (i, collision) in link.collisions.iter().enumerate() {
            let shape = match &collision.geometry {
                Geometry::Box(size) => Shape::Box { half: *size * 0.5 },
                Geometry::Sphere(radius) => Shape::Sphere { radius: *radius },
                Geometry::Cylinder(radius, length) => {
                    Shape::Cylinder { radius: *radius, half_length: length / 2.0 }
                }
                Geometry::Capsule(radius, length) => {
                    Shape::Capsule { radius: *radius, half_length: length / 2.0 }
                }
                Geometry::Mesh(name, scale) => {
                    let mesh = self
                        .mesh(model, name, *scale, &collision.place)
                        .map_err(|why| ImportError::new(&collision.place, why))?;
                    Shape::Mesh { mesh }
                }
                Geometry::Plane(_) if moves(model, body) => {
                    let why =
                        "a plane must be fixed to the world; make it a box, or do not let the base float";
                    return Err(ImportError::new(&collision.place, why));
                }
                Geometry::Plane(_) => Shape::Plane,
            };
            let pose = match collision.geometry {
                Geometry::Plane(normal) => {
                    let pose = body_from_link.compose(collision.pose);
                    Pose { orientation: pose.orientation * from_z_to(normal), ..pose }
                }
                _ => body_from_link.compose(collision.pose),
            };
            let (friction, condim) = material(link.friction);
            model.geoms.push(Geom {
                position: pose.position,
                orientation: pose.orientation.normalize(),
                friction,
                contact: ContactSoftness { condim, ..ContactSoftness::default() },
                ..Geom::new(self.name(collision.name.as_deref(), &link.name, i), body, shape)
            });
        }
        Ok(())
    }

    /// The written name if it is free, else one made of the link's.
    fn name(&mut self, written: Option<&str>, link: &str, i: usize) -> String {
        let candidates = [
            written.map(String::from),
            written.map(|w| format!("{link}/{w}")),
            Some(format!("{link}/collision{i}")),
        ];
        let mut name = candidates.into_iter().flatten().find(|n| !self.names.contains(n)).unwrap_or_default();
        while !self.names.insert(name.clone()) || name.is_empty() {
            name = format!("{link}/collision{i}#{}", self.names.len());
        }
        name
    }

    fn mesh(
        &mut self,
        model: &mut Model,
        written: &str,
        scale: Vec3<f64>,
        place: &Place,
    ) -> Result<usize, String> {
        let Found { path, guess } = find(written, self.folder, self.reader.options)?;
        if let Some(guess) = guess {
            self.reader.notes.add(place, guess);
        }
        let key = (path.clone(), [scale.x, scale.y, scale.z].map(f64::to_bits));
        if let Some(index) = self.meshes.get(&key) {
            return Ok(*index);
        }
        let scaled = mesh::read(&path).map_err(|e| e.to_string())?.scaled(scale);
        let index = model.meshes.len();
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("mesh");
        let taken = model.meshes.iter().any(|m| m.name == stem);
        let name = if taken { format!("{stem}#{index}") } else { stem.to_string() };
        let mesh = scaled.into_model_mesh(name).map_err(|e| format!("{}: {e}", path.display()))?;
        model.meshes.push(mesh);
        self.meshes.insert(key, index);
        Ok(index)
    }
}

/// Friction of a geom and the dimension of its contacts: torsion and rolling act where they are written.
fn material(written: Friction) -> ([f64; 3], u32) {
    let usual = Geom::new("", 0, Shape::Plane).friction;
    let acts = |coefficient: Option<f64>| coefficient.is_some_and(|c| c > 0.0);
    let condim = match (acts(written.torsional), acts(written.rolling)) {
        (_, true) => 6,
        (true, false) => 4,
        (false, false) => 3,
    };
    let friction = [
        written.sliding.unwrap_or(usual[0]),
        written.torsional.unwrap_or(usual[1]),
        written.rolling.unwrap_or(usual[2]),
    ];
    (friction, condim)
}

/// The rotation that takes z to a unit vector the short way.
fn from_z_to(normal: Vec3<f64>) -> Quat<f64> {
    let z = Vec3::new(0.0, 0.0, 1.0);
    let axis = z.cross(normal);
    match axis.norm() {
        sine if sine > 1e-12 => Quat::from_axis_angle(axis * (1.0 / sine), sine.atan2(normal.z)),
        _ if normal.z > 0.0 => Quat::identity(),
        _ => Quat::from_axis_angle(Vec3::new(1.0, 0.0, 0.0), std::f64::consts::PI),
    }
}

/// Whether a joint moves a body.
fn moves(model: &Model, mut body: usize) -> bool {
    while body != 0 {
        if model.joints_of(body).next().is_some() {
            return true;
        }
        body = model.bodies[body].parent;
    }
    false
}
