//! From XML to links and joints, element by element as the specification lists them.

use pullback_math::{Quat, SymMat3, Vec3};
use roxmltree::Node;

use super::UrdfError;
use super::xml::Xml;

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
    pub fn then(self, inner: Pose) -> Pose {
        Pose {
            position: self.position + self.orientation.rotate(inner.position),
            orientation: (self.orientation * inner.orientation).normalize(),
        }
    }
}

pub(super) struct Robot {
    pub name: String,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
}

pub(super) struct Link {
    pub name: String,
    pub line: u32,
    pub mass: f64,
    pub com: Vec3<f64>,
    /// About the centre of mass, axes of the link.
    pub inertia: SymMat3<f64>,
    pub collisions: Vec<Collision>,
}

pub(super) struct Collision {
    pub name: Option<String>,
    pub line: u32,
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
    pub line: u32,
    pub motion: Motion,
    pub parent: String,
    pub child: String,
    pub parent_from_child: Pose,
    pub axis: Vec3<f64>,
    pub damping: f64,
    pub range: Option<(f64, f64)>,
    pub effort: Option<f64>,
    /// Name of the leader, multiplier, offset.
    pub mimic: Option<(String, f64, f64)>,
}

pub(super) fn robot(text: &str, file: &str, allow: &[String]) -> Result<Robot, UrdfError> {
    let xml = Xml::parse(text, file, allow)?;
    let root = xml.document.root_element();
    if !root.has_tag_name("robot") {
        return Err(xml.error(root, format!("`{}` is not a `robot`", root.tag_name().name())));
    }
    xml.only(root, &["name", "version"], &["link", "joint"])?;
    let elements = |name: &'static str| root.children().filter(move |c| c.has_tag_name(name));
    Ok(Robot {
        name: root.attribute("name").unwrap_or("robot").into(),
        links: elements("link").map(|n| link(&xml, n)).collect::<Result<_, _>>()?,
        joints: elements("joint").map(|n| joint(&xml, n)).collect::<Result<_, _>>()?,
    })
}

/// `origin`: xyz, then roll, pitch, yaw about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll).
fn origin(xml: &Xml, parent: Node) -> Result<Pose, UrdfError> {
    let Some(node) = parent.children().find(|c| c.has_tag_name("origin")) else {
        return Ok(Pose::identity());
    };
    if let Some(second) = parent.children().filter(|c| c.has_tag_name("origin")).nth(1) {
        return Err(xml.error(second, "a second `origin`; keep one"));
    }
    xml.only(node, &["xyz", "rpy"], &[])?;
    let rpy = xml.vector(node, "rpy")?.unwrap_or(Vec3::zero());
    let turn = |axis: Vec3<f64>, angle| Quat::from_axis_angle(axis, angle);
    let orientation = turn(Vec3::new(0.0, 0.0, 1.0), rpy.z)
        * turn(Vec3::new(0.0, 1.0, 0.0), rpy.y)
        * turn(Vec3::new(1.0, 0.0, 0.0), rpy.x);
    Ok(Pose {
        position: xml.vector(node, "xyz")?.unwrap_or(Vec3::zero()),
        orientation: orientation.normalize(),
    })
}

