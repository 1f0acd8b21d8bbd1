//! Geoms and sites: defaults, sizes, `fromto`, mass, shapes fitted to meshes.
//!
//! Friction, `condim`, `margin`, `gap`, `priority`, `solmix`, `solref` and `solimp` are stored for the
//! contact models that use them; `adhesion` and `surfacevel` are refused unless zero. Color, material,
//! `fluidshape` and `fluidcoef` are kept; user data do not change motion and are dropped.

use pullback_articulated::{ContactSoftness, FluidShape, Geom, MeshEllipsoid, Shape, Site};
use pullback_math::{Quat, Vec3};

use super::ImportOptions;
use super::assets::Assets;
use super::body::refuse_by_name;
use super::fit::{BoxFit, fit};
use super::inertia::{Inertial, primitive_inertia, primitive_volume};
use super::joint::read_softness;
use super::mesh::{Entry, SolidProperties};
use super::pose::{Pose, from_z_axis, read_orientation};
use super::settings::Compiler;
use super::shell::shell;
use super::visual::GRAY;
use crate::mesh::principal_axes;
use crate::xml::Element;
use crate::{ImportError, Place};

/// The kinds of shape and how many sizes each has.
const KINDS: [(&str, usize); 8] = [
    ("plane", 3),
    ("sphere", 1),
    ("capsule", 2),
    ("ellipsoid", 3),
    ("cylinder", 2),
    ("box", 3),
    ("mesh", 0),
    ("hfield", 0),
];
/// Shortest length of a `fromto` segment, m.
const SHORTEST: f64 = 1e-14;

/// Where a shape is and how large, as written.
#[derive(Clone, Debug)]
struct ShapeSpec {
    kind: usize,
    size: [f64; 3],
    position: Option<Vec3<f64>>,
    orientation: Option<Quat<f64>>,
    ends: Option<[f64; 6]>,
}

impl ShapeSpec {
    fn apply(&mut self, e: &Element, compiler: &Compiler) -> Result<(), ImportError> {
        if e.text("type") == Some("sdf") {
            return Err(e.error_in(
                "type",
                "signed distance fields are not supported; use a mesh or a primitive shape",
            ));
        }
        if let Some(i) = e.keyword("type", &KINDS.map(|(name, _)| name))? {
            self.kind = i;
        }
        e.overlay("size", 1, &mut self.size)?;
        self.position = e.vec3("pos")?.or(self.position);
        self.orientation = read_orientation(e, compiler)?.or(self.orientation);
        self.ends = e.array("fromto")?.or(self.ends);
        Ok(())
    }

    fn kind(&self) -> &'static str {
        KINDS[self.kind].0
    }

    /// The pose in the body and the sizes, `fromto` resolved.
    fn place(&self, e: &Element, frame: Pose) -> Result<(Pose, [f64; 3]), ImportError> {
        let mut size = self.size;
        let mut position = self.position.unwrap_or_else(Vec3::zero);
        let mut orientation = self.orientation.unwrap_or_else(Quat::identity);
        if let Some([a, b, c, d, f, g]) = self.ends {
            if self.position.is_some_and(|p| p != Vec3::zero()) {
                return Err(e.error("has both a `pos` that is not zero and `fromto`; keep one"));
            }
            let (from, to) = (Vec3::new(a, b, c), Vec3::new(d, f, g));
            let along = from - to;
            let length = along.norm();
            if length < SHORTEST {
                return Err(e.error_in("fromto", "its points are too close"));
            }
            let half = length / 2.0;
            match self.kind() {
                "capsule" | "cylinder" => size[1] = half,
                "box" | "ellipsoid" => size = [size[0], size[0], half],
                _ => return Err(e.error_in("fromto", "needs a capsule, cylinder, box or ellipsoid")),
            }
            position = (from + to) * 0.5;
            orientation = from_z_axis(along * (1.0 / length));
        }
        Ok((frame.compose(Pose { position, orientation }), size))
    }
}

