//! From XML to links and joints, element by element as the specification lists them.

use pullback_math::{Quat, SymMat3, Vec3};

use super::UrdfOptions;
use crate::xml::{Element, Lenient};
use crate::{ImportError, Place};

/// Elements that say nothing about motion; ignored wherever they stand.
const SILENT: [&str; 4] = ["visual", "material", "gazebo", "transmission"];
/// The shapes of a `geometry`.
const SHAPES: [&str; 5] = ["box", "sphere", "cylinder", "capsule", "mesh"];

/// A placement in the frame of a parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub position: Vec3<f64>,
    pub orientation: Quat<f64>,
}

impl Pose {
    pub fn identity() -> Self {
        Pose { position: Vec3::zero(), orientation: Quat::identity() }
    }

    /// a_from_b · b_from_c = a_from_c
    pub fn compose(self, inner: Pose) -> Pose {
        Pose {
            position: self.position + self.orientation.rotate(inner.position),
            orientation: (self.orientation * inner.orientation).normalize(),
        }
    }
}

pub(super) struct Robot {
    pub name: String,
    pub place: Place,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
}

pub(super) struct Link {
    pub name: String,
    pub place: Place,
    pub mass: f64,
    pub com: Vec3<f64>,
    /// About the center of mass, axes of the link.
    pub inertia: SymMat3<f64>,
    pub collisions: Vec<Collision>,
}

pub(super) struct Collision {
    pub name: Option<String>,
    pub place: Place,
    pub pose: Pose,
    pub geometry: Geometry,
}

pub(super) enum Geometry {
    Box(Vec3<f64>),
    Sphere(f64),
    Cylinder(f64, f64),
    Capsule(f64, f64),
    Mesh(String, Vec3<f64>),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Motion {
    Fixed,
    Revolute,
    Continuous,
    Prismatic,
    Floating,
    Planar,
}

pub(super) struct Joint {
    pub name: String,
    pub place: Place,
    pub motion: Motion,
    pub parent: String,
    pub child: String,
    pub parent_from_child: Pose,
    pub axis: Vec3<f64>,
    pub damping: f64,
    pub friction: f64,
    pub range: Option<(f64, f64)>,
    pub effort: Option<f64>,
    /// Name of the leader, multiplier, offset.
    pub mimic: Option<(String, f64, f64)>,
}

/// Links and joints of the root element.
pub(super) fn robot(root: &Element, options: &UrdfOptions) -> Result<Robot, ImportError> {
    if root.tag != "robot" {
        return Err(root.error("is not a `robot`"));
    }
    allow_only(root, &["name", "version"], &["link", "joint"], options)?;
    let elements = |tag: &'static str| root.children.iter().filter(move |c| c.tag == tag);
    Ok(Robot {
        name: root.text("name").unwrap_or("robot").into(),
        place: root.place.clone(),
        links: elements("link").map(|e| link(e, options)).collect::<Result<_, _>>()?,
        joints: elements("joint").map(|e| joint(e, options)).collect::<Result<_, _>>()?,
    })
}

/// Refuses attributes and children that are not among those given, and text.
fn allow_only(
    e: &Element,
    attributes: &[&str],
    tags: &[&str],
    options: &UrdfOptions,
) -> Result<(), ImportError> {
    e.no_text()?;
    e.finish(options, attributes)?;
    let unknown = |c: &&Element| !tags.contains(&c.tag.as_str()) && !SILENT.contains(&c.tag.as_str());
    e.children.iter().filter(unknown).try_for_each(|c| c.refuse(options))
}

/// Text that is not empty.
fn named<'e>(e: &'e Element, attribute: &str) -> Result<&'e str, ImportError> {
    e.text(attribute).filter(|t| !t.is_empty()).ok_or_else(|| e.error(format!("needs `{attribute}`")))
}

fn required_number(e: &Element, attribute: &str) -> Result<f64, ImportError> {
    e.required(attribute)?;
    Ok(e.number(attribute)?.unwrap_or_default())
}

/// A number above zero.
fn size(e: &Element, attribute: &str) -> Result<f64, ImportError> {
    let value = required_number(e, attribute)?;
    if value > 0.0 { Ok(value) } else { Err(e.error_in(attribute, format!("must be positive, is {value}"))) }
}