fn link(xml: &Xml, node: Node) -> Result<Link, UrdfError> {
    xml.only(node, &["name", "type"], &["inertial", "collision"])?;
    let mut link = Link {
        name: xml.text(node, "name")?.into(),
        line: xml.line(node),
        mass: 0.0,
        com: Vec3::zero(),
        inertia: SymMat3::zero(),
        collisions: Vec::new(),
    };
    let mut inertials = node.children().filter(|c| c.has_tag_name("inertial"));
    if let Some(inertial) = inertials.next() {
        if let Some(second) = inertials.next() {
            return Err(xml.error(second, "a second `inertial`; keep one"));
        }
        xml.only(inertial, &[], &["origin", "mass", "inertia"])?;
        let pose = origin(xml, inertial)?;
        let mass = xml.required_child(inertial, "mass")?;
        xml.only(mass, &["value"], &[])?;
        link.mass = xml.required_number(mass, "value")?;
        if link.mass < 0.0 {
            return Err(xml.error(mass, format!("the mass {} is negative", link.mass)));
        }
        let tensor = xml.required_child(inertial, "inertia")?;
        xml.only(tensor, &["ixx", "ixy", "ixz", "iyy", "iyz", "izz"], &[])?;
        let entry = |name| xml.number(tensor, name).map(|x| x.unwrap_or(0.0));
        let principal = |name| xml.required_number(tensor, name);
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
    for collision in node.children().filter(|c| c.has_tag_name("collision")) {
        xml.only(collision, &["name"], &["origin", "geometry"])?;
        link.collisions.push(Collision {
            name: collision.attribute("name").filter(|n| !n.is_empty()).map(Into::into),
            line: xml.line(collision),
            pose: origin(xml, collision)?,
            geometry: geometry(xml, xml.required_child(collision, "geometry")?)?,
        });
    }
    Ok(link)
}

fn geometry(xml: &Xml, node: Node) -> Result<Geometry, UrdfError> {
    xml.only(node, &[], &["box", "sphere", "cylinder", "capsule", "mesh"])?;
    let mut shapes = node.children().filter(|c| {
        ["box", "sphere", "cylinder", "capsule", "mesh"].contains(&c.tag_name().name()) && c.is_element()
    });
    let (Some(shape), None) = (shapes.next(), shapes.next()) else {
        return Err(xml.error(node, "a `geometry` needs exactly one shape"));
    };
    let bar = || {
        xml.only(shape, &["radius", "length"], &[])?;
        Ok((xml.size(shape, "radius")?, xml.size(shape, "length")?))
    };
    Ok(match shape.tag_name().name() {
        "box" => {
            xml.only(shape, &["size"], &[])?;
            xml.text(shape, "size")?;
            match xml.vector(shape, "size")? {
                Some(size) if size.x > 0.0 && size.y > 0.0 && size.z > 0.0 => Geometry::Box(size),
                _ => return Err(xml.error(shape, "the sizes of a box must be positive")),
            }
        }
        "sphere" => {
            xml.only(shape, &["radius"], &[])?;
            Geometry::Sphere(xml.size(shape, "radius")?)
        }
        "cylinder" => bar().map(|(r, l)| Geometry::Cylinder(r, l))?,
        "capsule" => bar().map(|(r, l)| Geometry::Capsule(r, l))?,
        _ => {
            xml.only(shape, &["filename", "scale"], &[])?;
            let scale = xml.vector(shape, "scale")?.unwrap_or(Vec3::new(1.0, 1.0, 1.0));
            if scale.x == 0.0 || scale.y == 0.0 || scale.z == 0.0 {
                return Err(xml.error(shape, "the scale of a mesh must not be zero"));
            }
            Geometry::Mesh(xml.text(shape, "filename")?.into(), scale)
        }
    })
}

fn joint(xml: &Xml, node: Node) -> Result<Joint, UrdfError> {
    xml.only(node, &["name", "type"], &["origin", "parent", "child", "axis", "limit", "dynamics", "mimic"])?;
    let motion = match xml.text(node, "type")? {
        "fixed" => Motion::Fixed,
        "revolute" => Motion::Revolute,
        "continuous" => Motion::Continuous,
        "prismatic" => Motion::Prismatic,
        "floating" => Motion::Floating,
        "planar" => Motion::Planar,
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(xml.error(node, format!("no joint is of type `{other}`")));
        }
    };
    let end = |name: &str| {
        let end = node.children().find(|c| c.has_tag_name(name));
        let end = end.ok_or_else(|| xml.error(node, format!("`joint` needs a `{name}`")))?;
        xml.only(end, &["link"], &[])?;
        Ok(xml.text(end, "link")?.to_string())
    };
    for name in ["parent", "child", "axis", "limit", "dynamics", "mimic"] {
        if let Some(second) = node.children().filter(|c| c.has_tag_name(name)).nth(1) {
            return Err(xml.error(second, format!("a second `{name}`; keep one")));
        }
    }
    let mut joint = Joint {
        name: xml.text(node, "name")?.into(),
        line: xml.line(node),
        motion,
        parent: end("parent")?,
        child: end("child")?,
        parent_from_child: origin(xml, node)?,
        axis: axis(xml, node)?,
        damping: 0.0,
        range: None,
        effort: None,
        mimic: None,
    };
    limits(xml, node, &mut joint)?;
    if let Some(dynamics) = node.children().find(|c| c.has_tag_name("dynamics")) {
        xml.only(dynamics, &["damping", "friction"], &[])?;
        joint.damping = xml.number(dynamics, "damping")?.unwrap_or(0.0);
        if joint.damping < 0.0 {
            return Err(xml.error(dynamics, format!("the damping {} is negative", joint.damping)));
        }
        let friction = xml.number(dynamics, "friction")?.unwrap_or(0.0);
        if friction != 0.0 && !xml.ignores(dynamics, "friction") {
            let reason = "dry joint friction is not simulated; set it to 0 or allow `dynamics@friction`";
            return Err(xml.error(dynamics, reason));
        }
    }
    let mimic = node.children().find(|c| c.has_tag_name("mimic") && !xml.allowed("mimic"));
    if let Some(mimic) = mimic {
        xml.only(mimic, &["joint", "multiplier", "offset"], &[])?;
        let multiplier = xml.number(mimic, "multiplier")?.unwrap_or(1.0);
        let offset = xml.number(mimic, "offset")?.unwrap_or(0.0);
        joint.mimic = Some((xml.text(mimic, "joint")?.into(), multiplier, offset));
    }
    Ok(joint)
}