/// A geom as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct GeomSpec {
    shape: ShapeSpec,
    collision_bits: i32,
    collides_with: i32,
    friction: [f64; 3],
    margin: f64,
    contact: ContactSoftness,
    /// Attraction, and the velocity of a surface that runs like a belt; both are refused.
    adhesion: f64,
    surface_velocity: Vec<f64>,
    density: f64,
    mass: Option<f64>,
    /// Whether it meets a medium as an ellipsoid, and how.
    is_ellipsoid: bool,
    fluid: FluidShape,
    group: i32,
    rgba: [f64; 4],
    material: Option<String>,
    mesh: Option<String>,
    fit_scale: f64,
    hfield: Option<String>,
    shell: bool,
}

impl Default for GeomSpec {
    fn default() -> Self {
        GeomSpec {
            shape: ShapeSpec { kind: 1, size: [0.0; 3], position: None, orientation: None, ends: None },
            collision_bits: 1,
            collides_with: 1,
            friction: [1.0, 0.005, 0.0001],
            margin: 0.0,
            contact: ContactSoftness::default(),
            adhesion: 0.0,
            surface_velocity: Vec::new(),
            density: 1000.0,
            mass: None,
            is_ellipsoid: false,
            fluid: FluidShape::default(),
            group: 0,
            rgba: GRAY,
            material: None,
            mesh: None,
            fit_scale: 1.0,
            hfield: None,
            shell: false,
        }
    }
}

/// A geom with what its body needs to know of it.
#[derive(Clone, Debug)]
pub(super) struct BuiltGeom {
    pub geom: Geom,
    /// Mass and inertia in the body frame.
    pub inertial: Inertial,
    /// Why it has no inertia, for a mesh that encloses nothing; an error once the inertia is needed.
    pub weightless: Option<String>,
    pub group: i32,
    pub place: Place,
}

impl GeomSpec {
    /// Overwrites what the element says.
    pub fn apply(
        &mut self,
        e: &Element,
        compiler: &Compiler,
        options: &ImportOptions,
    ) -> Result<(), ImportError> {
        self.shape.apply(e, compiler)?;
        self.collision_bits = e.integer("contype")?.unwrap_or(self.collision_bits);
        self.collides_with = e.integer("conaffinity")?.unwrap_or(self.collides_with);
        e.overlay("friction", 1, &mut self.friction)?;
        e.set("margin", &mut self.margin)?;
        let soft = &mut self.contact;
        if let Some(dimension) = e.integer("condim")? {
            if ![1, 3, 4, 6].contains(&dimension) {
                return Err(e.error_in("condim", "must be 1, 3, 4 or 6"));
            }
            soft.condim = dimension as u32;
        }
        soft.priority = e.integer("priority")?.unwrap_or(soft.priority);
        e.set("solmix", &mut soft.solmix)?;
        read_softness(e, "solref", "solimp", &mut soft.softness)?;
        e.set("gap", &mut soft.gap)?;
        e.set("adhesion", &mut self.adhesion)?;
        self.surface_velocity = e.list("surfacevel")?.unwrap_or(std::mem::take(&mut self.surface_velocity));
        e.set("density", &mut self.density)?;
        self.mass = e.number("mass")?.or(self.mass);
        if let Some(i) = e.keyword("fluidshape", &["none", "ellipsoid"])? {
            self.is_ellipsoid = i == 1;
        }
        e.overlay("fluidcoef", 1, &mut self.fluid.coefficients)?;
        self.group = e.integer("group")?.unwrap_or(self.group);
        e.overlay("rgba", 1, &mut self.rgba)?;
        self.material = e.text("material").map(str::to_string).or(self.material.take());
        self.mesh = e.text("mesh").map(str::to_string).or(self.mesh.take());
        e.set("fitscale", &mut self.fit_scale)?;
        self.hfield = e.text("hfield").map(str::to_string).or(self.hfield.take());
        self.shell = e.boolean("shellinertia")?.unwrap_or(self.shell);
        e.finish(options, &["user"])?;
        e.children.iter().try_for_each(|child| refuse_by_name(child, options))
    }