/// `origin`: xyz, then roll, pitch, yaw about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll).
fn origin(parent: &Element, options: &UrdfOptions) -> Result<Pose, ImportError> {
    let Some(e) = parent.child("origin")? else { return Ok(Pose::identity()) };
    allow_only(e, &["xyz", "rpy"], &[], options)?;
    let rpy = e.vec3("rpy")?.unwrap_or(Vec3::zero());
    let turn = |axis: Vec3<f64>, angle| Quat::from_axis_angle(axis, angle);
    let orientation = turn(Vec3::new(0.0, 0.0, 1.0), rpy.z)
        * turn(Vec3::new(0.0, 1.0, 0.0), rpy.y)
        * turn(Vec3::new(1.0, 0.0, 0.0), rpy.x);
    let position = e.vec3("xyz")?.unwrap_or(Vec3::zero());
    Ok(Pose { position, orientation: orientation.normalize() })
}

fn link(e: &Element, options: &UrdfOptions) -> Result<Link, ImportError> {
    allow_only(e, &["name", "type"], &["inertial", "collision"], options)?;
    let mut link = Link {
        name: named(e, "name")?.into(),
        place: e.place.clone(),
        mass: 0.0,
        com: Vec3::zero(),
        inertia: SymMat3::zero(),
        collisions: Vec::new(),
    };
    if let Some(inertial) = e.child("inertial")? {
        allow_only(inertial, &[], &["origin", "mass", "inertia"], options)?;
        let pose = origin(inertial, options)?;
        let mass = inertial.required_child("mass")?;
        allow_only(mass, &["value"], &[], options)?;
        link.mass = required_number(mass, "value")?;
        if link.mass < 0.0 {
            return Err(mass.error(format!("the mass {} is negative", link.mass)));
        }
        let tensor = inertial.required_child("inertia")?;
        allow_only(tensor, &["ixx", "ixy", "ixz", "iyy", "iyz", "izz"], &[], options)?;
        let entry = |name| tensor.number(name).map(|x| x.unwrap_or(0.0));
        let principal = |name| required_number(tensor, name);
        let inertia = SymMat3 {
            xx: principal("ixx")?,
            xy: entry("ixy")?,
            xz: entry("ixz")?,
            yy: principal("iyy")?,
            yz: entry("iyz")?,
            zz: principal("izz")?,
        };
        link.com = pose.position;
        link.inertia = inertia.congruence(pose.orientation.to_mat3());
    }
    for collision in e.children.iter().filter(|c| c.tag == "collision") {
        allow_only(collision, &["name"], &["origin", "geometry"], options)?;
        link.collisions.push(Collision {
            name: collision.text("name").filter(|n| !n.is_empty()).map(Into::into),
            place: collision.place.clone(),
            pose: origin(collision, options)?,
            geometry: geometry(collision.required_child("geometry")?, options)?,
        });
    }
    Ok(link)
}

fn geometry(e: &Element, options: &UrdfOptions) -> Result<Geometry, ImportError> {
    allow_only(e, &[], &SHAPES, options)?;
    let mut shapes = e.children.iter().filter(|c| SHAPES.contains(&c.tag.as_str()));
    let (Some(shape), None) = (shapes.next(), shapes.next()) else {
        return Err(e.error("needs exactly one shape"));
    };
    let bar = || {
        allow_only(shape, &["radius", "length"], &[], options)?;
        Ok((size(shape, "radius")?, size(shape, "length")?))
    };
    Ok(match shape.tag.as_str() {
        "box" => {
            allow_only(shape, &["size"], &[], options)?;
            shape.required("size")?;
            match shape.vec3("size")? {
                Some(size) if size.x > 0.0 && size.y > 0.0 && size.z > 0.0 => Geometry::Box(size),
                _ => return Err(shape.error("the sizes of a box must be positive")),
            }
        }
        "sphere" => {
            allow_only(shape, &["radius"], &[], options)?;
            Geometry::Sphere(size(shape, "radius")?)
        }
        "cylinder" => bar().map(|(r, l)| Geometry::Cylinder(r, l))?,
        "capsule" => bar().map(|(r, l)| Geometry::Capsule(r, l))?,
        _ => {
            allow_only(shape, &["filename", "scale"], &[], options)?;
            let scale = shape.vec3("scale")?.unwrap_or(Vec3::new(1.0, 1.0, 1.0));
            if scale.x == 0.0 || scale.y == 0.0 || scale.z == 0.0 {
                return Err(shape.error("the scale of a mesh must not be zero"));
            }
            Geometry::Mesh(named(shape, "filename")?.into(), scale)
        }
    })
}

