//! MJCF, the XML format of MuJoCo, read with MuJoCo's own compile rules.
//!
//! Honored: `include` (beside the main file or the file that includes), `attach` with `model` assets, nested
//! default classes, `compiler` (angle, eulerseq, inertiafromgeom, inertiagrouprange, autolimits,
//! balanceinertia, boundmass, boundinertia, settotalmass, fusestatic, discardvisual, alignfree, fitaabb,
//! meshdir, texturedir, assetdir, strippath, lengthrange), `option` (timestep, gravity, integrator, cone,
//! impratio, density, viscosity, wind, tolerance, iterations, ls_tolerance, ls_iterations, the law of all contacts under the flag
//! `override`, flags), bodies with gravity compensation and `mocap`, frames, `replicate`, joints with soft
//! limits, dry friction and `springdamper`, geoms (also hollow ones, meshes, shapes fitted to meshes, and
//! terrain from numbers, pictures or files), sites with their shapes, `inertial`, fixed and spatial tendons, the
//! actuators `general`, `motor`, `position`, `velocity`, `intvelocity`, `damper`, `cylinder` and `muscle` on joints,
//! tendons, sites and cranks, the equalities `connect`, `weld`, `joint` and `tendon`, contact pairs, excludes,
//! keyframes, sensors. Cameras, lights, materials, textures, `visual` and `statistic` are kept for rendering; pixels are
//! not read, and what pictures do not show is named in [`Visual::notes`](pullback_articulated::Visual).
//! `reference/fuzz_mjcf.py` compares random files with MuJoCo.
//!
//! Constraints are soft and convex ([`ContactModel::Convex`](pullback_articulated::ContactModel)), as in
//! MuJoCo; set [`ModelOptions::contact_model`](pullback_articulated::ModelOptions) for others.
//!
//! Strict: what would change the motion but is not honored is an error that names the place, unless
//! [`ImportOptions::allow_ignored`] lists it. Ignored by default, because motion does not depend on it:
//! `custom`, `size`, declarations of `extension`, skins, groups of all but
//! geoms and sites, user data, text between elements, which of MuJoCo's solvers is asked for (all have one optimum),
//! flags of warm starts, islands and collision detection. `maxhullvert` is ignored too: hulls keep all
//! corners. As in MuJoCo an empty attribute is absent. Refused: delays and user-defined laws of
//! actuators, springs and dampers of higher powers, `adhesion` and `surfacevel` of geoms, the flags `diagexact`, `sleep` and
//! `ipc`, frames with `scale`, `actuatorgravcomp` where it makes a difference, and, with what to do instead, flexes,
//! composites, plugins, signed distance fields and built-in meshes.
//!
//! Hostile files end in errors: size, depth, number of elements and of attributes, and length of names are bounded (see
//! `xml`), so is what copies make of them (`budget`), numbers are finite, and recursion follows the bounded depth.
//! [`ImportOptions::confined_to`] keeps a model from reading files elsewhere.

mod actuator;
mod assets;
mod attach;
mod body;
mod budget;
mod contact;
mod defaults;
mod equality;
mod fit;
mod fuse;
mod geom;
mod hfield;
mod include;
mod inertia;
mod joint;
mod mesh;
mod names;
mod pose;
mod references;
mod replicate;
mod resolve;
mod sections;
mod sensor;
mod settings;
mod shell;
mod tendon;
mod visual;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pullback_articulated::Model;

pub use mesh::{LoadedMesh, MeshLoader, MeshSource, SolidProperties};

use crate::ImportError;
use crate::xml::Lenient;

/// What a reader may overlook, and where it gets meshes.
#[derive(Clone, Default)]
pub struct ImportOptions {
    /// Elements (`tendon`) and attributes (`geom.adhesion`) that may be ignored although they change the
    /// motion.
    pub allow_ignored: Vec<String>,
    /// Supplies meshes; without it a geom with a mesh is an error.
    pub mesh_loader: Option<Arc<dyn MeshLoader>>,
    /// Folders outside of which nothing that the model names is read; none for anywhere, as in MuJoCo.
    pub confined_to: Vec<PathBuf>,
}

impl Lenient for ImportOptions {
    fn ignorable(&self) -> &[String] {
        &self.allow_ignored
    }
}

/// Reads a model from a file.
pub fn read_mjcf(path: &Path, options: &ImportOptions) -> Result<Model, ImportError> {
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let root = include::TreeReader::new(Some(folder.clone()), options).read_file(path)?;
    sections::read(root, Some(&folder), options)
}

/// Reads a model from text; `folder` is where includes and meshes are looked for.
///
/// ```
/// use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
/// let ball = "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>";
/// let model = parse_mjcf(ball, None, &ImportOptions::default())?;
/// assert_eq!((model.nq, model.nv), (7, 6));
/// # Ok::<(), pullback_scene::ImportError>(())
/// ```
pub fn parse_mjcf(text: &str, folder: Option<&Path>, options: &ImportOptions) -> Result<Model, ImportError> {
    let folder: Option<PathBuf> = folder.map(Path::to_path_buf);
    let root = include::TreeReader::new(folder.clone(), options).read_text(text, "<text>")?;
    sections::read(root, folder.as_ref(), options)
}
