//! `<compiler>` and `<option>`: how the rest is read, and settings of the whole model.

use std::path::PathBuf;

use pullback_articulated::{
    ContactOverride, FrictionCone, LengthRangeOptions, ModelIntegrator, ModelOptions, Softness,
};

use super::ImportOptions;
use super::joint::read_softness;
use crate::ImportError;
use crate::xml::Element;

/// Where the inertia of a body comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InertiaSource {
    /// Only `<inertial>`.
    Inertial,
    /// Geoms, where there are any.
    Geoms,
    /// `<inertial>`, and geoms where it is missing.
    Auto,
}

/// Which actuators get a length range by simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LengthRangeMode {
    None,
    Muscle,
    All,
}

/// The settings of `<lengthrange>`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LengthRangeSettings {
    pub mode: LengthRangeMode,
    pub use_existing: bool,
    pub options: LengthRangeOptions,
}

impl Default for LengthRangeSettings {
    fn default() -> Self {
        let options = LengthRangeOptions::default();
        LengthRangeSettings { mode: LengthRangeMode::Muscle, use_existing: true, options }
    }
}

impl LengthRangeSettings {
    fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        if let Some(i) = e.keyword("mode", &["none", "muscle", "muscleuser", "all"])? {
            use LengthRangeMode::{All, Muscle, None};
            self.mode = [None, Muscle, Muscle, All][i];
        }
        self.use_existing = e.boolean("useexisting")?.unwrap_or(self.use_existing);
        e.refuse_unless("uselimit", e.boolean("uselimit")? != Some(true), options)?;
        let o = &mut self.options;
        for (name, into) in [
            ("accel", &mut o.accel),
            ("maxforce", &mut o.maxforce),
            ("timeconst", &mut o.timeconst),
            ("timestep", &mut o.timestep),
            ("inttotal", &mut o.inttotal),
            ("interval", &mut o.interval),
            ("tolrange", &mut o.tolrange),
        ] {
            e.set(name, into)?;
        }
        if o.timestep <= 0.0 || o.inttotal / o.timestep > 1e6 {
            return Err(e.error("needs a positive `timestep`, and not more than a million steps"));
        }
        e.finish(options, &[])?;
        e.no_children(options)
    }
}

/// The settings of `<compiler>`.
#[derive(Clone, Debug)]
pub(super) struct Compiler {
    pub degrees: bool,
    pub euler_sequence: [u8; 3],
    pub inertia_source: InertiaSource,
    pub inertia_groups: (i32, i32),
    pub auto_limits: bool,
    pub balance_inertia: bool,
    pub least_mass: f64,
    pub least_inertia: f64,
    pub total_mass: Option<f64>,
    pub fuse_static: bool,
    pub discard_visual: bool,
    pub align_free: bool,
    pub mesh_folder: String,
    pub texture_folder: String,
    pub strip_path: bool,
    pub length_range: LengthRangeSettings,
    pub fit_box: bool,
    /// Whether meshes are weighed exactly unless they say how (before MuJoCo 3.2).
    pub exact_meshes: bool,
    /// Whether options of attached models are merged into those of the main one.
    pub merges: bool,
    /// Folder of the file.
    pub folder: Option<PathBuf>,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            degrees: true,
            euler_sequence: *b"xyz",
            inertia_source: InertiaSource::Auto,
            inertia_groups: (0, 5),
            auto_limits: true,
            balance_inertia: false,
            least_mass: 0.0,
            least_inertia: 0.0,
            total_mass: None,
            fuse_static: false,
            discard_visual: false,
            align_free: false,
            mesh_folder: String::new(),
            texture_folder: String::new(),
            strip_path: false,
            length_range: LengthRangeSettings::default(),
            fit_box: false,
            exact_meshes: false,
            merges: false,
            folder: None,
        }
    }
}

/// The settings of the main file and of every file attached to it.
pub(super) struct Compilers(Vec<Compiler>);

impl Compilers {
    /// The settings of the main file.
    pub fn new(main: Compiler) -> Self {
        Compilers(vec![main])
    }

    /// Adds those of another file; the scope of its elements.
    pub fn add(&mut self, compiler: Compiler) -> usize {
        self.0.push(compiler);
        self.0.len() - 1
    }

    /// The settings under which an element is read.
    pub fn of(&self, e: &Element) -> &Compiler {
        self.in_scope(e.scope)
    }

    /// The settings of one file.
    pub fn in_scope(&self, scope: usize) -> &Compiler {
        &self.0[scope]
    }
}

