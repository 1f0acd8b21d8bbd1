//! From XML to links and joints, element by element as the specification lists them.
//!
//! What the specification does not list is noted and not used: it belongs to one simulator or another. Of two
//! elements where one belongs the first counts, as in ROS.

use super::UrdfOptions;
use super::joint::{Joint, joint};
use super::link::{Link, link};
use super::notes::Notes;
use super::pose::Pose;
use crate::xml::{Element, Lenient};
use crate::{ImportError, Place};
use pullback_math::Vec3;

/// Elements that say nothing about motion; ignored wherever they stand.
const SILENT: [&str; 8] = [
    "visual",
    "material",
    "gazebo",
    "transmission",
    "sensor",
    "ros2_control",
    "safety_controller",
    "calibration",
];

pub(super) struct Robot {
    pub name: String,
    pub place: Place,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
}

/// Settings, and what was noted so far.
pub(super) struct Reader<'a> {
    pub options: &'a UrdfOptions,
    pub notes: Notes,
}

impl Reader<'_> {
    /// Notes attributes and children that are not among those given, and text.
    pub fn only(&self, e: &Element, attributes: &[&str], tags: &[&str]) {
        if let Some(place) = &e.stray_text {
            self.notes.add(place, format!("text in <{}> is not used", e.tag));
        }
        for attribute in &e.attributes {
            let name = attribute.name.as_str();
            if !attributes.contains(&name) && !self.options.ignores(&e.tag, name) {
                let sentence = format!("<{}> `{name}` is no part of URDF and is not used", e.tag);
                self.notes.add(&attribute.place, sentence);
            }
        }
        for child in &e.children {
            let tag = child.tag.as_str();
            if !tags.contains(&tag) && !SILENT.contains(&tag) && !self.options.ignores_element(tag) {
                let sentence = format!("<{tag}> in <{}> is no part of URDF and is not used", e.tag);
                self.notes.add(&child.place, sentence);
            }
        }
    }

    /// The first child of that name; others are noted.
    pub fn child<'e>(&self, e: &'e Element, tag: &str) -> Option<&'e Element> {
        let mut found = e.children.iter().filter(|c| c.tag == tag);
        let first = found.next();
        for other in found {
            self.notes.add(&other.place, format!("<{tag}> stands here a second time; the first is used"));
        }
        first
    }

    /// The first child of that name, which must be there.
    pub fn required_child<'e>(&self, e: &'e Element, tag: &str) -> Result<&'e Element, ImportError> {
        self.child(e, tag).ok_or_else(|| e.error(format!("needs a `{tag}`")))
    }

    /// The pose in the `origin` of an element.
    pub fn origin(&self, parent: &Element) -> Result<Pose, ImportError> {
        let Some(e) = self.child(parent, "origin") else { return Ok(Pose::identity()) };
        self.only(e, &["xyz", "rpy"], &[]);
        let zero = Vec3::zero();
        Ok(Pose::of_xyz_rpy(e.vec3("xyz")?.unwrap_or(zero), e.vec3("rpy")?.unwrap_or(zero)))
    }
}

/// Links and joints of the root element.
pub(super) fn robot(root: &Element, reader: &Reader) -> Result<Robot, ImportError> {
    if root.tag != "robot" {
        return Err(root.error("is not a `robot`"));
    }
    refuse_xacro(root)?;
    // Bullet's soft bodies are whole objects, not notes beside a link.
    if let Some(soft) = root.children.iter().find(|c| c.tag == "deformable") {
        soft.refuse(reader.options)?;
    }
    reader.only(root, &["name", "version"], &["link", "joint", "deformable"]);
    let elements = |tag: &'static str| root.children.iter().filter(move |c| c.tag == tag);
    Ok(Robot {
        name: root.text("name").unwrap_or("robot").into(),
        place: root.place.clone(),
        links: elements("link").map(|e| link(e, reader)).collect::<Result<_, _>>()?,
        joints: elements("joint").map(|e| joint(e, reader)).collect::<Result<_, _>>()?,
    })
}

/// Macros and expressions that nobody expanded are not URDF.
fn refuse_xacro(e: &Element) -> Result<(), ImportError> {
    const REMEDY: &str = "this is xacro, not URDF; expand it first: `xacro FILE.xacro > FILE.urdf`";
    if e.tag.starts_with("xacro:") {
        return Err(e.error(REMEDY));
    }
    let expression = |value: &str| value.contains("${") || value.contains("$(");
    if let Some(a) = e.attributes.iter().find(|a| expression(&a.value)) {
        return Err(e.error_in(&a.name, REMEDY));
    }
    e.children.iter().filter(|c| !SILENT.contains(&c.tag.as_str())).try_for_each(refuse_xacro)
}

/// Text that is not empty.
pub(super) fn named<'e>(e: &'e Element, attribute: &str) -> Result<&'e str, ImportError> {
    e.text(attribute).filter(|t| !t.is_empty()).ok_or_else(|| e.error(format!("needs `{attribute}`")))
}

/// A number that must be there.
pub(super) fn required_number(e: &Element, attribute: &str) -> Result<f64, ImportError> {
    e.required(attribute)?;
    Ok(e.number(attribute)?.unwrap_or_default())
}

/// A number that is not negative, if it is there.
pub(super) fn not_negative(e: &Element, attribute: &str) -> Result<Option<f64>, ImportError> {
    match e.number(attribute)? {
        Some(value) if value < 0.0 => Err(e.error_in(attribute, format!("{value} is negative"))),
        value => Ok(value),
    }
}
