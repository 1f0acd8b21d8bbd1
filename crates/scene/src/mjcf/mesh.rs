//! Meshes: what a file says of them, and the hook through which another reader supplies them.
//!
//! A mesh is loaded when a geom first uses it, so unused assets need not exist. Without a [`MeshLoader`] in
//! the [`ImportOptions`], a used mesh is an error.

use std::collections::HashMap;
use std::path::PathBuf;

use pullback_articulated::Mesh;
use pullback_math::{Quat, SymMat3, Vec3};

use super::ImportOptions;
use super::assets::locate;
use super::settings::Compiler;
use crate::xml::Element;
use crate::{ImportError, Place, confine};

/// A mesh as `<mesh>` describes it.
#[derive(Clone, Debug)]
pub struct MeshSource {
    /// Name by which geoms refer to it.
    pub name: String,
    /// The file, its folder resolved; `None` for a mesh whose corners stand in the model.
    pub file: Option<PathBuf>,
    /// Corners given in the model, m; empty with a file.
    pub vertices: Vec<Vec3<f64>>,
    /// Triangles given in the model; empty for the convex hull of the corners.
    pub triangles: Vec<[usize; 3]>,
    /// Factor for each axis, applied after the reference frame is taken off.
    pub scale: Vec3<f64>,
    /// Origin of the geom in the coordinates of the file, m.
    pub reference_position: Vec3<f64>,
    /// Axes of the geom in the coordinates of the file.
    pub reference_orientation: Quat<f64>,
    /// How inertia is computed: `legacy`, `exact`, `convex` or `shell`.
    pub inertia: String,
    /// Material of geoms that have none of their own.
    pub material: Option<String>,
    /// Where it is described.
    pub place: Place,
}

/// A mesh in the frame of the geoms that use it.
#[derive(Clone, Debug)]
pub struct LoadedMesh {
    /// Corners, triangles and hull; the name is that of the source.
    pub mesh: Mesh,
    /// What it encloses, or one line about why it encloses nothing; only a body without `<inertial>` minds.
    pub solid: Result<SolidProperties, String>,
    /// One line about why it has no convex hull, if it is flat; only a geom that collides minds.
    pub flat: Option<String>,
    /// Smallest and largest coordinates along the principal axes, from the center of mass, m; zeros if it
    /// encloses nothing.
    pub bounds: [Vec3<f64>; 2],
}

/// Volume and inertia of a solid of density 1 kg/m³.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolidProperties {
    /// Volume, m³.
    pub volume: f64,
    /// Center of mass, m.
    pub center: Vec3<f64>,
    /// Inertia about the center of mass, kg m².
    pub inertia: SymMat3<f64>,
}

/// Supplies meshes.
pub trait MeshLoader: Send + Sync {
    /// The mesh, or one line about what is wrong with it.
    fn load(&self, source: &MeshSource) -> Result<LoadedMesh, String>;
}

/// Attributes of `<mesh>` that a default may set.
#[derive(Clone, Debug)]
pub(super) struct MeshSpec {
    scale: [f64; 3],
    inertia: String,
}

impl Default for MeshSpec {
    fn default() -> Self {
        MeshSpec { scale: [1.0; 3], inertia: "legacy".into() }
    }
}

impl MeshSpec {
    /// Overwrites what the element says; the caller checks the rest.
    pub fn apply(&mut self, e: &Element) -> Result<(), ImportError> {
        e.overlay("scale", 3, &mut self.scale)?;
        let kinds = ["legacy", "exact", "convex", "shell"];
        if let Some(i) = e.keyword("inertia", &kinds)? {
            self.inertia = kinds[i].into();
        }
        Ok(())
    }

