//! Robots from files, in motion: [`load`], and its parts.
//!
//! [`read_model_with`] reads a file by its ending, [`system`] steps what it says as it asks.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use pullback_articulated::complementarity::Complementarity;
use pullback_articulated::{
    Articulated, ContactModel, ImplicitTerms, JointKind, Keyframe, Model, ModelIntegrator,
};
use pullback_core::ConfigError;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::registry::did_you_mean;

use crate::confine::folder_of;
use crate::mesh::MeshFiles;
use crate::mjcf::{ImportOptions, read_mjcf};
use crate::urdf::{self, UrdfOptions};

/// The robot of a file (`.xml`, `.mjcf`, `.urdf`) with every parameter, stepped as the file asks.
pub fn load(file: &str) -> Result<Integrated<Articulated>, ConfigError> {
    system(Articulated::new(read_model(file)?)?.with_kinematic_params()?, Stepping::default())
}

/// Whether a name is the path of a model file.
pub fn is_file_name(name: &str) -> bool {
    [".xml", ".mjcf", ".urdf", ".xacro"].iter().any(|ending| name.ends_with(ending))
}

/// How a model file is read.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// Elements (`tendon`) and attributes (`geom.adhesion`) to overlook although they change the motion.
    pub allow_ignored: Vec<String>,
    /// Whether the root link of a URDF file floats on a free joint.
    pub floating_base: bool,
    /// Whether inertias of a URDF file that no rigid body has are corrected.
    pub fix_inertia: bool,
    /// Where the packages that a URDF file names are.
    pub packages: Vec<Package>,
    /// Whether files outside of the model's folder are refused; those of packages that are given are not.
    pub confined: bool,
    /// The contact model, in place of that of files of this kind.
    pub contact: Option<ContactModel>,
}

/// Where files of a robot are.
#[derive(Clone, Debug, PartialEq)]
pub enum Package {
    /// A package, `package://name/…`, and its folder.
    Named(String, PathBuf),
    /// A folder that holds packages, or meshes with relative paths.
    Folder(PathBuf),
}

/// `NAME=DIR`, or `DIR`.
impl FromStr for Package {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.split_once('=') {
            Some((name, folder)) => Package::Named(name.into(), folder.into()),
            None => Package::Folder(text.into()),
        })
    }
}

/// Reads a model file by its ending.
pub fn read_model(file: &str) -> Result<Model, ConfigError> {
    read_model_with(file, FileOptions::default())
}

/// Refuses choices for URDF files where the file is none.
pub fn check_urdf_options(name: &str, options: &FileOptions) -> Result<(), ConfigError> {
    let refuse = |why: &str| Err(ConfigError::new(format!("{name}: {why}")));
    if is_urdf(name) {
        return Ok(());
    }
    if options.floating_base {
        return refuse("only the base of a URDF file can be made to float; MJCF says itself what does");
    }
    if options.fix_inertia {
        return refuse("--fix-inertia is for URDF files; MJCF has `balanceinertia` and `boundinertia`");
    }
    if !options.packages.is_empty() {
        return refuse("--package is for URDF files; MJCF has `meshdir`");
    }
    Ok(())
}

/// Whether a file is read as URDF; xacro is, to say that it must be expanded.
fn is_urdf(name: &str) -> bool {
    name.ends_with(".urdf") || name.ends_with(".xacro")
}

/// Reads a model file by its ending.
pub fn read_model_with(file: &str, options: FileOptions) -> Result<Model, ConfigError> {
    let path = Path::new(file);
    check_urdf_options(file, &options)?;
    let FileOptions { allow_ignored: allow, floating_base, fix_inertia, packages: given, confined, contact } =
        options;
    let mut confined_to = if confined { vec![folder_of(path)] } else { Vec::new() };
    let read = if is_urdf(file) {
        let (mut packages, mut search) = (Vec::new(), Vec::new());
        for package in given {
            let (Package::Named(_, folder) | Package::Folder(folder)) = &package;
            if !folder.is_dir() {
                return Err(ConfigError::new(format!("--package: {} is no folder", folder.display())));
            }
            if confined {
                confined_to.push(folder.clone());
            }
            match package {
                Package::Named(name, folder) => packages.push((name, folder)),
                Package::Folder(folder) => search.push(folder),
            }
        }
        let options = UrdfOptions {
            allow,
            floating_base,
            fix_inertia,
            packages,
            search,
            confined_to,
            ..UrdfOptions::default()
        };
        urdf::load(path, &options)
    } else {
        let options =
            ImportOptions { allow_ignored: allow, mesh_loader: Some(Arc::new(MeshFiles)), confined_to };
        read_mjcf(path, &options)
    };
    let mut model = read.map_err(|e| ConfigError::new(e.to_string()))?;
    if let Some(contact) = contact {
        set_contact_model(file, &mut model, contact)?;
    }
    Ok(model)
}