    /// The geom in `frame` of its body, with its mass.
    pub fn build(
        &self,
        e: &Element,
        frame: Pose,
        assets: &mut Assets,
        fit_box: bool,
        options: &ImportOptions,
    ) -> Result<BuiltGeom, ImportError> {
        e.refuse_unless("adhesion", self.adhesion == 0.0, options)?;
        e.refuse_unless("surfacevel", self.surface_velocity.iter().all(|v| *v == 0.0), options)?;
        if self.density < 0.0 || self.mass.is_some_and(|m| m < 0.0) {
            return Err(e.error("its mass or density is negative"));
        }
        let (mut pose, mut size) = self.shape.place(e, frame)?;
        let kind = self.shape.kind();
        let mesh = match &self.mesh {
            Some(name) => Some(assets.meshes.get(name, e)?),
            None => None,
        };
        if let (Some(mesh), true) = (&mesh, kind != "mesh") {
            (pose, size) = self.fitted(e, pose, mesh, fit_box)?;
        }
        // A capsule fitted to a mesh may be a ball.
        let ball = kind == "capsule" && mesh.is_some() && size[0] > 0.0 && size[1] == 0.0;
        let kind = if ball { "sphere" } else { kind };
        check_size(e, kind, if ball { 1 } else { KINDS[self.shape.kind].1 }, size)?;
        if self.shell && kind == "mesh" {
            return Err(e.error("a mesh says itself how it is weighed; set `inertia` of the `<mesh>`"));
        }
        let (mut inertial, mut weightless) = (Inertial::none(pose), None);
        let mut fluid = self.fluid;
        let shape = if kind == "mesh" {
            let mesh = mesh.as_ref().ok_or_else(|| e.error("needs the name of a `mesh`"))?;
            if let (Some(why), true) = (&mesh.flat, self.collision_bits != 0 || self.collides_with != 0) {
                let why = format!("{why}, or set `contype` and `conaffinity` to 0");
                return Err(e.error_in("mesh", why));
            }
            match &mesh.solid {
                Ok(solid) => {
                    inertial = Inertial::of_mesh(*solid, pose, self.mass_of(solid.volume));
                    fluid.mesh = Some(mesh_ellipsoid(solid, &assets.meshes.meshes[mesh.index].vertices));
                }
                Err(why) => weightless = Some(why.clone()),
            }
            Shape::Mesh { mesh: mesh.index }
        } else if kind == "hfield" {
            let name = self.hfield.as_deref().ok_or_else(|| e.error("needs the name of an `hfield`"))?;
            Shape::Heightfield { field: assets.heightfields.get(name, e)? }
        } else {
            let shape = primitive(kind, size);
            let (amount, of_unit_mass) =
                if self.shell { shell(shape) } else { (primitive_volume(shape), primitive_inertia(shape)) };
            inertial.mass = self.mass_of(amount);
            inertial.principal = of_unit_mass * inertial.mass;
            shape
        };
        let material = self.material.as_deref().or(mesh.as_ref().and_then(|m| m.material.as_deref()));
        let (material, rgba) = assets.looks.dress(material, self.rgba, e, options)?;
        let geom = Geom {
            name: e.text("name").unwrap_or_default().to_string(),
            body: 0,
            shape,
            position: pose.position,
            orientation: pose.orientation,
            collision_bits: self.collision_bits as u32,
            collides_with: self.collides_with as u32,
            friction: self.friction,
            margin: self.margin,
            contact: self.contact,
            extent: if kind == "plane" { [size[0], size[1]] } else { [0.0; 2] },
            fluid: self.is_ellipsoid.then_some(fluid),
            rgba,
            material,
            group: self.group,
        };
        Ok(BuiltGeom { geom, inertial, weightless, group: self.group, place: e.place.clone() })
    }

    /// The pose and sizes of a shape fitted to a mesh.
    fn fitted(
        &self,
        e: &Element,
        pose: Pose,
        mesh: &Entry,
        fit_box: bool,
    ) -> Result<(Pose, [f64; 3]), ImportError> {
        let kind = self.shape.kind();
        if self.shape.ends.is_some() || ["plane", "hfield"].contains(&kind) {
            return Err(e.error_in(
                "mesh",
                "a shape fitted to a mesh is a sphere, capsule, cylinder, box or ellipsoid, without `fromto`",
            ));
        }
        let solid = match &mesh.solid {
            Ok(solid) => solid,
            Err(why) => return Err(e.error_in("mesh", format!("cannot be fitted: {why}"))),
        };
        let by = if fit_box { BoxFit::Bounds(mesh.bounds) } else { BoxFit::Inertia };
        let (mesh_from_shape, size) = fit(kind, solid, by);
        Ok((pose.compose(mesh_from_shape), size.map(|s| s * self.fit_scale)))
    }