fn joint(e: &Element, options: &UrdfOptions) -> Result<Joint, ImportError> {
    let tags = ["origin", "parent", "child", "axis", "limit", "dynamics", "mimic"];
    allow_only(e, &["name", "type"], &tags, options)?;
    let motion = match named(e, "type")? {
        "fixed" => Motion::Fixed,
        "revolute" => Motion::Revolute,
        "continuous" => Motion::Continuous,
        "prismatic" => Motion::Prismatic,
        "floating" => Motion::Floating,
        "planar" => Motion::Planar,
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(e.error_in("type", format!("no joint is of type `{other}`")));
        }
    };
    let end = |tag: &str| {
        let end = e.required_child(tag)?;
        allow_only(end, &["link"], &[], options)?;
        Ok(named(end, "link")?.to_string())
    };
    let mut joint = Joint {
        name: named(e, "name")?.into(),
        place: e.place.clone(),
        motion,
        parent: end("parent")?,
        child: end("child")?,
        parent_from_child: origin(e, options)?,
        axis: axis(e, motion, options)?,
        damping: 0.0,
        friction: 0.0,
        range: None,
        effort: None,
        mimic: None,
    };
    limits(e, &mut joint, options)?;
    if let Some(dynamics) = e.child("dynamics")? {
        allow_only(dynamics, &["damping", "friction"], &[], options)?;
        joint.damping = dynamics.number("damping")?.unwrap_or(0.0);
        if joint.damping < 0.0 {
            return Err(dynamics.error(format!("the damping {} is negative", joint.damping)));
        }
        joint.friction = dynamics.number("friction")?.unwrap_or(0.0);
        if joint.friction < 0.0 {
            return Err(dynamics.error(format!("the friction {} is negative", joint.friction)));
        }
    }
    if let Some(mimic) = e.child("mimic")?.filter(|_| !options.ignores_element("mimic")) {
        allow_only(mimic, &["joint", "multiplier", "offset"], &[], options)?;
        let multiplier = mimic.number("multiplier")?.unwrap_or(1.0);
        let offset = mimic.number("offset")?.unwrap_or(0.0);
        joint.mimic = Some((named(mimic, "joint")?.into(), multiplier, offset));
    }
    Ok(joint)
}

fn axis(joint: &Element, motion: Motion, options: &UrdfOptions) -> Result<Vec3<f64>, ImportError> {
    let Some(e) = joint.child("axis")? else { return Ok(Vec3::new(1.0, 0.0, 0.0)) };
    allow_only(e, &["xyz"], &[], options)?;
    e.required("xyz")?;
    let axis = e.vec3("xyz")?.unwrap_or(Vec3::zero());
    // Scaled first, so that neither tiny nor huge components spoil the norm.
    let largest = axis.x.abs().max(axis.y.abs()).max(axis.z.abs());
    if largest == 0.0 {
        // Exporters write a zero axis for joints that have none.
        return match motion {
            Motion::Fixed | Motion::Floating => Ok(Vec3::new(1.0, 0.0, 0.0)),
            _ => Err(e.error_in("xyz", "the axis must not be zero")),
        };
    }
    Ok(axis.map(|c| c / largest).normalize())
}

fn limits(e: &Element, joint: &mut Joint, options: &UrdfOptions) -> Result<(), ImportError> {
    let bounded = matches!(joint.motion, Motion::Revolute | Motion::Prismatic);
    let Some(limit) = e.child("limit")? else {
        return match bounded {
            true => {
                Err(e.error("revolute and prismatic joints need a `limit`; use `continuous` to turn freely"))
            }
            false => Ok(()),
        };
    };
    allow_only(limit, &["lower", "upper", "effort", "velocity"], &[], options)?;
    let (lower, upper) = (limit.number("lower")?, limit.number("upper")?);
    limit.number("velocity")?;
    joint.effort = limit.number("effort")?;
    if joint.effort.is_some_and(|e| e < 0.0) {
        return Err(limit.error_in("effort", "is negative"));
    }
    if bounded {
        let (lower, upper) = (lower.unwrap_or(0.0), upper.unwrap_or(0.0));
        if lower > upper {
            return Err(limit.error(format!("the range {lower} to {upper} is empty")));
        }
        joint.range = Some((lower, upper));
        return Ok(());
    }
    // Joints of other types have no range; one that is written would be ignored.
    for (name, value) in [("lower", lower), ("upper", upper)] {
        let silent = joint.motion == Motion::Fixed || value.is_none_or(|v| v == 0.0);
        limit.refuse_unless(name, silent, options)?;
    }
    Ok(())
}