/// Chooses the contact model of a model; an error if it would not act on all that the model has.
pub fn set_contact_model(file: &str, model: &mut Model, contact: ContactModel) -> Result<(), ConfigError> {
    match contact {
        ContactModel::Penalty => check_penalty(file, model)?,
        ContactModel::Complementarity => {
            Complementarity::check(model).map_err(|e| ConfigError::new(format!("{file}: {e}")))?;
        }
        ContactModel::Convex => {}
    }
    model.options.contact_model = contact;
    Ok(())
}

/// Refuses what the penalty model would not act on.
fn check_penalty(file: &str, model: &Model) -> Result<(), ConfigError> {
    let equality = model.equalities.first().map(|e| format!("equality `{}`", e.name));
    let joint = |what: &str, name: &str| Some(format!("{what} of joint `{name}`"));
    let friction = model.joints.iter().find(|j| j.frictionloss > 0.0);
    let cone = model.joints.iter().find(|j| j.kind == JointKind::Ball && j.range.is_some());
    let left_out = equality
        .or_else(|| friction.and_then(|j| joint("the dry friction", &j.name)))
        .or_else(|| cone.and_then(|j| joint("the range", &j.name)));
    match left_out {
        None => Ok(()),
        Some(what) => Err(ConfigError::new(format!(
            "{file}: the penalty model does not act on {what}; use --contact convex"
        ))),
    }
}

/// How a robot is stepped, where not as its model asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stepping {
    /// Seconds per step.
    pub dt: Option<f64>,
    /// The scheme.
    pub integrator: Option<Integrator>,
}

/// A robot in motion, stepped as its model asks unless `stepping` says otherwise. Impulses need semi-implicit
/// Euler.
pub fn system(robot: Articulated, stepping: Stepping) -> Result<Integrated<Articulated>, ConfigError> {
    let model = robot.model();
    let dt = stepping.dt.unwrap_or(model.options.timestep);
    let impulses = model.options.contact_model == ContactModel::Complementarity;
    let asked = match model.options.integrator {
        ModelIntegrator::Rk4 if !impulses => Method::Rk4,
        _ => Method::SemiImplicitEuler,
    };
    let integrator = stepping.integrator.unwrap_or(Integrator::fixed(asked));
    if impulses && integrator != Integrator::fixed(Method::SemiImplicitEuler) {
        let why = "the complementarity model acts by impulses over a step, which must be semi-implicit Euler";
        return Err(ConfigError::new(format!("{}: {why}", model.name)));
    }
    let terms = match model.options.integrator {
        ModelIntegrator::ImplicitFast => Some(ImplicitTerms::Fast),
        ModelIntegrator::Implicit => Some(ImplicitTerms::Full),
        _ => model.options.implicit_damping.then_some(ImplicitTerms::Damping),
    };
    // MuJoCo's RK4 turns orientations by the mean of the stages' angular velocities.
    let as_mujoco = model.options.contact_model == ContactModel::Convex && stepping.integrator.is_none();
    let robot = if as_mujoco { robot.with_plain_rotations() } else { robot };
    let robot = match terms.filter(|_| integrator.method == Method::SemiImplicitEuler) {
        Some(terms) => robot.with_implicit(terms, dt),
        None => robot.with_time_step(dt),
    };
    Integrated::new(robot, dt, integrator)
}

/// The keyframe called `wanted`, or the one with that number.
pub fn find_keyframe<'a>(keyframes: &'a [Keyframe], wanted: &str) -> Result<&'a Keyframe, ConfigError> {
    let named = keyframes.iter().find(|k| k.name == wanted);
    let numbered = || wanted.parse().ok().and_then(|i: usize| keyframes.get(i));
    named.or_else(numbered).ok_or_else(|| {
        let there = match keyframes {
            [] => "the model has none".to_owned(),
            _ => format!("there is {}", keyframe_names(keyframes)),
        };
        let near = did_you_mean(wanted, keyframes.iter().map(|k| k.name.as_str()));
        ConfigError::new(format!("no keyframe is called `{wanted}`{near}; {there}"))
    })
}

/// Number and name of every keyframe.
pub fn keyframe_names(keyframes: &[Keyframe]) -> String {
    let names = keyframes.iter().enumerate().map(|(i, k)| format!("{i} `{}`", k.name));
    names.collect::<Vec<_>>().join(", ")
}