impl Compiler {
    /// The settings of all `<compiler>` elements of a file in a folder.
    pub fn of_file(
        root: &Element,
        folder: Option<PathBuf>,
        options: &ImportOptions,
    ) -> Result<Self, ImportError> {
        let mut compiler = Compiler { folder, ..Compiler::default() };
        root.children.iter().filter(|c| c.tag == "compiler").try_for_each(|e| compiler.apply(e, options))?;
        Ok(compiler)
    }

    /// An angle of the file in radians.
    pub fn radians(&self, angle: f64) -> f64 {
        if self.degrees { angle / 180.0 * std::f64::consts::PI } else { angle }
    }

    /// Reads one `<compiler>`; later ones overwrite earlier ones.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        if let Some(i) = e.keyword("angle", &["radian", "degree"])? {
            self.degrees = i == 1;
        }
        if let Some(sequence) = e.text("eulerseq") {
            let valid = |s: &[u8]| s.iter().all(|c| b"xyzXYZ".contains(c));
            self.euler_sequence = match <[u8; 3]>::try_from(sequence.as_bytes()) {
                Ok(s) if valid(&s) => s,
                _ => return Err(e.error_in("eulerseq", "must be three letters of x, y, z, X, Y, Z")),
            };
        }
        if e.text("coordinate").is_some_and(|c| c != "local") {
            return Err(e.error_in("coordinate", "must be local; save the model with local coordinates"));
        }
        if let Some(i) = e.keyword("inertiafromgeom", &["false", "true", "auto"])? {
            self.inertia_source = [InertiaSource::Inertial, InertiaSource::Geoms, InertiaSource::Auto][i];
        }
        if let Some([low, high]) = e.array("inertiagrouprange")? {
            self.inertia_groups = (low as i32, high as i32);
        }
        for (name, into) in [
            ("autolimits", &mut self.auto_limits),
            ("balanceinertia", &mut self.balance_inertia),
            ("fusestatic", &mut self.fuse_static),
            ("discardvisual", &mut self.discard_visual),
            ("strippath", &mut self.strip_path),
            ("alignfree", &mut self.align_free),
            ("fitaabb", &mut self.fit_box),
        ] {
            if let Some(value) = e.boolean(name)? {
                *into = value;
            }
        }
        e.set("boundmass", &mut self.least_mass)?;
        e.set("boundinertia", &mut self.least_inertia)?;
        if let Some(mass) = e.number("settotalmass")? {
            self.total_mass = (mass > 0.0).then_some(mass);
        }
        // The folder of meshes or textures wins over that of all assets, in whichever order they stand.
        if let Some(folder) = e.text("assetdir") {
            (self.mesh_folder, self.texture_folder) = (folder.to_string(), folder.to_string());
        }
        if let Some(folder) = e.text("meshdir") {
            self.mesh_folder = folder.to_string();
        }
        if let Some(folder) = e.text("texturedir") {
            self.texture_folder = folder.to_string();
        }
        if let Some(i) = e.keyword("conflict", &["warning", "error", "merge"])? {
            self.merges = i == 2;
        }
        if let Some(exact) = e.boolean("exactmeshinertia")? {
            self.exact_meshes = exact;
        }
        // Support functions of all vertices and of their hull are equal, so `convexhull` does not matter.
        let ignorable = ["usethread", "saveinertial", "savecompiled", "savecanonical", "convexhull"];
        e.finish(options, &ignorable)?;
        for child in &e.children {
            match child.tag.as_str() {
                "lengthrange" => self.length_range.apply(child, options)?,
                _ => child.refuse(options)?,
            }
        }
        Ok(())
    }
}

/// Settings applied to the finished model: flags that remove forces at the source, and the law of all
/// contacts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub constraints: bool,
    pub springs: bool,
    pub dampers: bool,
    pub clamp_control: bool,
    pub gravity: bool,
    pub actuation: bool,
    /// Whether `contact` replaces the laws of geoms and pairs.
    pub overrides: bool,
    pub contact: ContactOverride,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            constraints: true,
            springs: true,
            dampers: true,
            clamp_control: true,
            gravity: true,
            actuation: true,
            overrides: false,
            contact: ContactOverride {
                margin: 0.0,
                softness: Softness::default(),
                friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            },
        }
    }
}