fn axis(xml: &Xml, joint: Node) -> Result<Vec3<f64>, UrdfError> {
    let Some(node) = joint.children().find(|c| c.has_tag_name("axis")) else {
        return Ok(Vec3::new(1.0, 0.0, 0.0));
    };
    xml.only(node, &["xyz"], &[])?;
    xml.text(node, "xyz")?;
    let axis = xml.vector(node, "xyz")?.unwrap_or(Vec3::zero());
    // Scaled first, so that neither tiny nor huge components spoil the norm.
    let largest = axis.x.abs().max(axis.y.abs()).max(axis.z.abs());
    if largest == 0.0 {
        // Exporters write a zero axis for joints that have none.
        return match joint.attribute("type") {
            Some("fixed" | "floating") => Ok(Vec3::new(1.0, 0.0, 0.0)),
            _ => Err(xml.error(node, "the axis must not be zero")),
        };
    }
    Ok(axis.map(|c| c / largest).normalize())
}

fn limits(xml: &Xml, node: Node, joint: &mut Joint) -> Result<(), UrdfError> {
    let Some(limit) = node.children().find(|c| c.has_tag_name("limit")) else {
        if matches!(joint.motion, Motion::Revolute | Motion::Prismatic) {
            return Err(xml.error(
                node,
                "revolute and prismatic joints need a `limit`; use `continuous` to turn freely",
            ));
        }
        return Ok(());
    };
    xml.only(limit, &["lower", "upper", "effort", "velocity"], &[])?;
    let (lower, upper) = (xml.number(limit, "lower")?, xml.number(limit, "upper")?);
    xml.number(limit, "velocity")?;
    joint.effort = xml.number(limit, "effort")?;
    if joint.effort.is_some_and(|e| e < 0.0) {
        return Err(xml.error(limit, "the effort limit is negative"));
    }
    if matches!(joint.motion, Motion::Revolute | Motion::Prismatic) {
        let (lower, upper) = (lower.unwrap_or(0.0), upper.unwrap_or(0.0));
        if lower > upper {
            return Err(xml.error(limit, format!("the range {lower} to {upper} is empty")));
        }
        joint.range = Some((lower, upper));
        return Ok(());
    }
    // Joints of other types have no range; one that is written would be ignored.
    for (name, value) in [("lower", lower), ("upper", upper)] {
        let silent =
            joint.motion == Motion::Fixed || value.is_none_or(|v| v == 0.0) || xml.ignores(limit, name);
        if !silent {
            return Err(xml.error(
                limit,
                format!("this type of joint has no range; remove it or allow `limit@{name}`"),
            ));
        }
    }
    Ok(())
}