    /// The mass as told, or by density; what has no volume has no mass.
    fn mass_of(&self, volume: f64) -> f64 {
        match self.mass {
            Some(mass) if volume > 1e-14 => mass,
            Some(_) => 0.0,
            None => self.density * volume,
        }
    }
}

/// The ellipsoid of a mesh, in the frame of the mesh: along its principal axes, as far from its center of
/// mass as corners are.
fn mesh_ellipsoid(solid: &SolidProperties, corners: &[Vec3<f64>]) -> MeshEllipsoid {
    let (_, orientation) = principal_axes(solid.inertia);
    let seen = |corner: &Vec3<f64>| orientation.inverse_rotate(*corner - solid.center).map(f64::abs);
    let half_axes = corners.iter().map(seen).fold(Vec3::zero(), |most, c| most.zip(c, f64::max));
    MeshEllipsoid { position: solid.center, orientation, half_axes }
}

fn check_size(e: &Element, kind: &str, count: usize, size: [f64; 3]) -> Result<(), ImportError> {
    if kind == "plane" {
        if size[2] <= 0.0 || size[0] < 0.0 || size[1] < 0.0 {
            return Err(
                e.error("the size of a plane is two half sizes (0: endless) and a positive grid spacing")
            );
        }
        return Ok(());
    }
    match size[..count].iter().position(|s| *s <= 0.0) {
        Some(i) => {
            Err(e.error(format!("a {kind} has {count} positive sizes, number {} is not; set `size`", i + 1)))
        }
        None => Ok(()),
    }
}

fn primitive(kind: &str, [a, b, c]: [f64; 3]) -> Shape {
    match kind {
        "plane" => Shape::Plane,
        "sphere" => Shape::Sphere { radius: a },
        "capsule" => Shape::Capsule { radius: a, half_length: b },
        "cylinder" => Shape::Cylinder { radius: a, half_length: b },
        "ellipsoid" => Shape::Ellipsoid { radii: Vec3::new(a, b, c) },
        _ => Shape::Box { half: Vec3::new(a, b, c) },
    }
}

/// A site as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct SiteSpec {
    shape: ShapeSpec,
    group: i32,
    rgba: [f64; 4],
    material: Option<String>,
    mesh: Option<String>,
}

impl Default for SiteSpec {
    fn default() -> Self {
        let shape = ShapeSpec { kind: 1, size: [0.005; 3], position: None, orientation: None, ends: None };
        SiteSpec { shape, group: 0, rgba: GRAY, material: None, mesh: None }
    }
}

impl SiteSpec {
    /// Overwrites what the element says.
    pub fn apply(
        &mut self,
        e: &Element,
        compiler: &Compiler,
        options: &ImportOptions,
    ) -> Result<(), ImportError> {
        self.shape.apply(e, compiler)?;
        self.group = e.integer("group")?.unwrap_or(self.group);
        e.overlay("rgba", 1, &mut self.rgba)?;
        self.material = e.text("material").map(str::to_string).or(self.material.take());
        self.mesh = e.text("mesh").map(str::to_string).or(self.mesh.take());
        e.finish(options, &["user"])?;
        e.no_children(options)
    }

    /// The site in `frame` of its body.
    pub fn build(
        &self,
        e: &Element,
        frame: Pose,
        assets: &mut Assets,
        options: &ImportOptions,
    ) -> Result<Site, ImportError> {
        let (pose, size) = self.shape.place(e, frame)?;
        let shape = match self.shape.kind() {
            "mesh" => {
                let name = self.mesh.as_deref().ok_or_else(|| e.error("needs the name of a `mesh`"))?;
                Shape::Mesh { mesh: assets.meshes.get(name, e)?.index }
            }
            "plane" | "hfield" => {
                return Err(
                    e.error_in("type", "a site is a sphere, capsule, cylinder, box, ellipsoid or mesh")
                );
            }
            kind => {
                check_size(e, kind, KINDS[self.shape.kind].1, size)?;
                primitive(kind, size)
            }
        };
        let (material, rgba) = assets.looks.dress(self.material.as_deref(), self.rgba, e, options)?;
        let name = e.text("name").unwrap_or_default().to_string();
        Ok(Site {
            name,
            body: 0,
            position: pose.position,
            orientation: pose.orientation,
            shape,
            rgba,
            material,
            group: self.group,
        })
    }
}