    /// Reads one `<mesh>` of `<asset>`.
    pub fn source(
        self,
        e: &Element,
        compiler: &Compiler,
        options: &ImportOptions,
    ) -> Result<MeshSource, ImportError> {
        if e.text("builtin").is_some_and(|kind| kind != "none") {
            let why = "shapes that MuJoCo makes are not supported; save the model compiled by MuJoCo, or write the \
                       shape to a file";
            return Err(e.error_in("builtin", why));
        }
        let file = e.text("file").map(|file| locate(file, &compiler.mesh_folder, compiler));
        let stem = || file.as_ref().and_then(|f| f.file_stem()).map(|s| s.to_string_lossy().into_owned());
        let name = e.text("name").map(str::to_string).or_else(stem);
        let name = name.ok_or_else(|| e.error("needs a `name` or a `file`"))?;
        let numbers = e.list("vertex")?.unwrap_or_default();
        let corners = e.list("face")?.unwrap_or_default();
        if numbers.len() % 3 != 0 || corners.len() % 3 != 0 {
            return Err(e.error("`vertex` and `face` hold three numbers each time"));
        }
        let count = numbers.len() / 3;
        let mut triangles = Vec::new();
        for corner in corners.chunks_exact(3) {
            let valid = |c: f64| c >= 0.0 && c.fract() == 0.0 && c < count as f64;
            if !corner.iter().all(|c| valid(*c)) {
                return Err(e.error_in("face", "refers to a vertex that is not there"));
            }
            triangles.push([corner[0] as usize, corner[1] as usize, corner[2] as usize]);
        }
        if file.is_none() && count == 0 {
            return Err(e.error("needs a `file` or `vertex`"));
        }
        let exact = compiler.exact_meshes && self.inertia == "legacy";
        let [sx, sy, sz] = self.scale;
        let reference = e.array("refquat")?.unwrap_or([1.0, 0.0, 0.0, 0.0]);
        let reference = Quat::new(reference[0], reference[1], reference[2], reference[3]);
        if reference.norm_squared() < 1e-28 {
            return Err(e.error_in("refquat", "is zero; the identity is 1 0 0 0"));
        }
        let reference_position = e.vec3("refpos")?.unwrap_or_else(Vec3::zero);
        let material = e.text("material").map(str::to_string);
        // Looks; and a hull keeps all of its corners.
        e.finish(options, &["normal", "texcoord", "smoothnormal", "content_type", "maxhullvert"])?;
        e.no_children(options)?;
        Ok(MeshSource {
            name,
            file,
            vertices: numbers.chunks_exact(3).map(|v| Vec3::new(v[0], v[1], v[2])).collect(),
            triangles,
            scale: Vec3::new(sx, sy, sz),
            reference_position,
            reference_orientation: reference.normalize(),
            inertia: if exact { "exact".into() } else { self.inertia },
            material,
            place: e.place.clone(),
        })
    }
}

/// A mesh that a geom asked for.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Index among the loaded meshes.
    pub index: usize,
    /// What it encloses.
    pub solid: Result<SolidProperties, String>,
    /// Why it has no convex hull, if it is flat; an error once it collides.
    pub flat: Option<String>,
    /// Bounds along the principal axes.
    pub bounds: [Vec3<f64>; 2],
    /// Material of geoms that have none of their own.
    pub material: Option<String>,
}

/// The meshes of a model, loaded as geoms ask for them.
#[derive(Default)]
pub(super) struct MeshTable {
    sources: HashMap<String, MeshSource>,
    loaded: HashMap<String, Entry>,
    loader: Option<std::sync::Arc<dyn MeshLoader>>,
    confined_to: Vec<PathBuf>,
    /// Loaded meshes, in the order of first use.
    pub meshes: Vec<Mesh>,
}

impl MeshTable {
    pub fn new(options: &ImportOptions) -> Self {
        let (loader, confined_to) = (options.mesh_loader.clone(), options.confined_to.clone());
        MeshTable { loader, confined_to, ..MeshTable::default() }
    }

    /// Registers a mesh.
    pub fn add(&mut self, source: MeshSource) -> Result<(), ImportError> {
        let (name, place) = (source.name.clone(), source.place.clone());
        match self.sources.insert(name.clone(), source) {
            Some(_) => Err(ImportError::new(&place, format!("two meshes are called `{name}`; rename one"))),
            None => Ok(()),
        }
    }

    /// The mesh a geom asks for.
    pub fn get(&mut self, name: &str, user: &Element) -> Result<Entry, ImportError> {
        if let Some(found) = self.loaded.get(name) {
            return Ok(found.clone());
        }
        let source = self
            .sources
            .get(name)
            .ok_or_else(|| user.error_in("mesh", format!("no mesh is called `{name}`")))?;
        let what = source.file.as_ref().map_or("given by vertices".into(), |f| format!("`{}`", f.display()));
        let Some(loader) = &self.loader else {
            let why = format!("mesh `{name}` {what}: mesh files are not supported yet; use primitive shapes");
            return Err(ImportError::new(&source.place, why));
        };
        let confined = source.file.as_ref().map_or(Ok(()), |file| confine::check(file, &self.confined_to));
        let loaded = confined
            .and_then(|()| loader.load(source))
            .map_err(|why| ImportError::new(&source.place, format!("mesh `{name}` {what}: {why}")))?;
        let entry = Entry {
            index: self.meshes.len(),
            solid: loaded.solid,
            flat: loaded.flat,
            bounds: loaded.bounds,
            material: source.material.clone(),
        };
        self.meshes.push(Mesh { name: name.to_string(), ..loaded.mesh });
        self.loaded.insert(name.to_string(), entry.clone());
        Ok(entry)
    }
}
