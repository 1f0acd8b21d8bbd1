//! Links: mass, collision shapes, friction.

use pullback_math::{SymMat3, Vec3};

use super::pose::Pose;
use super::read::{Reader, named, not_negative, required_number};
use crate::xml::{Element, Lenient};
use crate::{ImportError, Place};

/// The shapes of a `geometry`; a plane is Bullet's.
const SHAPES: [&str; 6] = ["box", "sphere", "cylinder", "capsule", "mesh", "plane"];

pub(super) struct Link {
    pub name: String,
    pub place: Place,
    pub mass: f64,
    pub com: Vec3<f64>,
    /// About the center of mass, axes of the link.
    pub inertia: SymMat3<f64>,
    pub collisions: Vec<Collision>,
    pub friction: Friction,
}

/// Friction of Bullet's `contact` element, where it is written.
#[derive(Clone, Copy, Default)]
pub(super) struct Friction {
    pub sliding: Option<f64>,
    pub torsional: Option<f64>,
    pub rolling: Option<f64>,
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
    /// The half space behind this unit normal.
    Plane(Vec3<f64>),
}

pub(super) fn link(e: &Element, reader: &Reader) -> Result<Link, ImportError> {
    reader.only(e, &["name", "type"], &["inertial", "collision", "contact"]);
    let mut link = Link {
        name: named(e, "name")?.into(),
        place: e.place.clone(),
        mass: 0.0,
        com: Vec3::zero(),
        inertia: SymMat3::zero(),
        collisions: Vec::new(),
        friction: Friction::default(),
    };
    if let Some(inertial) = reader.child(e, "inertial") {
        weigh(&mut link, inertial, reader)?;
    }
    if let Some(contact) = reader.child(e, "contact").filter(|_| !reader.options.ignores_element("contact")) {
        link.friction = friction(contact, reader)?;
    }
    if reader.options.ignores_element("collision") {
        return Ok(link);
    }
    for collision in e.children.iter().filter(|c| c.tag == "collision") {
        reader.only(collision, &["name"], &["origin", "geometry"]);
        let Some(geometry) = geometry(reader.required_child(collision, "geometry")?, reader)? else {
            continue;
        };
        link.collisions.push(Collision {
            name: collision.text("name").filter(|n| !n.is_empty()).map(Into::into),
            place: collision.place.clone(),
            pose: reader.origin(collision)?,
            geometry,
        });
    }
    Ok(link)
}

fn weigh(link: &mut Link, inertial: &Element, reader: &Reader) -> Result<(), ImportError> {
    reader.only(inertial, &[], &["origin", "mass", "inertia"]);
    let pose = reader.origin(inertial)?;
    let mass = reader.required_child(inertial, "mass")?;
    reader.only(mass, &["value"], &[]);
    link.mass = required_number(mass, "value")?;
    if link.mass < 0.0 {
        return Err(mass.error(format!("the mass {} is negative", link.mass)));
    }
    let tensor = reader.required_child(inertial, "inertia")?;
    reader.only(tensor, &["ixx", "ixy", "ixz", "iyy", "iyz", "izz"], &[]);
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
    Ok(())
}

/// Bullet's `contact`: friction is honored, what belongs to its solver is noted.
fn friction(e: &Element, reader: &Reader) -> Result<Friction, ImportError> {
    let mut friction = Friction::default();
    for child in &e.children {
        let value = match child.tag.as_str() {
            "lateral_friction" => &mut friction.sliding,
            "spinning_friction" => &mut friction.torsional,
            "rolling_friction" => &mut friction.rolling,
            other => {
                let sentence =
                    format!("<{other}> in <contact> is Bullet's, has no counterpart and is not used");
                reader.notes.add(&child.place, sentence);
                continue;
            }
        };
        reader.only(child, &["value"], &[]);
        child.required("value")?;
        *value = not_negative(child, "value")?;
    }
    Ok(friction)
}

/// A number above zero.
fn size(e: &Element, attribute: &str) -> Result<f64, ImportError> {
    let value = required_number(e, attribute)?;
    if value > 0.0 { Ok(value) } else { Err(e.error_in(attribute, format!("must be positive, is {value}"))) }
}

/// The scale of a mesh; numbers beyond three are noted.
fn scale(mesh: &Element, reader: &Reader) -> Result<Vec3<f64>, ImportError> {
    match mesh.list("scale")?.as_deref() {
        None => Ok(Vec3::new(1.0, 1.0, 1.0)),
        Some([x, y, z, beyond @ ..]) => {
            if !beyond.is_empty() {
                reader
                    .notes
                    .add(&mesh.place, "<mesh> `scale` has more than three numbers; the first are used");
            }
            Ok(Vec3::new(*x, *y, *z))
        }
        Some(few) => Err(mesh.error_in("scale", format!("holds {} numbers where 3 belong", few.len()))),
    }
}

/// The one shape of a `geometry`; none if it is of an unknown kind that the user lets be ignored.
fn geometry(e: &Element, reader: &Reader) -> Result<Option<Geometry>, ImportError> {
    let known = |c: &&Element| SHAPES.contains(&c.tag.as_str());
    let unknown = e.children.iter().find(|c| !known(c));
    let mut shapes = e.children.iter().filter(known);
    let shape = match (shapes.next(), shapes.next(), unknown) {
        (Some(shape), None, _) => shape,
        (None, _, Some(other)) => {
            other.refuse(reader.options)?;
            return Ok(None);
        }
        _ => return Err(e.error("needs exactly one shape")),
    };
    reader.only(e, &[], &SHAPES);
    let bar = || {
        reader.only(shape, &["radius", "length"], &[]);
        Ok((size(shape, "radius")?, size(shape, "length")?))
    };
    Ok(Some(match shape.tag.as_str() {
        "box" => {
            reader.only(shape, &["size"], &[]);
            shape.required("size")?;
            match shape.vec3("size")? {
                Some(size) if size.x > 0.0 && size.y > 0.0 && size.z > 0.0 => Geometry::Box(size),
                _ => return Err(shape.error("the sizes of a box must be positive")),
            }
        }
        "sphere" => {
            reader.only(shape, &["radius"], &[]);
            Geometry::Sphere(size(shape, "radius")?)
        }
        "cylinder" => bar().map(|(r, l)| Geometry::Cylinder(r, l))?,
        "capsule" => bar().map(|(r, l)| Geometry::Capsule(r, l))?,
        "plane" => {
            reader.only(shape, &["normal"], &[]);
            let normal = shape.vec3("normal")?.unwrap_or(Vec3::new(0.0, 0.0, 1.0));
            if normal.norm() < 1e-9 {
                return Err(shape.error_in("normal", "must not be zero"));
            }
            Geometry::Plane(normal.normalize())
        }
        _ => {
            reader.only(shape, &["filename", "scale"], &[]);
            let scale = scale(shape, reader)?;
            if scale.x == 0.0 || scale.y == 0.0 || scale.z == 0.0 {
                return Err(shape.error("the scale of a mesh must not be zero"));
            }
            Geometry::Mesh(named(shape, "filename")?.into(), scale)
        }
    }))
}
