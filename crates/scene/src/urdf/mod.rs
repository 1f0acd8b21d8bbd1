//! URDF: robots as links and joints.
//!
//! [`load`] reads a file, [`parse`] a text, into the engine's [`Model`]. A link becomes a body, a joint the
//! joint of its child; the frame of a body is that of its link. The root link stands fixed in the world, or
//! floats on a free joint if [`UrdfOptions::floating_base`] says so; a root called `world` is the world.
//! Joints without motion leave bodies without joints, or are fused into their parents
//! ([`UrdfOptions::fuse_fixed`]).
//!
//! | URDF | model |
//! |---|---|
//! | revolute, continuous | hinge, limited or not |
//! | prismatic | slide |
//! | floating | free joint; below a link that moves, slides `name_x`, `name_y`, `name_z` and the ball `name` |
//! | planar | two slides `name_x`, `name_y` across the axis and the hinge `name` about it |
//! | spherical (Bullet's) | ball |
//! | mimic | an entry of [`Model::mimics`]; one that follows a fixed joint stands still at its offset |
//! | limit lower, upper | the range; where lower is not below upper there is none, as in MuJoCo |
//! | limit effort, if positive | the limit of the sum of actuator forces; also a motor, if [`UrdfOptions::effort_motors`] |
//! | dynamics damping, friction | viscous damping and dry friction of every degree of freedom |
//! | collision box, sphere, cylinder, capsule | geoms; a capsule's length is that of its straight part |
//! | collision mesh | a mesh geom with its convex hull; STL, OBJ, MSH or Collada, found as `find.rs` says |
//! | collision plane (Bullet's) | a plane, if its link does not move |
//! | contact lateral, spinning, rolling friction (Bullet's) | sliding, torsional, rolling friction of the link's geoms; of two geoms the larger acts |
//! | `joint_properties` (early ROS) | `dynamics` |
//!
//! Constraints are soft and convex ([`ContactModel::Convex`](pullback_articulated::ContactModel)), as in
//! MuJoCo.
//!
//! Not used, for they say nothing about the motion of the links, are `visual`, `material`, `gazebo`,
//! `transmission`, `sensor`, `ros2_control`, `calibration`, `safety_controller` (limits of a controller) and
//! the velocity limit. What the specification does not know (elements and attributes of one simulator, stray
//! text, a second element where one belongs) is not used either, and [`Model::notes`] says so, once per kind;
//! names in [`UrdfOptions::allow`] are not noted.
//!
//! What the specification knows and would change the motion is an error with its place, unless
//! [`UrdfOptions::allow`] names it: `mimic` of a joint that does not exist, a shape of unknown kind, a
//! `collision` whose mesh is missing. Inertias that no body has are refused or corrected, see `inertia.rs`. A
//! file that is still xacro is refused.
//!
//! Hostile files end in errors: size, depth, number of elements and of attributes are bounded (see `xml`),
//! and document types (and with them entities) are refused.

use std::path::{Path, PathBuf};

use pullback_articulated::model::Model;

use self::notes::Notes;
use self::read::Reader;
use crate::ImportError;
use crate::xml::{self, Lenient};

mod build;
mod collide;
mod find;
mod inertia;
mod joint;
mod link;
mod mimic;
mod notes;
mod pose;
mod read;
mod tree;

/// How a URDF file becomes a model.
#[derive(Clone, Debug, PartialEq)]
pub struct UrdfOptions {
    /// Whether the root link floats on a free joint called `floating_base`; otherwise it is fixed to the
    /// world.
    pub floating_base: bool,
    /// Whether links on fixed joints become part of their parents; their frames stay as sites.
    pub fuse_fixed: bool,
    /// Whether collision shapes become geoms.
    pub collisions: bool,
    /// Whether each joint with an effort limit gets a motor of that force range, named as the joint.
    pub effort_motors: bool,
    /// Whether inertias that no rigid body has (a principal moment that is negative or above the sum of the
    /// others) are replaced by the nearest that one has, and joints that move no mass or turn no inertia get
    /// 1 g and 10⁻⁶ kg m² to move; otherwise both are errors.
    pub fix_inertia: bool,
    /// Names of packages (`package://name/…`) and their folders.
    pub packages: Vec<(String, PathBuf)>,
    /// Folders that hold packages and relative mesh files; the folders above the file are searched too.
    pub search: Vec<PathBuf>,
    /// Elements (`mimic`) and attributes (`limit.twist`) to ignore.
    pub allow: Vec<String>,
    /// Folders outside of which no mesh is read; none for anywhere.
    pub confined_to: Vec<PathBuf>,
}

impl Default for UrdfOptions {
    fn default() -> Self {
        UrdfOptions {
            floating_base: false,
            fuse_fixed: false,
            collisions: true,
            effort_motors: false,
            fix_inertia: false,
            packages: Vec::new(),
            search: Vec::new(),
            allow: Vec::new(),
            confined_to: Vec::new(),
        }
    }
}

impl Lenient for UrdfOptions {
    fn ignorable(&self) -> &[String] {
        &self.allow
    }
}

/// Reads a URDF file.
pub fn load(path: impl AsRef<Path>, options: &UrdfOptions) -> Result<Model, ImportError> {
    let path = path.as_ref();
    let text = xml::read_text(path)?;
    parse(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new(".")), options)
}

/// Reads URDF from text; `file` is the name that errors show, `folder` where relative mesh files are.
///
/// ```
/// use pullback_scene::urdf::{UrdfOptions, parse};
/// let text = r#"<robot name="ball"><link name="ball"><inertial><mass value="2"/>
///   <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"#;
/// let options = UrdfOptions { floating_base: true, ..UrdfOptions::default() };
/// let model = parse(text, "ball.urdf", ".".as_ref(), &options).unwrap();
/// assert_eq!((model.nq, model.nv), (7, 6));
/// ```
pub fn parse(text: &str, file: &str, folder: &Path, options: &UrdfOptions) -> Result<Model, ImportError> {
    let root = xml::parse(text, file, 0)?;
    let reader = Reader { options, notes: Notes::default() };
    let robot = read::robot(&root, &reader)?;
    let mut model = build::model(robot, folder, &reader)?;
    model.notes = reader.notes.into_lines();
    Ok(model)
}