/// Reads one `<option>`; later ones overwrite earlier ones.
pub(super) fn apply_option(
    e: &Element,
    into: &mut ModelOptions,
    flags: &mut Flags,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    e.set("timestep", &mut into.timestep)?;
    if into.timestep <= 0.0 {
        return Err(e.error_in("timestep", "must be positive"));
    }
    if let Some(gravity) = e.vec3("gravity")? {
        into.gravity = gravity;
    }
    if let Some(i) = e.keyword("integrator", &["Euler", "RK4", "implicit", "implicitfast"])? {
        use ModelIntegrator::{Euler, Implicit, ImplicitFast, Rk4};
        into.integrator = [Euler, Rk4, Implicit, ImplicitFast][i];
    }
    if let Some(i) = e.keyword("cone", &["pyramidal", "elliptic"])? {
        into.cone = [FrictionCone::Pyramidal, FrictionCone::Elliptic][i];
    }
    e.set("impratio", &mut into.impedance_ratio)?;
    if let Some(wind) = e.vec3("wind")? {
        into.wind = wind;
    }
    for (name, into) in [("density", &mut into.density), ("viscosity", &mut into.viscosity)] {
        e.set(name, into)?;
        if *into < 0.0 {
            return Err(e.error_in(name, "must not be negative"));
        }
    }
    apply_solver(e, into)?;
    e.set("o_margin", &mut flags.contact.margin)?;
    read_softness(e, "o_solref", "o_solimp", &mut flags.contact.softness)?;
    e.overlay("o_friction", 1, &mut flags.contact.friction)?;
    if let Some(magnetic) = e.vec3("magnetic")? {
        into.magnetic = magnetic;
    }
    // They tune algorithms that are not ours.
    let ignorable = [
        "ccd_tolerance",
        "sleep_tolerance",
        "ccd_iterations",
        "sdf_iterations",
        "sdf_initpoints",
        "mpr_iterations",
        "mpr_tolerance",
        "apirate",
    ];
    // Which pairs collide was once an option; the rest of its words meant less than all.
    e.refuse_unless("collision", e.text("collision").is_none_or(|c| c == "all"), options)?;
    e.finish(options, &ignorable)?;
    for child in &e.children {
        if child.tag == "flag" { apply_flags(child, into, flags, options)? } else { child.refuse(options)? }
    }
    Ok(())
}

/// When the solver stops. All of MuJoCo's solvers have one optimum, so which of them is asked for does not
/// matter; sweeps of friction after the solver do.
fn apply_solver(e: &Element, into: &mut ModelOptions) -> Result<(), ImportError> {
    let solver = &mut into.solver;
    e.set("tolerance", &mut solver.tolerance)?;
    e.set("ls_tolerance", &mut solver.ls_tolerance)?;
    e.set("noslip_tolerance", &mut solver.noslip_tolerance)?;
    for (name, into) in [("iterations", &mut solver.iterations), ("ls_iterations", &mut solver.ls_iterations)]
    {
        if let Some(count) = e.integer(name)? {
            *into = usize::try_from(count).map_err(|_| e.error_in(name, "must not be negative"))?;
        }
    }
    // None are asked for by a negative number too.
    if let Some(count) = e.integer("noslip_iterations")? {
        solver.noslip_iterations = usize::try_from(count).unwrap_or(0);
    }
    e.keyword("solver", &["PGS", "CG", "Newton"])?;
    e.keyword("jacobian", &["dense", "sparse", "auto"])?;
    Ok(())
}

fn apply_flags(
    e: &Element,
    into: &mut ModelOptions,
    flags: &mut Flags,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    let read = |name: &str| Ok(e.keyword(name, &["disable", "enable"])?.map(|i| i == 1));
    let set = |name: &str, into: &mut bool| {
        read(name).map(|value: Option<bool>| {
            if let Some(value) = value {
                *into = value;
            }
        })
    };
    set("contact", &mut into.contact)?;
    set("limit", &mut into.limits)?;
    set("equality", &mut into.equality)?;
    set("frictionloss", &mut into.frictionloss)?;
    set("constraint", &mut flags.constraints)?;
    set("override", &mut flags.overrides)?;
    set("eulerdamp", &mut into.implicit_damping)?;
    set("filterparent", &mut into.filter_parent)?;
    set("refsafe", &mut into.reference_safety)?;
    set("multiccd", &mut into.several_contacts)?;
    set("gravity", &mut flags.gravity)?;
    set("spring", &mut flags.springs)?;
    set("damper", &mut flags.dampers)?;
    set("clampctrl", &mut flags.clamp_control)?;
    set("actuation", &mut flags.actuation)?;
    // `passive` is the older name of both springs and dampers.
    if read("passive")? == Some(false) {
        (flags.springs, flags.dampers) = (false, false);
    }
    for name in ["sleep", "ipc", "diagexact"] {
        e.refuse_unless(name, read(name)? != Some(true), options)?;
    }
    // They change neither forces nor the optimum of the solver.
    let ignorable = [
        "warmstart",
        "sensor",
        "midphase",
        "autoreset",
        "nativeccd",
        "island",
        "energy",
        "fwdinv",
        "invdiscrete",
        "sensornoise",
    ];
    e.finish(options, &ignorable)?;
    e.no_children(options)
}
