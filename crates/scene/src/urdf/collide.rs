//! Collision shapes and the mesh files they name.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pullback_articulated::model::{Geom, Model, Shape};
use pullback_math::Vec3;

use super::UrdfOptions;
use super::read::{Geometry, Link, Pose};
use crate::{ImportError, mesh};

/// Adds geoms to a model; a mesh file used twice at one scale is read once.
pub(super) struct Collider<'a> {
    folder: &'a Path,
    options: &'a UrdfOptions,
    meshes: HashMap<(PathBuf, [u64; 3]), usize>,
    names: HashSet<String>,
}

impl<'a> Collider<'a> {
    pub fn new(folder: &'a Path, options: &'a UrdfOptions) -> Self {
        Collider { folder, options, meshes: HashMap::new(), names: HashSet::new() }
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
                        .mesh(model, name, *scale)
                        .map_err(|why| ImportError::new(&collision.place, why))?;
                    Shape::Mesh { mesh }
                }
            };
            let pose = body_from_link.compose(collision.pose);
            model.geoms.push(Geom {
                position: pose.position,
                orientation: pose.orientation,
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

    fn mesh(&mut self, model: &mut Model, written: &str, scale: Vec3<f64>) -> Result<usize, String> {
        let path = self.find(written)?;
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

    /// `package://name/rest` is looked for below the search folders and the folders above the file; other
    /// paths beside the file and below the search folders.
    fn find(&self, written: &str) -> Result<PathBuf, String> {
        let mut tried = Vec::new();
        if let Some(inside) = written.strip_prefix("package://") {
            let (package, rest) = inside.split_once('/').unwrap_or((inside, ""));
            let here = self.folder.canonicalize().unwrap_or_else(|_| self.folder.into());
            for root in self.options.search.iter().map(PathBuf::as_path).chain(here.ancestors()) {
                tried.push(root.join(package).join(rest));
                if root.file_name().is_some_and(|n| n == package) {
                    tried.push(root.join(rest));
                }
            }
        } else {
            let plain = written.strip_prefix("file://").unwrap_or(written);
            tried.push(self.folder.join(plain));
            tried.extend(self.options.search.iter().map(|root| root.join(plain)));
        }
        match tried.iter().find(|p| p.is_file()) {
            Some(path) => Ok(path.clone()),
            None => {
                let written: String = written.chars().take(200).collect();
                Err(format!(
                    "mesh `{written}` is not found in {} places, the first {}; add its folder to `search`",
                    tried.len(),
                    tried
                        .first()
                        .map(|p| p.display().to_string().chars().take(300).collect::<String>())
                        .unwrap_or_default()
                ))
            }
        }
    }
}
